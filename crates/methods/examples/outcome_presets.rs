//! Trains the outcome method with changed settings over many seeds and prints what the exact audit says of each.
//!
//! ```text
//! cargo run --release -p methods --example outcome_presets -- PRESET SEEDS [FIELD=JSON]...
//! ```
//!
//! One line: the changes; seeds without a losing line in any trained seat, as first and as second player alone; the
//! median of losing lines; the share of decisive positions in which the value is kept; seeds that lost none of their
//! last window of games, where the learner has one seat; the median of CPU seconds.

use methods::learner::{Control, Learner, Metric, Row, Watch};
use methods::outcome::{Outcome, Settings};
use oracle::audit::audit;
use oracle::table::Table;
use rules::Seat;
use rules::tictactoe::TicTacToe;

/// Remembers how many games of the last window were lost.
#[derive(Default)]
struct LastWindow {
    losses: Option<u64>,
}

impl<L> Watch<L> for LastWindow {
    fn row(&mut self, row: &Row) {
        let losses = row.metrics.iter().find(|(name, _)| *name == "losses");
        self.losses = losses.and_then(|(_, n)| if let Metric::Count(n) = n { Some(*n) } else { None });
    }

    fn pause(&mut self, _learner: &L) -> Control {
        Control::Continue
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let preset = arguments.next().expect("a preset");
    let seeds: u64 = arguments.next().and_then(|n| n.parse().ok()).expect("a number of seeds");
    let changes: Vec<String> = arguments.collect();

    let presets = <Outcome<TicTacToe> as Learner<TicTacToe>>::presets(&TicTacToe);
    let preset = presets.into_iter().find(|p| p.name == preset).expect("a preset of the method");
    let mut config = serde_json::to_value(preset.config).expect("settings are JSON");
    for change in &changes {
        let (field, value) = change.split_once('=').expect("FIELD=JSON");
        config[field] = serde_json::from_str(value).expect("a JSON value");
    }
    let config: Settings = serde_json::from_value(config).expect("settings that exist");
    let trained = <Outcome<TicTacToe> as Learner<TicTacToe>>::seats(&config);

    let table = Table::new(&TicTacToe);
    let (mut proved, mut proved_as, mut lossless) = (0, [0; 2], 0);
    let (mut lost, mut kept, mut seconds) = ([Vec::new(), Vec::new()], 0.0, Vec::new());
    for seed in 1..=seeds {
        let mut learner = Outcome::new(&TicTacToe, &config, seed).expect("possible settings");
        let start = cpu_seconds();
        let mut last = LastWindow::default();
        learner.train(&mut last).expect("finite numbers");
        seconds.push(cpu_seconds() - start);
        lossless += u32::from(last.losses == Some(0));
        let found = audit(&table, &mut learner.agent()).expect("the agent is exact");
        proved += u32::from(trained.iter().all(|&seat| found.unbeatable_as(seat)));
        for seat in Seat::BOTH {
            proved_as[seat.index()] += u32::from(found.unbeatable_as(seat));
            lost[seat.index()].push(found.seat(seat).lines.losses as f64);
        }
        let shares = trained.iter().map(|&seat| found.seat(seat).choices.decisive_share());
        kept += shares.sum::<f64>() / (trained.len() as f64 * seeds as f64);
    }
    let [lost_x, lost_o] = lost.map(|mut lines| median(&mut lines));
    println!(
        "{}: proved {proved}/{seeds} (X {}, O {}), losing lines X {lost_x} O {lost_o}, kept {kept:.4}, lossless {lossless}, {:.3} s",
        if changes.is_empty() { "unchanged".to_owned() } else { changes.join(" ") },
        proved_as[0],
        proved_as[1],
        median(&mut seconds),
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
