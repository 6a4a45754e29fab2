//! `tengen train`: a new run, from random weights to an agent.

use std::num::{NonZeroU16, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::files;
use crate::method::NewRun;
use crate::registry::{self, Known, WithGame};
use crate::run::{self, RUNS};
use crate::settings::Change;
use crate::talk::{self, Look};
use crate::training::Course;

/// Learn a game from nothing
///
/// Trains a network from random weights by the chosen method and keeps the run in a folder: its settings, its learning
/// curve, checkpoints, and at the end the agent. Settings and seed determine the agent to the last bit. Ctrl-C saves and
/// leaves; 'tengen resume' continues as if nothing had happened.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen train tictactoe                        the default: method outcome, preset strong, a drawn seed
  tengen train tictactoe --preset article       the recipe as its source publishes it
  tengen train tictactoe --seed 7 --set rate=0.05 --games 50000
  tengen list outcome                           every setting of a method, explained")]
pub(crate) struct Args {
    /// The game ('tengen list' shows all)
    game: String,
    /// The method of learning [default: the game's first in 'tengen list']
    #[arg(long, short)]
    method: Option<String>,
    /// The settings to start from: 'article' is the published recipe, 'strong' ours [default: the method's first]
    #[arg(long, short)]
    preset: Option<String>,
    /// Games to learn from, short for --set games=N
    #[arg(long, short = 'n', value_name = "N")]
    games: Option<u32>,
    /// Start of all randomness, a number below 2^63 [default: drawn and printed]
    #[arg(long, short, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Folder of the run, new or empty [default: runs/GAME-METHOD-SEED]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Change one setting; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Change>,
    #[command(flatten)]
    course: CourseArgs,
}

/// Flags that change how a training is watched and saved, never what comes of it.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct CourseArgs {
    /// Seconds between two checkpoints; 0 saves at every pause between games
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    checkpoint_every: u32,
    /// Threads to use at most; never changes the result. 'outcome' learns game after game and uses one [default: all]
    #[arg(long, short, value_name = "T")]
    threads: Option<NonZeroU16>,
    /// Metrics and result as lines of JSON on standard output
    #[arg(long)]
    json: bool,
}

impl CourseArgs {
    pub(crate) fn course(self, look: Look) -> Course {
        Course {
            checkpoint_every: Duration::from_secs(self.checkpoint_every.into()),
            json: self.json,
            threads: threads(self.threads),
            look,
        }
    }

    pub(crate) fn json(self) -> bool {
        self.json
    }
}

impl Args {
    /// What `tengen` without arguments trains.
    pub(crate) fn by_default(game: &str) -> Args {
        Args {
            game: game.to_owned(),
            method: None,
            preset: None,
            games: None,
            seed: None,
            out: None,
            set: Vec::new(),
            course: CourseArgs { checkpoint_every: 3, threads: None, json: false },
        }
    }
}

/// Trains; returns the folder of the run.
pub(crate) fn train(args: &Args, look: Look) -> Result<PathBuf> {
    registry::with_game(&args.game, Train { args, look })
}

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    let folder = train(args, look)?;
    finished(&folder, args.course.json)
}

struct Train<'a> {
    args: &'a Args,
    look: Look,
}

impl WithGame for Train<'_> {
    type Output = PathBuf;

    fn run<G: Known>(self, game: G) -> Result<PathBuf> {
        let Args { method, preset, games, seed, out, set, course, .. } = self.args;
        let method = match method {
            Some(name) => registry::method(&game, name)?,
            None => registry::methods(&game)?.swap_remove(0),
        };
        let folder_of = |seed| PathBuf::from(RUNS).join(format!("{}-{}-{seed}", files::name_of(&game), method.name()));
        let seed = match (seed, out) {
            (Some(seed), _) => *seed,
            (None, Some(_)) => draw_seed()?,
            (None, None) => unused_seed(folder_of)?,
        };
        let folder = out.clone().unwrap_or_else(|| folder_of(seed));
        let mut changes: Vec<Change> = games.iter().map(|&games| Change::games(games.into())).collect();
        changes.extend_from_slice(set);
        let new = NewRun { preset: preset.as_deref(), changes: &changes, seed, folder: &folder };
        method.train(&game, &new, course.course(self.look))?;
        Ok(folder)
    }
}

/// A seed for which there is no run yet. Six digits are easy to say and to write.
fn unused_seed(folder_of: impl Fn(u64) -> PathBuf) -> Result<u64> {
    for _ in 0..1_000 {
        let seed = draw_seed()?;
        if !folder_of(seed).exists() {
            return Ok(seed);
        }
    }
    bail!("a thousand drawn seeds all have their runs: choose one with --seed, or a folder with --out");
}

/// As many threads as were asked for, or as there are cores.
pub(crate) fn threads(asked: Option<NonZeroU16>) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    asked.map_or_else(all, |threads| threads.get().into())
}

/// A seed from the system's randomness.
pub(crate) fn draw_seed() -> Result<u64> {
    Ok(getrandom::u64().map_err(|e| anyhow::anyhow!("no randomness to be had: {e}"))? % 1_000_000)
}

/// Says where the agent is and what can be done with it.
pub(crate) fn finished(folder: &Path, json: bool) -> Result<()> {
    let agent = run::agent_of(folder);
    if json {
        talk::data(serde_json::json!({ "agent": agent }))?;
    } else {
        talk::data(agent.display())?;
        // Where a player has the folder's name, only a path means the folder.
        let folder = folder.display().to_string();
        let path = if registry::is_word(&folder) { format!("./{folder}") } else { folder };
        talk::say(format!("Prove it with 'tengen audit {path}', play it with 'tengen play --against {path}'"));
    }
    Ok(())
}
