//! 3x3 convolution in bfloat16 on the tile registers of AMX, for inference.
//!
//! bfloat16 is the upper half of an f32: its range, with 8 bits of precision. A tile holds 16 rows of 64 bytes; one instruction multiplies a
//! tile of 16 points x 32 inputs by one of 32 inputs x 16 outputs and adds the products, in f32, to a tile of 16 x 16 sums
//! (Intel, "Architecture Instruction Set Extensions Programming Reference", chapter 3). That is 8,192 multiply-adds in 16
//! cycles, eight times what AVX-512 does in f32.
//!
//! A block of sums is three tiles of points by two of outputs: seven loads, of a tile in 8 cycles each, go beside six multiplications, of 16
//! cycles each, if every row of a tile is a line of the cache: a row across two lines is read in two accesses.
//!
//! A tile's rows lie at one distance, so the points of a board must too, border included: here a board has one column and
//! two rows more, which stay 0, and the neighbours of 16 points in a row of memory are 16 points in a row of memory, whatever the tap.
//! The few sums for the extra column are thrown away.
//!
//! The instructions sit behind [`Tiles`], with a version in plain Rust that tests use everywhere; the loops are the same.

use super::simd::by_level;
use super::winograd::Channels;
use crate::math::Level;

/// Rows of a tile, and numbers of f32 in a row.
const SIDE: usize = 16;
/// Numbers of bfloat16 in a row of a tile.
const DEPTH: usize = 32;
/// Bytes in a row of a tile.
const ROW: usize = 64;
/// Rows of the largest block of sums.
const BLOCK: usize = 3 * SIDE;

/// Numbers of bfloat16 in a line of the cache: a tile's row that begins with one is read at once, another in two halves.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Line([u16; DEPTH]);

/// The nearest bfloat16, halves to even; numbers too small for a normal f32 become 0, as the instructions take them.
#[inline(always)]
fn rounded(x: f32) -> u16 {
    let bits = x.to_bits();
    let nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    if bits & 0x7f80_0000 == 0 { 0 } else { nearest as u16 }
}

/// How the points of a board lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padded {
    height: usize,
    pub(super) width: usize,
}

impl Padded {
    pub(crate) fn new(height: usize, width: usize) -> Padded {
        Padded { height, width }
    }

    /// Distance between the rows of a board.
    pub(super) fn pitch(self) -> usize {
        self.width + 1
    }

    /// Points for which sums are made: those of the board and of its extra column, in whole tiles.
    fn sums(self) -> usize {
        (self.height * self.pitch()).next_multiple_of(SIDE)
    }

    /// Points of a board in memory, with all that a tile may read.
    pub(super) fn points(self) -> usize {
        self.sums() + 2 * self.pitch() + 2
    }

    /// Lines of a board in memory.
    fn lines(self, channels: usize) -> usize {
        self.points() * channels / DEPTH
    }
}

/// Weights of a convolution, tile by tile.
#[derive(Clone, Debug)]
struct Packed {
    channels: Channels,
    /// `[output / 32][tap][input / 32][2]` tiles of `[16 pairs of inputs][16 outputs][2]`: in the order of their use.
    tiles: Vec<Line>,
}

impl Packed {
    /// `weights` is `[9][input][output]`; inputs and outputs are multiples of 32.
    fn new(channels: Channels, weights: &[f32]) -> Packed {
        let Channels { input, output } = channels;
        assert!(input.is_multiple_of(DEPTH) && output.is_multiple_of(DEPTH) && weights.len() == 9 * input * output);
        let mut tiles = Vec::with_capacity(weights.len() / DEPTH);
        for half in (0..output).step_by(DEPTH) {
            for inputs in (0..9 * input).step_by(DEPTH) {
                for first in [half, half + SIDE] {
                    for pair in (inputs..inputs + DEPTH).step_by(2) {
                        let weight = |at: usize| rounded(weights[(pair + at % 2) * output + first + at / 2]);
                        tiles.push(Line(std::array::from_fn(weight)));
                    }
                }
            }
        }
        Packed { channels, tiles }
    }
}

