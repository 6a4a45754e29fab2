//! The transposition table: bounds of positions already searched.
//!
//! An entry is one 32-bit word: 25 bits of the key, 7 of the bound; 0 is free. The key is exact, so a bound is never
//! taken for another position's. What makes it fit: all positions of a search descend from one, the *base*,
//! so only the cells above the base's stones need be told apart (at most 49 bits less its stones), and of these the
//! place of the entry tells as many as the table's size has.
//! A new entry replaces what was there. Entries are read and written whole without locks, so threads may share a table.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::board::{BOTTOM, CELLS};

/// Bits of an entry that hold the bound.
const BOUND_BITS: u32 = 7;
/// Bits of an entry that hold the rest of the key.
const TAG_BITS: u32 = 32 - BOUND_BITS;
/// Bits of a key that tells all positions apart: 7 for each column.
const KEY_BITS: u32 = 49;
/// A table whose base is the empty board needs this many bits of place; it is the smallest table that serves any base.
const LEAST_BITS: u32 = KEY_BITS - TAG_BITS;

/// The least memory of a table, in bytes.
pub(super) const LEAST_MEMORY: usize = 4 << LEAST_BITS;

/// What the table may know of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The score is at least this.
    AtLeast(i32),
    /// The score is at most this.
    AtMost(i32),
}

impl Bound {
    #[inline(always)]
    fn pack(self) -> u32 {
        // The sum is never 0, as no score is below -21.
        match self {
            Bound::AtLeast(score) => 64 + (score + 32) as u32,
            Bound::AtMost(score) => (score + 32) as u32,
        }
    }

    #[inline(always)]
    fn unpack(bits: u32) -> Bound {
        let score = (bits & 63) as i32 - 32;
        if bits & 64 != 0 { Bound::AtLeast(score) } else { Bound::AtMost(score) }
    }
}

/// The memory, and how much of it is in use.
pub(super) struct Table {
    entries: Box<[AtomicU32]>,
    layout: Layout,
    /// The base: stones of the side to move and all stones.
    base: Option<(u64, u64)>,
}

/// What a search holds of a table.
pub(super) struct View<'a> {
    entries: &'a [AtomicU32],
    pub(super) layout: Layout,
}

/// How positions are mapped to entries. Copied into each search, to be at hand.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// The bits of the 49-bit key in which positions can differ.
    free: u64,
    /// For each column: how far its free bits move down to close the gaps, and where they end up.
    moves: [(u32, u64); 7],
    /// Odd, shifted so that products fill the word from the top.
    factor: u64,
    /// The table has 2^bits entries in use.
    bits: u32,
}

/// Where a position belongs: the place in the top bits, the rest of the key below.
#[derive(Clone, Copy)]
pub(super) struct Slot(u64);

impl Layout {
    fn new(occupied: u64, bits: u32) -> Layout {
        let free = ((1 << KEY_BITS) - 1) & !occupied;
        let mut end = 0;
        let moves = std::array::from_fn(|column| {
            let bits = free & 0x7f << (7 * column);
            let down = bits.trailing_zeros() - end;
            end += bits.count_ones();
            (down, bits >> down)
        });
        Layout { free, moves, factor: 0x9e37_79b9_7f4a_7c15 << (64 - end), bits }
    }

    /// The position's key, one to one: a set bit above the stones of each column, its own stones below.
    #[inline(always)]
    fn key(mine: u64, occupied: u64) -> u64 {
        mine | (occupied + BOTTOM)
    }

    /// The slot of the position; `gather` collects the bits of its first argument that the second selects.
    #[inline(always)]
    pub(super) fn slot(&self, mine: u64, occupied: u64, gather: impl Fn(&Layout, u64) -> u64) -> Slot {
        let key = gather(self, Layout::key(mine, occupied));
        // Both steps are one to one, and the second makes every bit of the key matter for the place.
        Slot((key ^ key >> 20).wrapping_mul(self.factor))
    }

    /// The free bits of a key side by side: what `pext` does in one instruction.
    #[inline(always)]
    pub(super) fn gather(&self, key: u64) -> u64 {
        self.moves.iter().fold(0, |gathered, &(down, place)| gathered | key >> down & place)
    }

    /// The bits that [`Layout::gather`] collects.
    #[inline(always)]
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    #[inline(always)]
    fn place(&self, slot: Slot) -> usize {
        (slot.0 >> (64 - self.bits)) as usize
    }

    #[inline(always)]
    fn tag(&self, slot: Slot) -> u32 {
        // The low bits are clear: no key has more than TAG_BITS bits besides the place.
        (slot.0 << self.bits >> 32) as u32
    }
}

