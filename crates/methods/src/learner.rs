//! What every learning method offers to the program around it, and what it may ask of it.
//!
//! A run is a function of (config, seed). A learner therefore holds all of its state, can be saved between any
//! two games and restored to the same bits, and draws the randomness of game number g from the stream (seed, g).

use net::NetError;
use net::file::{FileError, Tensor};
use rules::{Action, Evaluator, Game, Player, Seat};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

/// A method while it learns.
pub trait Learner<G: Game>: Sized {
    /// The settings: the flags, the run's record and the documentation at once.
    type Config: Config;

    /// What has been learned, ready to play.
    type Agent: Agent<G> + 'static;

    /// The name by which the method is chosen.
    const METHOD: &'static str;

    /// What the method is, in a sentence of at most 100 characters, for the list of methods.
    const ABOUT: &'static str;

    /// Changes whenever the same weights would mean something else, so that older files are refused by name.
    const ENCODING: u32 = 1;

    /// The settings that were tried for this game, the default first; empty if the method cannot play it.
    fn presets(game: &G) -> Vec<Preset<Self::Config>>;

    /// The seats that the agent is trained to play; no claim is made about the other.
    fn seats(_config: &Self::Config) -> Vec<Seat> {
        Seat::BOTH.to_vec()
    }

    /// A learner before its first game.
    ///
    /// # Errors
    /// If a setting is impossible.
    fn new(game: &G, config: &Self::Config, seed: u64) -> Result<Self, ConfigError>;

    /// Continues what [`Learner::save`] saved, to the same bits as if it had never stopped.
    ///
    /// # Errors
    /// If the state does not belong to this game and config, or is damaged.
    fn restore(game: &G, config: &Self::Config, seed: u64, state: &State) -> Result<Self, RestoreError>;

    /// The whole state, taken between two games.
    fn save(&self) -> State;

    /// The number of games learned from so far.
    fn games(&self) -> u64;

    /// The number of games that the config asks for.
    fn planned(&self) -> u64;

    /// Learns until the planned number of games is reached or `watch` says stop.
    ///
    /// # Errors
    /// If a number stops being finite; the learner's state is then worthless.
    fn train(&mut self, watch: &mut dyn Watch<Self>) -> Result<(), Diverged>;

    /// The network as it now is.
    fn agent(&self) -> Self::Agent;

    /// The weights that [`Learner::load`] needs to make the same agent.
    fn weights(&self) -> Vec<Tensor>;

    /// The weights after learning from one more finished game, in which somebody else played against the agent in
    /// `seat`; `None` if the method cannot learn from a game that it did not lead.
    fn learn_from(
        _game: &G,
        _config: &Self::Config,
        _weights: &[Tensor],
        _actions: &[Action],
        _seat: Seat,
    ) -> Option<Result<Vec<Tensor>, RestoreError>> {
        None
    }

    /// An agent from its file.
    ///
    /// # Errors
    /// If the weights are of another network, or damaged.
    fn load(game: &G, config: &Self::Config, weights: &[Tensor]) -> Result<Self::Agent, RestoreError>;
}

/// Settings of a method. Its fields carry a sentence each, with unit and range; unknown fields are refused.
pub trait Config: Clone + PartialEq + Serialize + DeserializeOwned + JsonSchema {
    /// Refuses what cannot work.
    ///
    /// # Errors
    /// Names the first impossible field.
    fn check(&self) -> Result<(), ConfigError>;
}

/// Named settings.
#[derive(Clone, Debug)]
pub struct Preset<C> {
    /// The name: `article` for the recipe as its source publishes it, `strong` for ours.
    pub name: &'static str,
    /// One sentence: what it is and where it comes from.
    pub about: &'static str,
    /// The settings.
    pub config: C,
}

/// An impossible setting.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field} = {value} is impossible: it must be {range}")]
pub struct ConfigError {
    /// The field, as it is written in the config.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What would be right.
    pub range: &'static str,
}

