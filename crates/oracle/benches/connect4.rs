//! Solves the published sets of Connect Four positions and prints, for each, the mean time of a position, the positions
//! visited and how many of them a second: `cargo bench -p oracle --bench connect4 [-- FILE ...]`.
//!
//! One thread, no book; what was found out is forgotten before each position, and forgetting is not timed.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use oracle::connect4::{Score, Solver, read_moves};

const MEMORY: usize = 128 << 20;
const SETS: [&str; 6] = ["Test_L3_R1", "Test_L2_R1", "Test_L2_R2", "Test_L1_R1", "Test_L1_R2", "Test_L1_R3"];

fn main() {
    let mut files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if files.is_empty() {
        files = SETS.map(|set| format!("{}/data/connect4/{set}", env!("CARGO_MANIFEST_DIR"))).to_vec();
    }
    let go_on = AtomicBool::new(false);
    let mut solver = Solver::new(MEMORY, 1);
    println!("{:40} {:>9} {:>14} {:>14} {:>12}", "set", "positions", "mean us", "mean nodes", "nodes/s");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut time = Duration::ZERO;
        let mut positions = 0;
        let before = solver.nodes();
        for line in text.lines() {
            let (moves, expected) = line.split_once(' ').expect("moves and a score");
            let position = read_moves(moves).unwrap_or_else(|error| panic!("{moves}: {error}"));
            solver.clear();
            let start = Instant::now();
            let score = black_box(solver.score(black_box(&position), &go_on));
            time += start.elapsed();
            positions += 1;
            assert_eq!(score, Ok(Score(expected.parse().expect("a number"))), "{moves}");
        }
        let nodes = (solver.nodes() - before) as f64;
        let seconds = time.as_secs_f64();
        let count = f64::from(positions);
        let name = file.rsplit('/').next().unwrap_or(&file);
        println!(
            "{name:40} {positions:>9} {:>14.3} {:>14.1} {:>12.0}",
            seconds / count * 1e6,
            nodes / count,
            nodes / seconds
        );
    }
}
