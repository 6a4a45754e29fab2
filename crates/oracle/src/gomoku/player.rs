//! `threat:N`: an opponent made by hand, of graded strength. N is how many positions it may look at for a move.
//!
//! It takes a win by fours if it sees one, looks only at defences if the opponent threatens such a win, and otherwise
//! searches by alpha-beta as deep as its nodes reach, judging positions by the shapes on the board. With one node it plays
//! the move whose shapes, its own and those that it takes from the opponent, are worth most.

use std::cmp::Reverse;

use rules::grid::{Grid, Position};
use rules::{Action, Choice, Game, NotExact, Player, Seat};

use super::board::{Board, Counts, Point, Points};
use super::vcf::Found;
use super::vct::Vct;

/// Moves tried in a position of the search, the most promising ones.
const WIDTH: usize = 12;
/// A win; what is found sooner is worth more.
const WIN: i32 = 1_000_000;

/// The player, for five in a row under any rule.
pub struct ThreatPlayer {
    game: Grid,
    nodes: u64,
    vct: Vct,
}

impl ThreatPlayer {
    /// A player that looks at `nodes` positions for a move, and at as many again for wins by fours of either side.
    /// `None` for games other than five in a row without gravity.
    pub fn new(game: &Grid, nodes: u64) -> Option<ThreatPlayer> {
        let fits = game.length() == 5 && !game.gravity();
        fits.then(|| ThreatPlayer { game: *game, nodes, vct: Vct::new(14) })
    }

    /// The move, which depends on the position alone.
    fn best(&mut self, position: &Position) -> Action {
        let seat = self.game.to_move(position);
        let mut board = Board::of(&self.game, position);
        self.vct.forget();
        if self.vct.search_fours(&mut board, seat, self.nodes).0 == Found::Win {
            return board.cell(self.vct.line_of_fours()[0]) as Action;
        }
        let mut only = None;
        if self.vct.search_fours(&mut board, seat.other(), self.nodes).0 == Found::Win {
            only = Some(self.vct.spoilers(&mut board, seat.other()));
        }
        let mut moves = candidates(&board, seat, board.cells(), only.as_ref());
        if moves.is_empty() {
            // Everything that could spoil the opponent's win is forbidden: any move will do.
            moves = candidates(&board, seat, board.cells(), None);
        }
        moves.truncate(2 * WIDTH);
        let deepest = if moves.len() > 1 { board.empty().count() } else { 0 };
        let mut search = Search { board, left: self.nodes };
        for depth in 1..=deepest {
            let Some((value, best)) = search.root(seat, &moves, depth) else { break };
            // The best move first, so that the others are refuted quickly.
            let at = moves.iter().position(|&point| point == best).expect("it is one of them");
            moves[..=at].rotate_right(1);
            if value.abs() > WIN / 2 {
                break;
            }
        }
        search.board.cell(moves[0]) as Action
    }
}

impl Player<Grid> for ThreatPlayer {
    fn name(&self) -> String {
        format!("threat:{}", self.nodes)
    }

    fn distribution(&mut self, _: &Grid, position: &Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        choices.push(Choice { action: self.best(position), probability: 1.0 });
        Ok(())
    }
}

/// The most promising moves, at most `most` of them and at least one if any is legal: those in `only`, or near other stones.
fn candidates(board: &Board, seat: Seat, most: usize, only: Option<&Points>) -> Vec<Point> {
    let five = |seat| board.fives(seat).iter().filter(|&point| only.is_none_or(|only| only.contains(point)));
    // A five is taken and a five is stopped before anything else.
    for fives in [five(seat), five(seat.other())] {
        let moves: Vec<Point> = fives.filter(|&point| !board.is_forbidden(point, seat)).collect();
        if !moves.is_empty() {
            return moves;
        }
    }
    let mut moves: Vec<(i32, Point)> = board
        .empty()
        .filter(|&point| only.is_none_or(|only| only.contains(point)) && !board.is_forbidden(point, seat))
        .map(|point| (promise(board, seat, point), point))
        .collect();
    moves.sort_unstable_by_key(|&(promise, point)| (Reverse(promise), point));
    moves.truncate(most);
    moves.into_iter().map(|(_, point)| point).collect()
}

