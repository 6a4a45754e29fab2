//! How many positions a second the threat searches visit.
use std::time::Instant;

use oracle::gomoku::{Limits, Solver};
use rules::Game;
use rules::grid::{Grid, Rule};
use rules::random::Rng;

fn main() {
    let density: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    for rule in [Rule::Freestyle, Rule::Standard, Rule::Renju] {
        let game = Grid::gomoku(15, rule).unwrap();
        for (kind, limits) in
            [("fours", Limits { fours: 200_000, threats: 0 }), ("threats", Limits { fours: 0, threats: 100_000 })]
        {
            let mut solver = Solver::new(&game, limits).unwrap();
            let mut seconds = 0.0;
            for number in 0..20 {
                let mut rng = Rng::new(1, number);
                let rows: Vec<String> =
                    (0..15).map(|_| (0..15).map(|_| *b"xo.................".get(rng.below(density)).unwrap() as char).collect()).collect();
                let Ok(position) = game.read_position(&format!("{} x", rows.join("/"))) else { continue };
                if game.outcome(&position).is_over() {
                    continue;
                }
                let start = Instant::now();
                let nodes = solver.nodes();
                let v = solver.solve(&position);
                seconds += start.elapsed().as_secs_f64();
                let what = match v { oracle::gomoku::Verdict::Win(_) => "win", oracle::gomoku::Verdict::Threatened{..} => "thr", oracle::gomoku::Verdict::Unknown{complete:true} => "none", _ => "unknown"};
                eprintln!("{} {kind} {what} {} {:?}", game.name(), solver.nodes() - nodes, start.elapsed());
            }
            println!(
                "{} {kind}: {} nodes in {seconds:.3} s: {:.0} a second",
                game.name(),
                solver.nodes(),
                solver.nodes() as f64 / seconds
            );
        }
    }
}
