//! Drives one learner: metrics and checkpoints as it goes, its agent at the end.

use std::marker::PhantomData;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use methods::learner::{Control, Learner, Row, State, Watch};
use rules::Game;

use crate::agent_file::{self, FORMAT, Moment, Origin};
use crate::exit::Ended;
use crate::expected::Expected;
use crate::progress::{Progress, Window, thousands};
use crate::registry::Known;
use crate::run::{self, Logs, Plan, Run};
use crate::stop::Saving;
use crate::talk::{HEAD, Look, paint};
use crate::{VERSION, files, talk};

/// What the person at the keyboard may choose about the course of a training, without changing its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// Time between two checkpoints.
    pub(crate) checkpoint_every: Duration,
    /// The most threads to use.
    pub(crate) threads: usize,
    /// What may be printed.
    pub(crate) look: Look,
    /// Whether metrics go to standard output as JSON.
    pub(crate) json: bool,
}

/// Trains until the planned number of games, from the last checkpoint if there is one, and writes the agent.
///
/// # Errors
/// [`Ended`] if it was interrupted or came to numbers that are not finite.
pub(crate) fn train<G: Known, L: Learner<G>>(
    game: &G,
    run: &Run,
    plan: &Plan,
    config: &L::Config,
    course: Course,
) -> Result<()> {
    let mut origin = Origin {
        format: FORMAT,
        game: plan.game.clone(),
        method: plan.method.clone(),
        encoding: L::ENCODING,
        preset: plan.preset.clone(),
        changed: plan.changed.clone(),
        seats: L::seats(config).iter().map(ToString::to_string).collect(),
        seed: plan.seed,
        games: 0,
        games_with_a_person: 0,
        version: VERSION.to_owned(),
        config: config.clone(),
        moment: None,
    };
    let (mut learner, metrics_length) = match run.last_checkpoint()? {
        None => (L::new(game, config, plan.seed)?, 0),
        Some(path) => restore::<G, L>(game, &origin, &path)?,
    };
    let began_at = learner.games();
    let (mut logs, rows) = run.logs(metrics_length)?;
    let Plan { method, preset, seed, .. } = plan;
    // Before anything is said, so that whoever sees it may already press Ctrl-C.
    let saving = Saving::begin();
    talk::say(paint(
        HEAD,
        match began_at {
            0 => format!("Learning {} from nothing: {method}, preset {preset}, seed {seed}", game.title()),
            games => format!(
                "Learning {} from game {} on: {method}, preset {preset}, seed {seed}",
                game.title(),
                thousands(games + 1)
            ),
        },
    ));
    logs.time(if began_at == 0 { "start" } else { "resume" }, began_at, 0.0)?;
    let mut progress = Progress::begin(course.look, began_at, learner.planned());
    let of_today = L::presets(game).iter().any(|known| known.name == plan.preset && known.config == *config);
    let mut expected = of_today.then(|| Expected::of(plan, learner.planned())).flatten();
    for row in rows {
        if let Some(expected) = &mut expected {
            expected.row(row["games"].as_u64().unwrap_or_default(), |name| row.get(name)?.as_f64());
        }
        if let Some(window) = Window::of(|name| row.get(name)?.as_u64()) {
            progress.window(row["games"].as_u64().unwrap_or_default(), &window);
        }
    }
    let started = Instant::now();
    let mut session = Session::<G, L> {
        run,
        origin: &mut origin,
        logs,
        course,
        saving,
        progress,
        expected,
        started,
        saved: started,
        saved_games: began_at,
        failure: None,
        of: PhantomData::<G>,
    };
    let trained = learner.train(&mut session);
    session.progress.end();
    session.progress.cost(learner.games());
    if let Some(failure) = session.failure {
        return Err(failure);
    }
    if let Err(diverged) = trained {
        bail!(Ended::Failed(format!("{diverged}; {}", session.kept())));
    }
    if learner.games() < learner.planned() {
        let folder = run.folder().display();
        bail!(Ended::Interrupted(format!(
            "stopped after {} games: continue with 'tengen resume {folder}'",
            thousands(learner.games())
        )));
    }
    session.logs.time("end", learner.games(), started.elapsed().as_secs_f64())?;
    origin.games = learner.games();
    origin.moment = None;
    files::write(&run.agent(), &agent_file::to_bytes(&origin, &learner.weights())?)
}

