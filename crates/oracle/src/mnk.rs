//! Exact values of small boards of k in a row, by alpha-beta with a table.
//!
//! Three things make it quick. A completed line, a line to be blocked and a double threat are seen without search. Only lines
//! that one side can still fill matter, so positions that differ elsewhere are one entry of the table,
//! and cells on no such line are not tried: one stone more never hurts, so a useful move is never worse than a
//! useless one. A side without such a line cannot win.
//!
//! Where stones fall, a stone more may well hurt: it opens the cell above. There every column is tried, and positions are told
//! apart by all their stones.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rules::grid::{Grid, Position, Rule};
use rules::{Action, Choice, Game, NotExact, Player, Seat, Wdl, game::legal_actions};

use crate::connect4::Stopped;
use crate::exact::{Exact, Verdict};
use crate::table::Score;

/// A set of cells.
type Cells = u64;

/// The search and its table.
pub struct Mnk {
    game: Grid,
    /// All lines of the winning length.
    lines: Vec<Cells>,
    /// For each symmetry other than the identity, where each cell goes.
    symmetries: Vec<Vec<u8>>,
    table: Vec<Entry>,
    nodes: u64,
    end: u64,
}

/// What is known of a position.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    key: Key,
    low: i8,
    high: i8,
}

/// The lines that still matter, seen by the side to move: cells with its stones in the first set, with its opponent's in the
/// second, cells on no such line in both. Where stones fall, all lines matter.
type Key = (Cells, Cells);

/// No position has this key: not every cell of a position that is searched can be on no line that matters.
const NO_ENTRY: Entry = Entry { key: (Cells::MAX, Cells::MAX), low: -1, high: 1 };

/// Positions between two looks at whether to stop.
const STOP_EVERY: u64 = 1_024;

/// With fewer stones than this, positions that are symmetric to one another share an entry.
const SYMMETRIC_STONES: u32 = 10;

/// What stands on the board, seen by the side to move.
#[derive(Clone, Copy)]
struct Stones {
    own: Cells,
    other: Cells,
}

impl Stones {
    fn after(self, cell: u32) -> Stones {
        Stones { own: self.other, other: self.own | 1 << cell }
    }
}

impl Mnk {
    /// A search with a table of 2^`bits` positions, 24 bytes each. `None` for boards of more than 64 cells, or under
    /// another rule than that longer lines win too.
    pub fn new(game: &Grid, bits: u32) -> Option<Mnk> {
        if game.cells() > 64 || game.rule() != Rule::Freestyle {
            return None;
        }
        let (columns, rows) = (game.columns(), game.rows());
        let symmetries = game.symmetries()[1..].iter();
        Some(Mnk {
            game: *game,
            lines: lines(columns, rows, game.length()),
            symmetries: symmetries
                .map(|s| (0..columns * rows).map(|c| s.cell(columns, rows, c) as u8).collect())
                .collect(),
            table: vec![NO_ENTRY; 1 << bits],
            nodes: 0,
            end: 0,
        })
    }

    /// Positions searched so far.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The value of a position for the side to move; `None` if more than `limit` positions would have to be searched, or
    /// if `stop` is set meanwhile. The game is not over.
    pub fn solve(&mut self, position: &Position, limit: u64, stop: &AtomicBool) -> Option<Wdl> {
        self.end = self.nodes.saturating_add(limit);
        let stones = self.stones(position);
        let can_win = self.search(stones, 0, 1, stop)? > 0;
        let value = if can_win { 1 } else { self.search(stones, -1, 0, stop)? };
        Some(match value {
            1 => Wdl::Win,
            0 => Wdl::Draw,
            _ => Wdl::Loss,
        })
    }

