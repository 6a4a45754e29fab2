//! What the value methods reach in tic-tac-toe, over seeds; how results/2026-11-30-value-methods was made.
//!
//! ```text
//! value_methods METHOD PRESET FIRST LAST [key=value ...]   a line of CSV for each seed
//! value_methods changes GROUP FIRST LAST                   the same for every single change of a group
//! value_methods table < CSV                                what they come to, as a table
//! ```
//!
//! Values are JSON, keys may be dotted (`network.hidden=[64]`); a METHOD may be `all`. The groups are `strong` (what is in
//! the preset strong), `article` (what cures the preset article) and `minimax-article`, `minimax-few`, `minimax-strong`
//! (fields that only value_minimax has, and its network: the article, strong with 30,000 games, strong). Seconds
//! are of processor time, and of learning only: the audit comes after them.

use std::collections::BTreeMap;
use std::io::Read;

use cpu_time::ThreadTime;
use methods::learner::{Learner, Unwatched};
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
const OF_STATES: &[&str] = &["td_backward", "td_batch", "monte_carlo", "td_online", "value_minimax"];
const MINIMAX: &[&str] = &["value_minimax"];

/// A name, the methods that have the fields, and the fields.
type Change = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Single changes of the strong presets.
const STRONG: &[Change] = &[
    ("strong as it is", &METHODS, &[]),
    ("tanh in place of ReLU", &METHODS, &["network.activation=\"tanh\""]),
    ("one number a cell", &METHODS, &["network.inputs=\"relative\""]),
    ("27 hidden units", &METHODS, &["network.hidden=[27]"]),
    ("two hidden layers of 48", &METHODS, &["network.hidden=[48,48]"]),
    ("first weights N(0, 0.5)", &METHODS, &["network.init={\"normal\":0.5}"]),
    ("no random openings", &METHODS, &["openings=0"]),
    ("epsilon from 0.5 to 0.02", &METHODS, &["epsilon={\"start\":0.5,\"end\":0.02}"]),
    ("constant rate 0.05", &METHODS, &["rate={\"start\":0.05,\"end\":0.05}"]),
    ("on-policy", OF_STATES, &["off_policy=false"]),
    ("final after-states by the network", &["monte_carlo", "td_online"], &["exact_finals=false"]),
    ("final after-states by their outcome", &["td_backward", "td_batch"], &["exact_finals=true"]),
    ("30,000 games", &METHODS, &["games=30000"]),
];

/// Single changes of the article presets: what each of them cures.
const ARTICLE: &[Change] = &[
    ("article as it is", &METHODS, &[]),
    (
        "final after-states by their outcome",
        &["td_backward", "td_batch", "monte_carlo", "td_online"],
        &["exact_finals=true"],
    ),
    ("off-policy", OF_STATES, &["off_policy=true"]),
    ("random openings of 0 to 7 plies", &METHODS, &["openings=7"]),
    ("two inputs a cell", &METHODS, &["network.inputs=\"planes\""]),
    (
        "128 ReLU units, first weights N(0, 0.1)",
        &METHODS,
        &["network.hidden=[128]", "network.activation=\"relu\"", "network.init={\"normal\":0.1}"],
    ),
    ("120,000 games", &METHODS, &["games=120000"]),
];

/// Fields that only value_minimax has, and its network.
const FURTHER: &[Change] = &[
    ("as it is", MINIMAX, &[]),
    ("depth 2 in play", MINIMAX, &["depth=2"]),
    ("depth 3 in play", MINIMAX, &["depth=3"]),
    ("depth 4 in play", MINIMAX, &["depth=4"]),
    ("depth 5 in play", MINIMAX, &["depth=5"]),
    ("depth 6 in play", MINIMAX, &["depth=6"]),
    ("two hidden layers", MINIMAX, &["network.hidden=[32,32]"]),
    ("three hidden layers", MINIMAX, &["network.hidden=[32,32,32]"]),
    ("tanh in place of ReLU", MINIMAX, &["network.activation=\"tanh\""]),
    ("identity: a linear network", MINIMAX, &["network.activation=\"identity\""]),
    ("identity in place of the output's tanh", MINIMAX, &["network.output=\"identity\""]),
    ("replay: 1 of the last 1,000 games", MINIMAX, &["replay={\"games\":1000,\"again\":1}"]),
    ("replay: 4 of the last 1,000 games", MINIMAX, &["replay={\"games\":1000,\"again\":4}"]),
    ("replay: 4 of the last 100,000 games", MINIMAX, &["replay={\"games\":100000,\"again\":4}"]),
    ("a tenth adversarial", MINIMAX, &["adversary={\"share\":0.1,\"refresh\":1000}"]),
    ("a quarter adversarial", MINIMAX, &["adversary={\"share\":0.25,\"refresh\":1000}"]),
    ("a quarter adversarial, copied each 100 games", MINIMAX, &["adversary={\"share\":0.25,\"refresh\":100}"]),
    ("half adversarial", MINIMAX, &["adversary={\"share\":0.5,\"refresh\":1000}"]),
];