/// The eight tile registers, each 16 rows of 64 bytes.
///
/// # Safety
/// of all methods: the numbers are below 8, and memory may be read or written for 16 rows of 64 bytes at the given
/// distance in bytes.
pub(crate) trait Tiles {
    unsafe fn zero<const T: u8>(&mut self);
    unsafe fn load<const T: u8>(&mut self, from: *const Line, distance: usize);
    unsafe fn store<const T: u8>(&mut self, to: *mut f32, distance: usize);
    /// Sums T += A B.
    unsafe fn multiply<const T: u8, const A: u8, const B: u8>(&mut self);
}

/// The registers in plain Rust.
#[derive(Clone, Debug)]
pub(crate) struct Software {
    registers: [[u8; SIDE * ROW]; 8],
}

impl Software {
    pub(crate) fn new() -> Software {
        Software { registers: [[0; SIDE * ROW]; 8] }
    }

    /// Number `at` of a register of f32.
    fn sum(&self, register: u8, at: usize) -> f32 {
        let bytes = &self.registers[usize::from(register)][4 * at..4 * at + 4];
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Number `at` of a register of bfloat16.
    fn half(&self, register: u8, at: usize) -> f32 {
        let bytes = &self.registers[usize::from(register)][2 * at..2 * at + 2];
        f32::from_bits(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])) << 16)
    }
}

impl Tiles for Software {
    unsafe fn zero<const T: u8>(&mut self) {
        self.registers[usize::from(T)].fill(0);
    }

    unsafe fn load<const T: u8>(&mut self, from: *const Line, distance: usize) {
        for (row, register) in self.registers[usize::from(T)].chunks_exact_mut(ROW).enumerate() {
            // SAFETY: the caller's promise.
            unsafe { from.cast::<u8>().add(row * distance).copy_to_nonoverlapping(register.as_mut_ptr(), ROW) };
        }
    }

    unsafe fn store<const T: u8>(&mut self, to: *mut f32, distance: usize) {
        for (row, register) in self.registers[usize::from(T)].chunks_exact(ROW).enumerate() {
            // SAFETY: the caller's promise.
            unsafe { to.cast::<u8>().add(row * distance).copy_from_nonoverlapping(register.as_ptr(), ROW) };
        }
    }