impl Table {
    /// A table of at most `memory` bytes, rounded down to a power of two; at least [`LEAST_MEMORY`] are taken.
    /// The system gives the memory as it is first used.
    pub(super) fn new(memory: usize) -> Table {
        let bits = (memory / 4).max(1 << LEAST_BITS).ilog2();
        let zeros: Box<[u32]> = vec![0; 1 << bits].into_boxed_slice();
        ask_for_huge_pages(&zeros);
        // SAFETY: AtomicU32 has the same size, alignment and bit validity as u32, and the box is the only owner.
        let entries = unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [AtomicU32]) };
        Table { entries, layout: Layout::new(0, LEAST_BITS), base: None }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        if self.base.take().is_some() {
            self.entries[..1 << self.layout.bits].iter_mut().for_each(|entry| *entry.get_mut() = 0);
        }
    }

    /// Makes the table fit for positions that descend from the given one. What it knows is kept if the position itself
    /// descends from the base.
    pub(super) fn rebase(&mut self, mine: u64, occupied: u64) {
        let stones = occupied.count_ones();
        if let Some((base_mine, base_occupied)) = self.base {
            let same_mover = (stones - base_occupied.count_ones().min(stones)).is_multiple_of(2);
            let base_movers = if same_mover { mine } else { mine ^ occupied };
            if occupied & base_occupied == base_occupied && base_movers & base_occupied == base_mine {
                return;
            }
        }
        self.clear();
        // Small enough for the nearest cache if the board is nearly full; it grows when it proves too small.
        let start = match CELLS - stones {
            0..=14 => 10,
            15..=20 => 12,
            21..=27 => 17,
            _ => 18,
        };
        let most = self.entries.len().ilog2();
        let least = (KEY_BITS - stones).saturating_sub(TAG_BITS);
        self.layout = Layout::new(occupied, start.max(least).min(most));
        self.base = Some((mine, occupied));
    }

    /// What a search needs. Several may share the table as long as none of them makes it grow.
    pub(super) fn view(&self) -> View<'_> {
        View { entries: &self.entries, layout: self.layout }
    }

    /// Takes over how a search left the table.
    pub(super) fn resume(&mut self, layout: Layout) {
        self.layout = layout;
    }
}

impl View<'_> {
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: Slot) {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let place = self.entries.as_ptr().wrapping_add(self.layout.place(slot));
            // SAFETY: a prefetch reads nothing, whatever the address; SSE is part of x86-64.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = slot;
    }

    #[inline(always)]
    pub(super) fn get(&self, slot: Slot) -> Option<Bound> {
        let place = self.layout.place(slot);
        debug_assert!(place < self.entries.len());
        // SAFETY: a place has layout.bits bits, and a table has at least that many entries.
        let entry = unsafe { self.entries.get_unchecked(place) }.load(Relaxed);
        let difference = entry ^ self.layout.tag(slot);
        (difference < 1 << BOUND_BITS && difference != 0).then(|| Bound::unpack(difference))
    }

    #[inline(always)]
    pub(super) fn put(&self, slot: Slot, bound: Bound) {
        let place = self.layout.place(slot);
        debug_assert!(place < self.entries.len());
        // SAFETY: as in `get`.
        let entry = unsafe { self.entries.get_unchecked(place) };
        entry.store(self.layout.tag(slot) | bound.pack(), Relaxed);
    }

    /// Number of entries in use.
    pub(super) fn len(&self) -> usize {
        1 << self.layout.bits
    }

    /// Takes four times as many entries into use, if there are as many. Nobody else may use the table meanwhile.
    pub(super) fn grow(&mut self) -> bool {
        let (old, new) = (self.len(), 4 * self.len());
        if new > self.entries.len() {
            return false;
        }
        // An entry's next two bits of key decide which of four places it moves to. From the end, so that the
        // places are free: those of entry i are at 4i and above.
        for i in (0..old).rev() {
            let entry = self.entries[i].load(Relaxed);
            let places = &self.entries[4 * i..4 * i + 4];
            places.iter().for_each(|place| place.store(0, Relaxed));
            if entry != 0 {
                let bound = entry & ((1 << BOUND_BITS) - 1);
                places[(entry >> 30) as usize].store((entry ^ bound) << 2 | bound, Relaxed);
            }
        }
        self.layout.bits += 2;
        true
    }
}

