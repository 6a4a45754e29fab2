//! Policy from outcomes: the network learns which moves to make from nothing but how its games end.
//!
//! After a game, every position in which the agent moved is looked at again, in the order of play. If the game went
//! well, the move that was made becomes likelier; if it was lost, the other legal moves do. One step of
//! backpropagation each, on the weights as they then are:
//!
//! ```text
//! weights -= rate x |reward x importance| x d(cross entropy between target and softmax output) / d weights
//! importance = 0.5 + 0.5 x ply / plies of the game
//! ```
//!
//! so later moves, which had more to do with the end, count for more. The gradient of the cross entropy with respect to
//! the outputs before the softmax is simply `output - target`.
//!
//! Source: Salvatore Sanfilippo's `ttt-rl` (2025), whose text and program differ in two numbers: see the presets.
//! It is a cousin of REINFORCE (Williams 1992; Sutton and Barto, section 13.3): there the gradient of a loss is the
//! negated gradient of the move made; here it is a pull towards all the other moves, which cannot run away. Unlike
//! the methods of `td_backward` and its neighbours it learns no values, so it cannot tell how good a position is.

use net::file::Tensor;
use net::mlp::{Activation, Mlp, Pass, Place};
use rules::{Action, Choice, Evaluations, Evaluator, Game, NotExact, Player, Rng, Seat, Wdl, game::legal_actions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::choose::{greedy_choice, sampled_choices, softmax};
use crate::learner::{
    Agent, Config, ConfigError, Control, Diverged, Learner, Metric, Opinion, PAUSE, Preset, RestoreError, Row, State,
    Watch, require,
};

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Games to learn from, at least 1.
    pub games: u64,
    /// Games in one line of the metrics, at least 1.
    pub window: u64,
    /// Widths of the hidden layers, one number each, at least 1.
    pub hidden: Vec<usize>,
    /// Weights and biases start uniform in [-scale, scale]; above 0.
    pub scale: f32,
    /// Learning rate, above 0.
    pub rate: f32,
    /// Reward of a won game, at least 0.
    pub win: f32,
    /// Reward of a drawn game, at least 0.
    pub draw: f32,
    /// Reward of a lost game, at most 0.
    pub loss: f32,
}

impl Config for Settings {
    fn check(&self) -> Result<(), ConfigError> {
        require(self.games > 0, "games", &self.games, "at least 1")?;
        require(self.window > 0, "window", &self.window, "at least 1")?;
        let sizes = !self.hidden.is_empty() && self.hidden.iter().all(|width| (1..=10_000).contains(width));
        require(sizes, "hidden", &format!("{:?}", self.hidden), "one or more widths from 1 to 10000, such as [100]")?;
        require(self.scale > 0.0 && self.scale.is_finite(), "scale", &self.scale, "above 0")?;
        require(self.rate > 0.0 && self.rate.is_finite(), "rate", &self.rate, "above 0")?;
        require(self.win >= 0.0 && self.win.is_finite(), "win", &self.win, "at least 0")?;
        require(self.draw >= 0.0 && self.draw.is_finite(), "draw", &self.draw, "at least 0")?;
        require(self.loss <= 0.0 && self.loss.is_finite(), "loss", &self.loss, "at most 0")
    }
}

impl Settings {
    fn article() -> Settings {
        Settings {
            games: 150_000,
            window: 10_000,
            hidden: vec![100],
            scale: 0.5,
            rate: 0.1,
            win: 1.0,
            draw: 0.2,
            loss: -1.0,
        }
    }

    fn reward(&self, result: Wdl) -> f32 {
        match result {
            Wdl::Win => self.win,
            Wdl::Draw => self.draw,
            Wdl::Loss => self.loss,
        }
    }
}

/// The seat that learns; the other moves at random.
const LEARNER: Seat = Seat::Second;

/// The policy network: two inputs for each cell (a stone of the first player, a stone of the second), one output for
/// each action, before the softmax.
#[derive(Clone, Debug)]
struct Policy<G: Game> {
    game: G,
    net: Mlp,
    pass: Pass,
    ones: Vec<usize>,
}

