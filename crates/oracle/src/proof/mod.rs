//! The exhaustive proof: what a player makes of *every* line of play, on boards far too large for a table.
//!
//! A player that always answers a position in the same way needs few answers: against all replies of its opponent a
//! first player of Connect Four meets some millions of positions, not the 4.5 trillion of the game. They are walked
//! level by level, by plies; positions that are reached in several ways, or in a mirror, are one. If every line ends in
//! a win, that is the proof, and nobody was asked what is true.
//!
//! If not, a second pass goes back from the last level to the first. What a move leaves is known there: the least of
//! what the replies leave. So an exact solver is asked only in positions in which the player's own move does not win:
//! could another have been better? The answers say which moves gave something away. Where a player may choose between
//! several moves, all of them are followed.

mod estimate;
mod judge;
mod pack;
mod store;
mod walk;

use std::fmt;
use std::sync::atomic::AtomicBool;

use rules::{Action, Choice, Forfeit, Game, NotExact, Player, Seat, Wdl};
use serde::Serialize;

use crate::audit::Lines;
use crate::exact::Exact;

pub use estimate::{Estimate, estimate};
pub use pack::Packed;
pub use store::{InMemory, Store, StoreError};

use store::State;

/// What is to be proved, and with what.
#[derive(Clone, Copy)]
pub struct Task<'a, G: Game> {
    /// The game; it has at most 16 actions.
    pub game: &'a G,
    /// The seat that the player takes.
    pub seat: Seat,
    /// Makes the player; each thread has one of its own.
    pub player: &'a (dyn Fn() -> Box<dyn Player<G>> + Sync),
    /// Makes the source of truth; each thread has one of its own, from when it is needed.
    pub exact: &'a (dyn Fn() -> Box<dyn Exact<G>> + Sync),
    /// Threads to use; they do not change the result.
    pub threads: usize,
    /// Bytes that the positions of a level and of the next may take.
    pub memory: usize,
    /// Set by somebody else to end the work; what was done is in the store then.
    pub stop: &'a AtomicBool,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// The player's name.
    pub player: String,
    /// The seat that it took: `first` or `second`.
    pub seat: String,
    /// Different positions in which it was its turn.
    pub positions: u64,
    /// Whether the player was found to play symmetric positions symmetrically, so that they were counted once.
    pub symmetric: bool,
    /// Lines of play to the end of the game, by their result for the player; no more than 2^64 - 1 of each.
    pub lines: Lines,
    /// What the game is worth in this seat with best play: 1 a win, 0 a draw, -1 a loss.
    pub theory: i8,
    /// Moves in these positions.
    pub moves: u64,
    /// Moves that gave something away.
    pub mistakes: Mistakes,
    /// Positions in which the source of truth was asked.
    pub questions: u64,
    /// The earliest of the mistakes.
    pub first: Option<Mistake>,
}

/// Numbers of moves after which theory allows less than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mistakes {
    /// From a win to a draw.
    pub win_to_draw: u64,
    /// From a win to a loss.
    pub win_to_loss: u64,
    /// From a draw to a loss.
    pub draw_to_loss: u64,
}

impl Mistakes {
    /// All of them.
    pub fn total(self) -> u64 {
        self.win_to_draw + self.win_to_loss + self.draw_to_loss
    }

    /// Those that let a won game go.
    pub fn wins(self) -> u64 {
        self.win_to_draw + self.win_to_loss
    }

    pub(crate) fn add(&mut self, had: Wdl, left: Wdl) {
        match (had, left) {
            (Wdl::Win, Wdl::Draw) => self.win_to_draw += 1,
            (Wdl::Win, Wdl::Loss) => self.win_to_loss += 1,
            (Wdl::Draw, Wdl::Loss) => self.draw_to_loss += 1,
            _ => {}
        }
    }
}

/// A move that gave something away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// The moves of both sides from the start to the position.
    pub line: Vec<Action>,
    /// The player's move there.
    pub action: Action,
    /// What the position was worth to the player: 1 a win, 0 a draw.
    pub had: i8,
    /// What its move left: 0 a draw, -1 a loss.
    pub left: i8,
    /// The moves that would have kept it.
    pub better: Vec<Action>,
}

