//! `tengen audit`: what is exactly true of a player.

mod exam;
mod playouts;
mod proof;
mod tactics;

use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

use anyhow::{Result, bail};
use arena::score::wilson;
use oracle::audit::{Audit, Choices, Lines, SeatAudit, audit};
use oracle::table::Table;
use rules::{Game, Seat};

use crate::agent_file::AgentFile;
use crate::board;
use crate::progress::thousands;
use crate::registry::{self, DEFAULT_GAME, Known, Opponent, SHIPPED, WithGame};
use crate::talk::{self, BAD, DIM, GOOD, HEAD, Look, paint};

/// Prove how good a player is
///
/// Plays it against every sequence of opposing moves from the empty board, without sampling, and compares its move in
/// every position with the table of all positions. The network plays alone: its best legal move, no search.
///
/// Connect Four is too large for a table: there the player is compared with the solver in a stored set of positions,
/// beside a random mover and minimax:5. For Gomoku and Renju, which nobody has solved, it is asked for the right move in
/// stored positions of each tactic, beside random and greedy. None of all these positions is ever learned from.
///
/// --playouts counts the results that a player of Connect Four loses against perfect play from all short openings. And
/// --proof still plays it against every reply to every one of its moves: it meets few positions, as it answers each in one
/// way. Only where a line is not won the solver is asked whether more was to be had. Either it wins against everything, or
/// the moves that gave something away are counted and the first is shown.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen audit runs/tictactoe-outcome-7         the agent of a run
  tengen audit shipped                          the agent that comes with tengen
  tengen audit random                           how badly chance plays
  tengen audit minimax:5 --game connect4        on positions with exact scores
  tengen audit minimax:5 --game connect4 --playouts
  tengen audit greedy --game gomoku             which tactics it knows: fours, threes, and how to meet them
  tengen audit minimax:5 --game connect4 --proof --out proof
  tengen audit --resume proof                   goes on with a proof that was stopped")]
pub(crate) struct Args {
    /// A run's folder, an agent's file, 'shipped', or another player ('tengen list' shows all)
    #[arg(required_unless_present = "resume")]
    player: Option<String>,
    /// The game, for players that are not agents [default: the agent's, or tictactoe]
    #[arg(long, short)]
    game: Option<String>,
    /// Moves that an agent of value_minimax looks ahead [default: its setting]
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// The whole audit as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Play against every reply to every move, on boards too large for a table
    #[arg(long)]
    proof: bool,
    /// Play against perfect play from every opening of up to 4 moves, on boards too large for a table
    #[arg(long, conflicts_with_all = ["proof", "resume"])]
    playouts: bool,
    /// Folder for the work of a proof, new or empty, so that it can be stopped and resumed
    #[arg(long, short, value_name = "DIR", requires = "proof")]
    out: Option<PathBuf>,
    /// Go on with a proof that was stopped, from its folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["player", "game", "depth", "proof", "out"])]
    resume: Option<PathBuf>,
    /// Memory for the positions of a proof
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY)]
    memory: NonZeroU32,
    /// Threads for a proof or play-outs; they never change the result [default: all]
    #[arg(long, short, value_name = "T")]
    threads: Option<NonZeroU16>,
}

/// Memory for the positions of a proof, in MiB.
const DEFAULT_MEMORY: NonZeroU32 = NonZeroU32::new(1_024).expect("it is not 0");

impl Args {
    /// What is shown after `tengen` without arguments has trained.
    pub(crate) fn of(player: String) -> Args {
        Args {
            player: Some(player),
            game: None,
            depth: None,
            json: false,
            proof: false,
            playouts: false,
            out: None,
            resume: None,
            memory: DEFAULT_MEMORY,
            threads: None,
        }
    }
}

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    let setup = match (&args.resume, &args.player) {
        (Some(folder), _) => proof::Setup::read(folder)?,
        (None, player) => {
            let player = player.as_deref().unwrap_or(SHIPPED);
            proof::Setup::new(game_of(player, args.game.as_deref())?, player, args.depth)?
        }
    };
    registry::with_game(&setup.game, Prove { args, setup: &setup, look })
}

