//! TD(0) backward: after each game, from its last position to its first, each value moves towards the value of the
//! position that followed it, as the network *now* says it.
//!
//! Let S1, ..., Sn be the positions after each ply of a game of self-play, z its outcome for the first player
//! (+1, 0, -1). For i = n, n-1, ..., 1, each step changing the weights at once:
//!
//! ```text
//! V(Sn) <- V(Sn) + a (z - V(Sn))                   the end is worth its outcome
//! V(Si) <- V(Si) + a (gamma V(Si+1) - V(Si))       the rest is worth what followed
//! ```
//!
//! with a network in place of V: one step of stochastic gradient descent on half the squared difference, the target
//! held fixed (a semi-gradient; Sutton and Barto, "Reinforcement Learning", 2nd edition, sections 6.1 and 9.3).
//! There are no rewards but the outcome, hence no r in the second line. All values are the first player's, hence no
//! minus sign either: with values for the side to move the target would read -gamma V(Si+1), which is not a mistake
//! but the same thing, since the seats alternate.
//!
//! *Bias and variance.* The target V(Si+1) is as wrong as V is (bias, from bootstrapping) but depends on one further
//! move only (little variance). The order makes up for the slowness that usually comes with it: because Si+1 has just
//! moved when Si looks at it, one game carries its outcome back to its first move, as [`crate::monte_carlo`] does, if
//! weakened by the rate at each step. [`crate::td_batch`] is the same sum in the other order, and there the outcome
//! gets back one ply a game.
//!
//! *What it reaches.* The moves that are tried at random belong to the games whose values are learned, so V converges
//! to the value of play that errs with probability epsilon (on-policy), not of best play. `off_policy` cuts the chain
//! at a random move, whose probability under greedy play is 0, as Sutton and Barto do in their first chapter.
//! Figures: docs/methods/td_backward.md.

use net::file::Tensor;
use rules::{Game, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::after_states::{AfterStatePlayer, Behaviour, Episode, NetworkValues, Values, reward};
use crate::kit::schedule::Linear;
use crate::kit::tally::Tally;
use crate::kit::value_network::{Function, Init, Inputs, Network};
use crate::learner::{
    self, ConfigError, Control, Diverged, Learner, PAUSE, Preset, RestoreError, State, Watch, require,
};

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Games of self-play to learn from, at least 1.
    pub games: u64,
    /// The probability of a random move, from the first game to the last, in [0, 1].
    pub epsilon: Linear,
    /// The learning rate a, from the first game to the last, in [0, 10].
    pub rate: Linear,
    /// The discount gamma for each ply, in [0, 1].
    pub gamma: f32,
    /// The greatest number of random moves with which a game begins; the number itself is drawn for each game.
    pub openings: usize,
    /// Whether a position does not learn from what followed a random move.
    pub off_policy: bool,
    /// Whether a final after-state counts its outcome instead of the network's value, and is not learned.
    pub exact_finals: bool,
    /// The network.
    pub network: Network,
}

impl learner::Config for Config {
    fn check(&self) -> Result<(), ConfigError> {
        require(self.games >= 1, "games", &self.games, "at least 1")?;
        require(self.epsilon.within(0.0, 1.0), "epsilon", &self.epsilon, "within [0, 1]")?;
        require(self.rate.within(0.0, 10.0), "rate", &self.rate, "within [0, 10]")?;
        require((0.0..=1.0).contains(&self.gamma), "gamma", &self.gamma, "within [0, 1]")?;
        self.network.check()
    }
}

/// As published: 9 inputs, 27 hidden units, 30,000 games.
fn article() -> Config {
    Config {
        games: 30_000,
        epsilon: Linear { start: 0.5, end: 0.02 },
        rate: Linear::constant(0.05),
        gamma: 1.0,
        openings: 0,
        off_policy: false,
        exact_finals: false,
        network: Network {
            inputs: Inputs::Absolute,
            hidden: vec![27],
            activation: Function::Tanh,
            output: Function::Tanh,
            init: Init::Normal(0.5),
        },
    }
}

/// Ours. What each change is worth: results/2026-11-30-value-methods.
fn strong() -> Config {
    Config {
        games: 120_000,
        epsilon: Linear::constant(0.2),
        rate: Linear { start: 0.05, end: 0.005 },
        openings: 7,
        off_policy: true,
        network: Network {
            inputs: Inputs::Planes,
            hidden: vec![128],
            activation: Function::Relu,
            init: Init::Normal(0.1),
            ..article().network
        },
        ..article()
    }
}