impl Proof {
    /// Whether every line ends in a win of the player.
    pub fn wins_everything(&self) -> bool {
        self.lines.draws == 0 && self.lines.losses == 0
    }

    /// Whether no move gave away what theory allows.
    pub fn is_perfect(&self) -> bool {
        self.mistakes.total() == 0
    }

    /// The verdict in one line.
    pub fn verdict(&self) -> String {
        let (positions, moves) = (grouped(self.positions), grouped(self.moves));
        if self.wins_everything() {
            format!("WINS AGAINST EVERYTHING (proved, {positions} positions)")
        } else if self.is_perfect() {
            format!("NEVER BELOW WHAT THEORY ALLOWS (proved, {positions} positions)")
        } else if self.theory == 1 {
            format!("LETS A WON GAME GO with {} of {moves} moves", grouped(self.mistakes.wins()))
        } else {
            format!("GIVES AWAY MORE THAN IT MUST with {} of {moves} moves", grouped(self.mistakes.total()))
        }
    }
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether the second pass has begun.
    pub judging: bool,
    /// Stones on the board in the level at hand.
    pub ply: usize,
    /// Positions of the level that are done.
    pub done: usize,
    /// Positions of the level.
    pub size: usize,
    /// Positions found so far, in all levels.
    pub positions: u64,
    /// Positions in which the source of truth was asked, in the second pass.
    pub questions: u64,
}

/// Why there is no proof.
#[derive(Debug)]
pub enum Halted {
    /// The work was stopped. What was done is in the store, and another call goes on from there.
    Stopped,
    /// The player's choice is not a function of the position.
    NotExact(NotExact),
    /// The player made no move.
    Forfeit(Forfeit),
    /// The store failed.
    Store(StoreError),
    /// A level has more positions than the memory holds.
    TooLarge {
        /// Stones on the board.
        ply: usize,
        /// Positions found by then.
        positions: usize,
    },
    /// The player was thought to be symmetric and is not.
    Asymmetric,
}

impl fmt::Display for Halted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halted::Stopped => f.write_str("stopped"),
            Halted::NotExact(e) => e.fmt(f),
            Halted::Forfeit(forfeit) => write!(f, "the player {forfeit}"),
            Halted::Store(e) => e.fmt(f),
            Halted::TooLarge { ply, positions } => {
                write!(f, "more memory is needed: there are over {positions} positions with {ply} stones")
            }
            Halted::Asymmetric => f.write_str("the player does not play symmetric positions symmetrically"),
        }
    }
}

impl std::error::Error for Halted {}

impl From<NotExact> for Halted {
    fn from(e: NotExact) -> Halted {
        Halted::NotExact(e)
    }
}

impl From<Forfeit> for Halted {
    fn from(forfeit: Forfeit) -> Halted {
        Halted::Forfeit(forfeit)
    }
}

impl From<StoreError> for Halted {
    fn from(e: StoreError) -> Halted {
        Halted::Store(e)
    }
}

/// The most actions of a game: a set of them is a word of 16 bits.
const MOST_ACTIONS: usize = 16;

/// Proves what the task asks, or goes on where an earlier call with the same store was stopped. `watch` is called now
/// and then with the progress; when it returns true, what was done is put into the store.
///
/// # Errors
/// See [`Halted`].
///
/// # Panics
/// If the game has too many actions, or the player makes an illegal move.
pub fn prove<G: Packed>(
    task: &Task<'_, G>,
    store: &mut dyn Store,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Proof, Halted> {
    assert!(task.game.actions() <= MOST_ACTIONS, "a set of actions is a word of 16 bits");
    let state = match State::read(store)? {
        Some(state) => state,
        None => State::new(is_symmetric(task)?),
    };
    let mut run = Run { task, store, watch, state };
    match run.finish() {
        Err(Halted::Asymmetric) => {
            // A rare position gave the player away: again, with every position for itself.
            run.state = State::new(false);
            run.finish()
        }
        done => done,
    }
}

/// A proof under way.
struct Run<'a, G: Game> {
    task: &'a Task<'a, G>,
    store: &'a mut dyn Store,
    watch: &'a mut dyn FnMut(&Progress) -> bool,
    state: State,
}

