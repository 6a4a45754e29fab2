//! Q-learning: the value of an action moves towards what the best play after it is worth.
//!
//! Q(s, a) is what action a is worth to the side that moves in s. After each move of a game of self-play, from s by a
//! to s':
//!
//! ```text
//! Q(s, a) <- Q(s, a) + alpha (r - Q(s, a))                                 s' is final; r = 1 for a win, 0 for a draw
//! Q(s, a) <- Q(s, a) + alpha (-gamma max_a' Q(s', a') - Q(s, a))           otherwise, a' legal in s'
//! ```
//!
//! with a network in place of Q: one step of stochastic gradient descent on half the squared difference (Watkins 1989;
//! Sutton and Barto, "Reinforcement Learning", 2nd edition, section 6.5). In s' the opponent is to move and values are
//! for the side to move, so what is best for the opponent is worst here: hence the minus sign, where textbooks
//! for one player have r + gamma max Q. The maximum runs over legal actions only: were illegal ones left in, with
//! values that nothing has taught, they would win it whenever all legal ones are bad.
//!
//! *Bias and variance.* The target is bootstrapped (bias), from one move (little variance), and a maximum over noisy
//! numbers is too large on average (a bias of its own: section 6.7). The difference to the four methods that learn V:
//! they learn the value of the moves that *were made*, random ones included (on-policy), while the maximum asks for
//! the best reply whatever was played (off-policy), so with a table Q converges to the minimax values although half of
//! the moves are random. And no model is needed: Q compares actions, so choosing does not look at the positions that
//! they lead to. For that, each position has to be learned once for each way to leave it (docs/methods/q_learning.md).

use net::file::Tensor;
use net::hidden::Term;
use net::value_net::ValueNet;
use rules::{Action, Choice, Evaluations, Evaluator, Game, NotExact, Outcome, Player, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::choose::{argmax, epsilon_greedy_choices};
use crate::kit::schedule::Linear;
use crate::kit::tally::Tally;
use crate::kit::value_network::{Function, Init, Inputs, Network, Stone, stones_of};
use crate::learner::{
    self, Agent, ConfigError, Control, Diverged, Learner, Opinion, PAUSE, Preset, RestoreError, State, Watch, require,
};

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Games of self-play to learn from, at least 1.
    pub games: u64,
    /// The probability of a random move, from the first game to the last, in [0, 1].
    pub epsilon: Linear,
    /// The learning rate alpha, from the first game to the last, in [0, 10].
    pub rate: Linear,
    /// The discount gamma for each ply, in [0, 1].
    pub gamma: f32,
    /// The greatest number of random moves with which a game begins; the number itself is drawn for each game.
    pub openings: usize,
    /// The network; its inputs are the board, and 1 for the action that is valued.
    pub network: Network,
}

impl learner::Config for Config {
    fn check(&self) -> Result<(), ConfigError> {
        require(self.games >= 1, "games", &self.games, "at least 1")?;
        require(self.epsilon.within(0.0, 1.0), "epsilon", &self.epsilon, "within [0, 1]")?;
        require(self.rate.within(0.0, 10.0), "rate", &self.rate, "within [0, 10]")?;
        require((0.0..=1.0).contains(&self.gamma), "gamma", &self.gamma, "within [0, 1]")?;
        let relative = self.network.inputs != Inputs::Absolute;
        require(relative, "network.inputs", &"absolute", "relative or planes: Q is for the side to move")?;
        self.network.check()
    }
}

