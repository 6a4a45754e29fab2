//! The points that Renju forbids to Black: double three, double four and overline.
//!
//! The definitions are those of the Renju International Federation (The International Rules of Renju, section 3):
//!
//! - *five*: an unbroken row of exactly five; *overline*: an unbroken row of six or more;
//! - *four*: a row of four stones to which one more can be added to make a five;
//! - *straight four*: an unbroken four to which that one more can be added in two ways;
//! - *three*: a row of three stones to which one more can be added, without making a five by it, to get a straight four.
//!
//! A stone that makes a five wins, whatever else it makes. Otherwise it is forbidden to make an overline, more than one
//! four, or more than one three. A three counts only if the stone that turns it into a straight four is itself
//! allowed at that moment, which may depend in the same way on further stones.
//!
//! *The disputed kind.* Where the only point that makes the straight four also makes a five on another line, some
//! programs count a three and others do not. The definition says "without at the same time a five in a row is made",
//! so here it is no three.
//!
//! Two fours can lie on one line (`X.XX(X).X`). Two threes cannot, and neither can a four and a three: the points that
//! would be needed between them make an overline. So a line has a three or has not.

use std::fmt;

/// A shape that Black may not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Foul {
    /// More than one three at the same time.
    DoubleThree,
    /// More than one four at the same time.
    DoubleFour,
    /// Six or more in a row.
    Overline,
}

impl fmt::Display for Foul {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Foul::DoubleThree => "a double three",
            Foul::DoubleFour => "a double four",
            Foul::Overline => "an overline",
        })
    }
}

/// What a black stone on an empty point would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Allowed, and no five.
    Allowed,
    /// It makes a five and wins.
    Five,
    /// Forbidden.
    Foul(Foul),
}

/// How far a line is looked at on both sides of a point: a stone five away can turn a five into an overline.
const REACH: usize = 5;
/// Points in such a stretch of line.
const STRETCH: usize = 2 * REACH + 1;
/// The point itself, as a bit of the stretch.
const CENTRE: u32 = 1 << REACH;

/// The points up to three away from it.
const NEAR: u32 = 0b111 << (REACH - 3) | 0b111 << (REACH + 1);

/// Rows of bits with a margin of [`REACH`] on all sides, so that no stretch of line leaves them.
type Padded = [u32; 32];

/// Black's stones and the empty points of a board of up to 22x22.
#[derive(Clone, Debug)]
pub struct Board {
    black: Padded,
    empty: Padded,
}

/// The four lines through a point; see [`stretches`] for how bits are numbered along each.
#[derive(Clone, Copy)]
enum Line {
    Row,
    Column,
    Falling,
    Rising,
}

const LINES: [Line; 4] = [Line::Row, Line::Column, Line::Falling, Line::Rising];

/// The stretches of the four lines through (column, row), 11 bits each with the point in the middle: along the row and
/// the falling diagonal from the left, along the column from the top, along the rising diagonal from the *left* too.
#[inline]
fn stretches(set: &Padded, column: usize, row: usize) -> [u32; 4] {
    let mut lines = [set[row + REACH] >> column & ((1 << STRETCH) - 1), 0, 0, 0];
    let rows: &[u32; STRETCH] = set[row..row + STRETCH].try_into().expect("a slice of that length");
    for (i, row) in rows.iter().enumerate() {
        let bits = row >> column;
        lines[1] |= (bits >> REACH & 1) << i;
        lines[2] |= bits & 1 << i;
        lines[3] |= bits & 1 << (STRETCH - 1 - i);
    }
    lines
}

impl Line {
    /// The (column, row) of bit `i` of the stretch whose middle is (column, row).
    fn point(self, i: usize, column: usize, row: usize) -> (usize, usize) {
        match self {
            Line::Row => (column + i - REACH, row),
            Line::Column => (column, row + i - REACH),
            Line::Falling => (column + i - REACH, row + i - REACH),
            Line::Rising => (column + i - REACH, row + REACH - i),
        }
    }
}

/// Length of the unbroken row through the centre, in a stretch that has a stone there.
#[inline]
fn run(black: u32) -> u32 {
    let above = (!(black >> REACH)).trailing_zeros();
    let below = (!(black << (31 - REACH))).leading_zeros();
    above + below - 1
}

/// Number of fours through the centre: ways to make a five of exactly five, where a straight four's two are one four.
#[inline]
fn fours(black: u32, empty: u32) -> u32 {
    let mut count = 0;
    let mut last = 0;
    // A five through the centre (bit 5) starts at bit 1 to 5.
    for start in 1..=REACH {
        let five = 0b11111 << start;
        let missing = five & !black;
        let is_four = missing.is_power_of_two() && missing & empty != 0;
        let beyond = black & (1 << (start - 1) | 1 << (start + 5));
        if is_four && beyond == 0 && missing != last {
            // The completing points of a straight four are five apart.
            count += u32::from(missing != last << 5);
            last = missing;
        }
    }
    count
}

