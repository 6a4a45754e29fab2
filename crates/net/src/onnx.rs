//! Networks as ONNX files, so that other programs can run them (<https://onnx.ai/onnx/repo-docs/IR.html>).
//!
//! An ONNX file is one message of protocol buffers: each field is its number and kind in a varint, then a varint, four
//! bytes, or a length and that many bytes. That is all this file writes; what it says is a list of operators, the names
//! of the arrays between them, and the weights.

use crate::dense::DenseNet;
use crate::error::NetError;
use crate::file::Tensor;
use crate::heads::{Actions, Board};
use crate::mlp::Activation;
use crate::policy_net::PolicyNet;
use crate::residual::{BoardNet, Operation, check_board};
use crate::value_net::ValueNet;

/// Version of the operators' definitions that the graphs are written for.
const OPERATORS: u64 = 17;
/// Version of the file format that goes with it.
const FORMAT: u64 = 8;
/// Kinds of numbers.
const FLOAT: u64 = 1;
const INT64: u64 = 7;

/// A message under construction.
#[derive(Clone, Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n > 0x7f {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn number(mut self, field: u64, n: u64) -> Message {
        self.varint(field << 3);
        self.varint(n);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }
}

/// A length of an input or output: a number, or the batch.
#[derive(Clone, Copy, Debug)]
enum Length {
    Batch,
    Is(usize),
}

/// An operator's setting.
#[derive(Clone, Copy, Debug)]
enum Setting<'a> {
    Number(&'a str, u64),
    Numbers(&'a str, &'a [u64]),
}

/// A graph under construction.
#[derive(Clone, Debug, Default)]
struct Graph {
    nodes: Vec<Message>,
    weights: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
}

