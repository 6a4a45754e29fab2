//! Games of k in a row on a board of squares: `mnk:m,n,k`, with falling stones `mnk:m,n,k:gravity`, and Gomoku,
//! `gomoku:size:rule`, which is `mnk:size,size,5` under one of three rules.
//!
//! One type serves them all: size and rule are values. Points are written as Gomoku players do, `a1` at the bottom left
//! and the letters with `i`; with falling stones an action is a column, from 1. Cells are numbered as everywhere, by
//! rows from the *top* left.
//!
//! Black is the first player, `x`. In Renju ([`crate::renju`]) Black has forbidden points, which are not
//! legal actions; a position in which Black has no legal action is a draw, since nobody may pass.

use std::str::FromStr;

use crate::game::{Action, Game, Refusal};
use crate::lines::rows_of;
use crate::notation::{self, NotationError, quote};
use crate::random::Rng;
use crate::renju::{Board, Verdict};
use crate::symmetry::Symmetry;
use crate::value::{Outcome, Seat};

/// The greatest number of columns and of rows.
pub const MAX_SIZE: usize = 22;

/// A set of cells: bit c of row r, counted from the top.
pub type Rows = [u32; MAX_SIZE];

/// What makes a row a win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// At least the length.
    Freestyle,
    /// Exactly the length, for both sides: a longer row is worth nothing.
    Standard,
    /// Exactly five for Black, who has forbidden points; five or more for White.
    Renju,
}

/// A game of k in a row: the size of the board, the length of a winning row, whether stones fall, and the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    columns: u8,
    rows: u8,
    length: u8,
    gravity: bool,
    rule: Rule,
}

/// Stones and whose turn it is, which need not follow from their number: a position may be set up by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    stones: [Rows; 2],
    to_move: Seat,
    /// Number of stones, and how the game stands: both follow from the above, and are kept because they are asked for often.
    ply: u16,
    outcome: Outcome,
}

impl Ord for Position {
    fn cmp(&self, other: &Position) -> std::cmp::Ordering {
        (&self.stones, self.to_move).cmp(&(&other.stones, other.to_move))
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Position) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Position {
    /// The stones of one side.
    #[inline]
    pub fn stones(&self, seat: Seat) -> &Rows {
        &self.stones[seat.index()]
    }

    #[inline]
    fn occupied(&self, row: usize) -> u32 {
        self.stones[0][row] | self.stones[1][row]
    }
}

impl Grid {
    /// `length` in a row on `columns` x `rows`.
    ///
    /// # Errors
    /// If a side is not in 1 to 22, or no row of that length fits.
    pub fn mnk(columns: usize, rows: usize, length: usize, gravity: bool) -> Result<Grid, NotationError> {
        if !(1..=MAX_SIZE).contains(&columns) || !(1..=MAX_SIZE).contains(&rows) {
            return Err(NotationError(format!(
                "a board of {columns} columns and {rows} rows: each may be 1 to {MAX_SIZE}"
            )));
        }
        if !(1..=columns.max(rows)).contains(&length) {
            return Err(NotationError(format!("{length} in a row do not fit on {columns} columns and {rows} rows")));
        }
        Ok(Grid { columns: columns as u8, rows: rows as u8, length: length as u8, gravity, rule: Rule::Freestyle })
    }

    /// Five in a row on a square board.
    ///
    /// # Errors
    /// If the size is not in 5 to 22.
    pub fn gomoku(size: usize, rule: Rule) -> Result<Grid, NotationError> {
        if !(5..=MAX_SIZE).contains(&size) {
            return Err(NotationError(format!("a Gomoku board of size {size}: it may be 5 to {MAX_SIZE}")));
        }
        Ok(Grid { columns: size as u8, rows: size as u8, length: 5, gravity: false, rule })
    }

    /// The rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Length of a winning row.
    pub fn length(&self) -> usize {
        usize::from(self.length)
    }

    /// Whether stones fall to the lowest free cell of a column.
    pub fn gravity(&self) -> bool {
        self.gravity
    }

    /// Whether an unbroken row of this length wins for `seat`.
    #[inline]
    fn wins(&self, seat: Seat, length: usize) -> bool {
        match self.rule {
            Rule::Renju if seat == Seat::First => length == 5,
            Rule::Standard => length == self.length(),
            Rule::Freestyle | Rule::Renju => length >= self.length(),
        }
    }

    /// Whether `seat` has a winning row through its stone on (column, row).
    #[inline]
    fn wins_through(&self, stones: &Rows, seat: Seat, column: usize, row: usize) -> bool {
        // Nearly always the answer is no, and for five in a row all lines say so at once.
        if self.length == 5 && !has_five_near(stones, row) {
            return false;
        }
        runs_through(stones, column, row).iter().any(|&length| self.wins(seat, length))
    }