/// What a move makes and what it takes from the opponent; then how near the middle it is.
fn promise(board: &Board, seat: Seat, point: Point) -> i32 {
    let own = move_worth(board.counts(point, seat));
    let other = if board.is_forbidden(point, seat.other()) { 0 } else { move_worth(board.counts(point, seat.other())) };
    16 * (own + own / 4 + other) + board.centrality(point)
}

/// What a stone on a point is worth for the shapes that it makes together.
fn move_worth(counts: Counts) -> i32 {
    let together = match (counts.fours(), counts.threes()) {
        _ if counts.open_fours() > 0 => 10_000,
        (2.., _) => 10_000,
        (1, 1..) => 5_000,
        (_, 2..) => 1_500,
        _ => 0,
    };
    together + line_worth(counts)
}

/// What the lines through a point are worth, each by itself.
fn line_worth(counts: Counts) -> i32 {
    let [fours, threes, closed_threes, twos, closed_twos] =
        [counts.fours(), counts.threes(), counts.closed_threes(), counts.twos(), counts.closed_twos()]
            .map(|count| count as i32);
    60 * fours + 80 * threes + 14 * closed_threes + 16 * twos + 3 * closed_twos
}

/// An alpha-beta search with a supply of nodes.
struct Search {
    board: Board,
    left: u64,
}

impl Search {
    /// The best of the moves and its value; `None` if the nodes run out.
    fn root(&mut self, seat: Seat, moves: &[Point], depth: usize) -> Option<(i32, Point)> {
        let mut best = (-WIN - 1, moves[0]);
        for &point in moves {
            self.board.place(point, seat);
            let value = self.value(seat.other(), depth - 1, 1, -WIN, -best.0);
            self.board.remove(point);
            let value = -value?;
            if value > best.0 {
                best = (value, point);
            }
        }
        Some(best)
    }