    /// The value of every legal move for the side that makes it, within `limit` positions for all together.
    pub fn moves(&mut self, position: &Position, limit: u64, stop: &AtomicBool) -> Option<Vec<(Action, Wdl)>> {
        let end = self.nodes.saturating_add(limit);
        let actions = legal_actions(&self.game, position).into_iter();
        actions
            .map(|action| {
                let mut after = *position;
                self.game.play(&mut after, action);
                let value = match self.game.outcome(&after).seen_by(self.game.to_move(position)) {
                    Some(value) => value,
                    None => self.solve(&after, end - self.nodes, stop)?.flip(),
                };
                Some((action, value))
            })
            .collect()
    }

    fn stones(&self, position: &Position) -> Stones {
        let mover = self.game.to_move(position);
        let of = |seat: Seat| {
            let cells = (0..self.game.cells()).filter(|&cell| self.game.stone(position, cell) == Some(seat));
            cells.fold(0, |set, cell| set | 1 << cell)
        };
        Stones { own: of(mover), other: of(mover.other()) }
    }

    /// The value for the side to move if it lies between `alpha` and `beta`, otherwise a bound beyond the one it passes: -1, 0
    /// or 1. `None` at the limit or when stopped.
    fn search(&mut self, stones: Stones, mut alpha: i8, mut beta: i8, stop: &AtomicBool) -> Option<i8> {
        if self.nodes == self.end || self.nodes.is_multiple_of(STOP_EVERY) && stop.load(Relaxed) {
            return None;
        }
        self.nodes += 1;
        let Stones { own, other } = stones;
        let board = Cells::MAX >> (64 - self.game.cells());
        let playable = self.playable(board & !(own | other));
        let last = self.game.length() as u32 - 1;
        let (mut own_lines, mut other_lines, mut wins, mut blocks) = (0, 0, 0, 0);
        for &line in &self.lines {
            if line & other == 0 {
                own_lines |= line;
                wins |= if (line & own).count_ones() == last { line & !own } else { 0 };
            } else if line & own == 0 {
                blocks |= if (line & other).count_ones() == last { line & !other } else { 0 };
            }
            other_lines |= if line & own == 0 { line } else { 0 };
        }
        if wins & playable != 0 {
            return Some(1);
        }
        blocks &= playable;
        if blocks.count_ones() > 1 {
            return Some(-1);
        }
        if blocks != 0 {
            return self.search(stones.after(blocks.trailing_zeros()), -beta, -alpha, stop).map(|value| -value);
        }
        beta = if own_lines == 0 { beta.min(0) } else { beta };
        alpha = if other_lines == 0 { alpha.max(0) } else { alpha };
        if alpha >= beta {
            return Some(if own_lines == 0 { beta } else { alpha });
        }
        let lines = own_lines | other_lines;
        if lines & !(own | other) == 0 {
            return Some(0);
        }

        let (own_seen, other_seen, moves) =
            if self.game.gravity() { (board, board, playable) } else { (own_lines, other_lines, lines & playable) };
        let dead = !(own_seen | other_seen);
        let key = self.canonical((own & own_seen | dead, other & other_seen | dead), (own | other).count_ones());
        let slot = slot(key, self.table.len());
        let known = self.table[slot];
        let (low, high) = if known.key == key { (known.low, known.high) } else { (-1, 1) };
        if low >= beta || low == high {
            return Some(low);
        }
        if high <= alpha {
            return Some(high);
        }
        let (lower, upper) = (alpha.max(low), beta.min(high));

        let mut best = -1;
        for (_, cell) in self.order(stones, moves) {
            let value = -self.search(stones.after(cell), -upper, -lower.max(best), stop)?;
            best = best.max(value);
            if best >= upper {
                break;
            }
        }
        let entry = if best >= upper {
            Entry { key, low: best, high }
        } else if best <= lower {
            Entry { key, low, high: best }
        } else {
            Entry { key, low: best, high: best }
        };
        self.table[slot] = entry;
        Some(best)
    }

    /// The empty cells that a stone can be placed on: where stones fall, those without an empty one below.
    fn playable(&self, empty: Cells) -> Cells {
        // The lowest row is the last.
        if self.game.gravity() { empty & !(empty >> self.game.columns()) } else { empty }
    }

