//! `tengen play`: a person against a player.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use methods::learner::Opinion;
use oracle::exact::{Exact, Verdict};
use oracle::table::Score;
use rules::notation::quote;
use rules::{Action, Game, Rng, Seat, Wdl};

use super::audit::game_of;
use super::train::draw_seed;
use crate::adviser::{Adviser, Marks};
use crate::board::{self, Note};
use crate::exit::Ended;
use crate::files;
use crate::prompt::ask;
use crate::pupil::Pupil;
use crate::registry::{self, Known, Opponent, SHIPPED, WithGame};
use crate::saved::Saved;
use crate::shipped;
use crate::talk::{self, FIRST, HEAD, Look, SECOND, paint};

/// Play against an agent or another player
///
/// Shows the board with what to write for each move. On request it shows what the network thinks of every cell, also
/// of those that may not be played, and what is true of every move by exact solution.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen play tictactoe                         against the agent that comes with tengen
  tengen play --against runs/tictactoe-outcome-7 --seat second
  tengen play tictactoe --learn                 the agent learns from your games, into a new file
  tengen play tictactoe --against perfect

Write a cell of tic-tac-toe as 0 to 8, row by row from the top; a column of Connect Four as 1 to 7; a point of Gomoku as a
letter and a number, a1 at the bottom left. The letters are a, b, c and so on without a gap: i is one of them, unlike in Go.")]
pub(crate) struct Args {
    /// The game [default: the opponent's, or tictactoe]
    game: Option<String>,
    /// The opponent: a run's folder, an agent's file, or another player ('tengen list' shows all) [default: the agent
    /// that comes with tengen or, for games without one, mcts:2000]
    #[arg(long, short, value_name = "PLAYER")]
    against: Option<String>,
    /// Your seat: the first moves first [default: asked before every game]
    #[arg(long, short)]
    seat: Option<SeatName>,
    /// Let the agent learn from every game, into a new file [default name: GAME-learned.safetensors]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    learn: Option<Option<PathBuf>>,
    /// Moves that an agent of value_minimax looks ahead [default: its setting]
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Go on with a game that was saved
    #[arg(long, value_name = "FILE", conflicts_with = "seat")]
    load: Option<PathBuf>,
    /// Start of the opponent's randomness, if it has any [default: drawn]
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum SeatName {
    First,
    Second,
}

impl Args {
    /// The game that follows `tengen` without arguments.
    pub(crate) fn against(player: String) -> Args {
        Args { game: None, against: Some(player), seat: None, learn: None, load: None, depth: None, seed: None }
    }
}

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    let against = args.against.as_deref().unwrap_or(SHIPPED);
    registry::with_game(&game_of(against, args.game.as_deref())?, Play { args, look })
}

struct Play<'a> {
    args: &'a Args,
    look: Look,
}

impl WithGame for Play<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        let Args { against, seat, learn, load, seed, .. } = self.args;
        let default = if shipped::of(&game).is_some() { SHIPPED } else { "mcts:2000" };
        let mut opponent = registry::player(&game, against.as_deref().unwrap_or(default))?;
        if let Some(depth) = self.args.depth {
            opponent.look_ahead(&game, depth)?;
        }
        let pupil = learn.as_ref().map(|path| Pupil::new(&game, path.as_deref(), &opponent)).transpose()?;
        let saved = load.as_ref().map(|path| Saved::read(&game, path)).transpose()?;
        talk::data(introduce(&game, &mut opponent))?;
        let rng = Rng::new(seed.map_or_else(draw_seed, Ok)?, 0);
        let (exact, adviser) = (game.perfect(), game.adviser());
        let mut sitting = Sitting {
            look: self.look,
            game,
            opponent,
            exact,
            adviser,
            pupil,
            rng,
            seat: Seat::First,
            moves: Vec::new(),
        };
        let mut loaded = saved;
        loop {
            (sitting.seat, sitting.moves) = match (loaded.take(), seat) {
                (Some(saved), _) => saved,
                (None, Some(SeatName::First)) => (Seat::First, Vec::new()),
                (None, Some(SeatName::Second)) => (Seat::Second, Vec::new()),
                (None, None) => match sitting.ask_seat()? {
                    Some(seat) => (seat, Vec::new()),
                    None => return Ok(()),
                },
            };
            match sitting.play()? {
                Next::Again => {}
                Next::Leave => return Ok(()),
            }
        }
    }
}

/// What is played, who sits on the other side, and how it plays.
fn introduce<G: Known>(game: &G, opponent: &mut Opponent<G>) -> String {
    let title = game.title();
    match opponent {
        Opponent::Agent(agent) => format!(
            "\n{}\n{}\nIt plays its best legal move by {}, the network alone: no search.",
            paint(HEAD, format!("{title} against {}", agent.source)),
            agent.about(),
            agent.agent.name()
        ),
        Opponent::Other(player) => format!("\n{}", paint(HEAD, format!("{title} against {}", player.name()))),
    }
}

