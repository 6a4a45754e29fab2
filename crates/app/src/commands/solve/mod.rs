//! `tengen solve`: what a position is worth, exactly. A file for each game that can be asked.

mod connect4;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::registry::{self, Known, WithGame};
use crate::talk::Look;

/// Say exactly what a position is worth
///
/// The score is that of the side to move: in Connect Four, 22 minus the number of stones that the winner will have placed,
/// negative if the side to move loses, 0 for a draw. Without POSITION, positions are read from standard input, one a line, and
/// each is answered by one line: moves, score, words, the score of each column, and best play to the end, apart by tabs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen solve connect4 4455                    the position after the moves 4, 4, 5, 5
  tengen solve connect4 ''                      the empty board
  tengen solve connect4 --weak < positions.txt  many positions: who wins, no more
  tengen solve connect4 --bench                 the six published sets: how fast, and whether all scores agree")]
pub(crate) struct Args {
    /// The game: connect4
    game: String,
    /// The moves that lead to the position, without blanks
    position: Option<String>,
    /// Only whether the side to move wins, draws or loses: quicker
    #[arg(long)]
    weak: bool,
    /// One JSON object a position on standard output
    #[arg(long)]
    json: bool,
    /// Most memory for what was found out, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    memory: usize,
    /// Threads for hard positions [default: as many as the machine runs at once; 1 with --bench]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Time the solver, without a book, on published sets (L3_R1 to L1_R3), files of positions, or '-' for standard
    /// input [default: all published sets]
    #[arg(long, value_name = "SET", num_args = 0.., conflicts_with_all = ["position", "weak", "make_book"])]
    bench: Option<Vec<String>>,
    /// Find the scores of all positions with 6 stones; if the file holds some of them already, go on from there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["position", "weak", "json"])]
    make_book: Option<PathBuf>,
}

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    match args.game.split(':').next() {
        Some("connect4") if args.game == "connect4" => connect4::run(args, look),
        _ => bail!("{} cannot be solved; what can: connect4", registry::with_game(&args.game, Title)?),
    }
}

struct Title;

impl WithGame for Title {
    type Output = String;

    fn run<G: Known>(self, game: G) -> Result<String> {
        Ok(game.title())
    }
}

impl Args {
    /// How many threads are wanted.
    fn threads(&self) -> Result<usize> {
        match self.threads {
            Some(0) => bail!("--threads 0: at least 1 is needed"),
            Some(threads) => Ok(threads),
            None if self.bench.is_some() => Ok(1),
            None => Ok(std::thread::available_parallelism().map_or(1, Into::into)),
        }
    }

    /// How many bytes of memory may be taken.
    fn memory(&self, least: usize) -> Result<usize> {
        match self.memory.checked_mul(1 << 20) {
            Some(memory) if memory >= least && memory <= isize::MAX as usize / 4 => Ok(memory),
            _ => bail!("--memory {}: it may be {} MiB or more, as far as the machine has it", self.memory, least >> 20),
        }
    }
}
