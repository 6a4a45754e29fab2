//! The board as numbers for a network: one plane of cells for each kind of stone.

use crate::game::Game;
use crate::value::Seat;

/// From whose side the board is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Plane 0 holds the first player's stones, plane 1 the second's, whoever is to move.
    Absolute,
    /// Plane 0 holds the stones of the side to move, plane 1 its opponent's, so one network serves both seats.
    Relative,
}

impl View {
    /// The plane (0 or 1) that a stone of `owner` belongs to when `to_move` is to move.
    #[inline]
    pub fn plane(self, owner: Seat, to_move: Seat) -> usize {
        match self {
            View::Absolute => owner.index(),
            View::Relative => usize::from(owner != to_move),
        }
    }
}

/// Writes the two planes of stones: `planes` has length 2 x cells, plane by plane, each 0 or 1.
///
/// # Panics
/// If `planes` has another length.
pub fn write_planes<G: Game>(game: &G, position: &G::Position, view: View, planes: &mut [f32]) {
    let cells = game.cells();
    assert_eq!(planes.len(), 2 * cells, "two planes of {cells} cells");
    planes.fill(0.0);
    let to_move = game.to_move(position);
    for cell in 0..cells {
        if let Some(owner) = game.stone(position, cell) {
            planes[view.plane(owner, to_move) * cells + cell] = 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::replay;
    use crate::tictactoe::TicTacToe;

    #[test]
    fn the_view_decides_whose_stones_come_first_and_nothing_else() {
        let game = TicTacToe;
        let position = replay(&game, &[4, 0, 8]).unwrap();
        let mut absolute = [0.0; 18];
        let mut relative = [0.0; 18];
        write_planes(&game, &position, View::Absolute, &mut absolute);
        write_planes(&game, &position, View::Relative, &mut relative);
        let ones = |planes: &[f32]| (0..18).filter(|&i| planes[i] == 1.0).collect::<Vec<_>>();
        assert_eq!(ones(&absolute), [4, 8, 9]);
        // O is to move, so the planes are exchanged.
        assert_eq!(ones(&relative), [0, 9 + 4, 9 + 8]);
    }
}
