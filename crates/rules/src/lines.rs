//! Rows of stones on any board: the plain version, for showing them and for testing the fast ones.

/// The four directions of a line as steps of (column, row), each towards higher cell numbers.
pub(crate) const DIRECTIONS: [(isize, isize); 4] = [(1, 0), (0, 1), (1, 1), (-1, 1)];

/// All unbroken rows of `own` cells whose length `wins`, each as long as it goes and from its lowest cell.
pub(crate) fn rows_of(
    columns: usize,
    rows: usize,
    own: impl Fn(usize) -> bool,
    wins: impl Fn(usize) -> bool,
) -> Vec<Vec<usize>> {
    let step = |cell: usize, (dc, dr): (isize, isize)| {
        let column = (cell % columns).checked_add_signed(dc).filter(|&c| c < columns)?;
        let row = (cell / columns).checked_add_signed(dr).filter(|&r| r < rows)?;
        let next = row * columns + column;
        own(next).then_some(next)
    };
    let mut found = Vec::new();
    for direction @ (dc, dr) in DIRECTIONS {
        for first in (0..columns * rows).filter(|&cell| own(cell) && step(cell, (-dc, -dr)).is_none()) {
            let line: Vec<usize> = std::iter::successors(Some(first), |&cell| step(cell, direction)).collect();
            if wins(line.len()) {
                found.push(line);
            }
        }
    }
    found
}
