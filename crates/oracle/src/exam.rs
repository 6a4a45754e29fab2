//! How well a player chooses in positions whose truth is known, where the game is too large to ask everywhere.

use rules::{Choice, Game, NotExact, Player, Seat};
use serde::Serialize;

use crate::audit::Choices;
use crate::exact::Verdict;

/// A position with the truth about each of its moves.
#[derive(Clone, Debug)]
pub struct Labelled<G: Game> {
    /// Where it comes from.
    pub source: &'static str,
    /// The position, which is not over.
    pub position: G::Position,
    /// Every legal move with what it is worth.
    pub verdicts: Vec<Verdict>,
}

/// What a player reaches on a set of positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exam {
    /// The player's name.
    pub player: String,
    /// Over all positions.
    pub all: Marks,
    /// As first and as second player.
    pub seats: [Marks; 2],
    /// By the number of stones on the board.
    pub by_ply: Vec<Marks>,
    /// By where the positions come from, in the order in which the sources first appear.
    pub sources: Vec<(&'static str, Marks)>,
}

/// How often a player's move is good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Marks {
    /// How often it keeps a win, draw or loss.
    pub value: Choices,
    /// How often it has the best score: wins soonest, loses latest.
    pub best: Choices,
}

impl Marks {
    fn add(&mut self, verdicts: &[Verdict], choices: &[Choice]) {
        let best = verdicts.iter().map(|verdict| verdict.score).max().expect("the game is not over");
        let share = |good: &dyn Fn(&Verdict) -> bool| {
            let is_good = |choice: &&Choice| {
                let verdict = verdicts.iter().find(|verdict| verdict.action == choice.action);
                good(verdict.expect("a player chooses legal moves"))
            };
            choices.iter().filter(is_good).map(|choice| choice.probability).sum()
        };
        let keeps = |verdict: &Verdict| verdict.score.wdl == best.wdl;
        // All draws are equal, whenever the game ends.
        let is_best = |verdict: &Verdict| keeps(verdict) && (verdict.score == best || best.wdl == rules::Wdl::Draw);
        self.value.count(share(&keeps), !verdicts.iter().all(keeps));
        self.best.count(share(&is_best), !verdicts.iter().all(is_best));
    }
}

/// Asks a player in every position of a set.
///
/// # Errors
/// If its choice depends on more than the position.
pub fn exam<G: Game>(game: &G, set: &[Labelled<G>], player: &mut dyn Player<G>) -> Result<Exam, NotExact> {
    let mut exam = Exam {
        player: player.name(),
        all: Marks::default(),
        seats: [Marks::default(); 2],
        by_ply: Vec::new(),
        sources: Vec::new(),
    };
    let mut choices = Vec::new();
    for Labelled { source, position, verdicts } in set {
        choices.clear();
        player.distribution(game, position, &mut choices)?;
        let ply = game.ply(position);
        if exam.by_ply.len() <= ply {
            exam.by_ply.resize(ply + 1, Marks::default());
        }
        if !exam.sources.iter().any(|(name, _)| name == source) {
            exam.sources.push((source, Marks::default()));
        }
        let (_, of_source) = exam.sources.iter_mut().find(|(name, _)| name == source).expect("it is there now");
        let seat = if game.to_move(position) == Seat::First { 0 } else { 1 };
        for marks in [&mut exam.all, &mut exam.seats[seat], &mut exam.by_ply[ply], of_source] {
            marks.add(verdicts, &choices);
        }
    }
    Ok(exam)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::exact::Exact;
    use crate::table::{Perfect, Table};
    use rules::player::Random;
    use rules::tictactoe::TicTacToe;

    #[test]
    fn an_exam_on_all_positions_finds_what_the_audit_finds() {
        let table = Arc::new(Table::new(&TicTacToe));
        let mut perfect = Perfect(table.clone());
        let ongoing = table.nodes().iter().filter(|node| !node.outcome.is_over());
        let label = |node: &crate::table::Node<_>| Labelled {
            source: if node.ply < 3 { "early" } else { "late" },
            position: node.position,
            verdicts: perfect.verdicts(&node.position).unwrap(),
        };
        let set: Vec<Labelled<TicTacToe>> = ongoing.map(label).collect();
        let random = exam(&TicTacToe, &set, &mut Random).unwrap();
        let audit = crate::audit::audit(&table, &mut Random).unwrap();
        assert_eq!(random.seats.map(|marks| marks.value), Seat::BOTH.map(|seat| audit.seat(seat).choices));
        assert_eq!(random.by_ply.iter().map(|marks| marks.value).collect::<Vec<_>>(), audit.by_ply);
        let counts: Vec<_> = random.sources.iter().map(|(name, marks)| (*name, marks.value.positions)).collect();
        assert_eq!(counts, [("early", 1 + 9 + 72), ("late", 4_520 - 82)]);
        assert!(random.all.best.share() < random.all.value.share());
        assert!(random.all.value.share() < 1.0 && random.all.best.decisive > random.all.value.decisive);

        let perfect = exam(&TicTacToe, &set, &mut perfect).unwrap();
        assert!((perfect.all.best.share() - 1.0).abs() < 1e-12 && (perfect.all.value.share() - 1.0).abs() < 1e-12);
    }
}
