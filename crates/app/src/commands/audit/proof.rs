//! `tengen audit --proof`: a player against every reply to every one of its moves.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use arena::record::write_moves;
use oracle::exact::Exact;
use oracle::proof::{Estimate, Halted, InMemory, Mistake, Progress, Proof, Store, StoreError, Task, estimate, prove};
use rules::{Player, Seat, game::replay};
use serde::{Deserialize, Serialize};

use super::Args;
use crate::commands::train::threads;
use crate::exit::Ended;
use crate::progress::thousands;
use crate::registry::{self, Known, Opponent};
use crate::stop::Saving;
use crate::talk::{self, BAD, DIM, GOOD, HEAD, Look, paint};
use crate::{board, files};

/// Questions to the player that an estimate may take.
const ESTIMATE_QUESTIONS: u64 = 5_000;

/// Time between two lines of progress.
pub(super) const TELL_EVERY: Duration = Duration::from_secs(5);

/// Time after which work is saved.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// How long a question whether to stop may wait.
const POLL: Duration = Duration::from_millis(50);

/// What is proved, as it is kept in the folder of a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setup {
    format: u64,
    pub(super) game: String,
    pub(super) player: String,
    /// The hash of the agent's file.
    blake3: Option<String>,
    depth: Option<u32>,
}

/// The name of the setup in the folder.
const SETUP: &str = "proof.toml";

impl Setup {
    /// What the command line asks for.
    pub(super) fn new(game: String, player: &str, depth: Option<u32>) -> Result<Setup> {
        Ok(Setup { format: 1, game, player: player.to_owned(), blake3: hash_of(player)?, depth })
    }

    /// The player that is meant.
    pub(super) fn player<G: Known>(&self, game: &G) -> Result<Opponent<G>> {
        let mut player = registry::player(game, &self.player)?;
        if let Some(depth) = self.depth {
            player.look_ahead(game, depth)?;
        }
        Ok(player)
    }

    /// The setup of a proof that goes on.
    pub(super) fn read(folder: &Path) -> Result<Setup> {
        let path = folder.join(SETUP);
        let setup: Setup =
            toml::from_str(&files::read_text(&path)?).map_err(|e| anyhow!("{}: {}", path.display(), e.message()))?;
        if setup.format != 1 {
            bail!("{}: a proof in format {}, not 1", path.display(), setup.format);
        }
        if hash_of(&setup.player)? != setup.blake3 {
            bail!("the agent {} has changed since the proof began", setup.player);
        }
        Ok(setup)
    }
}

fn hash_of(player: &str) -> Result<Option<String>> {
    let (agent, _) = registry::split_search(player);
    if registry::is_word(agent) {
        return Ok(None);
    }
    let bytes = files::read(&registry::agent_path(agent)?)?;
    Ok(Some(blake3::hash(&bytes).to_hex().to_string()))
}

/// Proves what a player makes of every line, in each seat that it was trained for.
pub(super) fn run<G: Known>(game: &G, args: &Args, setup: &Setup, look: Look) -> Result<()> {
    if game.table().is_some() {
        bail!("the audit of {} covers every line of play already: leave out --proof", game.title());
    }
    if game.perfect().is_none() {
        bail!("nothing exact is known about {}, so there is nothing to prove", game.title());
    }
    let seats = setup.player(game)?.seats();
    let memory = (args.memory.get() as usize) << 20;
    let mut folder = None;
    if let Some(path) = args.out.as_ref().or(args.resume.as_ref()) {
        if args.resume.is_none() {
            begin(path, setup)?;
        }
        folder = Some(files::lock(path, "proving")?);
    }

    let stop = AtomicBool::new(false);
    let finished = AtomicBool::new(false);
    let saving = Saving::begin();
    let player = || -> Box<dyn Player<G>> { setup.player(game).expect("the player was made before").into_player() };
    let exact = || -> Box<dyn Exact<G>> { game.perfect().expect("it was there before") };
    let proofs: Result<Vec<Proof>> = std::thread::scope(|scope| {
        let _guard = SetAtEnd(&finished);
        scope.spawn(|| {
            while !finished.load(Relaxed) {
                stop.fetch_or(saving.asked(), Relaxed);
                std::thread::sleep(POLL);
            }
        });
        let proofs = seats.iter().map(|&seat| {
            let threads = threads(args.threads);
            let task = Task { game, seat, player: &player, exact: &exact, threads, memory, stop: &stop };
            let proof = prove_seat(&task, args)?;
            if !args.json {
                // The other seat may take hours.
                talk::data(text(look, game, &proof, seat))?;
            }
            Ok(proof)
        });
        proofs.collect()
    });
    drop(saving);
    drop(folder);
    let proofs = proofs?;
    if args.json {
        let verdicts: Vec<String> = proofs.iter().map(Proof::verdict).collect();
        let json = serde_json::json!({ "game": game.name(), "proofs": proofs, "verdicts": verdicts });
        talk::data(serde_json::to_string(&json)?)?;
    }
    Ok(())
}

