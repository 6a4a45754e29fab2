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
//! negated gradient of the move made; here it is a pull towards the other moves, which cannot run away. Unlike
//! the methods of `td_backward` and its neighbours it learns no values, so it cannot tell how good a position is.
//!
//! Preset `strong` goes where the author says one should go next: one network for both seats, learning from games
//! against itself, against earlier copies of itself and against random moves. What else it changes stands at the
//! fields of [`Settings`]. What each change is worth in tic-tac-toe, in seeds proved unbeatable in both seats: 20 of 20 as
//! it is; 13 without the canonical orientation, since all images of a position are learned as one; 5 if moves are sampled
//! at half the temperature and 12 if it falls from ply to ply, since what is never tried is never learned; 15 without
//! random opponents, 18 if a loss pulls to all other moves alike, 19 if illegal moves take part in the softmax, 19 if all
//! games begin at the empty board. Earlier copies, the falling rate and the inputs make no difference that 20 seeds show.
//! The whole table: docs/methods/outcome.md.

use net::file::Tensor;
use net::policy_net::PolicyNet;
use rules::{Action, Game, Rng, Seat, Wdl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::choose::sample;
use crate::kit::policy_network::{Inputs, PolicyNetwork, PolicyPlayer};
use crate::kit::schedule::Linear;
use crate::learner::{
    Config, ConfigError, Control, Diverged, Learner, Metric, PAUSE, Preset, RestoreError, Row, State, Watch, require,
};

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Games to learn from, at least 1.
    pub games: u64,
    /// Games in one line of the metrics, at least 1.
    pub window: u64,
    /// Widths of the hidden layers, one number each, from 1 to 10000.
    pub hidden: Vec<usize>,
    /// Weights and biases start uniform in [-scale, scale]; above 0.
    pub scale: f32,
    /// Learning rate from the first game to the last, above 0.
    pub rate: Linear,
    /// Reward of a won game, at least 0.
    pub win: f32,
    /// Reward of a drawn game, at least 0.
    pub draw: f32,
    /// Reward of a lost game, at most 0.
    pub loss: f32,
    /// Which seats learn: `second` or `both`.
    pub seats: Seats,
    /// Whose stones the first inputs show: `first`, the first player's; `own`, those of the side to move.
    pub inputs: Inputs,
    /// Whether the board is turned and mirrored into one orientation for all symmetric positions before it is shown.
    pub canonical: bool,
    /// Whether the softmax is taken over the legal actions alone, so that nothing is learned about illegal ones.
    pub masked: bool,
    /// To which moves a loss pulls: `even`, to all others alike; `policy`, to the others as likely as they are.
    pub instead: Instead,
    /// Share of games against an opponent that moves at random, in [0, 1]; in the rest the network plays both seats.
    pub random: f32,
    /// Share of games against an earlier copy of itself, in [0, 1]; ten copies are made on the way.
    pub older: f32,
    /// A game begins with up to this many random moves, from which nothing is learned; each number is as likely.
    pub openings: usize,
    /// Temperature at which moves are sampled from the softmax, from the first game to the last; 0 is the best move.
    pub temperature: Linear,
    /// What the temperature is multiplied with at every ply, above 0.
    pub cooling: f32,
}

/// Which seats learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Seats {
    /// Only the second player.
    Second,
    /// One network learns both.
    Both,
}

/// Where the probability of a losing move goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Instead {
    /// In equal parts to all other legal moves.
    Even,
    /// To the other legal moves in proportion to their probability.
    Policy,
}

impl Config for Settings {
    fn check(&self) -> Result<(), ConfigError> {
        let positive = |x: f32| x > 0.0 && x.is_finite();
        let share = |x: f32| (0.0..=1.0).contains(&x);
        require(self.games > 0, "games", &self.games, "at least 1")?;
        require(self.window > 0, "window", &self.window, "at least 1")?;
        let sizes = !self.hidden.is_empty() && self.hidden.iter().all(|width| (1..=10_000).contains(width));
        require(sizes, "hidden", &format!("{:?}", self.hidden), "one or more widths from 1 to 10000, such as [100]")?;
        require(positive(self.scale), "scale", &self.scale, "above 0")?;
        require(self.rate.within(f32::MIN_POSITIVE, 10.0), "rate", &self.rate, "above 0 and at most 10")?;
        require(self.win >= 0.0 && self.win.is_finite(), "win", &self.win, "at least 0")?;
        require(self.draw >= 0.0 && self.draw.is_finite(), "draw", &self.draw, "at least 0")?;
        require(self.loss <= 0.0 && self.loss.is_finite(), "loss", &self.loss, "at most 0")?;
        require(share(self.random), "random", &self.random, "from 0 to 1")?;
        require(share(self.random + self.older), "older", &self.older, "from 0 to 1, and at most 1 with `random`")?;
        require(self.temperature.within(0.0, 100.0), "temperature", &self.temperature, "from 0 to 100")?;
        require(positive(self.cooling), "cooling", &self.cooling, "above 0")
    }
}

