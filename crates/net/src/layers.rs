//! Each layer in its plainest form, forward and backward side by side: what the fast kernels compute.
//!
//! Arrays are `[rows][channels]`, row by row; a row of a convolution's input is one point of one board, points by rows
//! of the board, boards one after another. The backward of a layer takes the gradient of the loss by the layer's
//! output, `dy`, and gives that by its input, `dx`, and by its weights. The kernels are tested against these functions.

/// The gradients of a layer with weights: by its input, its weights and its bias (or shift).
#[derive(Clone, Debug)]
pub struct Gradients {
    /// By the input, of the input's length.
    pub dx: Vec<f32>,
    /// By the weights (by the scale, for a normalisation).
    pub dw: Vec<f32>,
    /// By the bias, one number for each output channel.
    pub db: Vec<f32>,
}

/// y = x W + b for each row; `weights` is `[input][output]`, `bias` has one number for each output.
pub fn dense_forward(x: &[f32], weights: &[f32], bias: &[f32]) -> Vec<f32> {
    let outputs = bias.len();
    let inputs = weights.len() / outputs;
    let mut y = Vec::with_capacity(x.len() / inputs * outputs);
    for x in x.chunks(inputs) {
        for (o, bias) in bias.iter().enumerate() {
            let sum: f32 = x.iter().enumerate().map(|(i, x)| x * weights[i * outputs + o]).sum();
            y.push(sum + bias);
        }
    }
    y
}

/// dx = dy W', dW = x' dy, db = the sum of dy over the rows.
pub fn dense_backward(x: &[f32], weights: &[f32], dy: &[f32], outputs: usize) -> Gradients {
    let inputs = weights.len() / outputs;
    let mut g = Gradients { dx: vec![0.0; x.len()], dw: vec![0.0; weights.len()], db: vec![0.0; outputs] };
    for ((x, dy), dx) in x.chunks(inputs).zip(dy.chunks(outputs)).zip(g.dx.chunks_mut(inputs)) {
        for (o, dy) in dy.iter().enumerate() {
            g.db[o] += dy;
            for i in 0..inputs {
                dx[i] += dy * weights[i * outputs + o];
                g.dw[i * outputs + o] += dy * x[i];
            }
        }
    }
    g
}

/// The pairs (point, neighbour, tap) of a board: neighbour = point + tap - (1, 1), both on the board; taps are
/// numbered by rows, 0 to 8.
fn taps(height: usize, width: usize) -> Vec<(usize, usize, usize)> {
    let mut pairs = Vec::new();
    for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
        for (r, c) in (0..3).flat_map(|r| (0..3).map(move |c| (r, c))) {
            if (1..=height).contains(&(row + r)) && (1..=width).contains(&(column + c)) {
                pairs.push((row * width + column, (row + r - 1) * width + column + c - 1, r * 3 + c));
            }
        }
    }
    pairs
}

/// y at a point = the sum over its 3 x 3 neighbours (0 beyond the border) of x there times the weights of that tap.
///
/// `board` is (height, width), `weights` is `[9 taps][input][output]`.
pub fn conv3x3_forward(board: (usize, usize), x: &[f32], weights: &[f32], inputs: usize, outputs: usize) -> Vec<f32> {
    let area = board.0 * board.1;
    let taps = taps(board.0, board.1);
    let mut y = vec![0.0; x.len() / inputs * outputs];
    for (x, y) in x.chunks(area * inputs).zip(y.chunks_mut(area * outputs)) {
        for &(point, neighbour, tap) in &taps {
            for i in 0..inputs {
                for o in 0..outputs {
                    y[point * outputs + o] += x[neighbour * inputs + i] * weights[(tap * inputs + i) * outputs + o];
                }
            }
        }
    }
    y
}

/// Every product of the forward pass, with the roles exchanged: dx gets dy times the weight, dw gets dy times x.
pub fn conv3x3_backward(board: (usize, usize), x: &[f32], weights: &[f32], dy: &[f32], inputs: usize) -> Gradients {
    let area = board.0 * board.1;
    let outputs = weights.len() / (9 * inputs);
    let taps = taps(board.0, board.1);
    let mut g = Gradients { dx: vec![0.0; x.len()], dw: vec![0.0; weights.len()], db: vec![0.0; outputs] };
    for ((x, dy), dx) in x.chunks(area * inputs).zip(dy.chunks(area * outputs)).zip(g.dx.chunks_mut(area * inputs)) {
        for &(point, neighbour, tap) in &taps {
            for i in 0..inputs {
                for o in 0..outputs {
                    let (dy, at) = (dy[point * outputs + o], (tap * inputs + i) * outputs + o);
                    dx[neighbour * inputs + i] += dy * weights[at];
                    g.dw[at] += dy * x[neighbour * inputs + i];
                }
            }
        }
    }
    for dy in dy.chunks(outputs) {
        for (db, dy) in g.db.iter_mut().zip(dy) {
            *db += dy;
        }
    }
    g
}