/// The game that is meant: the one that is named, else the agent's, else the default.
pub(crate) fn game_of(player: &str, named: Option<&str>) -> Result<String> {
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    let (player, _) = registry::split_search(player);
    if registry::is_word(player) {
        return Ok(DEFAULT_GAME.to_owned());
    }
    Ok(AgentFile::read(&registry::agent_path(player)?)?.origin.game)
}

struct Prove<'a> {
    args: &'a Args,
    setup: &'a proof::Setup,
    look: Look,
}

impl WithGame for Prove<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        if self.args.proof || self.args.resume.is_some() {
            return proof::run(&game, self.args, self.setup, self.look);
        }
        if self.args.playouts {
            return playouts::run(&game, self.args, self.setup);
        }
        let mut player = self.setup.player(&game)?;
        let Some(table) = game.table() else {
            if let Some(questions) = game.tactics() {
                return tactics::run(&game, questions, &mut player, self.args.json);
            }
            let Some(set) = game.labelled() else {
                let instead = if game.perfect().is_some() { ": there is --proof" } else { "" };
                let elsewhere = tactics::elsewhere(&game);
                bail!("{} is too large for a table of all its positions{instead}{elsewhere}", game.title());
            };
            return exam::run(&game, set, &mut player, self.args.json);
        };
        let report = Report::new(&table, &mut player)?;
        if self.args.json {
            talk::data(serde_json::to_string(&report.json(&game))?)?;
        } else {
            talk::data(report.text(self.look, &game))?;
        }
        Ok(())
    }
}

/// The audit of a player and, if it has one, of its stochastic policy.
struct Report {
    about: Vec<String>,
    trained: Vec<Seat>,
    plays: Audit,
    policy: Option<Audit>,
}

impl Report {
    fn new<G: Known>(table: &Table<G>, player: &mut Opponent<G>) -> Result<Report> {
        let plays = audit(table, player.player())?;
        let (about, trained, policy) = match player {
            Opponent::Other(_) => (vec![format!("Audit of {}", plays.player)], Seat::BOTH.to_vec(), None),
            Opponent::Agent(agent) => {
                let policy = agent.agent.stochastic().map(|mut policy| audit(table, &mut *policy)).transpose()?;
                let how = format!("audited as it plays: its best legal move by {}, no search", plays.player);
                (vec![format!("Audit of {}", agent.source), agent.about(), how], agent.seats(), policy)
            }
        };
        Ok(Report { about, trained, plays, policy })
    }

    fn json<G: Game>(&self, game: &G) -> serde_json::Value {
        serde_json::json!({
            "game": game.name(),
            "trained": self.trained.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "verdict": self.plays.verdict(game, &self.trained),
            "unbeatable": self.trained.iter().all(|&seat| self.plays.unbeatable_as(seat)),
            "plays": self.plays,
            "policy": self.policy,
        })
    }

    fn text<G: Game>(&self, look: Look, game: &G) -> String {
        let mut lines = vec![String::new(), paint(HEAD, &self.about[0])];
        lines.extend(self.about[1..].iter().cloned());
        lines.push(String::new());
        lines.extend(self.results(game));
        lines.push(String::new());
        lines.extend(self.moves(game));
        lines.extend(self.trained.iter().flat_map(|&seat| self.first_loss(look, game, seat)));
        let verdict = self.plays.verdict(game, &self.trained);
        let style = if verdict.starts_with("UNBEATABLE") { GOOD } else { BAD };
        lines.push(format!("\n{}", paint(style, verdict)));
        lines.join("\n")
    }

    /// What the player reaches in each seat.
    fn results<G: Game>(&self, game: &G) -> Vec<String> {
        let groups = format!("{:29}{:>32}{:>16}{:>21}", "", "every line of play", "best response", "random opponent");
        let columns = format!(
            "{:29}{:>8}{:>8}{:>8}{:>8}{:>7}{:>9}{:>7}{:>7}{:>7}",
            "", "lines", "won", "drawn", "lost", "value", "gives up", "win %", "draw %", "loss %"
        );
        let mut lines = vec![paint(HEAD, groups), paint(DIM, columns)];
        let policy = self.policy.as_ref().map(|policy| ("sampled, as", policy));
        for (name, audit) in std::iter::once(("as", &self.plays)).chain(policy) {
            for seat in Seat::BOTH {
                let trained = self.trained.contains(&seat);
                let mark = if trained { "" } else { " (not trained)" };
                let name = format!("  {name} {}{mark}", game.seat_name(seat));
                let line = format!("{name:29}{}", seat_cells(audit.seat(seat)));
                lines.push(if trained { line } else { paint(DIM, line) });
            }
        }
        lines
    }

