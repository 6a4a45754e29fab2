//! Play-outs: what a player keeps of every short opening against an opponent that never errs.
//!
//! The opponent plays any of the best moves, so against it a result is lost by the player's own moves alone, and as soon
//! as a position is lost the game need not go on: the opponent will not give it back. One game is played from each opening
//! in each seat; another seed lets the opponent choose otherwise among equal moves.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;

use rules::{Game, Player, Rng, Wdl, game::legal_actions};
use serde::Serialize;

use crate::exact::Exact;
use crate::proof::{Halted, Mistakes, Task};

/// What a player kept of the openings in one seat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Playouts {
    /// Openings that are lost for it with best play of both: there was nothing to keep, and they were not played.
    pub lost_by_theory: u64,
    /// Games from openings that are a draw.
    pub drawn_by_theory: u64,
    /// Games from openings that are won.
    pub won_by_theory: u64,
    /// Games that ended worse than the opening allowed.
    pub lost: Mistakes,
}

impl Playouts {
    /// Games in which there was something to keep.
    pub fn games(&self) -> u64 {
        self.won_by_theory + self.drawn_by_theory
    }
}

/// All positions after at most so many plies that are not over, each once, mirror images apart: 1,415 of up to 4 plies in
/// Connect Four.
pub fn openings<G: Game>(game: &G, plies: usize) -> Vec<G::Position> {
    let mut all = vec![game.start()];
    let mut level = all.clone();
    for _ in 0..plies {
        let mut seen = HashSet::new();
        let mut next = Vec::new();
        for position in &level {
            for action in legal_actions(game, position) {
                let mut child = *position;
                game.play(&mut child, action);
                if !game.outcome(&child).is_over() && seen.insert(child) {
                    next.push(child);
                }
            }
        }
        all.extend(&next);
        level = next;
    }
    all
}

/// Plays the task's player in its seat from every opening. `watch` is told how many are done.
///
/// # Errors
/// [`Halted::Stopped`], or [`Halted::Forfeit`] from a player that makes no move.
pub fn play_out<G: Game>(
    task: &Task<'_, G>,
    openings: &[G::Position],
    seed: u64,
    watch: &mut dyn FnMut(usize),
) -> Result<Playouts, Halted> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..task.threads.max(1) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                let (mut player, mut exact) = ((task.player)(), (task.exact)());
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(opening) = openings.get(number) else { break };
                    // Each opening has random numbers of its own, so that threads do not matter.
                    let mut rng = Rng::new(seed, number as u64);
                    let results = game_from(opening, task, &mut *player, &mut *exact, &mut rng);
                    if sender.send(results).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut playouts = Playouts::default();
        for (done, results) in receiver.into_iter().enumerate() {
            let (allowed, kept) = results?;
            match allowed {
                Wdl::Win => playouts.won_by_theory += 1,
                Wdl::Draw => playouts.drawn_by_theory += 1,
                Wdl::Loss => playouts.lost_by_theory += 1,
            }
            playouts.lost.add(allowed, kept);
            watch(done + 1);
        }
        Ok(playouts)
    })
}

/// One game: what the opening allows the player, and what it keeps.
fn game_from<G: Game>(
    opening: &G::Position,
    task: &Task<'_, G>,
    player: &mut dyn Player<G>,
    exact: &mut dyn Exact<G>,
    rng: &mut Rng,
) -> Result<(Wdl, Wdl), Halted> {
    let &Task { game, seat, stop, .. } = task;
    let worth = |exact: &mut dyn Exact<G>, position: &G::Position| {
        if let Some(result) = game.outcome(position).seen_by(seat) {
            return Ok(result);
        }
        let value = exact.value(position, stop).map_err(|_| Halted::Stopped)?;
        Ok::<Wdl, Halted>(if game.to_move(position) == seat { value } else { value.flip() })
    };
    let allowed = worth(exact, opening)?;
    let (mut position, mut kept) = (*opening, allowed);
    while kept != Wdl::Loss && !game.outcome(&position).is_over() {
        let players_turn = game.to_move(&position) == seat;
        let to_move: &mut dyn Player<G> = if players_turn { player } else { exact };
        let action = to_move.choose(game, &position, rng)?;
        game.play(&mut position, action);
        if players_turn {
            kept = worth(exact, &position)?;
        }
    }
    Ok((allowed, kept))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::table::{Perfect, Table};
    use rules::Seat;
    use rules::connect4::Connect4;
    use rules::player::Random;
    use rules::tictactoe::TicTacToe;

    #[test]
    fn there_are_as_many_openings_as_published() {
        let counts = [1, 1 + 7, 1 + 7 + 49, 1 + 7 + 49 + 238, 1_415];
        assert_eq!([0, 1, 2, 3, 4].map(|plies| openings(&Connect4, plies).len()), counts);
    }

    /// Makes a player from the table of the game.
    type Make = fn(&Arc<Table<TicTacToe>>) -> Box<dyn Player<TicTacToe>>;

    fn play(player: Make, seat: Seat, threads: usize) -> Playouts {
        let table = Arc::new(Table::new(&TicTacToe));
        let make = || player(&table);
        let exact = || -> Box<dyn Exact<TicTacToe>> { Box::new(Perfect(table.clone())) };
        let stop = AtomicBool::new(false);
        let task = Task { game: &TicTacToe, seat, player: &make, exact: &exact, threads, memory: 0, stop: &stop };
        let mut told = 0;
        let openings = openings(&TicTacToe, 4);
        let playouts = play_out(&task, &openings, 7, &mut |done| told = done).unwrap();
        assert_eq!(told, openings.len());
        assert_eq!(playouts.games() + playouts.lost_by_theory, openings.len() as u64);
        playouts
    }

    #[test]
    fn the_perfect_player_loses_nothing_and_chance_much_whatever_the_threads() {
        for seat in Seat::BOTH {
            let perfect = play(|table| Box::new(Perfect(table.clone())), seat, 2);
            assert_eq!(perfect.lost, Mistakes::default());
            let random = play(|_| Box::new(Random), seat, 1);
            assert_eq!(random, play(|_| Box::new(Random), seat, 3));
            let Mistakes { win_to_draw, win_to_loss, draw_to_loss } = random.lost;
            assert!(win_to_draw > 0 && win_to_loss > 0 && draw_to_loss > random.drawn_by_theory / 4);
            assert!(random.lost.total() <= random.games());
            assert_eq!(random.won_by_theory, perfect.won_by_theory);
        }
    }
}
