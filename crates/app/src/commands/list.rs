//! `tengen list`: what there is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::agent_file::AgentFile;
use crate::registry::{self, DEFAULT_GAME, GAMES, Known, PLAYERS, WithGame};
use crate::run::{self, RUNS};
use crate::settings::{self, Field};
use crate::talk::{self, DIM, HEAD, paint};

/// Show games, methods, presets, players, runs and agents, or the settings of one method
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen list                                   everything there is, and the runs in this folder
  tengen list outcome                           every setting of a method, explained, with its value in each preset")]
pub(crate) struct Args {
    /// A method whose settings are to be shown
    method: Option<String>,
    /// The game for which they are meant
    #[arg(long, short, default_value = DEFAULT_GAME)]
    game: String,
    /// As one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// The command.
pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.method {
        Some(method) => registry::with_game(&args.game, Settings { method, json: args.json }),
        None => everything(args.json),
    }
}

/// Everything there is.
fn everything(json: bool) -> Result<()> {
    let games = GAMES.map(|name| registry::with_game(name, Describe)).into_iter().collect::<Result<Vec<_>>>()?;
    let players = PLAYERS.map(|(name, about)| Entry { name: name.to_owned(), about: about.to_owned() });
    let (runs, agents) = (runs(Path::new(RUNS)), agents(&[".", "agents"]));
    if json {
        let all = serde_json::json!({ "games": games, "players": players, "runs": runs, "agents": agents });
        return Ok(talk::data(all)?);
    }
    let mut lines = Vec::new();
    for game in &games {
        lines.push(format!("{}  {}", paint(HEAD, format!("game {}", game.name)), game.title));
        for method in &game.methods {
            lines.push(format!("  method {:20}  {}", method.name, method.about));
            lines.extend(method.presets.iter().map(|p| format!("    preset {:18}  {}", p.name, paint(DIM, &p.about))));
        }
    }
    for (title, entries) in [("players", &players[..]), ("runs", &runs), ("agents", &agents)] {
        if !entries.is_empty() {
            lines.push(String::new());
            lines.push(paint(HEAD, title));
            lines.extend(entries.iter().map(|entry| format!("  {:27}  {}", entry.name, paint(DIM, &entry.about))));
        }
    }
    lines.push(String::new());
    lines.push("'tengen list METHOD' explains every setting of a method".to_owned());
    Ok(talk::data(lines.join("\n"))?)
}

/// A thing with a name.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    about: String,
}

/// A game with the methods that can learn it.
#[derive(Serialize)]
struct GameEntry {
    name: String,
    title: String,
    methods: Vec<MethodEntry>,
}

#[derive(Serialize)]
struct MethodEntry {
    name: &'static str,
    about: &'static str,
    presets: Vec<Entry>,
}

struct Describe;

impl WithGame for Describe {
    type Output = GameEntry;

    fn run<G: Known>(self, game: G) -> Result<GameEntry> {
        let entry = |(name, about): (&str, &str)| Entry { name: name.to_owned(), about: about.to_owned() };
        let methods = game.methods().into_iter().map(|method| MethodEntry {
            name: method.name(),
            about: method.about(),
            presets: method.presets(&game).into_iter().map(entry).collect(),
        });
        Ok(GameEntry { name: game.name(), title: game.title(), methods: methods.collect() })
    }
}

/// The settings of one method.
struct Settings<'a> {
    method: &'a str,
    json: bool,
}

impl WithGame for Settings<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        let method = registry::method(&game, self.method)?;
        let presets = method.presets(&game);
        let columns = presets.iter().map(|(name, _)| method.fields(&game, Some(name))).collect::<Result<Vec<_>>>()?;
        if self.json {
            let columns: serde_json::Map<_, _> = presets
                .iter()
                .zip(&columns)
                .map(|((name, _), fields)| ((*name).to_owned(), serde_json::json!(fields)))
                .collect();
            return Ok(talk::data(serde_json::Value::Object(columns))?);
        }
        let mut lines = vec![format!("{}  {}", paint(HEAD, method.name()), method.about())];
        lines.extend(presets.iter().map(|(name, about)| format!("  preset {name:11}  {}", paint(DIM, about))));
        for field in &columns[0] {
            // Presets may differ in which fields they have, such as those of one kind of initialisation.
            let in_preset = |fields: &Vec<Field>| fields.iter().find(|f| f.key == field.key)?.value.clone();
            let values = presets.iter().zip(&columns);
            let values = values.filter_map(|((preset, _), fields)| Some(format!("{preset} {}", in_preset(fields)?)));
            lines.push(String::new());
            lines.push(format!("{}  {}", paint(HEAD, &field.key), values.collect::<Vec<_>>().join(", ")));
            lines.extend(settings::wrap(&field.about, 96).into_iter().map(|line| format!("  {line}")));
        }
        lines.push(String::new());
        lines.push("Change a setting with --set KEY=VALUE".to_owned());
        Ok(talk::data(lines.join("\n"))?)
    }
}

/// The runs below a folder, by name; what cannot be read says so in its place.
fn runs(folder: &Path) -> Vec<Entry> {
    let about = |folder: &Path| match run::read_config(folder) {
        Err(e) => format!("{e:#}"),
        Ok((plan, _)) => {
            let state = if run::agent_of(folder).is_file() { "finished" } else { "not finished" };
            format!("{}, {}, preset {}, seed {}: {state}", plan.game, plan.method, plan.preset, plan.seed)
        }
    };
    let folders = inside(folder).into_iter().filter(|path| run::is_run(path));
    folders.map(|path| Entry { name: path.display().to_string(), about: about(&path) }).collect()
}

/// The agents that lie in some folders.
fn agents(folders: &[&str]) -> Vec<Entry> {
    let about = |path: &Path| match AgentFile::read(path) {
        Err(e) => format!("{e:#}"),
        Ok(AgentFile { origin, .. }) => {
            format!("{}, {}, preset {}, seed {}", origin.game, origin.method, origin.preset, origin.seed)
        }
    };
    let files = folders.iter().flat_map(|folder| inside(Path::new(folder)));
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "safetensors"));
    files.map(|path| Entry { name: path.display().to_string(), about: about(&path) }).collect()
}

/// What a folder holds, in order of names; nothing if it is not there.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
