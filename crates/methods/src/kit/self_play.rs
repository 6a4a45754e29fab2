//! Games of a network against itself, many at once: one evaluation gives the next moves of all.

use std::ops::Range;
use std::sync::Mutex;

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
}

/// Games that are played in lock-step, with one evaluation of the network for the next moves of all.
const GROUP: usize = 64;

/// Plays games with these numbers; each has its own stream of randomness, so they are the same in any group.
fn play<G: Game>(
    reader: &Reader<G>,
    (movers, openings): ([Mover; 2], usize),
    (seed, numbers): (u64, Range<u64>),
) -> Vec<Played<G::Position>> {
    let game = &reader.game;
    let mut tables: Vec<_> = numbers
        .map(|number| {
            let mut rng = Rng::new(seed, number);
            let mut position = game.start();
            let random = if openings > 0 { rng.below(openings + 1) } else { 0 };
            for _ in 0..random {
                if !game.outcome(&position).is_over() {
                    let action = game.random_legal(&position, &mut rng);
                    game.play(&mut position, action);
                }
            }
            (rng, position, Vec::new())
        })
        .collect();
    let (mut rows, mut shown, mut outputs) = (Vec::new(), Vec::new(), Outputs::default());
    let (mut legal, mut legal_shown, mut p) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        rows.clear();
        shown.clear();
        for (i, (rng, position, _)) in tables.iter_mut().enumerate() {
            while !game.outcome(position).is_over() {
                if movers[game.to_move(position).index()] != Mover::Random {
                    let symmetry = reader.config.orient(game, position, rng);
                    reader.config.write(game, position, symmetry, &mut rows);
                    shown.push((i, symmetry));
                    break;
                }
                let action = game.random_legal(position, rng);
                game.play(position, action);
            }
        }
        if shown.is_empty() {
            break;
        }
        reader.run(&rows, &mut outputs);
        for (&(i, symmetry), logits) in shown.iter().zip(outputs.policy.chunks_exact(game.actions())) {
            let (rng, position, steps) = &mut tables[i];
            let seat = game.to_move(position);
            shown_legal(game, position, symmetry, &mut legal, &mut legal_shown);
            net::loss::softmax(logits, &legal_shown, &mut p);
            let action = match movers[seat.index()] {
                Mover::Sampled => legal[sample(&p, rng)],
                Mover::Likeliest | Mover::Random => legal[argmax(&p)],
            };
            steps.push(Step { position: *position, seat, symmetry, action });
            game.play(position, action);
        }
    }
    tables.into_iter().map(|(_, position, steps)| Played { steps, outcome: game.outcome(&position) }).collect()
}

/// Plays games with these numbers against itself, groups of them on all workers.
pub fn self_play<G: Game>(
    reader: &Reader<G>,
    openings: usize,
    (seed, numbers): (u64, Range<u64>),
    workers: &Workers,
) -> Vec<Played<G::Position>> {
    let end = numbers.end;
    let groups = numbers.step_by(GROUP).map(|start| (start..end.min(start + GROUP as u64), Mutex::default()));
    let groups: Vec<(_, Mutex<Vec<_>>)> = groups.collect();
    workers.each(groups.iter().collect(), |(numbers, played): &(Range<u64>, Mutex<Vec<_>>)| {
        let games = play(reader, ([Mover::Sampled; 2], openings), (seed, numbers.clone()));
        *played.lock().expect("nobody panics holding it") = games;
    });
    groups.into_iter().flat_map(|(_, played)| played.into_inner().expect("nobody panicked")).collect()
}

/// Points out of one in games against random moves: by the likeliest and by sampled moves, as first and as second.
pub fn against_random<G: Game>(reader: &Reader<G>, seed: u64) -> [(&'static str, Metric); 4] {
    let score = |movers: [Mover; 2], side: Seat| {
        // Streams that no game of the training has.
        let numbers = u64::MAX / 2..u64::MAX / 2 + EVALUATION;
        let played = play(reader, (movers, 0), (seed, numbers));
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
