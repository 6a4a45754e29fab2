//! What happened in the games since the last line of metrics.

use rules::{Outcome, Seat};

use crate::learner::{Diverged, Metric, RestoreError, Row, State};

/// Games in a line of metrics.
pub const WINDOW: u64 = 5_000;

/// Counts of outcomes, and the squared differences between targets and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    wins: [u64; 2],
    draws: u64,
    steps: u64,
    squares: f64,
}

impl Tally {
    /// Counts one step of learning: the value before it, and its target.
    #[inline]
    pub fn step(&mut self, value: f32, target: f32) {
        let error = f64::from(value) - f64::from(target);
        self.steps += 1;
        self.squares += error * error;
    }

    /// Counts one game. `number` is its number, from 1.
    ///
    /// # Errors
    /// If a value or target has stopped being finite.
    pub fn game(&mut self, outcome: Outcome, number: u64) -> Result<(), Diverged> {
        match outcome {
            Outcome::Win(seat) => self.wins[seat.index()] += 1,
            Outcome::Draw | Outcome::Ongoing => self.draws += 1,
        }
        if self.squares.is_finite() { Ok(()) } else { Err(Diverged { game: number, what: "a value" }) }
    }

    /// The line of metrics after `games` games, when one is due; begins a new window.
    pub fn row(&mut self, games: u64, planned: u64) -> Option<Row> {
        let counted = self.wins[0] + self.wins[1] + self.draws;
        if counted == 0 || !(games.is_multiple_of(WINDOW) || games == planned) {
            return None;
        }
        let metrics = vec![
            ("first_wins", Metric::Count(self.wins[Seat::First.index()])),
            ("second_wins", Metric::Count(self.wins[Seat::Second.index()])),
            ("draws", Metric::Count(self.draws)),
            ("mean_squared_error", Metric::Real(self.squares / self.steps.max(1) as f64)),
        ];
        *self = Tally::default();
        Some(Row { games, metrics })
    }

    /// As counters of a learner's state.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let counters = [
            ("first_wins", self.wins[0]),
            ("second_wins", self.wins[1]),
            ("draws", self.draws),
            ("steps", self.steps),
            ("squares_bits", self.squares.to_bits()),
        ];
        counters.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// From the counters of a learner's state.
    ///
    /// # Errors
    /// If one is missing.
    pub fn restore(state: &State) -> Result<Tally, RestoreError> {
        Ok(Tally {
            wins: [state.counter("first_wins")?, state.counter("second_wins")?],
            draws: state.counter("draws")?,
            steps: state.counter("steps")?,
            squares: f64::from_bits(state.counter("squares_bits")?),
        })
    }
}
