//! Connect Four: stones fall to the lowest free cell of one of 7 columns, 6 high; four or more in a row win.
//!
//! Columns are written 1 to 7 from the left and are the actions 0 to 6. Cells are numbered as everywhere, by rows
//! from the *top* left, so the first stone in the middle column lies on cell 38.

use crate::game::{Action, Game, Refusal};
use crate::lines::rows_of;
use crate::notation::{self, NotationError, quote};
use crate::random::Rng;
use crate::symmetry::Symmetry;
use crate::value::{Outcome, Seat};

/// Number of columns.
pub const COLUMNS: usize = 7;
/// Number of rows.
pub const ROWS: usize = 6;

/// The game: it has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connect4;

/// Two sets of cells: the stones of the side to move, and all stones. Whose turn it is follows from their number,
/// which is kept so that nothing waits for it to be counted.
///
/// Bit 7 x column + height stands for the cell at that height above the bottom (0 to 5); bit 7 x column + 6 is always
/// clear, so that no line runs from the top of one column into the bottom of the next. (The layout is Tromp's,
/// in the Fhourstones benchmark.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    mover: u64,
    occupied: u64,
    ply: u64,
}

/// Bits of one column in the sets above: its cells and the clear bit.
const HEIGHT: usize = ROWS + 1;
/// The lowest cell of every column.
const BOTTOM: u64 = ((1 << (COLUMNS * HEIGHT)) - 1) / ((1 << HEIGHT) - 1);
/// The lowest and the highest cell of each column. The eighth entry saves a test of the range.
const BOTTOMS: [u64; COLUMNS + 1] = cells_at(0);
const TOPS: [u64; COLUMNS + 1] = cells_at(ROWS - 1);

const fn cells_at(height: usize) -> [u64; COLUMNS + 1] {
    let mut cells = [0; COLUMNS + 1];
    let mut column = 0;
    while column < COLUMNS {
        cells[column] = 1 << (HEIGHT * column + height);
        column += 1;
    }
    cells
}

/// Whether the set of cells contains four in a row.
#[inline]
pub fn has_four(cells: u64) -> bool {
    // A pair is a stone and its neighbour below, to the left, or in either direction down or up to the left; a pair of
    // pairs is a four. Shifts to the left, and the diagonals taken from the row, make the shortest code.
    let left = cells << HEIGHT;
    let (below, lower, upper) = (cells & cells << 1, cells & left << 1, cells & left >> 1);
    let beside = cells & left;
    let fours = below & below << 2
        | beside & beside << (2 * HEIGHT)
        | lower & lower << (2 * (HEIGHT + 1))
        | upper & upper << (2 * (HEIGHT - 1));
    fours != 0
}

/// The bit of a cell that is numbered by rows from the top.
#[inline]
fn bit(cell: usize) -> u64 {
    1 << (cell % COLUMNS * HEIGHT + ROWS - 1 - cell / COLUMNS)
}

/// The set of cells as seen in a mirror.
#[inline]
fn mirror(cells: u64) -> u64 {
    const COLUMN: u64 = (1 << HEIGHT) - 1;
    (0..COLUMNS)
        .fold(0, |image, column| image | (cells >> (HEIGHT * column) & COLUMN) << (HEIGHT * (COLUMNS - 1 - column)))
}

impl Position {
    /// The position with these stones of the side to move and these of both. It must be one that arises in play; any
    /// other is a bug of the caller.
    #[inline]
    pub fn from_stones(mover: u64, occupied: u64) -> Position {
        debug_assert_eq!(mover & !occupied, 0);
        Position { mover, occupied, ply: u64::from(occupied.count_ones()) }
    }

    /// The stones of the side to move.
    #[inline]
    pub fn mover(self) -> u64 {
        self.mover
    }

    /// The stones of both sides.
    #[inline]
    pub fn occupied(self) -> u64 {
        self.occupied
    }

    /// The columns that are not full, bit i for column i.
    #[inline]
    fn open(self) -> usize {
        // The top cells are 7 bits apart. The product brings copies of them 6 apart, no two of which meet, so that
        // seven neighbouring bits of it hold one column each.
        const GATHER: u64 = 1 | 1 << 6 | 1 << 12 | 1 << 18 | 1 << 24 | 1 << 30 | 1 << 36;
        let full = self.occupied >> (ROWS - 1) & BOTTOM;
        !(full.wrapping_mul(GATHER) >> 36) as usize & 127
    }

