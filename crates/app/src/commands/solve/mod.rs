//! `tengen solve`: what is proved about a position. A file for each game that can be asked.

mod connect4;
mod gomoku;
mod mnk;

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, bail};
use arena::formats::list;
use rules::Game;
use rules::grid::{Grid, Position};
use rules::notation::quote;

use crate::registry::{self, Known, WithGame};
use crate::talk::{self, Look};

/// Say what is proved about a position
///
/// Connect Four and small boards of k in a row are solved exactly. In Connect Four the score is that of the side to move: 22
/// minus the number of stones that the winner will have placed, negative if the side to move loses, 0 for a draw.
///
/// In Gomoku and Renju, wins by fours and by open threes are searched for both sides. What is said to win or to lose
/// is proved against every reply, by the rules alone; where nothing is found, the position is unknown.
///
/// Without POSITION, positions are read from standard input, one a line, and each is answered by one line with parts set apart
/// by tabs: the position, the result, words, and what the game has to say beyond that.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen solve connect4 4455                    the position after the moves 4, 4, 5, 5
  tengen solve connect4 ''                      the empty board
  tengen solve connect4 --weak < positions.txt  many positions: who wins, no more
  tengen solve connect4 --bench                 the six published sets: how fast, and whether all scores agree
  tengen solve gomoku:15:renju 'h8 i9 j8'       a win, the moves that hold, or unknown
  tengen solve gomoku:5 '...../.xxx./.o.o./...../..... o'  any stones by rows from the top, and who is to move
  tengen solve mnk:5,5,4 ''                     the exact value of the empty board and of each move")]
pub(crate) struct Args {
    /// The game: connect4, gomoku and its sizes and rules, mnk:m,n,k with or without gravity
    game: String,
    /// The moves that lead to the position, or a board by rows and the side to move
    position: Option<String>,
    /// Only whether the side to move wins, draws or loses: quicker
    #[arg(long)]
    weak: bool,
    /// One JSON object a position on standard output, in Gomoku with the whole proof
    #[arg(long)]
    json: bool,
    /// Most positions to be searched for an answer; in Gomoku for each question into which it falls, such as
    /// whether one side wins by fours [default: no limit; in Gomoku 200000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Most memory for what was found out, in MiB [default: 256]
    #[arg(long, value_name = "MIB")]
    memory: Option<usize>,
    /// Threads for hard positions of Connect Four [default: as many as the machine runs at once; 1 with --bench]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Time the solver of Connect Four, without a book, on published sets (L3_R1 to L1_R3), files of positions, or '-' for
    /// standard input [default: all published sets]
    #[arg(long, value_name = "SET", num_args = 0.., conflicts_with_all = ["position", "weak", "make_book"])]
    bench: Option<Vec<String>>,
    /// Find the scores of all positions of Connect Four with 6 stones; if the file holds some already, go on from there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["position", "weak", "json"])]
    make_book: Option<PathBuf>,
}

/// Never set: whoever presses Ctrl-C ends the program, and nothing is lost.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// Most memory in MiB where none is named.
const DEFAULT_MEMORY: usize = 256;

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    let Args { game, weak, nodes, memory, threads, bench, make_book, .. } = args;
    let for_connect4 =
        [("--threads", threads.is_some()), ("--bench", bench.is_some()), ("--make-book", make_book.is_some())];
    let refuse = |options: &[(&str, bool)]| match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(anyhow!("{option} has no meaning for {game}")),
        None => Ok(()),
    };
    match game.split(':').next().unwrap_or(game) {
        "connect4" if game == "connect4" => {
            refuse(&[("--nodes", nodes.is_some())])?;
            connect4::run(args, look)
        }
        "gomoku" => {
            let game = game.parse()?;
            refuse(&for_connect4)?;
            refuse(&[("--weak", *weak), ("--memory", memory.is_some())])?;
            gomoku::run(&game, args, look)
        }
        "mnk" => {
            let game = game.parse()?;
            refuse(&for_connect4)?;
            mnk::run(&game, args, look)
        }
        _ => {
            bail!("{} cannot be solved; what can: connect4, gomoku, mnk", registry::with_game(game, Title)?)
        }
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
        let megabytes = self.memory.unwrap_or(DEFAULT_MEMORY);
        match megabytes.checked_mul(1 << 20) {
            Some(memory) if memory >= least && memory <= isize::MAX as usize / 4 => Ok(memory),
            _ => {
                let least = least.div_ceil(1 << 20);
                bail!("--memory {megabytes}: it may be {least} MiB or more, as far as the machine has it")
            }
        }
    }

    /// Answers the position that was named, or every line of standard input in its place.
    fn answer<P>(
        &self,
        words: &Words,
        read: impl Fn(&str) -> Result<P>,
        mut answer: impl FnMut(&str, P) -> Result<Answer>,
    ) -> Result<()> {
        if let Some(text) = &self.position {
            let answer = answer(text, read(text).with_context(|| quote(text))?)?;
            return Ok(talk::data(if self.json { answer.json.to_string() } else { answer.page })?);
        }
        let mut input = io::stdin().lock();
        if input.is_terminal() {
            talk::say(format!("Positions such as {}, one a line; Ctrl-D ends:", words.example));
        }
        let (mut lines, mut refused) = (0_u64, 0_u64);
        let mut bytes = Vec::new();
        while input.read_until(b'\n', &mut bytes).context("standard input cannot be read")? > 0 {
            let line = String::from_utf8_lossy(&bytes);
            let text = line.trim_end_matches(['\r', '\n']);
            lines += 1;
            let said = match read(text) {
                Ok(position) => {
                    let answer = answer(text, position)?;
                    if self.json { answer.json.to_string() } else { answer.line }
                }
                Err(why) => {
                    refused += 1;
                    // What was written may be anything: only what is printable is repeated.
                    let text: String = text.chars().filter(|c| !c.is_control()).collect();
                    let why = why.to_string();
                    if self.json {
                        serde_json::json!({ words.key: text, "refused": why }).to_string()
                    } else {
                        format!("{text}\trefused: {why}")
                    }
                }
            };
            talk::data(said)?;
            bytes.clear();
        }
        if refused > 0 {
            bail!("{refused} of {lines} lines are not positions");
        }
        Ok(())
    }
}

/// How a game speaks of positions.
struct Words {
    /// The key of what was asked in JSON.
    key: &'static str,
    /// A position as it may be written.
    example: &'static str,
}

/// An answer in each of its forms.
struct Answer {
    /// For a person, with a picture.
    page: String,
    /// In one line.
    line: String,
    json: serde_json::Value,
}

/// A position as moves from the empty board, or as a board by rows with the side to move.
fn read_position(game: &Grid, text: &str) -> Result<Position> {
    if text.contains(['/', '.']) {
        return Ok(game.read_position(text)?);
    }
    let Some(tree) = list::read(game, text).pop() else {
        if text.trim().is_empty() {
            return Ok(game.start());
        }
        bail!("write moves, or a board by rows and the side to move");
    };
    let tree = tree.map_err(|refused| anyhow!("column {}: {}", refused.column, refused.reason))?;
    let last = tree.nodes().last().expect("every game has a start");
    match last.refusal {
        Some(refusal) => bail!("the last move: {refusal}"),
        None => Ok(last.position),
    }
}
