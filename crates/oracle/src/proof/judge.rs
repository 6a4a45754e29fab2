//! The second pass: from the last level to the first, what every move leaves and whether another would have left more.

use std::sync::atomic::AtomicBool;

use rules::{Action, Game, Outcome, Seat, Wdl, game::legal_actions};

use super::store::{self, First};
use super::walk::{chunks, in_parallel, name};
use super::{Halted, Mistake, Mistakes, Packed, Run, actions, as_number, key_of};
use crate::exact::Exact;

/// Positions that all threads together do between two looks at the clock.
const CHUNK: usize = 512;

/// Stands for a value that is not known yet; the others are those of [`as_byte`].
const UNKNOWN: u8 = 3;

fn as_byte(wdl: Wdl) -> u8 {
    match wdl {
        Wdl::Loss => 0,
        Wdl::Draw => 1,
        Wdl::Win => 2,
    }
}

fn from_byte(byte: u8) -> Wdl {
    [Wdl::Loss, Wdl::Draw, Wdl::Win][usize::from(byte)]
}

/// The level behind the one at hand: its positions and what they are worth to the player.
#[derive(Default)]
struct Behind {
    keys: Vec<u64>,
    values: Vec<u8>,
}

impl Behind {
    fn value(&self, key: u64) -> Wdl {
        from_byte(self.values[self.keys.binary_search(&key).expect("the walk has been here")])
    }
}

/// What a thread works with.
struct Worker<'a, G: Game> {
    game: &'a G,
    seat: Seat,
    symmetric: bool,
    stop: &'a AtomicBool,
    exact: Box<dyn Exact<G>>,
    replies: Vec<Action>,
    mistakes: Mistakes,
    questions: u64,
    /// The first mistake in this part of the level.
    first: Option<First>,
}

/// A part of a level: the number of the level, positions, moves, values.
type Part<'a> = (usize, &'a [u64], &'a [u16], &'a mut [u8]);

impl<G: Packed> Run<'_, G> {
    /// Judges all levels that have not been judged.
    pub(super) fn judge(&mut self) -> Result<(), Halted> {
        if self.state.stage > 1 {
            return Ok(());
        }
        let task = self.task;
        let worker = |_| Worker {
            game: task.game,
            seat: task.seat,
            symmetric: self.state.symmetric,
            stop: task.stop,
            exact: (task.exact)(),
            replies: Vec::new(),
            mistakes: Mistakes::default(),
            questions: 0,
            first: None,
        };
        let mut workers: Vec<_> = (0..task.threads.max(1)).map(worker).collect();
        let mut behind = Behind::default();
        if self.state.level < self.state.levels {
            let keys = store::get(self.store, &name(self.state.level, "positions"))?;
            behind = Behind { keys, values: store::get(self.store, &name(self.state.level, "values"))? };
        }
        while self.state.level > 0 {
            behind = self.judge_level(&behind, &mut workers)?;
            self.state.level -= 1;
            self.state.write(self.store)?;
        }
        self.state.stage = 2;
        Ok(self.state.write(self.store)?)
    }

    fn judge_level(&mut self, behind: &Behind, workers: &mut [Worker<'_, G>]) -> Result<Behind, Halted> {
        let at = self.state.level - 1;
        let keys: Vec<u64> = store::get(self.store, &name(at, "positions"))?;
        let moves: Vec<u16> = store::get(self.store, &name(at, "moves"))?;
        let mut values: Vec<u8> = store::get(self.store, &name(at, "values"))?;
        if values.len() != keys.len() {
            values = vec![UNKNOWN; keys.len()];
        }
        let ply = self.task.game.ply(&self.task.game.unpack(keys[0]));
        let mut first = None;
        let mut outcome = Ok(());
        for chunk in chunks(keys.len(), CHUNK) {
            let part = chunk.len().div_ceil(workers.len());
            let parts = keys[chunk.clone()].chunks(part).zip(moves[chunk.clone()].chunks(part));
            let parts = parts.zip(values[chunk.clone()].chunks_mut(part));
            let parts = parts.map(|((keys, moves), values)| (at, keys, moves, values));
            outcome = in_parallel(workers, parts, |worker, part| worker.judge(part, behind));
            // Parts are in order of positions, so the first is the same on any number of threads.
            first = workers.iter_mut().fold(first, |first, worker| first.or(worker.first.take()));
            if outcome.is_err() {
                break;
            }
            let questions: u64 = workers.iter().map(|worker| worker.questions).sum();
            let before = self.state.questions;
            self.state.questions += questions;
            let save = self.tell(true, ply, chunk.end, keys.len());
            self.state.questions = before;
            if save {
                store::put(self.store, &name(at, "values"), &values)?;
            }
        }
        store::put(self.store, &name(at, "values"), &values)?;
        outcome?;
        for worker in workers {
            let Mistakes { win_to_draw, win_to_loss, draw_to_loss } = std::mem::take(&mut worker.mistakes);
            let all = &mut self.state.mistakes;
            all.win_to_draw += win_to_draw;
            all.win_to_loss += win_to_loss;
            all.draw_to_loss += draw_to_loss;
            self.state.questions += std::mem::take(&mut worker.questions);
        }
        // Levels come from the last to the first.
        self.state.first = first.or(self.state.first);
        Ok(Behind { keys, values })
    }

    /// What the game is worth to the player with best play: known when all is judged.
    pub(super) fn theory(&mut self) -> Result<Wdl, Halted> {
        if self.state.lines.draws + self.state.lines.losses == 0 {
            return Ok(Wdl::Win);
        }
        let values: Vec<u8> = store::get(self.store, &name(0, "values"))?;
        Ok(from_byte(values.into_iter().min().expect("the first level is not empty")))
    }

    /// The mistake with a line that leads to it.
    pub(super) fn mistake(&mut self, first: First) -> Result<Mistake, Halted> {
        let game = self.task.game;
        // From the mistake back to the start: in each level a position that leads to the one behind.
        let mut way = vec![first.key];
        for level in (0..first.level).rev() {
            let keys: Vec<u64> = store::get(self.store, &name(level, "positions"))?;
            let moves: Vec<u16> = store::get(self.store, &name(level, "moves"))?;
            let goal = *way.last().expect("it holds the mistake");
            let leads = |(key, moves): &(u64, u16)| !self.lines_between(&game.unpack(*key), *moves, goal).is_empty();
            let (key, _) = keys.into_iter().zip(moves).find(leads).expect("every position of the walk was reached");
            way.push(key);
        }
        // And forward again, as the moves really were: the walk may have shown positions in a mirror.
        let mut position = game.start();
        let mut line = Vec::new();
        if self.task.seat == Seat::Second {
            let key = *way.last().expect("it holds the mistake");
            let mut openings = legal_actions(game, &position).into_iter();
            let opening =
                openings.find(|&action| key_of(game, self.state.symmetric, &played(game, &position, action)) == key);
            line.push(opening.expect("the first level holds what the first move leads to"));
            position = played(game, &position, line[0]);
        }
        let mut asked = super::Asked::new(self.task);
        for &goal in way.iter().rev().skip(1) {
            let moves = asked.moves(game, &position)?;
            let [action, reply] = self.lines_between(&position, moves, goal)[0];
            line.extend([action, reply]);
            position = played(game, &played(game, &position, action), reply);
        }
        let moves = asked.moves(game, &position)?;
        let (had, left) = (from_byte(first.had as u8), from_byte(first.left as u8));
        let mut exact = (self.task.exact)();
        let mut worth = Vec::new();
        for action in legal_actions(game, &position) {
            let after = played(game, &position, action);
            let value = match game.outcome(&after).seen_by(self.task.seat) {
                Some(end) => end,
                None => exact.value(&after, self.task.stop).map_err(|_| Halted::Stopped)?.flip(),
            };
            worth.push((action, value));
        }
        let leaves = |action: Action, value: Wdl| worth.contains(&(action, value));
        let action = actions(moves).find(|&action| leaves(action, left)).unwrap_or(first.action as Action);
        let better = worth.iter().filter(|(_, value)| *value == had).map(|&(action, _)| action).collect();
        Ok(Mistake { line, action, had: as_number(had), left: as_number(left), better })
    }

    /// The moves of the player with the replies that lead from one position of the walk to another.
    fn lines_between(&self, position: &G::Position, moves: u16, goal: u64) -> Vec<[Action; 2]> {
        let game = self.task.game;
        let mut lines = Vec::new();
        for action in actions(moves) {
            let after = played(game, position, action);
            for reply in legal_actions(game, &after) {
                if key_of(game, self.state.symmetric, &played(game, &after, reply)) == goal {
                    lines.push([action, reply]);
                }
            }
        }
        lines
    }
}

