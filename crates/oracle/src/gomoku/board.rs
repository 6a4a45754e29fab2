//! A board that knows at every moment which points make fives, fours and threes for whom.
//!
//! For each point and each of the four lines through it there is a key that says what lies around the point (see
//! [`crate::gomoku::pattern`]). A stone changes the keys of the points near it, each by one addition; taking it back subtracts
//! the same. Whatever a key's shape changes is counted at once, so that a search only reads.

use std::sync::OnceLock;

use rules::grid::{Grid, MAX_SIZE, Position, Rows, Rule};
use rules::renju::{self, Verdict};
use rules::{Game, Seat};

use super::pattern::{Shape, Wins, shapes};

/// A point: [`STRIDE`] x row + column, both counted from the corner of the margin.
pub(crate) type Point = u16;

/// Points outside the board on every side, so that no line leaves the array.
const MARGIN: usize = 5;
/// From one row to the next: the greatest board with its margins fills 32 columns and 32 rows.
const STRIDE: usize = MAX_SIZE + 2 * MARGIN;
const POINTS: usize = STRIDE * STRIDE;
/// From a point to the next on each of the four lines through it.
const STEPS: [usize; 4] = [1, STRIDE - 1, STRIDE, STRIDE + 1];

/// A set of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Points([u64; POINTS / 64]);

impl Points {
    pub(crate) const EMPTY: Points = Points([0; POINTS / 64]);

    #[inline]
    pub(crate) fn contains(&self, point: Point) -> bool {
        self.0[usize::from(point / 64)] >> (point % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn insert(&mut self, point: Point) {
        self.0[usize::from(point / 64)] |= 1 << (point % 64);
    }

    #[inline]
    fn toggle(&mut self, point: Point) {
        self.0[usize::from(point / 64)] ^= 1 << (point % 64);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// The lowest point.
    #[inline]
    pub(crate) fn first(&self) -> Option<Point> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(64 * word as Point + self.0[word].trailing_zeros() as Point)
    }

    /// The points, lowest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Point> + use<> {
        self.0.into_iter().enumerate().flat_map(|(i, mut word)| {
            std::iter::from_fn(move || {
                let lowest = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(64 * i as Point + lowest as Point)
            })
        })
    }
}

impl std::ops::BitOrAssign for Points {
    fn bitor_assign(&mut self, other: Points) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }
}

/// What one stone on a point would make of all four lines: how many of each shape, packed into one number. Counts
/// of single lines are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(u32);

/// The place of each shape in [`Counts`], in the order of [`Shape`]: where its count starts, and how many it counts.
/// Two fours on one line are two fours.
const PLACES: [(u32, u32); 10] = [(0, 0), (0, 1), (3, 1), (6, 1), (9, 1), (12, 1), (12, 2), (16, 1), (19, 1), (22, 1)];

impl Counts {
    #[inline]
    fn field(self, shape: Shape, bits: u32) -> u32 {
        self.0 >> PLACES[shape as usize].0 & ((1 << bits) - 1)
    }

    /// Lines on which the stone makes five.
    #[inline]
    pub(crate) fn fives(self) -> u32 {
        self.field(Shape::Five, 3)
    }

    /// Fours that are not open.
    #[inline]
    pub(crate) fn closed_fours(self) -> u32 {
        self.field(Shape::Four, 4)
    }

    /// Open fours.
    #[inline]
    pub(crate) fn open_fours(self) -> u32 {
        self.field(Shape::OpenFour, 3)
    }

    /// Fours of either kind.
    #[inline]
    pub(crate) fn fours(self) -> u32 {
        self.closed_fours() + self.open_fours()
    }

    /// Open threes.
    #[inline]
    pub(crate) fn threes(self) -> u32 {
        self.field(Shape::OpenThree, 3)
    }

    /// Closed threes: one more stone makes a four.
    #[inline]
    pub(crate) fn closed_threes(self) -> u32 {
        self.field(Shape::ClosedThree, 3)
    }