/// As published: 18 inputs, 36 hidden units, 30,000 games.
fn article() -> Config {
    Config {
        games: 30_000,
        epsilon: Linear { start: 0.5, end: 0.02 },
        rate: Linear::constant(0.05),
        gamma: 1.0,
        openings: 0,
        network: Network {
            inputs: Inputs::Relative,
            hidden: vec![36],
            activation: Function::Tanh,
            output: Function::Tanh,
            init: Init::Normal(0.4),
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

/// Something that knows what actions are worth: a network, or a table in tests of the theory.
trait ActionValues<G: Game> {
    /// Appends the score of each of `actions`, which orders them for the side to move.
    fn scores(&mut self, game: &G, at: &At<'_, G>, actions: &[Action], scores: &mut Vec<f32>);

    /// Q from its score.
    fn value_of_score(&self, score: f32) -> f32;

    /// Moves Q of an action towards `target`; returns Q before it.
    fn learn(&mut self, game: &G, at: &At<'_, G>, action: Action, target: f32, rate: f32) -> f32;
}

/// A position and its stones.
struct At<'a, G: Game> {
    position: &'a G::Position,
    stones: &'a [Stone],
}

/// Q from a network.
#[derive(Clone, Debug)]
struct QNetwork {
    inputs: Inputs,
    net: ValueNet,
    terms: Vec<Term>,
    extras: Vec<Term>,
}

impl QNetwork {
    fn see<G: Game>(&mut self, game: &G, at: &At<'_, G>) {
        let (inputs, cells, viewer) = (self.inputs, game.cells(), game.to_move(at.position));
        self.terms.clear();
        self.terms.extend(at.stones.iter().map(|&stone| inputs.term(cells, stone, viewer)));
    }

    fn term<G: Game>(&self, game: &G, action: Action) -> Term {
        Term { input: self.inputs.count(game.cells()) + usize::from(action), value: 1.0 }
    }
}

impl<G: Game> ActionValues<G> for QNetwork {
    fn scores(&mut self, game: &G, at: &At<'_, G>, actions: &[Action], scores: &mut Vec<f32>) {
        self.see(game, at);
        let mut extras = std::mem::take(&mut self.extras);
        extras.clear();
        extras.extend(actions.iter().map(|&action| self.term(game, action)));
        self.net.scores(&self.terms, &extras, scores);
        self.extras = extras;
    }

    fn value_of_score(&self, score: f32) -> f32 {
        self.net.value_of_score(score)
    }

    fn learn(&mut self, game: &G, at: &At<'_, G>, action: Action, target: f32, rate: f32) -> f32 {
        self.see(game, at);
        self.terms.push(self.term(game, action));
        self.net.step(&self.terms, target, rate)
    }
}

/// The method while it learns.
#[derive(Clone, Debug)]
pub struct QLearning<G: Game> {
    game: G,
    config: Config,
    seed: u64,
    games: u64,
    values: QNetwork,
    tally: Tally,
}

/// Filled again and again.
#[derive(Clone, Debug, Default)]
struct Lists {
    stones: Vec<Stone>,
    actions: Vec<Action>,
    scores: Vec<f32>,
}

/// One game, and what is learned during it. Returns how it ended.
fn learn_one_game<G: Game, Q: ActionValues<G>>(
    game: &G,
    config: &Config,
    values: &mut Q,
    lists: &mut Lists,
    tally: &mut Tally,
    (number, rng): (u64, &mut Rng),
) -> Outcome {
    let epsilon = config.epsilon.at(number, config.games);
    let rate = config.rate.at(number, config.games);
    let Lists { stones, actions, scores } = lists;
    let mut opening = if config.openings == 0 { 0 } else { rng.below(config.openings + 1) };
    let mut position = game.start();
    stones.clear();
    loop {
        // Learning is off-policy, so opening moves teach like any others.
        let random = opening > 0 || rng.chance(epsilon);
        opening = opening.saturating_sub(1);
        let action = if random {
            game.random_legal(&position, rng)
        } else {
            judge(game, values, &At { position: &position, stones }, actions, scores);
            actions[argmax(scores)]
        };
        let before = position;
        let mover = game.to_move(&before);
        let cell = game.landing(&before, action);
        game.play(&mut position, action);
        stones.push(Stone { cell, owner: mover });

        let outcome = game.outcome(&position);
        let target = match outcome.seen_by(mover) {
            Some(result) => result.value(),
            None => {
                judge(game, values, &At { position: &position, stones }, actions, scores);
                -config.gamma * values.value_of_score(scores[argmax(scores)])
            }
        };
        let at = At { position: &before, stones: &stones[..stones.len() - 1] };
        let value = values.learn(game, &at, action, target, rate);
        tally.step(value, target);
        if outcome.is_over() {
            return outcome;
        }
    }
}

/// The legal actions of a position and their scores.
fn judge<G: Game>(
    game: &G,
    values: &mut impl ActionValues<G>,
    at: &At<'_, G>,
    actions: &mut Vec<Action>,
    scores: &mut Vec<f32>,
) {
    actions.clear();
    scores.clear();
    game.legal(at.position, actions);
    values.scores(game, at, actions, scores);
}

impl<G: Game> Learner<G> for QLearning<G> {
    type Config = Config;
    type Agent = QPlayer<G>;
    const METHOD: &'static str = "q_learning";
    const ABOUT: &'static str = "the value of an action moves towards that of the best reply, turned round";

    fn presets(game: &G) -> Vec<Preset<Config>> {
        match game.name().as_str() {
            "tictactoe" => vec![
                Preset { name: "strong", about: "ours: unbeatable in both seats", config: strong() },
                Preset { name: "article", about: "as published", config: article() },
            ],
            // What it reaches there: results/2026-11-30-connect4-learners.
            "connect4" => vec![
                Preset {
                    name: "strong",
                    about: "ours, as for tic-tac-toe",
                    config: Config { games: 100_000, ..strong() },
                },
                Preset { name: "article", about: "as published for tic-tac-toe", config: article() },
            ],
            _ => Vec::new(),
        }
    }

    fn new(game: &G, config: &Config, seed: u64) -> Result<Self, ConfigError> {
        learner::Config::check(config)?;
        let net = config.network.build(game.cells(), game.actions(), &mut Rng::new(seed, 0));
        let values = QNetwork { inputs: config.network.inputs, net, terms: Vec::new(), extras: Vec::new() };
        Ok(QLearning { game: game.clone(), config: config.clone(), seed, games: 0, values, tally: Tally::default() })
    }

    fn restore(game: &G, config: &Config, seed: u64, state: &State) -> Result<Self, RestoreError> {
        let mut learner = Self::new(game, config, seed)?;
        learner.values.net.set_tensors("q.", &state.tensors)?;
        learner.tally = Tally::restore(state)?;
        learner.games = state.games;
        Ok(learner)
    }

    fn save(&self) -> State {
        State { games: self.games, counters: self.tally.counters(), tensors: self.weights() }
    }

    fn games(&self) -> u64 {
        self.games
    }

    fn planned(&self) -> u64 {
        self.config.games
    }

    fn train(&mut self, watch: &mut dyn Watch<Self>) -> Result<(), Diverged> {
        let mut lists = Lists::default();
        while self.games < self.config.games {
            let number = self.games + 1;
            let mut rng = Rng::new(self.seed, number);
            let (values, tally) = (&mut self.values, &mut self.tally);
            let outcome = learn_one_game(&self.game, &self.config, values, &mut lists, tally, (number, &mut rng));
            self.tally.game(outcome, number)?;
            self.games = number;
            if number.is_multiple_of(PAUSE) || number == self.config.games {
                if !self.values.net.is_finite() {
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

    fn agent(&self) -> QPlayer<G> {
        QPlayer {
            values: self.values.clone(),
            epsilon: 0.0,
            stochastic: self.config.epsilon.end,
            lists: Lists::default(),
            game: std::marker::PhantomData,
        }
    }

    fn weights(&self) -> Vec<Tensor> {
        self.values.net.tensors("q.")
    }

    fn load(game: &G, config: &Config, weights: &[Tensor]) -> Result<QPlayer<G>, RestoreError> {
        let mut learner = Self::new(game, config, 0)?;
        learner.values.net.set_tensors("q.", weights)?;
        Ok(learner.agent())
    }
}

/// Plays the action with the greatest Q.
#[derive(Clone, Debug)]
pub struct QPlayer<G: Game> {
    values: QNetwork,
    /// The probability of a random move; 0 for the agent itself.
    epsilon: f32,
    /// That of the player that [`Agent::stochastic`] makes.
    stochastic: f32,
    lists: Lists,
    game: std::marker::PhantomData<fn(&G)>,
}

impl<G: Game> QPlayer<G> {
    fn judge(&mut self, game: &G, position: &G::Position) -> (&[Action], &[f32]) {
        let Lists { stones, actions, scores } = &mut self.lists;
        stones_of(game, position, stones);
        judge(game, &mut self.values, &At { position, stones }, actions, scores);
        (actions, scores)
    }
}

impl<G: Game> Player<G> for QPlayer<G> {
    fn name(&self) -> String {
        match self.epsilon {
            0.0 => "q_learning".to_owned(),
            epsilon => format!("q_learning with {epsilon} random moves"),
        }
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let epsilon = self.epsilon;
        let (actions, scores) = self.judge(game, position);
        epsilon_greedy_choices(actions, scores, epsilon, choices);
        Ok(())
    }
}

impl<G: Game> Evaluator<G> for QPlayer<G> {
    /// The value is that of the best action; the method has no policy.
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        out.policies.clear();
        out.values.clear();
        for position in positions {
            let (_, scores) = self.judge(game, position);
            let best = scores[argmax(scores)];
            out.values.push(self.values.net.value_of_score(best));
        }
    }
}

impl<G: Game> Agent<G> for QPlayer<G> {
    fn opinion(&mut self, game: &G, position: &G::Position) -> Opinion {
        let Lists { stones, actions, scores } = &mut self.lists;
        stones_of(game, position, stones);
        actions.clear();
        scores.clear();
        actions.extend(0..game.actions() as Action);
        ActionValues::<G>::scores(&mut self.values, game, &At { position, stones }, actions, scores);
        Opinion::Values(scores.iter().map(|&score| self.values.net.value_of_score(score)).collect())
    }

    fn stochastic(&self) -> Option<Box<dyn Player<G>>> {
        (self.stochastic > 0.0)
            .then(|| Box::new(Self { epsilon: self.stochastic, ..self.clone() }) as Box<dyn Player<G>>)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::kit::testing::{self, Reference};
    use crate::learner::Unwatched;
    use rules::Seat;
    use rules::tictactoe::TicTacToe;
    use rules::tiny::Tiny;

    /// Q from a table, 0 until learned otherwise.
    #[derive(Default)]
    struct QTable(HashMap<(<Tiny as Game>::Position, Action), f32>);

    impl ActionValues<Tiny> for QTable {
        fn scores(&mut self, _: &Tiny, at: &At<'_, Tiny>, actions: &[Action], scores: &mut Vec<f32>) {
            scores.extend(actions.iter().map(|&a| self.0.get(&(*at.position, a)).copied().unwrap_or(0.0)));
        }

        fn value_of_score(&self, score: f32) -> f32 {
            score
        }

        fn learn(&mut self, _: &Tiny, at: &At<'_, Tiny>, action: Action, target: f32, rate: f32) -> f32 {
            let value = self.0.entry((*at.position, action)).or_insert(0.0);
            let before = *value;
            *value += rate * (target - before);
            before
        }
    }

    fn learn_by_table(game: &Tiny, config: &Config, table: &mut QTable) {
        let (mut lists, mut tally) = (Lists::default(), Tally::default());
        for number in 1..=config.games {
            let mut rng = Rng::new(6, number);
            learn_one_game(game, config, table, &mut lists, &mut tally, (number, &mut rng));
        }
    }

    #[test]
    fn one_game_changes_the_weights_as_computed_by_hand() {
        let game = testing::forced();
        let config = Config { games: 1, gamma: 0.9, ..article() };
        let mut learner = QLearning::new(&game, &config, 4).unwrap();
        let before = learner.weights();
        let mut net = Reference::tanh(&before);
        // S0, S1, S2 as the side to move sees them, and the only action.
        let s = [[0.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0], [1.0, -1.0, 0.0, 1.0]];
        net.step(&s[0], -0.9 * net.value(&s[1]), 0.05);
        net.step(&s[1], -0.9 * net.value(&s[2]), 0.05);
        net.step(&s[2], 1.0, 0.05);
        learner.train(&mut Unwatched).unwrap();
        net.assert_reached(&before, &learner.weights());
    }

    #[test]
    fn a_move_that_ends_the_game_is_worth_its_reward_and_nothing_that_comes_after() {
        // At rate 1 each Q becomes its target. Whatever stands in the table for the end is not looked at.
        let game = Tiny::new("(x)");
        let mut table = QTable::default();
        let end = rules::game::replay(&game, &[0]).unwrap();
        table.0.insert((end, 0), 7.0);
        learn_by_table(&game, &Config { games: 1, rate: Linear::constant(1.0), ..article() }, &mut table);
        assert_eq!(table.0[&(game.start(), 0)], 1.0);
    }

    #[test]
    fn the_maximum_is_over_legal_actions_even_when_all_of_them_are_bad() {
        // Two actions exist in this game, but only one after the first move; the illegal one looks wonderful.
        let game = Tiny::new("((((= =))))");
        let first = rules::game::replay(&game, &[0]).unwrap();
        let mut table = QTable::default();
        table.0.insert((first, 0), -0.5);
        table.0.insert((first, 1), 5.0);
        learn_by_table(&game, &Config { games: 1, rate: Linear::constant(1.0), ..article() }, &mut table);
        assert_eq!(table.0[&(game.start(), 0)], 0.5);
    }

    #[test]
    fn a_table_reaches_the_minimax_values_although_half_of_the_moves_are_random() {
        let game = testing::choices();
        let config = Config { games: 20_000, epsilon: Linear::constant(0.5), rate: Linear::constant(0.2), ..article() };
        let mut table = QTable::default();
        learn_by_table(&game, &config, &mut table);
        let exact = testing::exact_values(&game, 0.0);
        assert!(table.0.len() == exact.len(), "every action was tried");
        for ((position, action), q) in table.0 {
            let mut after = position;
            game.play(&mut after, action);
            let value = if game.to_move(&position) == Seat::First { exact[&after] } else { -exact[&after] };
            assert!((q - value).abs() < 1e-3, "{q}, not {value}");
        }
    }

    #[test]
    fn a_run_that_is_stopped_and_resumed_is_the_same_run() {
        let games = 1_300;
        testing::assert_resumes::<QLearning<TicTacToe>>(&Config { games, ..article() }, 600);
        testing::assert_resumes::<QLearning<TicTacToe>>(&Config { games, ..strong() }, 1_000);
    }

    #[test]
    fn impossible_settings_and_diverging_runs_are_refused() {
        let rate = Linear::constant(f32::NAN);
        testing::assert_config_is_strict::<QLearning<TicTacToe>>(&Config { rate, ..article() });
        let network = Network { inputs: Inputs::Absolute, ..article().network };
        let absolute = Config { network, ..article() };
        assert_eq!(QLearning::new(&TicTacToe, &absolute, 1).err().unwrap().field, "network.inputs");
        let network = Network { output: Function::Identity, activation: Function::Relu, ..article().network };
        let rate = Linear::constant(10.0);
        testing::assert_divergence_is_noticed::<QLearning<TicTacToe>>(&Config { rate, network, ..article() });
    }

    #[test]
    fn the_strong_preset_is_unbeatable() {
        testing::assert_unbeatable::<QLearning<TicTacToe>>(1);
    }
}
