//! What the tests of the value methods share: a network in f64 written as plainly as can be, exact values of tiny
//! games by recursion, and the questions that every learner has to answer in the same way.

use std::collections::HashMap;

use net::file::Tensor;
use oracle::{audit::audit, table::Table};
use rules::tictactoe::TicTacToe;
use rules::{Game, Outcome, Seat, game::legal_actions};

use crate::kit::after_states::reward;
use crate::learner::{Agent, Config, Control, Diverged, Learner, Opinion, Row, State, Unwatched, Watch};

/// A network with one hidden layer and one output, both tanh, in f64.
pub(crate) struct Reference {
    w1: Vec<Vec<f64>>,
    b1: Vec<f64>,
    w2: Vec<f64>,
    b2: f64,
    hidden: fn(f64) -> f64,
    /// The derivative of `hidden`, from its value.
    slope: fn(f64) -> f64,
}

impl Reference {
    /// Tanh hidden units.
    pub(crate) fn tanh(tensors: &[Tensor]) -> Reference {
        let wide = |t: &Tensor| t.data.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let [w1, b1, w2, b2] = &tensors[..4] else { panic!("two layers") };
        let rows = wide(w1).chunks(w1.shape[1]).map(<[f64]>::to_vec).collect();
        let slope = |h: f64| 1.0 - h * h;
        Reference { w1: rows, b1: wide(b1), w2: wide(w2), b2: wide(b2)[0], hidden: f64::tanh, slope }
    }

    /// ReLU hidden units.
    pub(crate) fn relu(tensors: &[Tensor]) -> Reference {
        let slope = |h: f64| if h > 0.0 { 1.0 } else { 0.0 };
        Reference { hidden: |x| x.max(0.0), slope, ..Reference::tanh(tensors) }
    }

    fn forward(&self, x: &[f64]) -> (Vec<f64>, f64) {
        let sum = |row: &Vec<f64>| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let h: Vec<f64> = self.w1.iter().zip(&self.b1).map(|(row, b)| (self.hidden)(sum(row) + b)).collect();
        let y = (h.iter().zip(&self.w2).map(|(h, w)| h * w).sum::<f64>() + self.b2).tanh();
        (h, y)
    }

    pub(crate) fn value(&self, x: &[f64]) -> f64 {
        self.forward(x).1
    }

    /// w <- w - rate dL/dw with L = (y - target)^2 / 2.
    pub(crate) fn step(&mut self, x: &[f64], target: f64, rate: f64) {
        let (h, y) = self.forward(x);
        let delta = (y - target) * (1.0 - y * y);
        for (j, h) in h.iter().enumerate() {
            let hidden_delta = delta * self.w2[j] * (self.slope)(*h);
            self.w2[j] -= rate * delta * h;
            self.b1[j] -= rate * hidden_delta;
            self.w1[j].iter_mut().zip(x).for_each(|(w, x)| *w -= rate * hidden_delta * x);
        }
        self.b2 -= rate * delta;
    }

    /// Whether the weights in f32 are these to within rounding, and not all as they were in `before`.
    pub(crate) fn assert_reached(&self, before: &[Tensor], after: &[Tensor]) {
        let flat = [self.w1.concat(), self.b1.clone(), self.w2.clone(), vec![self.b2]];
        for ((expected, old), new) in flat.iter().zip(before).zip(after) {
            for ((e, old), new) in expected.iter().zip(&old.data).zip(&new.data) {
                assert!((e - f64::from(*new)).abs() < 1e-6, "{new}, not {e} (before: {old})");
            }
        }
        assert!(before[2] != after[2], "something was learned");
    }
}

/// V for the first player of every position but the start, when both sides are greedy by V but for a random move with
/// probability `epsilon`; with epsilon 0 these are the minimax values.
pub(crate) fn exact_values<G: Game>(game: &G, epsilon: f32) -> HashMap<G::Position, f32> {
    fn walk<G: Game>(game: &G, at: &G::Position, epsilon: f32, values: &mut HashMap<G::Position, f32>) -> f32 {
        let value = if game.outcome(at).is_over() {
            reward(game.outcome(at))
        } else {
            let mut children = Vec::new();
            for action in legal_actions(game, at) {
                let mut after = *at;
                game.play(&mut after, action);
                children.push(walk(game, &after, epsilon, values));
            }
            let mean = children.iter().sum::<f32>() / children.len() as f32;
            let best = match game.to_move(at) {
                Seat::First => children.iter().copied().fold(f32::NEG_INFINITY, f32::max),
                Seat::Second => children.iter().copied().fold(f32::INFINITY, f32::min),
            };
            epsilon * mean + (1.0 - epsilon) * best
        };
        values.insert(*at, value);
        value
    }
    let mut values = HashMap::new();
    walk(game, &game.start(), epsilon, &mut values);
    values.remove(&game.start());
    values
}

/// The largest difference between what was learned and `exact`.
pub(crate) fn worst<P: Eq + std::hash::Hash>(learned: &HashMap<P, f32>, exact: &HashMap<P, f32>) -> f32 {
    exact.iter().map(|(p, v)| (learned.get(p).copied().unwrap_or(0.0) - v).abs()).fold(0.0, f32::max)
}

