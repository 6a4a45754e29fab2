//! All weights of a network in one array, laid out for the kernels and named for the outside.

use std::ops::Range;

use crate::error::NetError;
use crate::file::{Tensor, take};
use crate::lines::Lines;

/// Columns of a panel of a dense layer's weights: as many as a block of the matrix product takes at once.
pub(crate) const PANEL: usize = 64;

/// The next multiple of 16.
pub(crate) fn padded(n: usize) -> usize {
    n.next_multiple_of(16)
}

/// What a tensor is, and so how it is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// `[output][input][3][3]` outside, `[9][input][output]` inside.
    Conv { input: usize, output: usize },
    /// `[output][input][1][1]` outside, as a dense layer inside.
    Pointwise { input: usize, output: usize },
    /// `[output][input]` outside; inside panels of up to 64 outputs, each `[input][outputs of the panel]`, the number of
    /// outputs padded to a multiple of 16 with weights that stay 0.
    Dense { input: usize, output: usize },
    /// `[n]`, padded in the same way.
    Vector { n: usize },
}

impl Kind {
    fn shape(self) -> Vec<usize> {
        match self {
            Kind::Conv { input, output } => vec![output, input, 3, 3],
            Kind::Pointwise { input, output } => vec![output, input, 1, 1],
            Kind::Dense { input, output } => vec![output, input],
            Kind::Vector { n } => vec![n],
        }
    }

    /// Numbers that the tensor takes inside.
    fn len(self) -> usize {
        match self {
            Kind::Conv { input, output } => 9 * input * output,
            Kind::Pointwise { input, output } | Kind::Dense { input, output } => input * padded(output),
            Kind::Vector { n } => padded(n),
        }
    }

    /// Where number `at` of the outside order stands inside.
    fn place(self, at: usize) -> usize {
        match self {
            Kind::Conv { input, output } => {
                let (out, of, tap) = (at / (9 * input), at / 9 % input, at % 9);
                (tap * input + of) * output + out
            }
            Kind::Pointwise { input, output } | Kind::Dense { input, output } => {
                let (out, of) = (at / input, at % input);
                let panel = out / PANEL;
                let width = PANEL.min(padded(output) - panel * PANEL);
                panel * PANEL * input + of * width + out % PANEL
            }
            Kind::Vector { .. } => at,
        }
    }
}

/// A tensor's name and place.
#[derive(Clone, Debug)]
struct Slot {
    name: String,
    kind: Kind,
    range: Range<usize>,
}

/// Named tensors in one array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    slots: Vec<Slot>,
    pub(crate) data: Lines,
}

impl Store {
    /// Makes room for a tensor of zeros; returns its place in `data`.
    pub(crate) fn add(&mut self, name: impl Into<String>, kind: Kind) -> Range<usize> {
        let range = self.data.len()..self.data.len() + kind.len();
        self.data.resize(range.end);
        self.slots.push(Slot { name: name.into(), kind, range: range.clone() });
        range
    }

    /// Sets each number of the tensor at `range` to the next of `value`, in the outside order.
    pub(crate) fn fill(&mut self, range: &Range<usize>, mut value: impl FnMut() -> f32) {
        let slot = self.slots.iter().find(|slot| slot.range == *range).expect("a range that `add` returned");
        let data = &mut self.data[slot.range.clone()];
        for at in 0..slot.kind.shape().iter().product() {
            data[slot.kind.place(at)] = value();
        }
    }

    /// Where the weights proper stand: not the biases, scales and shifts, which are not decayed.
    pub(crate) fn decayed(&self) -> Vec<Range<usize>> {
        let weights = self.slots.iter().filter(|slot| !matches!(slot.kind, Kind::Vector { .. }));
        weights.map(|slot| slot.range.clone()).collect()
    }

    /// `numbers`, laid out as this store's, with names and shapes as PyTorch has them.
    pub(crate) fn named(&self, numbers: &[f32]) -> Vec<Tensor> {
        self.named_within(&(0..self.data.len()), numbers)
    }

    /// Those of them that stand in this range.
    pub(crate) fn named_within(&self, range: &Range<usize>, numbers: &[f32]) -> Vec<Tensor> {
        let tensor = |slot: &Slot| {
            let shape = slot.kind.shape();
            let inside = &numbers[slot.range.clone()];
            let data = (0..shape.iter().product()).map(|at| inside[slot.kind.place(at)]).collect();
            Tensor::new(slot.name.clone(), &shape, data)
        };
        self.slots.iter().filter(|slot| range.contains(&slot.range.start)).map(tensor).collect()
    }

    /// The inside layout of the named tensors.
    ///
    /// # Errors
    /// If one is missing, has another shape or holds a number that is not finite.
    pub(crate) fn laid_out(&self, tensors: &[Tensor]) -> Result<Lines, NetError> {
        let mut data = Lines::zeros(self.data.len());
        for slot in &self.slots {
            let outside = take(tensors, &slot.name, &slot.kind.shape())?;
            let inside = &mut data[slot.range.clone()];
            for (at, number) in outside.iter().enumerate() {
                inside[slot.kind.place(at)] = *number;
            }
        }
        Ok(data)
    }

    /// Whether a tensor has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.slots.iter().any(|slot| slot.name == name)
    }
}

/// # Errors
/// If a tensor belongs to none of the stores.
pub(crate) fn refuse_others(stores: &[&Store], tensors: &[Tensor]) -> Result<(), NetError> {
    match tensors.iter().find(|tensor| !stores.iter().any(|store| store.has(&tensor.name))) {
        Some(tensor) => Err(NetError::Unexpected(tensor.name.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_go_in_and_out_unchanged_and_padding_stays_zero() {
        let mut store = Store::default();
        let conv = store.add("conv", Kind::Conv { input: 3, output: 16 });
        let dense = store.add("dense", Kind::Dense { input: 5, output: 70 });
        let point = store.add("point", Kind::Pointwise { input: 4, output: 1 });
        let bias = store.add("bias", Kind::Vector { n: 7 });
        let mut next = 0.0;
        for range in [&conv, &dense, &point, &bias] {
            store.fill(range, || {
                next += 1.0;
                next
            });
        }
        let tensors = store.named(&store.data);
        let all: Vec<f32> = tensors.iter().flat_map(|t| t.data.iter().copied()).collect();
        assert_eq!(all, (1..=all.len()).map(|n| n as f32).collect::<Vec<_>>());
        assert_eq!(store.laid_out(&tensors).unwrap(), store.data);
        assert_eq!(store.data.iter().filter(|x| **x != 0.0).count(), all.len());
        // Output 65 of the dense layer, input 2: second panel, 16 wide.
        assert_eq!(store.data[dense.start + 64 * 5 + 2 * 16 + 1], store.data[dense.start] + 65.0 * 5.0 + 2.0);
        assert_eq!(store.decayed(), [conv, dense, point]);
    }
}