/// The points of a stretch on which one more stone makes a straight four through the centre.
#[inline]
fn straight_four_points(black: u32, empty: u32) -> u32 {
    let mut points = 0;
    // A four through the centre (bit 5) starts at bit 2 to 5.
    for start in 2..=REACH {
        let missing = 0b1111 << start & !black;
        let ends = 1 << (start - 1) | 1 << (start + 4);
        let beyond = black & (1 << (start - 2) | 1 << (start + 5));
        if missing.is_power_of_two() && missing & empty != 0 && ends & !empty == 0 && beyond == 0 {
            points |= missing;
        }
    }
    points
}

impl Board {
    /// A board of this size: the bits of row r from the top are the columns.
    pub fn new(columns: usize, rows: usize, black: &[u32], white: &[u32]) -> Board {
        let mut board = Board { black: [0; 32], empty: [0; 32] };
        for row in 0..rows {
            board.black[row + REACH] = black[row] << REACH;
            board.empty[row + REACH] = (!(black[row] | white[row]) & ((1 << columns) - 1)) << REACH;
        }
        board
    }

    /// What a black stone on the empty point (column, row) would be.
    pub fn judge(&mut self, column: usize, row: usize) -> Verdict {
        let black = stretches(&self.black, column, row).map(|line| line | CENTRE);

        let runs = black.map(run);
        if runs.contains(&5) {
            return Verdict::Five;
        }
        if runs.iter().any(|&length| length > 5) {
            return Verdict::Foul(Foul::Overline);
        }

        // Two threes need two lines with two more stones at most three points away; a double four needs as much, or
        // four more stones on one line. Most points are done here.
        let near = black.map(|line| (line & NEAR).count_ones());
        let far = black.iter().any(|line| line.count_ones() >= 5);
        if !far && near.iter().filter(|&&stones| stones >= 2).count() < 2 {
            return Verdict::Allowed;
        }

        let empty = stretches(&self.empty, column, row);
        let fours: [u32; 4] = std::array::from_fn(|line| fours(black[line], empty[line]));
        if fours.iter().sum::<u32>() > 1 {
            return Verdict::Foul(Foul::DoubleFour);
        }
        let threes: [u32; 4] = std::array::from_fn(|line| straight_four_points(black[line], empty[line]));
        if threes.iter().filter(|&&points| points != 0).count() < 2 {
            return Verdict::Allowed;
        }

        // With the stone on the board, does each three have a point that is allowed and makes no five?
        self.toggle(column, row);
        let mut count = 0;
        for (line, points) in LINES.into_iter().zip(threes) {
            let allowed = (0..STRETCH).filter(|i| points >> i & 1 == 1).any(|i| {
                let (column, row) = line.point(i, column, row);
                self.judge(column, row) == Verdict::Allowed
            });
            count += u32::from(allowed);
            if count == 2 {
                break;
            }
        }
        self.toggle(column, row);
        if count == 2 { Verdict::Foul(Foul::DoubleThree) } else { Verdict::Allowed }
    }

