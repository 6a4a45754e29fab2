//! The residual network for boards: one set of weights for boards of any size.
//!
//! ```text
//! planes -> conv 3x3, norm, ReLU -> [ conv, norm, ReLU, conv, norm, + input, ReLU ] x blocks -+-> conv 1x1, norm, ReLU -> policy
//!                                                                                             +-> conv 1x1, norm, ReLU -> value
//! ```
//!
//! (He et al. 2016 for the blocks; Silver et al. 2017 for a policy and a value on one trunk.) Each convolution with its
//! normalisation and ReLU is a *unit*. Here stand what a network is and its weights; `training.rs` has the passes that
//! learn, `inference.rs` the one that evaluates.

mod training;

use std::ops::Range;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use self::training::{Prepared, Scratch, Slopes, Tape};
use crate::error::NetError;
use crate::file::Tensor;
use crate::heads::{Actions, Board, HIDDEN, Heads, POLICY_FEATURES, POOLED, VALUE_FEATURES};
use crate::inference::{BoardInference, Precision, Way, fold};
use crate::kernels::direct::MAX_CHANNELS;
use crate::kernels::winograd::Channels;
use crate::math::Level;
use crate::store::{Kind, Store, refuse_others};

/// Added to a variance before its root is taken.
pub(crate) const EPSILON: f32 = 1e-5;

/// What a board network is. Weights fit a network only if all of this is equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardSpec {
    /// Input planes.
    pub planes: usize,
    /// Features at each point of the trunk: a multiple of 16, at most 1024.
    pub channels: usize,
    /// Residual blocks of two convolutions.
    pub blocks: usize,
    /// Batch normalisation after each convolution; without it, a bias.
    pub norm: bool,
    /// What an action is.
    pub actions: Actions,
    /// Which meaning the planes have: weights learnt with another are refused.
    pub encoding: u32,
}

impl BoardSpec {
    fn check(&self) -> Result<(), NetError> {
        if self.planes == 0 || self.planes > MAX_CHANNELS {
            return Err(NetError::Spec(format!("{} planes, where 1 to {MAX_CHANNELS} are possible", self.planes)));
        }
        if self.channels == 0 || self.channels > MAX_CHANNELS || !self.channels.is_multiple_of(16) {
            let why = "where a multiple of 16 up to 1024 is needed";
            return Err(NetError::Spec(format!("{} channels, {why}", self.channels)));
        }
        Ok(())
    }

    /// # Errors
    /// [`NetError::Other`] with the first field in which `found` differs.
    pub fn expect(&self, found: &BoardSpec) -> Result<(), NetError> {
        let fields = [
            ("encoding version", self.encoding.to_string(), found.encoding.to_string()),
            ("number of planes", self.planes.to_string(), found.planes.to_string()),
            ("number of channels", self.channels.to_string(), found.channels.to_string()),
            ("number of blocks", self.blocks.to_string(), found.blocks.to_string()),
            ("normalisation", self.norm.to_string(), found.norm.to_string()),
            ("kind of actions", format!("{:?}", self.actions), format!("{:?}", found.actions)),
        ];
        match fields.into_iter().find(|(_, expected, found)| expected != found) {
            Some((what, expected, found)) => Err(NetError::Other { what, found, expected }),
            None => Ok(()),
        }
    }
}

/// What a network says of a batch; also the shape of the loss's gradient by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// Logits, `[positions][actions]`.
    pub policy: Vec<f32>,
    /// Values in [-1, 1] for the side that the planes are drawn for, `[positions]`.
    pub value: Vec<f32>,
}

impl Outputs {
    /// Zeros for this many positions and actions.
    pub fn zeros(positions: usize, actions: usize) -> Outputs {
        Outputs { policy: vec![0.0; positions * actions], value: vec![0.0; positions] }
    }
}

/// What a unit does before its normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// 3x3 on the input planes, by patches.
    Planes,
    /// 3x3 between channels.
    Conv,
    /// 1x1.
    Pointwise,
}

/// A convolution, its normalisation (or bias), perhaps a residual, and a ReLU.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    pub(crate) channels: Channels,
    /// The unit whose output it reads; the first reads the planes.
    pub(crate) input: usize,
    /// The unit whose output is added before the ReLU.
    pub(crate) residual: Option<usize>,
    pub(crate) weight: Range<usize>,
    /// The normalisation's scale, and its running mean and variance in the other store.
    pub(crate) norm: Option<Norm>,
    /// The normalisation's shift, or the bias.
    pub(crate) shift: Range<usize>,
}