    /// The set that holds the cell on which a stone in an open `column` comes to rest.
    #[inline]
    fn landing(self, column: usize) -> u64 {
        let column = column * HEIGHT;
        // Adding 1 at the bottom of a column carries up to its lowest empty cell.
        (self.occupied + (1 << column)) & ((1 << ROWS) - 1) << column & !self.occupied
    }

    fn stones(self, seat: Seat) -> u64 {
        if Connect4.to_move(&self) == seat { self.mover } else { self.mover ^ self.occupied }
    }
}

impl Game for Connect4 {
    type Position = Position;

    fn name(&self) -> String {
        "connect4".to_owned()
    }

    fn columns(&self) -> usize {
        COLUMNS
    }

    fn rows(&self) -> usize {
        ROWS
    }

    fn actions(&self) -> usize {
        COLUMNS
    }

    fn start(&self) -> Position {
        Position::default()
    }

    #[inline]
    fn ply(&self, position: &Position) -> usize {
        position.ply as usize
    }

    #[inline]
    fn to_move(&self, position: &Position) -> Seat {
        Seat::at_ply(self.ply(position))
    }

    #[inline]
    fn outcome(&self, position: &Position) -> Outcome {
        // Only the side that moved last can have won, with four stones of its own, and a win is tested before fullness:
        // the last stone may make it.
        if position.ply >= 7 && has_four(position.mover ^ position.occupied) {
            Outcome::Win(self.to_move(position).other())
        } else if position.ply == (COLUMNS * ROWS) as u64 {
            Outcome::Draw
        } else {
            Outcome::Ongoing
        }
    }

    #[inline]
    fn legal(&self, position: &Position, actions: &mut Vec<Action>) {
        if self.outcome(position).is_over() {
            return;
        }
        let mut open = position.open();
        while open != 0 {
            actions.push(open.trailing_zeros() as Action);
            open &= open - 1;
        }
    }

