//! How often a player finds the right move.

use rules::{Choice, Game, NotExact, Player};
use serde::Serialize;

use super::{Kind, Question};

/// What a player reaches on a set of questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    /// The player's name.
    pub player: String,
    /// One entry for each kind of which there are questions, in the order of [`Kind::ALL`].
    pub kinds: Vec<KindMarks>,
}

/// What it reaches in questions of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindMarks {
    /// The kind.
    pub kind: Kind,
    /// Over all regions.
    pub all: Share,
    /// By region, in the order of [`Region::ALL`](super::Region::ALL).
    pub regions: [Share; 3],
}

/// How often a move is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// Questions.
    pub questions: u64,
    /// The sum, over these questions, of the probability that the player gives to all right moves together; for one
    /// that always plays the same move, in how many it is right.
    pub right: f64,
}

impl Share {
    /// The mean over the questions, in [0, 1]; 0 if there are none.
    pub fn share(self) -> f64 {
        if self.questions == 0 { 0.0 } else { self.right / self.questions as f64 }
    }

    fn count(&mut self, right: f64) {
        self.questions += 1;
        self.right += right;
    }
}

/// Asks a player every question once. A set can be cut anywhere: its first questions are a fair sample of it.
///
/// # Errors
/// If the player's choice depends on more than the position.
pub fn exam<G: Game>(
    game: &G,
    questions: &[Question<G::Position>],
    player: &mut dyn Player<G>,
) -> Result<Marks, NotExact> {
    let mut kinds = Kind::ALL.map(|kind| KindMarks { kind, all: Share::default(), regions: Default::default() });
    let mut choices: Vec<Choice> = Vec::new();
    for Question { kind, region, position, right } in questions {
        choices.clear();
        player.distribution(game, position, &mut choices)?;
        let right = choices.iter().filter(|choice| right.binary_search(&choice.action).is_ok());
        let right = right.map(|choice| choice.probability).sum();
        let marks = &mut kinds[*kind as usize];
        marks.all.count(right);
        marks.regions[*region as usize].count(right);
    }
    let kinds = kinds.into_iter().filter(|marks| marks.all.questions > 0).collect();
    Ok(Marks { player: player.name(), kinds })
}