impl<G: Game> Policy<G> {
    fn new(game: &G, config: &Settings, init: impl FnMut(Place) -> f32) -> Policy<G> {
        let mut sizes = vec![2 * game.cells()];
        sizes.extend(&config.hidden);
        sizes.push(game.actions());
        let mut activations = vec![Activation::Relu; config.hidden.len()];
        activations.push(Activation::Identity);
        let net = Mlp::new(&sizes, &activations, init);
        Policy { game: game.clone(), pass: net.pass(), net, ones: Vec::new() }
    }

    /// The outputs for this position, one for each action, before the softmax.
    fn outputs(&mut self, position: &G::Position) -> &[f32] {
        let Policy { game, net, pass, ones } = self;
        ones.clear();
        let input = |cell| game.stone(position, cell).map(|owner| 2 * cell + owner.index());
        ones.extend((0..game.cells()).filter_map(input));
        net.forward_sparse(pass, ones)
    }
}

/// The learner: the network and the counts of the present window.
#[derive(Clone, Debug)]
pub struct Outcome<G: Game> {
    policy: Policy<G>,
    config: Settings,
    seed: u64,
    games: u64,
    /// Wins, draws and losses of the learner in the present window.
    window: [u64; 3],
}

/// A move of the learner, to be looked at again when the result is known.
struct Moved<P> {
    position: P,
    action: Action,
    ply: usize,
}

impl<G: Game> Outcome<G> {
    /// Plays one game against a random opponent; appends the learner's moves and returns the plies and the result.
    fn play(&mut self, rng: &mut Rng, moved: &mut Vec<Moved<G::Position>>, legal: &mut Vec<Action>) -> (usize, Wdl) {
        let game = self.policy.game.clone();
        let mut position = game.start();
        for ply in 0.. {
            if let Some(result) = game.outcome(&position).seen_by(LEARNER) {
                return (ply, result);
            }
            let action = if game.to_move(&position) == LEARNER {
                legal.clear();
                game.legal(&position, legal);
                let action = best(legal, self.policy.outputs(&position));
                moved.push(Moved { position, action, ply });
                action
            } else {
                game.random_legal(&position, rng)
            };
            game.play(&mut position, action);
        }
        unreachable!("every game ends")
    }

    /// Learns from one move of a game of `plies` plies; `gradient` has one number for each action.
    fn learn(&mut self, moved: &Moved<G::Position>, plies: usize, result: Wdl, gradient: &mut [f32]) {
        let importance = 0.5 + 0.5 * moved.ply as f32 / plies as f32;
        let reward = self.config.reward(result);
        let weight = (reward * importance).abs();
        gradient.copy_from_slice(self.policy.outputs(&moved.position));
        softmax(gradient, 1.0);
        if reward >= 0.0 {
            gradient[usize::from(moved.action)] -= 1.0;
        } else {
            let mut others = legal_actions(&self.policy.game, &moved.position);
            others.retain(|&action| action != moved.action);
            if others.is_empty() {
                return;
            }
            let share = 1.0 / others.len() as f32;
            others.iter().for_each(|&action| gradient[usize::from(action)] -= share);
        }
        gradient.iter_mut().for_each(|g| *g *= weight);
        self.policy.net.descend(&mut self.policy.pass, gradient, self.config.rate);
    }
}

/// The legal action with the highest output.
fn best(legal: &[Action], outputs: &[f32]) -> Action {
    let mut best = legal[0];
    for &action in legal {
        if outputs[usize::from(action)] > outputs[usize::from(best)] {
            best = action;
        }
    }
    best
}

impl<G: Game> Learner<G> for Outcome<G> {
    type Config = Settings;
    type Agent = OutcomeAgent<G>;

    const METHOD: &'static str = "outcome";
    const ABOUT: &'static str = "a policy learned from wins, draws and losses alone";

    fn presets(_game: &G) -> Vec<Preset<Settings>> {
        let article = Settings::article();
        let program = Settings { draw: 0.3, loss: -2.0, ..article.clone() };
        vec![
            Preset { name: "article", about: "the recipe as its author's text has it", config: article },
            Preset { name: "program", about: "as his program has it: draw 0.3, loss -2", config: program },
        ]
    }

