//! Games a second that each method learns from in tic-tac-toe, on one core, and passes a second of its network.
//!
//! `cargo bench -p methods` prints one line of CSV for each preset and round; on a busy machine the greatest number of all
//! rounds is the one to look at.

use std::hint::black_box;
use std::time::Instant;

use methods::kit::policy_network::{Inputs, PolicyNetwork};
use methods::learner::{Learner, Unwatched};
use methods::monte_carlo::MonteCarlo;
use methods::outcome::Outcome;
use methods::q_learning::QLearning;
use methods::td_backward::TdBackward;
use methods::td_batch::TdBatch;
use methods::td_online::TdOnline;
use methods::value_minimax::ValueMinimax;
use rules::tictactoe::TicTacToe;
use rules::{Game, Rng};

const ROUNDS: u64 = 5;

fn rate(what: &str, count: u64, work: impl Fn(u64)) {
    for round in 0..ROUNDS {
        let start = Instant::now();
        work(round);
        println!("{what},{round},{count},{:.0}", count as f64 / start.elapsed().as_secs_f64());
    }
}

fn learning<L: Learner<TicTacToe>>(games: u64) {
    for preset in L::presets(&TicTacToe) {
        let mut config = serde_json::to_value(preset.config).expect("settings are JSON");
        config["games"] = games.into();
        let config: L::Config = serde_json::from_value(config).expect("settings that exist");
        rate(&format!("{} {}", L::METHOD, preset.name), games, |seed| {
            let mut learner = L::new(&TicTacToe, &config, seed).expect("a preset is possible");
            learner.train(&mut Unwatched).expect("finite numbers");
        });
    }
}

fn main() {
    println!("what,round,count,per_second");
    learning::<Outcome<TicTacToe>>(20_000);
    learning::<TdBackward<TicTacToe>>(5_000);
    learning::<TdBatch<TicTacToe>>(5_000);
    learning::<MonteCarlo<TicTacToe>>(5_000);
    learning::<TdOnline<TicTacToe>>(5_000);
    learning::<QLearning<TicTacToe>>(5_000);
    learning::<ValueMinimax<TicTacToe>>(2_000);

    let mut rng = Rng::new(1, 0);
    let network = PolicyNetwork::new(&TicTacToe, &[100], Inputs::First, false, 0.5, &mut rng);
    let positions: Vec<_> = std::iter::successors(Some(TicTacToe.start()), |&position| {
        let mut after = position;
        TicTacToe.play(&mut after, TicTacToe.random_legal(&position, &mut rng));
        (!TicTacToe.outcome(&after).is_over()).then_some(after)
    })
    .collect();
    let passes = 200_000;
    for (what, learns) in [("forward pass 18-100-9", false), ("forward and backward pass 18-100-9", true)] {
        rate(what, passes, |_| {
            let mut network = network.clone();
            for pass in 0..passes as usize {
                network.look(&positions[pass % positions.len()]);
                if learns {
                    network.net.policy()[pass % 9] -= 1.0;
                    network.net.descend(1e-3);
                }
            }
            black_box(network.net.outputs());
        });
    }
}
