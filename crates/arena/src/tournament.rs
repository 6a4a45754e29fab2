//! Tournaments: who meets whom from which opening, on how many threads, from where it was stopped.
//!
//! Game number n is the same whatever runs beside it: its opening and its random numbers follow from (seed, n), and
//! results are added up in the order of numbers. So a tournament gives the same records at any number of threads,
//! and one that was stopped goes on as if it had not been.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

use rules::{Action, Choice, Forfeit, Game, NotExact, Outcome, Player, Rng, Seat};
use thiserror::Error;

use crate::play::{End, play_game};
use crate::record::Record;
use crate::sprt::{Sprt, Verdict};
use crate::standings::{Entered, Standings};
use crate::swap2::{self, Party};

/// A player that takes part.
pub struct Entrant<G: Game> {
    /// Its name in records and tables.
    pub name: String,
    /// Makes the player: once for each thread, and again after it failed.
    pub make: Make<G>,
}

/// Makes a player, or says why it can't.
pub type Make<G> = Box<dyn Fn() -> Result<Box<dyn Player<G>>, String> + Sync>;

/// Who meets whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Everyone meets everyone.
    RoundRobin,
    /// The first meets all others, who do not meet each other.
    Gauntlet,
}

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who meets whom.
    pub pairing: Pairing,
    /// Openings that every two players play, each with both seats; at least 1.
    pub rounds: u64,
    /// The openings to choose from: shuffled once by the seed, and begun again when all have been played.
    pub openings: Vec<Vec<Action>>,
    /// Decides the order of openings and all random numbers.
    pub seed: u64,
    /// Stops the match of two players when it is decided.
    pub sprt: Option<Sprt>,
    /// Whether each opening, of three stones then, is what one player proposes to the other by [`crate::swap2`].
    pub swap2: bool,
}

/// Why a tournament can't begin or go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TournamentError {
    /// There is nobody to play against.
    #[error("a tournament needs at least two players")]
    TooFewPlayers,
    /// Two players have one name, so their results could not be told apart.
    #[error("'{0}' takes part twice")]
    SameName(String),
    /// A sequential test decides between two players.
    #[error("a sequential test (SPRT) is for two players")]
    SprtNeedsTwo,
    /// The earlier records are of another tournament.
    #[error("game {number} of the records is not of this tournament: {why}")]
    OtherTournament {
        /// The number of the game.
        number: u64,
        /// What does not fit.
        why: String,
    },
}

/// Whether to go on after a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Finish no more games.
    Stop,
}

/// A tournament that can be run.
pub struct Tournament<'a, G: Game> {
    game: &'a G,
    entrants: &'a [Entrant<G>],
    plan: Plan,
    meetings: Vec<(usize, usize)>,
    standings: Standings,
    played: u64,
    verdict: Option<Verdict>,
    /// The first game of the pair that is being added.
    waiting: Option<Record>,
}

/// What game number n is.
struct Schedule {
    first: usize,
    second: usize,
    opening: usize,
}

/// The stream of random numbers that orders the openings; games use the streams of their numbers.
const OPENINGS_STREAM: u64 = u64::MAX;

impl<'a, G: Game> Tournament<'a, G> {
    /// A tournament before its first game.
    ///
    /// # Errors
    /// If the players or the plan make no tournament.
    ///
    /// # Panics
    /// If there are no openings or no rounds, or an opening of swap2 has not three stones.
    pub fn new(game: &'a G, entrants: &'a [Entrant<G>], mut plan: Plan) -> Result<Self, TournamentError> {
        assert!(!plan.openings.is_empty() && plan.rounds > 0, "a tournament has openings and rounds");
        assert!(
            !plan.swap2 || plan.openings.iter().all(|opening| opening.len() == 3),
            "swap2 begins with three stones"
        );
        if entrants.len() < 2 {
            return Err(TournamentError::TooFewPlayers);
        }
        for (i, entrant) in entrants.iter().enumerate() {
            if entrants[..i].iter().any(|other| other.name == entrant.name) {
                return Err(TournamentError::SameName(entrant.name.clone()));
            }
        }
        if plan.sprt.is_some() && entrants.len() > 2 {
            return Err(TournamentError::SprtNeedsTwo);
        }
        Rng::new(plan.seed, OPENINGS_STREAM).shuffle(&mut plan.openings);
        let all = (0..entrants.len()).flat_map(|a| (a + 1..entrants.len()).map(move |b| (a, b)));
        let meetings = all.filter(|&(a, _)| plan.pairing == Pairing::RoundRobin || a == 0).collect();
        let standings = Standings::new(entrants.iter().map(|entrant| entrant.name.clone()).collect());
        Ok(Tournament { game, entrants, plan, meetings, standings, played: 0, verdict: None, waiting: None })
    }

