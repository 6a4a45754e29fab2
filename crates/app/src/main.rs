//! `tengen`: learns k-in-a-row board games from nothing, knows exactly how good it has become, and plays anyone.
//!
//! This is the only crate that knows names, files, signals and the clock. `registry` is the one place where a word
//! becomes a type; `commands` has one file for each command.

mod adviser;
mod agent_file;
mod baselines;
mod board;
mod commands;
mod curve;
mod engine;
mod exit;
mod expected;
mod files;
mod match_folder;
mod match_report;
mod memory;
mod method;
mod progress;
mod prompt;
mod pupil;
mod registry;
mod run;
mod saved;
mod settings;
mod shipped;
mod stop;
mod svg;
mod talk;
mod tensorboard;
mod threats;
mod training;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{arena, audit, compare, export, list, openings, play, resume, signature, solve, train};
use crate::registry::DEFAULT_GAME;
use crate::talk::{Look, paint};

/// The program's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Learns board games from nothing, proves how good it has become, and plays you
///
/// Without a command: trains a new tic-tac-toe agent before your eyes, shows the proof, then plays you.
#[derive(Parser, Debug)]
#[command(
    name = "tengen",
    version,
    after_help = "Examples:
  tengen                                        train, prove, play
  tengen play tictactoe                         play against the agent that comes with tengen
  tengen train tictactoe --seed 7               a run that anyone can repeat
  tengen audit runs/tictactoe-outcome-7         prove how good it became

Data goes to standard output, talk to standard error. Exit codes: 0 done, 1 not finished, 2 bad input, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Draw with ASCII characters only
    #[arg(long, global = true)]
    ascii: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    Train(train::Args),
    Resume(resume::Args),
    Arena(arena::Args),
    Audit(audit::Args),
    Compare(compare::Args),
    Export(export::Args),
    Play(play::Args),
    List(list::Args),
    Solve(solve::Args),
    Openings(openings::Args),
    Signature(signature::Args),
    /// Print completions for a shell
    ///
    /// For example, in bash: source <(tengen completions bash)
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return refuse(&e),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has read enough.
        Err(e) if e.chain().any(is_broken_pipe) => ExitCode::SUCCESS,
        Err(e) => {
            talk::say(format!("tengen: {}", settings::one_line(&format!("{e:#}"))));
            ExitCode::from(exit::code(&e))
        }
    }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Says in one line why the command line is refused; prints help and version when they were asked for.
fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match talk::data(error.render().ansi().to_string().trim_end()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let said: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
    let said = said.join("; ");
    talk::say(format!("tengen: {} (--help explains)", said.strip_prefix("error: ").unwrap_or(&said)));
    ExitCode::from(2)
}

fn run(cli: Cli) -> Result<()> {
    stop::listen()?;
    net::math::Level::chosen().map_err(anyhow::Error::msg)?;
    let look = Look::detect(cli.ascii);
    match cli.command {
        None => show(look),
        Some(Command::Train(args)) => train::run(&args, look),
        Some(Command::Resume(args)) => resume::run(&args, look),
        Some(Command::Arena(args)) => arena::run(&args, look),
        Some(Command::Audit(args)) => audit::run(&args, look),
        Some(Command::Compare(args)) => compare::run(&args, look),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Play(args)) => play::run(&args, look),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Solve(args)) => solve::run(&args, look),
        Some(Command::Openings(args)) => openings::run(&args),
        Some(Command::Signature(_)) => signature::run(),
        Some(Command::Completions { shell }) => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tengen", &mut text);
            Ok(talk::data(String::from_utf8_lossy(&text))?)
        }
    }
}

/// `tengen` without a command: train, prove and, if there is a person to play, play.
fn show(look: Look) -> Result<()> {
    let folder = train::train(&train::Args::by_default(DEFAULT_GAME), look)?;
    let player = folder.display().to_string();
    audit::run(&audit::Args::of(player.clone()), look)?;
    if io::stdin().is_terminal() {
        play::run(&play::Args::against(player), look)
    } else {
        talk::say(paint(talk::DIM, format!("the agent is in {player}")));
        Ok(())
    }
}
