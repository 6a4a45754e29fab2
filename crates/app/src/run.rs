//! The folder of a run.
//!
//! `config.toml` is written before the first game and never changed. `metrics.jsonl` holds functions of config and seed
//! only, and the event file shows them to TensorBoard; `timing.jsonl` holds what the clock says. `checkpoints/` has the last two moments from which training can go on,
//! named by the number of games, and `agent.safetensors` appears when the last game has been learned from.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use methods::learner::{Config, Metric, Row};
use serde::{Deserialize, Serialize};

use crate::settings::{self, Settings};
use crate::tensorboard::{EVENTS, EventFile};
use crate::{VERSION, agent_file::FORMAT, files, memory};

const CONFIG: &str = "config.toml";
const METRICS: &str = "metrics.jsonl";
const TIMING: &str = "timing.jsonl";
const CHECKPOINTS: &str = "checkpoints";
const AGENT: &str = "agent.safetensors";

/// Where runs are kept unless `--out` says otherwise.
pub(crate) const RUNS: &str = "runs";

/// How many checkpoints are kept: the last, and the one before in case a disk damages the last.
const KEPT: usize = 2;

/// What is being trained, and from which seed: with the settings, all that determines a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The game's name.
    pub(crate) game: String,
    /// The method's name.
    pub(crate) method: String,
    /// The preset's name.
    pub(crate) preset: String,
    /// Settings changed by hand.
    pub(crate) changed: Vec<String>,
    /// The seed, below 2^63, which is as far as whole numbers go in TOML.
    pub(crate) seed: u64,
    /// The version of the program that began the run.
    pub(crate) version: String,
}

impl Plan {
    pub(crate) fn new<C>(game: String, method: &str, settings: &Settings<C>, seed: u64) -> Plan {
        let Settings { preset, changed, .. } = settings;
        let (preset, changed) = (preset.clone(), changed.clone());
        Plan { game, method: method.to_owned(), preset, changed, seed, version: VERSION.to_owned() }
    }
}

/// `config.toml` as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[allow(dead_code, reason = "checked before the rest is read")]
    format: u64,
    game: String,
    method: String,
    preset: String,
    changed: Vec<String>,
    seed: u64,
    version: String,
    config: toml::Value,
}

/// A run's folder, held by this process alone.
pub(crate) struct Run {
    folder: PathBuf,
    _lock: File,
}

impl Run {
    /// Makes the folder of a new run and writes its config.
    pub(crate) fn create<C: Config>(folder: &Path, plan: &Plan, config: &C) -> Result<Run> {
        if folder.join(CONFIG).exists() {
            bail!("{0} holds a run already: continue it with 'tengen resume {0}'", folder.display());
        }
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(|e| e.file_name() != files::LOCK)))
        {
            bail!("{} holds other files: choose a new folder with --out", folder.display());
        }
        files::make_folder(&folder.join(CHECKPOINTS))?;
        let run = Run::lock(folder)?;
        let text = format!(
            "# A run of tengen. Never changed after the start: settings and seed determine the agent to the last bit.\n\
             # Continue it, if it was interrupted, with: tengen resume {}\n\n\
             format = {FORMAT}\n{}{}",
            folder.display(),
            toml::to_string(plan)?,
            settings::documented(config)?,
        );
        files::write_new(&folder.join(CONFIG), text.as_bytes())?;
        Ok(run)
    }

    /// Opens the folder of a run that has begun: its plan, and its settings as they stand in the file.
    pub(crate) fn open(folder: &Path) -> Result<(Run, Plan, toml::Value)> {
        let (plan, config) = read_config(folder)?;
        let run = Run::lock(folder)?;
        for folder in [folder, &folder.join(CHECKPOINTS)] {
            files::make_folder(folder)?;
            files::remove_unfinished(folder)?;
        }
        Ok((run, plan, config))
    }

    /// Two processes that train in one folder would spoil each other's files.
    fn lock(folder: &Path) -> Result<Run> {
        Ok(Run { folder: folder.to_owned(), _lock: files::lock(folder, "training")? })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The config's file.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join(CONFIG)
    }

    /// The agent's file, whether it is there or not.
    pub(crate) fn agent(&self) -> PathBuf {
        agent_of(&self.folder)
    }

    /// The last checkpoint, if there is one.
    pub(crate) fn last_checkpoint(&self) -> Result<Option<PathBuf>> {
        Ok(self.checkpoints()?.pop())
    }

    /// All checkpoints, oldest first.
    fn checkpoints(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder.join(CHECKPOINTS))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "safetensors") {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }

    /// Writes a checkpoint and drops the oldest beyond those that are kept.
    pub(crate) fn save_checkpoint(&self, games: u64, bytes: &[u8]) -> Result<()> {
        // Enough digits for 2^64 games, so that the order of names is the order of games.
        files::write(&self.folder.join(CHECKPOINTS).join(format!("{games:020}.safetensors")), bytes)?;
        let found = self.checkpoints()?;
        for old in &found[..found.len().saturating_sub(KEPT)] {
            fs::remove_file(old).with_context(|| format!("{} cannot be removed", old.display()))?;
        }
        Ok(())
    }

    /// Opens the logs, and cuts the metrics and events back to the length that the checkpoint has recorded.
    /// With the logs come the rows that have been written so far.
    pub(crate) fn logs(&self, metrics_length: u64) -> Result<(Logs, Vec<serde_json::Value>)> {
        let open = |name: &str| {
            let path = self.folder.join(name);
            let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
            file.with_context(|| format!("{} cannot be written", path.display()))
        };
        let mut metrics = open(METRICS)?;
        let length = metrics.metadata()?.len();
        if length < metrics_length {
            bail!(
                "{} is shorter than the checkpoint says ({length} bytes, not {metrics_length}): it was damaged",
                self.folder.join(METRICS).display()
            );
        }
        metrics.set_len(metrics_length)?;
        let mut text = String::new();
        metrics.read_to_string(&mut text)?;
        let rows: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let events = EventFile::open(&self.folder.join(EVENTS), &rows)?;
        let mut timing = open(TIMING)?;
        timing.seek(SeekFrom::End(0))?;
        Ok((Logs { metrics, metrics_length, events, timing }, rows))
    }
}

