//! The symmetries of a rectangular board.

/// One symmetry: optionally exchange rows and columns, then mirror columns, then mirror rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry {
    transpose: bool,
    mirror_columns: bool,
    mirror_rows: bool,
}

const fn symmetry(transpose: bool, mirror_columns: bool, mirror_rows: bool) -> Symmetry {
    Symmetry { transpose, mirror_columns, mirror_rows }
}

impl Symmetry {
    /// Leaves everything where it is.
    pub const IDENTITY: Symmetry = symmetry(false, false, false);

    /// The identity alone.
    pub const NONE: &'static [Symmetry] = &[Symmetry::IDENTITY];

    /// Left-right mirror, as on a board where stones fall.
    pub const MIRROR: &'static [Symmetry] = &[Symmetry::IDENTITY, symmetry(false, true, false)];

    /// The four symmetries of a rectangle.
    pub const RECTANGLE: &'static [Symmetry] =
        &[Symmetry::IDENTITY, symmetry(false, true, false), symmetry(false, false, true), symmetry(false, true, true)];

    /// The eight symmetries of a square (the dihedral group D4).
    pub const SQUARE: &'static [Symmetry] = &[
        Symmetry::IDENTITY,
        symmetry(false, true, false),
        symmetry(false, false, true),
        symmetry(false, true, true),
        symmetry(true, false, false),
        symmetry(true, true, false),
        symmetry(true, false, true),
        symmetry(true, true, true),
    ];

    /// Where the stone on `cell` (row x `columns` + column) lands. A transposing symmetry needs `columns == rows`.
    #[inline]
    pub const fn cell(self, columns: usize, rows: usize, cell: usize) -> usize {
        debug_assert!(!self.transpose || columns == rows);
        let (mut column, mut row) = (cell % columns, cell / columns);
        if self.transpose {
            let old_column = column;
            column = row;
            row = old_column;
        }
        if self.mirror_columns {
            column = columns - 1 - column;
        }
        if self.mirror_rows {
            row = rows - 1 - row;
        }
        row * columns + column
    }

    /// The three steps, in this order: exchange rows and columns, mirror columns, mirror rows.
    pub(crate) fn steps(self) -> [bool; 3] {
        [self.transpose, self.mirror_columns, self.mirror_rows]
    }

    /// Its index in [`Symmetry::SQUARE`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.mirror_columns) | usize::from(self.mirror_rows) << 1 | usize::from(self.transpose) << 2
    }

    /// The symmetry that undoes this one.
    #[must_use]
    pub fn inverse(self) -> Symmetry {
        if self.transpose {
            // Mirroring columns and then exchanging is exchanging and then mirroring rows.
            symmetry(true, self.mirror_rows, self.mirror_columns)
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symmetry_is_a_different_bijection_undone_by_its_inverse() {
        for (group, columns, rows) in
            [(Symmetry::SQUARE, 5, 5), (Symmetry::RECTANGLE, 4, 3), (Symmetry::MIRROR, 7, 6), (Symmetry::NONE, 3, 1)]
        {
            let map = |s: &Symmetry| (0..columns * rows).map(|c| s.cell(columns, rows, c)).collect::<Vec<_>>();
            for (i, s) in group.iter().enumerate() {
                for cell in 0..columns * rows {
                    assert_eq!(s.inverse().cell(columns, rows, s.cell(columns, rows, cell)), cell);
                }
                assert!(group[..i].iter().all(|t| map(t) != map(s)), "{s:?} appears twice");
                assert!(group.contains(&s.inverse()));
            }
        }
    }

    #[test]
    fn a_symmetry_stands_at_its_index() {
        assert!(Symmetry::SQUARE.iter().enumerate().all(|(i, s)| s.index() == i));
    }

    #[test]
    fn the_quarter_turn_of_a_square_takes_the_corner_to_the_next_corner() {
        // Exchange, then mirror columns: (0, 0) -> (2, 0), a turn of the first row onto the last column.
        let turn = Symmetry::SQUARE[5];
        assert_eq!([0, 1, 2].map(|cell| turn.cell(3, 3, cell)), [2, 5, 8]);
    }
}