    /// Open twos: one more stone makes an open three.
    #[inline]
    pub(crate) fn twos(self) -> u32 {
        self.field(Shape::OpenTwo, 3)
    }

    /// Closed twos: one more stone makes a closed three.
    #[inline]
    pub(crate) fn closed_twos(self) -> u32 {
        self.field(Shape::ClosedTwo, 3)
    }

    /// Whether the point belongs to each of [`Board::sets`].
    #[inline]
    fn kinds(self) -> [bool; 3] {
        [self.fives() > 0, self.fours() > 0, self.threes() > 0]
    }

    /// Whether the lines alone allow the stone to be forbidden in Renju. Often it is not: a three may be none because
    /// the stone that would make it a straight four is itself forbidden.
    #[inline]
    pub(crate) fn may_be_forbidden(self) -> bool {
        self.fives() == 0 && (self.field(Shape::Overline, 3) > 0 || self.fours() > 1 || self.threes() > 1)
    }
}

/// The counts of one line, by its shape.
const ONE_LINE: [Counts; 16] = {
    let mut counts = [Counts(0); 16];
    let mut shape = 0;
    while shape < PLACES.len() {
        let (place, count) = PLACES[shape];
        counts[shape] = Counts(count << place);
        shape += 1;
    }
    counts
};

/// The counts of both colours, Black's in the lower half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Both(u64);

impl Both {
    /// Everything from open threes upwards, which decides about the sets.
    const THREATS: u64 = {
        let threats = !((1 << PLACES[Shape::OpenThree as usize].0) - 1) & u32::MAX as u64;
        threats | threats << 32
    };

    #[inline]
    fn of(self, colour: usize) -> Counts {
        Counts((self.0 >> (32 * colour)) as u32)
    }
}

/// Tables for one rule: how far a line is seen, and the shapes of each key for either colour.
struct Tables {
    reach: usize,
    /// By key; filled up to the next power of two, so that masked keys are known to be inside.
    shapes: [Vec<Shape>; 2],
}

fn tables(rule: Rule) -> &'static Tables {
    static FREESTYLE: OnceLock<Tables> = OnceLock::new();
    static STANDARD: OnceLock<Tables> = OnceLock::new();
    static RENJU: OnceLock<Tables> = OnceLock::new();
    let (cell, reach, wins) = match rule {
        Rule::Freestyle => (&FREESTYLE, 4, [Wins::FiveOrMore; 2]),
        Rule::Standard => (&STANDARD, 5, [Wins::ExactlyFive; 2]),
        Rule::Renju => (&RENJU, 5, [Wins::Bound, Wins::FiveOrMore]),
    };
    let padded = |wins| {
        let mut table = shapes(wins, reach);
        table.resize(table.len().next_power_of_two(), Shape::Nothing);
        table
    };
    cell.get_or_init(|| Tables { reach, shapes: wins.map(padded) })
}

/// What stands on a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Empty,
    Stone(Seat),
    Outside,
}

/// The board.
#[derive(Clone)]
pub(crate) struct Board {
    columns: usize,
    rows: usize,
    rule: Rule,
    tables: &'static Tables,
    content: [Content; POINTS],
    /// For each point and line, the keys of both colours: Black's in the lower half.
    keys: [[u32; STEPS.len()]; POINTS],
    /// What those keys count.
    shares: [[Both; STEPS.len()]; POINTS],
    /// For each point, the sum of its four shares: what a stone of either colour makes.
    counts: [Both; POINTS],
    /// Empty points where a stone makes a five, a four of any kind, an open three: by colour.
    sets: [[Points; 3]; 2],
    /// The stones of either colour once more, as Renju's referee wants them.
    stones: [Rows; 2],
    hash: u64,
}

/// Indices of [`Board::sets`].
const FIVES: usize = 0;
const FOURS: usize = 1;
const THREES: usize = 2;

