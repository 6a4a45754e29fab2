//! Weights and other state as bytes: the safetensors format, with one JSON text of metadata.
//!
//! The format is safe to read from strangers: nothing in it is executed, and every length is checked. Its own
//! metadata is a map that the crate writes in random order, so all of ours is one JSON string under one key;
//! the same content then gives the same bytes, which is what makes a resumed run comparable with an unbroken one.

use std::collections::HashMap;

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use thiserror::Error;

/// The key under which the metadata stands.
const KEY: &str = "tengen";

/// A named array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Unique in its file, such as `hidden.weight`.
    pub name: String,
    /// Lengths of the dimensions, slowest first.
    pub shape: Vec<usize>,
    /// The numbers, row by row; as many as the product of `shape`.
    pub data: Vec<f32>,
}

impl Tensor {
    /// # Panics
    /// If `data` does not have as many numbers as `shape` says.
    pub fn new(name: impl Into<String>, shape: &[usize], data: Vec<f32>) -> Tensor {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "a tensor's shape and length agree");
        Tensor { name: name.into(), shape: shape.to_vec(), data }
    }
}

/// Finds a tensor by name and checks its shape.
///
/// # Errors
/// If it is missing, has another shape, or holds a number that is not finite.
pub fn take<'a>(tensors: &'a [Tensor], name: &str, shape: &[usize]) -> Result<&'a [f32], FileError> {
    let tensor = tensors.iter().find(|t| t.name == name).ok_or_else(|| FileError::Missing(name.to_owned()))?;
    if tensor.shape != shape {
        return Err(FileError::Shape { name: name.to_owned(), found: tensor.shape.clone(), expected: shape.to_vec() });
    }
    match tensor.data.iter().find(|x| !x.is_finite()) {
        Some(x) => Err(FileError::NotFinite { name: name.to_owned(), number: *x }),
        None => Ok(&tensor.data),
    }
}

/// Why bytes are not the file that was expected.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FileError {
    /// Truncated, damaged or another format.
    #[error("not a whole safetensors file: {0}")]
    Damaged(String),
    /// A safetensors file written by another program.
    #[error("a safetensors file, but not one of Tengen's: it has no '{KEY}' entry in its metadata")]
    Foreign,
    /// A tensor that should be there is not.
    #[error("the tensor '{0}' is missing")]
    Missing(String),
    /// A tensor of another network.
    #[error("the tensor '{name}' has the shape {found:?} where {expected:?} is needed")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// The shape that the network has.
        expected: Vec<usize>,
    },
    /// NaN or infinity among the weights.
    #[error("the tensor '{name}' holds {number}")]
    NotFinite {
        /// The tensor.
        name: String,
        /// The first number that is not finite.
        number: f32,
    },
}

/// The file's bytes; the same arguments give the same bytes.
///
/// # Panics
/// If two tensors have the same name.
pub fn write(metadata: &str, tensors: &[Tensor]) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|t| t.data.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
        let view = TensorView::new(Dtype::F32, tensor.shape.clone(), bytes).expect("shape and length agree");
        (tensor.name.as_str(), view)
    });
    let metadata = HashMap::from([(KEY.to_owned(), metadata.to_owned())]);
    safetensors::serialize(views, Some(metadata)).expect("names are unique")
}

/// The metadata and the tensors, sorted by name.
///
/// # Errors
/// [`FileError::Damaged`] or [`FileError::Foreign`].
pub fn read(bytes: &[u8]) -> Result<(String, Vec<Tensor>), FileError> {
    let damaged = |e: safetensors::SafeTensorError| FileError::Damaged(e.to_string());
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let metadata = header.metadata().as_ref().and_then(|map| map.get(KEY)).ok_or(FileError::Foreign)?.clone();
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let mut tensors = Vec::with_capacity(file.len());
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(FileError::Damaged(format!("the tensor '{name}' is {:?}, not F32", view.dtype())));
        }
        let data = view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        tensors.push(Tensor { name: name.to_owned(), shape: view.shape().to_vec(), data });
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((metadata, tensors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Tensor> {
        vec![Tensor::new("a", &[2, 2], vec![1.0, -0.0, 0.5, 3.0e-39]), Tensor::new("b", &[1], vec![f32::MAX])]
    }

    #[test]
    fn what_is_written_is_read_back_and_written_the_same_again() {
        let bytes = write("{\"x\":1}", &sample());
        let (metadata, tensors) = read(&bytes).unwrap();
        assert_eq!((metadata.as_str(), &tensors), ("{\"x\":1}", &sample()));
        assert_eq!(write(&metadata, &tensors), bytes);
    }

    #[test]
    fn every_truncation_and_every_kind_of_stranger_is_refused() {
        let bytes = write("{}", &sample());
        for length in 0..bytes.len() {
            assert!(matches!(read(&bytes[..length]), Err(FileError::Damaged(_))), "cut to {length}");
        }
        assert!(matches!(read(b"PK\x03\x04 some archive or other"), Err(FileError::Damaged(_))));
        let foreign = safetensors::serialize(Vec::<(String, TensorView<'_>)>::new(), None).unwrap();
        assert_eq!(read(&foreign), Err(FileError::Foreign));
    }

    #[test]
    fn a_tensor_is_taken_by_name_shape_and_soundness() {
        let mut tensors = sample();
        assert_eq!(take(&tensors, "b", &[1]), Ok(&[f32::MAX][..]));
        assert_eq!(take(&tensors, "c", &[1]), Err(FileError::Missing("c".into())));
        assert!(matches!(take(&tensors, "a", &[4]), Err(FileError::Shape { .. })));
        tensors[1].data[0] = f32::NAN;
        assert!(matches!(take(&tensors, "b", &[1]), Err(FileError::NotFinite { .. })));
    }
}
