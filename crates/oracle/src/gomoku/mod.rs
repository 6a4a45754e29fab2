//! Gomoku and Renju: threats, searches for forced wins, and proofs that can be checked.
//!
//! From the bottom up: what a stone makes of a line (`pattern`), of a point and of the whole board, kept move by
//! move (`board`); wins by fours (`vcf`) and by all threats (`vct`), each as a [`crate::strategy::Strategy`] that
//! the rules alone can check; what follows about a position (`solver`); and positions with all of their right moves,
//! by which players are audited ([`tactics`]).

mod board;
mod pattern;
mod player;
mod solver;
pub mod tactics;
mod vcf;
mod vct;

pub use player::ThreatPlayer;
pub use solver::{Limits, Solver, Verdict};

#[cfg(test)]
mod tests {
    use super::board::Board;
    use super::tactics::worth;
    use rules::game::{legal_actions, replay};
    use rules::grid::{Grid, Position, Rule};
    use rules::random::Rng;
    use rules::{Action, Game, Outcome};

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
            let score = |&action: &Action| worth(&board, board.point(usize::from(action)));
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

    /// A position of 15x15 by the points of its stones.
    pub(super) fn set_up(rule: Rule, black: &str, white: &str, to_move: char) -> (Grid, Position) {
        let game = Grid::gomoku(15, rule).unwrap();
        let mut cells = vec!['.'; 225];
        for (stones, letter) in [(black, 'x'), (white, 'o')] {
            for point in stones.split_whitespace() {
                cells[usize::from(game.read_action(point).unwrap())] = letter;
            }
        }
        let rows: Vec<String> = cells.chunks(15).map(|row| row.iter().collect()).collect();
        let position = game.read_position(&format!("{} {to_move}", rows.join("/"))).unwrap();
        (game, position)
    }

    /// Whether the side to move wins by continuous fours, by the rules alone: a move after which every reply but at
    /// most one allows a win at once, and if there is one such reply, the same again after it.
    pub(super) fn wins_plainly(game: &Grid, position: &Position) -> bool {
        let attacker = game.to_move(position);
        legal_actions(game, position).into_iter().any(|action| {
            let mut after = *position;
            game.play(&mut after, action);
            if game.outcome(&after).is_over() {
                return game.outcome(&after) == Outcome::Win(attacker);
            }
            let mut forced = None;
            for reply in legal_actions(game, &after) {
                let mut next = after;
                game.play(&mut next, reply);
                if !wins_at_once(game, &next) && forced.replace(next).is_some() {
                    return false;
                }
            }
            forced.is_none_or(|next| !game.outcome(&next).is_over() && wins_plainly(game, &next))
        })
    }

    fn wins_at_once(game: &Grid, position: &Position) -> bool {
        let mut winning = Vec::new();
        game.winning(position, &mut winning);
        !winning.is_empty()
    }
}
