//! Proximal policy optimisation: moves that turned out better than expected become likelier, but never much likelier
//! before new games are played.
//!
//! Each iteration plays games with the present policy p_old, estimates for every move made how much better it was than
//! the value of its position (its advantage A), and then goes several times through these moves in minibatches, down
//! the gradient of
//!
//! ```text
//! L = mean of  - min(r A, clip(r, 1 - e, 1 + e) A)  + c_v (V(s) - R)^2  - c_h H(p(. | s)),   r = p(a | s) / p_old(a | s)
//! ```
//!
//! (Schulman et al. 2017, "Proximal Policy Optimization Algorithms", equations 7 and 9.) Once a move has become
//! likelier by e, it earns nothing by becoming likelier still: that is what allows several epochs on the same games.
//!
//! **Alternating seats.** Generalised advantage estimation (Schulman et al. 2016, equation 16) is written for one agent.
//! For two there are two forms, both in `kit/advantage.rs` and both computed by hand in its tests:
//!
//! ```text
//! ply form     delta_t = r_t - gamma V(s_t+1) - V(s_t),  A_t = delta_t - gamma lambda A_t+1     signs turn with the seats;
//!              r = 1 for the winning move, 0 otherwise: the loser is paid through the sign
//! seat form    delta_t = r_t + gamma V(s_t+2) - V(s_t),  A_t = delta_t + gamma lambda A_t+2     each seat's own moves;
//!              the opponent's reply is a part of the environment; r = -1 for the loser's last move
//! ```
//!
//! At lambda = 1 they agree (with seat gamma = gamma squared and the loser paid -gamma). Below they differ: the ply form
//! also believes V of the positions in which the opponent moves. R = A + V(s).
//!
//! *Neighbours.* `outcome` weighs every move of a game by its result; here a move is weighed by what it changed.
//! AlphaZero learns from what a search found; here the policy plays without search.
//!
//! Preset `article` follows a published sketch of Gomoku by PPO, with what it leaves out done. Where we depart from it:
//! 1. The board is seen by the side to move (there: Black +1, White -1), so that one network serves both seats.
//! 2. Adam through all layers (there: one sample's gradient on the last layer); the value ends in a tanh.
//! 3. R comes from the advantages *before* they are normalised (there: after, so that values learn a changed scale).
//! 4. The loser is paid (there: never), by one of the two forms above; the advantage knows that seats alternate.
//! 5. Evaluation in both seats, by sampling and by the likeliest move (there: one seat).
//!
//! Beside games against itself there may be others (no preset has them):
//! - *Earlier versions* as opponents (`pool`): what was learned is not forgotten. Only the learner's moves are learned from,
//!   by the seat form.
//! - *Games that a search makes* (`mcts`): tree search with this policy and value plays better than they do. Its visits are a
//!   target of their own: the cross-entropy towards them, and (V - R)^2 with R the discounted result, never the ratio.
//!
//! Preset `strong` adds one network for both seats and for policy and value, planes of stones, random openings, a rate and an
//! entropy that fall, and gradients that are cut at a norm. On the boards of Gomoku and Connect Four, where the network is
//! residual, also:
//! - *Smaller boards first.* A residual network's weights belong to no place, so they are learned where games are short and
//!   cheap and carried over.
//! - *Every view.* It learns through random symmetries of the board, and plays by the average over all of them.
//! - *What a search proves.* Looking two plies ahead is exact and nearly free: it knows the moves that win at once and, where
//!   none does, those that leave the opponent no win at once. These are a target of their own: - c_s ln of the probability of
//!   all such moves together is added to the loss, and never goes through the ratio, since no policy sampled it. Without it
//!   (`search = 0`) nothing but the outcomes of games teaches the network what a four is.

mod games;
mod loss;
mod made;
mod pool;
mod report;

