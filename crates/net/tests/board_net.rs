//! The board network as others see it: gradients, determinism, boards of several sizes, and what it refuses.

use net::file::Tensor;
use net::gradcheck::worst_error;
use net::{Actions, Board, BoardNet, BoardSpec, NetError, Optimiser, Outputs, Rule, Workers};

const CONNECT4: Board = Board { height: 6, width: 7 };

fn spec() -> BoardSpec {
    BoardSpec { planes: 3, channels: 16, blocks: 2, norm: true, actions: Actions::Columns, encoding: 1 }
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

fn net(spec: BoardSpec) -> BoardNet {
    BoardNet::new(spec, &mut uniform(7)).unwrap()
}

/// The weighted sum of all outputs, and so a loss whose gradient by the outputs is `d`.
fn loss(outputs: &Outputs, d: &Outputs) -> f64 {
    let sum = |x: &[f32], d: &[f32]| x.iter().zip(d).map(|(x, d)| f64::from(*x) * f64::from(*d)).sum::<f64>();
    sum(&outputs.policy, &d.policy) + sum(&outputs.value, &d.value)
}

#[test]
fn every_gradient_is_that_of_finite_differences() {
    for (norm, actions, board) in [
        (true, Actions::Columns, CONNECT4),
        (false, Actions::Columns, CONNECT4),
        (true, Actions::Points, Board { height: 5, width: 5 }),
    ] {
        let mut net = net(BoardSpec { norm, actions, blocks: 1, ..spec() });
        let positions = 9;
        let planes = numbers(positions * 3 * board.area(), 1);
        let d = Outputs { policy: numbers(positions * board.actions(actions), 2), value: numbers(positions, 3) };
        net.forward(board, &planes, &Workers::one()).unwrap();
        net.backward(&d, &Workers::one()).unwrap();
        let gradients = net.gradients();
        let start = net.tensors();
        for gradient in &gradients {
            // Up to ten numbers of each tensor, spread over it.
            let stride = gradient.data.len().div_ceil(10);
            let places: Vec<usize> = (0..gradient.data.len()).step_by(stride).collect();
            let of = start.iter().position(|t| t.name == gradient.name).unwrap();
            let at: Vec<f32> = places.iter().map(|&p| start[of].data[p]).collect();
            let wanted: Vec<f32> = places.iter().map(|&p| gradient.data[p]).collect();
            let error = worst_error(&at, &wanted, 2e-4, |x| {
                let mut moved = start.clone();
                for (&place, x) in places.iter().zip(x) {
                    moved[of].data[place] = *x;
                }
                net.load(&moved).unwrap();
                loss(net.forward(board, &planes, &Workers::one()).unwrap(), &d)
            });
            assert!(error < 0.02, "{} with norm {norm}, {actions:?}: {error}", gradient.name);
        }
    }
}

/// Five steps on made-up data; all weights and moments afterwards.
fn trained(spec: BoardSpec, board: Board, batch: usize, workers: &Workers) -> (BoardNet, Vec<Tensor>) {
    let actions = board.actions(spec.actions);
    let planes = numbers(batch * spec.planes * board.area(), 1);
    let mut net = net(spec);
    let mut adam = Optimiser::new(Rule::ADAM, 1e-4, Some(1.0));
    for step in 0..5 {
        net.forward(board, &planes, workers).unwrap();
        let d = Outputs { policy: numbers(batch * actions, 10 + step), value: numbers(batch, 20 + step) };
        net.backward(&d, workers).unwrap();
        net.step(&mut adam, 1e-3);
    }
    let tensors = net.tensors();
    (net, tensors)
}

#[test]
fn training_gives_the_same_bits_with_any_number_of_threads() {
    for (norm, batch) in [(true, 37), (false, 5)] {
        let (_, one) = trained(BoardSpec { norm, ..spec() }, CONNECT4, batch, &Workers::one());
        for threads in [2, 3, 8] {
            let workers = Workers::new(threads).unwrap();
            assert_eq!(trained(BoardSpec { norm, ..spec() }, CONNECT4, batch, &workers).1, one);
        }
    }
}

#[test]
fn a_position_is_evaluated_to_the_same_bits_in_any_batch_and_on_any_number_of_threads() {
    let (net, _) = trained(spec(), CONNECT4, 20, &Workers::one());
    let planes = numbers(150 * 3 * 42, 5);
    for nominal in [1, 64] {
        let inference = net.inference(CONNECT4, nominal).unwrap();
        let run = |planes: &[f32], threads| {
            let mut outputs = Outputs::default();
            inference.run(planes, &Workers::new(threads).unwrap(), &mut outputs).unwrap();
            outputs
        };
        let all = run(&planes, 1);
        assert_eq!(all, run(&planes, 2));
        for n in [0, 1, 77, 149] {
            let alone = run(&planes[n * 3 * 42..(n + 1) * 3 * 42], 1);
            assert_eq!((&alone.policy[..], alone.value[0]), (&all.policy[n * 7..(n + 1) * 7], all.value[n]));
        }
    }
}

#[test]
fn inference_is_the_forward_pass_with_the_running_moments() {
    // Without normalisation there are no moments: the two passes compute the same.
    let plain = BoardSpec { norm: false, ..spec() };
    let (mut net, _) = trained(plain, CONNECT4, 20, &Workers::one());
    let planes = numbers(30 * 3 * 42, 5);
    let wanted = net.forward(CONNECT4, &planes, &Workers::one()).unwrap().clone();
    close(&inferred(&net, CONNECT4, 1, &planes), &wanted, 1e-4);
    close(&inferred(&net, CONNECT4, 256, &planes), &wanted, 1e-4);

    // With it, the running moments of a batch that is seen again and again become those of the batch.
    let mut net = self::net(spec());
    for _ in 0..200 {
        net.forward(CONNECT4, &planes, &Workers::one()).unwrap();
    }
    let wanted = net.forward(CONNECT4, &planes, &Workers::one()).unwrap().clone();
    // The running variance is the unbiased one: n / (n - 1) of the batch's, n = 1260.
    close(&inferred(&net, CONNECT4, 1, &planes), &wanted, 3e-3);
    close(&inferred(&net, CONNECT4, 256, &planes), &wanted, 3e-3);
}

fn inferred(net: &BoardNet, board: Board, nominal: usize, planes: &[f32]) -> Outputs {
    let mut outputs = Outputs::default();
    net.inference(board, nominal).unwrap().run(planes, &Workers::one(), &mut outputs).unwrap();
    outputs
}

#[track_caller]
fn close(found: &Outputs, wanted: &Outputs, tolerance: f32) {
    let both = found.policy.iter().zip(&wanted.policy).chain(found.value.iter().zip(&wanted.value));
    let worst = both.map(|(f, w)| (f - w).abs() / w.abs().max(1.0)).fold(0.0, f32::max);
    assert!(worst <= tolerance && found.policy.len() == wanted.policy.len(), "off by {worst}");
}

#[test]
fn one_set_of_weights_learns_and_plays_on_boards_of_several_sizes() {
    let mut net = net(BoardSpec { actions: Actions::Points, ..spec() });
    let mut adam = Optimiser::new(Rule::ADAM, 0.0, None);
    // The target: a logit of 1 where plane 0 has a stone and of -1 elsewhere, and its sign balance as the value.
    let mut error = [0.0f32; 2];
    for step in 0..300 {
        for (size, error) in [6, 9].into_iter().zip(&mut error) {
            let board = Board { height: size, width: size };
            let positions = 16;
            let planes: Vec<f32> = numbers(positions * 3 * board.area(), step).iter().map(|x| x.signum()).collect();
            let outputs = net.forward(board, &planes, &Workers::one()).unwrap();
            let mut d = Outputs::zeros(positions, board.area());
            *error = 0.0;
            for n in 0..positions {
                let stones = &planes[n * 3 * board.area()..][..board.area()];
                for (point, stone) in stones.iter().enumerate() {
                    let off = outputs.policy[n * board.area() + point] - stone;
                    d.policy[n * board.area() + point] = off / (positions * board.area()) as f32;
                    *error += off * off / (positions * board.area()) as f32;
                }
                d.value[n] = (outputs.value[n] - stones.iter().sum::<f32>().signum() * 0.5) / positions as f32;
            }
            net.backward(&d, &Workers::one()).unwrap();
        }
        net.step(&mut adam, 3e-3);
    }
    assert!(error.iter().all(|error| *error < 0.05), "{error:?}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let mut net = net(spec());
    let workers = Workers::one();
    let message = |result: Result<(), NetError>| result.unwrap_err().to_string();
    let forward = |net: &mut BoardNet, planes: &[f32]| net.forward(CONNECT4, planes, &workers).map(|_| ());
    assert_eq!(message(forward(&mut net, &[0.0; 125])), "the planes: 125 numbers where 126 are needed");
    assert_eq!(message(forward(&mut net, &[])), "the planes: 0 numbers where 126 are needed");
    let mut planes = numbers(126, 1);
    planes[7] = f32::NAN;
    assert_eq!(message(forward(&mut net, &planes)), "the planes: NaN at 7");
    let inference = net.inference(CONNECT4, 1).unwrap();
    assert_eq!(message(inference.run(&planes, &workers, &mut Outputs::default())), "the planes: NaN at 7");
    assert!(net.inference(Board { height: 0, width: 3 }, 1).is_err());

    planes[7] = 0.0;
    forward(&mut net, &planes).unwrap();
    assert!(message(net.backward(&Outputs::zeros(1, 8), &workers)).starts_with("the policy's gradient: 8"));
    let d = Outputs { policy: vec![0.0; 7], value: vec![f32::INFINITY] };
    assert_eq!(message(net.backward(&d, &workers)), "the value's gradient: inf at 0");

    for (broken, part) in [
        (BoardSpec { channels: 20, ..spec() }, "20 channels"),
        (BoardSpec { channels: 0, ..spec() }, "0 channels"),
        (BoardSpec { planes: 0, ..spec() }, "0 planes"),
    ] {
        assert!(BoardNet::new(broken, &mut uniform(1)).unwrap_err().to_string().contains(part));
    }
}

#[test]
fn weights_of_another_network_are_refused_and_change_nothing() {
    let mut net = net(spec());
    let before = net.tensors();
    let refusal = |net: &mut BoardNet, tensors: &[Tensor]| net.load(tensors).unwrap_err().to_string();
    let other = |spec: BoardSpec| BoardNet::new(spec, &mut uniform(9)).unwrap().tensors();
    let larger = refusal(&mut net, &other(BoardSpec { blocks: 3, ..spec() }));
    assert!(larger.contains("blocks.2.first.conv.weight") && larger.contains("another network"), "{larger}");
    assert!(refusal(&mut net, &other(BoardSpec { blocks: 1, ..spec() })).contains("blocks.1.first.conv.weight"));
    assert!(refusal(&mut net, &other(BoardSpec { channels: 32, ..spec() })).contains("[32, 3, 3, 3]"));
    assert!(refusal(&mut net, &other(BoardSpec { norm: false, ..spec() })).contains("stem.conv.bias"));
    let mut damaged = other(spec());
    damaged.last_mut().unwrap().data[3] = f32::NAN;
    assert!(refusal(&mut net, &damaged).contains("NaN"));
    assert_eq!(net.tensors(), before);
    let right = other(spec());
    net.load(&right).unwrap();
    assert_eq!(net.tensors(), right);

    assert_eq!(spec().expect(&spec()), Ok(()));
    let old = BoardSpec { encoding: 0, ..spec() };
    let wanted = "weights of another network: its encoding version is 0, where 1 is needed";
    assert_eq!(spec().expect(&old).unwrap_err().to_string(), wanted);
}