    fn seats(_config: &Settings) -> Vec<Seat> {
        vec![LEARNER]
    }

    fn new(game: &G, config: &Settings, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let mut rng = Rng::new(seed, u64::MAX);
        let policy = Policy::new(game, config, |_| rng.uniform(-config.scale, config.scale));
        Ok(Outcome { policy, config: config.clone(), seed, games: 0, window: [0; 3] })
    }

    fn restore(game: &G, config: &Settings, seed: u64, state: &State) -> Result<Self, RestoreError> {
        let mut learner = Outcome::new(game, config, seed)?;
        learner.policy.net.set_tensors("policy.", &state.tensors)?;
        learner.games = state.games;
        learner.window = [state.counter("wins")?, state.counter("draws")?, state.counter("losses")?];
        Ok(learner)
    }

    fn save(&self) -> State {
        let counters = ["wins", "draws", "losses"].map(str::to_owned).into_iter().zip(self.window).collect();
        State { games: self.games, counters, tensors: self.weights() }
    }

    fn games(&self) -> u64 {
        self.games
    }

    fn planned(&self) -> u64 {
        self.config.games
    }

    fn train(&mut self, watch: &mut dyn Watch<Self>) -> Result<(), Diverged> {
        let mut moved = Vec::new();
        let mut legal = Vec::new();
        let mut gradient = vec![0.0; self.policy.game.actions()];
        while self.games < self.config.games {
            let mut rng = Rng::new(self.seed, self.games);
            moved.clear();
            let (plies, result) = self.play(&mut rng, &mut moved, &mut legal);
            for m in &moved {
                self.learn(m, plies, result, &mut gradient);
            }
            self.games += 1;
            if gradient.iter().any(|g| !g.is_finite()) {
                return Err(Diverged { game: self.games, what: "the gradient" });
            }

            self.window[2 - result as usize] += 1;
            let last = self.games == self.config.games;
            if last || self.games.is_multiple_of(self.config.window) {
                let [wins, draws, losses] = self.window.map(Metric::Count);
                watch.row(&Row {
                    games: self.games,
                    metrics: vec![("wins", wins), ("losses", losses), ("draws", draws)],
                });
                self.window = [0; 3];
            }
            if (last || self.games.is_multiple_of(PAUSE)) && watch.pause(self) == Control::Stop {
                break;
            }
        }
        Ok(())
    }

    fn agent(&self) -> OutcomeAgent<G> {
        OutcomeAgent { policy: self.policy.clone(), sampled: false }
    }

    fn weights(&self) -> Vec<Tensor> {
        self.policy.net.tensors("policy.")
    }

    fn learn_from(
        game: &G,
        config: &Settings,
        weights: &[Tensor],
        actions: &[Action],
        seat: Seat,
    ) -> Option<Result<Vec<Tensor>, RestoreError>> {
        let learned = || {
            let mut learner = Outcome::new(game, config, 0)?;
            learner.policy.net.set_tensors("policy.", weights)?;
            let mut position = game.start();
            let mut moved = Vec::new();
            for (ply, &action) in actions.iter().enumerate() {
                if game.to_move(&position) == seat {
                    moved.push(Moved { position, action, ply });
                }
                game.play(&mut position, action);
            }
            // An unfinished game teaches nothing.
            if let Some(result) = game.outcome(&position).seen_by(seat) {
                let mut gradient = vec![0.0; game.actions()];
                moved.iter().for_each(|m| learner.learn(m, actions.len(), result, &mut gradient));
            }
            Ok(learner.weights())
        };
        Some(learned())
    }

    fn load(game: &G, config: &Settings, weights: &[Tensor]) -> Result<OutcomeAgent<G>, RestoreError> {
        config.check()?;
        let mut policy = Policy::new(game, config, |_| 0.0);
        policy.net.set_tensors("policy.", weights)?;
        Ok(OutcomeAgent { policy, sampled: false })
    }
}

/// What has been learned: plays the legal move with the highest output, or samples from the softmax over legal moves.
#[derive(Clone, Debug)]
pub struct OutcomeAgent<G: Game> {
    policy: Policy<G>,
    sampled: bool,
}