    /// How the game stands after a stone of `seat` on (column, row), when it had not ended before.
    #[inline]
    fn outcome_after(&self, position: &Position, seat: Seat, column: usize, row: usize) -> Outcome {
        if self.wins_through(&position.stones[seat.index()], seat, column, row) {
            Outcome::Win(seat)
        } else {
            self.outcome_without_row(position)
        }
    }

    /// How the game stands when nobody has a winning row: a draw if nothing can be played.
    #[inline]
    fn outcome_without_row(&self, position: &Position) -> Outcome {
        let full = usize::from(position.ply) == self.cells();
        if full || self.has_forbidden_points(position) && !self.black_can_move(position) {
            Outcome::Draw
        } else {
            Outcome::Ongoing
        }
    }

    #[inline]
    fn has_forbidden_points(&self, position: &Position) -> bool {
        self.rule == Rule::Renju && position.to_move == Seat::First
    }

    fn black_can_move(&self, position: &Position) -> bool {
        let mut board = self.renju_board(position);
        (0..self.rows()).any(|row| {
            let mut empty = self.empty(position, row);
            std::iter::from_fn(|| take_lowest(&mut empty)).any(|column| !is_foul(board.judge(column, row)))
        })
    }

    fn renju_board(&self, position: &Position) -> Board {
        Board::new(self.columns(), self.rows(), &position.stones[0], &position.stones[1])
    }

    /// The empty cells of a row.
    #[inline]
    fn empty(&self, position: &Position, row: usize) -> u32 {
        !position.occupied(row) & ((1 << self.columns) - 1)
    }

    /// The (column, row) on which a stone comes to rest by an action that is in range and, where stones fall, whose column
    /// is not full.
    #[inline]
    fn point(&self, position: &Position, action: Action) -> (usize, usize) {
        let action = usize::from(action);
        if self.gravity {
            let free = (0..self.rows()).take_while(|&row| position.occupied(row) >> action & 1 == 0).count();
            (action, free - 1)
        } else {
            (action % self.columns(), action / self.columns())
        }
    }

    /// The empty cells that lack one stone of `seat` to make a row of at least the winning length, by rows.
    fn completing(&self, position: &Position, seat: Seat) -> Rows {
        let mut cells = [0; MAX_SIZE];
        let stones = position.stones(seat);
        for (dc, dr) in crate::lines::DIRECTIONS {
            for start in 0..self.rows() {
                let row_of = |i: usize| start.wrapping_add_signed(i as isize * dr);
                if row_of(self.length() - 1) >= self.rows() {
                    continue;
                }
                // Bit c is the i-th stone of the row that begins on column c: all columns are looked at together.
                let stone_of = |i: usize| {
                    let row = u64::from(stones[row_of(i)]);
                    if dc < 0 { row << i } else { row >> (i * dc as usize) }
                };
                // The rows of which no stone so far is missing, and of which one is.
                let (mut whole, mut lacking) = ((1_u64 << self.columns) - 1, 0);
                for i in 0..self.length() {
                    let stone = stone_of(i);
                    lacking = lacking & stone | whole & !stone;
                    whole &= stone;
                }
                while lacking != 0 {
                    let first = lacking.trailing_zeros() as usize;
                    lacking &= lacking - 1;
                    let missing = (0..self.length()).find(|&i| stone_of(i) >> first & 1 == 0).expect("one is missing");
                    let column = first.wrapping_add_signed(missing as isize * dc);
                    if column < self.columns() {
                        cells[row_of(missing)] |= 1 << column & !position.occupied(row_of(missing));
                    }
                }
            }
        }
        cells
    }

    /// The `number`-th empty cell, as an action.
    fn nth_empty(&self, position: &Position, mut number: usize) -> Action {
        for row in 0..self.rows() {
            let mut empty = self.empty(position, row);
            let count = empty.count_ones() as usize;
            if number < count {
                for _ in 0..number {
                    empty &= empty - 1;
                }
                return (row * self.columns() + empty.trailing_zeros() as usize) as Action;
            }
            number -= count;
        }
        unreachable!("a game that is not over has that many empty cells")
    }
}

/// Removes the lowest element of a set and returns it.
#[inline]
fn take_lowest(set: &mut u32) -> Option<usize> {
    let lowest = (*set != 0).then(|| set.trailing_zeros() as usize)?;
    *set &= *set - 1;
    Some(lowest)
}

#[inline]
fn is_foul(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Foul(_))
}

