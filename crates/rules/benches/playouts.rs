//! Random games a second on one core, through the interface that everyone uses; and the cost of a move alone, when the
//! same games are played again from their lists of moves.
//!
//! `cargo bench -p rules` prints one line of CSV for each game and round; on a busy machine the least time of all rounds
//! is the one to look at.

use std::hint::black_box;
use std::time::Instant;

use rules::connect4::Connect4;
use rules::grid::Grid;
use rules::tictactoe::TicTacToe;
use rules::{Action, Game, Outcome, Rng};

const ROUNDS: u64 = 60;

/// Plays `games` random games and gives their moves one after the other, each game's number of moves, and its outcome.
fn playouts<G: Game>(game: &G, games: usize, seed: u64, mut record: impl FnMut(Action)) -> (usize, usize) {
    let mut rng = Rng::new(seed, 0);
    let (mut plies, mut draws) = (0, 0);
    for _ in 0..games {
        let mut position = game.start();
        let outcome = loop {
            match game.outcome(&position) {
                Outcome::Ongoing => {}
                over => break over,
            }
            let action = game.random_legal(&position, &mut rng);
            game.play(&mut position, action);
            record(action);
            plies += 1;
        };
        draws += usize::from(outcome == Outcome::Draw);
    }
    (plies, draws)
}

fn bench<G: Game>(game: &G, games: usize) {
    for round in 0..ROUNDS {
        let start = Instant::now();
        let (plies, draws) = playouts(game, games, round, |_| ());
        let drawn = start.elapsed().as_secs_f64();

        let mut moves = Vec::with_capacity(plies);
        playouts(game, games, round, |action| moves.push(action));
        let start = Instant::now();
        let mut position = game.start();
        for &action in &moves {
            game.play(&mut position, action);
            if game.outcome(&position).is_over() {
                position = black_box(game.start());
            }
        }
        let given = start.elapsed().as_secs_f64();
        assert_eq!(position, game.start(), "the last game ends with the last move");

        println!(
            "{},{round},{games},{plies},{draws},{:.0},{:.2},{:.2}",
            game.name(),
            games as f64 / drawn,
            drawn * 1e9 / plies as f64,
            given * 1e9 / plies as f64,
        );
    }
}

fn main() {
    println!("game,round,games,plies,draws,games_per_s,ns_per_ply,ns_per_ply_of_known_games");
    bench(&TicTacToe, 50_000);
    bench(&Connect4, 15_000);
    for name in ["gomoku", "gomoku:15:standard", "gomoku:15:renju", "mnk:7,6,4:gravity"] {
        let game: Grid = name.parse().expect("a game of the grid");
        bench(&game, 400);
    }
}