impl Graph {
    /// `output = operator(inputs)`.
    fn node(&mut self, operator: &str, inputs: &[&str], output: &str, settings: &[Setting<'_>]) {
        let mut node = Message::default();
        for input in inputs {
            node = node.text(1, input);
        }
        node = node.text(2, output).text(3, output).text(4, operator);
        for setting in settings {
            // The kinds of a setting: 2 is a number, 7 several.
            let setting = match setting {
                Setting::Number(name, n) => Message::default().text(1, name).number(3, *n).number(20, 2),
                Setting::Numbers(name, all) => {
                    let named = Message::default().text(1, name);
                    all.iter().fold(named, |message, n| message.number(8, *n)).number(20, 7)
                }
            };
            node = node.message(5, &setting);
        }
        self.nodes.push(node);
    }

    /// `output = x W' + b`, with the weights `NAME.weight` and `NAME.bias`.
    fn dense(&mut self, x: &str, name: &str, output: &str) {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        self.node("Gemm", &[x, &weight, &bias], output, &[Setting::Number("transB", 1)]);
    }

    /// Cuts the columns of `x` into two arrays, of the lengths that the graph holds as `lengths`.
    fn split(&mut self, x: &str, lengths: &str, outputs: [&str; 2]) {
        let axis = Message::default().text(1, "axis").number(3, 1).number(20, 2);
        let node = Message::default().text(1, x).text(1, lengths).text(2, outputs[0]).text(2, outputs[1]);
        self.nodes.push(node.text(3, lengths).text(4, "Split").message(5, &axis));
    }

    /// An array that the graph holds.
    fn weight(&mut self, tensor: &Tensor) {
        let bytes: Vec<u8> = tensor.data.iter().flat_map(|x| x.to_le_bytes()).collect();
        let shape = tensor.shape.iter().fold(Message::default(), |message, n| message.number(1, *n as u64));
        self.weights.push(shape.number(2, FLOAT).text(8, &tensor.name).bytes(9, &bytes));
    }

    /// A list of axes that the graph holds.
    fn axes(&mut self, name: &str, axes: &[i64]) {
        let bytes: Vec<u8> = axes.iter().flat_map(|x| x.to_le_bytes()).collect();
        let shape = Message::default().number(1, axes.len() as u64);
        self.weights.push(shape.number(2, INT64).text(8, name).bytes(9, &bytes));
    }

    fn input(&mut self, name: &str, shape: &[Length]) {
        self.inputs.push(value(name, shape));
    }

    fn output(&mut self, name: &str, shape: &[Length]) {
        self.outputs.push(value(name, shape));
    }

    /// The whole file.
    fn file(&self, name: &str) -> Vec<u8> {
        let mut graph = Message::default();
        for node in &self.nodes {
            graph = graph.message(1, node);
        }
        graph = graph.text(2, name);
        for (field, messages) in [(5, &self.weights), (11, &self.inputs), (12, &self.outputs)] {
            for message in messages {
                graph = graph.message(field, message);
            }
        }
        let operators = Message::default().text(1, "").number(2, OPERATORS);
        let version = env!("CARGO_PKG_VERSION");
        let file = Message::default().number(1, FORMAT).text(2, "tengen").text(3, version);
        file.message(7, &graph).message(8, &operators).0
    }
}

/// The name and shape of an input or output of f32.
fn value(name: &str, shape: &[Length]) -> Message {
    let shape = shape.iter().fold(Message::default(), |shape, length| {
        let length = match length {
            Length::Batch => Message::default().text(2, "batch"),
            Length::Is(n) => Message::default().number(1, *n as u64),
        };
        shape.message(1, &length)
    });
    let tensor = Message::default().number(1, FLOAT).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

impl BoardNet {
    /// The network as an ONNX file for boards of this size, with its running moments folded in: `planes`,
    /// `[batch][planes][height][width]`, to `policy` (logits, `[batch][actions]`) and `value` (`[batch]`).
    ///
    /// # Errors
    /// [`NetError::Spec`] for an empty board.
    pub fn onnx(&self, board: Board) -> Result<Vec<u8>, NetError> {
        check_board(board)?;
        let mut graph = Graph::default();
        let (units, heads, folded) = self.folded();
        for tensor in &folded {
            graph.weight(tensor);
        }
        let shape = [self.spec().planes, board.height, board.width].map(Length::Is);
        graph.input("planes", &[&[Length::Batch], &shape[..]].concat());
        for (n, unit) in units.iter().enumerate() {
            let name = |what: &str| format!("{}.{what}", unit.name);
            let out = |n: usize| format!("{}.out", units[n].name);
            let x = if n == 0 { "planes".to_owned() } else { out(unit.input) };
            let size: &[Setting<'_>] =
                if unit.operation == Operation::Pointwise { &[] } else { &[Setting::Numbers("pads", &[1; 4])] };
            let mut last = name("conv");
            graph.node("Conv", &[&x, &name("conv.weight"), &name("conv.bias")], &last, size);
            if let Some(residual) = unit.residual {
                graph.node("Add", &[&last, &out(residual)], &name("sum"), &[]);
                last = name("sum");
            }
            graph.node("Relu", &[&last], &name("out"), &[]);
        }

        graph.node("Conv", &["policy.out", "policy.out.weight"], "policy.points", &[]);
        match heads.actions {
            Actions::Points => graph.node("Flatten", &["policy.points"], "policy.logits", &[]),
            Actions::Columns => {
                graph.axes("policy.axes", &[1, 2]);
                let settings = [Setting::Number("keepdims", 0)];
                graph.node("ReduceSum", &["policy.points", "policy.axes"], "policy.logits", &settings);
            }
        }
        graph.node("Add", &["policy.logits", "policy.out.bias"], "policy", &[]);

        let settings = [Setting::Numbers("axes", &[2, 3]), Setting::Number("keepdims", 0)];
        graph.node("ReduceMean", &["value.out"], "value.mean", &settings);
        graph.node("ReduceMax", &["value.out"], "value.max", &settings);
        graph.weight(&Tensor::new("value.size", &[1], vec![board.size_factor()]));
        graph.node("Mul", &["value.mean", "value.size"], "value.scaled", &[]);
        let pools = ["value.mean", "value.scaled", "value.max"];
        graph.node("Concat", &pools, "value.pooled", &[Setting::Number("axis", 1)]);
        graph.dense("value.pooled", "value.hidden", "value.units");
        graph.node("Relu", &["value.units"], "value.active", &[]);
        graph.dense("value.active", "value.out", "value.sum");
        graph.node("Tanh", &["value.sum"], "value.column", &[]);
        graph.axes("value.axes", &[1]);
        graph.node("Squeeze", &["value.column", "value.axes"], "value", &[]);
        graph.output("policy", &[Length::Batch, Length::Is(board.actions(heads.actions))]);
        graph.output("value", &[Length::Batch]);
        Ok(graph.file("board network"))
    }
}

impl DenseNet {
    /// The network as an ONNX file: `inputs`, `[batch][inputs]`, to `policy` (logits, `[batch][actions]`) and `value`
    /// (`[batch]`).
    pub fn onnx(&self) -> Vec<u8> {
        let mut graph = Graph::default();
        let spec = self.spec();
        for tensor in self.tensors() {
            graph.weight(&tensor);
        }
        graph.input("inputs", &[Length::Batch, Length::Is(spec.inputs)]);
        let mut x = "inputs".to_owned();
        for n in 0..spec.hidden.len() {
            let name = format!("layers.{n}");
            graph.dense(&x, &name, &format!("{name}.sum"));
            x = format!("{name}.active");
            graph.node("Relu", &[&format!("{name}.sum")], &x, &[]);
        }
        graph.dense(&x, "out", "out.sum");
        graph.axes("out.lengths", &[spec.actions as i64, 1]);
        graph.split("out.sum", "out.lengths", ["policy", "out.value"]);
        graph.node("Tanh", &["out.value"], "value.column", &[]);
        graph.axes("value.axes", &[1]);
        graph.node("Squeeze", &["value.column", "value.axes"], "value", &[]);
        graph.output("policy", &[Length::Batch, Length::Is(spec.actions)]);
        graph.output("value", &[Length::Batch]);
        graph.file("dense network")
    }
}

impl PolicyNet {
    /// The network as an ONNX file: `inputs`, `[batch][inputs]`, to `policy` (logits), `[batch][outputs]`.
    pub fn onnx(&self) -> Vec<u8> {
        perceptron(&self.tensors("layers."), &self.activations(), "policy")
    }
}

impl ValueNet {
    /// The network as an ONNX file: `inputs`, `[batch][inputs]`, to `value`, `[batch][1]`.
    pub fn onnx(&self) -> Vec<u8> {
        perceptron(&self.tensors("layers."), &self.activations(), "value")
    }
}

/// Layers named `layers.0`, `layers.1` and so on, each with its activation.
fn perceptron(tensors: &[Tensor], activations: &[Activation], output: &str) -> Vec<u8> {
    let mut graph = Graph::default();
    // A weight and a bias for each layer; a weight's shape is [outputs, inputs].
    graph.input("inputs", &[Length::Batch, Length::Is(tensors[0].shape[1])]);
    graph.output(output, &[Length::Batch, Length::Is(tensors[tensors.len() - 1].shape[0])]);
    tensors.iter().for_each(|tensor| graph.weight(tensor));
    let mut x = "inputs".to_owned();
    for (l, activation) in activations.iter().enumerate() {
        let name = format!("layers.{l}");
        let y = if l + 1 == activations.len() { output.to_owned() } else { format!("{name}.active") };
        graph.dense(&x, &name, &format!("{name}.sum"));
        let operator = match activation {
            Activation::Identity => "Identity",
            Activation::Relu => "Relu",
            Activation::Tanh => "Tanh",
        };
        graph.node(operator, &[&format!("{name}.sum")], &y, &[]);
        x = y;
    }
    graph.file("perceptron")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_written_as_protocol_buffers_have_them() {
        // The examples of the encoding's documentation: field 1 = 150, field 2 = "testing".
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        let text = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(Message::default().text(2, "testing").0, text);
        assert_eq!(Message::default().number(20, 7).0, [0xa0, 0x01, 0x07]);
    }

    #[test]
    fn a_graph_of_one_operator_is_the_expected_bytes() {
        let mut graph = Graph::default();
        graph.input("x", &[Length::Batch]);
        graph.output("y", &[Length::Is(2)]);
        graph.node("Tanh", &["x"], "y", &[Setting::Number("a", 1)]);
        let file = graph.file("g");
        let node = [10, 1, b'x', 18, 1, b'y', 26, 1, b'y', 34, 4, b'T', b'a', b'n', b'h', 42, 8];
        let setting = [10, 1, b'a', 24, 1, 160, 1, 2];
        let within = [&node[..], &setting].concat();
        assert!(file.windows(within.len()).any(|bytes| bytes == within));
        assert!(file.ends_with(&[66, 4, 10, 0, 16, 17]));
    }
}
