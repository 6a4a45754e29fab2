//! The search: whether a score is above a given number, by alpha-beta with a window of width nought.
//!
//! Every question has a yes or no answer, so `search(node, alpha)` returns a bound: a number above `alpha` that the
//! score reaches, or a number up to `alpha` that it does not exceed (fail-soft).
//!
//! What makes it fast, besides the bit tricks:
//! - The winning cells of both sides are computed once, when a move is ordered, and handed to the child.
//! - A move after which the opponent cannot answer (two threats at once, or every answer lies below a threat)
//!   is seen one ply early, and if only such a move could win in time, nothing else is looked at.
//! - A single possible reply is played at once, without a call and without the table.
//! - Every child is first asked for what parity alone proves: [`follow_up_bound`] and [`odd_threat_bound`].
//! - The table is asked only after the moves were generated: the memory answers meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::board::{
    BOARD, BOTTOM, CELLS, COMPLETIONS, INDICES, LINES, WORTH, follow_up_bound, landings, odd_threat_bound,
    winning_cells,
};
use super::shelf::{Label, SHELF_STONES, Shelf};
use super::table::{Bound, Layout, Slot, View};
use rules::connect4::has_four;

/// A position in search: nobody has won, and the side to move cannot win at once.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// Stones of the side to move.
    pub(super) mine: u64,
    /// All stones.
    pub(super) occupied: u64,
    /// Empty cells on which the side to move would win.
    pub(super) my_wins: u64,
    /// Empty cells on which the opponent would win; at most one of them is open.
    pub(super) their_wins: u64,
    /// Number of stones.
    pub(super) stones: u32,
}

impl Node {
    pub(super) fn new(mine: u64, occupied: u64) -> Node {
        let empty = BOARD & !occupied;
        Node {
            mine,
            occupied,
            my_wins: winning_cells(mine, empty),
            their_wins: winning_cells(mine ^ occupied, empty),
            stones: occupied.count_ones(),
        }
    }

    /// The position after the move to `cell`, which makes `wins` the winning cells of the side that moved.
    #[inline(always)]
    fn after(&self, cell: u64, wins: u64) -> Node {
        Node {
            mine: self.mine ^ self.occupied,
            occupied: self.occupied | cell,
            my_wins: self.their_wins & !cell,
            their_wins: wins,
            stones: self.stones + 1,
        }
    }
}

/// A search and what it shares.
pub(super) struct Search<'a> {
    pub(super) table: View<'a>,
    pub(super) shelf: &'a Shelf,
    /// Whether the table is so large that its entries are fetched from far: then the more is fetched ahead.
    pub(super) far: bool,
    /// Set by others when the answer is no longer wanted.
    pub(super) stop: &'a [&'a AtomicBool],
    /// Stores after which the search gives up.
    pub(super) limit: u64,
    /// Set if several threads search the same position.
    pub(super) crew: Option<&'a Crew>,
    /// For the side with an even and an odd number of stones on the board: how often a move to each cell was good enough.
    pub(super) history: [[i32; INDICES]; 2],
    /// Positions visited.
    pub(super) nodes: u64,
    /// Stores so far.
    pub(super) stored: u64,
    /// Whether the search was stopped: then what it returned means nothing.
    pub(super) stopped: bool,
}

/// What the threads of one search tell each other: the positions that some thread is searching now.
pub(super) struct Crew {
    busy: [AtomicU64; 64],
}

/// Positions with more stones than this are not worth the trouble of sharing.
const SHARED_STONES: u32 = 20;
/// Positions with fewer stones look up all their children before they search the first.
const LOOK_AHEAD_STONES: u32 = 24;
/// With at most so many empty cells it pays to see whether a side has no line left.
const LATE_CELLS: i32 = 12;
/// Positions with at least as many stones are not kept: searching them again is cheaper than asking memory.
const KEPT_STONES: u32 = 37;
/// A table of so many entries (4 MiB) is beyond the nearer caches.
pub(super) const FAR_ENTRIES: usize = 1 << 20;
/// After so many stores, whether to stop and whether the table should grow is looked at.
const POLL: u64 = 1 << 12;

/// The greatest number in the history; each success or failure brings a number 1/2^HISTORY_SPEED nearer to its limit.
const HISTORY_LIMIT: i32 = 1024;
const HISTORY_SPEED: u32 = 6;
/// A number in the history counts 1/2^HISTORY_BITS in ordering.
const HISTORY_BITS: u32 = 9;

/// A move with what ordering it has found out.
#[derive(Clone, Copy, Default)]
struct Move {
    order: i32,
    cell: u64,
    wins: u64,
}