use net::file::Tensor;
use net::loss::Policy;
use net::math::ln;
use net::{NetError, Outputs, Workers};
use rules::{Game, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::games::reader;
use self::loss::{Loss, Room, Sums, sound};
pub use self::made::Mcts;
pub use self::pool::Pool;
use self::pool::Versions;
use self::report::{Said, metrics};
use crate::kit::actor_critic::{ActorCritic, ActorCriticPlayer, Inputs, Kind, Network, Orientation, shown_legal};
use crate::kit::advantage::{Form, moments};
use crate::kit::schedule::Linear;
use crate::kit::self_play::{Played, Step, against_random};
use crate::learner::{self, ConfigError, Control, Diverged, Learner, Preset, RestoreError, Row, State, Watch, require};

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Games of self-play to learn from, at least 1.
    pub games: u64,
    /// Games of an iteration, played with the same policy and then learned from, 1 to 100,000.
    pub iteration: u64,
    /// How many times an iteration's moves are gone through, 1 to 100.
    pub epochs: u64,
    /// Moves in a step of the optimiser, at least 1.
    pub minibatch: usize,
    /// Smaller square boards on which the training begins, each as [side, share of the games], shares of 1 at most
    /// together; the other games are on the game's own board. For residual networks, whose weights fit any board.
    pub curriculum: Vec<(u64, f64)>,
    /// The greatest number of random moves with which a game begins; the number itself is drawn for each game.
    pub openings: usize,
    /// Iterations between two evaluations against random moves, 0 for none.
    pub evaluate: u64,
    /// How advantages are estimated: `ply`, with signs that turn; `seat`, along each seat's own moves.
    pub form: Form,
    /// The discount gamma for each ply, or in the seat form for each own move, in [0, 1].
    pub gamma: f32,
    /// The weight lambda of later values in the advantage, in [0, 1].
    pub lambda: f32,
    /// The clip e of the ratio, in (0, 1].
    pub clip: f32,
    /// The weight c_v of the value's squared error, from 0 to 100.
    pub value: f32,
    /// The weight c_s of - ln of the probability of sound moves, where a search of two plies tells them from others: they
    /// win at once or, where none does, leave the opponent no win at once; from 0 to 100.
    pub search: f32,
    /// The longest gradient that makes a step, above 0; 0 for any length.
    pub norm: f32,
    /// Divergence of the new policy from the old, in nats, after which an iteration makes no further epoch; 0 for any.
    pub divergence: f32,
    /// The learning rate, from the first game to the last, above 0 and at most 1.
    pub rate: Linear,
    /// The weight c_h of the entropy, from the first game to the last, in [0, 1].
    pub entropy: Linear,
    /// Earlier versions as opponents.
    #[serde(default)]
    pub pool: Pool,
    /// Games made by Monte Carlo tree search.
    #[serde(default)]
    pub mcts: Mcts,
    /// The network.
    pub network: Network,
}

impl learner::Config for Config {
    fn check(&self) -> Result<(), ConfigError> {
        require(self.games >= 1, "games", &self.games, "at least 1")?;
        let iteration = (1..=100_000).contains(&self.iteration);
        require(iteration, "iteration", &self.iteration, "from 1 to 100000")?;
        require((1..=100).contains(&self.epochs), "epochs", &self.epochs, "from 1 to 100")?;
        let shares = self.curriculum.iter().map(|&(_, share)| share);
        let fits = shares.clone().all(|share| share > 0.0) && shares.sum::<f64>() <= 1.0 + 1e-9;
        let pairs = "pairs of a side and a share of the games, above 0 and of 1 at most together";
        require(fits, "curriculum", &format!("{:?}", self.curriculum), pairs)?;
        require(self.minibatch >= 1, "minibatch", &self.minibatch, "at least 1")?;
        require((0.0..=1.0).contains(&self.gamma), "gamma", &self.gamma, "within [0, 1]")?;
        require((0.0..=1.0).contains(&self.lambda), "lambda", &self.lambda, "within [0, 1]")?;
        require(self.clip > 0.0 && self.clip <= 1.0, "clip", &self.clip, "above 0 and at most 1")?;
        require((0.0..=100.0).contains(&self.value), "value", &self.value, "from 0 to 100")?;
        require((0.0..=100.0).contains(&self.search), "search", &self.search, "from 0 to 100")?;
        require((0.0..=1e6).contains(&self.norm), "norm", &self.norm, "from 0 to 1000000")?;
        require((0.0..=1e6).contains(&self.divergence), "divergence", &self.divergence, "from 0 to 1000000")?;
        require(self.rate.within(0.0, 1.0) && self.rate.start > 0.0, "rate", &self.rate, "above 0 and at most 1")?;
        require(self.entropy.within(0.0, 1.0), "entropy", &self.entropy, "within [0, 1]")?;
        self.pool.check()?;
        self.mcts.check()?;
        let share = self.pool.share + self.mcts.share;
        require(share <= 1.0, "mcts.share", &self.mcts.share, "at most 1 together with pool.share")?;
        self.network.check()
    }
}

/// As published, but for the numbered departures: 1,000 iterations of 10 games.
fn article() -> Config {
    Config {
        games: 10_000,
        iteration: 10,
        epochs: 4,
        minibatch: 64,
        curriculum: Vec::new(),
        openings: 0,
        evaluate: 100,
        form: Form::Ply,
        gamma: 0.99,
        lambda: 0.95,
        clip: 0.2,
        value: 0.5,
        search: 0.0,
        norm: 0.0,
        divergence: 0.0,
        rate: Linear::constant(0.001),
        entropy: Linear::constant(0.01),
        pool: Pool::default(),
        mcts: Mcts::default(),
        network: Network {
            kind: Kind::Separate,
            hidden: vec![256, 128],
            inputs: Inputs::Signed,
            orientation: Orientation::AsIs,
        },
    }
}

/// Ours, for tic-tac-toe.
fn strong_of_tictactoe() -> Config {
    Config {
        games: 100_000,
        iteration: 500,
        epochs: 4,
        minibatch: 256,
        openings: 8,
        evaluate: 0,
        norm: 0.5,
        rate: Linear { start: 0.003, end: 0.0 },
        entropy: Linear { start: 0.05, end: 0.0 },
        network: Network {
            kind: Kind::Shared,
            hidden: vec![128, 64],
            inputs: Inputs::Planes,
            orientation: Orientation::Canonical,
        },
        ..article()
    }
}

