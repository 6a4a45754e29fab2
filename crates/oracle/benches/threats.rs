//! How many positions a second the threat searches visit, and how many positions they decide within which limit.
//!
//! A node is a position that the search makes by a move: a four of the attacker in the search by fours (the forced answer
//! behind it is not counted), any move in the search by threats.
//!
//! `cargo bench -p oracle` prints CSV, on boards of 15x15 under each rule. *rows*: rows of closed threes that never meet, so that
//! every order of fours is tried and none wins. *games*: 60 positions after 8 to 40 moves, seven of ten of them chosen
//! by `threat:1` and the others by chance. The time is that of the processor, since a machine is seldom idle.

use std::time::Instant;

use oracle::gomoku::{Limits, Solver, ThreatPlayer, Verdict};
use rules::grid::{Grid, Position, Rule};
use rules::random::Rng;
use rules::{Game, Player};

const POSITIONS: u64 = 60;

fn main() {
    println!("game,positions,kind,limit,nodes,seconds,nodes_per_second,wins,losses,threatened,unknown");
    for rule in [Rule::Freestyle, Rule::Standard, Rule::Renju] {
        let game = Grid::gomoku(15, rule).unwrap();
        measure(&game, "rows", &[rows(&game)], "fours", Limits { fours: 1_000_000, threats: 0 });
        let games: Vec<Position> = (0..POSITIONS).map(|number| lively(&game, number)).collect();
        for limit in [1_000, 4_000, 16_000] {
            measure(&game, "games", &games, "fours", Limits { fours: limit, threats: 0 });
            measure(&game, "games", &games, "threats", Limits { fours: 0, threats: limit });
        }
    }
}

fn rows(game: &Grid) -> Position {
    let threes = ["...............", "oxxx...oxxx...o", "...............", "..............."];
    let rows: Vec<&str> = (0..15).map(|row| threes[row % 4]).collect();
    game.read_position(&format!("{} x", rows.join("/"))).unwrap()
}

/// The position before the game ended, if it ended early.
fn lively(game: &Grid, number: u64) -> Position {
    let mut rng = Rng::new(1, number);
    let mut player = ThreatPlayer::new(game, 1).unwrap();
    let mut position = game.start();
    for _ in 0..8 + rng.below(33) {
        let action = if rng.chance(0.7) {
            player.choose(game, &position, &mut rng).unwrap()
        } else {
            game.random_legal(&position, &mut rng)
        };
        let mut after = position;
        game.play(&mut after, action);
        if game.outcome(&after).is_over() {
            break;
        }
        position = after;
    }
    position
}

fn measure(game: &Grid, name: &str, positions: &[Position], kind: &str, limits: Limits) {
    let mut solver = Solver::new(game, limits).unwrap();
    let [mut wins, mut losses, mut threatened, mut unknown] = [0; 4];
    let (start, busy) = (Instant::now(), processor_seconds());
    for position in positions {
        match solver.solve(position) {
            Verdict::Win(_) => wins += 1,
            Verdict::Threatened { remaining, .. } if remaining.is_empty() => losses += 1,
            Verdict::Threatened { .. } => threatened += 1,
            Verdict::Unknown { .. } => unknown += 1,
        }
    }
    let seconds = match (processor_seconds(), busy) {
        (Some(now), Some(before)) => now - before,
        _ => start.elapsed().as_secs_f64(),
    };
    let (nodes, limit) = (solver.nodes(), limits.fours.max(limits.threats));
    let rate = nodes as f64 / seconds;
    println!(
        "{},{name},{kind},{limit},{nodes},{seconds:.3},{rate:.0},{wins},{losses},{threatened},{unknown}",
        game.name()
    );
}

/// Seconds that this thread has run, where the system tells.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}
