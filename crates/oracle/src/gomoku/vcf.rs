//! Victory by continuous fours: every move makes a four, so every answer is forced, until one makes two threats.
//!
//! The search is complete: it tries every move that makes a four, and an answer of the defender that makes a four itself
//! must be met by a four on the very point. So "none" means that there is none; only the limit of nodes leaves the
//! question open. Positions that were searched once are kept in a table of fixed size.

use rules::{Action, Seat};

use super::board::{Board, Point};
use crate::strategy::Strategy;

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The attacker wins.
    Win,
    /// There is no such win.
    Nothing,
    /// The limit was reached before either was certain.
    Unknown,
}

/// The search; its table may be used for any positions of one game, one after another.
pub(crate) struct Vcf {
    table: Vec<Entry>,
    /// Moves of the attacker tried since the search was made.
    nodes: u64,
    /// The number of `nodes` at which the present search gives up.
    end: u64,
    /// Moves still to be tried, those of deeper positions behind those of shallower ones.
    moves: Vec<(u32, Point)>,
    /// The winning line, last move first.
    line: Vec<Point>,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    /// The winning move; without a meaning if there is none.
    best: Point,
    wins: bool,
}

const NO_ENTRY: Entry = Entry { hash: 0, best: 0, wins: false };

impl Vcf {
    /// A search with a table of 2^`bits` positions, 16 bytes each.
    pub(crate) fn new(bits: u32) -> Vcf {
        Vcf { table: vec![NO_ENTRY; 1 << bits], nodes: 0, end: 0, moves: Vec::new(), line: Vec::new() }
    }

    /// Empties the table.
    pub(crate) fn forget(&mut self) {
        self.table.fill(NO_ENTRY);
    }

    /// Moves of the attacker tried by all searches so far.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Looks for a win of `attacker`, who is to move, within `limit` nodes.
    pub(crate) fn search(&mut self, board: &mut Board, attacker: Seat, limit: u64) -> Found {
        self.end = self.nodes + limit;
        self.line.clear();
        self.moves.clear();
        self.attack(board, attacker)
    }

    /// The line of the win that was found last: the attacker's moves and between them the forced answers. It ends with
    /// a five, or with a move that threatens two, or one whose only answer is forbidden to the defender.
    pub(crate) fn line(&self) -> Vec<Point> {
        self.line.iter().rev().copied().collect()
    }

    fn attack(&mut self, board: &mut Board, attacker: Seat) -> Found {
        let defender = attacker.other();
        if let Some(five) = board.fives(attacker).first() {
            self.line.push(five);
            return Found::Win;
        }
        let mut threats = board.fives(defender).iter();
        let block = threats.next();
        if threats.next().is_some() {
            return Found::Nothing;
        }

        let hash = if attacker == Seat::First { board.hash() } else { !board.hash() };
        let slot = hash as usize & (self.table.len() - 1);
        let entry = self.table[slot];
        let known = (entry.hash == hash).then_some(entry);
        if known.is_some_and(|entry| !entry.wins) {
            return Found::Nothing;
        }

        let start = self.moves.len();
        let mut add = |point: Point| {
            let counts = board.counts(point, attacker);
            let first = known.is_some_and(|entry| entry.best == point);
            let doubles = counts.open_fours() + counts.fours() - 1;
            let score = u32::from(first) << 16 | doubles << 12 | counts.threes() << 8 | counts.closed_threes() << 4;
            self.moves.push((score | counts.twos(), point));
        };
        match block {
            Some(point) if board.counts(point, attacker).fours() > 0 => add(point),
            Some(_) => {}
            None => board.fours(attacker).iter().for_each(add),
        }
        self.moves[start..].sort_unstable_by_key(|&(score, point)| (std::cmp::Reverse(score), point));

        let mut result = Found::Nothing;
        for i in start..self.moves.len() {
            let point = self.moves[i].1;
            match self.try_four(board, attacker, point) {
                Found::Win => {
                    self.table[slot] = Entry { hash, best: point, wins: true };
                    result = Found::Win;
                    break;
                }
                Found::Unknown => {
                    result = Found::Unknown;
                    break;
                }
                Found::Nothing => {}
            }
        }
        if result == Found::Nothing {
            self.table[slot] = Entry { hash, best: 0, wins: false };
        }
        self.moves.truncate(start);
        result
    }