/// Whether there are five in a row in `row`, or in the four rows above and below it.
///
/// All columns at once: a five downwards is a bit that five neighbouring rows have in common, as they are or each shifted
/// by one against the next.
#[inline]
fn has_five_near(stones: &Rows, row: usize) -> bool {
    let start = row.saturating_sub(4).min(MAX_SIZE - 9);
    let near: &[u32; 9] = stones[start..start + 9].try_into().expect("a slice of that length");
    let straight = near.map(u64::from);
    // Both diagonals in one word: shifted to the left by 0 to 8, and by 40 to 32, where 22 columns never meet.
    let slanted: [u64; 9] = std::array::from_fn(|i| u64::from(near[i]) * (1 << i | 1 << (40 - i)));
    let in_common = |rows: [u64; 9]| {
        (0..5).fold(0, |fives, i| fives | rows[i] & rows[i + 1] & rows[i + 2] & rows[i + 3] & rows[i + 4])
    };
    let pairs = stones[row] & stones[row] >> 1;
    let along = pairs & pairs >> 2 & stones[row] >> 4;
    u64::from(along) | in_common(straight) | in_common(slanted) != 0
}

/// Lengths of the unbroken rows through the stone on (column, row), in four directions.
fn runs_through(stones: &Rows, column: usize, row: usize) -> [usize; 4] {
    crate::lines::DIRECTIONS.map(|(dc, dr)| {
        let count = |sign: isize| {
            (1..)
                .take_while(|&i| {
                    let column = column.checked_add_signed(sign * i * dc).filter(|&c| c < MAX_SIZE);
                    let row = row.checked_add_signed(sign * i * dr).filter(|&r| r < MAX_SIZE);
                    column.zip(row).is_some_and(|(column, row)| stones[row] >> column & 1 == 1)
                })
                .count()
        };
        1 + count(1) + count(-1)
    })
}

impl Game for Grid {
    type Position = Position;

    fn name(&self) -> String {
        let (columns, rows, length) = (self.columns, self.rows, self.length);
        if columns == rows && length == 5 && !self.gravity {
            match self.rule {
                Rule::Freestyle if columns == 15 => "gomoku".to_owned(),
                Rule::Freestyle => format!("gomoku:{columns}"),
                Rule::Standard => format!("gomoku:{columns}:standard"),
                Rule::Renju => format!("gomoku:{columns}:renju"),
            }
        } else {
            format!("mnk:{columns},{rows},{length}{}", if self.gravity { ":gravity" } else { "" })
        }
    }

    #[inline]
    fn columns(&self) -> usize {
        usize::from(self.columns)
    }

    #[inline]
    fn rows(&self) -> usize {
        usize::from(self.rows)
    }

    #[inline]
    fn actions(&self) -> usize {
        if self.gravity { self.columns() } else { self.cells() }
    }

    fn resized(&self, side: usize) -> Option<Grid> {
        let fits = self.columns == self.rows && (self.length()..=MAX_SIZE).contains(&side);
        fits.then_some(Grid { columns: side as u8, rows: side as u8, ..*self })
    }

    fn start(&self) -> Position {
        Position { stones: [[0; MAX_SIZE]; 2], to_move: Seat::First, ply: 0, outcome: Outcome::Ongoing }
    }

    #[inline]
    fn ply(&self, position: &Position) -> usize {
        usize::from(position.ply)
    }

    #[inline]
    fn to_move(&self, position: &Position) -> Seat {
        position.to_move
    }

    #[inline]
    fn outcome(&self, position: &Position) -> Outcome {
        position.outcome
    }

    fn legal(&self, position: &Position, actions: &mut Vec<Action>) {
        if position.outcome.is_over() {
            return;
        }
        if self.gravity {
            let mut open = self.empty(position, 0);
            actions.extend(std::iter::from_fn(|| take_lowest(&mut open)).map(|column| column as Action));
            return;
        }
        let mut renju = self.has_forbidden_points(position).then(|| self.renju_board(position));
        for row in 0..self.rows() {
            let mut empty = self.empty(position, row);
            while let Some(column) = take_lowest(&mut empty) {
                if renju.as_mut().is_none_or(|board| !is_foul(board.judge(column, row))) {
                    actions.push((row * self.columns() + column) as Action);
                }
            }
        }
    }

