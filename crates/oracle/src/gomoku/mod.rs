//! Gomoku and Renju: threats, searches for forced wins, and proofs that can be checked.
//!
//! From the bottom up: what a stone makes of a line (`pattern`), of a point and of the whole board, kept move by
//! move (`board`); wins by fours (`vcf`) and by all threats (`vct`), each as a [`crate::strategy::Strategy`] that
//! the rules alone can check; what follows about a position (`solver`).

mod board;
mod pattern;
mod player;
mod solver;
mod vcf;
mod vct;

pub use player::ThreatPlayer;
pub use solver::{Limits, Solver, Verdict};

#[cfg(test)]
mod tests {
    use super::board::Board;
    use rules::game::{legal_actions, replay};
    use rules::grid::{Grid, Position};
    use rules::random::Rng;
    use rules::{Action, Game};

    /// The position after moves written without blanks: `h8h7i7`.
    pub(super) fn after(game: &Grid, moves: &str) -> Position {
        let starts: Vec<usize> = moves.match_indices(|c: char| c.is_ascii_alphabetic()).map(|(i, _)| i).collect();
        let ends = starts[1..].iter().copied().chain([moves.len()]);
        let actions: Vec<Action> =
            starts.iter().zip(ends).map(|(&start, end)| game.read_action(&moves[start..end]).unwrap()).collect();
        replay(game, &actions).unwrap()
    }

    /// A position after `plies` moves, of which a share of `care` make or meet the greatest threats, or after
    /// fewer if there is no move left that does not end the game.
    pub(super) fn lively(game: &Grid, plies: usize, care: f32, rng: &mut Rng) -> Position {
        let mut position = game.start();
        for _ in 0..plies {
            let board = Board::of(game, &position);
            let seat = game.to_move(&position);
            let quiet = |&action: &Action| {
                let point = board.point(usize::from(action));
                !board.fives(seat).contains(point) && !board.is_forbidden(point, seat)
            };
            let actions: Vec<Action> = legal_actions(game, &position).into_iter().filter(quiet).collect();
            if actions.is_empty() {
                break;
            }
            let score = |&action: &Action| {
                let worth = |seat| {
                    let counts = board.counts(board.point(usize::from(action)), seat);
                    8 * counts.fives() + 4 * counts.open_fours() + counts.fours() + 2 * counts.threes() + counts.twos()
                };
                worth(seat) + worth(seat.other())
            };
            let random = actions[rng.below(actions.len())];
            let best = actions.into_iter().max_by_key(|action| (score(action), rng.bits())).expect("there are some");
            game.play(&mut position, if rng.chance(care) { best } else { random });
        }
        position
    }

    /// A board with stones anywhere, about a fifth of the cells for either side and either to move; `None` if the game
    /// is over.
    pub(super) fn scattered(game: &Grid, rng: &mut Rng) -> Option<Position> {
        let rows: Vec<String> = (0..game.rows())
            .map(|_| (0..game.columns()).map(|_| ['x', 'o', '.', '.', '.'][rng.below(5)]).collect())
            .collect();
        let mover = ['x', 'o'][rng.below(2)];
        let position = game.read_position(&format!("{} {mover}", rows.join("/"))).ok()?;
        (!game.outcome(&position).is_over()).then_some(position)
    }
}
