//! Writes networks for other programs to read: `interop FOLDER`.
//!
//! For each network NAME.safetensors with its weights, NAME.onnx, and NAME.cases.safetensors with a batch and what the network says of it.
//! `tests/interop.py` checks them with the Python packages.

use std::path::Path;

use net::file::{Tensor, write};
use net::hidden::Term;
use net::mlp::Activation;
use net::policy_net::PolicyNet;
use net::value_net::ValueNet;
use net::{Actions, Board, BoardNet, BoardSpec, DenseNet, DenseSpec, Outputs, Workers};

/// Numbers in [0, 1) that are always the same.
fn uniform() -> impl FnMut() -> f32 {
    let mut state = 0x1234_5678_9abc_def1u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 16_777_216.0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: interop FOLDER")?;
    let folder = Path::new(&folder);
    let mut uniform = uniform();
    let workers = Workers::one();
    let batch = 7;
    let save = |name: &str, weights: &[Tensor], onnx: &[u8], cases: &[Tensor]| {
        std::fs::write(folder.join(format!("{name}.onnx")), onnx)?;
        std::fs::write(folder.join(format!("{name}.safetensors")), write("weights", weights))?;
        std::fs::write(folder.join(format!("{name}.cases.safetensors")), write("cases", cases))
    };
    let tensors = |outputs: Outputs| {
        let actions = outputs.policy.len() / batch;
        let policy = Tensor::new("policy", &[batch, actions], outputs.policy);
        [policy, Tensor::new("value", &[batch], outputs.value)]
    };
    for (name, norm, actions, height, width) in [
        ("columns", true, Actions::Columns, 6, 7),
        ("points", true, Actions::Points, 9, 9),
        ("plain", false, Actions::Points, 15, 15),
    ] {
        let board = Board { height, width };
        let spec = BoardSpec { planes: 3, channels: 32, blocks: 2, norm, actions, encoding: 0 };
        let mut net = BoardNet::new(spec, &mut uniform)?;
        let planes: Vec<f32> = (0..batch * 3 * board.area()).map(|_| uniform().round()).collect();
        // Moves the running moments away from where they start.
        for _ in 0..3 {
            net.forward(board, &planes, &workers)?;
        }
        let mut outputs = Outputs::default();
        net.inference(board, batch)?.run(&planes, &workers, &mut outputs)?;
        let planes = Tensor::new("planes", &[batch, 3, height, width], planes);
        let [policy, value] = tensors(outputs);
        save(name, &net.tensors(), &net.onnx(board)?, &[planes, policy, value])?;
    }
    let spec = DenseSpec { inputs: 42, hidden: vec![100, 50], actions: 7, encoding: 0 };
    let net = DenseNet::new(spec, &mut uniform)?;
    let inputs: Vec<f32> = (0..batch * 42).map(|_| uniform()).collect();
    let mut outputs = Outputs::default();
    net.inference().run(&inputs, &workers, &mut outputs)?;
    let [policy, value] = tensors(outputs);
    save("dense", &net.tensors(), &net.onnx(), &[Tensor::new("inputs", &[batch, 42], inputs), policy, value])?;

    // The networks that learn one position at a time.
    let inputs: Vec<f32> = (0..batch * 18).map(|_| uniform().round()).collect();
    let given = Tensor::new("inputs", &[batch, 18], inputs.clone());
    let mut net = PolicyNet::new(&[18, 30, 20, 9], |_| uniform() - 0.5);
    let ones = |row: &[f32]| (0..row.len()).filter(|&i| row[i] == 1.0).collect::<Vec<_>>();
    let outputs = inputs.chunks(18).flat_map(|row| net.forward(ones(row)).to_vec()).collect();
    let policy = Tensor::new("policy", &[batch, 9], outputs);
    save("perceptron", &net.tensors("layers."), &net.onnx(), &[given.clone(), policy])?;
    let mut net = ValueNet::new(&[18, 36, 1], &[Activation::Relu, Activation::Tanh], |_| uniform() - 0.5);
    let terms = |row: &[f32]| row.iter().enumerate().map(|(input, &value)| Term { input, value }).collect::<Vec<_>>();
    let outputs = inputs.chunks(18).map(|row| net.value(&terms(row))).collect();
    let value = Tensor::new("value", &[batch, 1], outputs);
    save("values", &net.tensors("layers."), &net.onnx(), &[given, value])?;
    Ok(())
}
