//! Games of a network against itself, many at once: one evaluation gives the next moves of all.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use net::{Outputs, Workers};
use rules::{Action, Game, Outcome, Rng, Seat, Symmetry};

use crate::kit::actor_critic::{Reader, shown_legal};
use crate::kit::choose::{argmax, sample};
use crate::learner::Metric;

/// A move that the learner made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<P> {
    /// The position before it.
    pub position: P,
    /// The side that moved.
    pub seat: Seat,
    /// How the position was shown to the network, which learns it as it saw it.
    pub symmetry: Symmetry,
    /// The move.
    pub action: Action,
}

/// A finished game: the learner's moves, in the order of play, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Played<P> {
    /// The moves.
    pub steps: Vec<Step<P>>,
    /// The result.
    pub outcome: Outcome,
    /// The learner's seat, if it had only one.
    pub seat: Option<Seat>,
}

/// Who moves in a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mover {
    /// The policy, by chance; its moves are learned from.
    Sampled,
    /// The policy's likeliest move.
    Likeliest,
    /// Any legal move.
    Random,
    /// Another network's policy, by chance; its moves are not learned from.
    Other,
}

/// The most games that are played in lock-step, with one evaluation of the network for the next moves of all.
const GROUP: usize = 64;

/// The position in which a game begins: the start, or up to `openings` random moves later.
pub fn opening<G: Game>(game: &G, openings: usize, rng: &mut Rng) -> G::Position {
    let mut position = game.start();
    let random = if openings > 0 { rng.below(openings + 1) } else { 0 };
    for _ in 0..random {
        if game.outcome(&position).is_over() {
            break;
        }
        let action = game.random_legal(&position, rng);
        game.play(&mut position, action);
    }
    position
}

/// Plays games with these numbers; each has its own stream of randomness, so they are the same in any group. The second of
/// the networks is that of [`Mover::Other`].
fn play<G: Game>(
    readers: [&Reader<G>; 2],
    (movers, openings): ([Mover; 2], usize),
    (seed, numbers): (u64, &[u64]),
) -> Vec<Played<G::Position>> {
    let game = &readers[0].game;
    let begin = |&number: &u64| {
        let mut rng = Rng::new(seed, number);
        let position = opening(game, openings, &mut rng);
        (rng, position, Vec::new())
    };
    let mut tables: Vec<_> = numbers.iter().map(begin).collect();
    let (mut rows, mut shown) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let (mut outputs, mut legal, mut legal_shown, mut p) = (Outputs::default(), Vec::new(), Vec::new(), Vec::new());
    loop {
        for (i, (rng, position, _)) in tables.iter_mut().enumerate() {
            while !game.outcome(position).is_over() {
                let mover = movers[game.to_move(position).index()];
                if mover != Mover::Random {
                    let net = usize::from(mover == Mover::Other);
                    let symmetry = readers[net].config.orient(game, position, rng);
                    readers[net].config.write(game, position, symmetry, &mut rows[net]);
                    shown[net].push((i, symmetry));
                    break;
                }
                let action = game.random_legal(position, rng);
                game.play(position, action);
            }
        }
        if shown.iter().all(Vec::is_empty) {
            break;
        }
        for ((reader, rows), shown) in readers.iter().zip(&mut rows).zip(&mut shown) {
            if shown.is_empty() {
                continue;
            }
            reader.run_policy(rows, &mut outputs);
            for ((i, symmetry), logits) in shown.drain(..).zip(outputs.policy.chunks_exact(game.actions())) {
                let (rng, position, steps) = &mut tables[i];
                let seat = game.to_move(position);
                let mover = movers[seat.index()];
                shown_legal(game, position, symmetry, &mut legal, &mut legal_shown);
                net::loss::softmax(logits, &legal_shown, &mut p);
                let action = match mover {
                    Mover::Sampled | Mover::Other => legal[sample(&p, rng)],
                    Mover::Likeliest | Mover::Random => legal[argmax(&p)],
                };
                if mover != Mover::Other {
                    steps.push(Step { position: *position, seat, symmetry, action });
                }
                game.play(position, action);
            }
            rows.clear();
        }
    }
    let seat = match movers {
        [own, other] if own == other => None,
        [Mover::Other | Mover::Random, _] => Some(Seat::Second),
        _ => Some(Seat::First),
    };
    tables.into_iter().map(|(_, position, steps)| Played { steps, outcome: game.outcome(&position), seat }).collect()
}