impl Settings {
    /// The recipe of the author's text.
    fn article() -> Settings {
        Settings {
            games: 150_000,
            window: 10_000,
            hidden: vec![100],
            scale: 0.5,
            rate: Linear::constant(0.1),
            win: 1.0,
            draw: 0.2,
            loss: -1.0,
            seats: Seats::Second,
            inputs: Inputs::First,
            canonical: false,
            masked: false,
            instead: Instead::Even,
            random: 1.0,
            older: 0.0,
            openings: 0,
            temperature: Linear::constant(0.0),
            cooling: 1.0,
        }
    }

    fn strong() -> Settings {
        Settings {
            games: 300_000,
            rate: Linear { start: 0.1, end: 0.001 },
            draw: 0.3,
            seats: Seats::Both,
            inputs: Inputs::Own,
            canonical: true,
            masked: true,
            instead: Instead::Policy,
            random: 0.1,
            older: 0.1,
            openings: 8,
            temperature: Linear { start: 1.0, end: 0.2 },
            ..Settings::article()
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

/// The learner: the network, its earlier copies, and the counts of the present window.
#[derive(Clone, Debug)]
pub struct Outcome<G: Game> {
    policy: PolicyNetwork<G>,
    older: Vec<PolicyNet>,
    config: Settings,
    seed: u64,
    games: u64,
    /// Wins, draws and losses of the learner in the present window; of the first player if both seats learn.
    window: [u64; 3],
    /// Lists that every move needs, kept so that none has to make them.
    legal: Vec<Action>,
    chances: Vec<f32>,
}

fn network<G: Game>(game: &G, config: &Settings, seed: u64) -> PolicyNetwork<G> {
    let mut rng = Rng::new(seed, u64::MAX);
    PolicyNetwork::new(game, &config.hidden, config.inputs, config.canonical, config.scale, &mut rng)
}

/// A move of the learner, to be looked at again when the result is known.
#[derive(Clone, Copy, Debug)]
struct Moved<P> {
    position: P,
    action: Action,
    ply: usize,
}

/// Who moves for a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mover {
    Learner,
    Random,
    Older(usize),
}

/// How many earlier copies are kept.
const COPIES: u64 = 10;

impl<G: Game> Outcome<G> {
    /// Draws who plays the two seats of the next game.
    fn draw_movers(&self, rng: &mut Rng) -> [Mover; 2] {
        let chance = rng.unit();
        let opponent = if chance < self.config.random {
            Mover::Random
        } else if chance < self.config.random + self.config.older && !self.older.is_empty() {
            Mover::Older(rng.below(self.older.len()))
        } else {
            Mover::Learner
        };
        match self.config.seats {
            Seats::Both if rng.chance(0.5) => [Mover::Learner, opponent],
            Seats::Both | Seats::Second => [opponent, Mover::Learner],
        }
    }

    /// Plays one game; appends the learner's moves and returns the last position.
    fn play(&mut self, rng: &mut Rng, moved: &mut Vec<Moved<G::Position>>) -> G::Position {
        let game = self.policy.game.clone();
        let movers = self.draw_movers(rng);
        let openings = if self.config.openings > 0 { rng.below(self.config.openings + 1) } else { 0 };
        let mut temperature = self.config.temperature.at(self.games, self.config.games);
        let mut position = game.start();
        for ply in 0.. {
            if game.outcome(&position).is_over() {
                break;
            }
            let mover = if ply < openings { Mover::Random } else { movers[game.to_move(&position).index()] };
            let action = match mover {
                Mover::Random => game.random_legal(&position, rng),
                Mover::Learner => self.choose(&position, temperature, rng),
                Mover::Older(copy) => {
                    std::mem::swap(&mut self.policy.net, &mut self.older[copy]);
                    let action = self.choose(&position, temperature, rng);
                    std::mem::swap(&mut self.policy.net, &mut self.older[copy]);
                    action
                }
            };
            if mover == Mover::Learner {
                moved.push(Moved { position, action, ply });
            }
            game.play(&mut position, action);
            temperature *= self.config.cooling;
        }
        position
    }

    /// A legal move by the network: the best one at temperature 0, else drawn from the softmax.
    fn choose(&mut self, position: &G::Position, temperature: f32, rng: &mut Rng) -> Action {
        self.legal.clear();
        self.policy.game.legal(position, &mut self.legal);
        self.policy.look(position);
        if temperature <= 0.0 {
            return self.policy.best(&self.legal);
        }
        self.policy.policy_over(&self.legal, temperature);
        let policy = self.policy.net.gradient();
        self.chances.clear();
        self.chances.extend(self.legal.iter().map(|&action| policy[self.policy.output(action)]));
        self.legal[sample(&self.chances, rng)]
    }

    /// Learns from one move of a game of `plies` plies.
    fn learn(&mut self, moved: &Moved<G::Position>, plies: usize, result: Wdl, rate: f32) {
        let Outcome { policy, config, legal, .. } = self;
        let importance = 0.5 + 0.5 * moved.ply as f32 / plies as f32;
        let reward = config.reward(result);
        let weight = (reward * importance).abs();
        legal.clear();
        if config.masked || reward < 0.0 {
            policy.game.legal(&moved.position, legal);
            if legal.len() == 1 {
                // There was no choice.
                return;
            }
        }
        policy.look(&moved.position);

        // d(cross entropy)/d(outputs) = probabilities - target.
        let made = policy.output(moved.action);
        for action in &mut *legal {
            *action = policy.output(*action) as Action;
        }
        let gradient = if config.masked {
            policy.net.policy_over(legal.iter().map(|&output| usize::from(output)), 1.0)
        } else {
            policy.net.policy()
        };
        if reward >= 0.0 {
            gradient[made] -= 1.0;
        } else {
            let others = legal.iter().map(|&output| usize::from(output)).filter(|&output| output != made);
            let likelihood: f32 = others.clone().map(|output| gradient[output]).sum();
            let even = 1.0 / (legal.len() - 1) as f32;
            for output in others {
                let probability = &mut gradient[output];
                *probability -= match config.instead {
                    Instead::Policy if likelihood > 0.0 => *probability / likelihood,
                    Instead::Policy | Instead::Even => even,
                };
            }
        }

        gradient.iter_mut().for_each(|g| *g *= weight);
        policy.net.descend(rate);
    }

    /// Counts a finished game; at the end of a window, its line of metrics.
    fn count(&mut self, last: &G::Position) -> Option<Row> {
        let (seat, names) = match self.config.seats {
            Seats::Second => (Seat::Second, ["wins", "draws", "losses"]),
            Seats::Both => (Seat::First, ["first_wins", "draws", "second_wins"]),
        };
        let result = self.policy.game.outcome(last).seen_by(seat).expect("the game is over");
        self.window[2 - result as usize] += 1;
        let full = self.games == self.config.games || self.games.is_multiple_of(self.config.window);
        full.then(|| {
            let counts = std::mem::take(&mut self.window).map(Metric::Count);
            Row { games: self.games, metrics: names.into_iter().zip(counts).collect() }
        })
    }
}

impl<G: Game> Learner<G> for Outcome<G> {
    type Config = Settings;
    type Agent = PolicyPlayer<G>;

    const METHOD: &'static str = "outcome";
    const ABOUT: &'static str = "a policy learned from wins, draws and losses alone";

    fn presets(game: &G) -> Vec<Preset<Settings>> {
        let article = Settings::article();
        let mut strong = Settings::strong();
        if game.name() == "connect4" {
            // More to tell apart. What it reaches: results/2026-11-30-connect4-learners.
            strong = Settings { hidden: vec![256], scale: 0.2, ..strong };
        }
        let program = Settings { draw: 0.3, loss: -2.0, ..article.clone() };
        vec![
            Preset { name: "strong", about: "both seats, against itself and others", config: strong },
            Preset { name: "article", about: "the recipe as its author's text has it", config: article },
            Preset { name: "program", about: "as his program has it: draw 0.3, loss -2", config: program },
        ]
    }

    fn seats(config: &Settings) -> Vec<Seat> {
        match config.seats {
            Seats::Second => vec![Seat::Second],
            Seats::Both => Seat::BOTH.to_vec(),
        }
    }

    fn new(game: &G, config: &Settings, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let policy = network(game, config, seed);
        Ok(Outcome {
            policy,
            older: Vec::new(),
            config: config.clone(),
            seed,
            games: 0,
            window: [0; 3],
            legal: Vec::new(),
            chances: Vec::new(),
        })
    }

    fn restore(game: &G, config: &Settings, seed: u64, state: &State) -> Result<Self, RestoreError> {
        let mut learner = Outcome::new(game, config, seed)?;
        for copy in 0..state.counter("copies")? {
            let mut net = learner.policy.net.clone();
            net.set_tensors(&format!("copy{copy}."), &state.tensors)?;
            learner.older.push(net);
        }
        learner.policy.set_tensors(&state.tensors)?;
        learner.games = state.games;
        learner.window = [state.counter("wins")?, state.counter("draws")?, state.counter("losses")?];
        Ok(learner)
    }

    fn save(&self) -> State {
        let names = ["wins", "draws", "losses", "copies"].map(str::to_owned);
        let [wins, draws, losses] = self.window;
        let counters = names.into_iter().zip([wins, draws, losses, self.older.len() as u64]).collect();
        let mut tensors = self.weights();
        for (copy, net) in self.older.iter().enumerate() {
            tensors.extend(net.tensors(&format!("copy{copy}.")));
        }
        State { games: self.games, counters, tensors }
    }

    fn games(&self) -> u64 {
        self.games
    }

    fn planned(&self) -> u64 {
        self.config.games
    }

    fn train(&mut self, watch: &mut dyn Watch<Self>) -> Result<(), Diverged> {
        let mut moved = Vec::new();
        let between_copies = (self.config.games / COPIES).max(1);
        while self.games < self.config.games {
            let mut rng = Rng::new(self.seed, self.games);
            moved.clear();
            let last = self.play(&mut rng, &mut moved);
            let plies = self.policy.game.ply(&last);
            let rate = self.config.rate.at(self.games, self.config.games);
            for m in &moved {
                let seat = self.policy.game.to_move(&m.position);
                let result = self.policy.game.outcome(&last).seen_by(seat).expect("the game is over");
                self.learn(m, plies, result, rate);
            }
            if self.policy.net.gradient().iter().any(|g| !g.is_finite()) {
                return Err(Diverged { game: self.games + 1, what: "the gradient" });
            }

            self.games += 1;
            if self.config.older > 0.0 && self.games.is_multiple_of(between_copies) {
                self.older.push(self.policy.net.clone());
            }
            if let Some(row) = self.count(&last) {
                watch.row(&row);
            }
            let pause = self.games == self.config.games || self.games.is_multiple_of(PAUSE);
            if pause && watch.pause(self) == Control::Stop {
                break;
            }
        }
        Ok(())
    }

    fn agent(&self) -> PolicyPlayer<G> {
        PolicyPlayer::new(Self::METHOD, self.policy.clone())
    }

    fn weights(&self) -> Vec<Tensor> {
        self.policy.tensors()
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
            learner.policy.set_tensors(weights)?;
            // As at the end of training, when steps are smallest.
            let rate = config.rate.at(config.games, config.games);
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
                moved.iter().for_each(|m| learner.learn(m, actions.len(), result, rate));
            }
            Ok(learner.weights())
        };
        Some(learned())
    }