/// Where a normalisation's numbers stand.
#[derive(Clone, Debug)]
pub(crate) struct Norm {
    pub(crate) scale: Range<usize>,
    pub(crate) mean: Range<usize>,
    pub(crate) variance: Range<usize>,
}

/// A network with its gradients and what it remembers of the last forward pass.
#[derive(Debug)]
pub struct BoardNet {
    spec: BoardSpec,
    level: Level,
    weights: Store,
    running: Store,
    units: Vec<Unit>,
    heads: Heads,
    gradients: Vec<f32>,
    prepared: Vec<Prepared>,
    /// Whether `prepared` is that of the present weights.
    fresh: bool,
    tape: Tape,
    slopes: Slopes,
    /// The gradients of one unit's weights, chunk by chunk.
    partial: Vec<f32>,
    scratch: Mutex<Vec<Scratch>>,
}

impl BoardNet {
    /// A network with random weights (He et al. 2015), drawn from `uniform`, which gives numbers in [0, 1). The last
    /// layers start at a tenth, so that the first policies are nearly even and the first values nearly 0.
    ///
    /// # Errors
    /// [`NetError::Spec`].
    pub fn new(spec: BoardSpec, uniform: &mut dyn FnMut() -> f32) -> Result<BoardNet, NetError> {
        spec.check()?;
        let (mut weights, mut running) = (Store::default(), Store::default());
        let mut units = Vec::new();
        let trunk = Channels { input: spec.channels, output: spec.channels };
        let mut unit = |name: String, operation, channels: Channels, input, residual| {
            let Channels { input: from, output: to } = channels;
            let kind = match operation {
                Operation::Pointwise => Kind::Pointwise { input: from, output: to },
                Operation::Planes | Operation::Conv => Kind::Conv { input: from, output: to },
            };
            let vector = Kind::Vector { n: to };
            let weight = weights.add(format!("{name}.conv.weight"), kind);
            let norm = spec.norm.then(|| Norm {
                scale: weights.add(format!("{name}.norm.weight"), vector),
                mean: running.add(format!("{name}.norm.running_mean"), vector),
                variance: running.add(format!("{name}.norm.running_var"), vector),
            });
            let of = if spec.norm { "norm" } else { "conv" };
            let shift = weights.add(format!("{name}.{of}.bias"), vector);
            units.push(Unit { name, operation, channels, input, residual, weight, norm, shift });
        };
        let stem = Channels { input: spec.planes, output: spec.channels };
        unit("stem".into(), Operation::Planes, stem, 0, None);
        for block in 0..spec.blocks {
            unit(format!("blocks.{block}.first"), Operation::Conv, trunk, 2 * block, None);
            unit(format!("blocks.{block}.second"), Operation::Conv, trunk, 2 * block + 1, Some(2 * block));
        }
        let features = |output| Channels { input: spec.channels, output };
        unit("policy".into(), Operation::Pointwise, features(POLICY_FEATURES), 2 * spec.blocks, None);
        unit("value".into(), Operation::Pointwise, features(VALUE_FEATURES), 2 * spec.blocks, None);
        let heads = Heads::new(&mut weights, spec.actions);

        let mut draw = |range: &Range<usize>, inputs: usize, gain: f32| {
            let bound = gain * (6.0 / inputs as f32).sqrt();
            weights.fill(range, || bound * (2.0 * uniform() - 1.0));
        };
        for unit in &units {
            let taps = if unit.operation == Operation::Pointwise { 1 } else { 9 };
            // Without normalisation each block would double the variance: the second convolutions share it out.
            let gain = if unit.residual.is_some() { (spec.blocks as f32).sqrt().recip() } else { 1.0 };
            draw(&unit.weight, taps * unit.channels.input, gain);
        }
        draw(&heads.policy_weight, POLICY_FEATURES, 0.1);
        draw(&heads.hidden_weight, POOLED, 1.0);
        draw(&heads.value_weight, HIDDEN, 0.1);
        for norm in units.iter().filter_map(|unit| unit.norm.as_ref()) {
            weights.data[norm.scale.clone()].fill(1.0);
            running.data[norm.variance.clone()].fill(1.0);
        }
        Ok(BoardNet {
            spec,
            level: Level::best(),
            gradients: vec![0.0; weights.data.len()],
            prepared: vec![Prepared::default(); units.len()],
            fresh: false,
            tape: Tape::default(),
            slopes: Slopes::default(),
            partial: Vec::new(),
            scratch: Mutex::default(),
            weights,
            running,
            units,
            heads,
        })
    }

