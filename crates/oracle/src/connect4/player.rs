//! The player that never errs, and what it knows of a position.

use std::sync::atomic::AtomicBool;

use rules::connect4::{Connect4, Position};
use rules::{Action, Choice, Forfeit, Game, NotExact, Player, Rng, Wdl, game::legal_actions};

use super::{Book, Score, Solver, Stopped};
use crate::exact::{Exact, Verdict};
use crate::table;

/// Plays any of the best moves: it wins as soon and loses as late as can be.
pub struct Perfect {
    solver: Solver,
}

/// Nobody stops a player in the middle of its move.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// For questions that nobody stops.
const NOT_STOPPED: &str = "nobody stops it";

impl Perfect {
    /// A player whose solver takes at most `memory` bytes, and `threads` threads where a position is hard.
    pub fn new(memory: usize, threads: usize) -> Perfect {
        Perfect { solver: Solver::new(memory, threads).with_book(Book::built_in()) }
    }

    /// Exact scores of the position's columns; `None` where no stone may be played.
    pub fn scores(&mut self, position: &Position) -> [Option<Score>; 7] {
        self.solver.scores(position, &GO_ON).expect(NOT_STOPPED)
    }
}

impl Player<Connect4> for Perfect {
    fn name(&self) -> String {
        "perfect".to_owned()
    }

    fn distribution(&mut self, _: &Connect4, position: &Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let (_, best) = self.solver.best(position, &GO_ON).expect(NOT_STOPPED);
        let probability = 1.0 / best.len() as f64;
        choices.extend(best.into_iter().map(|action| Choice { action, probability }));
        Ok(())
    }

    fn choose(&mut self, _: &Connect4, position: &Position, rng: &mut Rng) -> Result<Action, Forfeit> {
        // In a random order the first of the best moves is any of them, and the others need not be known.
        let mut order = legal_actions(&Connect4, position);
        rng.shuffle(&mut order);
        Ok(self.solver.first_best(position, &order, &GO_ON).expect(NOT_STOPPED))
    }
}

impl Exact<Connect4> for Perfect {
    fn verdicts(&mut self, position: &Position) -> Option<Vec<Verdict>> {
        let scores = (0..).zip(self.scores(position));
        let verdict =
            |(action, score): (Action, Option<Score>)| Some(Verdict { action, score: score_of_move(position, score?) });
        Some(scores.filter_map(verdict).collect())
    }

    fn value(&mut self, position: &Position, stop: &AtomicBool) -> Result<Wdl, Stopped> {
        // Whoever asks for values asks for many, and they share what is found out.
        self.solver.prepare(&Connect4.start());
        self.solver.weak(position, stop)
    }
}

/// A score of a move in the terms that all games share.
pub(super) fn score_of_move(position: &Position, score: Score) -> table::Score {
    let wdl = score.wdl();
    // The winner's moves from here on; the loser moves as often, or once less if it would be the winner's turn.
    let moves = score.moves_to_win(position).unwrap_or(0) as usize;
    let plies = match wdl {
        Wdl::Win => 2 * moves - 1,
        Wdl::Loss => 2 * moves,
        Wdl::Draw => Connect4.cells() - Connect4.ply(position),
    };
    table::Score { wdl, plies: Some(plies) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect4::read_moves;
    use rules::Outcome;

    fn perfect() -> Perfect {
        Perfect::new(0, 1)
    }

    fn choices(perfect: &mut Perfect, moves: &str) -> Vec<Action> {
        let mut choices = Vec::new();
        perfect.distribution(&Connect4, &read_moves(moves).unwrap(), &mut choices).unwrap();
        let total: f64 = choices.iter().map(|choice| choice.probability).sum();
        assert!((total - 1.0).abs() < 1e-12);
        choices.iter().map(|choice| choice.action + 1).collect()
    }

    #[test]
    fn it_wins_at_once_and_varies_where_moves_are_equal() {
        let mut perfect = perfect();
        assert_eq!(choices(&mut perfect, "112233"), [4]);
        // Three in a row with both ends open.
        assert_eq!(choices(&mut perfect, "334455"), [2, 6]);
    }

    #[test]
    fn a_single_choice_is_any_of_the_best_moves() {
        let mut perfect = perfect();
        for moves in ["334455", "33445", "112233"] {
            let position = read_moves(moves).unwrap();
            let best = choices(&mut perfect, moves);
            let mut counts = [0; 8];
            let mut rng = Rng::new(4, 0);
            for _ in 0..100 * best.len() {
                counts[usize::from(perfect.choose(&Connect4, &position, &mut rng).unwrap()) + 1] += 1;
            }
            // Each about 100 times; the standard deviation is below 10.
            for column in 1..=7 {
                let count = counts[usize::from(column)];
                assert!(if best.contains(&column) {
                    (50..=150).contains(&count) || best.len() == 1
                } else {
                    count == 0
                });
            }
        }
    }

    #[test]
    fn when_everything_loses_it_resists_longest() {
        // Against three in a row with both ends open nothing helps, and nothing helps longer than the rest.
        let mut perfect = perfect();
        assert_eq!(choices(&mut perfect, "3377445").len(), 7);
        // Before that, stopping one end holds out longest.
        let position = read_moves("33445").unwrap();
        let verdicts = perfect.verdicts(&position).unwrap();
        assert!(verdicts.iter().all(|verdict| verdict.score.wdl == Wdl::Loss));
        let latest = verdicts.iter().map(|verdict| verdict.score.plies).max().unwrap();
        let best = choices(&mut perfect, "33445");
        for verdict in verdicts {
            assert_eq!(verdict.score.plies == latest, best.contains(&(verdict.action + 1)));
        }
    }

    #[test]
    fn the_game_ends_when_the_verdict_said_and_as_it_said() {
        let mut perfect = perfect();
        for game in 0..30 {
            let mut rng = Rng::new(9, game);
            let mut position = Connect4.start();
            while Connect4.ply(&position) < 22 && !Connect4.outcome(&position).is_over() {
                let action = Connect4.random_legal(&position, &mut rng);
                Connect4.play(&mut position, action);
            }
            if Connect4.outcome(&position).is_over() {
                continue;
            }
            let mover = Connect4.to_move(&position);
            let verdicts = perfect.verdicts(&position).unwrap();
            let actions: Vec<Action> = verdicts.iter().map(|verdict| verdict.action).collect();
            assert_eq!(actions, legal_actions(&Connect4, &position));
            let expected = verdicts.iter().map(|verdict| verdict.score).max().unwrap();
            assert_eq!(perfect.value(&position, &GO_ON), Ok(expected.wdl));
            let begin = Connect4.ply(&position);
            while !Connect4.outcome(&position).is_over() {
                let action = perfect.choose(&Connect4, &position, &mut rng).unwrap();
                Connect4.play(&mut position, action);
            }
            let outcome = Connect4.outcome(&position);
            assert_eq!(outcome.seen_by(mover), Some(expected.wdl));
            if outcome != Outcome::Draw {
                assert_eq!(Connect4.ply(&position) - begin, expected.plies.unwrap());
            }
        }
    }
}