impl Board {
    /// An empty board.
    pub(crate) fn new(columns: usize, rows: usize, rule: Rule) -> Board {
        assert!(columns <= MAX_SIZE && rows <= MAX_SIZE);
        let mut board = Board {
            columns,
            rows,
            rule,
            tables: tables(rule),
            content: [Content::Outside; POINTS],
            keys: [[0; STEPS.len()]; POINTS],
            shares: [[Both::default(); STEPS.len()]; POINTS],
            counts: [Both::default(); POINTS],
            sets: [[Points::EMPTY; 3]; 2],
            stones: [[0; MAX_SIZE]; 2],
            hash: 0,
        };
        for cell in 0..board.cells() {
            let point = board.point(cell);
            board.content[usize::from(point)] = Content::Empty;
        }
        let reach = board.tables.reach as isize;
        for cell in 0..board.cells() {
            let point = usize::from(board.point(cell));
            for (line, step) in STEPS.into_iter().enumerate() {
                let offsets = (-reach..=reach).filter(|&offset| offset != 0);
                let outside = |offset: isize| {
                    board.content[point.wrapping_add_signed(offset * step as isize)] == Content::Outside
                };
                let blocked = offsets.zip(POWERS).filter(|&(offset, _)| outside(offset)).map(|(_, power)| 2 * power);
                board.keys[point][line] = both(blocked.sum());
            }
        }
        board
    }

    /// The stones of a position.
    pub(crate) fn of(game: &Grid, position: &Position) -> Board {
        let mut board = Board::new(game.columns(), game.rows(), game.rule());
        for cell in 0..game.cells() {
            if let Some(seat) = game.stone(position, cell) {
                board.place(board.point(cell), seat);
            }
        }
        board
    }

    /// Number of cells of the board, without margins.
    pub(crate) fn cells(&self) -> usize {
        self.columns * self.rows
    }

    /// The point of a cell, which is row x columns + column as everywhere else.
    #[inline]
    pub(crate) fn point(&self, cell: usize) -> Point {
        let (column, row) = (cell % self.columns, cell / self.columns);
        ((row + MARGIN) * STRIDE + column + MARGIN) as Point
    }

    /// The cell of a point.
    #[inline]
    pub(crate) fn cell(&self, point: Point) -> usize {
        let (column, row) = column_and_row(point);
        row * self.columns + column
    }

    /// How near the middle of the board a point is: 0 in the corners, at most 22 in the middle.
    pub(crate) fn centrality(&self, point: Point) -> i32 {
        let (column, row) = column_and_row(point);
        (column.min(self.columns - 1 - column) + row.min(self.rows - 1 - row)) as i32
    }

    /// Whether the point is on the board and has no stone.
    #[inline]
    pub(crate) fn is_empty_at(&self, point: Point) -> bool {
        self.content[usize::from(point)] == Content::Empty
    }

    /// A number for the stones on the board: equal boards have equal ones, others hardly ever.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The number that [`Board::hash`] would be with one stone more.
    #[inline]
    pub(crate) fn hash_with(&self, point: Point, seat: Seat) -> u64 {
        self.hash ^ stone_hash(point, seat)
    }

    /// What a stone of this colour on an empty point makes.
    #[inline]
    pub(crate) fn counts(&self, point: Point, seat: Seat) -> Counts {
        self.counts[usize::from(point)].of(seat.index())
    }

    /// Empty points where a stone of this colour wins.
    #[inline]
    pub(crate) fn fives(&self, seat: Seat) -> &Points {
        &self.sets[seat.index()][FIVES]
    }

    /// Empty points where a stone of this colour makes a four of any kind; in Renju, Black's may be forbidden.
    #[inline]
    pub(crate) fn fours(&self, seat: Seat) -> &Points {
        &self.sets[seat.index()][FOURS]
    }

