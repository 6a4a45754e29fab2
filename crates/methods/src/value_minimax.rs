//! Values from outcomes, and minimax over them: a small network learns what positions are worth to the side to move,
//! and plays by looking ahead to any depth.
//!
//! Let S0 be the start, S1, ..., Sn the positions after each ply of a game of self-play, and z the outcome. From the
//! last to the first, i = n-1, ..., 0, each step changing the weights at once:
//!
//! ```text
//! V(Si) <- V(Si) + a (z seen by the side to move in Si - V(Si))
//! ```
//!
//! with a network in place of V (stochastic gradient descent on half the squared difference). The final position is
//! never learned: it has an outcome. While learning, the move is the one whose after-state is worst for the opponent; a
//! win at once counts more than any estimate, a draw 0.
//!
//! *How it differs from its neighbour.* The targets are those of [`crate::monte_carlo`]: unbiased, and as noisy as the
//! rest of the game. But V is seen by the side to move, so one network sees every shape of stones once and not once
//! for each colour; the positions are those *before* a move; and since ends count as what they are, a network that
//! knows the positions before them is enough. The rest is search: at depth d, minimax (alpha-beta: `search::minimax`)
//! plays the move whose worst line of d plies is best, judged by V where the game goes on. At depth 1 that is the
//! move of the learner itself; each further ply repairs what V gets wrong within reach. Claims of strength name the depth.
//!
//! *Further fields, each with a measured effect* (results/2026-11-30-value-methods): layers and activation of the
//! network; `replay`, learning again from games gone by; `adversary`, a share of games against the exact best
//! response to a frozen copy of the learner: the opponent that finds every hole, and then always the same one.
//! Figures: docs/methods/value_minimax.md.

use net::file::Tensor;
use rules::{Action, Choice, Evaluations, Evaluator, Game, NotExact, Player, Rng};
use schemars::JsonSchema;
use search::Minimax;
use search::minimax::Found;
use serde::{Deserialize, Serialize};

use crate::kit::after_states::{self, Behaviour, Episode, NetworkValues, Values, reward, sign};
use crate::kit::best_response::Adversary;
use crate::kit::choose::{argmax, epsilon_greedy_choices};
use crate::kit::replay::Replay;
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
    /// The learning rate a, from the first game to the last, in [0, 10].
    pub rate: Linear,
    /// The greatest number of random moves with which a game begins; the number itself is drawn for each game.
    pub openings: usize,
    /// Whether a position learns only from games that went on without a random move from it.
    pub off_policy: bool,
    /// Learning again from games gone by.
    pub replay: ReplaySettings,
    /// Games against the best response to a frozen copy.
    pub adversary: AdversarySettings,
    /// How many plies the agent looks ahead when it plays, 1 to 64.
    pub depth: usize,
    /// The network.
    pub network: Network,
}

/// Learning again from games gone by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaySettings {
    /// How many of the last games are kept, at most 100,000.
    pub games: usize,
    /// How many of them, drawn with the same probability each, are learned from again after each game.
    pub again: usize,
}

/// Games against the exact best response to a frozen copy of the learner's greedy play.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversarySettings {
    /// The share of such games, in [0, 1]; above 0 only on boards of at most 12 cells.
    pub share: f32,
    /// After how many games a new copy is frozen, at least 1.
    pub refresh: u64,
}

impl learner::Config for Config {
    fn check(&self) -> Result<(), ConfigError> {
        require(self.games >= 1, "games", &self.games, "at least 1")?;
        require(self.epsilon.within(0.0, 1.0), "epsilon", &self.epsilon, "within [0, 1]")?;
        require(self.rate.within(0.0, 10.0), "rate", &self.rate, "within [0, 10]")?;
        require(self.replay.games <= 100_000, "replay.games", &self.replay.games, "at most 100000")?;
        let kept = self.replay.again == 0 || self.replay.games > 0;
        require(kept, "replay.again", &self.replay.again, "0 when no games are kept")?;
        let share = self.adversary.share;
        require((0.0..=1.0).contains(&share), "adversary.share", &share, "within [0, 1]")?;
        require(self.adversary.refresh >= 1, "adversary.refresh", &self.adversary.refresh, "at least 1")?;
        require((1..=64).contains(&self.depth), "depth", &self.depth, "1 to 64")?;
        let relative = self.network.inputs != Inputs::Absolute;
        require(relative, "network.inputs", &"absolute", "relative or planes: V is for the side to move")?;
        self.network.check()
    }
}

