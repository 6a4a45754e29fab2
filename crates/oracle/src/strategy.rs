//! A forced win as a tree of moves, and a check of it that knows nothing but the rules.

use rules::{Action, Game, Outcome, Seat, game::legal_actions};

/// How to win from a position, whatever the opponent does: a move, and what follows after each reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The move.
    pub action: Action,
    /// Replies that need an answer of their own, each with what follows.
    pub replies: Vec<(Action, Strategy)>,
    /// What follows after any other legal reply; `None` if there is none or the move ends the game.
    pub otherwise: Option<Box<Strategy>>,
}

/// Where a claimed win is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The moves from the position to the place where the claim fails.
    pub line: Vec<Action>,
    /// What is wrong there.
    pub why: &'static str,
}

impl Strategy {
    /// A move that wins at once.
    pub fn end(action: Action) -> Strategy {
        Strategy { action, replies: Vec::new(), otherwise: None }
    }

    /// The number of plies in which the win is certain, the winning move included.
    pub fn plies(&self) -> usize {
        let after = self.replies.iter().map(|(_, next)| next).chain(self.otherwise.as_deref());
        after.map(|next| next.plies() + 2).max().unwrap_or(1)
    }

    /// Number of the winner's moves in the tree.
    pub fn size(&self) -> usize {
        let after = self.replies.iter().map(|(_, next)| next).chain(self.otherwise.as_deref());
        1 + after.map(Strategy::size).sum::<usize>()
    }

    /// Whether every move but the last threatens to win with the next one.
    pub fn is_by_fours(&self) -> bool {
        let ends = |next: &Strategy| next.replies.is_empty() && next.otherwise.is_none();
        self.otherwise.as_deref().is_none_or(ends) && self.replies.iter().all(|(_, next)| next.is_by_fours())
    }

    /// The line of the longest resistance among the replies that need an answer of their own. It ends with a five or
    /// with a move that no reply meets.
    pub fn line(&self) -> Vec<Action> {
        let mut line = vec![self.action];
        let mut at = self;
        while let Some((reply, next)) = at.replies.iter().rev().max_by_key(|(_, next)| next.plies()) {
            line.extend([*reply, next.action]);
            at = next;
        }
        line
    }

    /// Checks the win against every legal reply, by the rules alone. The side to move is the winner.
    ///
    /// # Errors
    /// The first place where the strategy has no answer, breaks the rules, or does not win.
    pub fn verify<G: Game>(&self, game: &G, position: &G::Position) -> Result<(), Flaw> {
        let mut line = Vec::new();
        check(game, position, self, game.to_move(position), &mut line).map_err(|why| Flaw { line, why })
    }
}

fn check<G: Game>(
    game: &G,
    position: &G::Position,
    strategy: &Strategy,
    winner: Seat,
    line: &mut Vec<Action>,
) -> Result<(), &'static str> {
    line.push(strategy.action);
    let mut position = *position;
    game.try_play(&mut position, strategy.action).map_err(|_| "the move is not legal")?;
    match game.outcome(&position) {
        Outcome::Win(seat) if seat == winner => return end(line),
        Outcome::Win(_) => return Err("the move loses"),
        Outcome::Draw => return Err("the move draws"),
        Outcome::Ongoing => {}
    }
    for reply in legal_actions(game, &position) {
        line.push(reply);
        let listed = strategy.replies.iter().find(|(action, _)| *action == reply).map(|(_, next)| next);
        let next = listed.or(strategy.otherwise.as_deref()).ok_or("the reply has no answer")?;
        let mut after = position;
        game.play(&mut after, reply);
        check(game, &after, next, winner, line)?;
        line.pop();
    }
    end(line)
}

/// Takes the move that was checked off the line.
fn end(line: &mut Vec<Action>) -> Result<(), &'static str> {
    line.pop();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::replay;
    use rules::tictactoe::TicTacToe;

    /// X on 0, 4 and to move again after O on 1, 8: both 3 and 6 make two threats (6 also 2-4-6).
    #[test]
    fn a_fork_is_a_win_and_each_thing_that_can_be_wrong_is_found() {
        let position = replay(&TicTacToe, &[0, 1, 4, 8]).unwrap();
        let fork =
            Strategy { action: 3, replies: vec![(5, Strategy::end(6))], otherwise: Some(Box::new(Strategy::end(5))) };
        assert_eq!(fork.verify(&TicTacToe, &position), Ok(()));
        assert_eq!((fork.plies(), fork.size(), fork.line()), (3, 3, vec![3, 5, 6]));

        let flaw = |strategy: &Strategy| strategy.verify(&TicTacToe, &position).unwrap_err();
        let taken = Strategy { action: 1, ..fork.clone() };
        assert_eq!(flaw(&taken), Flaw { line: vec![1], why: "the move is not legal" });
        let unanswered = Strategy { otherwise: None, ..fork.clone() };
        assert_eq!(flaw(&unanswered), Flaw { line: vec![3, 2], why: "the reply has no answer" });
        let blocked = Strategy { replies: Vec::new(), ..fork.clone() };
        assert_eq!(flaw(&blocked), Flaw { line: vec![3, 5, 5], why: "the move is not legal" });
        let early = Strategy::end(3);
        assert_eq!(flaw(&early), Flaw { line: vec![3, 2], why: "the reply has no answer" });
    }
}
