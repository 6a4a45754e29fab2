//! How many positions a second the threat searches visit, on boards of 15x15.
//!
//! Fours: rows of closed threes that never meet, so that every order of fours is tried and none wins. Threats: boards with
//! a stone on every sixth to eighth point, a hundred for each rule.

use std::time::Instant;

use oracle::gomoku::{Limits, Solver};
use rules::Game;
use rules::grid::{Grid, Position, Rule};
use rules::random::Rng;

fn main() {
    for rule in [Rule::Freestyle, Rule::Standard, Rule::Renju] {
        let game = Grid::gomoku(15, rule).unwrap();
        let read = |rows: Vec<String>| game.read_position(&format!("{} x", rows.join("/"))).unwrap();
        let threes = ["...............", "oxxx...oxxx...o", "...............", "..............."];
        let fours = read((0..15).map(|row| threes[row % 4].to_owned()).collect());
        measure(&game, "fours", Limits { fours: 1_000_000, threats: 0 }, &[fours]);

        let scattered = |number| {
            let mut rng = Rng::new(1, number);
            let density = 12 + rng.below(5);
            let mut cell = || b"xo".get(rng.below(density)).map_or('.', |&stone| char::from(stone));
            read((0..15).map(|_| (0..15).map(|_| cell()).collect()).collect())
        };
        let positions: Vec<Position> = (0..100).map(scattered).filter(|p| !game.outcome(p).is_over()).collect();
        measure(&game, "threats", Limits { fours: 0, threats: 2_000 }, &positions);
    }
}

fn measure(game: &Grid, kind: &str, limits: Limits, positions: &[Position]) {
    let mut solver = Solver::new(game, limits).unwrap();
    let (start, busy) = (Instant::now(), processor_seconds());
    for position in positions {
        solver.solve(position);
    }
    // On a shared machine the time on the processor says more than the clock.
    let seconds = match (processor_seconds(), busy) {
        (Some(now), Some(before)) => now - before,
        _ => start.elapsed().as_secs_f64(),
    };
    let (nodes, rate) = (solver.nodes(), solver.nodes() as f64 / seconds);
    println!("{} {kind}: {nodes} nodes in {seconds:.3} s, {rate:.0} a second", game.name());
}

/// Seconds that this thread has run, where the system tells.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}