/// As published: 9 inputs, 18 hidden units, 20,000 games.
fn article() -> Config {
    Config {
        games: 20_000,
        epsilon: Linear::constant(0.3),
        rate: Linear::constant(0.01),
        openings: 0,
        off_policy: false,
        replay: ReplaySettings { games: 0, again: 0 },
        adversary: AdversarySettings { share: 0.0, refresh: 1_000 },
        depth: 1,
        network: Network {
            inputs: Inputs::Relative,
            hidden: vec![18],
            activation: Function::Relu,
            output: Function::Tanh,
            init: Init::Xavier,
        },
    }
}

/// Ours. What each change is worth: results/2026-11-30-value-methods.
fn strong() -> Config {
    Config {
        games: 300_000,
        epsilon: Linear::constant(0.2),
        rate: Linear { start: 0.05, end: 0.005 },
        openings: 7,
        off_policy: true,
        network: Network { inputs: Inputs::Planes, hidden: vec![128], init: Init::Normal(0.1), ..article().network },
        ..article()
    }
}

/// The method while it learns.
#[derive(Clone, Debug)]
pub struct ValueMinimax<G: Game> {
    game: G,
    config: Config,
    seed: u64,
    games: u64,
    values: NetworkValues,
    tally: Tally,
    kept: Replay,
    adversary: Adversary<G>,
}

/// The positions before each move of a finished game, from the last to the first, learn its outcome.
fn learn<G: Game, V: Values<G>>(
    game: &G,
    config: &Config,
    values: &mut V,
    episode: &Episode<G>,
    rate: f32,
    tally: &mut Tally,
) {
    let (n, z) = (episode.plies(), reward(episode.outcome()));
    for i in (0..n).rev() {
        // What a random move led to says nothing about the positions before it.
        if config.off_policy && episode.explored(i + 1) {
            break;
        }
        let before = values.learn(game, &episode.state(i), z, rate);
        tally.step(before, z);
    }
}

impl<G: Game> ValueMinimax<G> {
    /// One game, and what is learned after it.
    fn learn_one_game(&mut self, episode: &mut Episode<G>, again: &mut Episode<G>, number: u64) {
        let (game, config) = (&self.game, &self.config);
        let mut rng = Rng::new(self.seed, number);
        let epsilon = config.epsilon.at(number, config.games);
        let rate = config.rate.at(number, config.games);
        let behaviour = Behaviour { epsilon, openings: config.openings, exact_finals: true };
        if config.adversary.share > 0.0 && rng.chance(config.adversary.share) {
            self.adversary.play(game, episode, &mut self.values, behaviour, &mut rng);
        } else {
            episode.play_out(game, &mut self.values, behaviour, &mut rng);
        }
        learn(game, config, &mut self.values, episode, rate, &mut self.tally);

        self.kept.keep(episode, number);
        for _ in 0..config.replay.again {
            again.load(game, self.kept.draw(&mut rng));
            learn(game, config, &mut self.values, again, rate, &mut self.tally);
        }
        if config.adversary.share > 0.0 && number.is_multiple_of(config.adversary.refresh) {
            self.adversary = Adversary::of(&self.values);
        }
    }
}

impl<G: Game> Learner<G> for ValueMinimax<G> {
    type Config = Config;
    type Agent = MinimaxAgent<G>;
    const METHOD: &'static str = "value_minimax";
    const ABOUT: &'static str = "values for the side to move, learned from outcomes; plays by minimax over them";

    fn presets(game: &G) -> Vec<Preset<Config>> {
        let presets = vec![
            Preset { name: "strong", about: "ours: unbeatable in both seats at depth 1", config: strong() },
            Preset { name: "article", about: "as published", config: article() },
        ];
        if game.name() == "tictactoe" { presets } else { Vec::new() }
    }

