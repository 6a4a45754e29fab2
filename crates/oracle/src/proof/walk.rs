//! The first pass: every position that can be reached, level by level.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rules::{Action, Game, Outcome, Seat, Wdl};

use super::store::{self, State};
use super::{Asked, Halted, Packed, Run, actions, key_of};
use crate::audit::Lines;

/// Positions that all threads together do between two looks at the clock.
const CHUNK: usize = 4_096;

/// Entries of a list of found positions before it is sorted for the first time.
const FIRST_SORT: usize = 1 << 20;

/// A position with the number of lines that lead to it.
type Found = (u64, u64);

/// What a thread works with.
struct Worker<'a, G: Game> {
    game: &'a G,
    seat: Seat,
    symmetric: bool,
    stop: &'a AtomicBool,
    asked: Asked<G>,
    replies: Vec<Action>,
    found: Vec<Found>,
    sort_at: usize,
    most: usize,
    lines: Lines,
    moves: u64,
}

impl<G: Packed> Run<'_, G> {
    /// Walks all levels that have not been walked.
    pub(super) fn walk(&mut self) -> Result<(), Halted> {
        if self.state.stage > 0 {
            return Ok(());
        }
        let task = self.task;
        // A quarter for what is found, as much for putting it together, the rest for the level at hand.
        let most = task.memory / size_of::<Found>() / 4 / task.threads.max(1);
        let worker = |_| Worker {
            game: task.game,
            seat: task.seat,
            symmetric: self.state.symmetric,
            stop: task.stop,
            asked: Asked::new(task),
            replies: Vec::new(),
            found: Vec::new(),
            sort_at: FIRST_SORT.min(most),
            most,
            lines: Lines::default(),
            moves: 0,
        };
        let mut workers: Vec<_> = (0..task.threads.max(1)).map(worker).collect();
        let mut found = self.level_at_hand(&mut workers[0])?;
        while !found.is_empty() {
            found = self.walk_level(&found, &mut workers)?;
        }
        self.state.levels = self.state.level;
        // If there is nothing but wins, there is nothing to judge.
        self.state.stage = if self.state.lines.draws + self.state.lines.losses == 0 { 2 } else { 1 };
        Ok(self.state.write(self.store)?)
    }

    /// The positions of the level at hand with the numbers of lines that lead to them.
    fn level_at_hand(&mut self, worker: &mut Worker<'_, G>) -> Result<Vec<Found>, Halted> {
        let keys: Vec<u64> = store::get(self.store, &name(self.state.level, "positions"))?;
        if self.state.level > 0 {
            let lines: Vec<u64> = store::get(self.store, LINES)?;
            if let Some((&level, lines)) = lines.split_last()
                && level == self.state.level as u64
                && lines.len() == keys.len()
            {
                return Ok(keys.into_iter().zip(lines.iter().copied()).collect());
            }
        }
        // From the start, be it because nothing was kept or because the work was cut off between two levels.
        self.state = State::new(self.state.symmetric);
        let game = self.task.game;
        let start = game.start();
        if self.task.seat == Seat::First {
            return Ok(vec![(key_of(game, self.state.symmetric, &start), 1)]);
        }
        worker.replies(&start, 1);
        self.state.lines = std::mem::take(&mut worker.lines);
        merge(&mut worker.found);
        Ok(std::mem::take(&mut worker.found))
    }

    /// Asks the player in every position of a level and returns the next level.
    fn walk_level(&mut self, level: &[Found], workers: &mut [Worker<'_, G>]) -> Result<Vec<Found>, Halted> {
        let at = self.state.level;
        let keys: Vec<u64> = level.iter().map(|&(key, _)| key).collect();
        let ply = self.task.game.ply(&self.task.game.unpack(keys[0]));
        let mut moves: Vec<u16> = store::get(self.store, &name(at, "moves"))?;
        // Moves of a level that was begun; they belong to these positions, as the state is written last.
        let begun = store::get::<u64>(self.store, &name(at, "positions"))? == keys;
        if !begun || moves.len() != keys.len() {
            moves = vec![0; keys.len()];
            store::put(self.store, &name(at, "positions"), &keys)?;
        }
        let before = self.state.positions;
        self.state.positions += keys.len() as u64;
        let mut outcome = Ok(());
        for chunk in chunks(keys.len(), CHUNK) {
            let part = chunk.len().div_ceil(workers.len());
            let level = level[chunk.clone()].chunks(part);
            let parts = moves[chunk.clone()].chunks_mut(part).zip(level);
            outcome = in_parallel(workers, parts, |worker, (moves, level)| worker.walk(level, moves));
            if outcome.is_err() {
                break;
            }
            if self.tell(false, ply, chunk.end, keys.len()) {
                store::put(self.store, &name(at, "moves"), &moves)?;
            }
        }
        store::put(self.store, &name(at, "moves"), &moves)?;
        if let Err(e) = outcome {
            self.state.positions = before;
            self.state.write(self.store)?;
            return Err(e);
        }
        let mut next = Vec::new();
        for worker in workers {
            next.append(&mut worker.found);
            let lines = std::mem::take(&mut worker.lines);
            let all = &mut self.state.lines;
            all.wins = all.wins.saturating_add(lines.wins);
            all.draws = all.draws.saturating_add(lines.draws);
            all.losses = all.losses.saturating_add(lines.losses);
            self.state.moves += std::mem::take(&mut worker.moves);
        }
        merge(&mut next);
        self.state.level += 1;
        let keys: Vec<u64> = next.iter().map(|&(key, _)| key).collect();
        let mut lines: Vec<u64> = next.iter().map(|&(_, lines)| lines).collect();
        lines.push(self.state.level as u64);
        store::put(self.store, &name(self.state.level, "positions"), &keys)?;
        store::put(self.store, LINES, &lines)?;
        self.state.write(self.store)?;
        Ok(next)
    }
}