/// Ours, for boards on which a residual network pays. What it reaches: results/2026-12-01-ppo-gomoku.
fn board(curriculum: Vec<(u64, f64)>) -> Config {
    Config {
        games: 100_000,
        iteration: 256,
        epochs: 2,
        curriculum,
        openings: 20,
        evaluate: 50,
        value: 1.0,
        search: 3.0,
        rate: Linear { start: 0.002, end: 0.000_02 },
        entropy: Linear { start: 0.01, end: 0.001 },
        network: Network {
            kind: Kind::Residual,
            hidden: vec![32; 3],
            inputs: Inputs::Planes,
            orientation: Orientation::Random,
        },
        ..strong_of_tictactoe()
    }
}

/// Moves of a minibatch whose losses one thread sums.
const PART: usize = 16;

/// What is learned from a move.
#[derive(Clone, Debug)]
struct Sample<P> {
    step: Step<P>,
    /// The value that its position should have.
    target: f32,
    lesson: Lesson,
}

#[derive(Clone, Debug)]
enum Lesson {
    /// The policy made the move.
    Sampled {
        /// For each legal action whether it is sound, where a search of two plies finds some that are and some that are not.
        sound: Vec<bool>,
        /// The logarithm of the probability with which it was made.
        log_p: f32,
        advantage: f32,
    },
    /// A tree search made the move: the share of each legal action in its visits.
    Searched(Vec<f32>),
}

/// The method while it learns.
#[derive(Debug)]
pub struct Ppo<G: Game> {
    game: G,
    config: Config,
    seed: u64,
    games: u64,
    net: ActorCritic,
    /// The game, or its smaller relative, of which the present iteration is.
    board: G,
    /// The earlier versions among the opponents.
    versions: Versions,
    said: Said,
}

/// What an iteration's games are worth: all moves with their advantages, and the share of the returns' variance that the
/// values explain.
struct Batch<P> {
    samples: Vec<Sample<P>>,
    explained: f64,
    /// The mean entropy of the policy as a share of that of a policy that knows nothing.
    spread: f64,
}

impl<G: Game> Ppo<G> {
    /// Writes what the network is shown of some moves.
    fn write(&self, samples: impl Iterator<Item = Step<G::Position>>, rows: &mut Vec<f32>) {
        rows.clear();
        samples.for_each(|step| self.config.network.write(&self.board, &step.position, step.symmetry, rows));
    }

