//! Victory by continuous threats: every move makes a four, or an open three that threatens to win by fours.
//!
//! A proof-number search (df-pn: Nagai, "Df-pn algorithm for searching AND/OR trees", 2002) over the attacker's threats and the
//! defender's answers. It is sound: a win that it claims is one. After a threat the attacker has a *plan*, a win by fours
//! were the defender to pass. An answer that could spoil the plan is searched; any other loses to
//! the plan as it stands, and which answers could spoil it is decided on the safe side (see [`spoilers`]).
//! It is not complete: threats that take more than an open three to see are not tried.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rules::{Action, Seat};

use super::board::{Board, Point, Points};
use super::vcf::{self, Found, Vcf};
use crate::strategy::Strategy;

/// Nodes of each search for a win by fours inside this one. Longer wins are found by the search itself.
const FOURS_LIMIT: u64 = 300;

/// The search; what it has learned of positions serves until [`Vct::forget`].
pub(crate) struct Vct {
    vcf: Vcf,
    table: HashMap<u64, Numbers, BuildHasherDefault<Same>>,
    /// Whether a search by fours was given up, so that a win may have been missed.
    cut: bool,
    nodes: u64,
    end: u64,
}

/// How much is still to be shown, at least, for the side to move to reach its end (`proof`) or to be refuted: for the
/// attacker the end is to win, for the defender to escape.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    proof: u32,
    disproof: u32,
}

/// Cannot be shown any more.
const NEVER: u32 = u32::MAX / 4;
const UNKNOWN: Numbers = Numbers { proof: 1, disproof: 1 };
const REACHED: Numbers = Numbers { proof: 0, disproof: NEVER };
const REFUTED: Numbers = Numbers { proof: NEVER, disproof: 0 };

/// What the side to move can do.
enum Moves {
    /// Nothing is left to search.
    Decided(Numbers),
    /// One of these moves.
    Some(Vec<Point>),
}

impl Vct {
    /// A search whose searches by fours have a table of 2^`bits` positions.
    pub(crate) fn new(bits: u32) -> Vct {
        Vct { vcf: Vcf::new(bits), table: HashMap::default(), cut: false, nodes: 0, end: 0 }
    }

