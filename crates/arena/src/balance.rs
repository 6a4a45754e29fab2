//! Openings that favour neither side, found by letting one player play both sides of many.
//!
//! For boards on which all short openings are too many, and most of them lopsided.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

use rules::game::legal_actions;
use rules::{Action, Game, Outcome, Player, Rng, Seat, Wdl};

use crate::play::play_game;
use crate::score::Tally;
use crate::tournament::Control;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// How many openings.
    pub count: usize,
    /// The least and the greatest number of moves in an opening.
    pub plies: (usize, usize),
    /// How many games decide about an opening. It is even if wins and losses differ by at most a quarter of them.
    pub games: u64,
    /// Decides about the candidates and all random numbers.
    pub seed: u64,
}

/// A candidate with what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Its number, from 0.
    pub number: u64,
    /// The moves.
    pub opening: Vec<Action>,
    /// Results of the first player. Fewer games than were wished for if they were already too lopsided.
    pub tally: Tally,
    /// Whether it is even, and not a mirror image of an earlier one.
    pub taken: bool,
}

/// Makes the player of game number n of a candidate: it must choose differently for another n.
pub type MakeSelf<'a, G> = &'a (dyn Fn(u64) -> Box<dyn Player<G>> + Sync);

/// After so many candidates without a new opening there are no more of them.
const PATIENCE: u64 = 1_000;

/// Examines candidates in the order of their numbers until enough are taken, there seem to be no more, or `sink` says
/// stop. The result does not depend on the number of threads.
pub fn search<G: Game>(
    game: &G,
    wish: Wish,
    make: MakeSelf<'_, G>,
    threads: usize,
    sink: &mut dyn FnMut(&Examined) -> Control,
) -> Vec<Vec<Action>> {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut taken: Vec<Vec<Action>> = Vec::new();
    let mut seen = HashSet::new();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(threads);
        for _ in 0..threads {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if sender.send(examine(game, wish, number, make)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let (mut due, mut last_taken) = (0, 0);
        'candidates: for examined in receiver {
            early.insert(examined.number, examined);
            while let Some(mut examined) = early.remove(&due) {
                due += 1;
                let end = rules::game::replay(game, &examined.opening).expect("a candidate is legal");
                examined.taken = examined.taken && seen.insert(game.canonical(&end));
                if examined.taken {
                    taken.push(examined.opening.clone());
                    last_taken = due;
                }
                let enough = taken.len() == wish.count || due - last_taken == PATIENCE;
                if sink(&examined) == Control::Stop || enough {
                    stop.store(true, Ordering::Relaxed);
                    break 'candidates;
                }
            }
        }
    });
    taken
}

fn examine<G: Game>(game: &G, wish: Wish, number: u64, make: MakeSelf<'_, G>) -> Examined {
    let mut rng = Rng::new(wish.seed, number);
    let opening = candidate(game, wish.plies, &mut rng);
    let mut tally = Tally::default();
    for nth in 0..wish.games {
        let (mut first, mut second) = (make(nth), make(nth));
        let played = play_game(game, &opening, [&mut *first, &mut *second], &mut rng);
        tally.add(played.outcome.seen_by(Seat::First).unwrap_or(Wdl::Draw));
        if lead(tally) > wish.games / 4 + (wish.games - nth - 1) {
            break;
        }
    }
    Examined { number, opening, tally, taken: lead(tally) <= wish.games / 4 }
}

fn lead(tally: Tally) -> u64 {
    tally.wins.abs_diff(tally.losses)
}

/// So many random openings of this length, distinct up to symmetry, as far as there seem to be so many.
///
/// They lie together in the middle of the board, and nobody has looked whether they favour a side.
pub fn candidates<G: Game>(game: &G, plies: usize, count: usize, seed: u64) -> Vec<Vec<Action>> {
    let mut seen = HashSet::new();
    let new = |number| {
        let opening = candidate(game, (plies, plies), &mut Rng::new(seed, number));
        let end = rules::game::replay(game, &opening).expect("a candidate is legal");
        seen.insert(game.canonical(&end)).then_some(opening)
    };
    (0..PATIENCE + count as u64).filter_map(new).take(count).collect()
}

/// A random opening: the first stone in the middle third of the columns and, unless stones fall, of the rows; each
/// further one at most two cells from another where that is possible.
fn candidate<G: Game>(game: &G, (least, most): (usize, usize), rng: &mut Rng) -> Vec<Action> {
    let plies = least + rng.below(most - least + 1);
    loop {
        let mut position = game.start();
        let mut moves = Vec::new();
        while moves.len() < plies && game.outcome(&position) == Outcome::Ongoing {
            let mut actions = legal_actions(game, &position);
            for near in [in_the_middle, in_the_middle_columns, near_a_stone] {
                let kept = |&&action: &&Action| near(game, &position, game.landing(&position, action));
                let fewer: Vec<Action> = actions.iter().filter(kept).copied().collect();
                if !fewer.is_empty() {
                    actions = fewer;
                    break;
                }
            }
            let action = actions[rng.below(actions.len())];
            game.play(&mut position, action);
            moves.push(action);
        }
        if moves.len() == plies && game.outcome(&position) == Outcome::Ongoing {
            return moves;
        }
    }
}