/// Sets a flag when it goes out of scope, be it by a panic: whoever waits for the flag must not wait forever.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Makes the folder of a new proof.
fn begin(path: &Path, setup: &Setup) -> Result<()> {
    files::make_folder(path)?;
    if std::fs::read_dir(path)?.next().is_some() {
        bail!("{} is not empty: go on with 'tengen audit --resume {0}', or choose another name", path.display());
    }
    files::write(&path.join(SETUP), toml::to_string(setup)?.as_bytes())
}

/// Proves one seat, and says how far it is.
fn prove_seat<G: Known>(task: &Task<'_, G>, args: &Args) -> Result<Proof> {
    let name = task.game.seat_name(task.seat);
    let began = Instant::now();
    let Estimate { positions, deviation, asked } = estimate(task, ESTIMATE_QUESTIONS)?;
    let each = began.elapsed().as_secs_f64() / asked.max(1) as f64;
    let seconds = positions * each / task.threads as f64;
    talk::say(format!(
        "as {name}: about {} positions (give or take {}), at most {} for the player to answer them all",
        rounded(positions),
        rounded(deviation),
        duration(seconds),
    ));
    let mut on_disk = None;
    let mut in_memory = InMemory::new(task.memory);
    let store: &mut dyn Store = match args.out.as_ref().or(args.resume.as_ref()) {
        Some(folder) => on_disk.insert(OnDisk { folder: folder.clone(), seat: task.seat }),
        None => &mut in_memory,
    };
    let (mut told, mut saved) = (Instant::now(), Instant::now());
    let proof = prove(task, store, &mut |progress| {
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            talk::say(line(progress));
        }
        let save = saved.elapsed() >= SAVE_EVERY;
        if save {
            saved = Instant::now();
        }
        save
    });
    match (proof, args.out.as_ref().or(args.resume.as_ref())) {
        (Ok(proof), _) => Ok(proof),
        (Err(Halted::Stopped), Some(folder)) => {
            let again = format!("go on with 'tengen audit --resume {}'", folder.display());
            Err(Ended::Interrupted(format!("the proof was stopped; {again}")).into())
        }
        (Err(Halted::Stopped), None) => {
            Err(Ended::Interrupted("the proof was stopped; without --out nothing was kept".to_owned()).into())
        }
        (Err(halted @ (Halted::TooLarge { .. } | Halted::Store(_))), None) => {
            Err(anyhow!("{halted}: allow more with --memory, or keep them in a folder with --out"))
        }
        (Err(halted @ Halted::TooLarge { .. }), Some(_)) => Err(anyhow!("{halted}: allow more with --memory")),
        (Err(halted), _) => Err(halted.into()),
    }
}

/// How far a proof is, in a line.
fn line(progress: &Progress) -> String {
    let Progress { judging, ply, done, size, positions, questions } = *progress;
    let (done, size) = (thousands(done as u64), thousands(size as u64));
    if judging {
        format!(
            "  back at {ply} stones: {done} of {size} positions judged, {} questions to the solver",
            thousands(questions)
        )
    } else {
        format!("  {ply} stones: {done} of {size} positions, {} in all", thousands(positions))
    }
}