    /// The number of games, if no sequential test ends it before.
    pub fn planned(&self) -> u64 {
        2 * self.plan.rounds * self.meetings.len() as u64
    }

    /// The number of games played.
    pub fn played(&self) -> u64 {
        self.played
    }

    /// Whether nothing is left to play.
    pub fn is_over(&self) -> bool {
        self.played >= self.planned() || self.verdict.is_some()
    }

    /// What the games so far come to.
    pub fn standings(&self) -> &Standings {
        &self.standings
    }

    /// What the sequential test has decided, if it has.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Takes the next game from earlier records instead of playing it.
    ///
    /// # Errors
    /// If the record is not what this tournament would play next.
    pub fn restore(&mut self, record: &Record) -> Result<(), TournamentError> {
        let number = self.played;
        let other = |why: String| TournamentError::OtherTournament { number, why };
        if self.is_over() {
            return Err(other("the tournament was over before it".to_owned()));
        }
        let schedule = self.schedule(number);
        let names = [schedule.first, schedule.second].map(|place| &self.entrants[place].name);
        if record.number != number {
            return Err(other(format!("it has the number {}", record.number)));
        }
        let exchanged = self.plan.swap2 && names == [&record.second, &record.first];
        if names != [&record.first, &record.second] && !exchanged {
            return Err(other(format!("{} against {} is due", names[0], names[1])));
        }
        let moves = record.replay(self.game).map_err(|e| other(e.to_string()))?;
        let opening = &self.plan.openings[schedule.opening];
        let two_more = self.plan.swap2 && record.opening == opening.len() + 2;
        if record.opening != opening.len() && !two_more || !moves.starts_with(opening) {
            return Err(other("it has another opening".to_owned()));
        }
        self.add(record);
        Ok(())
    }

