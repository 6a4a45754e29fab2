//! A multilayer perceptron: layers of weights, each followed by an activation function, learning by plain
//! stochastic gradient descent, one sample at a time.
//!
//! Notation: layer l turns `a` (length `inputs`) into `y = f(W a + b)` (length `outputs`); the gradient of the loss
//! with respect to `W a + b` is `delta = f'(y) dL/dy`, and then dL/dW = delta a^T, dL/db = delta, dL/da = W^T delta
//! (Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors", 1986).

use crate::file::{FileError, Tensor, take};
use crate::math;

/// The function applied to each output of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x itself.
    Identity,
    /// max(x, 0).
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// The function.
    #[inline]
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Activation::Identity => x,
            Activation::Relu => x.max(0.0),
            Activation::Tanh => math::tanh(x),
        }
    }

    /// The derivative where the function has the value `y`; 0 for ReLU at 0.
    #[inline]
    pub fn slope(self, y: f32) -> f32 {
        match self {
            Activation::Identity => 1.0,
            Activation::Relu => f32::from(u8::from(y > 0.0)),
            Activation::Tanh => 1.0 - y * y,
        }
    }
}

/// Which parameter is about to get its first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The layer, counted from 0 at the inputs.
    pub layer: usize,
    /// A bias, not a weight.
    pub bias: bool,
    /// Number of inputs of the layer (the fan-in).
    pub inputs: usize,
    /// Number of outputs of the layer (the fan-out).
    pub outputs: usize,
}

/// A network with its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    layers: Vec<Layer>,
}

#[derive(Clone, Debug, PartialEq)]
struct Layer {
    inputs: usize,
    outputs: usize,
    activation: Activation,
    /// `inputs` rows of `outputs`: what each input adds to every output.
    weights: Vec<f32>,
    biases: Vec<f32>,
}

/// What one forward pass leaves behind for the backward pass. Made by [`Mlp::pass`], used again and again.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The inputs and then the outputs of every layer.
    values: Vec<Vec<f32>>,
    /// The gradient with respect to each of `values`.
    gradients: Vec<Vec<f32>>,
}

impl Pass {
    /// The outputs of the last forward pass.
    pub fn outputs(&self) -> &[f32] {
        &self.values[self.values.len() - 1]
    }
}

