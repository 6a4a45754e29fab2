//! 3x3 convolution in 8-bit integers, for inference where the processor multiplies four pairs of them in a lane.
//!
//! A number is held as an integer, rounded, times a step (Jacob et al., "Quantization and Training of Neural Networks for
//! Efficient Integer-Arithmetic-Only Inference", 2018). Weights have a step for each output: their largest is 127 steps.
//! What a convolution reads comes from a ReLU, so no sign takes one of its 8 bits: its largest is 255 steps. That step is
//! found anew for each position, from that position alone, so nothing else in the batch has a say in its outputs.
//! Products are summed exactly, in 32 bits; bias, residual connection and ReLU are f32.
//!
//! The instruction of AVX512-VNNI adds to each of 16 sums four products of a number without sign and one with sign: 64
//! multiply-adds, where one on f32 does 16. A block of sums is 6 points by 64 outputs, in 24 registers: ten loads go
//! beside 24 such instructions. Here the plain sum over taps is taken, since Winograd's transforms need more bits.
//!
//! The instructions sit behind [`Dot`], with a version in plain Rust that gives the same bits; the loops are the same.

use super::tiles::Padded;
use crate::math::{Isa, Level};

/// Points of a block of sums.
const POINTS: usize = 6;
/// Sums in a vector.
const LANES: usize = 16;
/// Inputs that go into a sum together.
const GROUP: usize = 4;
/// Outputs that come in pairs of vectors: channels are a multiple of it.
const PAIR: usize = 2 * LANES;
/// Outputs of the largest block of sums.
const BLOCK: usize = 4 * LANES;

/// The weights from a group of inputs to 16 outputs, `[16][4]`: a vector, and a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([i8; LANES * GROUP]);

/// Weights of a convolution with what finishes its sums.
#[derive(Debug)]
struct Packed {
    /// For each block of 64 outputs, and the 32 that may be left, `[9][input / 4][output / 16]`: in the order of their use.
    lines: Vec<Line>,
    /// What 1 stands for in each output's weights.
    steps: Vec<f32>,
    bias: Vec<f32>,
}

impl Packed {
    /// `weights` is `[9][channels][channels]`.
    fn new(channels: usize, weights: &[f32], bias: &[f32]) -> Packed {
        assert!(weights.len() == 9 * channels * channels && bias.len() == channels);
        let steps: Vec<f32> = (0..channels)
            .map(|output| {
                weights[output..].iter().step_by(channels).fold(0.0, |most: f32, w| most.max(w.abs())) / 127.0
            })
            .collect();
        let integer = |input: usize, output: usize| {
            let step = steps[output];
            if step > 0.0 { (weights[input * channels + output] / step).round() as i8 } else { 0 }
        };
        let mut lines = Vec::with_capacity(weights.len() / (LANES * GROUP));
        for block in (0..channels).step_by(BLOCK) {
            for inputs in (0..9 * channels).step_by(GROUP) {
                for first in (block..channels.min(block + BLOCK)).step_by(LANES) {
                    let weight = |at: usize| integer(inputs + at % GROUP, first + at / GROUP);
                    lines.push(Line(std::array::from_fn(weight)));
                }
            }
        }
        Packed { lines, steps, bias: bias.to_vec() }
    }
}

/// Vectors of 16 sums, and of 16 groups of four numbers of 8 bits.
///
/// As with `Simd`, a value of an implementing type is proof that the processor has the instructions, and every method is
/// inlined into a function that has them switched on.
trait Dot: Copy {
    type V: Copy;

    fn zero(self) -> Self::V;
    /// The same group in all lanes.
    ///
    /// # Safety
    /// `p` may be read for 4 bytes.
    unsafe fn splat(self, p: *const u8) -> Self::V;
    /// # Safety
    /// `p` may be read.
    unsafe fn load(self, p: *const Line) -> Self::V;
    fn store(self, v: Self::V, to: &mut [i32; LANES]);
    /// sum + the four products of `x`, without signs, by `weights`, with signs.
    fn add_products(self, sum: Self::V, x: Self::V, weights: Self::V) -> Self::V;
}

/// Plain Rust.
#[derive(Clone, Copy)]
struct Software;

impl Dot for Software {
    type V = [i32; LANES];