impl<G: Packed> Run<'_, G> {
    fn finish(&mut self) -> Result<Proof, Halted> {
        self.walk()?;
        self.judge()?;
        let State { lines, positions, moves, mistakes, questions, symmetric, .. } = self.state;
        let theory = as_number(self.theory()?);
        let first = match self.state.first {
            Some(first) => Some(self.mistake(first)?),
            None => None,
        };
        let (player, seat) = ((self.task.player)().name(), self.task.seat.to_string());
        Ok(Proof { player, seat, positions, symmetric, lines, theory, moves, mistakes, questions, first })
    }

    /// Says how far the work is; whether to save it.
    fn tell(&mut self, judging: bool, ply: usize, done: usize, size: usize) -> bool {
        let (positions, questions) = (self.state.positions, self.state.questions);
        (self.watch)(&Progress { judging, ply, done, size, positions, questions })
    }
}

/// A whole number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group));
    groups.collect::<Vec<_>>().join(",")
}

fn as_number(wdl: Wdl) -> i8 {
    match wdl {
        Wdl::Win => 1,
        Wdl::Draw => 0,
        Wdl::Loss => -1,
    }
}

/// A player, asked for sets of moves.
struct Asked<G: Game> {
    player: Box<dyn Player<G>>,
    choices: Vec<Choice>,
}

impl<G: Game> Asked<G> {
    fn new(task: &Task<'_, G>) -> Asked<G> {
        Asked { player: (task.player)(), choices: Vec::new() }
    }

    /// The moves that the player may make, as bits.
    fn moves(&mut self, game: &G, position: &G::Position) -> Result<u16, NotExact> {
        self.choices.clear();
        self.player.distribution(game, position, &mut self.choices)?;
        let mut moves = 0;
        for choice in &self.choices {
            assert!(game.referee(position, choice.action).is_ok(), "{} plays legal moves", self.player.name());
            moves |= 1 << choice.action;
        }
        assert_ne!(moves, 0, "{} makes a move", self.player.name());
        Ok(moves)
    }

    /// Whether the player makes the same moves in all symmetric images of a position. Where an image is the position
    /// itself it may choose one of two equal moves.
    fn is_symmetric_at(&mut self, game: &G, position: &G::Position, moves: u16) -> Result<bool, NotExact> {
        for &symmetry in &game.symmetries()[1..] {
            let image = game.transform(symmetry, position);
            if image != *position {
                let expected = actions(moves).fold(0, |set, a| set | 1 << game.transform_action(symmetry, a));
                if self.moves(game, &image)? != expected {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// The actions of a set.
fn actions(mut set: u16) -> impl Iterator<Item = Action> {
    std::iter::from_fn(move || {
        let action = (set != 0).then(|| set.trailing_zeros() as Action);
        set &= set.wrapping_sub(1);
        action
    })
}

/// Positions in which a player is tried before it is taken to be symmetric.
const TRIALS: u64 = 200;

/// Whether the player seems to play symmetric positions symmetrically.
fn is_symmetric<G: Packed>(task: &Task<'_, G>) -> Result<bool, NotExact> {
    let game = task.game;
    if game.symmetries().len() == 1 {
        return Ok(false);
    }
    let mut asked = Asked::new(task);
    for trial in 0..TRIALS {
        let mut rng = rules::Rng::new(trial, 0);
        let mut position = game.start();
        for _ in 0..rng.below(game.cells() / 2) {
            let action = game.random_legal(&position, &mut rng);
            game.play(&mut position, action);
            if game.outcome(&position).is_over() {
                break;
            }
        }
        if game.outcome(&position).is_over() || game.to_move(&position) != task.seat {
            continue;
        }
        let moves = asked.moves(game, &position)?;
        if !asked.is_symmetric_at(game, &position, moves)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The word by which a position is known in the walk.
fn key_of<G: Packed>(game: &G, symmetric: bool, position: &G::Position) -> u64 {
    if symmetric { game.pack(&game.canonical(position)) } else { game.pack(position) }
}

#[cfg(test)]
mod tests;