    unsafe fn multiply<const T: u8, const A: u8, const B: u8>(&mut self) {
        for row in 0..SIDE {
            for column in 0..SIDE {
                // Even and odd inputs are summed apart, and then together.
                let mut parts = [0.0f32; 2];
                for pair in 0..DEPTH / 2 {
                    for (odd, part) in parts.iter_mut().enumerate() {
                        let a = self.half(A, row * DEPTH + 2 * pair + odd);
                        *part += a * self.half(B, pair * DEPTH + 2 * column + odd);
                    }
                }
                let sum = self.sum(T, row * SIDE + column) + (parts[0] + parts[1]);
                let at = 4 * (row * SIDE + column);
                self.registers[usize::from(T)][at..at + 4].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
}

/// The registers of the processor, configured as eight tiles of 16 rows of 64 bytes for as long as this lives.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct Amx(());

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
impl Amx {
    /// The registers, if the processor has them and the system lets this process use them.
    pub(crate) fn new() -> Option<Amx> {
        if !permitted() {
            return None;
        }
        // Palette 1; from byte 16 on the bytes of each tile's rows, from byte 48 on its number of rows.
        let mut settings = [0u8; 64];
        settings[0] = 1;
        for tile in 0..8 {
            settings[16 + 2 * tile] = ROW as u8;
            settings[48 + tile] = SIDE as u8;
        }
        // SAFETY: the processor has the instruction, the process may use it, and it reads the 64 bytes given.
        unsafe { std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const settings, options(nostack, readonly)) };
        Some(Amx(()))
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
impl Drop for Amx {
    fn drop(&mut self) {
        // SAFETY: the registers were configured; from here on nobody uses them.
        unsafe { std::arch::asm!("tilerelease", options(nostack, nomem)) };
    }
}

/// The processor's tiles, if it has them.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) fn processor() -> Option<Amx> {
    Amx::new()
}

/// The processor's tiles, if it has them.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) fn processor() -> Option<Software> {
    None
}

/// Whether [`processor`] gives something.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) fn permitted() -> bool {
    false
}

/// Whether the processor has tiles of bfloat16 and the system saves them, and [`Level::best`] is not forced below them;
/// asked once. Asks Linux for permission (its Documentation/arch/x86/xstate.rst).
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) fn permitted() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    static PERMITTED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();

    #[target_feature(enable = "xsave")]
    fn enabled_states() -> u64 {
        // SAFETY: the processor has the instruction, and register 0 exists.
        unsafe { _xgetbv(0) }
    }

    *PERMITTED.get_or_init(|| {
        if Level::best().isa() != crate::math::Isa::Avx512 || __cpuid(0).eax < 7 || !is_x86_feature_detected!("xsave") {
            return false;
        }
        // Bit 22: tiles of bfloat16; bit 24: tiles. States 17 and 18: their configuration and contents.
        let has = __cpuid_count(7, 0).edx;
        // SAFETY: the instruction was detected.
        let states = unsafe { enabled_states() };
        if has >> 22 & 1 == 0 || has >> 24 & 1 == 0 || states >> 17 & 3 != 3 {
            return false;
        }
        // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
        let mut answer: u64 = 158;
        // SAFETY: a system call that changes only what this process may use; it clobbers rcx and r11.
        unsafe {
            std::arch::asm!("syscall", inout("rax") answer, in("rdi") 0x1023u64, in("rsi") 18u64,
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        answer == 0
    })
}

// SAFETY of every block below: a value of this type is proof that the registers are configured; the memory accesses
// are the caller's promise.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl Tiles for Amx {
    #[inline(always)]
    unsafe fn zero<const T: u8>(&mut self) {
        unsafe { std::arch::asm!("tilezero tmm{t}", t = const T, options(nostack, nomem)) };
    }

    #[inline(always)]
    unsafe fn load<const T: u8>(&mut self, from: *const Line, distance: usize) {
        unsafe {
            std::arch::asm!("tileloadd tmm{t}, [{from} + {distance}*1]", t = const T, from = in(reg) from,
                distance = in(reg) distance, options(nostack, readonly));
        }
    }

    #[inline(always)]
    unsafe fn store<const T: u8>(&mut self, to: *mut f32, distance: usize) {
        unsafe {
            std::arch::asm!("tilestored [{to} + {distance}*1], tmm{t}", t = const T, to = in(reg) to,
                distance = in(reg) distance, options(nostack));
        }
    }

    #[inline(always)]
    unsafe fn multiply<const T: u8, const A: u8, const B: u8>(&mut self) {
        unsafe {
            std::arch::asm!("tdpbf16ps tmm{t}, tmm{a}, tmm{b}", t = const T, a = const A, b = const B,
                options(nostack, nomem));
        }
    }
}

/// The sums of a point for 32 outputs, two lines of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Sums([f32; DEPTH]);

/// Up to three tiles of points by two of outputs.
struct Block {
    x: *const Line,
    /// Lines of a point.
    depth: usize,
    pitch: usize,
    weights: *const Line,
    sums: *mut f32,
}

