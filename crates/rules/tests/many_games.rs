//! What must hold in very many positions: texts are read back, and the fast rules never differ from plain ones.

use rules::connect4::Connect4;
use rules::grid::Grid;
use rules::tictactoe::TicTacToe;
use rules::{Game, Outcome, Rng, Seat};

/// Plays random games until this many positions have been printed and read back.
fn read_back<G: Game>(game: &G, states: usize) {
    let mut seen = 0;
    for number in 0.. {
        let mut rng = Rng::new(19, number);
        let mut position = game.start();
        loop {
            let text = game.write_position(&position);
            assert_eq!(game.read_position(&text).as_ref(), Ok(&position), "{}: {text}", game.name());
            seen += 1;
            if game.outcome(&position).is_over() {
                break;
            }
            let action = game.random_legal(&position, &mut rng);
            game.play(&mut position, action);
        }
        if seen >= states {
            return;
        }
    }
}

#[test]
fn every_position_is_read_back_from_its_text() {
    read_back(&TicTacToe, 100_000);
    read_back(&Connect4, 100_000);
    for name in ["gomoku", "gomoku:9:renju", "gomoku:22:standard", "mnk:7,4,3", "mnk:9,5,4:gravity"] {
        read_back(&name.parse::<Grid>().unwrap(), 20_000);
    }
}

/// Stones on a plain board, who moves by counting moves, a row by walking from the last stone.
struct Plain {
    columns: usize,
    rows: usize,
    length: usize,
    cells: Vec<Option<Seat>>,
    moves: usize,
}

impl Plain {
    fn to_move(&self) -> Seat {
        if self.moves.is_multiple_of(2) { Seat::First } else { Seat::Second }
    }

    fn play(&mut self, cell: usize) -> Outcome {
        let seat = self.to_move();
        assert_eq!(self.cells[cell], None);
        self.cells[cell] = Some(seat);
        self.moves += 1;
        let own = |column: isize, row: isize| {
            let inside = (0..self.columns as isize).contains(&column) && (0..self.rows as isize).contains(&row);
            inside && self.cells[row as usize * self.columns + column as usize] == Some(seat)
        };
        let (column, row) = ((cell % self.columns) as isize, (cell / self.columns) as isize);
        for (dc, dr) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
            let reach = |sign: isize| (1..).take_while(|i| own(column + sign * i * dc, row + sign * i * dr)).count();
            if 1 + reach(1) + reach(-1) >= self.length {
                return Outcome::Win(seat);
            }
        }
        if self.cells.iter().all(Option::is_some) { Outcome::Draw } else { Outcome::Ongoing }
    }
}

/// Plays random games beside the plain rules.
fn beside_plain_rules<G: Game>(game: &G, length: usize, games: u64) {
    let mut ends = [0_u32; 3];
    for number in 0..games {
        let mut rng = Rng::new(25, number);
        let mut position = game.start();
        let (columns, rows) = (game.columns(), game.rows());
        let mut plain = Plain { columns, rows, length, cells: vec![None; game.cells()], moves: 0 };
        loop {
            assert_eq!(game.to_move(&position), plain.to_move(), "{}", game.write_position(&position));
            let action = game.random_legal(&position, &mut rng);
            let outcome = plain.play(game.landing(&position, action));
            game.play(&mut position, action);
            assert_eq!(game.outcome(&position), outcome, "{}", game.write_position(&position));
            match outcome {
                Outcome::Ongoing => continue,
                Outcome::Win(winner) => ends[winner.index()] += 1,
                Outcome::Draw => ends[2] += 1,
            }
            break;
        }
        assert!((0..game.cells()).all(|cell| game.stone(&position, cell) == plain.cells[cell]));
    }
    assert!(ends.iter().all(|&count| count > 0), "every kind of end was met: {ends:?}");
}

#[test]
fn fast_rules_and_plain_rules_never_differ() {
    beside_plain_rules(&TicTacToe, 3, 100_000);
    beside_plain_rules(&Connect4, 4, 100_000);
    beside_plain_rules(&"gomoku:6".parse::<Grid>().unwrap(), 5, 10_000);
    beside_plain_rules(&"mnk:6,5,4:gravity".parse::<Grid>().unwrap(), 4, 10_000);
    beside_plain_rules(&"mnk:5,4,4".parse::<Grid>().unwrap(), 4, 10_000);
}