impl<G: Game> OutcomeAgent<G> {
    /// The legal actions and their outputs before the softmax.
    fn legal_outputs(&mut self, position: &G::Position) -> (Vec<Action>, Vec<f32>) {
        let legal = legal_actions(&self.policy.game, position);
        let outputs = self.policy.outputs(position);
        let scores = legal.iter().map(|&action| outputs[usize::from(action)]).collect();
        (legal, scores)
    }
}

impl<G: Game> Player<G> for OutcomeAgent<G> {
    fn name(&self) -> String {
        if self.sampled { "outcome (sampled)".to_owned() } else { "outcome".to_owned() }
    }

    fn distribution(&mut self, _game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let (legal, mut scores) = self.legal_outputs(position);
        if self.sampled {
            softmax(&mut scores, 1.0);
            sampled_choices(&legal, &scores, choices);
        } else {
            greedy_choice(&legal, &scores, choices);
        }
        Ok(())
    }
}

impl<G: Game> Evaluator<G> for OutcomeAgent<G> {
    /// The method learns no values.
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        let actions = game.actions();
        out.values.clear();
        out.policies = vec![0.0; positions.len() * actions];
        for (position, row) in positions.iter().zip(out.policies.chunks_exact_mut(actions)) {
            let (legal, mut scores) = self.legal_outputs(position);
            softmax(&mut scores, 1.0);
            legal.iter().zip(scores).for_each(|(&action, p)| row[usize::from(action)] = p);
        }
    }
}

impl<G: Game> Agent<G> for OutcomeAgent<G> {
    fn opinion(&mut self, _game: &G, position: &G::Position) -> Opinion {
        let mut probabilities = self.policy.outputs(position).to_vec();
        softmax(&mut probabilities, 1.0);
        Opinion::Probabilities(probabilities)
    }

    fn stochastic(&self) -> Option<Box<dyn Player<G>>> {
        Some(Box::new(OutcomeAgent { sampled: true, ..self.clone() }))
    }