/// What comes after a game.
enum Next {
    Again,
    Leave,
}

/// What the person asks for in place of a move.
enum Wish {
    Move(String),
    Help,
    Thoughts,
    Reasons,
    Verdicts,
    Hint,
    Marks,
    TakeBack,
    StartOver,
    Save(String),
    Leave,
}

impl Wish {
    fn read(line: &str) -> Wish {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word.to_ascii_lowercase().as_str() {
            "?" | "help" => Wish::Help,
            "p" | "probabilities" => Wish::Thoughts,
            "w" | "why" => Wish::Reasons,
            "v" | "verdicts" => Wish::Verdicts,
            "h" | "hint" => Wish::Hint,
            "m" | "marks" => Wish::Marks,
            "u" | "undo" => Wish::TakeBack,
            "n" | "new" => Wish::StartOver,
            "s" | "save" => Wish::Save(rest.trim().to_owned()),
            "q" | "quit" => Wish::Leave,
            _ => Wish::Move(line.to_owned()),
        }
    }
}

/// How many moves of a large board are listed with their numbers.
const MOST_SHOWN: usize = 10;

const HELP: &str = "  p       what the network thinks of your move: its number for every cell, also for taken ones
  w       why it made its last move: the same for the position before
  v       what is true: what every move leads to when both play best
  h       a hint and its reason
  m       marks in Gomoku: points that win, that make a four, that must be taken, that are forbidden
  u       take back your last move
  n       start over
  s FILE  save the game; 'tengen play --load FILE' goes on with it
  q       leave";

/// A person and an opponent at one board.
struct Sitting<G: Known> {
    look: Look,
    game: G,
    opponent: Opponent<G>,
    exact: Option<Box<dyn Exact<G>>>,
    adviser: Option<Box<dyn Adviser<G>>>,
    pupil: Option<Pupil>,
    rng: Rng,
    seat: Seat,
    moves: Vec<Action>,
}