    /// What this network is.
    pub fn spec(&self) -> &BoardSpec {
        &self.spec
    }

    /// How many numbers are learnt (with the padding of the last layers).
    pub fn weights_len(&self) -> usize {
        self.weights.data.len()
    }

    /// All weights and running moments, with names and shapes as PyTorch gives them.
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.weights.named(&self.weights.data);
        tensors.extend(self.running.named(&self.running.data));
        tensors
    }

    /// The gradients gathered since the last step, under the names of their weights.
    pub fn gradients(&self) -> Vec<Tensor> {
        self.weights.named(&self.gradients)
    }

    /// Replaces all weights and running moments; nothing changes if one is refused.
    ///
    /// # Errors
    /// If a tensor is missing, is one too many, has another shape or holds a number that is not finite.
    pub fn load(&mut self, tensors: &[Tensor]) -> Result<(), NetError> {
        refuse_others(&[&self.weights, &self.running], tensors)?;
        let weights = self.weights.laid_out(tensors)?;
        self.running.data = self.running.laid_out(tensors)?;
        self.weights.data = weights;
        self.fresh = false;
        Ok(())
    }

    /// A copy of the present weights, made ready to evaluate positions on boards of this size. Kernels are chosen for
    /// batches of `nominal_batch` positions; others are served as well.
    ///
    /// # Errors
    /// [`NetError::Spec`] for an empty board.
    pub fn inference(&self, board: Board, nominal_batch: usize) -> Result<BoardInference, NetError> {
        check_board(board)?;
        Ok(self.inference_by(board, Way::Single { nominal_batch }))
    }

    /// The low precision that this processor evaluates the network fastest in, for [`BoardNet::inference_low`]: bfloat16
    /// where it has AMX, else 8-bit integers where it has AVX512-VNNI. `None` where f32 is the fastest there is: on other
    /// processors, where [`Level::best`] is forced below AVX-512, and if the channels are no multiple of 32.
    pub fn low_precision(&self) -> Option<Precision> {
        [Precision::Bf16, Precision::Int8].into_iter().find(|precision| precision.check(self.spec.channels).is_ok())
    }

    /// As [`BoardNet::inference`], with the weights and the inputs of the blocks in low precision: about twice as fast or more, and
    /// the outputs are less exact (`docs/networks.md` has both in figures), so this is never taken unasked.
    ///
    /// # Errors
    /// [`NetError::Spec`] for an empty board, a precision that the processor has no instructions for, or a number of
    /// channels that is no multiple of 32.
    pub fn inference_low(&self, board: Board, precision: Precision) -> Result<BoardInference, NetError> {
        check_board(board)?;
        precision.check(self.spec.channels)?;
        Ok(self.inference_by(board, Way::Low { precision, software: false }))
    }

    pub(crate) fn inference_by(&self, board: Board, way: Way) -> BoardInference {
        let (weights, running) = (&self.weights.data, &self.running.data);
        BoardInference::new(&self.spec, &self.units, &self.heads, weights, running, board, way)
    }

    /// The units, the heads, and all weights as inference uses them, under the names of a network without normalisation.
    pub(crate) fn folded(&self) -> (&[Unit], &Heads, Vec<Tensor>) {
        let mut plain = Store::default();
        for unit in &self.units {
            let Channels { input, output } = unit.channels;
            let kind = match unit.operation {
                Operation::Pointwise => Kind::Pointwise { input, output },
                Operation::Planes | Operation::Conv => Kind::Conv { input, output },
            };
            let (weight, bias) = fold(unit, &self.weights.data, &self.running.data);
            let place = plain.add(format!("{}.conv.weight", unit.name), kind);
            plain.data[place].copy_from_slice(&weight);
            let place = plain.add(format!("{}.conv.bias", unit.name), Kind::Vector { n: output });
            plain.data[place].copy_from_slice(&bias);
        }
        let mut tensors = plain.named(&plain.data);
        tensors.extend(self.weights.named_within(&self.heads.range(), &self.weights.data));
        (&self.units, &self.heads, tensors)
    }
}

pub(crate) fn check_board(board: Board) -> Result<(), NetError> {
    if board.height == 0 || board.width == 0 {
        return Err(NetError::Spec(format!("a board of {} x {}", board.height, board.width)));
    }
    Ok(())
}
