//! Small networks with forward and backward side by side, on plain slices. Knows no game.
//!
//! For batches: [`BoardNet`] (convolutions, boards of any size) and [`DenseNet`], explained layer by layer in
//! `docs/networks.md`. Each method computes its own loss:
//!
//! ```
//! use net::{Actions, Board, BoardNet, BoardSpec, Optimiser, Outputs, Rule, Workers};
//!
//! let spec = BoardSpec { planes: 2, channels: 16, blocks: 1, norm: true, actions: Actions::Points, encoding: 1 };
//! let mut random = 0.5_f32;
//! let mut uniform = || {
//!     random = (random * 997.0 + 0.37).fract();
//!     random
//! };
//! let mut net = BoardNet::new(spec, &mut uniform)?;
//! let mut adam = Optimiser::new(Rule::ADAM, 1e-4, Some(1.0));
//! let (board, workers) = (Board { height: 5, width: 5 }, Workers::one());
//! let planes = vec![1.0; 3 * 2 * 25];
//!
//! // Learn: the value of all three positions is 0.5.
//! for _ in 0..100 {
//!     let outputs = net.forward(board, &planes, &workers)?;
//!     let mut d = Outputs::zeros(3, 25);
//!     for (d, value) in d.value.iter_mut().zip(&outputs.value) {
//!         *d = 2.0 * (value - 0.5) / 3.0;
//!     }
//!     net.backward(&d, &workers)?;
//!     net.step(&mut adam, 1e-2);
//! }
//!
//! // Evaluate, with the weights as they now are.
//! let inference = net.inference(board, 32)?;
//! let mut outputs = Outputs::default();
//! inference.run(&planes, &workers, &mut outputs)?;
//! assert_eq!((outputs.policy.len(), outputs.value.len()), (3 * 25, 3));
//! assert!((outputs.value[0] - 0.5).abs() < 0.1);
//! # Ok::<(), net::NetError>(())
//! ```

mod dense;
mod error;
pub mod file;
pub mod gradcheck;
mod heads;
pub mod hidden;
mod inference;
mod kernels;
mod lanes;
pub mod layers;
mod lines;
pub mod loss;
pub mod math;
pub mod mlp;
mod onnx;
pub mod optim;
mod partial;
pub mod policy_net;
mod residual;
mod store;
#[cfg(test)]
mod test_data;
pub mod value_net;
mod workers;

pub use dense::{DenseInference, DenseNet, DenseSpec};
pub use error::{NetError, finite};
pub use heads::{Actions, Board};
pub use inference::{BoardInference, Precision};
pub use optim::{Optimiser, Rule, Schedule};
pub use residual::{BoardNet, BoardSpec, Outputs};
pub use workers::Workers;