    /// The value for `seat`, who is to move, `ply` moves below the root; `None` if the nodes run out.
    fn value(&mut self, seat: Seat, depth: usize, ply: i32, mut alpha: i32, beta: i32) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        let other = seat.other();
        if !self.board.fives(seat).is_empty() {
            return Some(WIN - ply);
        }
        let mut threats = self.board.fives(other).iter();
        if let Some(block) = threats.next() {
            if threats.next().is_some() || self.board.is_forbidden(block, seat) {
                return Some(-WIN + ply + 1);
            }
            // A forced answer costs no depth.
            self.board.place(block, seat);
            let value = self.value(other, depth, ply + 1, -beta, -alpha);
            self.board.remove(block);
            return value.map(|value| -value);
        }
        if depth == 0 {
            return Some(self.judge(seat));
        }
        let moves = candidates(&self.board, seat, WIDTH, None);
        if moves.is_empty() {
            return Some(0);
        }
        let mut best = -WIN;
        for point in moves {
            self.board.place(point, seat);
            let value = self.value(other, depth - 1, ply + 1, -beta, -alpha);
            self.board.remove(point);
            best = best.max(-value?);
            alpha = alpha.max(best);
            if alpha >= beta {
                break;
            }
        }
        Some(best)
    }

    /// What the shapes on the board say for `seat`, who is to move and has no five to make or to stop.
    fn judge(&self, seat: Seat) -> i32 {
        let mut lines = 0;
        let mut best = [0; 2];
        for point in self.board.empty() {
            for (i, side) in [seat, seat.other()].into_iter().enumerate() {
                let counts = self.board.counts(point, side);
                if self.board.is_forbidden(point, side) {
                    continue;
                }
                let sign = if i == 0 { 1 } else { -1 };
                lines += sign * line_worth(counts);
                best[i] = best[i].max(move_worth(counts));
            }
        }
        // The side to move makes its best shape now; the other still has to come to it.
        lines + best[0] - best[1] / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gomoku::tests::after;
    use rules::Outcome;
    use rules::grid::Rule;
    use rules::random::Rng;

    fn choice(game: &Grid, position: &Position, nodes: u64) -> Action {
        let mut choices = Vec::new();
        let mut player = ThreatPlayer::new(game, nodes).unwrap();
        player.distribution(game, position, &mut choices).unwrap();
        assert_eq!(choices.len(), 1);
        choices[0].action
    }

    #[test]
    fn begins_in_the_middle_and_meets_the_four_of_the_public_report() {
        let game = Grid::gomoku(15, Rule::Freestyle).unwrap();
        let four = after(&game, "h8h7i7g9h6g5g7i6g8f8f6e5f5j10i10i11k9h10j12l10");
        for nodes in [1, 30, 1000] {
            assert_eq!(game.write_action(choice(&game, &game.start(), nodes)), "h8");
            assert_eq!(game.write_action(choice(&game, &four, nodes)), "e7");
        }
    }

    /// Row C23 of the public reports: a trained agent left its own win in one alone.
    #[test]
    fn takes_a_win_in_one_and_stops_one_wherever_it_stands() {
        for (size, rule) in [(6, Rule::Freestyle), (9, Rule::Standard), (15, Rule::Renju), (22, Rule::Freestyle)] {
            let game = Grid::gomoku(size, rule).unwrap();
            let (mut wins, mut stops) = (0, 0);
            for number in 0..200 {
                let Some(position) = crate::gomoku::tests::scattered(&game, &mut Rng::new(29, number)) else {
                    continue;
                };
                let (board, seat) = (Board::of(&game, &position), game.to_move(&position));
                let chosen = |nodes| board.point(usize::from(choice(&game, &position, nodes)));
                let threats = board.fives(seat.other());
                if !board.fives(seat).is_empty() {
                    assert!([1, 50].iter().all(|&nodes| board.fives(seat).contains(chosen(nodes))));
                    wins += 1;
                } else if threats.iter().any(|point| !board.is_forbidden(point, seat)) {
                    assert!([1, 50].iter().all(|&nodes| threats.contains(chosen(nodes))));
                    stops += 1;
                }
            }
            assert!(wins > 5 && stops > 2, "{size} {rule:?}: {wins} {stops}");
        }
    }

    #[test]
    fn plays_legal_moves_to_the_end_on_any_board_and_beats_chance() {
        for (size, rule) in [(5, Rule::Freestyle), (6, Rule::Standard), (9, Rule::Renju), (22, Rule::Renju)] {
            let game = Grid::gomoku(size, rule).unwrap();
            for (number, nodes) in [(0, 1), (1, 1), (2, 100), (3, 100)] {
                let mut rng = Rng::new(19, number);
                let seat = Seat::BOTH[number as usize % 2];
                let mut player = ThreatPlayer::new(&game, nodes).unwrap();
                let mut position = game.start();
                while !game.outcome(&position).is_over() {
                    let action = if game.to_move(&position) == seat {
                        player.choose(&game, &position, &mut rng).unwrap()
                    } else {
                        game.random_legal(&position, &mut rng)
                    };
                    assert_eq!(game.try_play(&mut position, action), Ok(()), "{}", game.write_position(&position));
                }
                assert_ne!(game.outcome(&position), Outcome::Win(seat.other()));
                assert!(size < 9 || game.outcome(&position) == Outcome::Win(seat));
            }
        }
    }

    #[test]
    fn the_choice_depends_on_the_position_alone() {
        let game = Grid::gomoku(9, Rule::Freestyle).unwrap();
        let mut player = ThreatPlayer::new(&game, 50).unwrap();
        let mut rng = Rng::new(23, 0);
        for number in 0..20 {
            let position = crate::gomoku::tests::lively(&game, 12, 0.8, &mut Rng::new(23, number));
            if !game.outcome(&position).is_over() {
                let chosen = player.choose(&game, &position, &mut rng).unwrap();
                assert_eq!(chosen, choice(&game, &position, 50));
            }
        }
    }
}
