//! `tengen export`: an agent's network for other programs.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::audit;
use crate::files;
use crate::registry::{self, Known, Opponent, WithGame};
use crate::talk;

/// Write an agent's network for other programs
///
/// The file is in the ONNX format: inputs as the method encodes a position, one row each, to the network's outputs. What plays is the
/// network alone, as in an audit.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen export shipped --onnx agent.onnx
  tengen export runs/tictactoe-outcome-7 --onnx agent.onnx")]
pub(crate) struct Args {
    /// A run's folder, an agent's file, or 'shipped'
    agent: String,
    /// The file to write; an existing one is left as it is
    #[arg(long, value_name = "FILE")]
    onnx: PathBuf,
    /// The game, for 'shipped' [default: tictactoe]
    #[arg(long, short)]
    game: Option<String>,
}

/// The command.
pub(crate) fn run(args: &Args) -> Result<()> {
    registry::with_game(&audit::game_of(&args.agent, args.game.as_deref())?, Export(args))
}

struct Export<'a>(&'a Args);

impl WithGame for Export<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        let Args { agent: name, onnx, .. } = self.0;
        let Opponent::Agent(agent) = registry::player(&game, name)? else {
            bail!("{name} has no network: only an agent can be exported");
        };
        let Some(bytes) = agent.agent.onnx() else {
            bail!("{}: the method {} has no ONNX form", agent.source, agent.file.origin.method);
        };
        files::write_new(onnx, &bytes)?;
        talk::say(format!("{} is written: {}", onnx.display(), agent.about()));
        Ok(())
    }
}
