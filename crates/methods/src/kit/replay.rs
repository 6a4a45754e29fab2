//! Games gone by, to be learned from again.

use net::file::{Tensor, take};
use rules::{Action, Game, Rng};

use crate::kit::after_states::{Episode, Move};
use crate::learner::RestoreError;

/// The last games of a run, at most `capacity`, in a ring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    capacity: usize,
    games: Vec<Vec<Move>>,
}

/// The tensor's name in a learner's state.
const NAME: &str = "replay";

impl Replay {
    /// Room for so many games.
    pub fn new(capacity: usize) -> Replay {
        Replay { capacity, games: Vec::new() }
    }

    /// Keeps game `number`, counted from 1, in place of the oldest if the room is full.
    pub fn keep<G: Game>(&mut self, episode: &Episode<G>, number: u64) {
        if self.capacity == 0 {
            return;
        }
        let slot = ((number - 1) % self.capacity as u64) as usize;
        if slot == self.games.len() {
            self.games.push(Vec::new());
        }
        episode.save(&mut self.games[slot]);
    }

    /// One of the games that are kept, each with the same probability; there must be one.
    pub fn draw(&self, rng: &mut Rng) -> &[Move] {
        &self.games[rng.below(self.games.len())]
    }

    /// A row for each game: its length, its actions (doubled, odd if drawn at random), zeros.
    pub fn tensor<G: Game>(&self, game: &G) -> Tensor {
        let width = game.cells() + 1;
        let mut rows = Vec::with_capacity(self.games.len() * width);
        for moves in &self.games {
            rows.push(moves.len() as f32);
            rows.extend(moves.iter().map(|m| f32::from(2 * m.action + u16::from(m.explored))));
            rows.resize(rows.len().next_multiple_of(width), 0.0);
        }
        Tensor::new(NAME, &[self.games.len(), width], rows)
    }

    /// What [`Replay::tensor`] gave, after so many games of the run.
    ///
    /// # Errors
    /// If it is missing or holds anything but whole games.
    pub fn restore<G: Game>(game: &G, capacity: usize, games: u64, tensors: &[Tensor]) -> Result<Replay, RestoreError> {
        let kept = games.min(capacity as u64) as usize;
        let width = game.cells() + 1;
        let mut replay = Replay::new(capacity);
        for row in take(tensors, NAME, &[kept, width])?.chunks_exact(width) {
            let length = row[0].clamp(0.0, game.cells() as f32) as usize;
            let moves = row[1..=length].iter().map(|&x| x as Action);
            let moves: Vec<Move> = moves.map(|x| Move { action: x / 2, explored: x % 2 == 1 }).collect();
            let actions: Vec<Action> = moves.iter().map(|m| m.action).collect();
            if !rules::game::replay(game, &actions).is_ok_and(|end| game.outcome(&end).is_over()) {
                return Err(RestoreError::Missing("a whole game to be replayed".to_owned()));
            }
            replay.games.push(moves);
        }
        Ok(replay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::tictactoe::TicTacToe;

    #[test]
    fn the_last_games_are_kept_and_come_back_from_their_tensor() {
        let mut episode = Episode::new(&TicTacToe);
        let mut replay = Replay::new(2);
        for (number, actions) in (1..).zip([[0, 3, 1, 4, 2], [8, 3, 7, 4, 6], [2, 3, 1, 4, 0]]) {
            episode.load(&TicTacToe, &actions.map(|action| Move { action, explored: action == 3 }));
            replay.keep(&episode, number);
        }
        let tensors = [replay.tensor(&TicTacToe)];
        assert_eq!(tensors[0].data[..6], [5.0, 4.0, 7.0, 2.0, 8.0, 0.0]);
        assert_eq!(Replay::restore(&TicTacToe, 2, 3, &tensors), Ok(replay.clone()));
        assert!(Replay::restore(&TicTacToe, 2, 1, &tensors).is_err());
        let mut rng = Rng::new(1, 1);
        assert!((0..9).all(|_| replay.draw(&mut rng).len() == 5));
        let mut broken = tensors[0].clone();
        broken.data[0] = 4.0;
        assert!(Replay::restore(&TicTacToe, 2, 3, &[broken]).is_err(), "a game that has not ended");
    }
}