impl Block {
    /// Sums in tiles 0 to 5, points in 6, weights in 7.
    ///
    /// # Safety
    /// The pointers reach as far as the loops go.
    #[inline(always)]
    unsafe fn run<T: Tiles, const ROWS: usize>(&self, tiles: &mut T) {
        let distance = ROW * self.depth;
        let below = SIDE * self.depth;
        // SAFETY: the caller's promise.
        unsafe {
            tiles.zero::<0>();
            tiles.zero::<1>();
            tiles.zero::<2>();
            tiles.zero::<3>();
            tiles.zero::<4>();
            tiles.zero::<5>();
            let mut weights = self.weights;
            for tap in 0..9 {
                let mut x = self.x.add((tap / 3 * self.pitch + tap % 3) * self.depth);
                for _ in 0..self.depth {
                    tiles.load::<7>(weights, ROW);
                    tiles.load::<6>(x, distance);
                    tiles.multiply::<0, 6, 7>();
                    if ROWS > 1 {
                        tiles.load::<6>(x.add(below), distance);
                        tiles.multiply::<1, 6, 7>();
                    }
                    if ROWS > 2 {
                        tiles.load::<6>(x.add(2 * below), distance);
                        tiles.multiply::<2, 6, 7>();
                    }
                    tiles.load::<7>(weights.add(SIDE), ROW);
                    if ROWS > 2 {
                        tiles.multiply::<5, 6, 7>();
                    }
                    if ROWS > 1 {
                        tiles.load::<6>(x.add(below), distance);
                        tiles.multiply::<4, 6, 7>();
                        tiles.load::<6>(x, distance);
                    }
                    tiles.multiply::<3, 6, 7>();
                    weights = weights.add(2 * SIDE);
                    x = x.add(1);
                }
            }
            let distance = 4 * DEPTH;
            let below = SIDE * DEPTH;
            tiles.store::<0>(self.sums, distance);
            tiles.store::<3>(self.sums.add(SIDE), distance);
            if ROWS > 1 {
                tiles.store::<1>(self.sums.add(below), distance);
                tiles.store::<4>(self.sums.add(below + SIDE), distance);
            }
            if ROWS > 2 {
                tiles.store::<2>(self.sums.add(2 * below), distance);
                tiles.store::<5>(self.sums.add(2 * below + SIDE), distance);
            }
        }
    }
}

/// The blocks of a network in bfloat16: what is added up along the residual connections stays in f32.
#[derive(Debug)]
pub(crate) struct HalfTrunk {
    padded: Padded,
    channels: usize,
    /// Weights and bias of each convolution.
    convolutions: Vec<(Packed, Vec<f32>)>,
}

/// What a board is evaluated in; the borders stay 0.
#[derive(Debug, Default)]
pub(crate) struct HalfScratch {
    outer: Vec<Line>,
    inner: Vec<Line>,
    sums: Vec<Sums>,
}

impl HalfTrunk {
    /// `convolutions` are two for each block: `[9][channels][channels]`, and a bias; channels a multiple of 32.
    pub(crate) fn new(
        height: usize,
        width: usize,
        channels: usize,
        convolutions: &[(Vec<f32>, Vec<f32>)],
    ) -> HalfTrunk {
        let sides = Channels { input: channels, output: channels };
        let pack = |(weights, bias): &(Vec<f32>, Vec<f32>)| (Packed::new(sides, weights), bias.clone());
        HalfTrunk {
            padded: Padded::new(height, width),
            channels,
            convolutions: convolutions.iter().map(pack).collect(),
        }
    }

    /// Takes each board of `trunk`, `[positions][area][channels]`, through all blocks.
    pub(crate) fn run<T: Tiles>(&self, level: Level, tiles: &mut T, trunk: &mut [f32], scratch: &mut HalfScratch) {
        let HalfTrunk { padded, channels, convolutions } = self;
        let HalfScratch { outer, inner, sums } = scratch;
        outer.resize(padded.lines(*channels), Line::default());
        inner.resize(padded.lines(*channels), Line::default());
        sums.resize(BLOCK, Sums::default());
        for board in trunk.chunks_exact_mut(padded.height * padded.width * channels) {
            round(level, *padded, *channels, board, outer);
            for block in convolutions.chunks_exact(2) {
                self.convolve(level, tiles, &block[0], outer, sums, &mut [], inner);
                self.convolve(level, tiles, &block[1], inner, sums, board, outer);
            }
        }
    }