    /// Values, probabilities and advantages of all moves, by the same pass through the network that training uses.
    fn weigh(&mut self, played: &[Played<G::Position>], workers: &Workers) -> Result<Batch<G::Position>, NetError> {
        let steps: Vec<_> = played.iter().flat_map(|game| game.steps.iter().copied()).collect();
        let (mut log_p, mut values, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let (mut legal, mut shown, mut policy) = (Vec::new(), Vec::new(), Policy::default());
        let (mut spread, mut choices) = (0.0, 0.0_f64);
        for steps in steps.chunks(self.config.minibatch.max(256)) {
            self.write(steps.iter().copied(), &mut rows);
            self.net.forward(&self.board, &rows, workers)?;
            for (step, logits) in steps.iter().zip(self.net.outputs.policy.chunks_exact(self.board.actions())) {
                shown_legal(&self.board, &step.position, step.symmetry, &mut legal, &mut shown);
                policy.set(logits, &shown);
                let chosen = legal.iter().position(|&action| action == step.action).expect("a legal move was made");
                log_p.push(policy.log_p[chosen]);
                if legal.len() > 1 {
                    spread += f64::from(policy.entropy() / ln(legal.len() as f32));
                    choices += 1.0;
                }
            }
            values.extend_from_slice(&self.net.outputs.value);
        }
        let mut advantages_of = Vec::with_capacity(steps.len());
        let Config { form, gamma, lambda, .. } = self.config;
        let mut begin = 0;
        for game in played {
            let end = begin + game.steps.len();
            advantages_of.extend(form.advantages(game, &values[begin..end], gamma, lambda));
            begin = end;
        }
        let targets: Vec<f32> = advantages_of.iter().zip(&values).map(|(a, v)| a + v).collect();
        let explained = 1.0 - moments(&advantages_of).1 / moments(&targets).1.max(1e-9);
        // Normalised over the iteration, so that the policy's loss has the same scale whatever the games were like.
        let (mean, variance) = moments(&advantages_of);
        let scale = 1.0 / (variance.sqrt() + 1e-8);
        let mut sound_of = vec![Vec::new(); steps.len()];
        if self.config.search > 0.0 {
            let items = steps.chunks(64).zip(sound_of.chunks_mut(64)).collect();
            workers.each(items, |(steps, sound_of): (&[Step<_>], &mut [Vec<bool>])| {
                let each = steps.iter().zip(sound_of);
                each.for_each(|(step, actions)| *actions = sound(&self.board, &step.position));
            });
        }
        let samples = steps.iter().zip(sound_of).zip(log_p).zip(advantages_of.iter().zip(targets));
        let samples = samples.map(|(((&step, sound), log_p), (&advantage, target))| {
            let advantage = ((f64::from(advantage) - mean) * scale) as f32;
            Sample { step, target, lesson: Lesson::Sampled { sound, log_p, advantage } }
        });
        let spread = if choices > 0.0 { spread / choices } else { 1.0 };
        Ok(Batch { samples: samples.collect(), explained, spread })
    }

    /// The loss at this moment of the training.
    fn loss(&self) -> Loss {
        let Config { clip, value, search, .. } = self.config;
        Loss { clip, value, search, entropy: self.config.entropy.at(self.games, self.config.games) }
    }

    /// One epoch: all moves once, in an order drawn from `rng`.
    fn epoch(&mut self, samples: &[Sample<G::Position>], rng: &mut Rng, workers: &Workers) -> Result<Sums, NetError> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        rng.shuffle(&mut order);
        let (rate, loss) = (self.config.rate.at(self.games, self.config.games), self.loss());
        let (mut sums, mut rows, mut d) = (Sums::default(), Vec::new(), Outputs::default());
        let (board, actions) = (&self.board, self.board.actions());
        for batch in order.chunks(self.config.minibatch) {
            self.write(batch.iter().map(|&i| samples[i].step), &mut rows);
            self.net.forward(board, &rows, workers)?;
            d.policy.clear();
            d.policy.resize(batch.len() * actions, 0.0);
            d.value.resize(batch.len(), 0.0);
            let weight = 1.0 / batch.len() as f32;
            let mut parts = vec![Sums::default(); batch.len().div_ceil(PART)];
            let Outputs { policy, value } = &self.net.outputs;
            let given = batch.chunks(PART).zip(policy.chunks(PART * actions)).zip(value.chunks(PART));
            let wanted = d.policy.chunks_mut(PART * actions).zip(d.value.chunks_mut(PART)).zip(&mut parts);
            workers.each(given.zip(wanted).collect(), |(((batch, policy), values), ((d_policy, d_values), sums))| {
                let mut room = Room::default();
                let rows = policy.chunks_exact(actions).zip(d_policy.chunks_exact_mut(actions));
                for ((&i, (logits, d_logits)), (&value, d_value)) in
                    batch.iter().zip(rows).zip(values.iter().zip(d_values))
                {
                    *d_value = loss.of_sample(board, &samples[i], (logits, value), weight, &mut room, d_logits, sums);
                }
            });
            parts.iter().for_each(|part| sums.add(part));
            self.net.descend(&d, rate, workers)?;
        }
        Ok(sums)
    }
}

impl<G: Game> Learner<G> for Ppo<G> {
    type Config = Config;
    type Agent = ActorCriticPlayer<G>;
    const METHOD: &'static str = "ppo";
    const ABOUT: &'static str = "proximal policy optimisation by self-play; plays without search";

    fn presets(game: &G) -> Vec<Preset<Config>> {
        let strong = |about, config| Preset { name: "strong", about, config };
        let ours = match game.name().as_str() {
            "tictactoe" => strong("ours: one network for both seats", strong_of_tictactoe()),
            "connect4" => strong("ours: a residual network", board(Vec::new())),
            name if name.starts_with("gomoku") => {
                let smaller = [(7, 0.25), (9, 0.5)].into_iter().filter(|(side, _)| *side < game.columns() as u64);
                strong("ours: a residual network, smaller boards first", board(smaller.collect()))
            }
            _ => return Vec::new(),
        };
        vec![ours, Preset { name: "article", about: "as published, done completely", config: article() }]
    }

    fn new(game: &G, config: &Config, seed: u64) -> Result<Self, ConfigError> {
        learner::Config::check(config)?;
        for (side, _) in &config.curriculum {
            let smaller = (*side as usize) < game.columns().max(game.rows());
            let fits = smaller && config.network.kind == Kind::Residual && game.resized(*side as usize).is_some();
            require(fits, "curriculum", side, "sides of smaller boards of the game, with a residual network")?;
        }
        require(config.openings < game.cells(), "openings", &config.openings, "fewer than the points of the board")?;
        let net = ActorCritic::new(game, &config.network, config.norm, &mut Rng::new(seed, u64::MAX))?;
        let (board, game, config) = (game.clone(), game.clone(), config.clone());
        Ok(Ppo { game, config, seed, games: 0, net, board, versions: Versions::default(), said: Said::default() })
    }

    fn restore(game: &G, config: &Config, seed: u64, state: &State) -> Result<Self, RestoreError> {
        let mut learner = Self::new(game, config, seed)?;
        learner.net.set_tensors(&state.tensors)?;
        learner.net.set_optimiser_tensors(&state.tensors)?;
        learner.versions = Versions::restore(state)?;
        learner.versions.all().try_for_each(|weights| reader(game, game, config, weights).map(drop))?;
        learner.said = Said(state.counter("warned")?);
        learner.games = state.games;
        Ok(learner)
    }