    fn zero(self) -> [i32; LANES] {
        [0; LANES]
    }
    unsafe fn splat(self, p: *const u8) -> [i32; LANES] {
        // SAFETY: the caller's promise.
        [i32::from_le_bytes(unsafe { p.cast::<[u8; GROUP]>().read() }); LANES]
    }
    unsafe fn load(self, p: *const Line) -> [i32; LANES] {
        // SAFETY: the caller's promise.
        let Line(weights) = unsafe { p.read() };
        std::array::from_fn(|lane| {
            i32::from_le_bytes(std::array::from_fn(|at| weights[lane * GROUP + at].cast_unsigned()))
        })
    }
    fn store(self, v: [i32; LANES], to: &mut [i32; LANES]) {
        *to = v;
    }
    // Inlined 24 times it would take the compiler long.
    #[inline(never)]
    fn add_products(self, sum: [i32; LANES], x: [i32; LANES], weights: [i32; LANES]) -> [i32; LANES] {
        std::array::from_fn(|lane| {
            let pairs = x[lane].to_le_bytes().into_iter().zip(weights[lane].to_le_bytes());
            sum[lane] + pairs.map(|(x, w)| i32::from(x) * i32::from(w.cast_signed())).sum::<i32>()
        })
    }
}

/// AVX512-VNNI.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Vnni(());

// SAFETY of every block below: a value of this type is proof that the processor has the instructions; the memory
// accesses are the caller's promise.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::undocumented_unsafe_blocks)]
impl Dot for Vnni {
    type V = std::arch::x86_64::__m512i;

