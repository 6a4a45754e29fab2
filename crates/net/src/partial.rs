//! Gradients that were computed apart, one part for each chunk of a batch, put together.

use crate::kernels::pointwise;
use crate::math::Level;
use crate::workers::Workers;

/// Gradients that one worker adds up at a time.
const PIECE: usize = 4096;

/// Adds the chunks' gradients, which stand one after the other in `partial`, to `gradients`: in the order of the chunks, so
/// that the sums have the same bits on any number of threads.
pub(crate) fn add_in_order(level: Level, partial: &[f32], gradients: &mut [f32], workers: &Workers) {
    if partial.is_empty() {
        return;
    }
    let length = gradients.len();
    let items = gradients.chunks_mut(PIECE).enumerate().collect();
    workers.each(items, |(n, piece): (usize, &mut [f32])| {
        for partial in partial.chunks(length) {
            pointwise::add(level, &partial[n * PIECE..][..piece.len()], piece);
        }
    });
}