impl<G: Known> Sitting<G> {
    /// The person's seat; `None` if the person leaves.
    fn ask_seat(&self) -> Result<Option<Seat>> {
        let [first, second] = Seat::BOTH.map(|seat| self.game.seat_name(seat));
        loop {
            let question = format!("\nPlay {first} (moves first) or {second} (second)? q leaves: ");
            let Some(answer) = ask(&question)? else {
                bail!(Ended::Failed("the input ended before the game began".to_owned()));
            };
            let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(&answer));
            if is(&[first, &first[..1], "first", "1"]) {
                return Ok(Some(Seat::First));
            } else if is(&[second, &second[..1], "second", "2"]) {
                return Ok(Some(Seat::Second));
            } else if is(&["q", "quit"]) {
                return Ok(None);
            }
            talk::data(format!("{} is no seat: write {first}, {second}, or q to leave", quote(&answer)))?;
        }
    }

    /// Plays one game from `moves` on.
    fn play(&mut self) -> Result<Next> {
        self.show()?;
        loop {
            let position = self.position();
            if self.game.outcome(&position).is_over() {
                match self.after_the_end()? {
                    Some(next) => return Ok(next),
                    None => self.show()?,
                }
            } else if self.game.to_move(&position) == self.seat {
                match self.persons_turn(&position)? {
                    Some(next) => return Ok(next),
                    None => continue,
                }
            } else {
                let chosen = self.opponent.player().choose(&self.game, &position, &mut self.rng);
                let action = chosen.map_err(|e| anyhow!("the opponent {e}"))?;
                let name = self.game.seat_name(self.seat.other());
                talk::data(format!(
                    "\n{} plays {}",
                    paint(style(self.seat.other()), name),
                    self.game.write_action(action)
                ))?;
                self.moves.push(action);
                self.show()?;
            }
        }
    }

    /// One answer of the person; `None` while the game goes on.
    fn persons_turn(&mut self, position: &G::Position) -> Result<Option<Next>> {
        let name = paint(style(self.seat), self.game.seat_name(self.seat));
        let Some(answer) = ask(&format!("\nYour move, {name} (? for help): "))? else {
            bail!(Ended::Failed("the input ended in the middle of the game".to_owned()));
        };
        match Wish::read(&answer) {
            Wish::Help => talk::data(format!("  {:7} {}\n{HELP}", "a move", "is written as the board shows it"))?,
            Wish::Thoughts => self.thoughts(position)?,
            Wish::Reasons => match self.moves.split_last() {
                Some((_, before)) => self.thoughts(&replayed(&self.game, before))?,
                None => talk::data("there is no move yet to give reasons for")?,
            },
            Wish::Verdicts => self.verdicts(position)?,
            Wish::Hint => talk::data(self.hint(position))?,
            Wish::Marks => self.marks(position)?,
            Wish::TakeBack => self.take_back()?,
            Wish::Save(name) => self.save(&name)?,
            Wish::StartOver => return Ok(Some(Next::Again)),
            Wish::Leave => return Ok(Some(Next::Leave)),
            Wish::Move(text) => match self.read_move(position, &text) {
                Err(reason) => talk::data(reason)?,
                Ok(action) => {
                    self.moves.push(action);
                    if self.game.outcome(&self.position()).is_over() {
                        self.show()?;
                    }
                }
            },
        }
        Ok(None)
    }

    fn read_move(&self, position: &G::Position, text: &str) -> Result<Action, String> {
        let action = self.game.read_action(text).map_err(|e| e.to_string())?;
        let refused = |e| format!("{} cannot be played: {e}", self.game.write_action(action));
        self.game.referee(position, action).map_err(refused)?;
        Ok(action)
    }

    /// The result, and what to do next; `None` if the last move was taken back.
    fn after_the_end(&mut self) -> Result<Option<Next>> {
        let position = self.position();
        let result = board::result(&self.game, &position).expect("the game is over");
        let whose = match self.game.outcome(&position).seen_by(self.seat) {
            Some(Wdl::Win) => ": you",
            Some(Wdl::Loss) => ": not you",
            Some(Wdl::Draw) | None => "",
        };
        talk::data(format!("\n{}{whose}", paint(HEAD, result)))?;
        if let Some(pupil) = &mut self.pupil {
            pupil.learn(&self.game, &mut self.opponent, &self.moves, self.seat.other())?;
        }
        loop {
            let Some(answer) = ask("\nAnother game? y, n, u takes back, s FILE saves: ")? else {
                talk::say("the input ended: leaving");
                return Ok(Some(Next::Leave));
            };
            match (answer.to_ascii_lowercase().as_str(), Wish::read(&answer)) {
                ("y" | "yes", _) => return Ok(Some(Next::Again)),
                ("no", _) | (_, Wish::StartOver | Wish::Leave) => return Ok(Some(Next::Leave)),
                (_, Wish::Save(name)) => self.save(&name)?,
                (_, Wish::TakeBack) if self.pupil.is_some() => {
                    talk::data("the agent has learned from this game already")?;
                }
                (_, Wish::TakeBack) => {
                    self.take_back()?;
                    return Ok(None);
                }
                _ => talk::data(format!("{} is no answer: write y or n", quote(&answer)))?,
            }
        }
    }

    fn position(&self) -> G::Position {
        replayed(&self.game, &self.moves)
    }

    /// Prints the board.
    fn show(&self) -> Result<()> {
        let before = self.moves.split_last().map(|(&last, before)| (replayed(&self.game, before), last));
        let last = before.map(|(position, action)| self.game.landing(&position, action));
        self.print(&board::draw(self.look, &self.game, &self.position(), last, None))
    }

    fn print(&self, lines: &[String]) -> Result<()> {
        let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        Ok(talk::data(format!("\n{}", lines.join("\n")))?)
    }

    /// What the network says of every cell.
    fn thoughts(&mut self, position: &G::Position) -> Result<()> {
        let mover = self.game.to_move(position);
        let Opponent::Agent(agent) = &mut self.opponent else {
            return Ok(talk::data("the opponent is no network: it has no numbers to show")?);
        };
        let trained = if agent.seats().contains(&mover) { "" } else { ", for which it was not trained" };
        let name = self.game.seat_name(mover);
        let (what, digits, numbers) = match agent.agent.opinion(&self.game, position) {
            Opinion::Probabilities(all) => {
                ("the probability in % of each move", 1, all.into_iter().map(|p| 100.0 * p).collect())
            }
            Opinion::Values(all) => ("the value of each move, from -1 to 1", 2, all),
        };
        talk::data(format!("\nWhat the network says for {name}{trained}: {what}, legal or not"))?;
        let score = |action: &Action| numbers[usize::from(*action)];
        let legal = rules::game::legal_actions(&self.game, position);
        let best = legal.iter().copied().max_by(|a, b| score(a).total_cmp(&score(b)));
        let text = |action: Action| match score(&action) {
            number if number.is_nan() => "-".to_owned(),
            // Without the sum, a hair below zero would be shown as -0.
            number => format!("{:.digits$}{}", number + 0.0, if best == Some(action) { "*" } else { "" }),
        };
        let actions = 0..self.game.actions() as Action;
        if board::has_large_cells(&self.game) {
            let note = |action| Note { text: text(action), mood: (best == Some(action)).then_some(true) };
            let notes: Vec<Note> = actions.map(note).collect();
            return self.print(&board::draw(self.look, &self.game, position, None, Some(&notes)));
        }
        let mut actions: Vec<Action> = actions.collect();
        actions.sort_by(|a, b| score(b).total_cmp(&score(a)));
        let line = |&action: &Action| {
            let mark = if legal.contains(&action) { "" } else { "  may not be played" };
            format!("{:>4}  {}{mark}", self.game.write_action(action), text(action))
        };
        self.print(&actions.iter().take(MOST_SHOWN).map(line).collect::<Vec<_>>())
    }

    /// What every move leads to with best play.
    fn verdicts(&mut self, position: &G::Position) -> Result<()> {
        let Some(verdicts) = self.exact.as_mut().and_then(|exact| exact.verdicts(position)) else {
            return Ok(talk::data(format!("nothing exact is known about {} here", self.game.title()))?);
        };
        talk::data("\nWhat each of your moves leads to when both play best")?;
        if !board::has_large_cells(&self.game) {
            let line = |verdict: &Verdict| {
                format!("{:>4}  {}", self.game.write_action(verdict.action), in_words(verdict.score))
            };
            return self.print(&verdicts.iter().map(line).collect::<Vec<_>>());
        }
        let mut notes = vec![Note::default(); self.game.cells()];
        for Verdict { action, score } in verdicts {
            notes[self.game.landing(position, action)] = Note::of(score.wdl);
        }
        self.print(&board::draw(self.look, &self.game, position, None, Some(&notes)))
    }

    /// Points that matter, on the board and in words.
    fn marks(&mut self, position: &G::Position) -> Result<()> {
        let Some(Marks { notes, legend }) = self.adviser.as_mut().map(|adviser| adviser.marks(position)) else {
            return Ok(talk::data(format!("there are no marks for {}", self.game.title()))?);
        };
        if legend.is_empty() {
            return Ok(talk::data("nothing to mark: no fours, no threats, nothing forbidden")?);
        }
        self.print(&board::draw(self.look, &self.game, position, None, Some(&notes)))?;
        self.print(&legend)
    }

    /// A best move and why.
    fn hint(&mut self, position: &G::Position) -> String {
        let Some(verdicts) = self.exact.as_mut().and_then(|exact| exact.verdicts(position)) else {
            return match &mut self.adviser {
                Some(adviser) => adviser.hint(position),
                None => format!("nothing exact is known about {} here", self.game.title()),
            };
        };
        let best = verdicts.iter().max_by_key(|verdict| verdict.score).expect("an ongoing game has moves");
        let why = match best.score.wdl {
            Wdl::Win => format!("it {}", in_words(best.score)),
            Wdl::Draw => "it keeps the draw".to_owned(),
            Wdl::Loss if best.score.plies.is_none() => "everything loses against best play".to_owned(),
            Wdl::Loss => "everything loses against best play, this takes longest".to_owned(),
        };
        format!("play {}: {why}", self.game.write_action(best.action))
    }

    /// Back to the person's last turn.
    fn take_back(&mut self) -> Result<()> {
        let own = (0..self.moves.len()).rev().find(|&ply| Seat::at_ply(ply) == self.seat);
        match own {
            None => talk::data("there is no move of yours to take back")?,
            Some(ply) => {
                self.moves.truncate(ply);
                self.show()?;
            }
        }
        Ok(())
    }

    fn save(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Ok(talk::data("write a file's name too: s FILE")?);
        }
        let opponent = self.opponent.player().name();
        let saved = Saved::new(&self.game, self.seat, &opponent, &self.moves);
        let line = serde_json::to_string(&saved)? + "\n";
        let told = match files::write_new(Path::new(name), line.as_bytes()) {
            Ok(()) => format!("saved in {name}"),
            Err(e) => format!("not saved: {e:#}"),
        };
        Ok(talk::data(told)?)
    }
}

/// What a move does and, if that is known, in how many moves of the winner, this one included.
fn in_words(Score { wdl, plies }: Score) -> String {
    let moves = match plies.map(|plies| plies.div_ceil(2)) {
        None => String::new(),
        Some(1) => " in 1 move".to_owned(),
        Some(moves) => format!(" in {moves} moves"),
    };
    match wdl {
        Wdl::Win if plies == Some(1) => "wins at once".to_owned(),
        Wdl::Win => format!("wins{moves}"),
        Wdl::Draw => "draws".to_owned(),
        Wdl::Loss => format!("loses{moves}"),
    }
}

fn style(seat: Seat) -> anstyle::Style {
    if seat == Seat::First { FIRST } else { SECOND }
}

/// The position after moves that have been found legal.
fn replayed<G: Game>(game: &G, moves: &[Action]) -> G::Position {
    rules::game::replay(game, moves).expect("only legal moves are kept")
}
