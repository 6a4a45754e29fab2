//! Trains `ppo` on tic-tac-toe with changed settings over many seeds and prints what the exact audit says of each.
//!
//! ```text
//! cargo run --release -p methods --example ppo_presets -- PRESET FIRST-SEED LAST-SEED [FIELD=JSON]...
//! ```
//!
//! One line: the changes; seeds without a losing line in either seat, as first and as second player alone; the median of
//! losing lines; the share of decisive positions in which the value is kept; the median of CPU seconds; seeds that failed.

use methods::learner::{Learner, Unwatched};
use methods::ppo::{Config, Ppo};
use oracle::audit::audit;
use oracle::table::Table;
use rules::Seat;
use rules::tictactoe::TicTacToe;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let preset = arguments.next().expect("a preset");
    let mut number = || arguments.next().and_then(|n| n.parse::<u64>().ok()).expect("a first and a last seed");
    let (first, last) = (number(), number());
    let changes: Vec<String> = arguments.collect();

    let presets = <Ppo<TicTacToe> as Learner<TicTacToe>>::presets(&TicTacToe);
    let preset = presets.into_iter().find(|p| p.name == preset).expect("a preset of the method");
    let mut config = serde_json::to_value(preset.config).expect("settings are JSON");
    for change in &changes {
        let (field, value) = change.split_once('=').expect("FIELD=JSON");
        let at = field.split('.').fold(&mut config, |at, key| &mut at[key]);
        *at = serde_json::from_str(value).expect("a JSON value");
    }
    let config: Config = serde_json::from_value(config).expect("settings that exist");

    let table = Table::new(&TicTacToe);
    let (mut proved, mut proved_as, mut failed) = (0, [0; 2], Vec::new());
    let (mut lost, mut kept, mut seconds) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
    for seed in first..=last {
        let mut learner = Ppo::new(&TicTacToe, &config, seed).expect("possible settings");
        let start = cpu_seconds();
        learner.train(&mut Unwatched).expect("finite numbers");
        seconds.push(cpu_seconds() - start);
        let found = audit(&table, &mut learner.agent()).expect("the agent is exact");
        let both = Seat::BOTH.iter().all(|&seat| found.unbeatable_as(seat));
        proved += u32::from(both);
        if !both {
            failed.push(seed.to_string());
        }
        for seat in Seat::BOTH {
            proved_as[seat.index()] += u32::from(found.unbeatable_as(seat));
            lost[seat.index()].push(found.seat(seat).lines.losses as f64);
        }
        kept.push(Seat::BOTH.iter().map(|&seat| found.seat(seat).choices.decisive_share() / 2.0).sum());
    }
    let [lost_x, lost_o] = lost.map(|mut lines| median(&mut lines));
    let changes = if changes.is_empty() { "unchanged".to_owned() } else { changes.join(" ") };
    let [x, o] = proved_as;
    println!(
        "{changes}: proved {proved}/{} (X {x}, O {o}), losing lines X {lost_x} O {lost_o}, kept {:.4}, {:.3} s, failed: {}",
        seconds.len(),
        kept.iter().sum::<f64>() / kept.len() as f64,
        median(&mut seconds),
        failed.join(" "),
    );
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// CPU seconds of this thread, from the kernel's own account; wall seconds where there is none.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()) {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => {
            static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
            START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
        }
    }
}