    /// Empty points where a stone of this colour makes an open three; in Renju, Black's may be none or forbidden.
    #[inline]
    pub(crate) fn threes(&self, seat: Seat) -> &Points {
        &self.sets[seat.index()][THREES]
    }

    /// Whether a stone of this colour on an empty point is forbidden, as Renju forbids some to Black.
    #[inline]
    pub(crate) fn is_forbidden(&self, point: Point, seat: Seat) -> bool {
        self.is_bound(seat) && self.counts(point, seat).may_be_forbidden() && self.is_foul(point)
    }

    /// Whether some points may be forbidden to this colour.
    #[inline]
    pub(crate) fn is_bound(&self, seat: Seat) -> bool {
        self.rule == Rule::Renju && seat == Seat::First
    }

    /// Asks Renju's referee.
    #[cold]
    fn is_foul(&self, point: Point) -> bool {
        let (column, row) = column_and_row(point);
        let mut referee = renju::Board::new(self.columns, self.rows, &self.stones[0], &self.stones[1]);
        matches!(referee.judge(column, row), Verdict::Foul(_))
    }

    /// The empty points, lowest first.
    pub(crate) fn empty(&self) -> impl Iterator<Item = Point> {
        (0..self.cells()).map(|cell| self.point(cell)).filter(|&point| self.is_empty_at(point))
    }

    /// Whether there is a point where this colour may place a stone.
    pub(crate) fn can_move(&self, seat: Seat) -> bool {
        self.empty().any(|point| !self.is_forbidden(point, seat))
    }

    /// Places a stone on an empty point.
    #[inline]
    pub(crate) fn place(&mut self, point: Point, seat: Seat) {
        debug_assert!(self.is_empty_at(point));
        self.file(point, [[false; 3]; 2]);
        self.content[usize::from(point)] = Content::Stone(seat);
        self.turn(point, seat, digits_of(seat));
    }

    /// Takes a stone away.
    #[inline]
    pub(crate) fn remove(&mut self, point: Point) {
        let Content::Stone(seat) = self.content[usize::from(point)] else { unreachable!("a stone stands there") };
        self.turn(point, seat, digits_of(seat).wrapping_neg());
        self.content[usize::from(point)] = Content::Empty;
        self.file(point, [[false; 3]; 2]);
    }

    /// Puts a stone into everything that depends on it, or takes it out again: `change` is added to the keys, times the
    /// value of the digit as which the stone is seen.
    #[inline]
    fn turn(&mut self, point: Point, seat: Seat, change: u32) {
        let (column, row) = column_and_row(point);
        self.stones[seat.index()][row] ^= 1 << column;
        self.hash ^= stone_hash(point, seat);
        let [black, white] = &self.tables.shapes;
        if self.tables.reach == 4 {
            self.turn_keys::<8, 8192>(point, change, [black, white].map(|table| sized(table)));
        } else {
            self.turn_keys::<10, 65536>(point, change, [black, white].map(|table| sized(table)));
        }
    }

    #[inline]
    fn turn_keys<const DIGITS: usize, const SIZE: usize>(
        &mut self,
        point: Point,
        change: u32,
        shapes: [&[Shape; SIZE]; 2],
    ) {
        for (line, seen) in const { seen_from::<DIGITS>() }.iter().enumerate() {
            for &(offset, digit) in seen {
                // No line leaves the array, since the margin is as wide as the view.
                let at = usize::from(point.wrapping_add_signed(offset)) % POINTS;
                let key = &mut self.keys[at][line];
                *key = key.wrapping_add(change.wrapping_mul(digit));
                let half = |colour: usize| {
                    let shape = shapes[colour][(*key >> (16 * colour)) as usize % SIZE];
                    u64::from(ONE_LINE[shape as usize % ONE_LINE.len()].0) << (32 * colour)
                };
                let share = Both(half(0) | half(1));
                let old_share = std::mem::replace(&mut self.shares[at][line], share);
                let old = self.counts[at];
                let new = Both(old.0.wrapping_add(share.0).wrapping_sub(old_share.0));
                self.counts[at] = new;
                if (old.0 ^ new.0) & Both::THREATS != 0 && self.content[at] == Content::Empty {
                    self.file(at as Point, [old.of(0).kinds(), old.of(1).kinds()]);
                }
            }
        }
    }