/// Mean and variance (the mean squared distance from it) of each channel over all rows.
pub fn moments(x: &[f32], channels: usize) -> (Vec<f32>, Vec<f32>) {
    let rows = (x.len() / channels) as f32;
    let mut mean = vec![0.0; channels];
    let mut variance = vec![0.0; channels];
    for c in 0..channels {
        mean[c] = x.iter().skip(c).step_by(channels).sum::<f32>() / rows;
        variance[c] = x.iter().skip(c).step_by(channels).map(|x| (x - mean[c]) * (x - mean[c])).sum::<f32>() / rows;
    }
    (mean, variance)
}

/// Batch normalisation (Ioffe and Szegedy 2015, algorithm 1): y = scale z + shift, where z = (x - mean) / sqrt(variance + epsilon)
/// and the moments are those of the batch.
pub fn batch_norm_forward(x: &[f32], scale: &[f32], shift: &[f32], epsilon: f32) -> Vec<f32> {
    let channels = scale.len();
    let (mean, variance) = moments(x, channels);
    let y = |(at, x): (usize, &f32)| {
        let c = at % channels;
        scale[c] * (x - mean[c]) / (variance[c] + epsilon).sqrt() + shift[c]
    };
    x.iter().enumerate().map(y).collect()
}

/// With z as in the forward pass and n rows:
/// d shift = sum dy, d scale = sum dy z, dx = scale / sqrt(variance + epsilon) (dy - d shift / n - z d scale / n).
pub fn batch_norm_backward(x: &[f32], scale: &[f32], epsilon: f32, dy: &[f32]) -> Gradients {
    let channels = scale.len();
    let rows = (x.len() / channels) as f32;
    let (mean, variance) = moments(x, channels);
    let z = |at: usize| (x[at] - mean[at % channels]) / (variance[at % channels] + epsilon).sqrt();
    let mut g = Gradients { dx: vec![0.0; x.len()], dw: vec![0.0; channels], db: vec![0.0; channels] };
    for (at, dy) in dy.iter().enumerate() {
        g.db[at % channels] += dy;
        g.dw[at % channels] += dy * z(at);
    }
    for (at, dx) in g.dx.iter_mut().enumerate() {
        let c = at % channels;
        *dx = scale[c] / (variance[c] + epsilon).sqrt() * (dy[at] - g.db[c] / rows - z(at) * g.dw[c] / rows);
    }
    g
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::worst_error;
    use crate::test_data::numbers;

    /// The loss whose gradient by y is `dy`.
    fn loss(y: &[f32], dy: &[f32]) -> f64 {
        y.iter().zip(dy).map(|(y, dy)| f64::from(*y) * f64::from(*dy)).sum()
    }

    #[test]
    fn the_gradients_of_a_dense_layer_are_those_of_finite_differences() {
        let (x, w, b, dy) = (numbers(5 * 4, 1), numbers(4 * 3, 2), numbers(3, 3), numbers(5 * 3, 4));
        let g = dense_backward(&x, &w, &dy, 3);
        assert!(worst_error(&x, &g.dx, 1e-2, |x| loss(&dense_forward(x, &w, &b), &dy)) < 1e-3);
        assert!(worst_error(&w, &g.dw, 1e-2, |w| loss(&dense_forward(&x, w, &b), &dy)) < 1e-3);
        assert!(worst_error(&b, &g.db, 1e-2, |b| loss(&dense_forward(&x, &w, b), &dy)) < 1e-3);
    }

    #[test]
    fn the_gradients_of_a_convolution_are_those_of_finite_differences() {
        let board = (3, 4);
        let (x, w, dy) = (numbers(2 * 12 * 2, 1), numbers(9 * 2 * 3, 2), numbers(2 * 12 * 3, 3));
        let g = conv3x3_backward(board, &x, &w, &dy, 2);
        assert!(worst_error(&x, &g.dx, 1e-2, |x| loss(&conv3x3_forward(board, x, &w, 2, 3), &dy)) < 1e-3);
        assert!(worst_error(&w, &g.dw, 1e-2, |w| loss(&conv3x3_forward(board, &x, w, 2, 3), &dy)) < 1e-3);
    }

    #[test]
    fn the_gradients_of_batch_normalisation_are_those_of_finite_differences() {
        let (x, scale, shift, dy) = (numbers(7 * 3, 1), numbers(3, 2), numbers(3, 3), numbers(7 * 3, 4));
        let g = batch_norm_backward(&x, &scale, 1e-5, &dy);
        let y = |x: &[f32], scale: &[f32], shift: &[f32]| loss(&batch_norm_forward(x, scale, shift, 1e-5), &dy);
        assert!(worst_error(&x, &g.dx, 1e-2, |x| y(x, &scale, &shift)) < 3e-3);
        assert!(worst_error(&scale, &g.dw, 1e-2, |scale| y(&x, scale, &shift)) < 1e-3);
        assert!(worst_error(&shift, &g.db, 1e-2, |shift| y(&x, &scale, shift)) < 1e-3);
    }

    #[test]
    fn a_filter_with_one_tap_shifts_the_board_and_brings_zeros_in() {
        // Tap 1 is the neighbour above.
        let mut w = [0.0; 9];
        w[1] = 1.0;
        let y = conv3x3_forward((2, 3), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &w, 1, 1);
        assert_eq!(y, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    }
}
