//! What the value methods reach in tic-tac-toe, over seeds; how results/2026-11-30-value-methods was made.
//!
//! `value_methods METHOD PRESET FIRST LAST [key=value ...]`: one line of CSV for each seed. Values are JSON, keys may be
//! dotted (`network.hidden=[64]`). `value_methods ablation FIRST LAST`: the table of single changes, a line each.
//! `value_methods curve METHOD PRESET FIRST LAST STEP`: losing lines every STEP games.

use std::time::Instant;

use methods::learner::{Control, Learner, Row, Unwatched, Watch};
use methods::monte_carlo::MonteCarlo;
use methods::q_learning::QLearning;
use methods::td_backward::TdBackward;
use methods::td_batch::TdBatch;
use methods::td_online::TdOnline;
use methods::value_minimax::ValueMinimax;
use oracle::audit::{Lines, audit};
use oracle::table::Table;
use rules::Seat;
use rules::tictactoe::TicTacToe;
use serde_json::Value;

const METHODS: [&str; 6] = ["td_backward", "td_batch", "monte_carlo", "td_online", "q_learning", "value_minimax"];

/// Single changes of the strong presets: a name, the methods that have the fields, and the fields.
const CHANGES: [(&str, &[&str], &[&str]); 13] = [
    ("strong", &METHODS, &[]),
    ("tanh in place of ReLU", &METHODS, &["network.activation=\"tanh\""]),
    ("one number a cell", &METHODS, &["network.inputs=\"relative\""]),
    ("27 hidden units", &METHODS, &["network.hidden=[27]"]),
    ("two hidden layers of 48", &METHODS, &["network.hidden=[48,48]"]),
    ("first weights N(0, 0.5)", &METHODS, &["network.init={\"normal\":0.5}"]),
    ("no random openings", &METHODS, &["openings=0"]),
    ("constant rate 0.05", &METHODS, &["rate={\"start\":0.05,\"end\":0.05}"]),
    ("on-policy", &["td_backward", "td_batch", "monte_carlo", "td_online", "value_minimax"], &["off_policy=false"]),
    ("final after-states by the network", &["monte_carlo", "td_online"], &["exact_finals=false"]),
    ("final after-states by their outcome", &["td_backward", "td_batch"], &["exact_finals=true"]),
    ("replay of 4 in 1,000 games", &["value_minimax"], &["replay={\"games\":1000,\"again\":4}"]),
    ("a quarter adversarial", &["value_minimax"], &["adversary={\"share\":0.25,\"refresh\":1000}"]),
];

