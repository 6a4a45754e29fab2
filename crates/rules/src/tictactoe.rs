//! Tic-tac-toe: three in a row on 3x3. Cells are numbered 0 to 8 by rows from the top left.

use crate::game::{Action, Game, Refusal};
use crate::notation::{self, NotationError, quote};
use crate::random::Rng;
use crate::symmetry::Symmetry;
use crate::value::{Outcome, Seat};

/// The game: it has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TicTacToe;

/// Two sets of cells, bit i for cell i: the stones of the side to move and of its opponent. Whose turn it is follows
/// from their number, which is kept so that no move waits for it to be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    mover: u16,
    opponent: u16,
    ply: u16,
}

const FULL: u16 = 0b111_111_111;

/// The eight lines: rows, columns, diagonals.
const LINES: [u16; 8] = [
    0b000_000_111,
    0b000_111_000,
    0b111_000_000,
    0b001_001_001,
    0b010_010_010,
    0b100_100_100,
    0b100_010_001,
    0b001_010_100,
];

/// Bit s is set when the set of cells s contains a line: the win test is one look into 64 bytes.
const HAS_LINE: [u64; 8] = {
    let mut table = [0; 8];
    let mut set = 0;
    while set < 512 {
        let mut line = 0;
        while line < LINES.len() {
            if set & LINES[line] as usize == LINES[line] as usize {
                table[set / 64] |= 1 << (set % 64);
            }
            line += 1;
        }
        set += 1;
    }
    table
};

/// For each set of cells, the cells it contains, lowest first, four bits each.
const MEMBERS: [u64; 512] = {
    let mut table = [0; 512];
    let mut set = 0;
    while set < 512 {
        let mut cell = 0;
        let mut count = 0;
        while cell < 9 {
            if set >> cell & 1 == 1 {
                table[set] |= (cell as u64) << (4 * count);
                count += 1;
            }
            cell += 1;
        }
        set += 1;
    }
    table
};

/// For each symmetry and each set of cells, the set as the symmetry shows it.
const IMAGES: [[u16; 512]; 8] = {
    let mut table = [[0; 512]; 8];
    let mut s = 0;
    while s < 8 {
        let mut set = 0;
        while set < 512 {
            let mut cell = 0;
            while cell < 9 {
                if set >> cell & 1 == 1 {
                    table[s][set] |= 1 << Symmetry::SQUARE[s].cell(3, 3, cell);
                }
                cell += 1;
            }
            set += 1;
        }
        s += 1;
    }
    table
};

/// For each symmetry and each cell, where the symmetry shows it.
const CELLS: [[u8; 9]; 8] = {
    let mut table = [[0; 9]; 8];
    let mut s = 0;
    while s < 8 {
        let mut cell = 0;
        while cell < 9 {
            table[s][cell] = Symmetry::SQUARE[s].cell(3, 3, cell) as u8;
            cell += 1;
        }
        s += 1;
    }
    table
};

#[inline]
fn has_line(cells: u16) -> bool {
    HAS_LINE[usize::from(cells / 64) & 7] >> (cells % 64) & 1 == 1
}

impl Position {
    #[inline]
    fn occupied(self) -> u16 {
        self.mover | self.opponent
    }

    /// The empty cells as a set: bit i for cell i.
    #[inline]
    pub fn empty(self) -> u16 {
        FULL & !self.occupied()
    }

    /// The cells of one side as a set: bit i for cell i.
    #[inline]
    pub fn stones(self, seat: Seat) -> u16 {
        if TicTacToe.to_move(&self) == seat { self.mover } else { self.opponent }
    }
}

impl Game for TicTacToe {
    type Position = Position;

    fn name(&self) -> String {
        "tictactoe".to_owned()
    }

    fn columns(&self) -> usize {
        3
    }

    fn rows(&self) -> usize {
        3
    }

    fn actions(&self) -> usize {
        9
    }

    fn start(&self) -> Position {
        Position::default()
    }

    #[inline]
    fn ply(&self, position: &Position) -> usize {
        usize::from(position.ply)
    }

    #[inline]
    fn to_move(&self, position: &Position) -> Seat {
        Seat::at_ply(self.ply(position))
    }

