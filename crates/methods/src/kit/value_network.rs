//! Networks that say what a position is worth: their settings, their inputs, their first weights.

use net::hidden::Term;
use net::math;
use net::mlp::{Activation, Place};
use net::value_net::ValueNet;
use rules::{Game, Rng, Seat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::learner::{ConfigError, require};

/// A stone on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stone {
    /// The cell, row x columns + column.
    pub cell: usize,
    /// Whose it is.
    pub owner: Seat,
}

/// The stones of a position, by cells.
pub fn stones_of<G: Game>(game: &G, position: &G::Position, stones: &mut Vec<Stone>) {
    stones.clear();
    stones.extend((0..game.cells()).filter_map(|cell| {
        let owner = game.stone(position, cell)?;
        Some(Stone { cell, owner })
    }));
}

/// What a network sees of the stones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// One number a cell: +1 the first player's stone, -1 the second's, 0 empty. The output is the first player's value.
    Absolute,
    /// One number a cell: +1 a stone of the side to move, -1 its opponent's, 0 empty. The output is the mover's value.
    Relative,
    /// Two numbers a cell, each 0 or 1: a stone of the side to move, a stone of its opponent. The output is the mover's
    /// value.
    Planes,
}

impl Inputs {
    /// How many numbers a board of so many cells becomes.
    pub fn count(self, cells: usize) -> usize {
        match self {
            Inputs::Absolute | Inputs::Relative => cells,
            Inputs::Planes => 2 * cells,
        }
    }

    /// The input that a stone sets, on a board of `cells` cells, seen by `viewer`.
    #[inline]
    pub fn term(self, cells: usize, stone: Stone, viewer: Seat) -> Term {
        let sign = |own: bool| if own { 1.0 } else { -1.0 };
        match self {
            Inputs::Absolute => Term { input: stone.cell, value: sign(stone.owner == Seat::First) },
            Inputs::Relative => Term { input: stone.cell, value: sign(stone.owner == viewer) },
            Inputs::Planes => Term { input: stone.cell + cells * usize::from(stone.owner != viewer), value: 1.0 },
        }
    }

    /// Turns the network's output for a position with `to_move` to move into a value for the first player, and back.
    #[inline]
    pub fn for_first(self, value: f32, to_move: Seat) -> f32 {
        if self != Inputs::Absolute && to_move == Seat::Second { -value } else { value }
    }
}

/// A function after a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// x itself.
    Identity,
    /// max(x, 0).
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

impl From<Function> for Activation {
    fn from(function: Function) -> Activation {
        match function {
            Function::Identity => Activation::Identity,
            Function::Relu => Activation::Relu,
            Function::Tanh => Activation::Tanh,
        }
    }
}

/// The distribution of the first weights; biases begin at 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Init {
    /// Normal with mean 0 and this standard deviation, above 0 and at most 10.
    Normal(f32),
    /// Uniform within sqrt(6 / (fan-in + fan-out)) of 0 (Glorot and Bengio 2010).
    Xavier,
}

/// Sizes, functions and first weights of a network with one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What it sees of the board.
    pub inputs: Inputs,
    /// Units in each hidden layer: 1 to 8 layers of 1 to 1,024.
    pub hidden: Vec<usize>,
    /// The function after each hidden layer.
    pub activation: Function,
    /// The function after the output: `tanh` or `identity`.
    pub output: Function,
    /// The first weights.
    pub init: Init,
}

impl Network {
    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// Names the first impossible field.
    pub fn check(&self) -> Result<(), ConfigError> {
        let sizes = format!("{:?}", self.hidden);
        let possible = (1..=8).contains(&self.hidden.len()) && self.hidden.iter().all(|n| (1..=1_024).contains(n));
        require(possible, "network.hidden", &sizes, "1 to 8 layers of 1 to 1024 units")?;
        require(self.output != Function::Relu, "network.output", &"relu", "tanh or identity: values have both signs")?;
        match self.init {
            Init::Normal(deviation) => {
                let possible = deviation > 0.0 && deviation <= 10.0;
                require(possible, "network.init.normal", &deviation, "above 0 and at most 10")
            }
            Init::Xavier => Ok(()),
        }
    }

    /// The network with its first weights, for the stones of a board of `cells` cells and `others` further inputs.
    pub fn build(&self, cells: usize, others: usize, rng: &mut Rng) -> ValueNet {
        let mut sizes = vec![self.inputs.count(cells) + others];
        sizes.extend(&self.hidden);
        sizes.push(1);
        let mut activations = vec![Activation::from(self.activation); self.hidden.len()];
        activations.push(self.output.into());
        ValueNet::new(&sizes, &activations, |place: Place| match self.init {
            _ if place.bias => 0.0,
            Init::Normal(deviation) => deviation * normal(rng),
            Init::Xavier => {
                let bound = (6.0 / (place.inputs + place.outputs) as f32).sqrt();
                rng.uniform(-bound, bound)
            }
        })
    }
}

/// A number from the standard normal distribution, by Marsaglia's polar method; the second of each pair is not used.
fn normal(rng: &mut Rng) -> f32 {
    loop {
        let (u, v) = (rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0));
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return u * (-2.0 * math::ln(s) / s).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_shows_a_stone_as_it_says() {
        let stone = Stone { cell: 4, owner: Seat::Second };
        let term = |input, value| Term { input, value };
        assert_eq!(Inputs::Absolute.term(9, stone, Seat::Second), term(4, -1.0));
        assert_eq!(Inputs::Relative.term(9, stone, Seat::Second), term(4, 1.0));
        assert_eq!(Inputs::Planes.term(9, stone, Seat::Second), term(4, 1.0));
        assert_eq!(Inputs::Planes.term(9, stone, Seat::First), term(13, 1.0));
        assert_eq!(
            (Inputs::Relative.for_first(0.5, Seat::Second), Inputs::Absolute.for_first(0.5, Seat::Second)),
            (-0.5, 0.5)
        );
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut rng = Rng::new(5, 0);
        let numbers: Vec<f64> = (0..100_000).map(|_| f64::from(normal(&mut rng))).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / 1e5;
        // Standard deviations 0.0032 and 0.0045; six of them.
        assert!(mean.abs() < 0.019 && (variance - 1.0).abs() < 0.027, "{mean} {variance}");
    }

    #[test]
    fn impossible_networks_are_refused_by_field() {
        let good = Network {
            inputs: Inputs::Absolute,
            hidden: vec![27],
            activation: Function::Tanh,
            output: Function::Tanh,
            init: Init::Normal(0.5),
        };
        assert_eq!(good.check(), Ok(()));
        for hidden in [vec![], vec![0], vec![2_000]] {
            assert_eq!(Network { hidden, ..good.clone() }.check().unwrap_err().field, "network.hidden");
        }
        let network = Network { init: Init::Normal(f32::NAN), ..good.clone() };
        assert_eq!(network.check().unwrap_err().field, "network.init.normal");
        assert_eq!(Network { output: Function::Relu, ..good }.check().unwrap_err().field, "network.output");
    }
}
