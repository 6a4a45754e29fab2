//! Numbers that begin at a cache line, so that no vector of them lies across two: to load such a one takes twice as long.

use std::fmt::{Debug, Formatter};
use std::ops::{Deref, DerefMut};

/// What the processor fetches at once, and the longest vector.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// A slice of numbers that begins at a cache line.
#[derive(Clone, Default)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    len: usize,
}

impl Lines {
    /// This many zeros.
    pub(crate) fn zeros(len: usize) -> Lines {
        let mut lines = Lines::default();
        lines.resize(len);
        lines
    }

    /// Cuts the last ones off, or appends zeros.
    pub(crate) fn resize(&mut self, len: usize) {
        let kept = self.len.min(len);
        self.lines.resize(len.div_ceil(16), Line([0.0; 16]));
        self.len = len;
        // The rest of the last line may hold what was cut off before.
        self[kept..].fill(0.0);
    }
}

impl Deref for Lines {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: the lines are 16 numbers each without gaps, and at least `len` together.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl From<&[f32]> for Lines {
    fn from(numbers: &[f32]) -> Lines {
        let mut lines = Lines::zeros(numbers.len());
        lines.copy_from_slice(numbers);
        lines
    }
}

impl PartialEq for Lines {
    fn eq(&self, other: &Lines) -> bool {
        **self == **other
    }
}

impl Debug for Lines {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::numbers;

    #[test]
    fn they_begin_at_a_cache_line_and_what_is_appended_is_zero() {
        let wanted = numbers(50, 1);
        let mut lines = Lines::from(&wanted[..]);
        assert_eq!(lines[..], wanted);
        lines.resize(35);
        lines.resize(1_000);
        assert_eq!(lines[..35], wanted[..35]);
        assert!(lines.len() == 1_000 && lines[35..].iter().all(|x| *x == 0.0));
        assert!(lines.as_ptr().addr().is_multiple_of(64) && lines.clone() == lines);
        assert!(Lines::default().is_empty());
    }
}