/// Ours on Connect Four: smaller steps, fewer random moves, and ends that need not be learned. What it reaches:
/// results/2026-11-30-connect4-learners.
fn connect4() -> Config {
    Config {
        games: 100_000,
        epsilon: Linear::constant(0.1),
        rate: Linear { start: 0.02, end: 0.002 },
        exact_finals: true,
        ..strong()
    }
}

/// The method while it learns.
#[derive(Clone, Debug)]
pub struct TdBackward<G: Game> {
    game: G,
    config: Config,
    seed: u64,
    games: u64,
    values: NetworkValues,
    tally: Tally,
}

/// One game, and what is learned from it.
fn learn_one_game<G: Game, V: Values<G>>(
    game: &G,
    config: &Config,
    values: &mut V,
    episode: &mut Episode<G>,
    tally: &mut Tally,
    (number, rng): (u64, &mut Rng),
) {
    let epsilon = config.epsilon.at(number, config.games);
    let rate = config.rate.at(number, config.games);
    let behaviour = Behaviour { epsilon, openings: config.openings, exact_finals: config.exact_finals };
    episode.play_out(game, values, behaviour, rng);

    let (n, z) = (episode.plies(), reward(episode.outcome()));
    for i in (1..=n).rev() {
        let target = if i == n {
            if config.exact_finals {
                continue;
            }
            z
        } else {
            if config.off_policy && episode.explored(i + 1) {
                continue;
            }
            let next = if i + 1 == n && config.exact_finals { z } else { values.value(game, &episode.state(i + 1)) };
            config.gamma * next
        };
        let before = values.learn(game, &episode.state(i), target, rate);
        tally.step(before, target);
    }
}

impl<G: Game> Learner<G> for TdBackward<G> {
    type Config = Config;
    type Agent = AfterStatePlayer<G>;
    const METHOD: &'static str = "td_backward";
    const ABOUT: &'static str = "TD(0) on after-states, from the end of each game to its start";

    fn presets(game: &G) -> Vec<Preset<Config>> {
        match game.name().as_str() {
            "tictactoe" => vec![
                Preset { name: "strong", about: "ours: unbeatable in both seats", config: strong() },
                Preset { name: "article", about: "as published", config: article() },
            ],
            "connect4" => vec![
                Preset { name: "strong", about: "ours: what short trials on this game chose", config: connect4() },
                Preset { name: "article", about: "as published for tic-tac-toe", config: article() },
            ],
            _ => Vec::new(),
        }
    }

    fn new(game: &G, config: &Config, seed: u64) -> Result<Self, ConfigError> {
        learner::Config::check(config)?;
        let values = NetworkValues::new(game, &config.network, seed);
        Ok(TdBackward { game: game.clone(), config: config.clone(), seed, games: 0, values, tally: Tally::default() })
    }

    fn restore(game: &G, config: &Config, seed: u64, state: &State) -> Result<Self, RestoreError> {
        let mut learner = Self::new(game, config, seed)?;
        learner.values.set_tensors("value.", &state.tensors)?;
        learner.tally = Tally::restore(state)?;
        learner.games = state.games;
        Ok(learner)
    }

    fn save(&self) -> State {
        State { games: self.games, counters: self.tally.counters(), tensors: self.values.tensors("value.") }
    }

    fn games(&self) -> u64 {
        self.games
    }

    fn planned(&self) -> u64 {
        self.config.games
    }

    fn train(&mut self, watch: &mut dyn Watch<Self>) -> Result<(), Diverged> {
        let mut episode = Episode::new(&self.game);
        while self.games < self.config.games {
            let number = self.games + 1;
            let mut rng = Rng::new(self.seed, number);
            let (values, tally) = (&mut self.values, &mut self.tally);
            learn_one_game(&self.game, &self.config, values, &mut episode, tally, (number, &mut rng));
            self.tally.game(episode.outcome(), number)?;
            self.games = number;
            if number.is_multiple_of(PAUSE) || number == self.config.games {
                if !self.values.is_finite() {
                    return Err(Diverged { game: number, what: "a weight" });
                }
                if let Some(row) = self.tally.row(number, self.config.games) {
                    watch.row(&row);
                }
                if watch.pause(self) == Control::Stop {
                    break;
                }
            }
        }
        Ok(())
    }