    /// Makes a four on the point, lets the defender answer and goes on.
    fn try_four(&mut self, board: &mut Board, attacker: Seat, point: Point) -> Found {
        let defender = attacker.other();
        if board.is_forbidden(point, attacker) {
            return Found::Nothing;
        }
        if self.nodes == self.end {
            return Found::Unknown;
        }
        self.nodes += 1;
        board.place(point, attacker);
        let mut fives = board.fives(attacker).iter();
        let answer = fives.next().expect("a four can become a five");
        let result = if fives.next().is_some() || board.is_forbidden(answer, defender) {
            // Where the defender has no legal move at all, the game is drawn at this moment.
            if board.can_move(defender) { Found::Win } else { Found::Nothing }
        } else {
            board.place(answer, defender);
            let result = self.attack(board, attacker);
            board.remove(answer);
            if result == Found::Win {
                self.line.push(answer);
            }
            result
        };
        board.remove(point);
        if result == Found::Win {
            self.line.push(point);
        }
        result
    }
}

/// The win along a line that [`Vcf::line`] gave, as a tree.
pub(crate) fn strategy(board: &mut Board, attacker: Seat, line: &[Point]) -> Strategy {
    let action = |board: &Board, point: Point| board.cell(point) as Action;
    let mut strategy = Strategy::end(action(board, line[0]));
    if board.counts(line[0], attacker).fives() > 0 {
        return strategy;
    }
    board.place(line[0], attacker);
    let mut fives = board.fives(attacker).iter();
    let answer = fives.next().expect("a four can become a five");
    strategy.otherwise = Some(Box::new(Strategy::end(action(board, answer))));
    if let Some(other) = fives.next() {
        strategy.replies.push((action(board, answer), Strategy::end(action(board, other))));
    } else if line.len() > 1 {
        board.place(answer, attacker.other());
        strategy.replies.push((action(board, answer), self::strategy(board, attacker, &line[2..])));
        board.remove(answer);
    }
    board.remove(line[0]);
    strategy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gomoku::tests::{scattered, wins_plainly};
    use rules::Game;
    use rules::grid::{Grid, Rule};
    use rules::random::Rng;

    #[test]
    fn finds_a_win_exactly_where_the_rules_alone_find_one() {
        for rule in [Rule::Freestyle, Rule::Standard, Rule::Renju] {
            let (mut counts, mut long) = ([0; 2], 0);
            for number in 0..250 {
                let mut rng = Rng::new(11, number);
                let game = Grid::gomoku(6 + rng.below(4), rule).unwrap();
                let Some(position) = scattered(&game, &mut rng) else { continue };
                let seat = game.to_move(&position);
                let mut board = Board::of(&game, &position);
                if !board.fives(seat).is_empty() {
                    continue;
                }
                let mut vcf = Vcf::new(10);
                let found = vcf.search(&mut board, seat, u64::MAX);
                let expected = wins_plainly(&game, &position);
                assert_eq!(found == Found::Win, expected, "{rule:?} {}", game.write_position(&position));
                counts[usize::from(expected)] += 1;
                if expected {
                    long += u32::from(vcf.line().len() >= 3);
                    let strategy = strategy(&mut board, seat, &vcf.line());
                    assert_eq!(strategy.verify(&game, &position), Ok(()));
                }
                assert_eq!(board.hash(), Board::of(&game, &position).hash());
            }

            assert!(counts.iter().all(|&count| count >= 30) && long >= 8, "{rule:?} {counts:?} {long}");
        }
    }
}