    fn save(&self) -> State {
        let mut tensors = self.net.tensors();
        tensors.extend(self.net.optimiser_tensors());
        let mut state = State { games: self.games, counters: vec![("warned".to_owned(), self.said.0)], tensors };
        self.versions.save(&mut state);
        state
    }

    fn games(&self) -> u64 {
        self.games
    }

    fn planned(&self) -> u64 {
        self.config.games
    }

    /// Pauses between iterations only: one that was broken off is played again, to the same bits.
    fn train(&mut self, watch: &mut dyn Watch<Self>) -> Result<(), Diverged> {
        let workers = Workers::new(watch.threads()).unwrap_or_default();
        while self.games < self.config.games {
            let (board, end) = self.stage(self.games);
            self.board = board;
            let games = self.config.iteration.min(end - self.games);
            let said = Diverged { game: self.games + games, what: "the network" };
            let (mut played, made) = self.play(self.games..self.games + games, &workers);
            let mut batch = workers.together(|| self.weigh(&played, &workers)).map_err(|_| said.clone())?;
            batch.samples.extend(made.iter().flat_map(|made| self.lessons(made)));
            played.extend(made.into_iter().map(|made| made.game));
            // A stream of its own for the order of the moves, apart from those of the games.
            let mut rng = Rng::new(!self.seed, self.games);
            let (mut sums, mut epochs) = (Sums::default(), 0);
            while epochs < self.config.epochs && !batch.samples.is_empty() {
                let epoch = || self.epoch(&batch.samples, &mut rng, &workers);
                sums = workers.together(epoch).map_err(|_| said.clone())?;
                epochs += 1;
                if self.config.divergence > 0.0 && sums.divergence / sums.moves > f64::from(self.config.divergence) {
                    break;
                }
            }
            self.games += games;
            let iteration = self.iterations(self.games);
            let mut metrics = metrics(&self.config, &played, &batch, epochs, &sums);
            if self.config.evaluate > 0 && iteration.is_multiple_of(self.config.evaluate) {
                metrics.extend(against_random(&self.net.reader(&self.game), self.seed));
            }
            watch.row(&Row { games: self.games, metrics });
            let (value_loss, early) = (sums.value / sums.moves.max(1.0), 2 * self.games < self.config.games);
            let warnings = self.said.new_warnings(batch.spread, value_loss, early);
            warnings.iter().for_each(|text| watch.note(self.games, text));
            if self.config.pool.share > 0.0 && iteration.is_multiple_of(self.config.pool.every) {
                self.versions.add(self.net.tensors(), self.config.pool.size);
            }
            if watch.pause(self) == Control::Stop {
                break;
            }
        }
        Ok(())
    }

    fn agent(&self) -> ActorCriticPlayer<G> {
        ActorCriticPlayer::new(Self::METHOD, self.net.reader(&self.game))
    }

    fn weights(&self) -> Vec<Tensor> {
        self.net.tensors()
    }