    fn load(game: &G, config: &Settings, weights: &[Tensor]) -> Result<PolicyPlayer<G>, RestoreError> {
        config.check()?;
        let mut policy = network(game, config, 0);
        policy.set_tensors(weights)?;
        Ok(PolicyPlayer::new(Self::METHOD, policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Unwatched;
    use net::file::take;
    use net::math::softmax;
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
        let config = Settings { hidden: vec![1], ..Settings::article() };
        for (result, action, target, reward) in
            [(Wdl::Draw, 1, [0.0, 1.0, 0.0], 0.2_f64), (Wdl::Loss, 0, [0.0, 0.5, 0.5], 1.0)]
        {
            let mut learner = Outcome::new(&game, &config, 5).unwrap();
            let position = rules::game::replay(&game, &[0]).unwrap();
            let before = learner.weights();
            learner.learn(&Moved { position, action, ply: 1 }, 2, result, 0.1);
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
        learner.learn(&Moved { position, action: 0, ply: 1 }, 2, Wdl::Loss, 0.1);
        assert_eq!(learner.weights(), before);
    }

    #[test]
    fn a_choice_between_a_win_and_a_loss_is_learned() {
        let game = Tiny::new("((x o x) (o x x))");
        let mut learner = Outcome::new(&game, &Settings { games: 500, ..Settings::article() }, 1).unwrap();
        learner.train(&mut Unwatched).unwrap();
        assert_eq!(audit(&Table::new(&game), &mut learner.agent()).unwrap().seat(Seat::Second).lines.losses, 0);
    }

    #[test]
    fn stopped_and_resumed_anywhere_it_comes_to_the_same_bits() {
        for config in [program(1_000), Settings { games: 1_000, ..Settings::strong() }] {
            stop_and_resume(&config);
        }
    }

    fn stop_and_resume(config: &Settings) {
        struct StopAt(u64);
        impl<G: Game> Watch<Outcome<G>> for StopAt {
            fn row(&mut self, _row: &Row) {}
            fn pause(&mut self, learner: &Outcome<G>) -> Control {
                if learner.games() == self.0 { Control::Stop } else { Control::Continue }
            }
        }
        let mut whole = Outcome::new(&TicTacToe, config, 3).unwrap();
        whole.train(&mut Unwatched).unwrap();
        let mut part = Outcome::new(&TicTacToe, config, 3).unwrap();
        part.train(&mut StopAt(300)).unwrap();
        let mut rest = Outcome::restore(&TicTacToe, config, 3, &part.save()).unwrap();
        rest.train(&mut Unwatched).unwrap();
        assert_eq!(rest.save(), whole.save());
    }

    #[test]
    fn impossible_settings_are_refused_by_name() {
        let refused = |config: Settings| config.check().unwrap_err().to_string();
        assert!(refused(program(0)).starts_with("games = 0 is impossible"));
        assert!(refused(Settings { rate: Linear::constant(f32::NAN), ..program(1) }).starts_with("rate = "));
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
    fn strong_is_proved_unbeatable_in_both_seats() {
        let mut learner = Outcome::new(&TicTacToe, &Settings::strong(), 1).unwrap();
        assert!(learner.policy.net.parameters() <= 20_000);
        learner.train(&mut Unwatched).unwrap();
        let audit = audit(&Table::new(&TicTacToe), &mut learner.agent()).unwrap();
        assert!(Seat::BOTH.into_iter().all(|seat| audit.unbeatable_as(seat)), "{audit:?}");
    }

    #[test]
    fn whatever_the_network_says_symmetric_positions_get_symmetric_answers() {
        let agent = Outcome::new(&TicTacToe, &Settings::strong(), 4).unwrap().agent();
        let position = rules::game::replay(&TicTacToe, &[0, 4, 5]).unwrap();
        let mut policy = agent.policy;
        policy.look(&position);
        let (mut outputs, mut turned) = (Vec::new(), Vec::new());
        let every: Vec<Action> = (0..9).collect();
        policy.of(&every, &mut outputs);
        for &symmetry in TicTacToe.symmetries() {
            policy.look(&TicTacToe.transform(symmetry, &position));
            let images: Vec<Action> = every.iter().map(|&a| TicTacToe.transform_action(symmetry, a)).collect();
            policy.of(&images, &mut turned);
            assert_eq!(turned, outputs);
        }
    }

    #[test]
    fn a_masked_step_leaves_illegal_outputs_alone_and_a_loss_pulls_to_the_likely() {
        let game = Tiny::new("((x = o))");
        let config = Settings { hidden: vec![1], canonical: false, ..Settings::strong() };
        let mut learner = Outcome::new(&game, &config, 2).unwrap();
        let position = rules::game::replay(&game, &[0]).unwrap();
        learner.policy.look(&position);
        let mut p = learner.policy.net.outputs().to_vec();
        softmax(&mut p, 1.0);
        learner.learn(&Moved { position, action: 0, ply: 1 }, 2, Wdl::Loss, 0.1);
        // The probability of the move made goes to the others in proportion to theirs.
        let weight = 0.5 + 0.5 * 1.0 / 2.0;
        let rest = p[1] + p[2];
        for (g, expected) in learner.policy.net.gradient().iter().zip([p[0], p[1] - p[1] / rest, p[2] - p[2] / rest]) {
            assert!((g - weight * expected).abs() < 1e-6);
        }
    }

    #[test]
    fn against_random_moves_it_soon_loses_little() {
        let mut learner = Outcome::new(&TicTacToe, &program(50_000), 1).unwrap();
        learner.train(&mut Unwatched).unwrap();
        let audit = audit(&Table::new(&TicTacToe), &mut learner.agent()).unwrap();
        let chances = audit.seat(Seat::Second).against_random;
        assert!(chances.loss < 0.03 && chances.win > 0.75, "{chances:?}");
    }
}