    fn referee(&self, position: &Position, action: Action) -> Result<(), Refusal> {
        if position.outcome.is_over() {
            return Err(Refusal::GameOver);
        }
        if usize::from(action) >= self.actions() {
            return Err(Refusal::OutOfRange);
        }
        if self.gravity {
            let full = position.occupied(0) >> action & 1 == 1;
            return if full { Err(Refusal::ColumnFull) } else { Ok(()) };
        }
        let (column, row) = self.point(position, action);
        if position.occupied(row) >> column & 1 == 1 {
            return Err(Refusal::Occupied);
        }
        if self.has_forbidden_points(position)
            && let Verdict::Foul(foul) = self.renju_board(position).judge(column, row)
        {
            return Err(Refusal::Forbidden(foul));
        }
        Ok(())
    }

    #[inline]
    fn play(&self, position: &mut Position, action: Action) {
        debug_assert_eq!(self.referee(position, action), Ok(()));
        let (column, row) = self.point(position, action);
        let seat = position.to_move;
        position.stones[seat.index()][row] |= 1 << column;
        position.ply += 1;
        position.to_move = seat.other();
        position.outcome = self.outcome_after(position, seat, column, row);
    }

    #[inline]
    fn random_legal(&self, position: &Position, rng: &mut Rng) -> Action {
        if self.gravity {
            let mut open = self.empty(position, 0);
            for _ in 0..rng.below(open.count_ones() as usize) {
                open &= open - 1;
            }
            return open.trailing_zeros() as Action;
        }
        let mut renju = self.has_forbidden_points(position).then(|| self.renju_board(position));
        let empty = self.cells() - self.ply(position);
        loop {
            // While enough of the board is empty it is quicker to try any cell than to count to the right one.
            let action = if 8 * empty >= self.cells() {
                rng.below(self.cells()) as Action
            } else {
                self.nth_empty(position, rng.below(empty))
            };
            let (column, row) = self.point(position, action);
            let free = position.occupied(row) >> column & 1 == 0;
            if free && renju.as_mut().is_none_or(|board| !is_foul(board.judge(column, row))) {
                return action;
            }
        }
    }

    fn winning(&self, position: &Position, actions: &mut Vec<Action>) {
        if position.outcome.is_over() {
            return;
        }
        let seat = position.to_move;
        let cells = self.completing(position, seat);
        for (row, mut cells) in cells.into_iter().enumerate() {
            while let Some(column) = take_lowest(&mut cells) {
                // Whether the row has the right length, and Black may play there, is for the referee to say.
                let action = if self.gravity { column } else { row * self.columns() + column } as Action;
                let mut after = *position;
                if self.landing(position, action) == row * self.columns() + column
                    && self.try_play(&mut after, action).is_ok()
                    && after.outcome == Outcome::Win(seat)
                {
                    actions.push(action);
                }
            }
        }
        // Columns of falling stones are found in the order of rows.
        if self.gravity {
            actions.sort_unstable();
        }
    }

    #[inline]
    fn landing(&self, position: &Position, action: Action) -> usize {
        let (column, row) = self.point(position, action);
        row * self.columns() + column
    }

    #[inline]
    fn stone(&self, position: &Position, cell: usize) -> Option<Seat> {
        let (column, row) = (cell % self.columns(), cell / self.columns());
        Seat::BOTH.into_iter().find(|seat| position.stones[seat.index()][row] >> column & 1 == 1)
    }

    fn for_each_stone(&self, position: &Position, mut visit: impl FnMut(usize, Seat)) {
        // In the order of the cells, which stored positions rely on.
        for row in 0..self.rows() {
            let first = position.stones[Seat::First.index()][row];
            let mut stones = first | position.stones[Seat::Second.index()][row];
            while let Some(column) = take_lowest(&mut stones) {
                let owner = if first >> column & 1 == 1 { Seat::First } else { Seat::Second };
                visit(row * self.columns() + column, owner);
            }
        }
    }

    fn winning_lines(&self, position: &Position) -> Vec<Vec<usize>> {
        let Outcome::Win(winner) = position.outcome else { return Vec::new() };
        let own = |cell| self.stone(position, cell) == Some(winner);
        rows_of(self.columns(), self.rows(), own, |length| self.wins(winner, length))
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        if self.gravity {
            Symmetry::MIRROR
        } else if self.columns == self.rows {
            Symmetry::SQUARE
        } else {
            Symmetry::RECTANGLE
        }
    }

    fn transform(&self, symmetry: Symmetry, position: &Position) -> Position {
        let [transpose, mirror_columns, mirror_rows] = symmetry.steps();
        let image = |stones: &Rows| {
            let mut image = *stones;
            if transpose {
                image = [0; MAX_SIZE];
                for (row, mut set) in stones.iter().copied().enumerate() {
                    while let Some(column) = take_lowest(&mut set) {
                        image[column] |= 1 << row;
                    }
                }
            }
            if mirror_columns {
                image = image.map(|row| row.reverse_bits() >> (32 - self.columns));
            }
            if mirror_rows {
                image[..self.rows()].reverse();
            }
            image
        };
        Position { stones: [image(&position.stones[0]), image(&position.stones[1])], ..*position }
    }