/// Where the numbers of lines that lead to the positions of the level at hand are kept, with the level's number last.
const LINES: &str = "lines";

/// The name under which a part of a level is kept.
pub(super) fn name(level: usize, part: &str) -> String {
    format!("{level:02}.{part}")
}

/// Ranges of at most `size` that cover 0..len.
pub(super) fn chunks(len: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(size).map(move |from| from..len.min(from + size))
}

/// Lets each worker do a part, all at once. The first failure counts.
pub(super) fn in_parallel<W: Send, P: Send>(
    workers: &mut [W],
    parts: impl Iterator<Item = P>,
    work: impl Fn(&mut W, P) -> Result<(), Halted> + Sync,
) -> Result<(), Halted> {
    let work = &work;
    std::thread::scope(|scope| {
        let mut jobs = workers.iter_mut().zip(parts);
        let own = jobs.next();
        let others: Vec<_> = jobs.map(|(worker, part)| scope.spawn(move || work(worker, part))).collect();
        let own = own.map_or(Ok(()), |(worker, part)| work(worker, part));
        let others = others.into_iter().map(|other| other.join().expect("no thread panics"));
        std::iter::once(own).chain(others).collect()
    })
}

/// Sorts positions and makes one of those that are equal.
fn merge(found: &mut Vec<Found>) {
    found.sort_unstable();
    found.dedup_by(|other, kept| {
        let same = other.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(other.1);
        }
        same
    });
}

impl<G: Packed> Worker<'_, G> {
    /// Asks the player where its moves are not known, and finds what may follow.
    fn walk(&mut self, level: &[Found], moves: &mut [u16]) -> Result<(), Halted> {
        for (&(key, lines), moves) in level.iter().zip(moves) {
            if self.stop.load(Relaxed) {
                return Err(Halted::Stopped);
            }
            let position = self.game.unpack(key);
            if *moves == 0 {
                let asked = self.asked.moves(self.game, &position)?;
                if self.symmetric && !self.asked.is_symmetric_at(self.game, &position, asked)? {
                    return Err(Halted::Asymmetric);
                }
                *moves = asked;
            }
            for action in actions(*moves) {
                self.moves += 1;
                let mut after = position;
                self.game.play(&mut after, action);
                match self.game.outcome(&after) {
                    Outcome::Ongoing => self.replies(&after, lines),
                    over => self.end(over, lines),
                }
            }
            if self.found.len() >= self.sort_at {
                merge(&mut self.found);
                self.sort_at = (2 * self.found.len()).max(FIRST_SORT).min(self.most);
                if self.found.len() >= self.sort_at {
                    return Err(Halted::TooLarge { ply: self.game.ply(&position) + 2, positions: self.found.len() });
                }
            }
        }
        Ok(())
    }

    /// Makes every reply in a position in which the opponent is to move.
    fn replies(&mut self, position: &G::Position, lines: u64) {
        let mut replies = std::mem::take(&mut self.replies);
        replies.clear();
        self.game.legal(position, &mut replies);
        for &reply in &replies {
            let mut child = *position;
            self.game.play(&mut child, reply);
            match self.game.outcome(&child) {
                Outcome::Ongoing => self.found.push((key_of(self.game, self.symmetric, &child), lines)),
                over => self.end(over, lines),
            }
        }
        self.replies = replies;
    }

    fn end(&mut self, outcome: Outcome, lines: u64) {
        let count = match outcome.seen_by(self.seat).expect("the game is over") {
            Wdl::Win => &mut self.lines.wins,
            Wdl::Draw => &mut self.lines.draws,
            Wdl::Loss => &mut self.lines.losses,
        };
        *count = count.saturating_add(lines);
    }
}