    /// Puts an empty point into the sets to which its counts belong; `old` says to which it belonged.
    fn file(&mut self, point: Point, old: [[bool; 3]; 2]) {
        let counts = self.counts[usize::from(point)];
        for (colour, old) in old.into_iter().enumerate() {
            for (kind, (old, new)) in old.into_iter().zip(counts.of(colour).kinds()).enumerate() {
                if old != new {
                    self.sets[colour][kind].toggle(point);
                }
            }
        }
    }
}

/// The (column, row from the top) of a point.
#[inline]
fn column_and_row(point: Point) -> (usize, usize) {
    (usize::from(point) % STRIDE - MARGIN, usize::from(point) / STRIDE - MARGIN)
}

/// A stone as a digit of both keys: 1 for its own colour and 2 for the other.
#[inline]
fn digits_of(seat: Seat) -> u32 {
    if seat == Seat::First { 1 | 2 << 16 } else { 2 | 1 << 16 }
}

fn sized<const SIZE: usize>(table: &[Shape]) -> &[Shape; SIZE] {
    table.try_into().expect("tables are padded to this size")
}

/// The value of each digit of a key.
const POWERS: [u32; 2 * MARGIN] = [1, 3, 9, 27, 81, 243, 729, 2187, 6561, 19683];

/// For each line, the points that see a point, as offsets from it, with the value of the digit as which they see it.
const fn seen_from<const DIGITS: usize>() -> [[(i16, u32); DIGITS]; STEPS.len()] {
    let mut seen = [[(0, 0); DIGITS]; STEPS.len()];
    let mut line = 0;
    while line < STEPS.len() {
        let mut i = 0;
        while i < DIGITS {
            // Seen from the first of these points the stone is the last digit, and so on to the last.
            let distance = i as i16 - (DIGITS / 2) as i16 + (i >= DIGITS / 2) as i16;
            seen[line][i] = (distance * STEPS[line] as i16, POWERS[DIGITS - 1 - i]);
            i += 1;
        }
        line += 1;
    }
    seen
}

/// The same number in both halves.
const fn both(number: u32) -> u32 {
    number | number << 16
}

