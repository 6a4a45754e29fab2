//! Sets of cells as 64-bit words, and what can be read off them without search.
//!
//! The layout is that of `rules::connect4`: bit 7 x column + height, the seventh bit of a column always clear.
//! Rows are counted from 1 at the bottom.

use rules::connect4::has_four;

/// The lowest cell of every column.
pub(super) const BOTTOM: u64 = 0x0408_1020_4081;
/// All cells.
pub(super) const BOARD: u64 = BOTTOM * 0b11_1111;
/// Rows 1, 3 and 5.
pub(super) const ODD: u64 = BOTTOM * 0b01_0101;
/// Rows 2, 4 and 6.
pub(super) const EVEN: u64 = BOTTOM * 0b10_1010;
/// Number of cells.
pub(super) const CELLS: u32 = 42;

/// The cells of one column.
pub(super) const fn column(index: u32) -> u64 {
    0b11_1111 << (7 * index)
}

/// The lowest empty cell of every column that is not full.
#[inline(always)]
pub(super) fn landings(occupied: u64) -> u64 {
    (occupied + BOTTOM) & BOARD
}

/// The cells of `empty` that complete four in a row together with `stones`.
#[inline(always)]
pub(super) fn winning_cells(stones: u64, empty: u64) -> u64 {
    let mut cells = stones << 1 & stones << 2 & stones << 3;
    for step in [6, 7, 8] {
        // Pairs of stones one and two steps away on one side of a cell, with a third beyond them or on its other side.
        let after = stones << step & stones << (2 * step);
        let before = stones >> step & stones >> (2 * step);
        cells |= after & (stones << (3 * step) | stones >> step);
        cells |= before & (stones >> (3 * step) | stones << step);
    }
    cells & empty
}

/// Length of what is indexed by cell: more than there are cells, so that no index needs a test.
pub(super) const INDICES: usize = 64;

/// The number of fours that run through each cell.
const FOURS_THROUGH: [i8; INDICES] = {
    const EDGE: [i8; 7] = [3, 4, 5, 5, 4, 3, 0];
    const NEXT: [i8; 7] = [4, 6, 8, 8, 6, 4, 0];
    const INNER: [i8; 7] = [5, 8, 11, 11, 8, 5, 0];
    const MIDDLE: [i8; 7] = [7, 10, 13, 13, 10, 7, 0];
    let columns = [EDGE, NEXT, INNER, MIDDLE, INNER, NEXT, EDGE];
    let mut cells = [0; INDICES];
    let mut cell = 0;
    while cell < 49 {
        cells[cell] = columns[cell / 7][cell % 7];
        cell += 1;
    }
    cells
};

/// What each cell is worth to either side before anything is known: the fours through it, less its distance from the
/// middle column.
pub(super) static WORTH: [i8; INDICES] = {
    let mut worth = FOURS_THROUGH;
    let mut cell = 0;
    while cell < 49 {
        worth[cell] -= (cell as i8 / 7 - 3).abs();
        cell += 1;
    }
    worth
};

/// The lines through each cell that are not vertical: falling, level and rising, each as the set of all its cells.
pub(super) static LINES: [[u64; 3]; INDICES] = {
    let mut lines = [[0; 3]; INDICES];
    let mut cell = 0;
    while cell < 49 {
        let (column, row) = (cell as i32 / 7, cell as i32 % 7);
        let mut slope = -1;
        while slope <= 1 && row < 6 {
            let mut step = -6;
            while step <= 6 {
                let (c, r) = (column + step, row + step * slope);
                if c >= 0 && c < 7 && r >= 0 && r < 6 {
                    lines[cell][(slope + 1) as usize] |= 1 << (7 * c + r);
                }
                step += 1;
            }
            slope += 1;
        }
        cell += 1;
    }
    lines
};

/// For the stones on a line of at most seven cells, the cells of it that complete four in a row.
pub(super) static COMPLETIONS: [u8; 128] = {
    let mut table = [0; 128];
    let mut stones = 0;
    while stones < 128 {
        let mut start = 0;
        while start < 4 {
            let mut gap = start;
            while gap < start + 4 {
                let rest = 0b1111 << start & !(1 << gap);
                if stones & rest == rest && stones >> gap & 1 == 0 {
                    table[stones] |= 1 << gap;
                }
                gap += 1;
            }
            start += 1;
        }
        stones += 1;
    }
    table
};

/// The cells above those of `cells` that are in an even row.
#[inline(always)]
fn above_even(cells: u64) -> u64 {
    // Row 6 has nothing above. Each factor spreads a cell over the rest of its column.
    let (row_2, row_4) = (cells & BOTTOM << 1, cells & BOTTOM << 3);
    (row_2 * 0b1_1110) | (row_4 * 0b110)
}

