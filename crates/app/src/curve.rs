//! Learning curves: what is exactly true of an agent at moments of its training, for many methods and seeds at once.
//!
//! Each run is a job of its own, so the curves do not depend on how many threads there are; only the seconds do, a
//! little. The audit is not part of the training: nothing of it goes back, and its time is not counted.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use cpu_time::ThreadTime;
use methods::learner::{Agent, Control};
use oracle::audit::{Audit, audit};
use oracle::table::Table;
use rules::{Game, Seat};
use serde::Serialize;

use crate::exit::Ended;
use crate::registry::{self, Known};
use crate::settings::Change;
use crate::stop::Saving;

/// Looks at a learner between two games.
pub(crate) trait Observer<G: Game> {
    /// Called at every pause of the training; `agent` makes the agent as it now is.
    fn pause(&mut self, games: u64, planned: u64, agent: &dyn Fn() -> Box<dyn Agent<G>>) -> Control;
}

/// What is exactly true of an agent at one moment. Pairs are for the first and the second seat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Point {
    /// Games learned from.
    pub(crate) games: u64,
    /// Seconds of processor time spent on learning.
    pub(crate) seconds: f64,
    /// Whether no line of play loses, in every seat that the method trains.
    pub(crate) proved: bool,
    /// Lines of play that lose.
    pub(crate) losing_lines: [u64; 2],
    /// The result against a best response.
    pub(crate) best_response: [f64; 2],
    /// The same for the agent's random way to play: its softmax or epsilon-greedy policy.
    pub(crate) policy_best_response: Option<[f64; 2]>,
    /// The share of positions in which the move keeps the value, where that matters.
    pub(crate) kept: [f64; 2],
    /// (wins + draws / 2) of all games against an opponent that moves at random.
    pub(crate) against_random: [f64; 2],
}

/// One training, seen at its moments.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Curve {
    /// The method.
    pub(crate) method: String,
    /// Its preset.
    pub(crate) preset: String,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// Whether each seat is trained; nothing is claimed of one that is not.
    pub(crate) trained: [bool; 2],
    /// The moments, in order; the last is the end.
    pub(crate) points: Vec<Point>,
}

/// What is to be trained, and how far.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The method.
    pub(crate) method: String,
    /// Its preset; the default if there is none.
    pub(crate) preset: Option<String>,
    /// Changes to it.
    pub(crate) changes: Vec<Change>,
    /// The seed.
    pub(crate) seed: u64,
    /// Processor time after which the training ends, in seconds; `None`: all planned games.
    pub(crate) seconds: Option<f64>,
    /// Moments at which the agent is looked at.
    pub(crate) points: u64,
}

/// Runs the jobs on so many threads; the curves stand in the order of the jobs. `done` is called after each moment.
pub(crate) fn run<G: Known>(
    game: &G,
    table: &Table<G>,
    jobs: &[Job],
    threads: usize,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Curve>> {
    let saving = Saving::begin();
    let next = AtomicUsize::new(0);
    let curves: Vec<Mutex<Option<Result<Curve>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { break };
                    let curve = follow(game, table, job, &saving, done);
                    *curves[i].lock().expect("no thread panics holding it") = Some(curve);
                    if saving.asked() {
                        break;
                    }
                }
            });
        }
    });
    if saving.asked() {
        bail!(Ended::Interrupted("stopped: nothing was written".to_owned()));
    }
    let curves = curves.into_iter().map(|curve| curve.into_inner().expect("no thread panicked"));
    curves.map(|curve| curve.expect("every job was run")).collect()
}

/// One job.
fn follow<G: Known>(game: &G, table: &Table<G>, job: &Job, saving: &Saving, done: &(dyn Fn() + Sync)) -> Result<Curve> {
    let method = registry::method(game, &job.method)?;
    let seats = method.seats(game, job.preset.as_deref(), &job.changes)?;
    let mut measurer =
        Measurer { table, job, seats, saving, done, points: Vec::new(), spent: 0.0, begun: ThreadTime::now() };
    method.observe(game, job.preset.as_deref(), &job.changes, job.seed, &mut measurer)?;
    let trained = Seat::BOTH.map(|seat| measurer.seats.contains(&seat));
    let preset = job.preset.clone().unwrap_or_else(|| method.presets(game)[0].0.to_owned());
    Ok(Curve { method: job.method.clone(), preset, seed: job.seed, trained, points: measurer.points })
}

/// Measures an agent at its moments, with the clock stopped.
struct Measurer<'a, G: Game> {
    table: &'a Table<G>,
    job: &'a Job,
    seats: Vec<Seat>,
    saving: &'a Saving,
    done: &'a (dyn Fn() + Sync),
    points: Vec<Point>,
    /// Seconds of learning before `begun`.
    spent: f64,
    begun: ThreadTime,
}

impl<G: Game> Observer<G> for Measurer<'_, G> {
    fn pause(&mut self, games: u64, planned: u64, agent: &dyn Fn() -> Box<dyn Agent<G>>) -> Control {
        let seconds = self.spent + self.begun.elapsed().as_secs_f64();
        let (so_far, moments) = (self.points.len() as u64, self.job.points);
        let (due, over) = match self.job.seconds {
            None => (games * moments >= planned * (so_far + 1), false),
            Some(limit) => (seconds * moments as f64 >= limit * (so_far + 1) as f64, seconds >= limit),
        };
        let over = over || games >= planned;
        if due || over {
            self.points.push(measure(self.table, &self.seats, games, seconds, &mut *agent()));
            (self.done)();
            self.spent = seconds;
            self.begun = ThreadTime::now();
        }
        if over || self.saving.asked() { Control::Stop } else { Control::Continue }
    }
}

/// What is exactly true of this agent.
fn measure<G: Game>(table: &Table<G>, seats: &[Seat], games: u64, seconds: f64, agent: &mut dyn Agent<G>) -> Point {
    let exact = "an agent's choice is a function of the position";
    let policy = agent.stochastic().map(|mut policy| audit(table, &mut *policy).expect(exact));
    let plays = audit(table, agent).expect(exact);
    let best_response = |audit: &Audit| Seat::BOTH.map(|seat| audit.seat(seat).best_response);
    Point {
        games,
        seconds,
        proved: seats.iter().all(|&seat| plays.unbeatable_as(seat)),
        losing_lines: Seat::BOTH.map(|seat| plays.seat(seat).lines.losses),
        best_response: best_response(&plays),
        policy_best_response: policy.as_ref().map(best_response),
        kept: Seat::BOTH.map(|seat| plays.seat(seat).choices.decisive_share()),
        against_random: Seat::BOTH.map(|seat| {
            let chances = plays.seat(seat).against_random;
            chances.win + chances.draw / 2.0
        }),
    }
}
