//! What all players share, whether they think, search, ask a person or run another program.

use std::fmt;

use crate::game::{Action, Game};
use crate::random::Rng;

/// Something that chooses moves.
pub trait Player<G: Game>: Send {
    /// The name under which results are reported; how moves are chosen (greedy or sampled, with how much
    /// search) is part of it.
    fn name(&self) -> String;

    /// Appends every action that the player may choose in `position`, with its probability; the probabilities are
    /// positive and add up to 1. The game is not over.
    ///
    /// This is what makes exact audits possible, so it must be the whole truth about [`Player::choose`]: the same
    /// answer for the same position, whatever was played before.
    ///
    /// # Errors
    /// [`NotExact`] from a player whose choice is not a function of the position alone.
    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact>;

    /// The move to play. Draws from [`Player::distribution`] unless the player knows a quicker way to do the same.
    ///
    /// # Errors
    /// [`Forfeit`] from a player that can fail: a person who leaves, a program that crashes.
    fn choose(&mut self, game: &G, position: &G::Position, rng: &mut Rng) -> Result<Action, Forfeit> {
        let mut choices = Vec::new();
        self.distribution(game, position, &mut choices).map_err(|e| Forfeit::Failed(e.to_string()))?;
        Ok(draw(&choices, rng))
    }
}

impl<G: Game, P: Player<G> + ?Sized> Player<G> for Box<P> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        (**self).distribution(game, position, choices)
    }

    fn choose(&mut self, game: &G, position: &G::Position, rng: &mut Rng) -> Result<Action, Forfeit> {
        (**self).choose(game, position, rng)
    }
}

/// An action that a player may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The action.
    pub action: Action,
    /// Its probability, in (0, 1].
    pub probability: f64,
}

/// Draws one of the choices; their probabilities add up to 1.
pub fn draw(choices: &[Choice], rng: &mut Rng) -> Action {
    let mut left = f64::from(rng.unit());
    for choice in choices {
        left -= choice.probability;
        if left < 0.0 {
            return choice.action;
        }
    }
    // Rounding may leave a crumb: it belongs to the last.
    choices.last().expect("a player has at least one choice").action
}

/// The player's choice depends on more than the position, so nothing exact can be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotExact(pub String);

impl fmt::Display for NotExact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the choice is not a function of the position alone: {}", self.0)
    }
}

impl std::error::Error for NotExact {}

/// Why a player made no move; it loses the game by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forfeit {
    /// It gave up.
    Resigned,
    /// It left, at the end of its input or on request.
    Left,
    /// Its time ran out.
    TimedOut,
    /// It crashed or answered nonsense; the text says what.
    Failed(String),
}

impl fmt::Display for Forfeit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Forfeit::Resigned => f.write_str("resigned"),
            Forfeit::Left => f.write_str("left the game"),
            Forfeit::TimedOut => f.write_str("lost on time"),
            Forfeit::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

impl std::error::Error for Forfeit {}

/// Plays any legal move, each with the same probability.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl<G: Game> Player<G> for Random {
    fn name(&self) -> String {
        "random".to_owned()
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let actions = crate::game::legal_actions(game, position);
        let probability = 1.0 / actions.len() as f64;
        choices.extend(actions.into_iter().map(|action| Choice { action, probability }));
        Ok(())
    }

    fn choose(&mut self, game: &G, position: &G::Position, rng: &mut Rng) -> Result<Action, Forfeit> {
        Ok(game.random_legal(position, rng))
    }
}

/// Something that judges positions in batches: a network, or a search on top of one.
pub trait Evaluator<G: Game>: Send {
    /// Judges every position, none of them over; what was in `out` is replaced. An evaluator that has no policy leaves
    /// `policies` empty, one that has no value leaves `values` empty: searches do without.
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations);
}

impl<G: Game, E: Evaluator<G> + ?Sized> Evaluator<G> for Box<E> {
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        (**self).evaluate(game, positions, out);
    }
}

/// Judgements of a batch of positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluations {
    /// `positions x actions`, row by row: the probability of each action, 0 where it is illegal; each row adds up to 1.
    pub policies: Vec<f32>,
    /// One for each position: its value for the side to move, in [-1, 1].
    pub values: Vec<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tictactoe::TicTacToe;

    #[test]
    fn draw_follows_the_probabilities_and_survives_rounding() {
        let choices = [Choice { action: 3, probability: 0.25 }, Choice { action: 5, probability: 0.75 - 1e-9 }];
        let mut rng = Rng::new(1, 0);
        let threes = (0..40_000).filter(|_| draw(&choices, &mut rng) == 3).count();
        // Standard deviation 87; six of them.
        assert!(threes.abs_diff(10_000) < 520, "{threes}");
    }

    #[test]
    fn random_gives_every_legal_move_the_same_chance() {
        let game = TicTacToe;
        let position = crate::game::replay(&game, &[4, 0]).unwrap();
        let mut choices = Vec::new();
        Player::<TicTacToe>::distribution(&mut Random, &game, &position, &mut choices).unwrap();
        assert_eq!(choices.len(), 7);
        assert!(choices.iter().all(|c| (c.probability - 1.0 / 7.0).abs() < 1e-12));
    }
}