    /// How often the move keeps what the position is worth.
    fn moves<G: Game>(&self, game: &G) -> Vec<String> {
        let audit = &self.plays;
        let plies: String = (0..audit.by_ply.len()).map(|ply| format!("{ply:>6}")).collect();
        let seats: String = Seat::BOTH.map(|seat| format!("{:>8}", format!("as {}", game.seat_name(seat)))).concat();
        let stones = format!("{:>9}", "stones:");
        let mut lines = vec![paint(HEAD, format!("{:24}{seats}{stones}{plies}", "The game's value kept, %"))];
        type Share = fn(&Choices) -> (u64, f64);
        let rows: [(&str, Share); 2] = [
            ("in all positions", |c| (c.positions, c.share())),
            ("where moves differ", |c| (c.decisive, c.decisive_share())),
        ];
        for (name, share) in rows {
            let cell = |choices: &Choices| match share(choices) {
                (0, _) => "-".to_owned(),
                (_, share) => percent(share),
            };
            let seats: String = Seat::BOTH.map(|seat| format!("{:>8}", cell(&audit.seat(seat).choices))).concat();
            let plies: String = audit.by_ply.iter().map(|choices| format!("{:>6}", cell(choices))).collect();
            lines.push(format!("  {name:22}{seats}{:9}{plies}", ""));
        }
        lines
    }

    /// The first line that the player loses in this seat, as boards.
    fn first_loss<G: Game>(&self, look: Look, game: &G, seat: Seat) -> Vec<String> {
        let line = &self.plays.seat(seat).first_loss;
        if line.is_empty() {
            return Vec::new();
        }
        let mut lines =
            vec![String::new(), paint(HEAD, format!("The first line that it loses as {}:", game.seat_name(seat)))];
        lines.extend(board::film(look, game, line, 100));
        lines
    }
}

/// What is known of one seat, in columns.
fn seat_cells(seat: &SeatAudit) -> String {
    let SeatAudit { lines: Lines { wins, draws, losses }, best_response, exploitability, against_random, .. } = seat;
    let [total, wins, draws, losses] = [wins + draws + losses, *wins, *draws, *losses].map(thousands);
    let [win, draw, loss] = [against_random.win, against_random.draw, against_random.loss].map(percent);
    // A hair below zero is rounding.
    let (value, gives_up) = (signed(*best_response), exploitability.max(0.0));
    format!("{total:>8}{wins:>8}{draws:>8}{losses:>8}{value:>7}{gives_up:>9.3}{win:>7}{draw:>7}{loss:>7}")
}

/// A value with its sign; nothing has none.
fn signed(value: f64) -> String {
    let text = format!("{value:+.3}");
    if text[1..] == *"0.000" { text[1..].to_owned() } else { text }
}

/// A share in percent with its 95 % interval.
fn with_interval(share: f64, positions: u64) -> String {
    if positions == 0 {
        return "-".to_owned();
    }
    let interval = wilson(share, positions as f64);
    format!("{} ({:.0}-{:.0})", percent(share), 100.0 * interval.low, 100.0 * interval.high)
}

/// A share in percent. Only what is exactly nothing or all looks so.
fn percent(share: f64) -> String {
    let rounded = (share * 1_000.0).round() / 10.0;
    let shown = match share {
        0.0 => 0.0,
        // Sums of probabilities may miss 1 by a rounding.
        share if share > 1.0 - 1e-12 => 100.0,
        _ => rounded.clamp(0.1, 99.9),
    };
    format!("{shown:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn almost_all_is_not_all() {
        assert_eq!([0.0, 1e-9, 0.5, 0.9999, 1.0].map(percent), ["0.0", "0.1", "50.0", "99.9", "100.0"]);
    }
}