fn is_middle(at: usize, size: usize) -> bool {
    at >= size / 3 && at < size - size / 3
}

fn in_the_middle<G: Game>(game: &G, position: &G::Position, cell: usize) -> bool {
    in_the_middle_columns(game, position, cell) && is_middle(cell / game.columns(), game.rows())
}

fn in_the_middle_columns<G: Game>(game: &G, position: &G::Position, cell: usize) -> bool {
    game.ply(position) == 0 && is_middle(cell % game.columns(), game.columns())
}

fn near_a_stone<G: Game>(game: &G, position: &G::Position, cell: usize) -> bool {
    let (columns, rows) = (game.columns(), game.rows());
    let near = |at: usize, size: usize| at.saturating_sub(2)..(at + 3).min(size);
    near(cell / columns, rows)
        .any(|row| near(cell % columns, columns).any(|column| game.stone(position, row * columns + column).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::connect4::Connect4;
    use rules::player::Random;
    use rules::tictactoe::TicTacToe;
    use search::Mcts;

    fn found(threads: usize, count: usize) -> (Vec<Vec<Action>>, Vec<Examined>) {
        let wish = Wish { count, plies: (1, 3), games: 8, seed: 5 };
        let mut examined = Vec::new();
        let make: MakeSelf<'_, TicTacToe> = &|n| Box::new(Mcts::new(&TicTacToe, 30).salted(n));
        let taken = search(&TicTacToe, wish, make, threads, &mut |e| {
            examined.push(e.clone());
            Control::Continue
        });
        (taken, examined)
    }

    #[test]
    fn even_openings_are_distinct_and_the_same_on_any_number_of_threads() {
        let (taken, examined) = found(1, 4);
        assert_eq!(taken.len(), 4);
        assert_eq!(found(3, 4), (taken.clone(), examined.clone()));
        for (number, e) in examined.iter().enumerate() {
            assert_eq!(e.number, number as u64);
            assert!(!e.taken || lead(e.tally) <= 2 && e.tally.games() == 8);
            assert!((1..=3).contains(&e.opening.len()));
        }
        let mut seen = HashSet::new();
        for opening in &taken {
            let end = rules::game::replay(&TicTacToe, opening).unwrap();
            assert!(seen.insert(TicTacToe.canonical(&end)));
        }
        assert!(examined.iter().any(|e| !e.taken));
    }

    #[test]
    fn a_search_for_more_than_there_are_ends() {
        // Of one stone in the middle third of the board there is only one.
        let wish = Wish { count: 2, plies: (1, 1), games: 1, seed: 1 };
        let mut examined = 0;
        let taken = search(&TicTacToe, wish, &|_| Box::new(Mcts::new(&TicTacToe, 500)), 1, &mut |_| {
            examined += 1;
            Control::Continue
        });
        assert_eq!(taken, [[4]]);
        assert_eq!(examined, 1 + PATIENCE);
    }

    #[test]
    fn lopsided_openings_are_given_up_early() {
        // Random players from positions with one side to win at once: most candidates of 7 plies are uneven.
        let wish = Wish { count: 1_000_000, plies: (7, 7), games: 40, seed: 1 };
        let mut seen = Vec::new();
        let make: MakeSelf<'_, Connect4> = &|_| Box::new(Random);
        search(&Connect4, wish, make, 1, &mut |e| {
            seen.push(e.clone());
            if seen.len() == 200 { Control::Stop } else { Control::Continue }
        });
        assert!(seen.iter().any(|e| !e.taken && e.tally.games() < 40));
        assert!(seen.iter().filter(|e| e.taken).all(|e| e.tally.games() == 40 && lead(e.tally) <= 10));
    }

    #[test]
    fn candidates_are_distinct_up_to_symmetry() {
        let drawn = candidates(&Connect4, 4, 50, 3);
        let ends = drawn.iter().map(|opening| Connect4.canonical(&rules::game::replay(&Connect4, opening).unwrap()));
        assert_eq!((drawn.len(), ends.collect::<HashSet<_>>().len()), (50, 50));
        assert_eq!(candidates(&TicTacToe, 1, 5, 3), [[4]]);
    }

    #[test]
    fn openings_stay_together_in_the_middle() {
        for number in 0..200 {
            let opening = candidate(&TicTacToe, (1, 1), &mut Rng::new(1, number));
            assert_eq!(opening, [4]);
            let opening = candidate(&Connect4, (4, 4), &mut Rng::new(2, number));
            assert!((2..=4).contains(&opening[0]));
            let close = |i: usize| opening[..i].iter().any(|earlier| earlier.abs_diff(opening[i]) <= 2);
            assert!((1..4).all(close), "{opening:?}");
        }
    }
}