fn played<G: Game>(game: &G, position: &G::Position, action: Action) -> G::Position {
    let mut after = *position;
    game.play(&mut after, action);
    after
}

impl<G: Packed> Worker<'_, G> {
    fn judge(&mut self, (level, keys, moves, values): Part<'_>, behind: &Behind) -> Result<(), Halted> {
        for ((&key, &moves), value) in keys.iter().zip(moves).zip(values) {
            let position = self.game.unpack(key);
            let mut left = [Wdl::Loss; super::MOST_ACTIONS];
            let mut best = Wdl::Loss;
            for action in actions(moves) {
                let worth = self.left_by(&position, action, behind);
                left[usize::from(action)] = worth;
                best = best.max(worth);
            }
            if *value == UNKNOWN {
                // Nothing is better than a win, so only where no move of the player wins is there something to ask.
                *value = as_byte(if best == Wdl::Win {
                    best
                } else {
                    self.exact.value(&position, self.stop).map_err(|_| Halted::Stopped)?
                });
            }
            self.questions += u64::from(best != Wdl::Win);
            let worth = from_byte(*value);
            for action in actions(moves) {
                let left = left[usize::from(action)];
                if left < worth {
                    self.mistakes.add(worth, left);
                    let (had, left) = (u64::from(as_byte(worth)), u64::from(as_byte(left)));
                    self.first = self.first.or(Some(First { level, key, action: u64::from(action), had, left }));
                }
            }
        }
        Ok(())
    }

    /// What a move of the player leaves: the least of what the replies leave.
    fn left_by(&mut self, position: &G::Position, action: Action, behind: &Behind) -> Wdl {
        let after = played(self.game, position, action);
        if let Some(end) = self.game.outcome(&after).seen_by(self.seat) {
            return end;
        }
        self.replies.clear();
        self.game.legal(&after, &mut self.replies);
        let mut least = Wdl::Win;
        for &reply in &self.replies {
            let child = played(self.game, &after, reply);
            let worth = match self.game.outcome(&child) {
                Outcome::Ongoing => behind.value(key_of(self.game, self.symmetric, &child)),
                over => over.seen_by(self.seat).expect("the game is over"),
            };
            least = least.min(worth);
        }
        least
    }
}