/// Training that stops at a game and goes on from the saved state, by way of a file, ends in the same state and wrote
/// the same lines.
pub(crate) fn assert_resumes<L: Learner<TicTacToe>>(config: &L::Config, stop: u64) {
    struct Stopper(u64, Vec<Row>);
    impl<L: Learner<TicTacToe>> Watch<L> for Stopper {
        fn row(&mut self, row: &Row) {
            self.1.push(row.clone());
        }
        fn pause(&mut self, learner: &L) -> Control {
            if learner.games() == self.0 { Control::Stop } else { Control::Continue }
        }
    }
    let mut whole = L::new(&TicTacToe, config, 9).unwrap();
    let mut rows = Stopper(0, Vec::new());
    whole.train(&mut rows).unwrap();
    assert_eq!(whole.games(), whole.planned());

    let mut first = L::new(&TicTacToe, config, 9).unwrap();
    let mut seen = Stopper(stop, Vec::new());
    first.train(&mut seen).unwrap();
    let State { games, counters, tensors } = first.save();
    assert_eq!(games, stop);
    let (_, tensors) = net::file::read(&net::file::write("{}", &tensors)).unwrap();
    let mut second = L::restore(&TicTacToe, config, 9, &State { games, counters, tensors }).unwrap();
    seen.0 = 0;
    second.train(&mut seen).unwrap();
    assert!(second.save() == whole.save(), "the same bits");
    assert!(!rows.1.is_empty() && rows.1 == seen.1, "the same lines");

    // An agent is the same from its file, and a state without its counters is refused.
    let loaded = L::load(&TicTacToe, config, &whole.weights()).unwrap();
    let opinion = |agent: &mut L::Agent| match agent.opinion(&TicTacToe, &TicTacToe.start()) {
        Opinion::Values(numbers) | Opinion::Probabilities(numbers) => numbers,
    };
    let values = opinion(&mut whole.agent());
    assert_eq!(opinion(&mut { loaded }), values);
    assert!(values.len() == 9 && values.iter().all(|v| (-1.0..=1.0).contains(v)));
    let broken = State { counters: Vec::new(), ..first.save() };
    assert!(L::restore(&TicTacToe, config, 9, &broken).is_err());
}

/// The strong preset of a seed leaves no losing line in either seat.
pub(crate) fn assert_unbeatable<L: Learner<TicTacToe>>(seed: u64) {
    let strong = &L::presets(&TicTacToe)[0];
    assert_eq!(strong.name, "strong");
    let mut learner = L::new(&TicTacToe, &strong.config, seed).unwrap();
    learner.train(&mut Unwatched).unwrap();
    let audit = audit(&Table::new(&TicTacToe), &mut learner.agent()).unwrap();
    assert!(Seat::BOTH.iter().all(|&seat| audit.unbeatable_as(seat)), "{}", audit.verdict(&TicTacToe, &Seat::BOTH));
}

/// Every preset survives its way through JSON, unknown keys are refused, and so are games = 0 and a rate that is NaN.
pub(crate) fn assert_config_is_strict<L: Learner<TicTacToe>>(nan_rate: &L::Config) {
    for preset in L::presets(&TicTacToe) {
        assert_eq!(preset.config.check(), Ok(()));
        let mut json = serde_json::to_value(&preset.config).unwrap();
        assert!(serde_json::from_value::<L::Config>(json.clone()).unwrap() == preset.config);
        json["gamse"] = 1.into();
        let error = serde_json::from_value::<L::Config>(json.clone()).err().unwrap().to_string();
        assert!(error.contains("gamse") && error.contains("games"), "{error}");
        json.as_object_mut().unwrap().remove("gamse");
        json["games"] = 0.into();
        let config: L::Config = serde_json::from_value(json).unwrap();
        assert_eq!(config.check().unwrap_err().field, "games");
    }
    assert_eq!(L::new(&TicTacToe, nan_rate, 1).err().unwrap().field, "rate");
}

/// With a config that is bound to diverge, training stops and names the game.
pub(crate) fn assert_divergence_is_noticed<L: Learner<TicTacToe>>(config: &L::Config) {
    let mut learner = L::new(&TicTacToe, config, 1).unwrap();
    let Diverged { game, .. } = learner.train(&mut Unwatched).unwrap_err();
    assert!(game >= 1 && game <= learner.planned(), "{game}");
}

/// A forced game of three plies that the first player wins.
pub(crate) fn forced() -> rules::tiny::Tiny {
    let game = rules::tiny::Tiny::new("(((x)))");
    assert_eq!(game.outcome(&rules::game::replay(&game, &[0, 0, 0]).unwrap()), Outcome::Win(Seat::First));
    game
}

/// A game with a choice for both sides, in which random moves matter to the values.
pub(crate) fn choices() -> rules::tiny::Tiny {
    rules::tiny::Tiny::new("((o (= x)) (= (x =)) ((= x) (= x) o))")
}
