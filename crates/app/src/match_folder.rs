//! The folder of a tournament.
//!
//! `arena.toml` is written before the first game and never changed: with the players it determines every game.
//! `games.jsonl` holds a line for each finished game, in the order of their numbers; what a killed process left half
//! written is cut off. Everything else is made from these two when the program ends.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use arena::Record;
use arena::sprt::Sprt;
use arena::tournament::Tournament;
use askama::Template;
use serde::{Deserialize, Serialize};

use crate::engine::Limits;
use crate::files;
use crate::match_report::Report;
use crate::registry::Known;
use crate::settings::one_line;

const SETUP: &str = "arena.toml";
const GAMES: &str = "games.jsonl";

/// What is played, by whom, from where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setup {
    /// The version of this file's form.
    pub(crate) format: u64,
    /// The version of the program that began the tournament.
    pub(crate) version: String,
    /// The game's name.
    pub(crate) game: String,
    /// Whether the same command gives the same games: not with other programs.
    pub(crate) reproducible: bool,
    /// The players by their names.
    pub(crate) players: Vec<String>,
    /// The place of the player whose rating is 0.
    pub(crate) anchor: usize,
    /// Openings that every two players play.
    pub(crate) rounds: u64,
    /// Whether only the first player meets the others.
    pub(crate) gauntlet: bool,
    /// Whether games begin by swap2.
    #[serde(default)]
    pub(crate) swap2: bool,
    /// The seed of all randomness.
    pub(crate) seed: u64,
    /// The openings to choose from, as lists of moves.
    pub(crate) openings: Vec<String>,
    /// What engines may use.
    pub(crate) limits: SavedLimits,
    /// The sequential test.
    pub(crate) sprt: Option<SavedSprt>,
    /// The files of the agents that take part.
    pub(crate) agents: Vec<Agent>,
}

impl Setup {
    /// The present form.
    pub(crate) const FORMAT: u64 = 1;
}

/// [`Limits`] in seconds and MiB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedLimits {
    pub(crate) turn: f64,
    pub(crate) game: Option<f64>,
    pub(crate) memory: Option<u64>,
}

impl From<SavedLimits> for Limits {
    fn from(saved: SavedLimits) -> Limits {
        let SavedLimits { turn, game, memory } = saved;
        Limits { turn: Duration::from_secs_f64(turn), game: game.map(Duration::from_secs_f64), memory }
    }
}

/// [`Sprt`] as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedSprt {
    elo0: f64,
    elo1: f64,
    alpha: f64,
    beta: f64,
}

impl From<Sprt> for SavedSprt {
    fn from(Sprt { elo0, elo1, alpha, beta }: Sprt) -> SavedSprt {
        SavedSprt { elo0, elo1, alpha, beta }
    }
}

impl From<SavedSprt> for Sprt {
    fn from(SavedSprt { elo0, elo1, alpha, beta }: SavedSprt) -> Sprt {
        Sprt { elo0, elo1, alpha, beta }
    }
}

/// An agent by its name and the hash of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) blake3: String,
}

/// The folder, held by this process alone.
pub(crate) struct Folder {
    path: PathBuf,
    games: File,
    _lock: File,
}