/// The same for the article presets: what each single change cures.
const CURES: [(&str, &[&str], &[&str]); 7] = [
    ("article", &METHODS, &[]),
    (
        "final after-states by their outcome",
        &["td_backward", "td_batch", "monte_carlo", "td_online"],
        &["exact_finals=true"],
    ),
    ("off-policy", &["td_backward", "td_batch", "monte_carlo", "td_online", "value_minimax"], &["off_policy=true"]),
    ("random openings of 0 to 7 plies", &METHODS, &["openings=7"]),
    ("two inputs a cell", &METHODS, &["network.inputs=\"planes\""]),
    (
        "128 ReLU units, first weights N(0, 0.1)",
        &METHODS,
        &["network.hidden=[128]", "network.activation=\"relu\"", "network.init={\"normal\":0.1}"],
    ),
    ("120,000 games", &METHODS, &["games=120000"]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let table = Table::new(&TicTacToe);
    match &words[..] {
        ["ablation", first, last] => {
            println!("preset,change,method,seeds,proved,losing lines as X (median),as O (median),seconds (median)");
            for (preset, changes) in [("strong", &CHANGES[..]), ("article", &CURES[..])] {
                for (name, methods, fields) in changes {
                    for method in *methods {
                        let seeds: Vec<Found> =
                            range(first, last).map(|seed| run(&table, method, preset, seed, fields)).collect();
                        let proved = seeds.iter().filter(|f| f.losses == [0, 0]).count();
                        let [x, o] = [0, 1].map(|seat| median(seeds.iter().map(|f| f.losses[seat] as f64)));
                        let seconds = median(seeds.iter().map(|f| f.seconds));
                        println!("{preset},\"{name}\",{method},{},{proved},{x},{o},{seconds:.3}", seeds.len());
                    }
                }
            }
        }
        ["curve", method, preset, first, last, step] => {
            println!("method,preset,seed,games,losing lines as X,as O");
            for seed in range(first, last) {
                for (games, losses) in curve(&table, method, preset, seed, step.parse().expect("a number of games")) {
                    println!("{method},{preset},{seed},{games},{},{}", losses[0], losses[1]);
                }
            }
        }
        [method, preset, first, last, fields @ ..] => {
            println!(
                "method,preset,changes,seed,games,seconds,losing lines as X,lines as X,losing lines as O,lines as O"
            );
            for seed in range(first, last) {
                let found = run(&table, method, preset, seed, fields);
                let changes = fields.join(" ").replace('"', "'");
                let ([x, o], [all_x, all_o]) = (found.losses, found.lines);
                let (games, seconds) = (found.games, found.seconds);
                println!("{method},{preset},\"{changes}\",{seed},{games},{seconds:.3},{x},{all_x},{o},{all_o}");
            }
        }
        _ => panic!(
            "METHOD PRESET FIRST LAST [key=value ...], or ablation FIRST LAST, or curve METHOD PRESET FIRST LAST STEP"
        ),
    }
}

fn range(first: &str, last: &str) -> std::ops::RangeInclusive<u64> {
    first.parse().expect("a seed")..=last.parse().expect("a seed")
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    (numbers[(numbers.len() - 1) / 2] + numbers[numbers.len() / 2]) / 2.0
}

/// What a run reached.
struct Found {
    games: u64,
    seconds: f64,
    losses: [u64; 2],
    lines: [u64; 2],
}

fn run(table: &Table<TicTacToe>, method: &str, preset: &str, seed: u64, fields: &[&str]) -> Found {
    match method {
        "td_backward" => train::<TdBackward<TicTacToe>>(table, preset, seed, fields),
        "td_batch" => train::<TdBatch<TicTacToe>>(table, preset, seed, fields),
        "monte_carlo" => train::<MonteCarlo<TicTacToe>>(table, preset, seed, fields),
        "td_online" => train::<TdOnline<TicTacToe>>(table, preset, seed, fields),
        "q_learning" => train::<QLearning<TicTacToe>>(table, preset, seed, fields),
        "value_minimax" => train::<ValueMinimax<TicTacToe>>(table, preset, seed, fields),
        _ => panic!("the methods are {METHODS:?}"),
    }
}

fn config<L: Learner<TicTacToe>>(preset: &str, fields: &[&str]) -> L::Config {
    let presets = L::presets(&TicTacToe);
    let preset = presets.into_iter().find(|p| p.name == preset).expect("a preset: strong or article");
    let mut config = serde_json::to_value(preset.config).expect("a config is JSON");
    for field in fields {
        let (key, value) = field.split_once('=').expect("key=value");
        let place = key.split('.').fold(&mut config, |at, key| at.get_mut(key).expect("a field of the config"));
        *place = serde_json::from_str::<Value>(value).expect("a value as JSON");
    }
    serde_json::from_value(config).expect("a config with these fields")
}

fn train<L: Learner<TicTacToe>>(table: &Table<TicTacToe>, preset: &str, seed: u64, fields: &[&str]) -> Found {
    let mut learner = L::new(&TicTacToe, &config::<L>(preset, fields), seed).expect("a possible config");
    let start = Instant::now();
    learner.train(&mut Unwatched).expect("finite numbers");
    let seconds = start.elapsed().as_secs_f64();
    let (losses, lines) = audited(table, &learner);
    Found { games: learner.games(), seconds, losses, lines }
}

fn audited<L: Learner<TicTacToe>>(table: &Table<TicTacToe>, learner: &L) -> ([u64; 2], [u64; 2]) {
    let audit = audit(table, &mut learner.agent()).expect("a player without memory");
    let lines = Seat::BOTH.map(|seat| audit.seat(seat).lines);
    (lines.map(|l| l.losses), lines.map(Lines::total))
}

fn curve(table: &Table<TicTacToe>, method: &str, preset: &str, seed: u64, step: u64) -> Vec<(u64, [u64; 2])> {
    struct Auditor<'a>(&'a Table<TicTacToe>, u64, Vec<(u64, [u64; 2])>);
    impl<L: Learner<TicTacToe>> Watch<L> for Auditor<'_> {
        fn row(&mut self, _: &Row) {}
        fn pause(&mut self, learner: &L) -> Control {
            if learner.games().is_multiple_of(self.1) {
                self.2.push((learner.games(), audited(self.0, learner).0));
            }
            Control::Continue
        }
    }
    fn walk<L: Learner<TicTacToe>>(preset: &str, seed: u64, auditor: &mut Auditor<'_>) {
        let mut learner = L::new(&TicTacToe, &config::<L>(preset, &[]), seed).expect("a possible config");
        learner.train(auditor).expect("finite numbers");
    }
    let mut auditor = Auditor(table, step, Vec::new());
    match method {
        "td_backward" => walk::<TdBackward<TicTacToe>>(preset, seed, &mut auditor),
        "td_batch" => walk::<TdBatch<TicTacToe>>(preset, seed, &mut auditor),
        "monte_carlo" => walk::<MonteCarlo<TicTacToe>>(preset, seed, &mut auditor),
        "td_online" => walk::<TdOnline<TicTacToe>>(preset, seed, &mut auditor),
        "q_learning" => walk::<QLearning<TicTacToe>>(preset, seed, &mut auditor),
        "value_minimax" => walk::<ValueMinimax<TicTacToe>>(preset, seed, &mut auditor),
        _ => panic!("the methods are {METHODS:?}"),
    }
    auditor.2
}