    fn new(game: &G, config: &Config, seed: u64) -> Result<Self, ConfigError> {
        learner::Config::check(config)?;
        let small = config.adversary.share == 0.0 || game.cells() <= 12;
        require(small, "adversary.share", &config.adversary.share, "0 on a board of more than 12 cells")?;
        let values = NetworkValues::new(game, &config.network, seed);
        Ok(ValueMinimax {
            game: game.clone(),
            config: config.clone(),
            seed,
            games: 0,
            adversary: Adversary::of(&values),
            values,
            tally: Tally::default(),
            kept: Replay::new(config.replay.games),
        })
    }

    fn restore(game: &G, config: &Config, seed: u64, state: &State) -> Result<Self, RestoreError> {
        let mut learner = Self::new(game, config, seed)?;
        learner.values.set_tensors("value.", &state.tensors)?;
        learner.adversary = Adversary::restore(&learner.values, &state.tensors)?;
        learner.tally = Tally::restore(state)?;
        learner.games = state.games;
        learner.kept = Replay::restore(game, config.replay.games, state.games, &state.tensors)?;
        Ok(learner)
    }

    fn save(&self) -> State {
        let mut tensors = self.values.tensors("value.");
        tensors.extend(self.adversary.tensors());
        tensors.push(self.kept.tensor(&self.game));
        State { games: self.games, counters: self.tally.counters(), tensors }
    }

    fn games(&self) -> u64 {
        self.games
    }

    fn planned(&self) -> u64 {
        self.config.games
    }

    fn train(&mut self, watch: &mut dyn Watch<Self>) -> Result<(), Diverged> {
        let (mut episode, mut again) = (Episode::new(&self.game), Episode::new(&self.game));
        while self.games < self.config.games {
            let number = self.games + 1;
            self.learn_one_game(&mut episode, &mut again, number);
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

    fn agent(&self) -> MinimaxAgent<G> {
        MinimaxAgent {
            values: self.values.clone(),
            depth: self.config.depth,
            search: Minimax::default(),
            epsilon: 0.0,
            stochastic: self.config.epsilon.end,
            stones: Vec::new(),
        }
    }

    fn weights(&self) -> Vec<Tensor> {
        self.values.tensors("value.")
    }

    fn load(game: &G, config: &Config, weights: &[Tensor]) -> Result<MinimaxAgent<G>, RestoreError> {
        let mut learner = Self::new(game, config, 0)?;
        learner.values.set_tensors("value.", weights)?;
        Ok(learner.agent())
    }
}

/// Plays by minimax to a fixed depth over the network's values.
#[derive(Clone, Debug)]
pub struct MinimaxAgent<G: Game> {
    values: NetworkValues,
    depth: usize,
    search: Minimax<G>,
    /// The probability of a random move; 0 for the agent itself.
    epsilon: f32,
    /// That of the player that [`Agent::stochastic`] makes.
    stochastic: f32,
    stones: Vec<Stone>,
}

impl<G: Game> MinimaxAgent<G> {
    /// The best action, the first of equals, and what it is worth in [-1, 1].
    fn best(&mut self, game: &G, position: &G::Position) -> (Action, f32) {
        if self.depth > 1 {
            let found = self.look_ahead(game, position, self.depth);
            return (found.best[0], found.score.value());
        }
        let actions = rules::game::legal_actions(game, position);
        let mut scores = Vec::with_capacity(actions.len());
        stones_of(game, position, &mut self.stones);
        let state = after_states::State { position, stones: &self.stones };
        after_states::scores(game, &mut self.values, &state, true, &actions, &mut scores);
        let best = argmax(&scores);
        (actions[best], self.values.value_of_score(scores[best]))
    }

    /// What a search of `depth` plies finds.
    fn look_ahead(&mut self, game: &G, position: &G::Position, depth: usize) -> Found {
        let (values, stones) = (&mut self.values, &mut self.stones);
        let mut leaf = |game: &G, position: &G::Position| {
            stones_of(game, position, stones);
            sign(game.to_move(position)) * values.value(game, &after_states::State { position, stones })
        };
        let found = self.search.search(game, position, depth, &mut leaf, &mut || false);
        found.expect("nobody stops this search")
    }

    /// What a legal action is worth to the side that makes it, in [-1, 1].
    fn value_of(&mut self, game: &G, position: &G::Position, action: Action) -> f32 {
        let mut after = *position;
        game.play(&mut after, action);
        if let Some(result) = game.outcome(&after).seen_by(game.to_move(position)) {
            return result.value();
        }
        if self.depth > 1 {
            return -self.look_ahead(game, &after, self.depth - 1).score.value();
        }
        stones_of(game, &after, &mut self.stones);
        let state = after_states::State { position: &after, stones: &self.stones };
        sign(game.to_move(position)) * self.values.value(game, &state)
    }
}

impl<G: Game> Player<G> for MinimaxAgent<G> {
    fn name(&self) -> String {
        match self.epsilon {
            0.0 => format!("value_minimax at depth {}", self.depth),
            epsilon => format!("value_minimax at depth {} with {epsilon} random moves", self.depth),
        }
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let (best, _) = self.best(game, position);
        let actions = rules::game::legal_actions(game, position);
        let scores: Vec<f32> = actions.iter().map(|&action| f32::from(u8::from(action == best))).collect();
        epsilon_greedy_choices(&actions, &scores, self.epsilon, choices);
        Ok(())
    }
}

impl<G: Game> Evaluator<G> for MinimaxAgent<G> {
    /// The value is that of the best action; the method has no policy.
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        out.policies.clear();
        out.values.clear();
        out.values.extend(positions.iter().map(|position| self.best(game, position).1));
    }
}

impl<G: Game> Agent<G> for MinimaxAgent<G> {
    fn opinion(&mut self, game: &G, position: &G::Position) -> Opinion {
        let mut values = vec![f32::NAN; game.actions()];
        for action in rules::game::legal_actions(game, position) {
            values[usize::from(action)] = self.value_of(game, position, action);
        }
        Opinion::Values(values)
    }