/// A random number for each stone (the finaliser of SplitMix64).
#[inline]
fn stone_hash(point: Point, seat: Seat) -> u64 {
    let x = (u64::from(point) * 2 + seat.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::random::Rng;

    const RULES: [Rule; 3] = [Rule::Freestyle, Rule::Standard, Rule::Renju];

    /// What a board of these stones knows when every key is read off the stones.
    fn check(board: &Board) {
        for cell in 0..board.cells() {
            let point = usize::from(board.point(cell));
            assert_eq!(board.cell(point as Point), cell);
            for seat in Seat::BOTH {
                for (line, step) in STEPS.into_iter().enumerate() {
                    let reach = board.tables.reach as isize;
                    let digits = (-reach..=reach).filter(|&offset| offset != 0).map(|offset| {
                        match board.content[point.wrapping_add_signed(offset * step as isize)] {
                            Content::Empty => 0,
                            Content::Stone(owner) if owner == seat => 1,
                            _ => 2,
                        }
                    });
                    let key: u32 = digits.zip(POWERS).map(|(digit, power)| digit * power).sum();
                    assert_eq!(board.keys[point][line] >> (16 * seat.index()) & 0xffff, key);
                }
                let shape =
                    |key: &u32| board.tables.shapes[seat.index()][(key >> (16 * seat.index()) & 0xffff) as usize];
                let counts = Counts(board.keys[point].iter().map(|key| ONE_LINE[shape(key) as usize].0).sum());
                let empty = board.content[point] == Content::Empty;
                // What follows from a key is counted when it changes: a point that no stone sees yet has no counts.
                assert_eq!(board.counts(point as Point, seat), counts);
                let sets = [board.fives(seat), board.fours(seat), board.threes(seat)];
                let expected = [counts.fives(), counts.fours(), counts.threes()];
                for (set, expected) in sets.into_iter().zip(expected) {
                    assert_eq!(set.contains(point as Point), empty && expected > 0);
                }
            }
        }
    }

    #[test]
    fn stones_placed_and_taken_back_leave_what_the_stones_say() {
        for (size, rule) in [5, 7, 15, 22].into_iter().flat_map(|size| RULES.map(|rule| (size, rule))) {
            let mut rng = Rng::new(size as u64, 0);
            let mut board = Board::new(size, size, rule);
            let start = board.clone();
            let mut placed = Vec::new();
            for step in 0..4 * size * size {
                let forward = rng.below(3 * size * size) > placed.len();
                if forward && placed.len() < size * size {
                    let empty: Vec<Point> = board.empty().collect();
                    let point = empty[rng.below(empty.len())];
                    board.place(point, Seat::BOTH[rng.below(2)]);
                    placed.push(point);
                } else if let Some(point) = placed.pop() {
                    board.remove(point);
                }
                if step % 7 == 0 {
                    check(&board);
                }
            }
            while let Some(point) = placed.pop() {
                board.remove(point);
            }
            assert_eq!((&board.keys, &board.sets, board.hash), (&start.keys, &start.sets, start.hash));
        }
    }

    #[test]
    fn fives_and_forbidden_points_are_those_of_the_rules() {
        for (size, rule) in [6, 9, 15, 22].into_iter().flat_map(|size| RULES.map(|rule| (size, rule))) {
            let game = Grid::gomoku(size, rule).unwrap();
            let (mut wins, mut fouls) = (0, 0);
            for number in 0..400 / size as u64 {
                let mut rng = Rng::new(7, number);
                let mut position = game.start();
                // Most moves next to other stones, so that there is something to see.
                while !game.outcome(&position).is_over() {
                    let board = Board::of(&game, &position);
                    let seat = game.to_move(&position);
                    for cell in 0..game.cells() {
                        let point = board.point(cell);
                        let refusal = game.referee(&position, cell as u16);
                        if refusal == Err(rules::Refusal::Occupied) {
                            assert!(!board.is_empty_at(point));
                            continue;
                        }
                        assert_eq!(board.is_forbidden(point, seat), refusal.is_err(), "{rule:?} {cell}");
                        let wins_here = refusal.is_ok() && {
                            let mut after = position;
                            game.play(&mut after, cell as u16);
                            game.outcome(&after) == rules::Outcome::Win(seat)
                        };
                        assert_eq!(board.fives(seat).contains(point), wins_here);
                        wins += u32::from(wins_here);
                        fouls += u32::from(refusal.is_err());
                    }
                    let quiet: Vec<Point> = board
                        .empty()
                        .filter(|&point| board.fives(seat).is_empty() || !board.fives(seat).contains(point))
                        .collect();
                    let best = quiet.iter().copied().max_by_key(|&point| {
                        let counts = board.counts(point, seat);
                        (!board.is_forbidden(point, seat), counts.fours() + counts.threes() + counts.twos(), rng.bits())
                    });
                    let legal = |&point: &Point| !board.is_forbidden(point, seat);
                    let chosen = if rng.chance(0.6) { best.filter(legal) } else { None };
                    let action =
                        chosen.map_or_else(|| game.random_legal(&position, &mut rng), |p| board.cell(p) as u16);
                    game.play(&mut position, action);
                }
            }
            assert!(wins > 5, "{size} {rule:?}: {wins}");
            assert_eq!(fouls > 0, rule == Rule::Renju, "{size} {rule:?}: {fouls}");
        }
    }
}