impl Folder {
    /// Makes the folder of a new tournament.
    pub(crate) fn create(path: &Path, setup: &Setup) -> Result<Folder> {
        if path.join(SETUP).exists() {
            bail!("{0} holds a tournament already: go on with it by 'tengen arena --resume {0}'", path.display());
        }
        if fs::read_dir(path).is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(|e| e.file_name() != files::LOCK))) {
            bail!("{} holds other files: choose a new folder with --out", path.display());
        }
        files::make_folder(path)?;
        let lock = files::lock(path, "playing")?;
        let text = format!(
            "# A tournament of tengen. Never changed after the start.\n\
             # Go on with it, if it was stopped, by: tengen arena --resume {}\n\n{}",
            path.display(),
            toml::to_string(setup)?
        );
        files::write_new(&path.join(SETUP), text.as_bytes())?;
        Folder::with_games(path, lock)
    }

    /// Opens the folder of a tournament that has begun.
    pub(crate) fn open(path: &Path) -> Result<(Folder, Setup)> {
        let file = path.join(SETUP);
        if !file.is_file() {
            bail!("{} is not the folder of a tournament: it has no {SETUP}", path.display());
        }
        let damaged = |e: toml::de::Error| anyhow!("{}: {}", file.display(), one_line(e.message()));
        let text = files::read_text(&file)?;
        let table: toml::Table = toml::from_str(&text).map_err(damaged)?;
        match table.get("format").and_then(toml::Value::as_integer) {
            Some(format) if format != Setup::FORMAT as i64 => {
                bail!("{}: written in format {format}, and this program reads {}", file.display(), Setup::FORMAT);
            }
            _ => {}
        }
        let setup: Setup = toml::from_str(&text).map_err(damaged)?;
        let possible = setup.players.len() >= 2 && setup.anchor < setup.players.len();
        let limits = [Some(setup.limits.turn), setup.limits.game].into_iter().flatten();
        if !possible
            || setup.rounds == 0
            || setup.openings.is_empty()
            || limits.into_iter().any(|s| !(s > 0.0 && s <= 1e6))
        {
            bail!("{}: a tournament that nobody could have begun", file.display());
        }
        if let Some(sprt) = setup.sprt {
            Sprt::from(sprt).check().map_err(|e| anyhow!("{}: {e}", file.display()))?;
        }
        let lock = files::lock(path, "playing")?;
        files::remove_unfinished(path)?;
        Ok((Folder::with_games(path, lock)?, setup))
    }

    fn with_games(path: &Path, lock: File) -> Result<Folder> {
        let games = path.join(GAMES);
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&games);
        let games = file.with_context(|| format!("{} cannot be written", games.display()))?;
        Ok(Folder { path: path.to_owned(), games, _lock: lock })
    }

    /// The folder's name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The finished games. The last line counts only if it is whole.
    fn records(&self) -> Result<(Vec<Record>, u64)> {
        let path = self.path.join(GAMES);
        let text = files::read_text(&path)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let read = |(number, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|e| anyhow!("{}: line {}: {e}", path.display(), number + 1))
        };
        Ok((text[..whole].lines().enumerate().map(read).collect::<Result<_>>()?, whole as u64))
    }

    /// Gives the tournament the games that were played before.
    pub(crate) fn restore<G: Known>(&mut self, tournament: &mut Tournament<'_, G>) -> Result<()> {
        let (records, length) = self.records()?;
        for record in &records {
            tournament.restore(record).map_err(|e| anyhow!("{}: {e}", self.path.display()))?;
        }
        self.games.set_len(length)?;
        self.games.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Adds a game.
    pub(crate) fn append(&mut self, record: &Record) -> Result<()> {
        let line = serde_json::to_string(record)? + "\n";
        let written = self.games.write_all(line.as_bytes());
        written.with_context(|| format!("{} cannot be written", self.path.join(GAMES).display()))
    }

    /// Writes the report and all games.
    pub(crate) fn write_report<G: Known>(&self, game: &G, report: &Report) -> Result<()> {
        self.games.sync_all()?;
        let write = |name: &str, text: &str| files::write(&self.path.join(name), text.as_bytes());
        write("arena.json", &serde_json::to_string_pretty(report)?)?;
        write("arena.csv", &report.csv())?;
        write("arena.html", &report.page().render()?)?;
        let mut all = String::new();
        let mut kind = "";
        for record in self.records()?.0 {
            let (text, its_kind) = game.notation(&record)?;
            all += &text;
            all.push('\n');
            kind = its_kind;
        }
        if kind.is_empty() { Ok(()) } else { write(&format!("games.{kind}"), &all) }
    }
}
