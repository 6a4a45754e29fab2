//! Numbers that change over a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number that goes in a straight line from `start` to `end` over the planned games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// Before the first game.
    pub start: f32,
    /// In the last game.
    pub end: f32,
}

impl Linear {
    /// The same number throughout.
    pub fn constant(value: f32) -> Linear {
        Linear { start: value, end: value }
    }

    /// The number in game `game` of `games`, counted from 1.
    pub fn at(self, game: u64, games: u64) -> f32 {
        let done = game as f64 / games as f64;
        (f64::from(self.start) + (f64::from(self.end) - f64::from(self.start)) * done) as f32
    }

    /// Whether both ends lie in `low..=high`.
    pub fn within(self, low: f32, high: f32) -> bool {
        (low..=high).contains(&self.start) && (low..=high).contains(&self.end)
    }
}

impl std::fmt::Display for Linear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reaches_its_end_in_the_last_game() {
        let epsilon = Linear { start: 0.5, end: 0.02 };
        assert_eq!(epsilon.at(30_000, 30_000), 0.02);
        assert!((epsilon.at(15_000, 30_000) - 0.26).abs() < 1e-7);
        assert_eq!(Linear::constant(0.3).at(7, 10), 0.3);
        assert!(epsilon.within(0.0, 1.0) && !epsilon.within(0.1, 1.0));
        assert!(!Linear { start: f32::NAN, end: 0.0 }.within(0.0, 1.0));
    }
}
