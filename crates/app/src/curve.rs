//! Learning curves: what is true of an agent at moments of its training, for many methods and seeds at once.
//!
//! Each run is a job of its own, so the curves do not depend on how many threads there are; only the seconds do, a
//! little. The examination is not part of the training: nothing of it goes back, and its time is not counted.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use cpu_time::ThreadTime;
use methods::learner::{Agent, Control};
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

/// When an agent is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    /// Games learned from.
    pub(crate) games: u64,
    /// Seconds of processor time spent on learning.
    pub(crate) seconds: f64,
    /// The seats that the method trains.
    pub(crate) seats: &'a [Seat],
}

/// Finds out what is to be known of an agent at one moment.
pub(crate) type Examine<'a, G, P> = &'a (dyn Fn(Moment<'_>, &mut dyn Agent<G>) -> P + Sync);

/// One training, seen at its moments.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Curve<P> {
    /// The method.
    pub(crate) method: String,
    /// Its preset.
    pub(crate) preset: String,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// Whether each seat is trained; nothing is claimed of one that is not.
    pub(crate) trained: [bool; 2],
    /// The moments, in order; the last is the end.
    pub(crate) points: Vec<P>,
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

/// The curves of each method, which stand together.
pub(crate) fn groups<P>(curves: &[Curve<P>]) -> impl Iterator<Item = &[Curve<P>]> {
    curves.chunk_by(|a, b| (&a.method, &a.preset) == (&b.method, &b.preset))
}

/// The middle of some numbers, and the interval that holds the middle eight tenths of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// # Panics
    /// If there are no numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Spread {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        // Linear between neighbours, as most programs have it.
        let quantile = |q: f64| {
            let at = q * (numbers.len() - 1) as f64;
            let (below, above) = (numbers[at.floor() as usize], numbers[at.ceil() as usize]);
            below + (above - below) * at.fract()
        };
        Spread { median: quantile(0.5), low: quantile(0.1), high: quantile(0.9) }
    }

    pub(crate) fn text(self, write: impl Fn(f64) -> String) -> String {
        format!("{} [{}, {}]", write(self.median), write(self.low), write(self.high))
    }
}

/// Runs the jobs on so many threads; the curves stand in the order of the jobs. `done` is called after each moment.
pub(crate) fn run<G: Known, P: Send>(
    game: &G,
    jobs: &[Job],
    threads: usize,
    examine: Examine<'_, G, P>,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Curve<P>>> {
    let saving = Saving::begin();
    let next = AtomicUsize::new(0);
    let curves: Vec<Mutex<Option<Result<Curve<P>>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { break };
                    let curve = follow(game, job, &saving, examine, done);
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
fn follow<G: Known, P>(
    game: &G,
    job: &Job,
    saving: &Saving,
    examine: Examine<'_, G, P>,
    done: &(dyn Fn() + Sync),
) -> Result<Curve<P>> {
    let method = registry::method(game, &job.method)?;
    let seats = method.seats(game, job.preset.as_deref(), &job.changes)?;
    let mut measurer =
        Measurer { examine, job, seats, saving, done, points: Vec::new(), spent: 0.0, begun: ThreadTime::now() };
    method.observe(game, job.preset.as_deref(), &job.changes, job.seed, &mut measurer)?;
    let trained = Seat::BOTH.map(|seat| measurer.seats.contains(&seat));
    let preset = job.preset.clone().unwrap_or_else(|| method.presets(game)[0].0.to_owned());
    Ok(Curve { method: job.method.clone(), preset, seed: job.seed, trained, points: measurer.points })
}

/// Measures an agent at its moments, with the clock stopped.
struct Measurer<'a, G: Game, P> {
    examine: Examine<'a, G, P>,
    job: &'a Job,
    seats: Vec<Seat>,
    saving: &'a Saving,
    done: &'a (dyn Fn() + Sync),
    points: Vec<P>,
    /// Seconds of learning before `begun`.
    spent: f64,
    begun: ThreadTime,
}

impl<G: Game, P> Observer<G> for Measurer<'_, G, P> {
    fn pause(&mut self, games: u64, planned: u64, agent: &dyn Fn() -> Box<dyn Agent<G>>) -> Control {
        let seconds = self.spent + self.begun.elapsed().as_secs_f64();
        let (so_far, moments) = (self.points.len() as u64, self.job.points);
        let (due, over) = match self.job.seconds {
            None => (games * moments >= planned * (so_far + 1), false),
            Some(limit) => (seconds * moments as f64 >= limit * (so_far + 1) as f64, seconds >= limit),
        };
        let over = over || games >= planned;
        if due || over {
            let moment = Moment { games, seconds, seats: &self.seats };
            self.points.push((self.examine)(moment, &mut *agent()));
            (self.done)();
            self.spent = seconds;
            self.begun = ThreadTime::now();
        }
        if over || self.saving.asked() { Control::Stop } else { Control::Continue }
    }
}
