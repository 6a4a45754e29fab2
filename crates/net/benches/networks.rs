//! Positions a second of three networks, by what they do and the batch.
//!
//! Nets: A, 5 blocks x 64 on 3 x 6 x 7; B, 6 blocks x 64 on 4 x 15 x 15; C, dense 225-256-128-225 (and a value).
//!
//! `cargo bench -p net` prints a table. With the argument `serve` it reads lines `NET WORK BATCH THREADS SECONDS` (WORK is
//! `inference`, `bf16` or `int8` for inference in low precision, or `training`; BATCH may be `BATCH/NOMINAL`) and answers
//! each with a rate, NaN where the processor cannot do it, so that `beside_pytorch.py` and the other scripts here can take
//! turns with it.

use std::io::{BufRead, Write};
use std::time::Instant;

use net::loss::{Policy, cross_entropy, squared_error};
use net::{
    Actions, Board, BoardNet, BoardSpec, DenseNet, DenseSpec, NetError, Optimiser, Outputs, Precision, Rule, Workers,
};

/// Numbers in [0, 1) that are always the same.
fn uniform() -> impl FnMut() -> f32 {
    let mut state = 0x1234_5678_9abc_def1u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 16_777_216.0
    }
}

/// The loss of AlphaZero (a distribution over all actions and an outcome), averaged over the batch: its gradient.
fn gradient(outputs: &Outputs, legal: &[u16], target: &[f32]) -> Outputs {
    let positions = outputs.value.len();
    let weight = 1.0 / positions as f32;
    let mut d = Outputs::zeros(positions, legal.len());
    let mut policy = Policy::default();
    let rows = outputs.policy.chunks(legal.len()).zip(d.policy.chunks_mut(legal.len()));
    for ((logits, d_logits), (value, d_value)) in rows.zip(outputs.value.iter().zip(&mut d.value)) {
        cross_entropy(logits, legal, target, weight, &mut policy, d_logits);
        *d_value = weight * squared_error(*value, 0.3).1;
    }
    d
}

/// Seconds that this thread has spent on a processor, where the system tells; then a busy machine disturbs less.
#[cfg(unix)]
fn processor_seconds() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (failed == 0).then_some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn processor_seconds() -> Option<f64> {
    None
}

/// Calls `work` for at least this long; calls a second, by the median of its times.
///
/// With one thread processor time counts, with more the time on the clock. A call shorter than a millisecond is timed
/// in groups.
fn rate(seconds: f64, threads: usize, mut work: impl FnMut() -> Result<(), NetError>) -> f64 {
    let start = Instant::now();
    let now = || match processor_seconds() {
        Some(seconds) if threads == 1 => seconds,
        _ => start.elapsed().as_secs_f64(),
    };
    let mut timed = |calls: usize| {
        let before = now();
        for _ in 0..calls {
            work().expect("sizes fit");
        }
        (now() - before) / calls as f64
    };
    timed(1);
    let calls = (1e-3 / timed(1)).ceil().clamp(1.0, 1e4) as usize;
    let mut times = Vec::new();
    while times.len() < 3 || start.elapsed().as_secs_f64() < seconds {
        times.push(timed(calls));
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2].recip()
}

/// Positions a second; `nominal` is the batch that kernels are chosen for.
fn measure(net: &str, work: &str, batch: usize, nominal: usize, threads: usize, seconds: f64) -> f64 {
    let workers = Workers::new(threads).expect("threads start");
    let mut uniform = uniform();
    let mut adam = Optimiser::new(Rule::ADAM, 0.0, None);
    let mut outputs = Outputs::default();
    let target = |actions: usize| vec![1.0 / actions as f32; actions];
    let calls = if net == "C" {
        let spec = DenseSpec { inputs: 225, hidden: vec![256, 128], actions: 225, encoding: 0 };
        let inputs: Vec<f32> = (0..batch * spec.inputs).map(|_| uniform().round()).collect();
        let mut net = DenseNet::new(spec, &mut uniform).expect("a network");
        let (legal, target): (Vec<u16>, _) = ((0..225).collect(), target(225));
        match work {
            "inference" => {
                let inference = net.inference();
                rate(seconds, threads, || inference.run(&inputs, &workers, &mut outputs))
            }
            _ => rate(seconds, threads, || {
                let d = gradient(net.forward(&inputs, &workers)?, &legal, &target);
                net.backward(&d, &workers)?;
                net.step(&mut adam, 1e-3);
                Ok(())
            }),
        }
    } else {
        let (planes, blocks, actions, height, width) =
            if net == "A" { (3, 5, Actions::Columns, 6, 7) } else { (4, 6, Actions::Points, 15, 15) };
        let board = Board { height, width };
        let spec = BoardSpec { planes, channels: 64, blocks, norm: true, actions, encoding: 0 };
        let inputs: Vec<f32> = (0..batch * planes * board.area()).map(|_| uniform().round()).collect();
        let mut net = BoardNet::new(spec, &mut uniform).expect("a network");
        let actions = board.actions(actions);
        let (legal, target): (Vec<u16>, _) = ((0..actions as u16).collect(), target(actions));
        match work {
            "inference" => {
                let inference = net.inference(board, nominal).expect("a board");
                rate(seconds, threads, || inference.run(&inputs, &workers, &mut outputs))
            }
            "bf16" | "int8" => {
                let precision = if work == "bf16" { Precision::Bf16 } else { Precision::Int8 };
                match net.inference_low(board, precision) {
                    Ok(inference) => rate(seconds, threads, || inference.run(&inputs, &workers, &mut outputs)),
                    Err(_) => f64::NAN,
                }
            }
            _ => rate(seconds, threads, || {
                let d = gradient(net.forward(board, &inputs, &workers)?, &legal, &target);
                net.backward(&d, &workers)?;
                net.step(&mut adam, 1e-3);
                Ok(())
            }),
        }
    };
    calls * batch as f64
}

fn main() {
    if std::env::args().any(|argument| argument == "serve") {
        for line in std::io::stdin().lock().lines() {
            let line = line.expect("text");
            let words: Vec<&str> = line.split_whitespace().collect();
            let [net, work, batch, threads, seconds] = words[..] else { panic!("five words, not {line:?}") };
            let number = |word: &str| word.parse::<f64>().expect("a number");
            let (batch, nominal) = batch.split_once('/').unwrap_or((batch, batch));
            let whole = |word: &str| number(word) as usize;
            let rate = measure(net, work, whole(batch), whole(nominal), whole(threads), number(seconds));
            println!("{rate}");
            std::io::stdout().flush().expect("someone listens");
        }
        return;
    }
    println!("vector instructions: {:?}", net::math::Level::best().isa());
    for (net, work, batches) in [
        ("A", "inference", &[1, 8, 32, 256][..]),
        ("A", "bf16", &[1, 8, 32, 256]),
        ("A", "int8", &[1, 8, 32, 256]),
        ("A", "training", &[256]),
        ("B", "inference", &[1, 8, 32, 256]),
        ("B", "bf16", &[1, 8, 32, 256]),
        ("B", "int8", &[1, 8, 32, 256]),
        ("B", "training", &[256]),
        ("C", "inference", &[1, 64]),
        ("C", "training", &[64]),
    ] {
        for &batch in batches {
            println!("{net} {work} {batch}: {:.0} positions/s", measure(net, work, batch, batch, 1, 1.0));
        }
    }
}