/// Whether this is the folder of a run.
pub(crate) fn is_run(folder: &Path) -> bool {
    folder.join(CONFIG).is_file()
}

/// Reads `config.toml` of a run's folder.
pub(crate) fn read_config(folder: &Path) -> Result<(Plan, toml::Value)> {
    let path = folder.join(CONFIG);
    if !is_run(folder) {
        bail!("{} is not the folder of a run: it has no {CONFIG}", folder.display());
    }
    let damaged = |e: toml::de::Error| {
        let (message, line) = (settings::one_line(e.message()), e.span().map(|span| span.start));
        anyhow!("{}: {message}{}", path.display(), line.map_or(String::new(), |at| format!(" (at byte {at})")))
    };
    let text = files::read_text(&path)?;
    let table: toml::Table = toml::from_str(&text).map_err(damaged)?;
    if let Some(format) = table.get("format").filter(|format| format.as_integer() != Some(FORMAT as i64)) {
        bail!("{}: written in format {format}, and this program reads format {FORMAT}", path.display());
    }
    let Written { format: _, game, method, preset, changed, seed, version, config } =
        toml::from_str(&text).map_err(damaged)?;
    Ok((Plan { game, method, preset, changed, seed, version }, config))
}

/// The agent's file in a run's folder.
pub(crate) fn agent_of(folder: &Path) -> PathBuf {
    folder.join(AGENT)
}

/// The logs of a run.
pub(crate) struct Logs {
    metrics: File,
    metrics_length: u64,
    events: EventFile,
    timing: File,
}

impl Logs {
    /// Appends a row; returns it as it was written.
    pub(crate) fn row(&mut self, row: &Row) -> Result<String> {
        let line = row_json(row);
        self.metrics.write_all(line.as_bytes())?;
        self.metrics.write_all(b"\n")?;
        self.metrics_length += line.len() as u64 + 1;
        let numbers = row.metrics.iter().map(|&(name, metric)| (name, metric.number()));
        self.events.row(row.games, numbers)?;
        Ok(line)
    }

    /// Appends what the clock says, and the memory that is held now.
    pub(crate) fn time(&mut self, event: &str, games: u64, seconds: f64) -> Result<()> {
        let thousandths = |number: f64| (number * 1e3).round() / 1e3;
        let (seconds, mib) = (thousandths(seconds), memory::resident().map(thousandths));
        let line = serde_json::json!({ "event": event, "games": games, "seconds": seconds, "memory_mib": mib });
        Ok(writeln!(self.timing, "{line}")?)
    }

    /// Brings the metrics to disk; the length that a checkpoint must record.
    pub(crate) fn sync(&mut self) -> Result<u64> {
        self.metrics.sync_data()?;
        Ok(self.metrics_length)
    }
}

/// A row as one line of JSON, its numbers in their own order.
pub(crate) fn row_json(row: &Row) -> String {
    let mut line = format!("{{\"games\":{}", row.games);
    for (name, metric) in &row.metrics {
        let number = match metric {
            Metric::Count(count) => count.to_string(),
            // JSON knows neither NaN nor infinity.
            Metric::Real(real) if !real.is_finite() => "null".to_owned(),
            Metric::Real(real) => format!("{real:?}"),
        };
        line.push_str(&format!(",\"{name}\":{number}"));
    }
    line.push('}');
    line
}