    /// Puts a black stone on an empty point, or takes it away again.
    fn toggle(&mut self, column: usize, row: usize) {
        self.black[row + REACH] ^= 1 << (column + REACH);
        self.empty[row + REACH] ^= 1 << (column + REACH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Rows;
    use crate::lines::DIRECTIONS;
    use crate::random::Rng;
    use std::collections::BTreeSet;

    /// The definitions word by word, on a map of points: slow, with no stretch, no filter and no table.
    struct Plain {
        size: isize,
        black: BTreeSet<(isize, isize)>,
        white: BTreeSet<(isize, isize)>,
    }

    type Point = (isize, isize);

    impl Plain {
        fn empty(&self, point: Point) -> bool {
            let on_board = |x| (0..self.size).contains(&x);
            on_board(point.0) && on_board(point.1) && !self.black.contains(&point) && !self.white.contains(&point)
        }

        /// The unbroken row through a black stone in one direction.
        fn row(&self, point: Point, (dc, dr): Point) -> BTreeSet<Point> {
            let side = |sign: isize| {
                let points = (1..).map(move |i| (point.0 + sign * i * dc, point.1 + sign * i * dr));
                points.take_while(|p| self.black.contains(p))
            };
            side(1).chain(side(-1)).chain([point]).collect()
        }

        fn with<T>(&mut self, point: Point, look: impl FnOnce(&mut Plain) -> T) -> T {
            self.black.insert(point);
            let seen = look(self);
            self.black.remove(&point);
            seen
        }

        /// Empty points on the line through `point`, near enough to matter.
        fn near(&self, point: Point, (dc, dr): Point) -> Vec<Point> {
            (-5..=5).map(|i| (point.0 + i * dc, point.1 + i * dr)).filter(|&p| self.empty(p)).collect()
        }

        /// The fours, as sets of four stones with `point` among them that one more stone makes a five.
        fn fours(&mut self, point: Point, direction: Point) -> BTreeSet<BTreeSet<Point>> {
            let mut fours = BTreeSet::new();
            for added in self.near(point, direction) {
                let mut row = self.with(added, |board| board.row(added, direction));
                if row.len() == 5 && row.remove(&point) {
                    row.insert(point);
                    row.remove(&added);
                    fours.insert(row);
                }
            }
            fours
        }

        /// Whether `stones`, an unbroken row, is a straight four.
        fn is_straight_four(&mut self, stones: &BTreeSet<Point>, direction: Point) -> bool {
            let Some(&any) = stones.first() else { return false };
            let ways = self.near(any, direction).into_iter().filter(|&added| {
                self.with(added, |board| {
                    let row = board.row(added, direction);
                    row.len() == 5 && row.is_superset(stones)
                })
            });
            stones.len() == 4 && ways.count() == 2
        }

        /// The threes, as sets of three stones with `point` among them that an allowed stone makes a straight four.
        fn threes(&mut self, point: Point, direction: Point) -> BTreeSet<BTreeSet<Point>> {
            let mut threes = BTreeSet::new();
            for added in self.near(point, direction) {
                let row = self.with(added, |board| board.row(added, direction));
                let straight = |board: &mut Plain| board.is_straight_four(&row, direction);
                if row.contains(&point) && self.with(added, straight) && self.judge(added) == Verdict::Allowed {
                    threes.insert(row.into_iter().filter(|&stone| stone != added).collect());
                }
            }
            threes
        }

        fn judge(&mut self, point: Point) -> Verdict {
            let directions = DIRECTIONS;
            self.with(point, |board| {
                let lengths = directions.map(|d| board.row(point, d).len());
                if lengths.contains(&5) {
                    return Verdict::Five;
                }
                if lengths.iter().any(|&length| length > 5) {
                    return Verdict::Foul(Foul::Overline);
                }
                if directions.iter().map(|&d| board.fours(point, d).len()).sum::<usize>() > 1 {
                    return Verdict::Foul(Foul::DoubleFour);
                }
                if directions.iter().map(|&d| board.threes(point, d).len()).sum::<usize>() > 1 {
                    return Verdict::Foul(Foul::DoubleThree);
                }
                Verdict::Allowed
            })
        }
    }

    #[test]
    fn fast_and_plain_referee_agree_on_random_boards() {
        let mut rng = Rng::new(7, 0);
        let mut seen = [0; 5];
        for number in 0..400 {
            // From sparse to dense, more black than white: that is where shapes are.
            let size = [9, 11, 15][number % 3];
            let (black, white) = (15 + 25 * (number % 7) / 6, 2 + 6 * (number % 5) / 4);
            let points: Vec<(usize, usize)> = (0..size * size).map(|cell| (cell % size, cell / size)).collect();
            let mut rows: [Rows; 2] = [[0; 22]; 2];
            let mut plain = Plain { size: size as isize, black: BTreeSet::new(), white: BTreeSet::new() };
            for &(column, row) in &points {
                let draw = rng.below(100);
                if draw < black {
                    rows[0][row] |= 1 << column;
                    plain.black.insert((column as isize, row as isize));
                } else if draw < black + white {
                    rows[1][row] |= 1 << column;
                    plain.white.insert((column as isize, row as isize));
                }
            }
            let mut board = Board::new(size, size, &rows[0], &rows[1]);
            for &(column, row) in &points {
                let point = (column as isize, row as isize);
                if plain.empty(point) {
                    let verdict = board.judge(column, row);
                    assert_eq!(verdict, plain.judge(point), "board {number}, {point:?}");
                    seen[match verdict {
                        Verdict::Allowed => 0,
                        Verdict::Five => 1,
                        Verdict::Foul(foul) => 2 + foul as usize,
                    }] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&count| count > 100), "every verdict was met: {seen:?}");
    }

    #[test]
    fn a_line_has_one_kind_of_shape_and_at_most_one_three() {
        // All stretches with the centre black: each other point is black, empty, or neither.
        let mut counts = [0; 3];
        for code in 0..3u32.pow(10) {
            let (mut black, mut empty, mut rest) = (CENTRE, 0, code);
            for bit in (0..11).filter(|&bit| 1 << bit != CENTRE) {
                match rest % 3 {
                    0 => {}
                    1 => black |= 1 << bit,
                    _ => empty |= 1 << bit,
                }
                rest /= 3;
            }
            if run(black) >= 5 {
                continue;
            }
            let fours = fours(black, empty);
            let points = straight_four_points(black, empty);
            assert!(fours == 0 || points == 0, "{black:011b} {empty:011b}");
            // Two points for the straight four use the same three stones.
            let three = |point: u32| (2..=5).map(|start| 0b1111 << start).find(|four| four & !black == point);
            let stones: BTreeSet<u32> = (0..11)
                .map(|i| 1 << i)
                .filter(|point| points & point != 0)
                .filter_map(three)
                .map(|f| f & black)
                .collect();
            assert_eq!(stones.len(), usize::from(points != 0), "{black:011b} {empty:011b}");
            counts[fours as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count > 0));
    }
}