    fn agent(&self) -> Self::Agent {
        let (exact_finals, epsilon) = (self.config.exact_finals, self.config.epsilon.end);
        AfterStatePlayer::new(Self::METHOD, self.values.clone(), exact_finals, epsilon)
    }

    fn weights(&self) -> Vec<Tensor> {
        self.values.tensors("value.")
    }

    fn load(game: &G, config: &Config, weights: &[Tensor]) -> Result<Self::Agent, RestoreError> {
        let mut learner = Self::new(game, config, 0)?;
        learner.values.set_tensors("value.", weights)?;
        Ok(learner.agent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::after_states::TableValues;
    use crate::kit::testing::{self, Reference};
    use crate::learner::Unwatched;
    use rules::tictactoe::TicTacToe;
    use rules::tiny::Tiny;

    fn one_game() -> Config {
        Config { games: 1, gamma: 0.9, ..article() }
    }

    /// S1, S2 and S3 of the forced game as the network sees them.
    const S: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, -1.0, 1.0]];

    #[test]
    fn one_game_changes_the_weights_as_computed_by_hand() {
        let game = testing::forced();
        let mut learner = TdBackward::new(&game, &one_game(), 4).unwrap();
        let before = learner.weights();
        let mut net = Reference::tanh(&before);
        net.step(&S[2], 1.0, 0.05);
        net.step(&S[1], 0.9 * net.value(&S[2]), 0.05);
        net.step(&S[0], 0.9 * net.value(&S[1]), 0.05);
        learner.train(&mut Unwatched).unwrap();
        net.assert_reached(&before, &learner.weights());
    }

    /// Games learned by a table.
    fn table(game: &Tiny, config: &Config) -> TableValues<Tiny> {
        let (mut values, mut episode, mut tally) = (TableValues::default(), Episode::new(game), Tally::default());
        for number in 1..=config.games {
            let mut rng = Rng::new(6, number);
            learn_one_game(game, config, &mut values, &mut episode, &mut tally, (number, &mut rng));
        }
        values
    }

    #[test]
    fn one_game_carries_the_outcome_back_to_the_first_position() {
        let game = testing::forced();
        let config = Config { games: 1, rate: Linear::constant(0.5), ..article() };
        let first = rules::game::replay(&game, &[0]).unwrap();
        let value = table(&game, &config).0.get(&first).copied().unwrap_or(0.0);
        assert_eq!(value, 0.125);
    }

    #[test]
    fn a_table_reaches_the_values_of_epsilon_greedy_play_and_off_policy_the_minimax_values() {
        let game = testing::choices();
        let rate = Linear { start: 0.2, end: 0.001 };
        let epsilon = Linear::constant(0.4);
        let config = Config { games: 150_000, epsilon, rate, openings: 0, off_policy: false, ..article() };
        let (noisy, minimax) = (testing::exact_values(&game, 0.4), testing::exact_values(&game, 0.0));
        assert!(testing::worst(&noisy, &minimax) > 0.3, "the two differ in this game");
        let off = testing::worst(&table(&game, &config).0, &noisy);
        assert!(off < 0.03, "{off}");
        let off_policy = Config { off_policy: true, ..config };
        assert!(testing::worst(&table(&game, &off_policy).0, &minimax) < 0.03);
    }

    #[test]
    fn a_run_that_is_stopped_and_resumed_is_the_same_run() {
        let games = 1_300;
        testing::assert_resumes::<TdBackward<TicTacToe>>(&Config { games, ..article() }, 600);
        testing::assert_resumes::<TdBackward<TicTacToe>>(&Config { games, ..strong() }, 1_000);
    }

    #[test]
    fn impossible_settings_and_diverging_runs_are_refused() {
        let rate = Linear::constant(f32::NAN);
        testing::assert_config_is_strict::<TdBackward<TicTacToe>>(&Config { rate, ..article() });
        let network = Network { output: Function::Identity, activation: Function::Relu, ..article().network };
        let rate = Linear::constant(10.0);
        testing::assert_divergence_is_noticed::<TdBackward<TicTacToe>>(&Config { rate, network, ..article() });
    }

    #[test]
    fn the_strong_preset_is_unbeatable() {
        testing::assert_unbeatable::<TdBackward<TicTacToe>>(1);
    }
}