impl Mlp {
    /// A network with `sizes[0]` inputs and one layer for each further size, followed by the function of the same
    /// index in `activations`. `init` gives every parameter its first value: layer by layer, the weights of output 0,
    /// of output 1, ..., then the biases.
    ///
    /// # Panics
    /// If there is no layer, a size is 0, or the lengths do not fit.
    pub fn new(sizes: &[usize], activations: &[Activation], mut init: impl FnMut(Place) -> f32) -> Mlp {
        assert!(!activations.is_empty() && sizes.len() == activations.len() + 1, "one function for each layer");
        assert!(sizes.iter().all(|&size| size > 0), "no layer is empty");
        let layers = sizes.windows(2).zip(activations).enumerate().map(|(layer, (pair, &activation))| {
            let (inputs, outputs) = (pair[0], pair[1]);
            let mut weights = vec![0.0; inputs * outputs];
            for output in 0..outputs {
                for input in 0..inputs {
                    weights[input * outputs + output] = init(Place { layer, bias: false, inputs, outputs });
                }
            }
            let biases = (0..outputs).map(|_| init(Place { layer, bias: true, inputs, outputs })).collect();
            Layer { inputs, outputs, activation, weights, biases }
        });
        Mlp { layers: layers.collect() }
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| (layer.inputs + 1) * layer.outputs).sum()
    }

    /// Whether every weight and bias is a finite number.
    pub fn is_finite(&self) -> bool {
        self.layers.iter().flat_map(|layer| layer.weights.iter().chain(&layer.biases)).all(|x| x.is_finite())
    }

    /// Room for the forward and backward passes of this network.
    pub fn pass(&self) -> Pass {
        let sizes = std::iter::once(self.inputs()).chain(self.layers.iter().map(|layer| layer.outputs));
        let values: Vec<Vec<f32>> = sizes.map(|size| vec![0.0; size]).collect();
        Pass { gradients: values.clone(), values }
    }

    /// The outputs for these inputs, kept in `pass` for [`Mlp::descend`].
    ///
    /// # Panics
    /// If there are not as many inputs as the network has, or `pass` is another network's.
    pub fn forward<'p>(&self, pass: &'p mut Pass, inputs: &[f32]) -> &'p [f32] {
        pass.values[0].copy_from_slice(inputs);
        self.forward_from_inputs(pass)
    }

    /// As [`Mlp::forward`] for inputs that are 1 at the indices `ones` (each listed once) and 0 elsewhere.
    ///
    /// # Panics
    /// If an index is too large, or `pass` is another network's.
    pub fn forward_sparse<'p>(&self, pass: &'p mut Pass, ones: &[usize]) -> &'p [f32] {
        pass.values[0].fill(0.0);
        for &one in ones {
            pass.values[0][one] = 1.0;
        }
        self.forward_from_inputs(pass)
    }

    fn forward_from_inputs<'p>(&self, pass: &'p mut Pass) -> &'p [f32] {
        for (l, layer) in self.layers.iter().enumerate() {
            let (before, after) = pass.values.split_at_mut(l + 1);
            let (a, y) = (&before[l], &mut after[0]);
            y.copy_from_slice(&layer.biases);
            for (&a, row) in a.iter().zip(layer.weights.chunks_exact(layer.outputs)) {
                // Most inputs of a board are 0, and so is half of what ReLU lets through.
                if a != 0.0 {
                    y.iter_mut().zip(row).for_each(|(y, &w)| *y += a * w);
                }
            }
            y.iter_mut().for_each(|y| *y = layer.activation.apply(*y));
        }
        pass.outputs()
    }

    /// One step of gradient descent for the forward pass that `pass` holds: every parameter w becomes
    /// w - `rate` dL/dw, where `d_outputs` is dL/dy for the network's outputs y.
    ///
    /// The gradient is that of the weights as they are now; they must not have changed since the forward pass.
    ///
    /// # Panics
    /// If there are not as many gradients as outputs.
    pub fn descend(&mut self, pass: &mut Pass, d_outputs: &[f32], rate: f32) {
        pass.gradients[self.layers.len()].copy_from_slice(d_outputs);
        for (l, layer) in self.layers.iter_mut().enumerate().rev() {
            let (before, after) = pass.gradients.split_at_mut(l + 1);
            let (d_inputs, delta) = (&mut before[l], &mut after[0]);
            for (delta, &y) in delta.iter_mut().zip(&pass.values[l + 1]) {
                *delta *= layer.activation.slope(y);
            }
            for (i, row) in layer.weights.chunks_exact_mut(layer.outputs).enumerate() {
                // Backwards through the old weights, then the step.
                d_inputs[i] = row.iter().zip(&*delta).map(|(&w, &d)| w * d).sum();
                let a = pass.values[l][i];
                if a != 0.0 {
                    row.iter_mut().zip(&*delta).for_each(|(w, &d)| *w -= rate * d * a);
                }
            }
            layer.biases.iter_mut().zip(&*delta).for_each(|(b, &d)| *b -= rate * d);
        }
    }

    /// The parameters as `{prefix}0.weight` (outputs x inputs), `{prefix}0.bias` (outputs), `{prefix}1.weight`, ...
    pub fn tensors(&self, prefix: &str) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        for (l, layer) in self.layers.iter().enumerate() {
            let by_output =
                (0..layer.outputs).flat_map(|o| layer.weights.iter().skip(o).step_by(layer.outputs).copied());
            let shape = [layer.outputs, layer.inputs];
            tensors.push(Tensor::new(format!("{prefix}{l}.weight"), &shape, by_output.collect()));
            tensors.push(Tensor::new(format!("{prefix}{l}.bias"), &[layer.outputs], layer.biases.clone()));
        }
        tensors
    }

    /// Takes the parameters that [`Mlp::tensors`] gave; others in the list are ignored.
    ///
    /// # Errors
    /// If one is missing, has another shape or holds a number that is not finite; the network is then unchanged.
    pub fn set_tensors(&mut self, prefix: &str, tensors: &[Tensor]) -> Result<(), FileError> {
        let mut read = self.clone();
        for (l, layer) in read.layers.iter_mut().enumerate() {
            let weights = take(tensors, &format!("{prefix}{l}.weight"), &[layer.outputs, layer.inputs])?;
            for (o, row) in weights.chunks_exact(layer.inputs).enumerate() {
                for (i, &w) in row.iter().enumerate() {
                    layer.weights[i * layer.outputs + o] = w;
                }
            }
            layer.biases.copy_from_slice(take(tensors, &format!("{prefix}{l}.bias"), &[layer.outputs])?);
        }
        *self = read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in [-0.5, 0.5) that look random: multiples of the golden ratio.
    fn numbers() -> impl FnMut() -> f32 {
        let mut state = 0.0_f64;
        move || {
            state = (state + 0.618_033_988_749_895).fract();
            (state - 0.5) as f32
        }
    }

    fn network(sizes: &[usize], activations: &[Activation]) -> Mlp {
        let mut next = numbers();
        Mlp::new(sizes, activations, |_| next())
    }

    const SHAPES: [(&[usize], &[Activation]); 4] = [
        (&[9, 27, 1], &[Activation::Tanh, Activation::Tanh]),
        (&[18, 100, 9], &[Activation::Relu, Activation::Identity]),
        (&[5, 17, 33, 4], &[Activation::Tanh, Activation::Relu, Activation::Identity]),
        (&[3, 2], &[Activation::Identity]),
    ];

    #[test]
    fn a_network_computed_by_hand() {
        let mut values = [1.0, 2.0, -1.0, 0.5, 0.25, -3.0, 2.0, 1.0, 0.5].into_iter();
        let mut net = Mlp::new(&[2, 2, 1], &[Activation::Relu, Activation::Identity], |_| values.next().unwrap());
        let mut pass = net.pass();
        // Hidden: (1*1 + 2*2 + 0.25, -1*1 + 0.5*2 - 3) = (5.25, -3), so (5.25, 0); output 2*5.25 + 1*0 + 0.5.
        assert_eq!(net.forward(&mut pass, &[1.0, 2.0]), [11.0]);
        // L = y, rate 0.1: dL/dhidden = (2, 1), the second is cut off by ReLU.
        net.descend(&mut pass, &[1.0], 0.1);
        let expected: [&[f32]; 4] = [&[0.8, 1.6, -1.0, 0.5], &[0.05, -3.0], &[2.0 - 0.525, 1.0], &[0.4]];
        for (tensor, expected) in net.tensors("").iter().zip(expected) {
            let close = tensor.data.iter().zip(expected).all(|(x, e)| (x - e).abs() < 1e-6);
            assert!(close && tensor.data.len() == expected.len(), "{tensor:?}, not {expected:?}");
        }
    }

    /// dL/dw for every parameter, in the order of [`Mlp::tensors`], where L = sum of `d_outputs` x outputs.
    fn gradient(net: &Mlp, inputs: &[f32], d_outputs: &[f32]) -> Vec<f32> {
        let mut after = net.clone();
        let mut pass = after.pass();
        after.forward(&mut pass, inputs);
        after.descend(&mut pass, d_outputs, 1.0);
        let flat = |net: &Mlp| net.tensors("").into_iter().flat_map(|t| t.data).collect::<Vec<_>>();
        flat(net).iter().zip(flat(&after)).map(|(before, after)| before - after).collect()
    }

    #[test]
    fn the_step_is_the_gradient_that_finite_differences_show() {
        for (sizes, activations) in SHAPES {
            let net = network(sizes, activations);
            let mut next = numbers();
            next();
            let inputs: Vec<f32> = (0..net.inputs()).map(|_| next()).collect();
            let d_outputs: Vec<f32> = (0..net.outputs()).map(|_| next()).collect();
            let loss = |tensors: &[Tensor]| {
                let mut net = net.clone();
                net.set_tensors("", tensors).unwrap();
                let mut pass = net.pass();
                let outputs = net.forward(&mut pass, &inputs);
                outputs.iter().zip(&d_outputs).map(|(&y, &d)| f64::from(y) * f64::from(d)).sum::<f64>()
            };
            let analytic = gradient(&net, &inputs, &d_outputs);
            let mut tensors = net.tensors("");
            let mut analytic = analytic.iter();
            for t in 0..tensors.len() {
                for i in 0..tensors[t].data.len() {
                    let w = tensors[t].data[i];
                    // Small, so that no ReLU turns on or off within it.
                    let step = 1e-3;
                    tensors[t].data[i] = w + step;
                    let above = loss(&tensors);
                    tensors[t].data[i] = w - step;
                    let below = loss(&tensors);
                    tensors[t].data[i] = w;
                    let numeric = (above - below) / f64::from(2.0 * step);
                    let analytic = f64::from(*analytic.next().unwrap());
                    assert!((numeric - analytic).abs() < 5e-4, "{sizes:?}: {numeric} and {analytic}");
                }
            }
        }
    }

    #[test]
    fn indices_of_ones_mean_the_same_as_ones() {
        for (sizes, activations) in SHAPES {
            let net = network(sizes, activations);
            let ones = [0, net.inputs() - 1];
            let dense: Vec<f32> = (0..net.inputs()).map(|i| f32::from(u8::from(ones.contains(&i)))).collect();
            let (mut a, mut b) = (net.pass(), net.pass());
            assert_eq!(net.forward(&mut a, &dense), net.forward_sparse(&mut b, &ones));
        }
    }

    #[test]
    fn weights_survive_the_way_out_and_in_and_strangers_change_nothing() {
        let net = network(&[18, 100, 9], &[Activation::Relu, Activation::Identity]);
        assert_eq!((net.parameters(), net.inputs(), net.outputs()), (2_809, 18, 9));
        let mut copy = Mlp::new(&[18, 100, 9], &[Activation::Relu, Activation::Identity], |_| 0.0);
        let blank = copy.clone();
        let mut tensors = net.tensors("policy.");
        assert_eq!(tensors[2].name, "policy.1.weight");
        assert!(copy.set_tensors("value.", &tensors).is_err() && copy == blank);
        copy.set_tensors("policy.", &tensors).unwrap();
        assert_eq!(copy, net);
        tensors[3].data[0] = f32::INFINITY;
        let mut copy = blank.clone();
        assert!(copy.set_tensors("policy.", &tensors).is_err() && copy == blank);
    }

    #[test]
    fn a_weight_that_is_not_a_number_is_found() {
        let mut net = network(&[18, 100, 9], &[Activation::Relu, Activation::Identity]);
        assert!(net.is_finite());
        let mut pass = net.pass();
        net.forward_sparse(&mut pass, &[3]);
        net.descend(&mut pass, &[f32::NAN; 9], 0.1);
        assert!(!net.is_finite());
    }
}
