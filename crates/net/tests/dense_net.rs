//! The dense network as others see it.

use net::gradcheck::worst_error;
use net::{DenseNet, DenseSpec, Optimiser, Outputs, Rule, Workers};

fn spec() -> DenseSpec {
    DenseSpec { inputs: 19, hidden: vec![70, 33], actions: 9, encoding: 1 }
}

/// Numbers in [0, 1) that are always the same for the same seed.
fn uniform(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 16_777_216.0
    }
}

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut uniform = uniform(seed);
    (0..n).map(|_| 2.0 * uniform() - 1.0).collect()
}

fn loss(outputs: &Outputs, d: &Outputs) -> f64 {
    let sum = |x: &[f32], d: &[f32]| x.iter().zip(d).map(|(x, d)| f64::from(*x) * f64::from(*d)).sum::<f64>();
    sum(&outputs.policy, &d.policy) + sum(&outputs.value, &d.value)
}

#[test]
fn every_gradient_is_that_of_finite_differences() {
    let mut net = DenseNet::new(spec(), &mut uniform(1)).unwrap();
    // More than one chunk of rows.
    let rows = 70;
    let x = numbers(rows * 19, 2);
    let d = Outputs { policy: numbers(rows * 9, 3), value: numbers(rows, 4) };
    net.forward(&x, &Workers::one()).unwrap();
    net.backward(&d, &Workers::one()).unwrap();
    let start = net.tensors();
    for (of, gradient) in net.gradients().into_iter().enumerate() {
        let places: Vec<usize> = (0..gradient.data.len()).step_by(gradient.data.len().div_ceil(12)).collect();
        let at: Vec<f32> = places.iter().map(|&p| start[of].data[p]).collect();
        let wanted: Vec<f32> = places.iter().map(|&p| gradient.data[p]).collect();
        let error = worst_error(&at, &wanted, 1e-3, |x_at| {
            let mut moved = start.clone();
            for (&place, x) in places.iter().zip(x_at) {
                moved[of].data[place] = *x;
            }
            net.load(&moved).unwrap();
            loss(net.forward(&x, &Workers::one()).unwrap(), &d)
        });
        assert!(error < 0.02, "{}: {error}", gradient.name);
    }
}

#[test]
fn bits_depend_neither_on_threads_nor_on_the_batch_around_a_position() {
    let trained = |workers: &Workers| {
        let mut net = DenseNet::new(spec(), &mut uniform(1)).unwrap();
        let mut optimiser = Optimiser::new(Rule::ADAM, 1e-3, Some(1.0));
        for step in 0..4 {
            net.forward(&numbers(200 * 19, step), workers).unwrap();
            let d = Outputs { policy: numbers(200 * 9, step + 10), value: numbers(200, step + 20) };
            net.backward(&d, workers).unwrap();
            net.step(&mut optimiser, 0.01);
        }
        net
    };
    let mut net = trained(&Workers::one());
    assert_eq!(trained(&Workers::new(3).unwrap()).tensors(), net.tensors());
    let x = numbers(300 * 19, 5);
    let wanted = net.forward(&x, &Workers::one()).unwrap().clone();
    let inference = net.inference();
    let mut all = Outputs::default();
    inference.run(&x, &Workers::new(2).unwrap(), &mut all).unwrap();
    assert_eq!(all, wanted);
    let mut alone = Outputs::default();
    for n in [0, 63, 64, 299] {
        inference.run(&x[n * 19..(n + 1) * 19], &Workers::one(), &mut alone).unwrap();
        assert_eq!((&alone.policy[..], alone.value[0]), (&all.policy[n * 9..(n + 1) * 9], all.value[n]));
    }
}

#[test]
fn exclusive_or_is_learnt() {
    let spec = DenseSpec { inputs: 2, hidden: vec![16], actions: 2, encoding: 0 };
    let mut net = DenseNet::new(spec, &mut uniform(3)).unwrap();
    let mut adam = Optimiser::new(Rule::ADAM, 0.0, None);
    let x = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
    let target = [-0.9, 0.9, 0.9, -0.9];
    let mut error = 1.0;
    for _ in 0..500 {
        let value = net.forward(&x, &Workers::one()).unwrap().value.clone();
        error = value.iter().zip(&target).map(|(v, t)| (v - t).abs()).fold(0.0, f32::max);
        let d = value.iter().zip(&target).map(|(v, t)| v - t).collect();
        net.backward(&Outputs { policy: vec![0.0; 8], value: d }, &Workers::one()).unwrap();
        net.step(&mut adam, 0.02);
    }
    assert!(error < 0.05, "{error}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let mut net = DenseNet::new(spec(), &mut uniform(1)).unwrap();
    let refused = net.forward(&[0.0; 20], &Workers::one()).unwrap_err().to_string();
    assert_eq!(refused, "the inputs: 20 numbers where 38 are needed");
    let other = DenseNet::new(DenseSpec { hidden: vec![70], ..spec() }, &mut uniform(1)).unwrap();
    assert!(net.load(&other.tensors()).unwrap_err().to_string().contains("layers.1"));
    assert!(DenseNet::new(DenseSpec { actions: 0, ..spec() }, &mut uniform(1)).is_err());
    assert!(spec().expect(&DenseSpec { encoding: 2, ..spec() }).unwrap_err().to_string().contains("encoding version"));
}
