//! Outputs, gradients, moments and steps beside those of PyTorch; `fixtures/board_net.py` says how they were made.

use net::file::{Tensor, read};
use net::{Actions, Board, BoardNet, BoardSpec, Optimiser, Outputs, Rule, Workers};

/// All tensors of the fixture whose names start with `prefix`, without it.
fn fixture(prefix: &str) -> Vec<Tensor> {
    let (_, tensors) = read(include_bytes!("fixtures/board_net.safetensors")).unwrap();
    let stripped = |t: &Tensor| Some(Tensor { name: t.name.strip_prefix(prefix)?.to_owned(), ..t.clone() });
    tensors.iter().filter_map(stripped).collect()
}

fn one(name: &str) -> Vec<f32> {
    let [tensor] = &fixture(name).into_iter().filter(|t| t.name.is_empty()).collect::<Vec<_>>()[..] else {
        panic!("no {name}")
    };
    tensor.data.clone()
}

#[track_caller]
fn close(what: &str, found: &[f32], wanted: &[f32], tolerance: f32) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let size = wanted.iter().fold(1.0f32, |most, w| most.max(w.abs()));
    let worst = found.iter().zip(wanted).map(|(f, w)| (f - w).abs() / size).fold(0.0, f32::max);
    assert!(worst <= tolerance, "{what} is off by {worst}");
}

#[test]
fn forward_backward_and_inference_are_those_of_pytorch() {
    for (case, norm, actions, board) in [
        ("norm", true, Actions::Columns, Board { height: 6, width: 7 }),
        ("plain", false, Actions::Points, Board { height: 5, width: 3 }),
    ] {
        let spec = BoardSpec { planes: 2, channels: 16, blocks: 1, norm, actions, encoding: 0 };
        let mut net = BoardNet::new(spec, &mut || 0.5).unwrap();
        net.load(&fixture(&format!("{case}.start."))).unwrap();
        let of = |name: &str| one(&format!("{case}.{name}"));
        let outputs = net.forward(board, &of("planes"), &Workers::one()).unwrap();
        close("policy", &outputs.policy, &of("policy"), 1e-5);
        close("value", &outputs.value, &of("value"), 1e-5);
        let d = Outputs { policy: of("d_policy"), value: of("d_value") };
        net.backward(&d, &Workers::one()).unwrap();
        let wanted = fixture(&format!("{case}.gradient."));
        assert_eq!(wanted.len(), net.gradients().len());
        for gradient in net.gradients() {
            let wanted = wanted.iter().find(|t| t.name == gradient.name).unwrap();
            assert_eq!(wanted.shape, gradient.shape);
            close(&gradient.name, &gradient.data, &wanted.data, 2e-5);
        }
        for moments in fixture(&format!("{case}.moments.")) {
            let found = net.tensors().into_iter().find(|t| t.name == moments.name).unwrap();
            close(&moments.name, &found.data, &moments.data, 1e-5);
        }
        for nominal in [1, 256] {
            let mut outputs = Outputs::default();
            net.inference(board, nominal).unwrap().run(&of("planes"), &Workers::one(), &mut outputs).unwrap();
            close("policy", &outputs.policy, &of("eval.policy"), 1e-5);
            close("value", &outputs.value, &of("eval.value"), 1e-5);
        }
    }
}

#[test]
fn steps_of_each_optimiser_are_those_of_pytorch() {
    for (name, rule, decay, clip) in [
        ("sgd", Rule::Sgd { momentum: 0.9 }, 0.01, None),
        ("adam", Rule::ADAM, 0.0, None),
        ("adamw", Rule::ADAM, 0.01, Some(0.5)),
    ] {
        let mut weights = one("optim.start");
        let mut optimiser = Optimiser::new(rule, decay, clip);
        for step in 0..2 {
            let mut gradient = one(&format!("optim.gradient.{step}"));
            optimiser.step(0.1, &mut weights, &mut gradient, std::slice::from_ref(&(0..40)));
        }
        close(name, &weights, &one(&format!("optim.{name}")), 1e-6);
    }
}