/// Refuses a setting unless `possible`.
///
/// # Errors
/// The refusal.
pub fn require(
    possible: bool,
    field: &'static str,
    value: &impl ToString,
    range: &'static str,
) -> Result<(), ConfigError> {
    if possible { Ok(()) } else { Err(ConfigError { field, value: value.to_string(), range }) }
}

/// Everything that a learner needs to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Games learned from.
    pub games: u64,
    /// Whole numbers, such as the counts of the present window, by name.
    pub counters: Vec<(String, u64)>,
    /// Weights, momenta, older versions.
    pub tensors: Vec<Tensor>,
}

impl State {
    /// A counter by its name.
    ///
    /// # Errors
    /// If it is missing.
    pub fn counter(&self, name: &str) -> Result<u64, RestoreError> {
        let found = self.counters.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| *value).ok_or_else(|| RestoreError::Missing(name.to_owned()))
    }
}

/// Why a state or an agent cannot be restored.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RestoreError {
    /// The settings are impossible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The tensors do not fit.
    #[error(transparent)]
    Tensors(#[from] FileError),
    /// The tensors are of another network.
    #[error(transparent)]
    Network(#[from] NetError),
    /// A counter is missing.
    #[error("the counter '{0}' is missing")]
    Missing(String),
}

/// Training came to a number that is not finite.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} stopped being finite in game {game}: try a lower learning rate")]
pub struct Diverged {
    /// The number of the game, counted from 1.
    pub game: u64,
    /// What it was.
    pub what: &'static str,
}

/// Who looks on while a learner trains; the only way out of `train` before its end.
pub trait Watch<L> {
    /// A line of the run's metrics: a function of config and seed alone.
    fn row(&mut self, row: &Row);

    /// Something that whoever trains should know after so many games, with what to try. Said once.
    fn note(&mut self, _games: u64, _text: &str) {}

    /// The most threads that the learner may use. However many they are, the result is the same.
    fn threads(&self) -> usize {
        1
    }

    /// Called between games: after every game whose number is a multiple of [`PAUSE`], and after the last. The place to save.
    fn pause(&mut self, learner: &L) -> Control;
}

/// How many games lie between two calls of [`Watch::pause`].
pub const PAUSE: u64 = 100;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Return from `train` with the state as it is.
    Stop,
}

/// Trains to the end unseen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl<L> Watch<L> for Unwatched {
    fn row(&mut self, _row: &Row) {}

    fn pause(&mut self, _learner: &L) -> Control {
        Control::Continue
    }
}

/// A line of metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Games learned from.
    pub games: u64,
    /// Named numbers, in the order in which they are shown.
    pub metrics: Vec<(&'static str, Metric)>,
}

/// A number in a line of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Metric {
    /// A count.
    Count(u64),
    /// A measured quantity.
    Real(f64),
}

impl Metric {
    /// The number, whatever it counts or measures.
    pub fn number(self) -> f64 {
        match self {
            Metric::Count(count) => count as f64,
            Metric::Real(real) => real,
        }
    }
}

/// What has been learned, as a player that can say what it thinks.
///
/// As a [`Player`] it is deterministic: the best legal action by its network.
pub trait Agent<G: Game>: Player<G> + Evaluator<G> {
    /// What the network says of every action, also of illegal ones; as many numbers as the game has actions.
    fn opinion(&mut self, game: &G, position: &G::Position) -> Opinion;

    /// The same network playing by chance: from its softmax policy, or epsilon-greedily; `None` if the method has no
    /// such way to play.
    fn stochastic(&self) -> Option<Box<dyn Player<G>>>;

    /// The network as an ONNX file, for other programs to run; `None` if the method has no such form.
    fn onnx(&self) -> Option<Vec<u8>> {
        None
    }
}

/// A network's numbers for the actions of one position.
#[derive(Clone, Debug, PartialEq)]
pub enum Opinion {
    /// A probability for each action, over all actions, legal or not.
    Probabilities(Vec<f32>),
    /// A value for each action, for the side to move, in [-1, 1]; NaN where the method cannot value an illegal action.
    Values(Vec<f32>),
}