/// The instructions that the search is compiled for.
pub(super) trait Machine {
    /// `winning_cells` after a stone was added on `cell` to those that won on `wins`.
    fn wins_after(stones: u64, cell: u64, wins: u64, empty: u64) -> u64;
    /// The free bits of a key, side by side.
    fn gather(layout: &Layout, key: u64) -> u64;
    /// [`search`] for this machine.
    fn search(search: &mut Search, node: Node, alpha: i32) -> i32;
}

/// Any processor.
pub(super) struct Plain;

impl Machine for Plain {
    #[inline(always)]
    fn wins_after(stones: u64, _cell: u64, _wins: u64, empty: u64) -> u64 {
        winning_cells(stones, empty)
    }

    #[inline(always)]
    fn gather(layout: &Layout, key: u64) -> u64 {
        layout.gather(key)
    }

    fn search(search: &mut Search, node: Node, alpha: i32) -> i32 {
        self::search::<Plain>(search, node, alpha)
    }
}

/// x86-64 with quick bit gathering (BMI2).
#[cfg(target_arch = "x86_64")]
pub(super) struct Bmi2;

#[cfg(target_arch = "x86_64")]
impl Machine for Bmi2 {
    /// Only the lines through the new stone can have changed: each is gathered, looked up and put back.
    #[inline(always)]
    fn wins_after(stones: u64, cell: u64, wins: u64, empty: u64) -> u64 {
        use core::arch::x86_64::{_pdep_u64, _pext_u64};
        let vertical = stones << 1 & stones << 2 & stones << 3;
        let lines = &LINES[cell.trailing_zeros() as usize % LINES.len()];
        let added = lines.iter().fold(vertical, |added, &line| {
            // SAFETY: a Bmi2 search runs only where BMI2 was detected.
            let index = unsafe { _pext_u64(stones, line) } as usize;
            let cells = COMPLETIONS[index % COMPLETIONS.len()];
            // SAFETY: as above.
            added | unsafe { _pdep_u64(cells.into(), line) }
        });
        (wins | added) & empty
    }

    #[inline(always)]
    fn gather(layout: &Layout, key: u64) -> u64 {
        // SAFETY: a Bmi2 search runs only where BMI2 was detected.
        unsafe { core::arch::x86_64::_pext_u64(key, layout.free()) }
    }