/// Trains unseen, without files: the metrics and then the weights as bytes.
pub(crate) fn trace<G: Game, L: Learner<G>>(game: &G, config: &L::Config, seed: u64) -> Result<Vec<u8>> {
    struct Rows(Vec<u8>);

    impl<L> Watch<L> for Rows {
        fn row(&mut self, row: &Row) {
            self.0.extend(run::row_json(row).into_bytes());
        }

        fn pause(&mut self, _learner: &L) -> Control {
            Control::Continue
        }
    }

    let mut learner = L::new(game, config, seed)?;
    let mut rows = Rows(Vec::new());
    learner.train(&mut rows)?;
    rows.0.extend(net::file::write("", &learner.weights()));
    Ok(rows.0)
}

/// The learner as the checkpoint has it, and the length of the metrics at that moment.
fn restore<G: Game, L: Learner<G>>(game: &G, expected: &Origin<L::Config>, path: &Path) -> Result<(L, u64)> {
    let bad = |e: String| anyhow!("{e}; remove that file to go on from an earlier checkpoint, or from the start");
    let (origin, tensors) = agent_file::read_checkpoint::<L::Config>(path).map_err(|e| bad(format!("{e:#}")))?;
    let moment = origin.moment.clone().expect("a checkpoint has its moment");
    let same = Origin { games: 0, moment: None, version: expected.version.clone(), ..origin.clone() };
    if same != *expected {
        bail!("{} belongs to another run than the config.toml beside it", path.display());
    }
    if origin.version != expected.version {
        talk::say(format!("note: begun with tengen {}, continued with {VERSION}", origin.version));
    }
    let state = State { games: origin.games, counters: moment.counters, tensors };
    let learner = L::restore(game, &expected.config, expected.seed, &state);
    Ok((learner.map_err(|e| bad(format!("{}: {e}", path.display())))?, moment.metrics))
}

/// One sitting of a training: from start or resume until its end or interruption.
struct Session<'a, G: Game, L: Learner<G>> {
    run: &'a Run,
    origin: &'a mut Origin<L::Config>,
    logs: Logs,
    course: Course,
    saving: Saving,
    progress: Progress,
    expected: Option<Expected>,
    started: Instant,
    saved: Instant,
    saved_games: u64,
    failure: Option<anyhow::Error>,
    of: PhantomData<G>,
}

impl<G: Game, L: Learner<G>> Session<'_, G, L> {
    fn save(&mut self, state: &State) -> Result<()> {
        // A checkpoint with numbers that are not finite would be worthless, and would displace a good one.
        if let Some(bad) = state.tensors.iter().find(|tensor| tensor.data.iter().any(|x| !x.is_finite())) {
            let what = format!("{} stopped being finite at or before game {}", bad.name, state.games);
            bail!(Ended::Failed(format!("{what}; {}", self.kept())));
        }
        let metrics = self.logs.sync()?;
        self.origin.games = state.games;
        self.origin.moment = Some(Moment { counters: state.counters.clone(), metrics });
        self.run.save_checkpoint(state.games, &agent_file::to_bytes(self.origin, &state.tensors)?)?;
        self.logs.time("checkpoint", state.games, self.started.elapsed().as_secs_f64())?;
        self.saved = Instant::now();
        self.saved_games = state.games;
        Ok(())
    }

    /// What is left after a failure.
    fn kept(&self) -> String {
        match self.saved_games {
            0 => "there is no checkpoint before it".to_owned(),
            games => format!("the checkpoint of {games} games is kept in {}", self.run.folder().display()),
        }
    }

    fn log(&mut self, row: &Row) -> Result<()> {
        let line = self.logs.row(row)?;
        self.logs.time("row", row.games, self.started.elapsed().as_secs_f64())?;
        if self.course.json {
            talk::data(line)?;
        }
        Ok(())
    }
}

impl<G: Game, L: Learner<G>> Watch<L> for Session<'_, G, L> {
    fn row(&mut self, row: &Row) {
        self.progress.row(row);
        let metric = |name: &str| row.metrics.iter().find(|(of, _)| *of == name).map(|&(_, metric)| metric.number());
        if let Some(line) = self.expected.as_mut().and_then(|expected| expected.row(row.games, metric)) {
            self.progress.say(&line);
        }
        // A row cannot stop a training, the next pause can.
        if self.failure.is_none() {
            self.failure = self.log(row).err();
        }
    }

    fn note(&mut self, games: u64, text: &str) {
        self.progress.say(&format!("note: after {} games, {text}", thousands(games)));
    }

    fn threads(&self) -> usize {
        self.course.threads
    }

    fn pause(&mut self, learner: &L) -> Control {
        self.progress.at(learner.games());
        let stop = self.saving.asked();
        let last = learner.games() >= learner.planned();
        if self.failure.is_none() && (stop || last || self.saved.elapsed() >= self.course.checkpoint_every) {
            self.failure = self.save(&learner.save()).err();
        }
        if stop || self.failure.is_some() { Control::Stop } else { Control::Continue }
    }
}