/// Asks Linux for pages of 2 MiB: a large table is read all over, and every 4 KiB page costs a look-up of its own.
fn ask_for_huge_pages(memory: &[u32]) {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" {
            fn madvise(address: *mut core::ffi::c_void, length: usize, advice: i32) -> i32;
        }
        const HUGE_PAGE: usize = 4096;
        const MADV_HUGEPAGE: i32 = 14;
        let bytes = memory.as_ptr_range();
        let start = (bytes.start as usize).next_multiple_of(HUGE_PAGE);
        let length = (bytes.end as usize).saturating_sub(start) / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: the range lies within an allocation that we hold; the advice changes no content. A refusal is no harm.
        unsafe { madvise(start as *mut core::ffi::c_void, length, MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::Rng;
    use std::collections::HashMap;

    fn slot(layout: &Layout, mine: u64, occupied: u64) -> Slot {
        layout.slot(mine, occupied, Layout::gather)
    }

    /// Eight stones, all of the side that has just moved.
    const BASE: u64 = 0b11 << 21 | 0b111 << 14 | 1 << 28 | 0b11 << 42;

    /// Random positions that descend from the base.
    fn positions(count: usize) -> Vec<(u64, u64)> {
        let mut rng = Rng::new(3, 3);
        (0..count)
            .map(|_| {
                let mut occupied: u64 = BASE;
                for _ in 0..rng.below(20) {
                    let open =
                        super::super::board::landings(occupied) & super::super::board::column(rng.below(7) as u32);
                    occupied |= open;
                }
                (rng.bits() & occupied & !BASE, occupied)
            })
            .collect()
    }

    #[test]
    fn what_is_found_was_stored_for_that_position_at_every_size() {
        let mut table = Table::new(0);
        table.rebase(0, BASE);
        let mut view = table.view();
        let mut truth = HashMap::new();
        for (i, (mine, occupied)) in positions(60_000).into_iter().enumerate() {
            let bound = if i % 2 == 0 { Bound::AtLeast(i as i32 % 37 - 18) } else { Bound::AtMost(i as i32 % 35 - 18) };
            view.put(slot(&view.layout, mine, occupied), bound);
            truth.insert((mine, occupied), bound);
            if i % 20_000 == 19_999 {
                assert!(view.grow());
            }
        }
        let found = truth.iter().filter(|((mine, occupied), bound)| {
            let found = view.get(slot(&view.layout, *mine, *occupied));
            assert!(found.is_none() || found == Some(**bound));
            found.is_some()
        });
        let (found, all) = (found.count(), truth.len());
        assert!(found * 10 > all * 8, "{found} of {all}");
        for (mine, occupied) in positions(90_000).split_off(60_000) {
            let found = view.get(slot(&view.layout, mine, occupied));
            assert!(found.is_none() || found == truth.get(&(mine, occupied)).copied());
        }
    }

    #[test]
    fn a_base_is_kept_for_its_descendants_and_replaced_for_others() {
        let mut table = Table::new(0);
        let get = |table: &Table| table.view().get(slot(&table.layout, 1, 3));
        table.rebase(0, 0);
        table.view().put(slot(&table.layout, 1, 3), Bound::AtMost(-4));
        for (mine, occupied) in [(0, 1), (1, 0b11), (1, 1 | 1 << 7)] {
            table.rebase(mine, occupied);
            assert_eq!((table.base, get(&table)), (Some((0, 0)), Some(Bound::AtMost(-4))));
        }
        table.clear();
        assert_eq!(get(&table), None);
        table.rebase(1, 1 | 1 << 7);
        for other in [(1 << 7, 1 | 1 << 7), (0, 1), (0b10, 0b11)] {
            table.rebase(other.0, other.1);
            assert_eq!(table.base, Some(other));
        }
    }

    #[test]
    fn growing_ends_at_the_memory_given() {
        let mut table = Table::new(5 * LEAST_MEMORY);
        assert_eq!(table.entries.len() * 4, 4 * LEAST_MEMORY);
        table.rebase(0, super::super::board::BOARD);
        let mut view = table.view();
        while view.grow() {}
        assert_eq!(view.len(), view.entries.len());
    }

    #[test]
    fn keys_are_gathered_as_by_the_instruction() {
        let mut rng = Rng::new(5, 5);
        for (_, occupied) in positions(200) {
            let layout = Layout::new(occupied, 18);
            let key = rng.bits() & ((1 << KEY_BITS) - 1);
            let mut plain = 0;
            let free = (0..KEY_BITS).filter(|bit| layout.free() >> bit & 1 == 1);
            for (to, from) in free.enumerate() {
                plain |= (key >> from & 1) << to;
            }
            assert_eq!(layout.gather(key), plain);
        }
    }
}