    /// Plays on `threads` >= 1 threads until the end or until `sink`, which gets every game in the order of numbers,
    /// says stop.
    pub fn run(&mut self, threads: usize, sink: &mut dyn FnMut(&Record, &Standings) -> Control) {
        if self.is_over() {
            return;
        }
        let next = AtomicU64::new(self.played);
        let stop = AtomicBool::new(false);
        let planned = self.planned();
        // What the workers read, apart from what the tournament changes meanwhile.
        let (game, entrants) = (self.game, self.entrants);
        let (plan, meetings) = (self.plan.clone(), self.meetings.clone());
        std::thread::scope(|scope| {
            // A bounded channel: nobody runs far ahead of the game that is folded next.
            let (sender, receiver) = mpsc::sync_channel(4 * threads);
            for _ in 0..threads {
                let (sender, next, stop, plan, meetings) = (sender.clone(), &next, &stop, &plan, &meetings);
                scope.spawn(move || {
                    let mut worker = Worker { game, entrants, players: entrants.iter().map(|_| None).collect() };
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= planned {
                            break;
                        }
                        let schedule = Schedule::of(number, meetings, plan.openings.len());
                        let opening = &plan.openings[schedule.opening];
                        let record = worker.play(number, &schedule, opening, plan);
                        if sender.send(record).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let mut early = BTreeMap::new();
            'games: for record in receiver {
                early.insert(record.number, record);
                while let Some(record) = early.remove(&self.played) {
                    self.add(&record);
                    if sink(&record, &self.standings) == Control::Stop || self.verdict.is_some() {
                        stop.store(true, Ordering::Relaxed);
                        break 'games;
                    }
                }
            }
        });
    }

    fn schedule(&self, number: u64) -> Schedule {
        Schedule::of(number, &self.meetings, self.plan.openings.len())
    }

    /// Adds the next game: alone it waits, with its other half it counts.
    fn add(&mut self, record: &Record) {
        self.played += 1;
        let Some(other) = self.waiting.take() else {
            self.waiting = Some(record.clone());
            return;
        };
        let games = [&other, record].map(|record| {
            let Schedule { mut first, mut second, .. } = self.schedule(record.number);
            // By swap2 the players may have exchanged their seats.
            if self.entrants[first].name != record.first {
                (first, second) = (second, first);
            }
            let moves = record.replay(self.game).expect("the game was played by the rules");
            Entered { first, second, moves, record }
        });
        self.standings.add(games);
        if let Some(sprt) = self.plan.sprt {
            let verdict = sprt.verdict(&self.standings.pairs(0, 1));
            self.verdict = (verdict != Verdict::Open).then_some(verdict);
        }
    }
}

impl Schedule {
    /// Rounds one after another; in each the meetings in order; in each the two seats.
    fn of(number: u64, meetings: &[(usize, usize)], openings: usize) -> Schedule {
        let pair = number / 2;
        let (a, b) = meetings[(pair % meetings.len() as u64) as usize];
        let opening = (pair / meetings.len() as u64 % openings as u64) as usize;
        if number.is_multiple_of(2) {
            Schedule { first: a, second: b, opening }
        } else {
            Schedule { first: b, second: a, opening }
        }
    }
}

/// A thread's own players.
struct Worker<'a, G: Game> {
    game: &'a G,
    entrants: &'a [Entrant<G>],
    players: Vec<Option<Box<dyn Player<G>>>>,
}

impl<G: Game> Worker<'_, G> {
    fn play(&mut self, number: u64, schedule: &Schedule, opening: &[Action], plan: &Plan) -> Record {
        let mut places = [schedule.first, schedule.second];
        let [mut first, mut second] = places.map(|place| self.player(place));
        let mut rng = Rng::new(plan.seed, number);
        let mut opening = opening.to_vec();
        if plan.swap2 {
            let (stones, black) = swap2::settle(self.game, &opening, [&mut *first, &mut *second], &mut rng);
            opening = stones;
            if black == Party::Chooser {
                places.reverse();
                std::mem::swap(&mut first, &mut second);
            }
        }
        let played = play_game(self.game, &opening, [&mut *first, &mut *second], &mut rng);
        // A player that failed is made anew for its next game.
        let failed = |seat: Seat| played.end != End::Board && played.outcome == Outcome::Win(seat.other());
        for (seat, player) in Seat::BOTH.into_iter().zip([first, second]) {
            self.players[places[seat.index()]] = (!failed(seat)).then_some(player);
        }
        let [first, second] = places.map(|place| self.entrants[place].name.as_str());
        Record::new(self.game, number, first, second, &played)
    }

    /// The thread's own player; one that can't be made forfeits when it should move.
    fn player(&mut self, place: usize) -> Box<dyn Player<G>> {
        let kept = self.players[place].take();
        kept.unwrap_or_else(|| (self.entrants[place].make)().unwrap_or_else(|why| Box::new(Broken(why))))
    }
}

/// Stands in for a player that could not be made.
struct Broken(String);

impl<G: Game> Player<G> for Broken {
    fn name(&self) -> String {
        "broken".to_owned()
    }

    fn distribution(&mut self, _: &G, _: &G::Position, _: &mut Vec<Choice>) -> Result<(), NotExact> {
        Err(NotExact(self.0.clone()))
    }

    fn choose(&mut self, _: &G, _: &G::Position, _: &mut Rng) -> Result<Action, Forfeit> {
        Err(Forfeit::Failed(self.0.clone()))
    }
}
