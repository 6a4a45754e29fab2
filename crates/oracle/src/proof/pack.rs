//! Positions as single words, for walks that hold millions of them.

use rules::connect4::{self, Connect4};
use rules::grid::Grid;
use rules::tictactoe::TicTacToe;
use rules::{Game, Seat};

/// A game whose positions fit in 64 bits, as any do on a board of at most 40 cells.
pub trait Packed: Game {
    /// A word that no other position of the game has.
    fn pack(&self, position: &Self::Position) -> u64 {
        (0..self.cells())
            .rev()
            .fold(0, |key, cell| 3 * key + self.stone(position, cell).map_or(0, |owner| 1 + owner.index() as u64))
    }

    /// The position of a word that [`Packed::pack`] made.
    fn unpack(&self, key: u64) -> Self::Position {
        let mut rest = key;
        let mut text = String::new();
        let mut counts = [0; 2];
        for cell in 0..self.cells() {
            if cell > 0 && cell % self.columns() == 0 {
                text.push('/');
            }
            let owner = (rest % 3).checked_sub(1).map(|index| index as usize);
            text.push(owner.map_or('.', |index| ['x', 'o'][index]));
            owner.into_iter().for_each(|index| counts[index] += 1);
            rest /= 3;
        }
        let to_move = Seat::at_ply(counts[0] + counts[1]);
        text.push_str([" x", " o"][to_move.index()]);
        self.read_position(&text).expect("the word was made from a position")
    }
}

impl Packed for TicTacToe {}

impl Packed for Grid {}

/// The lowest cell of every column, in the layout of `rules::connect4`.
const BOTTOM: u64 = 0x0408_1020_4081;

impl Packed for Connect4 {
    /// The stones of the side to move, and in each column one bit more above its highest stone.
    #[inline]
    fn pack(&self, position: &connect4::Position) -> u64 {
        position.mover() | (position.occupied() + BOTTOM)
    }

    #[inline]
    fn unpack(&self, key: u64) -> connect4::Position {
        // Below the highest bit of each column, 7 bits wide, are its stones.
        let below = (key >> 1) & (BOTTOM * 0b11_1111);
        let below = below | ((below >> 1) & (BOTTOM * 0b1_1111));
        let below = below | ((below >> 2) & (BOTTOM * 0b1111));
        let occupied = below | ((below >> 4) & (BOTTOM * 0b11));
        connect4::Position::from_stones(key & occupied, occupied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::Rng;

    fn check<G: Packed>(game: &G) {
        for number in 0..300 {
            let mut rng = Rng::new(3, number);
            let mut position = game.start();
            while !game.outcome(&position).is_over() {
                assert_eq!(game.unpack(game.pack(&position)), position);
                let action = game.random_legal(&position, &mut rng);
                game.play(&mut position, action);
            }
        }
    }

    #[test]
    fn positions_survive_packing() {
        check(&Connect4);
        check(&TicTacToe);
        check(&Grid::mnk(5, 4, 4, true).unwrap());
    }
}
