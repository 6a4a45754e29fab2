//! A second table for positions with few stones, which stays when the first is emptied.
//!
//! What is known of them cost much to find out, and many questions share it: other positions of the same game, or all
//! positions of the book. So they do not compete with the mass of late ones, mirror images share an entry, and an
//! entry keeps a bound on each side.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::board::BOTTOM;

/// Positions with at most so many stones belong here.
pub(super) const SHELF_STONES: u32 = 16;

/// The table. An entry is a key of 49 bits and two bounds of 6 bits; 0 is free.
pub(super) struct Shelf {
    entries: Box<[AtomicU64]>,
    bits: u32,
    /// Whether anything was put here since it was cleared: clearing takes milliseconds.
    used: AtomicBool,
}

/// A place on the shelf, by the key of the position or its mirror image.
#[derive(Clone, Copy)]
pub(super) struct Label(u64);

impl Label {
    #[inline]
    pub(super) fn new(mine: u64, occupied: u64) -> Label {
        let key = mine | (occupied + BOTTOM);
        let mirrored = (0..7).fold(0, |image, column| image | (key >> (7 * column) & 0x7f) << (42 - 7 * column));
        Label(key.min(mirrored))
    }
}

impl Shelf {
    /// A shelf of at most `memory` bytes, rounded down to a power of two. The system gives the memory as it is used.
    pub(super) fn new(memory: usize) -> Shelf {
        let bits = (memory / 8).max(2).ilog2();
        let zeros: Box<[u64]> = vec![0; 1 << bits].into_boxed_slice();
        const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
        // SAFETY: AtomicU64 has the same size, alignment and bit validity as u64, and the box is the only owner.
        let entries = unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [AtomicU64]) };
        Shelf { entries, bits, used: AtomicBool::new(false) }
    }

    pub(super) fn clear(&mut self) {
        if std::mem::take(self.used.get_mut()) {
            self.entries.iter_mut().for_each(|entry| *entry.get_mut() = 0);
        }
    }

    fn place(&self, label: Label) -> &AtomicU64 {
        &self.entries[(label.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.bits)) as usize]
    }

    /// The bounds on the position's score: at least the first, at most the second.
    pub(super) fn get(&self, label: Label) -> (i32, i32) {
        let entry = self.place(label).load(Relaxed);
        if entry >> 12 == label.0 { ((entry >> 6 & 63) as i32 - 32, (entry & 63) as i32 - 32) } else { (-31, 31) }
    }

    /// Adds what was found out: that the score is at least `score`, or at most.
    pub(super) fn put(&self, label: Label, score: i32, at_least: bool) {
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
        }
        let (low, high) = self.get(label);
        let (low, high) = if at_least { (low.max(score), high) } else { (low, high.min(score)) };
        self.place(label).store(label.0 << 12 | ((low + 32) as u64) << 6 | (high + 32) as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_kept_for_a_position_and_its_mirror_image() {
        let mut shelf = Shelf::new(1 << 16);
        let (left, right) = (Label::new(1, 0b11), Label::new(1 << 42, 0b11 << 42));
        assert_eq!(shelf.get(left), (-31, 31));
        shelf.put(left, -2, true);
        shelf.put(right, 4, false);
        shelf.put(left, 5, false);
        assert_eq!((shelf.get(left), shelf.get(right)), ((-2, 4), (-2, 4)));
        assert_eq!(shelf.get(Label::new(2, 0b11)), (-31, 31));
        shelf.clear();
        assert_eq!(shelf.get(left), (-31, 31));
    }
}