    fn onnx(&self) -> Option<Vec<u8>> {
        Some(self.policy.net.onnx("policy"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Unwatched;
    use net::file::take;
    use oracle::audit::audit;
    use oracle::table::Table;
    use rules::tictactoe::TicTacToe;
    use rules::tiny::Tiny;

    fn program(games: u64) -> Settings {
        Settings { games, draw: 0.3, loss: -2.0, ..Settings::article() }
    }

    /// The step that one move of a lost or drawn game makes, computed for a network of one hidden unit by hand.
    #[test]
    fn a_step_computed_by_hand() {
        // X has one move, then O chooses among three; the game ends at once.
        let game = Tiny::new("((x = o))");
        let config = Settings { hidden: vec![1], rate: 0.1, ..Settings::article() };
        for (result, action, target, reward) in
            [(Wdl::Draw, 1, [0.0, 1.0, 0.0], 0.2_f64), (Wdl::Loss, 0, [0.0, 0.5, 0.5], 1.0)]
        {
            let mut learner = Outcome::new(&game, &config, 5).unwrap();
            let position = rules::game::replay(&game, &[0]).unwrap();
            let before = learner.weights();
            learner.learn(&Moved { position, action, ply: 1 }, 2, result, &mut [0.0; 3]);
            let after = learner.weights();

            // The only stone is X's on cell 0: hidden = max(w + b, 0), outputs v_i x hidden + c_i.
            let get = |name: &str, i: usize| {
                let find = |tensors: &[Tensor]| {
                    f64::from(tensors.iter().find(|t| t.name == name).expect("a tensor of the network").data[i])
                };
                (find(&before), find(&after))
            };
            let (w, w_after) = get("policy.0.weight", 0);
            let (b, b_after) = get("policy.0.bias", 0);
            let hidden = (w + b).max(0.0);
            let outputs = [0, 1, 2].map(|i| get("policy.1.weight", i).0 * hidden + get("policy.1.bias", i).0);
            let sum: f64 = outputs.iter().map(|o| o.exp()).sum();
            let weight = reward * (0.5 + 0.5 * 1.0 / 2.0);
            let mut d_hidden = 0.0;
            for i in 0..3 {
                let d = weight * (outputs[i].exp() / sum - target[i]);
                d_hidden += d * get("policy.1.weight", i).0;
                let (v, v_after) = get("policy.1.weight", i);
                let (c, c_after) = get("policy.1.bias", i);
                assert!((v_after - (v - 0.1 * d * hidden)).abs() < 1e-6);
                assert!((c_after - (c - 0.1 * d)).abs() < 1e-6);
            }
            let d_hidden = if hidden > 0.0 { d_hidden } else { 0.0 };
            assert!((w_after - (w - 0.1 * d_hidden)).abs() < 1e-6);
            assert!((b_after - (b - 0.1 * d_hidden)).abs() < 1e-6);
        }
    }

    #[test]
    fn a_lost_game_with_a_forced_move_teaches_nothing() {
        let game = Tiny::new("((x))");
        let mut learner = Outcome::new(&game, &Settings::article(), 1).unwrap();
        let before = learner.weights();
        let position = rules::game::replay(&game, &[0]).unwrap();
        learner.learn(&Moved { position, action: 0, ply: 1 }, 2, Wdl::Loss, &mut [0.0]);
        assert_eq!(learner.weights(), before);
    }

    #[test]
    fn a_choice_between_a_win_and_a_loss_is_learned() {
        let game = Tiny::new("((x o x) (o x x))");
        let mut learner = Outcome::new(&game, &Settings { games: 500, ..Settings::article() }, 1).unwrap();
        learner.train(&mut Unwatched).unwrap();
        assert_eq!(audit(&Table::new(&game), &mut learner.agent()).unwrap().seat(LEARNER).lines.losses, 0);
    }

    #[test]
    fn stopped_and_resumed_anywhere_it_comes_to_the_same_bits() {
        struct StopAt(u64);
        impl<G: Game> Watch<Outcome<G>> for StopAt {
            fn row(&mut self, _row: &Row) {}
            fn pause(&mut self, learner: &Outcome<G>) -> Control {
                if learner.games() == self.0 { Control::Stop } else { Control::Continue }
            }
        }
        let config = program(1_000);
        let mut whole = Outcome::new(&TicTacToe, &config, 3).unwrap();
        whole.train(&mut Unwatched).unwrap();
        let mut part = Outcome::new(&TicTacToe, &config, 3).unwrap();
        part.train(&mut StopAt(300)).unwrap();
        let mut rest = Outcome::restore(&TicTacToe, &config, 3, &part.save()).unwrap();
        rest.train(&mut Unwatched).unwrap();
        assert_eq!(rest.save(), whole.save());
    }

    #[test]
    fn impossible_settings_are_refused_by_name() {
        let refused = |config: Settings| config.check().unwrap_err().to_string();
        assert!(refused(program(0)).starts_with("games = 0 is impossible"));
        assert!(refused(Settings { rate: f32::NAN, ..program(1) }).starts_with("rate = NaN"));
        assert!(refused(Settings { hidden: vec![], ..program(1) }).starts_with("hidden = []"));
        assert!(refused(Settings { loss: 1.0, ..program(1) }).starts_with("loss = 1"));
    }

    #[test]
    fn a_damaged_network_is_refused() {
        let config = program(1);
        let weights = Outcome::new(&TicTacToe, &config, 1).unwrap().weights();
        assert!(take(&weights, "policy.0.weight", &[100, 18]).is_ok());
        let narrow = Settings { hidden: vec![25], ..config };
        assert!(Outcome::load(&TicTacToe, &narrow, &weights).is_err());
    }

    #[test]
    fn against_random_moves_it_soon_loses_little() {
        let mut learner = Outcome::new(&TicTacToe, &program(50_000), 1).unwrap();
        learner.train(&mut Unwatched).unwrap();
        let audit = audit(&Table::new(&TicTacToe), &mut learner.agent()).unwrap();
        let chances = audit.seat(LEARNER).against_random;
        assert!(chances.loss < 0.03 && chances.win > 0.75, "{chances:?}");
    }
}