    fn stochastic(&self) -> Option<Box<dyn Player<G>>> {
        (self.stochastic > 0.0)
            .then(|| Box::new(Self { epsilon: self.stochastic, ..self.clone() }) as Box<dyn Player<G>>)
    }

    fn onnx(&self) -> Option<Vec<u8>> {
        Some(self.values.onnx())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::after_states::{Move, TableValues};
    use crate::kit::testing::{self, Reference};
    use crate::learner::Unwatched;
    use rules::Seat;
    use rules::tictactoe::TicTacToe;

    #[test]
    fn one_game_changes_the_weights_as_computed_by_hand() {
        let game = testing::forced();
        let mut learner = ValueMinimax::new(&game, &Config { games: 1, ..article() }, 4).unwrap();
        let before = learner.weights();
        let mut net = Reference::relu(&before);
        // S2, S1, S0 as the side to move sees them: the targets alternate from the end, for the winner moved last.
        net.step(&[1.0, -1.0, 0.0], 1.0, 0.01);
        net.step(&[-1.0, 0.0, 0.0], -1.0, 0.01);
        net.step(&[0.0, 0.0, 0.0], 1.0, 0.01);
        learner.train(&mut Unwatched).unwrap();
        net.assert_reached(&before, &learner.weights());
    }

    #[test]
    fn the_targets_alternate_from_the_end_of_a_real_game() {
        // X wins in five plies; V is for the first player in a table, so turned to the side to move it alternates.
        let game = TicTacToe;
        let mut episode = Episode::new(&game);
        let moves = [0, 3, 1, 4, 2].map(|action| Move { action, explored: false });
        episode.load(&game, &moves);
        let mut table = TableValues::default();
        let config = article();
        learn(&game, &config, &mut table, &episode, 1.0, &mut Tally::default());
        let seen: Vec<f32> = (0..5).map(|i| sign(Seat::at_ply(i)) * table.0[episode.state(i).position]).collect();
        assert_eq!(seen, [1.0, -1.0, 1.0, -1.0, 1.0]);
        assert!(!table.0.contains_key(episode.state(5).position), "the final position is never learned");
        // A random third move cuts off what came before it.
        let moves = [0, 3, 1, 4, 2].map(|action| Move { action, explored: action == 1 });
        episode.load(&game, &moves);
        let mut table = TableValues::default();
        learn(&game, &Config { off_policy: true, ..config }, &mut table, &episode, 1.0, &mut Tally::default());
        assert_eq!(table.0.len(), 2);
    }

    #[test]
    fn depth_one_is_what_the_search_plays_at_depth_one() {
        let mut learner = ValueMinimax::new(&TicTacToe, &Config { games: 500, ..article() }, 3).unwrap();
        learner.train(&mut Unwatched).unwrap();
        let mut agent = learner.agent();
        for node in oracle::table::Table::new(&TicTacToe).nodes() {
            if !node.outcome.is_over() {
                // The sums are made in another order, so the last bits differ.
                let found = agent.look_ahead(&TicTacToe, &node.position, 1).score.value();
                let (action, value) = agent.best(&TicTacToe, &node.position);
                assert!((found - value).abs() < 1e-6, "{found} {value}");
                assert!((agent.value_of(&TicTacToe, &node.position, action) - value).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_win_in_one_is_taken_wherever_there_is_one_however_little_was_learned() {
        use oracle::table::Table;
        let table = Table::new(&TicTacToe);
        let mut learner = ValueMinimax::new(&TicTacToe, &Config { games: 1, ..article() }, 3).unwrap();
        learner.train(&mut Unwatched).unwrap();
        for depth in 1..=3 {
            let mut agent = MinimaxAgent { depth, ..learner.agent() };
            for node in table.nodes().iter().filter(|n| (n.score.wdl, n.score.plies) == (rules::Wdl::Win, Some(1))) {
                let (action, _) = agent.best(&TicTacToe, &node.position);
                let wins = table.edges(node).iter().any(|e| e.action == action && e.score == node.score);
                assert!(wins, "{action} at depth {depth} in {:?}", node.position);
            }
            // X has 0, 3 and 4, O has 1, 6 and 8: only 5 completes a line.
            let position = TicTacToe.read_position("xo./xx./o.o x").unwrap();
            assert_eq!(agent.best(&TicTacToe, &position).0, 5);
        }
    }

    #[test]
    fn to_the_end_it_needs_no_network_at_all() {
        let config = Config { games: 1, depth: 9, ..article() };
        let mut learner = ValueMinimax::new(&TicTacToe, &config, 1).unwrap();
        learner.train(&mut Unwatched).unwrap();
        let table = oracle::table::Table::new(&TicTacToe);
        let audit = oracle::audit::audit(&table, &mut learner.agent()).unwrap();
        assert!(Seat::BOTH.iter().all(|&seat| audit.unbeatable_as(seat)));
    }

    #[test]
    fn a_run_that_is_stopped_and_resumed_is_the_same_run() {
        let games = 1_300;
        testing::assert_resumes::<ValueMinimax<TicTacToe>>(&Config { games, ..article() }, 600);
        let replay = ReplaySettings { games: 300, again: 2 };
        let adversary = AdversarySettings { share: 0.3, refresh: 250 };
        let everything = Config { games, replay, adversary, ..strong() };
        testing::assert_resumes::<ValueMinimax<TicTacToe>>(&everything, 1_000);
    }

    #[test]
    fn impossible_settings_and_diverging_runs_are_refused() {
        let rate = Linear::constant(f32::NAN);
        testing::assert_config_is_strict::<ValueMinimax<TicTacToe>>(&Config { rate, ..article() });
        let field = |config: &Config| learner::Config::check(config).unwrap_err().field;
        assert_eq!(field(&Config { depth: 0, ..article() }), "depth");
        assert_eq!(field(&Config { replay: ReplaySettings { games: 0, again: 1 }, ..article() }), "replay.again");
        assert_eq!(
            field(&Config { adversary: AdversarySettings { share: 1.5, refresh: 1 }, ..article() }),
            "adversary.share"
        );
        let network = Network { output: Function::Identity, ..article().network };
        let rate = Linear::constant(10.0);
        testing::assert_divergence_is_noticed::<ValueMinimax<TicTacToe>>(&Config { rate, network, ..article() });
    }

    #[test]
    fn the_strong_preset_is_unbeatable() {
        testing::assert_unbeatable::<ValueMinimax<TicTacToe>>(1);
    }
}
