//! The player that every learner must beat: it sees one move ahead and no further.

use rules::game::legal_actions;
use rules::{Action, Choice, Game, NotExact, Outcome, Player};

/// Wins if it can win at once; else occupies a point on which the opponent threatens to win at once; else plays any
/// legal move. Among several, each with the same probability.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl<G: Game> Player<G> for Greedy {
    fn name(&self) -> String {
        "greedy".to_owned()
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let legal = legal_actions(game, position);
        let mut actions = Vec::new();
        game.winning(position, &mut actions);
        if actions.is_empty() {
            actions = blocking(game, position, &legal);
        }
        if actions.is_empty() {
            actions = legal;
        }
        let probability = 1.0 / actions.len() as f64;
        choices.extend(actions.into_iter().map(|action| Choice { action, probability }));
        Ok(())
    }
}

/// The actions with which the opponent would win at once if it were to move. Nothing wins at once for the mover.
///
/// A game has no passing, so the mover's stone is put elsewhere first: on a cell that is empty now and other than the
/// threatened one, it cannot belong to the opponent's line.
fn blocking<G: Game>(game: &G, position: &G::Position, legal: &[Action]) -> Vec<Action> {
    let threatened = |&action: &Action| {
        let Some(&elsewhere) = legal.iter().find(|&&other| other != action) else { return false };
        let mut after = *position;
        game.play(&mut after, elsewhere);
        game.try_play(&mut after, action).is_ok() && matches!(game.outcome(&after), Outcome::Win(_))
    };
    legal.iter().copied().filter(threatened).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::replay;
    use rules::tictactoe::TicTacToe;

    fn choices(moves: &[Action]) -> Vec<Action> {
        let position = replay(&TicTacToe, moves).unwrap();
        let mut choices = Vec::new();
        Player::distribution(&mut Greedy, &TicTacToe, &position, &mut choices).unwrap();
        let total: f64 = choices.iter().map(|c| c.probability).sum();
        assert!((total - 1.0).abs() < 1e-12);
        choices.iter().map(|c| c.action).collect()
    }

    #[test]
    fn a_win_comes_before_a_block() {
        // X on 0 and 1, O on 3 and 4, X to move: 2 wins, 5 would only block.
        assert_eq!(choices(&[0, 3, 1, 4]), [2]);
    }

    #[test]
    fn a_threat_is_blocked_and_of_two_threats_either() {
        assert_eq!(choices(&[0, 8, 1]), [2]);
        // X on 0, 2, 8, O on 4 and 6: X threatens 1 and 5.
        assert_eq!(choices(&[0, 4, 8, 6, 2]), [1, 5]);
    }

    #[test]
    fn with_nothing_to_do_every_move_is_as_likely() {
        assert_eq!(choices(&[4]), [0, 1, 2, 3, 5, 6, 7, 8]);
    }
}