    /// A convolution of one board, and what `finish` does to its sums.
    fn convolve<T: Tiles>(
        &self,
        level: Level,
        tiles: &mut T,
        (packed, bias): &(Packed, Vec<f32>),
        x: &[Line],
        sums: &mut [Sums],
        residual: &mut [f32],
        to: &mut [Line],
    ) {
        let padded = self.padded;
        let Channels { input, output } = packed.channels;
        let depth = input / DEPTH;
        let of_half = 2 * 9 * depth * SIDE;
        assert!(
            x.len() == padded.lines(input) && packed.tiles.len() == output / DEPTH * of_half && sums.len() == BLOCK
        );
        for (half, weights) in packed.tiles.chunks_exact(of_half).enumerate() {
            for first in (0..padded.sums()).step_by(BLOCK) {
                let block = Block {
                    x: x[first * depth..].as_ptr(),
                    depth,
                    pitch: padded.pitch(),
                    weights: weights.as_ptr(),
                    sums: sums.as_mut_ptr().cast(),
                };
                let rows = BLOCK.min(padded.sums() - first);
                // SAFETY: the block's rows are below `Padded::sums`, so the farthest tap of the last of them is below
                // `Padded::points`; the weights are those of 9 taps, and the sums have room for three tiles by two.
                unsafe {
                    match rows / SIDE {
                        1 => block.run::<T, 1>(tiles),
                        2 => block.run::<T, 2>(tiles),
                        _ => block.run::<T, 3>(tiles),
                    }
                }
                let place = Place { padded, first, half, depth: output / DEPTH };
                let bias = bias[half * DEPTH..].first_chunk().expect("a bias for each output");
                finish(level, place, &sums[..rows], bias, residual, to);
            }
        }
    }
}

by_level! {
    /// The board's numbers as bfloat16, at their places between the borders.
    plain fn round = round_body(padded: Padded, channels: usize, board: &[f32], to: &mut [Line])
}

#[inline(always)]
fn round_body(padded: Padded, channels: usize, board: &[f32], to: &mut [Line]) {
    for (row, board) in board.chunks_exact(padded.width * channels).enumerate() {
        let start = (1 + (row + 1) * padded.pitch()) * channels / DEPTH;
        for (to, x) in to[start..start + board.len() / DEPTH].iter_mut().zip(board.as_chunks::<DEPTH>().0) {
            for (to, x) in to.0.iter_mut().zip(x) {
                *to = rounded(*x);
            }
        }
    }
}

/// Which sums a block has: from row `first` of the board on, for outputs from 32 `half` on, where a point has `depth` lines.
#[derive(Clone, Copy)]
struct Place {
    padded: Padded,
    first: usize,
    half: usize,
    depth: usize,
}

by_level! {
    /// ReLU(sums + bias), or with a `residual` ReLU(sums + bias + residual), which then replaces it; rounded to `to`.
    plain fn finish = finish_body(
        place: Place, sums: &[Sums], bias: &[f32; DEPTH], residual: &mut [f32], to: &mut [Line],
    )
}

