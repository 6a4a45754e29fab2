//! Small networks with forward and backward side by side, on plain slices. Knows no game.

mod dense;
mod error;
pub mod file;
pub mod gradcheck;
mod heads;
mod inference;
mod kernels;
mod lanes;
pub mod layers;
pub mod loss;
pub mod math;
pub mod mlp;
mod onnx;
pub mod optim;
mod residual;
mod store;
#[cfg(test)]
mod test_data;
pub mod value_net;
mod workers;

pub use dense::{DenseInference, DenseNet, DenseSpec};
pub use error::NetError;
pub use heads::{Actions, Board};
pub use inference::BoardInference;
pub use optim::{Optimiser, Rule, Schedule};
pub use residual::{BoardNet, BoardSpec, Outputs};
pub use workers::Workers;