    /// Positions searched so far, with all moves of searches by fours.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes + self.vcf.nodes()
    }

    /// Forgets all positions, so that memory does not grow for ever and answers do not depend on earlier questions.
    pub(crate) fn forget(&mut self) {
        self.table.clear();
        self.cut = false;
        self.vcf.forget();
    }

    /// The line of the win by fours that was found last, as [`Vcf::line`] gives it.
    pub(crate) fn line_of_fours(&self) -> Vec<Point> {
        self.vcf.line()
    }

    /// Points where a stone of the defender might spoil the win by fours that was found last.
    pub(crate) fn spoilers(&self, board: &mut Board, attacker: Seat) -> Points {
        spoilers(board, attacker, &self.vcf.line())
    }

    /// Looks for a win by fours alone.
    pub(crate) fn search_fours(&mut self, board: &mut Board, attacker: Seat, limit: u64) -> (Found, Option<Strategy>) {
        let found = self.vcf.search(board, attacker, limit);
        let strategy = (found == Found::Win).then(|| vcf::strategy(board, attacker, &self.vcf.line()));
        (found, strategy)
    }

    /// Looks for a win of `attacker`, who is to move, within `limit` nodes. "Nothing" means that no sequence of threats
    /// that this search knows wins, and that none of its searches by fours was cut off.
    pub(crate) fn search(&mut self, board: &mut Board, attacker: Seat, limit: u64) -> (Found, Option<Strategy>) {
        self.end = self.nodes() + limit;
        let numbers = self.expand(board, attacker, true, NEVER, NEVER);
        if numbers.proof == 0 {
            self.end = self.nodes() + limit;
            match self.strategy(board, attacker) {
                Some(strategy) => (Found::Win, Some(strategy)),
                None => (Found::Unknown, None),
            }
        } else {
            (if numbers.disproof == 0 && !self.cut { Found::Nothing } else { Found::Unknown }, None)
        }
    }

    /// Searches below a position until one of its numbers reaches its threshold.
    fn expand(&mut self, board: &mut Board, attacker: Seat, attacks: bool, proof: u32, disproof: u32) -> Numbers {
        let key = key(board.hash(), attacker, attacks);
        self.nodes += 1;
        let moves = match self.moves(board, attacker, attacks) {
            Moves::Decided(numbers) => {
                self.table.insert(key, numbers);
                return numbers;
            }
            Moves::Some(moves) => moves,
        };
        let mover = if attacks { attacker } else { attacker.other() };
        loop {
            // The opponent's disproof is what the mover has to prove, and the other way round.
            let mut numbers = REFUTED;
            let (mut best, mut best_proof, mut second) = (moves[0], NEVER, NEVER);
            for &point in &moves {
                let key = self::key(board.hash_with(point, mover), attacker, !attacks);
                let child = self.table.get(&key).copied().unwrap_or(UNKNOWN);
                numbers.disproof = (numbers.disproof + child.proof).min(NEVER);
                if child.disproof < numbers.proof {
                    second = numbers.proof;
                    numbers.proof = child.disproof;
                    (best, best_proof) = (point, child.proof);
                } else {
                    second = second.min(child.disproof);
                }
            }
            if numbers.proof == 0 {
                numbers = REACHED;
            }
            if numbers.proof >= proof || numbers.disproof >= disproof || self.nodes() >= self.end {
                self.table.insert(key, numbers);
                return numbers;
            }
            // A little beyond the second best, so that the search does not leave a branch at every turn (the 1 + epsilon
            // trick of Pawlewicz and Lew, "Improving depth-first PN-search", 2007).
            let child_disproof = proof.min(second.saturating_add(second / 4 + 1));
            let child_proof = disproof - numbers.disproof + best_proof;
            board.place(best, mover);
            self.expand(board, attacker, !attacks, child_proof, child_disproof);
            board.remove(best);
        }
    }

    fn moves(&mut self, board: &mut Board, attacker: Seat, attacks: bool) -> Moves {
        if attacks { self.threats(board, attacker) } else { self.answers(board, attacker) }
    }

    /// The attacker's moves that threaten something.
    fn threats(&mut self, board: &mut Board, attacker: Seat) -> Moves {
        let defender = attacker.other();
        if self.wins_by_fours(board, attacker) {
            return Moves::Decided(REACHED);
        }
        let mut fives = board.fives(defender).iter();
        let moves: Vec<Point> = match (fives.next(), fives.next()) {
            (Some(_), Some(_)) => Vec::new(),
            (Some(block), None) => vec![block],
            _ => {
                let mut threats = *board.fours(attacker);
                threats |= *board.threes(attacker);
                threats.iter().collect()
            }
        };
        legal(board, attacker, moves)
    }

    /// The defender's answers to the threat that was just made, except those that certainly lose.
    fn answers(&mut self, board: &mut Board, attacker: Seat) -> Moves {
        let defender = attacker.other();
        if !board.fives(defender).is_empty() {
            return Moves::Decided(REACHED);
        }
        let mut fives = board.fives(attacker).iter();
        match (fives.next(), fives.next()) {
            (Some(_), Some(_)) => decided_for_attacker(board, defender),
            (Some(five), None) => {
                if board.is_forbidden(five, defender) {
                    decided_for_attacker(board, defender)
                } else {
                    Moves::Some(vec![five])
                }
            }
            _ => {
                if !self.wins_by_fours(board, attacker) {
                    return Moves::Decided(REACHED);
                }
                let answers = spoilers(board, attacker, &self.vcf.line()).iter().collect();
                match legal(board, defender, answers) {
                    Moves::Decided(_) => decided_for_attacker(board, defender),
                    some => some,
                }
            }
        }
    }

    /// Whether a short search finds a win by fours.
    fn wins_by_fours(&mut self, board: &mut Board, attacker: Seat) -> bool {
        let found = self.vcf.search(board, attacker, FOURS_LIMIT);
        self.cut |= found == Found::Unknown;
        found == Found::Win
    }

    /// The win that the search has proved, as a tree; the attacker is to move.
    ///
    /// What has left the tables is searched again; `None` if that fails within the limits.
    fn strategy(&mut self, board: &mut Board, attacker: Seat) -> Option<Strategy> {
        let moves = match self.moves(board, attacker, true) {
            Moves::Decided(_) => return self.fours(board, attacker),
            Moves::Some(moves) => moves,
        };
        let refuted = |vct: &Vct, board: &Board, point: Point| {
            let key = key(board.hash_with(point, attacker), attacker, false);
            vct.table.get(&key).is_some_and(|numbers| numbers.disproof == 0)
        };
        let mut known = moves.iter().copied().find(|&point| refuted(self, board, point));
        if known.is_none() {
            self.expand(board, attacker, true, NEVER, NEVER);
            known = moves.iter().copied().find(|&point| refuted(self, board, point));
        }
        let point = known?;
        board.place(point, attacker);
        let strategy = self.after_threat(board, attacker, point);
        board.remove(point);
        strategy
    }

    /// The tree below the threat on `point`, which stands on the board.
    fn after_threat(&mut self, board: &mut Board, attacker: Seat, point: Point) -> Option<Strategy> {
        let defender = attacker.other();
        let mut strategy = Strategy::end(board.cell(point) as Action);
        let mut fives = board.fives(attacker).iter();
        let answers: Vec<Point> = match (fives.next(), fives.next()) {
            (Some(five), other) => {
                strategy.otherwise = Some(Box::new(Strategy::end(board.cell(five) as Action)));
                if let Some(other) = other {
                    strategy.replies.push((board.cell(five) as Action, Strategy::end(board.cell(other) as Action)));
                    return Some(strategy);
                }
                vec![five]
            }
            _ => {
                let plan = self.fours(board, attacker)?;
                strategy.otherwise = Some(Box::new(plan));
                spoilers(board, attacker, &self.vcf.line()).iter().collect()
            }
        };
        for answer in answers.into_iter().filter(|&answer| !board.is_forbidden(answer, defender)).collect::<Vec<_>>() {
            board.place(answer, defender);
            let next = self.strategy(board, attacker);
            board.remove(answer);
            strategy.replies.push((board.cell(answer) as Action, next?));
        }
        Some(strategy)
    }

    fn fours(&mut self, board: &mut Board, attacker: Seat) -> Option<Strategy> {
        self.search_fours(board, attacker, FOURS_LIMIT).1
    }
}