/// Groups of changes: a name, the preset that is changed, the fields that are changed in all of them, the changes.
const GROUPS: [(&str, &str, &[&str], &[Change]); 5] = [
    ("strong", "strong", &[], STRONG),
    ("article", "article", &[], ARTICLE),
    ("minimax-article", "article", &[], FURTHER),
    ("minimax-few", "strong", &["games=30000"], FURTHER),
    ("minimax-strong", "strong", &[], FURTHER),
];

const USAGE: &str = "METHOD PRESET FIRST LAST [key=value ...], or changes GROUP FIRST LAST, or table";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let table = Table::new(&TicTacToe);
    match &words[..] {
        ["table"] => summary(),
        ["changes", name, first, last] => {
            let group = GROUPS.iter().find(|group| group.0 == *name);
            let (_, preset, always, changes) = group.unwrap_or_else(|| panic!("groups: {GROUPS:?}"));
            println!("{HEAD}");
            for (change, methods, fields) in *changes {
                let fields = [*always, *fields].concat();
                for method in *methods {
                    run(&table, (method, preset, change), &fields, seeds(first, last));
                }
            }
        }
        [method, preset, first, last, fields @ ..] => {
            println!("{HEAD}");
            let change = fields.join(" ").replace('"', "'");
            for method in METHODS.iter().filter(|name| *name == method || *method == "all") {
                run(&table, (method, preset, &change), fields, seeds(first, last));
            }
        }
        _ => panic!("{USAGE}"),
    }
}

fn seeds(first: &str, last: &str) -> std::ops::RangeInclusive<u64> {
    first.parse().expect("a seed")..=last.parse().expect("a seed")
}

const HEAD: &str = "method,preset,change,seed,games,seconds,losing lines as X,lines as X,losing lines as O,lines as O";

/// Trains and audits, a line for each seed.
fn run(
    table: &Table<TicTacToe>,
    (method, preset, change): (&str, &str, &str),
    fields: &[&str],
    seeds: std::ops::RangeInclusive<u64>,
) {
    let train = match method {
        "td_backward" => train::<TdBackward<TicTacToe>>,
        "td_batch" => train::<TdBatch<TicTacToe>>,
        "monte_carlo" => train::<MonteCarlo<TicTacToe>>,
        "td_online" => train::<TdOnline<TicTacToe>>,
        "q_learning" => train::<QLearning<TicTacToe>>,
        "value_minimax" => train::<ValueMinimax<TicTacToe>>,
        _ => panic!("the methods are {METHODS:?}"),
    };
    for seed in seeds {
        println!("{method},{preset},\"{change}\",{seed},{}", train(table, preset, seed, fields));
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

/// The rest of a line: games, seconds, lines.
fn train<L: Learner<TicTacToe>>(table: &Table<TicTacToe>, preset: &str, seed: u64, fields: &[&str]) -> String {
    let mut learner = L::new(&TicTacToe, &config::<L>(preset, fields), seed).expect("a possible config");
    let start = ThreadTime::now();
    learner.train(&mut Unwatched).expect("finite numbers");
    let (games, seconds) = (learner.games(), start.elapsed().as_secs_f64());
    let audit = audit(table, &mut learner.agent()).expect("a player without memory");
    let [x, o] = Seat::BOTH.map(|seat| audit.seat(seat).lines);
    format!("{games},{seconds:.3},{},{},{},{}", x.losses, Lines::total(x), o.losses, Lines::total(o))
}

/// From lines of CSV: a row for each change, a column for each method; in a cell how many seeds are proved, the medians
/// of losing lines as X and as O and, for a single method, of seconds.
fn summary() {
    let mut csv = String::new();
    std::io::stdin().read_to_string(&mut csv).expect("text");
    // Changes in the order in which they come first.
    let (mut changes, mut found) = (Vec::new(), BTreeMap::<(&str, &str), Vec<[f64; 3]>>::new());
    for line in csv.lines().filter(|line| *line != HEAD) {
        let (method, rest) = line.split_once(',').expect("a method");
        let (_, rest) = rest.split_once(",\"").expect("a change in quotes");
        let (change, rest) = rest.split_once("\",").expect("a change in quotes");
        let numbers: Vec<f64> = rest.split(',').map(|n| n.parse().expect("a number")).collect();
        if !changes.contains(&change) {
            changes.push(change);
        }
        found.entry((method, change)).or_default().push([numbers[3], numbers[5], numbers[2]]);
    }
    let methods: Vec<&str> = METHODS.into_iter().filter(|name| found.keys().any(|(m, _)| m == name)).collect();
    println!("| change | {} |\n|---|{}", methods.join(" | "), "---|".repeat(methods.len()));
    for change in changes {
        let cells = methods.iter().map(|method| {
            let Some(seeds) = found.get(&(*method, change)) else { return String::new() };
            let proved = seeds.iter().filter(|s| s[0] + s[1] == 0.0).count();
            let [x, o, seconds] = [0, 1, 2].map(|i| median(seeds.iter().map(|s| s[i])));
            let time = if methods.len() == 1 { format!(", {seconds:.2} s") } else { String::new() };
            format!("{proved} of {} ({x} / {o}){time}", seeds.len())
        });
        println!("| {change} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    (numbers[(numbers.len() - 1) / 2] + numbers[numbers.len() / 2]) / 2.0
}