/// An upper bound on the score of the first player, who is to move, if one can be read off and is at most `alpha`.
///
/// The second player needs no more than to *follow up* (Allis, "A knowledge-based approach of Connect-Four", 1988,
/// calls it claimeven): to answer in the same column, which gives him every even row. Where a column is open at an
/// even row, its lowest cell is answered by another such cell; there is an even number of them, as an even number
/// of cells is empty. So the first player never owns more than his stones, the empty odd rows and those lowest cells.
/// Nor does he own a cell above one on which following up wins. If what remains holds no four he cannot win, and if the
/// even rows complete a four of the second player he loses: at the latest when a single column is left at the highest
/// cell which that four needs.
#[inline(always)]
pub(super) fn follow_up_bound(mine: u64, occupied: u64, their_wins: u64, alpha: i32) -> Option<i32> {
    const ROW_6: u64 = BOTTOM << 5;
    const ROW_4: u64 = BOTTOM << 3;
    if alpha < -3 {
        return None;
    }
    let empty = BOARD & !occupied;
    let paired = landings(occupied) & EVEN;
    if has_four(mine | (empty & ODD | paired) & !above_even(their_wins & !paired)) {
        return None;
    }
    if alpha >= 0 {
        return Some(0);
    }
    let theirs = mine ^ occupied | empty & EVEN & !paired;
    let bound = if !has_four(theirs) {
        0
    } else if !has_four(theirs & !(ROW_6 & empty)) {
        -1
    } else if !has_four(theirs & !((ROW_6 | ROW_4) & empty)) {
        -2
    } else {
        -3
    };
    (bound <= alpha).then_some(bound)
}

/// An upper bound on the score of the second player, who is to move, if one can be read off and is at most `alpha`.
///
/// The first player has an *odd threat*: he wins on a cell of row 3 or 5 that is not yet open. He plays the other
/// columns as [`follow_up_bound`] says of the second player, until nothing is left there; then somebody must play
/// below the threat, and the parity of the board makes it the second player, who gives it away.
/// If the column of the threat is open at an even row, that needs nothing else: the number of other columns open at an
/// even row is even, so each is answered by another. If at an odd row, their number is odd until the column is entered.
/// The first player enters it himself when the last of them is taken, on its odd cell, or answers there with the last
/// of them. From then on both sides alternate in it, the second player on even rows.
/// All that the second player can own is a superset of what this leaves him; if it holds no four, he loses, at the
/// latest when 36 cells elsewhere and the column up to the threat are full.
#[inline(always)]
pub(super) fn odd_threat_bound(mine: u64, occupied: u64, their_wins: u64, alpha: i32) -> Option<i32> {
    let empty = BOARD & !occupied;
    let landings = landings(occupied);
    let mut threats = their_wins & ODD & !landings;
    while threats != 0 {
        let cell = threats.trailing_zeros();
        threats &= threats - 1;
        let bound = if cell % 7 == 2 { -2 } else { -1 };
        let here = column(cell / 7);
        let below = empty & here & ((1 << cell) - 1);
        let reach = mine | (empty & ODD | landings & EVEN) & !here | below & EVEN | landings & ODD & here;
        if bound <= alpha && !has_four(reach) {
            return Some(bound);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::Rng;

    #[test]
    fn winning_cells_are_those_that_make_four() {
        let mut rng = Rng::new(7, 1);
        for _ in 0..5_000 {
            let stones = rng.bits() & rng.bits() & BOARD;
            let empty = rng.bits() & BOARD & !stones;
            let mut plain = 0;
            for cell in 0..49 {
                let bit = 1 << cell & empty;
                // A line must run through the cell: the stones may hold others. Upwards, it ends there: stones fall.
                let through = [[0, 1, 0], [1, 0, 3], [1, 1, 3], [1, -1, 3]].iter().any(|&[dc, dr, beyond]| {
                    (-3..=beyond - 3).any(|start| {
                        (start..start + 4).all(|i: i32| {
                            let (c, r) = (cell / 7 + i * dc, cell % 7 + i * dr);
                            (0..7).contains(&c) && (0..6).contains(&r) && (stones | bit) >> (7 * c + r) & 1 == 1
                        })
                    })
                });
                if bit != 0 && through {
                    plain |= bit;
                }
            }
            assert_eq!(winning_cells(stones, empty), plain, "{stones:#x} {empty:#x}");
        }
    }

    #[test]
    fn masks_cover_the_board() {
        assert_eq!((BOARD.count_ones(), BOTTOM.count_ones()), (CELLS, 7));
        assert_eq!((ODD | EVEN, ODD & EVEN), (BOARD, 0));
        assert_eq!((0..7).map(column).fold(0, |a, b| a | b), BOARD);
        assert_eq!(landings(0), BOTTOM);
        // 24 level fours, 21 upright and 12 on each diagonal, of four cells each.
        assert_eq!(FOURS_THROUGH.iter().map(|&fours| i32::from(fours)).sum::<i32>(), 4 * 69);
        assert_eq!(landings(BOARD), 0);
    }
}