/// A win is certain, unless the defender cannot move at all: that is a draw.
fn decided_for_attacker(board: &Board, defender: Seat) -> Moves {
    Moves::Decided(if board.can_move(defender) { REFUTED } else { REACHED })
}

/// Those of the moves that are allowed; without any the side to move has lost the argument.
fn legal(board: &Board, mover: Seat, mut moves: Vec<Point>) -> Moves {
    moves.retain(|&point| !board.is_forbidden(point, mover));
    if moves.is_empty() { Moves::Decided(REFUTED) } else { Moves::Some(moves) }
}

/// All points on which a stone of the defender, who is to move, might spoil the attacker's win along `line`.
///
/// These are the points that the line and its fives need, and those on which the stone would make a four for the defender
/// at some moment of the line, since a four must be answered. A stone elsewhere neither takes a point of
/// the line nor ever threatens anything, so the line wins in spite of it. In Renju a stone anywhere may change
/// what is forbidden to Black: where the line depends on that, all points are given.
pub(crate) fn spoilers(board: &mut Board, attacker: Seat, line: &[Point]) -> Points {
    let defender = attacker.other();
    let mut points = Points::EMPTY;
    let mut depends_on_prohibitions = false;
    points |= *board.fours(defender);
    for (i, &point) in line.iter().enumerate() {
        points.insert(point);
        let mover = if i % 2 == 0 { attacker } else { defender };
        let bound = board.is_bound(mover) && board.counts(point, mover).may_be_forbidden();
        depends_on_prohibitions |= bound && mover == attacker;
        board.place(point, mover);
        points |= *board.fives(attacker);
        if mover == defender {
            points |= *board.fours(defender);
        }
    }
    // A line that ends with a single four wins because the answer is forbidden.
    let mut fives = board.fives(attacker).iter();
    depends_on_prohibitions |= line.len() % 2 == 1 && fives.next().is_some() && fives.next().is_none();
    for &point in line.iter().rev() {
        board.remove(point);
    }
    if depends_on_prohibitions {
        board.empty().for_each(|point| points.insert(point));
    }
    points
}

/// The table's key of a position.
fn key(hash: u64, attacker: Seat, attacks: bool) -> u64 {
    let side = (attacker.index() as u64 * 2 + u64::from(attacks) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ side
}

/// Uses a key that is random already as its own hash.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are whole numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gomoku::tests::lively;
    use rules::Game;
    use rules::grid::{Grid, Rule};
    use rules::random::Rng;

    #[test]
    fn every_claimed_win_is_a_win() {
        for rule in [Rule::Freestyle, Rule::Standard, Rule::Renju] {
            let (mut claims, mut threes) = ([0; 2], 0);
            for number in 0..500 {
                let mut rng = Rng::new(13, number);
                let size = [7, 8, 9, 11, 15, 22][rng.below(6)];
                let game = Grid::gomoku(size, rule).unwrap();
                let plies = 6 + rng.below((size * size / 2).min(40));
                let position = lively(&game, plies, 0.8, &mut rng);
                let seat = game.to_move(&position);
                let mut board = Board::of(&game, &position);
                if game.outcome(&position).is_over() || !board.fives(seat).is_empty() {
                    continue;
                }
                let mut vct = Vct::new(12);
                let fours = vct.search_fours(&mut board, seat, 10_000).0;
                let (found, strategy) = vct.search(&mut board, seat, 4_000);
                assert_eq!(board.hash(), Board::of(&game, &position).hash());
                assert_eq!(found == Found::Win, strategy.is_some());
                assert!(found == Found::Win || fours != Found::Win);
                if let Some(strategy) = strategy {
                    let flaw = strategy.verify(&game, &position);
                    assert_eq!(flaw, Ok(()), "{rule:?} {}", game.write_position(&position));
                    claims[seat.index()] += 1;
                    threes += u32::from(fours == Found::Nothing);
                }
            }
            assert!(claims.iter().all(|&count| count >= 12) && threes >= 6, "{rule:?} {claims:?} {threes}");
        }
    }
}
