//! A network's judgement of a position through the symmetries of the board.
//!
//! A network that was trained on all images of its positions knows that they are equal only roughly. Averaged over the
//! symmetries its judgement is exactly symmetric and a little better, at the price of as many evaluations; through one
//! symmetry drawn for each evaluation it costs nothing, and a search averages over its visits (Silver et al. 2017, "Mastering the
//! game of Go without human knowledge", Methods).

use rules::{Evaluations, Evaluator, Game, Rng, Symmetry};

/// Judges by the average over all symmetric images.
#[derive(Clone, Debug)]
pub struct Averaged<E> {
    inner: E,
    of_images: Evaluations,
}

impl<E> Averaged<E> {
    /// Around another evaluator.
    pub fn new(inner: E) -> Averaged<E> {
        Averaged { inner, of_images: Evaluations::default() }
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Averaged<E> {
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        let symmetries = game.symmetries();
        let images: Vec<G::Position> =
            positions.iter().flat_map(|position| symmetries.iter().map(|&s| game.transform(s, position))).collect();
        self.inner.evaluate(game, &images, &mut self.of_images);
        let part = 1.0 / symmetries.len() as f32;
        let of_images = &self.of_images;
        let mean = |values: &[f32]| values.iter().sum::<f32>() * part;
        out.values.clear();
        out.values.extend(of_images.values.chunks_exact(symmetries.len()).map(mean));
        out.policies.clear();
        out.policies.resize(of_images.policies.len() / symmetries.len(), 0.0);
        let actions = game.actions();
        let rows = of_images.policies.chunks_exact(actions * symmetries.len());
        for (policy, images) in out.policies.chunks_exact_mut(actions).zip(rows) {
            for (&symmetry, image) in symmetries.iter().zip(images.chunks_exact(actions)) {
                add_back(game, symmetry, part, image, policy);
            }
        }
    }
}

/// Judges each position through one of its images, drawn at random.
#[derive(Clone, Debug)]
pub struct Drawn<E> {
    inner: E,
    rng: Rng,
    of_images: Evaluations,
}

impl<E> Drawn<E> {
    /// Around another evaluator; the symmetries are drawn from this stream, position by position.
    pub fn new(inner: E, rng: Rng) -> Drawn<E> {
        Drawn { inner, rng, of_images: Evaluations::default() }
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Drawn<E> {
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        let symmetries = game.symmetries();
        let drawn: Vec<Symmetry> = positions.iter().map(|_| symmetries[self.rng.below(symmetries.len())]).collect();
        let images: Vec<G::Position> =
            positions.iter().zip(&drawn).map(|(position, &s)| game.transform(s, position)).collect();
        self.inner.evaluate(game, &images, &mut self.of_images);
        out.values.clone_from(&self.of_images.values);
        out.policies.clear();
        out.policies.resize(self.of_images.policies.len(), 0.0);
        let actions = game.actions();
        let rows = self.of_images.policies.chunks_exact(actions);
        for ((policy, image), &symmetry) in out.policies.chunks_exact_mut(actions).zip(rows).zip(&drawn) {
            add_back(game, symmetry, 1.0, image, policy);
        }
    }
}

/// Adds `weight` times an image's policy, at the actions that it came from.
fn add_back<G: Game>(game: &G, symmetry: Symmetry, weight: f32, image: &[f32], policy: &mut [f32]) {
    for (action, p) in policy.iter_mut().enumerate() {
        *p += weight * image[usize::from(game.transform_action(symmetry, action as u16))];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::{legal_actions, replay};
    use rules::tictactoe::TicTacToe;

    /// Prefers low cells and likes stones on them: as unsymmetric as can be.
    #[derive(Clone, Debug)]
    struct Biased;

    impl Evaluator<TicTacToe> for Biased {
        fn evaluate(&mut self, game: &TicTacToe, positions: &[<TicTacToe as Game>::Position], out: &mut Evaluations) {
            out.policies.clear();
            out.values.clear();
            for position in positions {
                let legal = legal_actions(game, position);
                let sum: f32 = legal.iter().map(|&a| 1.0 / f32::from(a + 1)).sum();
                let p = |a: u16| if legal.contains(&a) { 1.0 / f32::from(a + 1) / sum } else { 0.0 };
                out.policies.extend((0..9).map(p));
                let stones = (0..9).filter(|&cell| game.stone(position, cell).is_some());
                out.values.push(stones.map(|cell| 0.1 / (cell + 1) as f32).sum());
            }
        }
    }

    fn judged(evaluator: &mut impl Evaluator<TicTacToe>, position: <TicTacToe as Game>::Position) -> (Vec<f32>, f32) {
        let mut out = Evaluations::default();
        // Twice, so that a mix-up of rows would show.
        let start = TicTacToe.start();
        evaluator.evaluate(&TicTacToe, &[start, position], &mut out);
        (out.policies[9..].to_vec(), out.values[1])
    }

    #[test]
    fn an_average_is_the_same_through_every_symmetry_and_still_a_distribution() {
        let game = TicTacToe;
        let position = replay(&game, &[1, 5, 8]).unwrap();
        let (policy, value) = judged(&mut Averaged::new(Biased), position);
        assert!((policy.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!([1, 5, 8].iter().all(|&cell: &usize| policy[cell] == 0.0));
        assert_ne!(judged(&mut Biased, position).0, policy);
        for &symmetry in game.symmetries() {
            let (image, same) = judged(&mut Averaged::new(Biased), game.transform(symmetry, &position));
            assert!((same - value).abs() < 1e-6);
            for action in 0..9 {
                let there = image[usize::from(game.transform_action(symmetry, action))];
                assert!((there - policy[usize::from(action)]).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_draw_is_one_of_the_images_turned_back_and_each_comes_up() {
        let game = TicTacToe;
        let position = replay(&game, &[1, 5, 8]).unwrap();
        let turned_back: Vec<Vec<f32>> = game
            .symmetries()
            .iter()
            .map(|&s| {
                let (image, _) = judged(&mut Biased, game.transform(s, &position));
                (0..9).map(|action| image[usize::from(game.transform_action(s, action))]).collect()
            })
            .collect();
        let mut drawn = Drawn::new(Biased, Rng::new(1, 0));
        let mut seen = [false; 8];
        for _ in 0..200 {
            let (policy, _) = judged(&mut drawn, position);
            seen[turned_back.iter().position(|image| *image == policy).expect("one of the images")] = true;
        }
        assert_eq!(seen, [true; 8]);
    }
}