    fn transform_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let rows = if self.gravity { 1 } else { self.rows() };
        symmetry.cell(self.columns(), rows, usize::from(action)) as Action
    }

    fn write_action(&self, action: Action) -> String {
        let action = usize::from(action);
        if self.gravity {
            (action + 1).to_string()
        } else {
            notation::write_point(self.rows(), action % self.columns(), action / self.columns())
        }
    }

    fn read_action(&self, text: &str) -> Result<Action, NotationError> {
        let action = if self.gravity {
            notation::read_number(text, 1, self.columns(), &format!("a column from 1 to {}", self.columns))? - 1
        } else {
            let (column, row) = notation::read_point(text, self.columns(), self.rows())?;
            row * self.columns() + column
        };
        Ok(action as Action)
    }

    fn write_position(&self, position: &Position) -> String {
        let stone = |column, row| self.stone(position, row * self.columns() + column);
        notation::write_board(self.columns(), self.rows(), position.to_move, stone)
    }

    /// Reads any stones with either side to move; only where stones fall must each lie on another, and
    /// only one side may have a winning row, which ends the game.
    fn read_position(&self, text: &str) -> Result<Position, NotationError> {
        let mut position = self.start();
        position.to_move = notation::read_board(text, self.columns(), self.rows(), |column, row, seat| {
            position.stones[seat.index()][row] |= 1 << column;
            position.ply += 1;
        })?;
        if self.gravity {
            let floats = |row: usize| position.occupied(row) & !position.occupied(row + 1);
            if let Some(floating) = (0..self.rows() - 1).map(floats).find(|&set| set != 0) {
                let column = floating.trailing_zeros() + 1;
                return Err(NotationError(format!("{}: a stone in column {column} has nothing below it", quote(text))));
            }
        }
        let has_row = |seat: Seat| {
            let own = |cell| self.stone(&position, cell) == Some(seat);
            !rows_of(self.columns(), self.rows(), own, |length| self.wins(seat, length)).is_empty()
        };
        position.outcome = match Seat::BOTH.map(has_row) {
            [true, true] => return Err(NotationError(format!("{}: both sides have a winning row", quote(text)))),
            [true, false] => Outcome::Win(Seat::First),
            [false, true] => Outcome::Win(Seat::Second),
            [false, false] => self.outcome_without_row(&position),
        };
        Ok(position)
    }
}

impl FromStr for Grid {
    type Err = NotationError;

    /// Reads a game's name, in either case: `mnk:m,n,k`, `mnk:m,n,k:gravity`, `gomoku`, `gomoku:size`,
    /// `gomoku:size:rule` with the rule `freestyle`, `standard` or `renju`. A square board with five in a row is always
    /// named `gomoku`.
    fn from_str(text: &str) -> Result<Grid, NotationError> {
        let lower = text.trim().to_ascii_lowercase();
        let refuse = |usage: &str| NotationError(format!("{} is not a game: write {usage}", quote(text)));
        let number = |text: &str, usage: &str| {
            notation::read_number(text, 0, usize::from(u8::MAX), "a size").map_err(|_| refuse(usage))
        };
        let fields: Vec<&str> = lower.split(':').collect();
        match fields[..] {
            ["mnk", sizes] | ["mnk", sizes, "gravity"] => {
                let usage = "mnk:columns,rows,length or mnk:columns,rows,length:gravity";
                let sizes: Vec<&str> = sizes.split(',').collect();
                let [columns, rows, length] = sizes[..] else { return Err(refuse(usage)) };
                let gravity = fields.len() == 3;
                Grid::mnk(number(columns, usage)?, number(rows, usage)?, number(length, usage)?, gravity)
            }
            ["gomoku", ref settings @ ..] if settings.len() <= 2 => {
                let usage = "gomoku, gomoku:size or gomoku:size:rule, with the rule freestyle, standard or renju";
                let size = settings.first().map_or(Ok(15), |size| number(size, usage))?;
                let rule = match settings.get(1) {
                    None | Some(&"freestyle") => Rule::Freestyle,
                    Some(&"standard") => Rule::Standard,
                    Some(&"renju") => Rule::Renju,
                    Some(_) => return Err(refuse(usage)),
                };
                Grid::gomoku(size, rule)
            }
            _ => Err(refuse("mnk:columns,rows,length or gomoku:size:rule")),
        }
    }
}
