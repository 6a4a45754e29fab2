//! The six sets of positions with exact scores by which Connect Four solvers are compared: 1,000 positions each, from
//! Pons' "Solving Connect 4: how to build a perfect AI".

use rules::connect4::Position;

use super::score::{Score, read_moves};

/// A published set of positions.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// L, the stage (3 the end of a game, 1 its beginning), and R, the difficulty (1 easy, 3 hard).
    pub name: &'static str,
    text: &'static str,
}

macro_rules! published {
    ($($name:literal),*) => {
        [$(Published { name: $name, text: include_str!(concat!("../../data/connect4/Test_", $name)) }),*]
    };
}

impl Published {
    /// The sets, from the easiest to the hardest.
    pub const SETS: [Published; 6] = published!["L3_R1", "L2_R1", "L2_R2", "L1_R1", "L1_R2", "L1_R3"];

    /// The moves that lead to each position, and its score.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, Score)> {
        self.text.lines().map(|line| {
            let (moves, score) = line.split_once(' ').expect("a published line is moves and a score");
            (moves, Score(score.parse().expect("a published score is a number")))
        })
    }

    /// Each position and its score.
    pub fn positions(&self) -> impl Iterator<Item = (Position, Score)> {
        self.lines().map(|(moves, score)| (read_moves(moves).expect("published moves are legal"), score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_has_a_thousand_positions_with_a_possible_score() {
        for set in Published::SETS {
            assert_eq!(set.positions().count(), 1_000, "{}", set.name);
            for (position, Score(score)) in set.positions() {
                let left = 42 - position.occupied().count_ones() as i8;
                assert!((-left / 2..=(left + 1) / 2).contains(&score), "{}: {score}", set.name);
            }
        }
    }
}