#[inline(always)]
fn finish_body(place: Place, sums: &[Sums], bias: &[f32; DEPTH], residual: &mut [f32], to: &mut [Line]) {
    let Place { padded, first, half, depth } = place;
    let (residual, _) = residual.as_chunks_mut::<DEPTH>();
    let (mut row, mut next) = (first / padded.pitch(), first % padded.pitch());
    for (n, Sums(sums)) in sums.iter().enumerate() {
        let column = next;
        next += 1;
        if column == padded.width {
            (row, next) = (row + 1, 0);
            continue;
        }
        if row >= padded.height {
            break;
        }
        let mut y = [0.0; DEPTH];
        for c in 0..DEPTH {
            y[c] = sums[c] + bias[c];
        }
        if residual.is_empty() {
            for c in 0..DEPTH {
                y[c] = if y[c] > 0.0 { y[c] } else { 0.0 };
            }
        } else {
            let residual = &mut residual[(row * padded.width + column) * depth + half];
            for c in 0..DEPTH {
                let sum = y[c] + residual[c];
                y[c] = if sum > 0.0 { sum } else { 0.0 };
            }
            *residual = y;
        }
        // The point stands one row and one column further.
        let to = &mut to[(first + n + padded.pitch() + 1) * depth + half].0;
        for c in 0..DEPTH {
            to[c] = rounded(y[c]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers;
    use crate::test_data::{assert_close, numbers};

    /// Numbers that bfloat16 holds exactly.
    fn halves(n: usize, seed: u64) -> Vec<f32> {
        numbers(n, seed).iter().map(|x| f32::from_bits(u32::from(rounded(*x)) << 16)).collect()
    }

    fn check<T: Tiles>(tiles: &mut T) {
        for (height, width, channels) in [(1, 1, 32), (3, 5, 32), (6, 7, 64), (9, 9, 96), (15, 15, 32)] {
            let area = height * width;
            let scaled = |seed| halves(9 * channels * channels, seed).iter().map(|w| w * 0.0625).collect::<Vec<_>>();
            let (first, second) = (scaled(1), scaled(2));
            let bias = numbers(channels, 3);
            let convolutions = [(first.clone(), bias.clone()), (second.clone(), bias.clone())];
            let half = HalfTrunk::new(height, width, channels, &convolutions);
            let start = halves(2 * area * channels, 4);
            let relu = |sums: Vec<f32>| -> Vec<f32> {
                sums.iter().zip(bias.iter().cycle()).map(|(s, b)| (s + b).max(0.0)).collect()
            };
            let inside = relu(layers::conv3x3_forward((height, width), &start, &first, channels, channels));
            let inside: Vec<f32> = inside.iter().map(|x| f32::from_bits(u32::from(rounded(*x)) << 16)).collect();
            let mut wanted = layers::conv3x3_forward((height, width), &inside, &second, channels, channels);
            wanted.iter_mut().zip(&start).for_each(|(y, x)| *y += x);
            let wanted = relu(wanted);
            for level in Level::available() {
                let mut trunk = start.clone();
                half.run(level, tiles, &mut trunk, &mut HalfScratch::default());
                // Sums near a rounding border may fall on its other side in another order.
                assert_close(&trunk, &wanted, 5e-3);
            }
        }
    }

    #[test]
    fn a_block_in_bfloat16_is_the_plain_one_on_rounded_numbers() {
        check(&mut Software::new());
    }

    #[test]
    fn rounding_is_to_the_nearest_and_halves_go_to_even() {
        let back = |x: f32| f32::from_bits(u32::from(rounded(x)) << 16);
        assert_eq!([1.0, -2.5, 0.0, 3.140625].map(back), [1.0, -2.5, 0.0, 3.140625]);
        // Between 1 and 1 + 2^-7: the half goes to the even one, more than that up.
        assert_eq!(back(1.0 + 1.0 / 256.0), 1.0);
        assert_eq!(back(1.0 + 3.0 / 256.0), 1.0 + 4.0 / 256.0);
        assert_eq!(back(1.0 + 1.01 / 256.0), 1.0 + 2.0 / 256.0);
        assert_eq!(back(1e-40), 0.0);
    }

    /// Where the processor has tiles, they do what the plain ones do.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn the_processors_tiles_do_the_same() {
        match Amx::new() {
            Some(mut amx) => check(&mut amx),
            None => assert!(!permitted()),
        }
    }
}
