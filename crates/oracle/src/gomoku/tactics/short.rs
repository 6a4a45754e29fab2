//! Short wins: one move of any kind, and then fours alone, whatever the opponent answers.

use rules::Seat;

use crate::gomoku::board::{Board, Point};
use crate::gomoku::vcf::{Found, Vcf};
use crate::gomoku::vct::spoilers;

/// Nodes of each search for a win by fours. Few searches need a hundred.
const LIMIT: u64 = 10_000;
/// Positions that the search remembers, as a power of two.
const BITS: u32 = 14;

/// Looks for short wins. An answer of `None` means that a search reached its limit.
pub(super) struct Short {
    vcf: Vcf,
    /// The reply that refuted a move last: it often refutes the next too.
    refutation: Option<Point>,
}

impl Short {
    pub(super) fn new() -> Short {
        Short { vcf: Vcf::new(BITS), refutation: None }
    }

    /// Forgets all positions, so that no answer depends on earlier questions.
    pub(super) fn forget(&mut self) {
        self.vcf.forget();
        self.refutation = None;
    }

    /// Whether `seat`, which is to move, wins by fours alone.
    pub(super) fn by_fours(&mut self, board: &mut Board, seat: Seat) -> Option<bool> {
        match self.vcf.search(board, seat, LIMIT) {
            Found::Win => Some(true),
            Found::Nothing => Some(false),
            Found::Unknown => None,
        }
    }

    /// Whether `seat`, which is to move, has a short win.
    pub(super) fn wins(&mut self, board: &mut Board, seat: Seat) -> Option<bool> {
        if self.by_fours(board, seat)? {
            return Some(true);
        }
        for point in moves(board, seat) {
            if self.wins_by(board, seat, point)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Those of the moves with which `seat` wins shortly.
    pub(super) fn winning(&mut self, board: &mut Board, seat: Seat, moves: &[Point]) -> Option<Vec<Point>> {
        let mut wins = Vec::new();
        for &point in moves {
            if self.wins_by(board, seat, point)? {
                wins.push(point);
            }
        }
        Some(wins)
    }

    /// Whether `seat` wins shortly with this move, which is allowed: at once, or by fours after every reply.
    pub(super) fn wins_by(&mut self, board: &mut Board, seat: Seat, point: Point) -> Option<bool> {
        if board.fives(seat).contains(point) {
            return Some(true);
        }
        board.place(point, seat);
        let wins = self.wins_after(board, seat);
        board.remove(point);
        wins
    }

    /// As [`Short::wins_by`], for the move that was just made.
    fn wins_after(&mut self, board: &mut Board, seat: Seat) -> Option<bool> {
        let defender = seat.other();
        // Where the defender has no legal move at all, the game is drawn at this moment.
        if !board.fives(defender).is_empty() || !board.can_move(defender) {
            return Some(false);
        }
        let mut fives = board.fives(seat).iter();
        let mut replies: Vec<Point> = match (fives.next(), fives.next()) {
            (Some(_), Some(_)) => Vec::new(),
            (Some(five), None) => vec![five],
            _ if self.by_fours(board, seat)? => spoilers(board, seat, &self.vcf.line()).iter().collect(),
            _ => return Some(false),
        };
        replies.retain(|&reply| !board.is_forbidden(reply, defender));
        replies.sort_by_key(|&reply| Some(reply) != self.refutation);
        for reply in replies {
            board.place(reply, defender);
            let wins = self.by_fours(board, seat);
            board.remove(reply);
            if !wins? {
                self.refutation = Some(reply);
                return Some(false);
            }
        }
        Some(true)
    }
}

/// The moves of `seat` that do not lose at once: all that are allowed, unless the other side has a four.
pub(super) fn moves(board: &Board, seat: Seat) -> Vec<Point> {
    let mut fives = board.fives(seat.other()).iter();
    let moves: Vec<Point> = match (fives.next(), fives.next()) {
        (None, _) => board.empty().collect(),
        (Some(block), None) => vec![block],
        _ => Vec::new(),
    };
    moves.into_iter().filter(|&point| !board.is_forbidden(point, seat)).collect()
}