    /// The cells to try, the most promising first.
    fn order(&self, stones: Stones, cells: Cells) -> Vec<(u32, u32)> {
        let mut worth = [0; 64];
        for &line in &self.lines {
            let (own, other) = ((line & stones.own).count_ones(), (line & stones.other).count_ones());
            let gain = match (own, other) {
                (_, 0) => 1 << (3 * own + 1),
                (0, _) => 1 << (3 * other),
                _ => continue,
            };
            let mut empty = line & cells;
            while empty != 0 {
                worth[empty.trailing_zeros() as usize] += gain;
                empty &= empty - 1;
            }
        }
        let mut moves: Vec<(u32, u32)> =
            (0..64).filter(|cell| cells >> cell & 1 == 1).map(|cell| (worth[cell as usize], cell)).collect();
        moves.sort_unstable_by_key(|&(worth, cell)| (std::cmp::Reverse(worth), cell));
        moves
    }

    /// The least of the symmetric keys, while there are few stones.
    fn canonical(&self, key: Key, stones: u32) -> Key {
        if stones >= SYMMETRIC_STONES {
            return key;
        }
        let cells = self.game.cells();
        let outside = if cells < 64 { Cells::MAX << cells } else { 0 };
        let image = |set: Cells, symmetry: &[u8]| {
            (0..cells).filter(|cell| set >> cell & 1 == 1).fold(outside, |image, cell| image | 1 << symmetry[cell])
        };
        let images = self.symmetries.iter().map(|symmetry| (image(key.0, symmetry), image(key.1, symmetry)));
        images.fold(key, Key::min)
    }
}