    fn referee(&self, position: &Position, action: Action) -> Result<(), Refusal> {
        if self.outcome(position).is_over() {
            Err(Refusal::GameOver)
        } else if usize::from(action) >= COLUMNS {
            Err(Refusal::OutOfRange)
        } else if position.open() >> action & 1 == 0 {
            Err(Refusal::ColumnFull)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn play(&self, position: &mut Position, action: Action) {
        debug_assert_eq!(self.referee(position, action), Ok(()));
        position.mover ^= position.occupied;
        position.ply += 1;
        position.occupied |= position.occupied + BOTTOMS[usize::from(action) & COLUMNS];
    }

    #[inline]
    fn random_legal(&self, position: &Position, rng: &mut Rng) -> Action {
        // Trying columns until one is open: the draw does not wait for the position, and few columns are full.
        loop {
            let column = rng.below(COLUMNS);
            if position.occupied & TOPS[column & COLUMNS] == 0 {
                return column as Action;
            }
        }
    }

    #[inline]
    fn landing(&self, position: &Position, action: Action) -> usize {
        let column = usize::from(action);
        let height = position.landing(column).trailing_zeros() as usize - HEIGHT * column;
        (ROWS - 1 - height) * COLUMNS + column
    }

    #[inline]
    fn stone(&self, position: &Position, cell: usize) -> Option<Seat> {
        let bit = bit(cell);
        if position.occupied & bit == 0 {
            None
        } else if position.mover & bit != 0 {
            Some(self.to_move(position))
        } else {
            Some(self.to_move(position).other())
        }
    }

    fn winning_lines(&self, position: &Position) -> Vec<Vec<usize>> {
        let last = position.mover ^ position.occupied;
        rows_of(COLUMNS, ROWS, |cell| last & bit(cell) != 0, |length| length >= 4)
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::MIRROR
    }

    #[inline]
    fn transform(&self, symmetry: Symmetry, position: &Position) -> Position {
        if symmetry == Symmetry::IDENTITY {
            *position
        } else {
            Position { mover: mirror(position.mover), occupied: mirror(position.occupied), ply: position.ply }
        }
    }

    #[inline]
    fn transform_action(&self, symmetry: Symmetry, action: Action) -> Action {
        symmetry.cell(COLUMNS, 1, usize::from(action)) as Action
    }

    fn write_action(&self, action: Action) -> String {
        (action + 1).to_string()
    }

    fn read_action(&self, text: &str) -> Result<Action, NotationError> {
        notation::read_number(text, 1, COLUMNS, "a column from 1 to 7").map(|column| column as Action - 1)
    }

    fn write_position(&self, position: &Position) -> String {
        let stone = |column, row| self.stone(position, COLUMNS * row + column);
        notation::write_board(COLUMNS, ROWS, self.to_move(position), stone)
    }

    fn read_position(&self, text: &str) -> Result<Position, NotationError> {
        let mut stones = [0; 2];
        let to_move = notation::read_board(text, COLUMNS, ROWS, |column, row, seat| {
            stones[seat.index()] |= bit(COLUMNS * row + column);
        })?;
        let refuse = |why: String| Err(NotationError(format!("{}: {why}", quote(text))));
        let [x, o] = stones.map(u64::count_ones);
        let (mover, occupied) = (stones[to_move.index()], stones[0] | stones[1]);
        let position = Position { mover, occupied, ply: u64::from(x + o) };

        // A cell above a stone is one more than that stone's bit; the lowest cells stand on the ground.
        let floating = position.occupied & !(position.occupied << 1 | BOTTOM);
        if floating != 0 {
            let column = floating.trailing_zeros() as usize / HEIGHT + 1;
            return refuse(format!("a stone in column {column} has nothing below it"));
        }
        if x != o && x != o + 1 {
            return refuse(format!("{x} x and {o} o: they move in turn, x first"));
        }
        if self.to_move(&position) != to_move {
            return refuse(format!("{x} x and {o} o: the other side is to move"));
        }
        // The side that moved last may have a line, if one of its top stones can have completed it.
        let last = position.stones(to_move.other());
        let tops = last & !(position.occupied >> 1);
        let could_be_last = |column: usize| {
            let top = tops & ((1 << ROWS) - 1) << (HEIGHT * column);
            top != 0 && !has_four(last ^ top)
        };
        if has_four(position.mover) || has_four(last) && !(0..COLUMNS).any(could_be_last) {
            return refuse("it goes on after a line was complete".to_owned());
        }
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{legal_actions, replay};
    use crate::laws;
    use crate::perft::perft;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use std::collections::BTreeSet;

    /// All cells.
    const FULL: u64 = BOTTOM * ((1 << ROWS) - 1);

    /// The position after these columns, 1 to 7, none of which may be refused.
    fn after(columns: &str) -> Position {
        let actions: Vec<Action> = columns.bytes().map(|b| Action::from(b - b'1')).collect();
        replay(&Connect4, &actions).unwrap()
    }

    #[test]
    fn obeys_the_laws() {
        laws::check(&Connect4, 600);
    }

    #[test]
    fn the_layout_is_what_the_documentation_says() {
        assert_eq!(BOTTOM, (0..COLUMNS).fold(0, |set, column| set | 1 << (7 * column)));
        assert_eq!(FULL.count_ones(), 42);
        assert_eq!(Connect4.landing(&Connect4.start(), 3), 38);
        let position = after("44");
        assert_eq!((position.mover(), position.occupied()), (1 << 21, 0b11 << 21));
        assert_eq!((Connect4.columns(), Connect4.rows()), (7, 6));
    }

    #[test]
    fn counts_positions_as_published() {
        let counts: Vec<_> = (0..=8).map(|depth| perft(&Connect4, depth)).collect();
        // Positions by number of stones: OEIS A212693 (Tromp).
        let positions: Vec<u64> = counts.iter().map(|p| p.positions).collect();
        assert_eq!(positions, [1, 7, 49, 238, 1_120, 4_263, 16_422, 54_859, 184_275]);
        // Up to the mirror, by Burnside: half of the positions and of those that are their own image.
        let canonical: Vec<u64> = counts.iter().map(|p| p.canonical).collect();
        assert_eq!(canonical, [1, 4, 25, 121, 568, 2_144, 8_231, 27_473, 92_244]);
        // No game ends before the seventh stone; 7^7 lines less those that overfill a column.
        let lines: Vec<u64> = counts.iter().map(|p| p.lines).collect();
        assert_eq!(lines, [1, 7, 49, 343, 2_401, 16_807, 117_649, 823_536, 5_673_234]);
    }

    #[test]
    fn ongoing_positions_with_eight_stones_are_91_295_up_to_the_mirror() {
        let mut level = BTreeSet::from([Connect4.start()]);
        for _ in 0..8 {
            let children = level.iter().flat_map(|position| {
                legal_actions(&Connect4, position).into_iter().map(|action| {
                    let mut child = *position;
                    Connect4.play(&mut child, action);
                    Connect4.canonical(&child)
                })
            });
            level = children.filter(|child| !Connect4.outcome(child).is_over()).collect();
        }
        assert_eq!(level.len(), 91_295);
    }

    #[test]
    fn a_line_made_by_the_last_stone_of_a_full_board_wins() {
        let position = after("211131416572345677654327654322345677654321");
        assert_eq!(position.occupied(), FULL);
        assert_eq!(Connect4.outcome(&position), Outcome::Win(Seat::Second));
        assert_eq!(Connect4.winning_lines(&position), [vec![0, 7, 14, 21]]);
    }

    #[test]
    fn a_row_of_seven_is_one_win() {
        let position = after("1122335566774");
        assert_eq!(Connect4.outcome(&position), Outcome::Win(Seat::First));
        assert_eq!(Connect4.winning_lines(&position), [(35..42).collect::<Vec<_>>()]);
    }

    #[test]
    fn each_of_the_69_lines_wins_and_ends_the_game() {
        let mut lines = 0;
        for (dc, dr) in crate::lines::DIRECTIONS {
            for cell in 0..42usize {
                let cells: Option<Vec<usize>> = (0..4)
                    .map(|i| {
                        let column = (cell % 7).checked_add_signed(i * dc).filter(|&c| c < 7)?;
                        let row = (cell / 7).checked_add_signed(i * dr).filter(|&r| r < 6)?;
                        Some(7 * row + column)
                    })
                    .collect();
                let Some(cells) = cells else { continue };
                lines += 1;
                // The line alone in the air, as the side that moved last: no legal position, but every query answers.
                let occupied = cells.iter().fold(0, |set, &cell| set | bit(cell));
                let position = Position { mover: 0, occupied, ply: 7 };
                assert!(Connect4.outcome(&position).is_over(), "{cells:?}");
                assert!(legal_actions(&Connect4, &position).is_empty());
                assert_eq!(Connect4.referee(&position, 0), Err(Refusal::GameOver));
                assert_eq!(Connect4.winning_lines(&position), [cells]);
            }
        }
        assert_eq!(lines, 69);
    }

    #[test]
    fn four_in_a_row_is_found_where_the_plain_search_finds_it() {
        // Any set of cells, not only those that games reach; dense ones so that lines are common.
        let mut rng = Rng::new(4, 0);
        for _ in 0..20_000 {
            let cells = (rng.bits() | rng.bits()) & rng.bits() & FULL;
            let plain = !rows_of(COLUMNS, ROWS, |cell| cells & bit(cell) != 0, |length| length >= 4).is_empty();
            assert_eq!(has_four(cells), plain, "{cells:#x}");
        }
    }

    #[test]
    fn a_column_takes_six_stones_and_refuses_the_seventh() {
        for column in 0..7 {
            let mut position = Connect4.start();
            for _ in 0..6 {
                assert_eq!(Connect4.try_play(&mut position, column), Ok(()));
            }
            assert_eq!(Connect4.try_play(&mut position, column), Err(Refusal::ColumnFull));
            assert_eq!(legal_actions(&Connect4, &position).len(), 6);
        }
    }

    #[test]
    fn refusals_come_in_order() {
        assert_eq!(Connect4.referee(&after("1212121"), 7), Err(Refusal::GameOver));
        assert_eq!(Connect4.referee(&Connect4.start(), 7), Err(Refusal::OutOfRange));
    }

    #[test]
    fn impossible_positions_are_refused_with_the_reason() {
        let error = |text: &str| Connect4.read_position(text).unwrap_err().to_string();
        let air = "......./......";
        let low = format!("{air}./......./.......");
        assert!(error(&format!("{low}/..x..../....... o")).contains("column 3 has nothing below it"));
        assert!(error(&format!("{low}/......./xx..... o")).contains("2 x and 0 o"));
        assert!(error(&format!("{low}/......./xo..... o")).contains("other side is to move"));
        assert!(error(&format!("{low}/o....../xxxxooo x")).contains("after a line was complete"));
        // Two lines, whose tops cannot both be the last stone; one line that the last stone made is a finished game.
        assert!(error(&format!("{air}./x.x..../xoxo.../xoxo.../xoxoo.. o")).contains("after a line was complete"));
        assert!(Connect4.read_position(&format!("{low}/......./xxxxooo o")).is_ok());
    }

    #[test]
    fn a_sequence_that_would_be_two_wins_is_refused_at_the_move_after_the_first() {
        let actions: Vec<Action> = [0, 1, 0, 1, 0, 1, 0, 1].to_vec();
        assert_eq!(replay(&Connect4, &actions), Err((7, Refusal::GameOver)));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", board in "[xo./ ]{0,60}") {
            for text in [text, board] {
                if let Ok(position) = Connect4.read_position(&text) {
                    prop_assert_eq!(Connect4.read_position(&Connect4.write_position(&position)), Ok(position));
                }
                if let Ok(action) = Connect4.read_action(&text) {
                    prop_assert!(action < 7);
                }
            }
        }
    }
}