    fn search(search: &mut Search, node: Node, alpha: i32) -> i32 {
        #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
        fn compiled(search: &mut Search, node: Node, alpha: i32) -> i32 {
            self::search::<Bmi2>(search, node, alpha)
        }
        // SAFETY: a Bmi2 search runs only where these features were detected.
        unsafe { compiled(search, node, alpha) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Bmi2 {
    /// Whether the processor has the instructions, and runs them quickly: AMD's before Zen 3 take hundreds of cycles.
    pub(super) fn usable() -> bool {
        use core::arch::x86_64::__cpuid;
        let features = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let amd = __cpuid(0).ebx == u32::from_le_bytes(*b"Auth");
        let signature = __cpuid(1).eax;
        let family = (signature >> 8 & 15) + (signature >> 20 & 255);
        features && !(amd && family < 0x19)
    }
}

/// The replies to a stone that made `wins` the winning cells of its side: open cells that do not lose at once.
#[inline(always)]
fn replies(occupied: u64, wins: u64) -> u64 {
    let open = landings(occupied);
    let forced = open & wins;
    let safe = open & !(wins >> 1);
    if forced == 0 {
        safe
    } else if forced & (forced - 1) == 0 {
        safe & forced
    } else {
        0
    }
}

/// An upper bound on the score that parity alone proves, if it is at most `alpha`.
#[inline(always)]
pub(super) fn parity_bound(node: &Node, alpha: i32) -> Option<i32> {
    let Node { mine, occupied, their_wins, stones, .. } = *node;
    if stones.is_multiple_of(2) {
        follow_up_bound(mine, occupied, their_wins, alpha)
    } else {
        odd_threat_bound(mine, occupied, their_wins, alpha)
    }
}

/// Whether the score of `node` is above `alpha`, as a bound (see the top of this file).
#[inline(always)]
fn search<M: Machine>(search: &mut Search, mut node: Node, mut alpha: i32) -> i32 {
    let mut sign = 1;
    let mut moves;
    // Positions with one reply are passed through; `sign` says whose score is meant.
    let (most, empty) = loop {
        search.nodes += 1;
        let Node { mine, occupied, my_wins, their_wins, stones } = node;
        moves = replies(occupied, their_wins);
        let left = (CELLS - stones) as i32;
        if moves == 0 {
            return sign * -(left / 2);
        }
        if left <= 2 {
            return 0;
        }
        // Neither side wins at once, so the best is a win with the move after this, the worst a loss after that.
        let most = (left - 1) / 2;
        let least = -((left - 2) / 2);
        if most <= alpha {
            return sign * most;
        }
        if least > alpha {
            return sign * least;
        }
        let empty = BOARD & !occupied;
        if left <= LATE_CELLS && alpha < 0 && !has_four((mine ^ occupied) | empty) {
            // The opponent has no line left.
            return 0;
        }
        if left <= LATE_CELLS && alpha >= 0 && !has_four(mine | empty) {
            return 0;
        }
        if moves & (moves - 1) != 0 {
            break (most, empty);
        }
        let wins = M::wins_after(mine | moves, moves, my_wins, empty ^ moves);
        if replies(occupied | moves, wins) == 0 {
            return sign * most;
        }
        node = node.after(moves, wins);
        if let Some(bound) = parity_bound(&node, -alpha - 1) {
            return sign * -bound;
        }
        alpha = -alpha - 1;
        sign = -sign;
    };

    let Node { mine, occupied, my_wins, stones, .. } = node;
    if most - 1 <= alpha {
        // Only a move that cannot be answered wins in time.
        while moves != 0 {
            let cell = moves & moves.wrapping_neg();
            moves ^= cell;
            let wins = M::wins_after(mine | cell, cell, my_wins, empty ^ cell);
            if replies(occupied | cell, wins) == 0 {
                return sign * most;
            }
        }
        return sign * (most - 1);
    }

    let theirs = mine ^ occupied;
    let look_ahead = stones < LOOK_AHEAD_STONES;
    let prefetch = look_ahead || search.far;
    let mut list = [Move::default(); 7];
    let mut count = 0;
    while moves != 0 {
        let cell = moves & moves.wrapping_neg();
        moves ^= cell;
        if prefetch {
            search.prefetch::<M>(theirs, occupied | cell);
        }
        let wins = M::wins_after(mine | cell, cell, my_wins, empty ^ cell);
        if replies(occupied | cell, wins) == 0 {
            return sign * most;
        }
        list[count] = Move { order: order(search, &node, cell, wins), cell, wins };
        count += 1;
    }
    let list = &mut list[..count];

    let keep = stones < KEPT_STONES;
    let slot = search.slot::<M>(mine, occupied);
    if stones <= SHELF_STONES {
        let (low, high) = search.shelf.get(Label::new(mine, occupied));
        if low > alpha {
            return sign * low;
        }
        if high <= alpha {
            return sign * high;
        }
    } else if keep {
        match search.table.get(slot) {
            Some(Bound::AtLeast(score)) if score > alpha => return sign * score,
            Some(Bound::AtMost(score)) if score <= alpha => return sign * score,
            _ => {}
        }
    }
    for candidate in list.iter() {
        if let Some(bound) = parity_bound(&node.after(candidate.cell, candidate.wins), -alpha - 1) {
            return sign * -bound;
        }
    }
    if look_ahead {
        for candidate in list.iter() {
            let (mine, occupied) = (theirs, occupied | candidate.cell);
            let high = if stones < SHELF_STONES {
                search.shelf.get(Label::new(mine, occupied)).1
            } else if let Some(Bound::AtMost(score)) = search.table.get(search.slot::<M>(mine, occupied)) {
                score
            } else {
                continue;
            };
            if -high > alpha {
                return sign * -high;
            }
        }
    }

    let score = match search.crew {
        Some(crew) if stones < SHARED_STONES => search_shared::<M>(search, crew, &node, list, alpha),
        _ => search_moves::<M>(search, &node, list, alpha),
    };
    if search.stopped {
        return 0;
    }
    if stones <= SHELF_STONES {
        search.shelf.put(Label::new(mine, occupied), score, score > alpha);
    } else if keep {
        search.table.put(slot, if score > alpha { Bound::AtLeast(score) } else { Bound::AtMost(score) });
        search.stored += 1;
        if search.stored.is_multiple_of(POLL) {
            search.poll();
        }
    }
    sign * score
}

/// How promising a move is: the greater the better. It makes `wins` the winning cells of its side.
///
/// Most winning cells first. Those right above one of the opponent's do not count: he will not let it come to them. One
/// right above the stone itself is worth less, as it is answered at once, and so is a move that gives up the cell
/// above, on which its side would have won. Then what the cell is worth anyway, and how often a move there was good enough.
#[inline(always)]
fn order(search: &Search, node: &Node, cell: u64, wins: u64) -> i32 {
    let useful = wins & !(node.their_wins << 1);
    let wasted = (useful & cell << 1).count_ones() + (node.my_wins & cell << 1).count_ones();
    let index = cell.trailing_zeros() as usize % WORTH.len();
    let history = search.history[node.stones as usize % 2][index];
    16 * useful.count_ones() as i32 - 4 * wasted as i32 + i32::from(WORTH[index]) + (history >> HISTORY_BITS)
}

/// Searches the moves, best first, until one is above `alpha`.
#[inline(always)]
fn search_moves<M: Machine>(search: &mut Search, node: &Node, list: &mut [Move], alpha: i32) -> i32 {
    let theirs = node.mine ^ node.occupied;
    let mut score = -i32::from(u8::MAX);
    for i in 0..list.len() {
        let mut best = i;
        for j in i + 1..list.len() {
            if list[j].order > list[best].order {
                best = j;
            }
        }
        list.swap(i, best);
        let Move { cell, wins, .. } = list[i];
        if !search.far {
            search.prefetch::<M>(theirs, node.occupied | cell);
        }
        score = score.max(-M::search(search, node.after(cell, wins), -alpha - 1));
        if search.stopped {
            break;
        }
        if score > alpha {
            search.remember(node.stones, &list[..=i]);
            break;
        }
    }
    score
}

/// As [`search_moves`] where several threads are at work: moves that another is searching are left for later, when
/// the table will have the answer (a simple form of Weill's ABDADA, "The ABDADA distributed minimax search
/// algorithm", ICCA Journal 1996).
#[cold]
fn search_shared<M: Machine>(search: &mut Search, crew: &Crew, node: &Node, list: &mut [Move], alpha: i32) -> i32 {
    list.sort_by_key(|candidate| -candidate.order);
    let theirs = node.mine ^ node.occupied;
    let mut score = -i32::from(u8::MAX);
    let mut done = [false; 7];
    for wait in [false, true] {
        for (i, &Move { cell, wins, .. }) in list.iter().enumerate() {
            let key = theirs | ((node.occupied | cell) + BOTTOM);
            if done[i] || !wait && i > 0 && crew.is_busy(key) {
                continue;
            }
            done[i] = true;
            crew.enter(key);
            score = score.max(-M::search(search, node.after(cell, wins), -alpha - 1));
            crew.leave(key);
            if score > alpha || search.stopped {
                return score;
            }
        }
    }
    score
}

impl Crew {
    pub(super) fn new() -> Crew {
        Crew { busy: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.busy[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize]
    }

    fn is_busy(&self, key: u64) -> bool {
        self.place(key).load(Relaxed) == key
    }

    fn enter(&self, key: u64) {
        self.place(key).store(key, Relaxed);
    }

    fn leave(&self, key: u64) {
        // If another position has taken the place meanwhile, it stays.
        let _ = self.place(key).compare_exchange(key, 0, Relaxed, Relaxed);
    }
}

impl Search<'_> {
    /// Notes that the last of these moves was good enough and the others were not. All numbers stay between
    /// -HISTORY_LIMIT and HISTORY_LIMIT.
    #[inline(always)]
    fn remember(&mut self, stones: u32, moves: &[Move]) {
        let history = &mut self.history[stones as usize % 2];
        for (i, tried) in moves.iter().enumerate() {
            let number = &mut history[tried.cell.trailing_zeros() as usize % INDICES];
            let goal = if i + 1 == moves.len() { HISTORY_LIMIT } else { -HISTORY_LIMIT };
            *number += (goal - *number) >> HISTORY_SPEED;
        }
    }

    #[inline(always)]
    fn slot<M: Machine>(&self, mine: u64, occupied: u64) -> Slot {
        self.table.layout.slot(mine, occupied, M::gather)
    }

    #[inline(always)]
    fn prefetch<M: Machine>(&self, mine: u64, occupied: u64) {
        self.table.prefetch(self.slot::<M>(mine, occupied));
    }

    #[cold]
    fn poll(&mut self) {
        self.stopped = self.stored >= self.limit || self.stop.iter().any(|stop| stop.load(Relaxed));
        // Searches find what they need in a table in which each entry has been replaced a few times, and a small one
        // is in a nearer cache. A table that threads share does not grow.
        if self.crew.is_none() && self.stored / 4 >= self.table.len() as u64 {
            self.table.grow();
            self.far = self.table.len() >= FAR_ENTRIES;
        }
    }
}