/// Where in a table of this many entries, a power of two, a key belongs.
fn slot(key: Key, entries: usize) -> usize {
    let mixed = key.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key.1.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
    ((mixed ^ mixed >> 32).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as usize & (entries - 1)
}

/// All straight lines of `length` cells on a board.
fn lines(columns: usize, rows: usize, length: usize) -> Vec<Cells> {
    let mut lines = Vec::new();
    for (dc, dr) in [(1, 0), (0, 1), (1, 1), (-1, 1)] {
        for cell in 0..columns * rows {
            let step = |i: usize| {
                let column = (cell % columns).checked_add_signed(i as isize * dc).filter(|&c| c < columns)?;
                let row = (cell / columns).checked_add_signed(i as isize * dr).filter(|&r| r < rows)?;
                Some(row * columns + column)
            };
            if let Some(cells) = (0..length).map(step).collect::<Option<Vec<_>>>() {
                lines.push(cells.into_iter().fold(0, |line, cell| line | 1 << cell));
            }
        }
    }
    lines
}

/// Plays any of the moves that keep the value of the position. It does not know how long a win or a loss will take.
pub struct Perfect(pub Mnk);

/// Nobody stops a player in the middle of its move.
static GO_ON: AtomicBool = AtomicBool::new(false);

impl Perfect {
    fn moves(&mut self, position: &Position) -> Vec<(Action, Wdl)> {
        self.0.moves(position, u64::MAX, &GO_ON).expect("nothing limits or stops it")
    }
}

impl Player<Grid> for Perfect {
    fn name(&self) -> String {
        "perfect".to_owned()
    }

    fn distribution(&mut self, _: &Grid, position: &Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let moves = self.moves(position);
        let value = moves.iter().map(|&(_, value)| value).max().expect("an ongoing game has moves");
        let best: Vec<Action> = moves.into_iter().filter(|&(_, v)| v == value).map(|(action, _)| action).collect();
        let probability = 1.0 / best.len() as f64;
        choices.extend(best.into_iter().map(|action| Choice { action, probability }));
        Ok(())
    }
}

impl Exact<Grid> for Perfect {
    fn verdicts(&mut self, position: &Position) -> Option<Vec<Verdict>> {
        let verdict = |(action, wdl)| Verdict { action, score: Score { wdl, plies: None } };
        Some(self.moves(position).into_iter().map(verdict).collect())
    }

    fn value(&mut self, position: &Position, stop: &AtomicBool) -> Result<Wdl, Stopped> {
        self.0.solve(position, u64::MAX, stop).ok_or(Stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    fn game(columns: usize, rows: usize, length: usize) -> Grid {
        Grid::mnk(columns, rows, length, false).unwrap()
    }

    fn solve(mnk: &mut Mnk, position: &Position) -> Option<Wdl> {
        mnk.solve(position, u64::MAX, &GO_ON)
    }

    #[test]
    fn agrees_with_the_table_of_all_positions() {
        let placed = [(3, 3, 3), (4, 3, 3), (3, 4, 4), (5, 2, 2), (6, 2, 3), (3, 3, 1)].map(|sizes| (sizes, false));
        let fallen = [(3, 3, 3), (4, 3, 3), (3, 4, 3), (4, 4, 3), (5, 3, 4), (4, 4, 4)].map(|sizes| (sizes, true));
        for ((columns, rows, length), gravity) in placed.into_iter().chain(fallen) {
            let game = Grid::mnk(columns, rows, length, gravity).unwrap();
            let table = Table::new(&game);
            // A small table, so that entries are overwritten.
            let mut mnk = Mnk::new(&game, 8).unwrap();
            for node in table.nodes().iter().filter(|node| !node.outcome.is_over()) {
                let text = || format!("{} {}", game.name(), game.write_position(&node.position));
                assert_eq!(solve(&mut mnk, &node.position), Some(node.score.wdl), "{}", text());
            }
            let start = &table.nodes()[0];
            let moves = mnk.moves(&start.position, u64::MAX, &GO_ON).unwrap();
            let expected = table.edges(start).iter().map(|edge| (edge.action, edge.score.wdl));
            assert_eq!(moves, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn values_of_small_boards_are_the_known_ones() {
        // Uiterwijk and van den Herik, "The advantage of the initiative" (2000), table of solved mnk-games.
        use Wdl::{Draw, Win};
        let cases =
            [(3, 3, 3, Draw), (4, 3, 3, Win), (4, 4, 4, Draw), (5, 4, 4, Draw), (5, 5, 4, Draw), (6, 5, 4, Win)];
        for (columns, rows, length, value) in cases {
            let game = game(columns, rows, length);
            let mut mnk = Mnk::new(&game, 16).unwrap();
            assert_eq!(solve(&mut mnk, &game.start()), Some(value), "{}", game.name());
        }
    }

    #[test]
    fn says_when_the_limit_does_not_suffice_and_when_it_was_stopped() {
        let game = game(5, 5, 4);
        let mut mnk = Mnk::new(&game, 10).unwrap();
        assert_eq!(mnk.solve(&game.start(), 100, &GO_ON), None);
        assert_eq!(mnk.nodes(), 100);
        assert_eq!(Perfect(mnk).value(&game.start(), &AtomicBool::new(true)), Err(Stopped));
    }

    #[test]
    fn games_of_other_kinds_are_refused() {
        let games = ["mnk:9,8,5", "gomoku:7:standard", "gomoku:7:renju"];
        assert!(games.iter().all(|name| Mnk::new(&name.parse().unwrap(), 1).is_none()));
    }

    #[test]
    fn perfect_keeps_the_value_and_varies_among_equal_moves() {
        let game = game(3, 3, 3);
        let mut perfect = Perfect(Mnk::new(&game, 10).unwrap());
        let mut choices = Vec::new();
        perfect.distribution(&game, &game.start(), &mut choices).unwrap();
        assert_eq!(choices.len(), 9);
        let position = game.read_position("x../.../... o").unwrap();
        choices.clear();
        perfect.distribution(&game, &position, &mut choices).unwrap();
        assert_eq!(choices, [Choice { action: 4, probability: 1.0 }]);
    }
}