    #[inline(always)]
    fn zero(self) -> Self::V {
        unsafe { std::arch::x86_64::_mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn splat(self, p: *const u8) -> Self::V {
        unsafe { std::arch::x86_64::_mm512_set1_epi32(p.cast::<i32>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn load(self, p: *const Line) -> Self::V {
        unsafe { std::arch::x86_64::_mm512_load_si512(p.cast()) }
    }
    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [i32; LANES]) {
        unsafe { std::arch::x86_64::_mm512_storeu_si512(to.as_mut_ptr().cast(), v) };
    }
    #[inline(always)]
    fn add_products(self, sum: Self::V, x: Self::V, weights: Self::V) -> Self::V {
        unsafe { std::arch::x86_64::_mm512_dpbusd_epi32(sum, x, weights) }
    }
}

/// Whether the processor has AVX512-VNNI, and the [`Level`] is not forced below AVX-512.
pub(crate) fn permitted() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has && Level::best().isa() == Isa::Avx512
}

/// The blocks of a network in 8-bit integers: what is added up along the residual connections stays in f32.
#[derive(Debug)]
pub(crate) struct Int8Trunk {
    padded: Padded,
    channels: usize,
    convolutions: Vec<Packed>,
    /// Where the three rows of neighbours of each point start, in points; they lie a board's pitch apart.
    windows: Vec<usize>,
}

/// What a board is evaluated in; the borders of `x` stay 0.
#[derive(Debug, Default)]
pub(crate) struct Int8Scratch {
    x: Vec<u8>,
    inside: Vec<f32>,
}

impl Int8Trunk {
    /// `convolutions` are two for each block: `[9][channels][channels]`, and a bias; channels a multiple of 32.
    pub(crate) fn new(
        height: usize,
        width: usize,
        channels: usize,
        convolutions: &[(Vec<f32>, Vec<f32>)],
    ) -> Int8Trunk {
        assert!(channels.is_multiple_of(PAIR));
        let padded = Padded::new(height, width);
        Int8Trunk {
            padded,
            channels,
            convolutions: convolutions.iter().map(|(weights, bias)| Packed::new(channels, weights, bias)).collect(),
            windows: (0..height * width).map(|point| point / width * padded.pitch() + point % width).collect(),
        }
    }

    /// Takes each board of `trunk`, `[positions][area][channels]` from a ReLU, through all blocks. `software` for plain
    /// Rust even where the processor has the instructions: the same bits.
    pub(crate) fn run(&self, software: bool, trunk: &mut [f32], scratch: &mut Int8Scratch) {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
        fn vnni(blocks: &Int8Trunk, trunk: &mut [f32], scratch: &mut Int8Scratch) {
            run_body(Vnni(()), blocks, trunk, scratch);
        }
        match software || !permitted() {
            // SAFETY: the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            false => unsafe { vnni(self, trunk, scratch) },
            _ => run_body(Software, self, trunk, scratch),
        }
    }
}

#[inline(always)]
fn run_body<D: Dot>(d: D, blocks: &Int8Trunk, trunk: &mut [f32], scratch: &mut Int8Scratch) {
    let Int8Scratch { x, inside } = scratch;
    let board = blocks.windows.len() * blocks.channels;
    x.resize(blocks.padded.points() * blocks.channels, 0);
    inside.resize(board, 0.0);
    for board in trunk.chunks_exact_mut(board) {
        for block in blocks.convolutions.chunks_exact(2) {
            let step = quantise(blocks, board, x);
            convolve(d, blocks, &block[0], x, step, false, inside);
            let step = quantise(blocks, inside, x);
            convolve(d, blocks, &block[1], x, step, true, board);
        }
    }
}

/// The board's numbers, none negative, as integers at their places between the borders. What 1 stands for in them.
#[inline(always)]
fn quantise(blocks: &Int8Trunk, board: &[f32], to: &mut [u8]) -> f32 {
    /// Adding it rounds to the nearest integer and leaves that in the low bits.
    const ROUND: f32 = 8_388_608.0;
    let mut lanes = [0.0f32; PAIR];
    for chunk in board.as_chunks::<PAIR>().0 {
        for (most, x) in lanes.iter_mut().zip(chunk) {
            *most = if *x > *most { *x } else { *most };
        }
    }
    let largest = lanes.into_iter().fold(0.0, f32::max);
    let per_step = if largest > 0.0 { 255.0 / largest } else { 0.0 };
    let Int8Trunk { padded, channels, .. } = blocks;
    for (row, board) in board.chunks_exact(padded.width * channels).enumerate() {
        let start = (1 + (row + 1) * padded.pitch()) * channels;
        for (to, x) in to[start..start + board.len()].iter_mut().zip(board) {
            *to = (x * per_step + ROUND).to_bits() as u8;
        }
    }
    largest / 255.0
}

/// y = ReLU(convolution of `x` + bias), or with `onto` ReLU(y + convolution of `x` + bias), for one board.
#[inline(always)]
fn convolve<D: Dot>(d: D, blocks: &Int8Trunk, packed: &Packed, x: &[u8], step: f32, onto: bool, y: &mut [f32]) {
    let mut lines = &packed.lines[..];
    for first in (0..blocks.channels).step_by(BLOCK) {
        let vectors = (blocks.channels - first).min(BLOCK) / LANES;
        let (these, rest) = lines.split_at(9 * blocks.channels / GROUP * vectors);
        lines = rest;
        if vectors == 4 {
            outputs::<D, 4>(d, blocks, packed, these, first, x, step, onto, y);
        } else {
            outputs::<D, 2>(d, blocks, packed, these, first, x, step, onto, y);
        }
    }
}

/// The outputs from `first` on, as many as `C` vectors have.
#[inline(always)]
fn outputs<D: Dot, const C: usize>(
    d: D,
    blocks: &Int8Trunk,
    packed: &Packed,
    lines: &[Line],
    first: usize,
    x: &[u8],
    step: f32,
    onto: bool,
    y: &mut [f32],
) {
    let Int8Trunk { padded, channels, windows, .. } = blocks;
    let (row, groups) = (padded.pitch() * channels, 3 * channels / GROUP);
    assert!(lines.len() == 3 * groups * C && x.len() == padded.points() * channels);
    let (steps, bias) = (&packed.steps[first..][..C * LANES], &packed.bias[first..][..C * LANES]);
    let mut sums = [[[0i32; LANES]; C]; POINTS];
    for (block, points) in windows.chunks(POINTS).enumerate() {
        // A block that has fewer points takes its last one several times.
        let mut starts = [x.as_ptr(); POINTS];
        for (i, start) in starts.iter_mut().enumerate() {
            *start = x[points[i.min(points.len() - 1)] * channels..].as_ptr();
        }
        // SAFETY: the last neighbour of a point is two rows and two points after its window's start, which is below
        // `Padded::points`; the lines were counted above.
        unsafe { add_up(d, starts, row, groups, lines.as_ptr(), &mut sums) };
        for (i, sums) in sums[..points.len()].iter().enumerate() {
            let y = &mut y[(block * POINTS + i) * channels + first..][..C * LANES];
            let numbers = sums.as_flattened().iter().zip(steps).zip(bias).zip(y);
            for (((sum, weight_step), bias), y) in numbers {
                let plain = *sum as f32 * (weight_step * step) + bias;
                let sum = if onto { plain + *y } else { plain };
                *y = if sum > 0.0 { sum } else { 0.0 };
            }
        }
    }
}

/// The sums over three rows of `groups` groups of inputs, `row` bytes apart, for each of the points that start there.
///
/// # Safety
/// The pointers reach as far as the loops go.
#[inline(always)]
unsafe fn add_up<D: Dot, const C: usize>(
    d: D,
    starts: [*const u8; POINTS],
    row: usize,
    groups: usize,
    mut lines: *const Line,
    sums: &mut [[[i32; LANES]; C]; POINTS],
) {
    let mut total = [[d.zero(); C]; POINTS];
    for from in [0, row, 2 * row] {
        for group in 0..groups {
            let at = from + GROUP * group;
            let mut weights = [d.zero(); C];
            for c in 0..C {
                // SAFETY: the caller's promise.
                weights[c] = unsafe { d.load(lines.add(c)) };
            }
            // SAFETY: at most one past the last.
            lines = unsafe { lines.add(C) };
            for i in 0..POINTS {
                // SAFETY: the caller's promise.
                let x = unsafe { d.splat(starts[i].add(at)) };
                for c in 0..C {
                    total[i][c] = d.add_products(total[i][c], x, weights[c]);
                }
            }
        }
    }
    for i in 0..POINTS {
        for c in 0..C {
            d.store(total[i][c], &mut sums[i][c]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers;
    use crate::test_data::{assert_close, numbers};

    /// A convolution, finished, by the plain sum on integers held in f32, where those of these sizes are exact.
    fn plain((height, width): (usize, usize), x: &[f32], (weights, bias): &(Vec<f32>, Vec<f32>)) -> Vec<f32> {
        let channels = bias.len();
        let of = |output: usize| weights.iter().skip(output).step_by(channels);
        let steps: Vec<f32> =
            (0..channels).map(|c| of(c).fold(0.0, |most: f32, w| most.max(w.abs())) / 127.0).collect();
        let integers: Vec<f32> = weights.iter().zip(steps.iter().cycle()).map(|(w, step)| (w / step).round()).collect();
        let largest = x.iter().copied().fold(0.0, f32::max);
        let per_step = if largest > 0.0 { 255.0 / largest } else { 0.0 };
        let x: Vec<f32> = x.iter().map(|x| (x * per_step).round_ties_even()).collect();
        let sums = layers::conv3x3_forward((height, width), &x, &integers, channels, channels);
        let numbers = sums.iter().zip(steps.iter().cycle()).zip(bias.iter().cycle());
        numbers.map(|((sum, step), bias)| sum * (step * (largest / 255.0)) + bias).collect()
    }

    #[test]
    fn a_block_in_integers_is_the_plain_one_to_the_bit() {
        for (height, width, channels) in [(1, 1, 32), (3, 5, 32), (6, 7, 64), (9, 9, 96), (2, 3, 160)] {
            let unit = |seed| {
                let weights = numbers(9 * channels * channels, seed).iter().map(|w| w * 0.0625).collect();
                (weights, numbers(channels, seed + 1))
            };
            let convolutions = [unit(1), unit(3)];
            let trunk = Int8Trunk::new(height, width, channels, &convolutions);
            // Two positions and one of zeros.
            let board = height * width * channels;
            let mut start: Vec<f32> = numbers(3 * board, 5).iter().map(|x| x.max(0.0)).collect();
            start[2 * board..].fill(0.0);
            let mut wanted = Vec::new();
            for x in start.chunks(board) {
                let relu = |x: f32| if x > 0.0 { x } else { 0.0 };
                let inside: Vec<f32> = plain((height, width), x, &convolutions[0]).into_iter().map(relu).collect();
                let sums = plain((height, width), &inside, &convolutions[1]);
                wanted.extend(sums.iter().zip(x).map(|(y, x)| relu(y + x)));
            }
            for software in [true, false] {
                let mut found = start.clone();
                trunk.run(software, &mut found, &mut Int8Scratch::default());
                assert_eq!(found, wanted, "{height} x {width}, {channels} channels, in software: {software}");
            }
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let convolution = (vec![0.5; 9 * 64 * 64], vec![0.0; 64]);
        let trunk = Int8Trunk::new(3, 3, 64, &[convolution.clone(), convolution]);
        for software in [true, false] {
            let mut found = vec![1.0; 9 * 64];
            trunk.run(software, &mut found, &mut Int8Scratch::default());
            // At the centre: 9 neighbours, of which 4 have 4, 4 have 6 and 1 has 9 neighbours themselves.
            assert_close(&found[4 * 64..5 * 64], &[1.0 + 32.0 * 32.0 * 49.0; 64], 2e-3);
        }
    }
}