/// A number of which only the first two digits mean something.
fn rounded(number: f64) -> String {
    let unit = 10_f64.powf((number.max(1.0).log10().floor() - 1.0).max(0.0));
    thousands(((number / unit).round() * unit) as u64)
}

/// A time, roughly.
fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5_400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3_600.0),
    }
}

/// What was found in a seat.
fn text<G: Known>(look: Look, game: &G, proof: &Proof, seat: Seat) -> String {
    let name = game.seat_name(seat);
    let mut lines = vec![String::new(), paint(HEAD, format!("{} as {name}, against every reply", proof.player))];
    let total = proof.lines.total().max(1) as f64;
    let share = |count: u64| super::percent(count as f64 / total);
    let once = if proof.symmetric { ", those that are symmetric counted once" } else { "" };
    lines.push(format!("  {} positions{once}", thousands(proof.positions)));
    lines.push(format!(
        "  {} lines of play: {} % won, {} % drawn, {} % lost",
        thousands(proof.lines.total()),
        share(proof.lines.wins),
        share(proof.lines.draws),
        share(proof.lines.losses)
    ));
    if !proof.wins_everything() {
        let theory = ["lost", "a draw", "won"][(proof.theory + 1) as usize];
        lines.push(format!("  with best play of both the game is {theory} for {name}"));
    }
    if !proof.is_perfect() {
        let mistakes = proof.mistakes;
        lines.push(format!(
            "  moves that gave something away: {} a win for a draw, {} a win for a loss, {} a draw for a loss",
            thousands(mistakes.win_to_draw),
            thousands(mistakes.win_to_loss),
            thousands(mistakes.draw_to_loss)
        ));
    }
    lines.extend(proof.first.iter().flat_map(|mistake| first(look, game, mistake)));
    let style = if proof.is_perfect() { GOOD } else { BAD };
    lines.push(format!("\n{}", paint(style, proof.verdict())));
    lines.join("\n")
}

/// The earliest mistake as a board.
fn first<G: Known>(look: Look, game: &G, mistake: &Mistake) -> Vec<String> {
    let Mistake { line, action, had, left, better } = mistake;
    let words = ["a loss", "a draw", "a win"];
    let worth = |value: i8| words[(value + 1) as usize];
    let position = replay(game, line).expect("the line was walked");
    let last = line
        .split_last()
        .map(|(&last, before)| game.landing(&replay(game, before).expect("the line was walked"), last));
    let mut lines = vec![String::new(), paint(HEAD, "The first of them:")];
    lines.extend(board::draw(look, game, &position, last, None).into_iter().map(|line| format!("  {line}")));
    if !line.is_empty() {
        lines.push(paint(DIM, format!("  after {}", write_moves(game, line))));
    }
    lines.push(format!(
        "  it plays {}: {} becomes {}; {} keeps it",
        game.write_action(*action),
        worth(*had),
        worth(*left),
        write_moves(game, better)
    ));
    lines
}

/// Keeps a proof in a folder, a file for each text.
struct OnDisk {
    folder: PathBuf,
    seat: Seat,
}

impl OnDisk {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}-{name}", self.seat))
    }
}

impl Store for OnDisk {
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(name);
        if !path.exists() {
            return Ok(None);
        }
        files::read(&path).map(Some).map_err(|e| StoreError(format!("{e:#}")))
    }

    fn put(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        files::write(&self.path(name), &bytes).map_err(|e| StoreError(format!("{e:#}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_said_in_two_digits_and_times_roughly() {
        assert_eq!([0.0, 9.6, 123.0, 15_567_000.0].map(rounded), ["0", "10", "120", "16,000,000"]);
        assert_eq!([3.2, 600.0, 7_200.0].map(duration), ["3 s", "10 min", "2 h"]);
    }
}