    #[inline]
    fn outcome(&self, position: &Position) -> Outcome {
        // Only the side that moved last can have won, and a win is tested before fullness: the ninth stone may make it.
        if position.ply >= 5 && has_line(position.opponent) {
            Outcome::Win(self.to_move(position).other())
        } else if position.ply == 9 {
            Outcome::Draw
        } else {
            Outcome::Ongoing
        }
    }

    #[inline]
    fn legal(&self, position: &Position, actions: &mut Vec<Action>) {
        if self.outcome(position).is_over() {
            return;
        }
        let cells = MEMBERS[usize::from(position.empty())];
        actions.extend((0..9 - usize::from(position.ply)).map(|i| (cells >> (4 * i) & 15) as Action));
    }

    fn referee(&self, position: &Position, action: Action) -> Result<(), Refusal> {
        if self.outcome(position).is_over() {
            Err(Refusal::GameOver)
        } else if action >= 9 {
            Err(Refusal::OutOfRange)
        } else if position.occupied() >> action & 1 == 1 {
            Err(Refusal::Occupied)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn play(&self, position: &mut Position, action: Action) {
        debug_assert_eq!(self.referee(position, action), Ok(()));
        let stones = position.mover | 1 << action;
        *position = Position { mover: position.opponent, opponent: stones, ply: position.ply + 1 };
    }

    #[inline]
    fn random_legal(&self, position: &Position, rng: &mut Rng) -> Action {
        let choice = rng.below(9 - usize::from(position.ply));
        (MEMBERS[usize::from(position.empty())] >> (4 * choice) & 15) as Action
    }

    #[inline]
    fn landing(&self, _position: &Position, action: Action) -> usize {
        usize::from(action)
    }

    #[inline]
    fn stone(&self, position: &Position, cell: usize) -> Option<Seat> {
        Seat::BOTH.into_iter().find(|&seat| position.stones(seat) >> cell & 1 == 1)
    }

    #[inline]
    fn for_each_stone(&self, position: &Position, mut visit: impl FnMut(usize, Seat)) {
        for seat in Seat::BOTH {
            let mut stones = position.stones(seat);
            while stones != 0 {
                visit(stones.trailing_zeros() as usize, seat);
                stones &= stones - 1;
            }
        }
    }

    fn winning_lines(&self, position: &Position) -> Vec<Vec<usize>> {
        let complete = |line: &&u16| position.opponent & **line == **line;
        LINES.iter().filter(complete).map(|line| (0..9).filter(|cell| line >> cell & 1 == 1).collect()).collect()
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::SQUARE
    }

    #[inline]
    fn transform(&self, symmetry: Symmetry, position: &Position) -> Position {
        let image = |set: u16| IMAGES[symmetry.index()][usize::from(set)];
        Position { mover: image(position.mover), opponent: image(position.opponent), ply: position.ply }
    }

    #[inline]
    fn transform_action(&self, symmetry: Symmetry, action: Action) -> Action {
        CELLS[symmetry.index()][usize::from(action)].into()
    }

    fn write_action(&self, action: Action) -> String {
        action.to_string()
    }

    fn read_action(&self, text: &str) -> Result<Action, NotationError> {
        notation::read_number(text, 0, 8, "a cell from 0 to 8").map(|cell| cell as Action)
    }

    fn write_position(&self, position: &Position) -> String {
        notation::write_board(3, 3, self.to_move(position), |column, row| self.stone(position, 3 * row + column))
    }

    fn read_position(&self, text: &str) -> Result<Position, NotationError> {
        let mut stones = [0; 2];
        let mover = notation::read_board(text, 3, 3, |column, row, seat| {
            stones[seat.index()] |= 1 << (3 * row + column);
        })?;
        let [x, o] = stones.map(u16::count_ones);
        let [mover_stones, opponent] = [mover, mover.other()].map(|seat| stones[seat.index()]);
        let position = Position { mover: mover_stones, opponent, ply: (x + o) as u16 };
        if x != o && x != o + 1 {
            return Err(NotationError(format!("{} has {x} x and {o} o: they move in turn, x first", quote(text))));
        }
        if self.to_move(&position) != mover {
            return Err(NotationError(format!("{} has {x} x and {o} o: the other side is to move", quote(text))));
        }
        // The side that moved last may have a line; the other would have ended the game before.
        if has_line(position.mover) {
            return Err(NotationError(format!("{} goes on after a line was complete", quote(text))));
        }
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::replay;
    use crate::laws;
    use crate::perft::perft;

    #[test]
    fn obeys_the_laws() {
        laws::check(&TicTacToe, 2_000);
    }

    #[test]
    fn counts_lines_and_positions_as_published() {
        // OEIS A061526 (nodes by depth); 255,168 games in all; 765 positions up to symmetry.
        let lines: Vec<u64> = (0..=9).map(|depth| perft(&TicTacToe, depth).lines).collect();
        assert_eq!(lines, [1, 9, 72, 504, 3_024, 15_120, 54_720, 148_176, 200_448, 127_872]);
        let total = |f: fn(&crate::perft::Perft) -> u64| (0..=9).map(|d| f(&perft(&TicTacToe, d))).sum::<u64>();
        assert_eq!(total(|p| p.positions), 5_478);
        assert_eq!(total(|p| p.canonical), 765);
        assert_eq!(total(|p| p.ended), 255_168);
    }

    #[test]
    fn a_line_made_by_the_ninth_stone_wins() {
        let position = replay(&TicTacToe, &[0, 1, 2, 3, 4, 5, 7, 6, 8]).unwrap();
        assert_eq!(TicTacToe.outcome(&position), Outcome::Win(Seat::First));
    }

    #[test]
    fn two_lines_at_once_are_one_win_and_both_are_shown() {
        let position = replay(&TicTacToe, &[0, 1, 2, 3, 4, 6, 5, 7, 8]).unwrap();
        assert_eq!(TicTacToe.outcome(&position), Outcome::Win(Seat::First));
        let mut lines = TicTacToe.winning_lines(&position);
        lines.sort();
        assert_eq!(lines, [vec![0, 4, 8], vec![2, 5, 8]]);
    }

    #[test]
    fn a_drawn_game_is_over_and_worth_nothing_to_either() {
        let position = replay(&TicTacToe, &[0, 1, 2, 4, 3, 5, 7, 6, 8]).unwrap();
        assert_eq!(TicTacToe.outcome(&position), Outcome::Draw);
        assert!(TicTacToe.winning_lines(&position).is_empty());
    }

    #[test]
    fn moves_after_the_end_on_stones_and_off_the_board_are_refused_in_that_order() {
        let won = replay(&TicTacToe, &[0, 3, 1, 4, 2]).unwrap();
        assert_eq!(TicTacToe.referee(&won, 99), Err(Refusal::GameOver));
        let begun = replay(&TicTacToe, &[0]).unwrap();
        assert_eq!(TicTacToe.referee(&begun, 9), Err(Refusal::OutOfRange));
        assert_eq!(TicTacToe.referee(&begun, 0), Err(Refusal::Occupied));
        assert_eq!(replay(&TicTacToe, &[0, 3, 1, 4, 2, 5]), Err((5, Refusal::GameOver)));
    }

    #[test]
    fn impossible_positions_are_refused() {
        let error = |text: &str| TicTacToe.read_position(text).unwrap_err().to_string();
        assert!(error("xxx/.../... x").contains("3 x and 0 o"));
        assert!(error("x../.../... x").contains("other side is to move"));
        assert!(error("xxx/oo./o.. x").contains("goes on after a line"));
    }

    #[test]
    fn cells_are_numbered_by_rows_so_column_wise_numbering_maps_by_transposition() {
        // A program that numbers 0 3 6 / 1 4 7 / 2 5 8 (PettingZoo) is read by exchanging rows and columns.
        let theirs = [0, 3, 6, 1, 4, 7, 2, 5, 8];
        let transpose = Symmetry::SQUARE[4];
        for (cell, &number) in theirs.iter().enumerate() {
            assert_eq!(usize::from(TicTacToe.transform_action(transpose, cell as Action)), number);
        }
    }
}