/// Plays each group of games on one of the workers; the games come back in the order of the groups.
pub fn in_groups<N: Send + Sync, T: Send>(
    groups: Vec<N>,
    workers: &Workers,
    play: impl Fn(&N) -> Vec<T> + Sync,
) -> Vec<T> {
    let groups: Vec<(N, Mutex<Vec<T>>)> = groups.into_iter().map(|group| (group, Mutex::default())).collect();
    workers.each(groups.iter().collect(), |(group, played): &(N, Mutex<Vec<T>>)| {
        let games = play(group);
        *played.lock().expect("nobody panics holding it") = games;
    });
    groups.into_iter().flat_map(|(_, played)| played.into_inner().expect("nobody panicked")).collect()
}

/// Cuts game numbers into groups that are played in lock-step: few games into one for each worker, as the games are the same
/// in any group.
pub fn groups(numbers: Range<u64>, workers: &Workers) -> Vec<Vec<u64>> {
    let numbers: Vec<u64> = numbers.collect();
    let size = numbers.len().div_ceil(workers.threads()).clamp(1, GROUP);
    numbers.chunks(size).map(<[u64]>::to_vec).collect()
}

/// Plays games with these numbers against itself, groups of them on all workers.
pub fn self_play<G: Game>(
    reader: &Reader<G>,
    openings: usize,
    (seed, numbers): (u64, Range<u64>),
    workers: &Workers,
) -> Vec<Played<G::Position>> {
    let movers = [Mover::Sampled; 2];
    in_groups(groups(numbers, workers), workers, |numbers| {
        play([reader; 2], (movers, openings), (seed, numbers.as_slice()))
    })
}

/// Plays games against other networks, groups of them on all workers: each game is its number and the index of its
/// opponent. The learner is first in games with even numbers, second in the others.
pub fn play_others<G: Game>(
    reader: &Reader<G>,
    others: &[Arc<Reader<G>>],
    openings: usize,
    (seed, games): (u64, &[(u64, usize)]),
    workers: &Workers,
) -> Vec<Played<G::Position>> {
    // In lock-step go games with the same seats against the same opponent.
    let mut alike: BTreeMap<(usize, u64), Vec<u64>> = BTreeMap::new();
    games.iter().for_each(|&(number, other)| alike.entry((other, number % 2)).or_default().push(number));
    let groups = alike.into_iter().flat_map(|((other, odd), numbers)| {
        numbers.chunks(GROUP).map(|numbers| (other, odd, numbers.to_vec())).collect::<Vec<_>>()
    });
    let mut played = in_groups(groups.collect(), workers, |(other, odd, numbers)| {
        let movers = if *odd == 0 { [Mover::Sampled, Mover::Other] } else { [Mover::Other, Mover::Sampled] };
        let games = play([reader, &others[*other]], (movers, openings), (seed, numbers.as_slice()));
        numbers.iter().copied().zip(games).collect()
    });
    played.sort_by_key(|(number, _)| *number);
    played.into_iter().map(|(_, game)| game).collect()
}

/// Points out of one in games against random moves: by the likeliest and by sampled moves, as first and as second.
pub fn against_random<G: Game>(reader: &Reader<G>, seed: u64) -> [(&'static str, Metric); 4] {
    let score = |movers: [Mover; 2], side: Seat| {
        // Streams that no game of the training has.
        let numbers: Vec<u64> = (u64::MAX / 2..u64::MAX / 2 + EVALUATION).collect();
        let played = play([reader; 2], (movers, 0), (seed, &numbers));
        let points = |game: &Played<_>| f64::from(game.outcome.seen_by(side).expect("it is over").value()) / 2.0 + 0.5;
        Metric::Real(played.iter().map(points).sum::<f64>() / EVALUATION as f64)
    };
    [
        ("likeliest_as_first", score([Mover::Likeliest, Mover::Random], Seat::First)),
        ("likeliest_as_second", score([Mover::Random, Mover::Likeliest], Seat::Second)),
        ("sampled_as_first", score([Mover::Sampled, Mover::Random], Seat::First)),
        ("sampled_as_second", score([Mover::Random, Mover::Sampled], Seat::Second)),
    ]
}

/// Games in each seat and by each way of choosing, when the policy is evaluated.
const EVALUATION: u64 = 50;