    fn load(game: &G, config: &Config, weights: &[Tensor]) -> Result<ActorCriticPlayer<G>, RestoreError> {
        learner::Config::check(config)?;
        Ok(ActorCriticPlayer::new(Self::METHOD, reader(game, game, config, weights)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::choose::argmax;
    use crate::kit::self_play::self_play;
    use crate::kit::testing;
    use crate::learner::{Agent, Metric, Opinion, Unwatched};
    use rules::grid::Grid;
    use rules::tictactoe::TicTacToe;
    use rules::tiny::Tiny;
    use rules::{Action, Seat};

    fn small(kind: Kind, hidden: &[usize]) -> Config {
        let network = Network { kind, hidden: hidden.to_vec(), ..strong_of_tictactoe().network };
        Config { games: 300, iteration: 100, epochs: 2, minibatch: 32, network, ..strong_of_tictactoe() }
    }

    fn every_kind() -> [Config; 3] {
        let random = small(Kind::Residual, &[16]);
        let network = Network { orientation: Orientation::Random, ..random.network.clone() };
        [small(Kind::Separate, &[16]), small(Kind::Shared, &[16, 16]), Config { network, ..random }]
    }

    /// Row D7 of the public reports (AgileRL, pull request 487): a mask that is forgotten when probabilities are computed anew shows here.
    #[test]
    fn in_the_first_minibatch_every_ratio_is_one() {
        for config in every_kind() {
            let mut learner = Ppo::new(&TicTacToe, &config, 3).unwrap();
            let workers = Workers::one();
            let played = self_play(&learner.net.reader(&TicTacToe), 8, (3, 0..100), &workers);
            let batch = learner.weigh(&played, &workers).unwrap();
            let (mut rows, mut legal, mut shown, mut policy) = (Vec::new(), Vec::new(), Vec::new(), Policy::default());
            // Any minibatch will do, as long as no step has been made.
            let samples = &batch.samples[40..72];
            learner.write(samples.iter().map(|sample| sample.step), &mut rows);
            learner.net.forward(&TicTacToe, &rows, &workers).unwrap();
            for (sample, logits) in samples.iter().zip(learner.net.outputs.policy.chunks_exact(9)) {
                shown_legal(&TicTacToe, &sample.step.position, sample.step.symmetry, &mut legal, &mut shown);
                let chosen = legal.iter().position(|&action| action == sample.step.action).unwrap();
                let loss = Loss { clip: 0.2, value: 0.5, entropy: 0.0, search: 0.0 };
                let Lesson::Sampled { log_p, .. } = sample.lesson else { panic!("the policy made it") };
                let (given, d) = ((log_p, 1.0, 0.0), &mut [0.0; 9]);
                let ratio = loss.of((logits, 0.0), (&shown, chosen, &[]), given, 1.0, &mut policy, d).0.ratio;
                assert!((ratio - 1.0).abs() < 1e-5, "{ratio} with {:?}", config.network.kind);
            }
        }
    }

    #[test]
    fn what_played_is_what_learns() {
        // The policy that sampled, position by position, is that of the pass which training uses.
        for config in every_kind() {
            let mut learner = Ppo::new(&TicTacToe, &config, 4).unwrap();
            let played = self_play(&learner.net.reader(&TicTacToe), 8, (4, 0..20), &Workers::one());
            let steps: Vec<_> = played.iter().flat_map(|game| game.steps.iter().copied()).collect();
            let (mut rows, mut outputs) = (Vec::new(), Outputs::default());
            learner.write(steps.iter().copied(), &mut rows);
            learner.net.reader(&TicTacToe).run(&rows, &mut outputs);
            learner.net.forward(&TicTacToe, &rows, &Workers::one()).unwrap();
            let pairs = outputs.policy.iter().zip(&learner.net.outputs.policy);
            assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-5) && pairs.len() == 9 * steps.len());
        }
    }

    /// Row D10 of the public reports (lczero-training, pull request 64): a number that was to be hugely negative was not.
    #[test]
    fn an_illegal_move_is_never_made_however_much_the_network_wants_it() {
        let mut learner = Ppo::new(&TicTacToe, &small(Kind::Shared, &[16]), 1).unwrap();
        let mut tensors = learner.weights();
        tensors.iter_mut().for_each(|t| t.data.iter_mut().for_each(|w| *w *= 300.0));
        learner.net.set_tensors(&tensors).unwrap();
        let played = self_play(&learner.net.reader(&TicTacToe), 8, (1, 0..200), &Workers::one());
        let steps: Vec<_> = played.iter().flat_map(|game| &game.steps).collect();
        assert!(steps.iter().all(|step| TicTacToe.referee(&step.position, step.action).is_ok()) && steps.len() > 400);
        // It does want illegal ones: its opinion, which knows no rules, is often sure of them.
        let mut agent = learner.agent();
        let wants = |step: &&&Step<_>| match agent.opinion(&TicTacToe, &step.position) {
            Opinion::Probabilities(p) => TicTacToe.referee(&step.position, argmax(&p) as Action).is_err(),
            Opinion::Values(_) => false,
        };
        assert!(steps.iter().filter(wants).count() > 50);
    }

    #[test]
    fn a_choice_is_learned_and_its_value() {
        // The first player may win, draw or lose.
        let game = Tiny::new("(x = o)");
        let rate = Linear::constant(0.03);
        let config = Config { games: 2_000, openings: 0, rate, ..small(Kind::Separate, &[16]) };
        let config = Config { network: Network { orientation: Orientation::AsIs, ..config.network.clone() }, ..config };
        let mut learner = Ppo::new(&game, &config, 1).unwrap();
        learner.train(&mut Unwatched).unwrap();
        let mut evaluations = rules::Evaluations::default();
        rules::Evaluator::evaluate(&mut learner.agent(), &game, &[game.start()], &mut evaluations);
        assert!(evaluations.policies[0] > 0.95 && evaluations.values[0] > 0.9, "{evaluations:?}");
    }

    /// Uses so many threads, and remembers what it is told.
    #[derive(Default)]
    struct Threads(usize, Vec<Row>, Vec<String>);

    impl<L> Watch<L> for Threads {
        fn row(&mut self, row: &Row) {
            self.1.push(row.clone());
        }
        fn note(&mut self, games: u64, text: &str) {
            self.2.push(format!("{games}: {text}"));
        }
        fn threads(&self) -> usize {
            self.0
        }
        fn pause(&mut self, _learner: &L) -> Control {
            Control::Continue
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let runs = [1, 3].map(|threads| {
            let config = Config { evaluate: 2, minibatch: 150, ..small(Kind::Shared, &[16]) };
            let mut learner = Ppo::new(&TicTacToe, &config, 5).unwrap();
            let mut watch = Threads(threads, Vec::new(), Vec::new());
            learner.train(&mut watch).unwrap();
            (learner.save(), watch.1)
        });
        assert!(runs[0] == runs[1]);
        assert!(runs[0].1[1].metrics.iter().any(|(name, _)| *name == "sampled_as_second"));
    }

    #[test]
    fn a_collapsed_policy_is_reported_once() {
        let config = Config { games: 800, rate: Linear { start: 1e-6, end: 0.0 }, ..small(Kind::Shared, &[16]) };
        let mut learner = Ppo::new(&TicTacToe, &config, 1).unwrap();
        let mut tensors = learner.weights();
        let bias = tensors.iter_mut().find(|t| t.name == "net.out.bias").unwrap();
        bias.data.iter_mut().zip(0..9).for_each(|(b, i)| *b = 50.0 * i as f32);
        learner.net.set_tensors(&tensors).unwrap();
        let mut watch = Threads::default();
        learner.train(&mut watch).unwrap();
        assert_eq!(watch.2.len(), 1, "{:?}", watch.2);
        assert!(watch.2[0].starts_with("100: the policy has collapsed"), "{:?}", watch.2);
    }

    #[test]
    fn an_exploding_value_loss_is_reported_once() {
        let config = Config { openings: 0, rate: Linear { start: 1e-6, end: 0.0 }, ..small(Kind::Separate, &[16]) };
        let mut learner = Ppo::new(&TicTacToe, &config, 1).unwrap();
        let mut tensors = learner.weights();
        // Both sides are sure to win.
        tensors.iter_mut().find(|t| t.name == "value.out.bias").unwrap().data.fill(50.0);
        learner.net.set_tensors(&tensors).unwrap();
        let mut watch = Threads::default();
        learner.train(&mut watch).unwrap();
        assert_eq!(watch.2.len(), 1, "{:?}", watch.2);
        assert!(watch.2[0].starts_with("100: the value loss has exploded to "), "{:?}", watch.2);
    }

    /// Row D16 of the public reports (muzero-general, issues 40 and 60): training went on with NaN.
    #[test]
    fn numbers_that_are_not_finite_end_the_training() {
        let mut learner = Ppo::new(&TicTacToe, &small(Kind::Shared, &[16]), 1).unwrap();
        learner.config.rate = Linear::constant(1e30);
        let Diverged { game, .. } = learner.train(&mut Unwatched).unwrap_err();
        assert!((1..=300).contains(&game), "{game}");
    }

    #[test]
    fn training_goes_on_from_a_saved_state_as_if_nothing_had_happened() {
        for config in every_kind() {
            testing::assert_resumes::<Ppo<TicTacToe>>(&config, 200);
        }
    }

    #[test]
    fn against_earlier_versions_only_the_learners_moves_count_and_a_stop_changes_nothing() {
        let pool = Pool { share: 0.5, size: 2, every: 1 };
        let config = Config { iteration: 50, pool, ..small(Kind::Shared, &[16]) };
        testing::assert_resumes::<Ppo<TicTacToe>>(&config, 200);
        let runs = [1, 3].map(|threads| {
            let mut learner = Ppo::new(&TicTacToe, &config, 5).unwrap();
            let mut watch = Threads(threads, Vec::new(), Vec::new());
            learner.train(&mut watch).unwrap();
            let played = learner.play(300..350, &Workers::new(threads).unwrap());
            (learner.save(), watch.1, played)
        });
        assert!(runs[0] == runs[1]);
        let [(state, rows, (played, _)), _] = &runs;
        let pooled = |row: &Row| row.metrics.contains(&("pool_games", Metric::Count(25)));
        assert!(!pooled(&rows[0]) && rows[1..].iter().all(pooled));
        assert_eq!(state.counter("pool"), Ok(2));
        let (against, itself) = played.split_at(25);
        for (number, game) in (300..).zip(against) {
            let seat = if number % 2 == 0 { Seat::First } else { Seat::Second };
            assert!(game.seat == Some(seat) && game.steps.iter().all(|step| step.seat == seat), "game {number}");
        }
        assert!(itself.iter().all(|game| game.seat.is_none()));
    }

    #[test]
    fn from_games_that_a_search_made_its_visits_and_the_result_are_learned() {
        // The second player refutes the first move and the third; the policy makes no game of its own.
        let game = Tiny::new("((o x) (x x) (x o))");
        let network = Network { orientation: Orientation::AsIs, ..small(Kind::Separate, &[16]).network };
        let mcts = Mcts { share: 1.0, visits: 16 };
        let entropy = Linear::constant(0.0);
        let rate = Linear::constant(0.03);
        let config = Config { games: 2_000, openings: 0, mcts, rate, entropy, network, ..small(Kind::Separate, &[16]) };
        let mut learner = Ppo::new(&game, &config, 1).unwrap();
        learner.train(&mut Unwatched).unwrap();
        let mut evaluations = rules::Evaluations::default();
        rules::Evaluator::evaluate(&mut learner.agent(), &game, &[game.start()], &mut evaluations);
        assert!(evaluations.policies[1] > 0.95 && evaluations.values[0] > 0.9, "{evaluations:?}");
    }

    #[test]
    fn games_of_every_kind_go_on_from_a_saved_state() {
        let (pool, mcts) = (Pool { share: 0.3, size: 2, every: 1 }, Mcts { share: 0.3, visits: 4 });
        let config = Config { iteration: 50, pool, mcts, search: 0.5, ..small(Kind::Shared, &[16]) };
        testing::assert_resumes::<Ppo<TicTacToe>>(&config, 200);
        let runs = [1, 3].map(|threads| {
            let mut learner = Ppo::new(&TicTacToe, &config, 5).unwrap();
            let mut watch = Threads(threads, Vec::new(), Vec::new());
            learner.train(&mut watch).unwrap();
            (learner.save(), watch.1)
        });
        assert!(runs[0] == runs[1]);
        let counts = |name| runs[0].1.iter().filter(|row| row.metrics.iter().any(|(n, _)| *n == name)).count();
        assert_eq!((counts("pool_games"), counts("mcts_loss")), (5, 6));
    }

    #[test]
    fn a_curriculum_goes_from_board_to_board_and_goes_on_from_a_saved_state() {
        let game = Grid::mnk(4, 4, 3, false).unwrap();
        let config = Config { curriculum: vec![(3, 0.5)], search: 0.5, ..small(Kind::Residual, &[16]) };
        struct Stopper(u64, Vec<Row>);
        impl Watch<Ppo<Grid>> for Stopper {
            fn row(&mut self, row: &Row) {
                self.1.push(row.clone());
            }
            fn pause(&mut self, learner: &Ppo<Grid>) -> Control {
                if learner.games() == self.0 { Control::Stop } else { Control::Continue }
            }
        }
        let mut whole = Ppo::new(&game, &config, 9).unwrap();
        let mut rows = Stopper(0, Vec::new());
        whole.train(&mut rows).unwrap();
        // An iteration never belongs to two boards.
        assert_eq!(rows.1.iter().map(|row| row.games).collect::<Vec<_>>(), [100, 150, 250, 300]);
        assert_eq!([100, 150, 250, 300].map(|games| whole.iterations(games)), [1, 2, 3, 4]);
        assert_eq!([0, 149, 150, 299].map(|n| whole.stage(n).0.cells()), [9, 9, 16, 16]);
        for stop in [100, 150, 250] {
            let mut first = Ppo::new(&game, &config, 9).unwrap();
            first.train(&mut Stopper(stop, Vec::new())).unwrap();
            let mut second = Ppo::restore(&game, &config, 9, &first.save()).unwrap();
            second.train(&mut Unwatched).unwrap();
            assert!(second.save() == whole.save(), "stopped after {stop}");
        }
        // The agent plays on the game's own board.
        assert!(matches!(whole.agent().opinion(&game, &game.start()), Opinion::Probabilities(p) if p.len() == 16));
        let refused = |config: &Config| Ppo::new(&game, config, 1).err().unwrap().field;
        assert_eq!(refused(&Config { curriculum: vec![(2, 0.5)], ..config.clone() }), "curriculum");
        assert_eq!(refused(&Config { curriculum: vec![(4, 0.5)], ..config.clone() }), "curriculum");
        assert_eq!(refused(&Config { curriculum: vec![(3, 0.5), (3, 0.6)], ..config.clone() }), "curriculum");
        let dense = small(Kind::Shared, &[16]);
        assert_eq!(refused(&Config { curriculum: vec![(3, 0.5)], ..dense }), "curriculum");
    }

    #[test]
    fn the_strong_preset_is_unbeatable() {
        testing::assert_unbeatable::<Ppo<TicTacToe>>(1);
    }

    #[test]
    fn settings_are_strict() {
        testing::assert_config_is_strict::<Ppo<TicTacToe>>(&Config {
            rate: Linear::constant(f32::NAN),
            ..strong_of_tictactoe()
        });
        let refused = |config: Config| learner::Config::check(&config).unwrap_err().field;
        let with = |network| Config { network, ..strong_of_tictactoe() };
        let residual = Network { kind: Kind::Residual, hidden: vec![32, 16], ..strong_of_tictactoe().network };
        assert_eq!(refused(with(residual.clone())), "network.hidden");
        assert_eq!(refused(with(Network { hidden: vec![16], inputs: Inputs::Signed, ..residual })), "network.inputs");
        let (pool, mcts) = (Pool { share: 0.6, ..Pool::default() }, Mcts { share: 0.6, ..Mcts::default() });
        assert_eq!(refused(Config { pool, mcts, ..strong_of_tictactoe() }), "mcts.share");
        assert_eq!(refused(Config { pool: Pool { size: 0, ..pool }, ..strong_of_tictactoe() }), "pool.size");
        assert_eq!(refused(Config { mcts: Mcts { visits: 1, ..mcts }, ..strong_of_tictactoe() }), "mcts.visits");
        // Settings that were written before there was a pool or a search go without.
        let mut json = serde_json::to_value(article()).unwrap();
        for field in ["pool", "mcts"] {
            json.as_object_mut().unwrap().remove(field);
        }
        assert_eq!(serde_json::from_value::<Config>(json).unwrap(), article());
        assert_eq!(refused(Config { clip: 0.0, ..strong_of_tictactoe() }), "clip");
        assert_eq!(refused(Config { iteration: 0, ..strong_of_tictactoe() }), "iteration");
    }
}
