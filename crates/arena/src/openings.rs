//! First moves that no player chooses, so that players which always answer the same still play different games.

use std::collections::HashSet;

use rules::game::{legal_actions, replay};
use rules::notation::NotationError;
use rules::{Action, Game};

/// The most openings that [`short`] returns.
pub const MOST: usize = 2_000;

/// All openings of a game up to some length, distinct up to symmetry, the empty one first, shorter before longer.
///
/// The length is the greatest for which a quarter of the board is enough and there are at most [`MOST`] openings: up to
/// 2 plies for tic-tac-toe, 4 for Connect Four, 1 for Gomoku.
pub fn short<G: Game>(game: &G) -> Vec<Vec<Action>> {
    let mut all = vec![Vec::new()];
    for plies in 1..=game.cells() / 4 {
        let longer = at_ply(game, plies);
        if longer.is_empty() || all.len() + longer.len() > MOST {
            break;
        }
        all.extend(longer);
    }
    all
}

/// One line to every position after this many plies that is not over, distinct up to symmetry; the least line of each.
pub fn at_ply<G: Game>(game: &G, plies: usize) -> Vec<Vec<Action>> {
    let mut level = vec![(Vec::new(), game.start())];
    for _ in 0..plies {
        let mut seen = HashSet::new();
        let mut next = Vec::new();
        for (line, position) in &level {
            for action in legal_actions(game, position) {
                let mut child = *position;
                game.play(&mut child, action);
                if !game.outcome(&child).is_over() && seen.insert(game.canonical(&child)) {
                    let mut longer: Vec<Action> = line.clone();
                    longer.push(action);
                    next.push((longer, child));
                }
            }
        }
        level = next;
    }
    level.into_iter().map(|(line, _)| line).collect()
}

/// Reads a list of openings: one a line, moves as the game writes them, `#` before a comment.
///
/// # Errors
/// Names the first line that is no opening: an illegal move, a finished game, one that stands there already.
pub fn read<G: Game>(game: &G, text: &str) -> Result<Vec<Vec<Action>>, NotationError> {
    let mut openings: Vec<Vec<Action>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let moves = line.split('#').next().unwrap_or_default();
        if moves.trim().is_empty() {
            continue;
        }
        let at = |why: &dyn std::fmt::Display| NotationError(format!("line {}: {why}", number + 1));
        let mut opening = Vec::new();
        for text in moves.split_whitespace() {
            opening.push(game.read_action(text).map_err(|e| at(&e))?);
        }
        let end = replay(game, &opening).map_err(|(nth, refusal)| {
            at(&format!("move {}, {}: {refusal}", nth + 1, game.write_action(opening[nth])))
        })?;
        if game.outcome(&end).is_over() {
            return Err(at(&"the game is over after these moves"));
        }
        if openings.contains(&opening) {
            return Err(at(&"this opening stands there already"));
        }
        openings.push(opening);
    }
    if openings.is_empty() {
        return Err(NotationError("there is no opening in the list".to_owned()));
    }
    Ok(openings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::tictactoe::TicTacToe;

    #[test]
    fn tic_tac_toe_has_three_first_moves_and_twelve_pairs() {
        assert_eq!(at_ply(&TicTacToe, 1), [[0], [1], [4]]);
        let counts: Vec<usize> = (0..6).map(|plies| at_ply(&TicTacToe, plies).len()).collect();
        // Published numbers of positions up to symmetry: 1, 3, 12, 38, 108, 174, of which 21 are wins after five plies.
        assert_eq!(counts, [1, 3, 12, 38, 108, 174 - 21]);
        assert_eq!(short(&TicTacToe).len(), 1 + 3 + 12);
    }

    #[test]
    fn no_two_openings_are_symmetric_and_none_is_over() {
        let openings = short(&TicTacToe);
        let mut seen = HashSet::new();
        for opening in &openings {
            let position = replay(&TicTacToe, opening).unwrap();
            assert!(!TicTacToe.outcome(&position).is_over());
            assert!(seen.insert(TicTacToe.canonical(&position)));
        }
    }

    #[test]
    fn a_list_is_read_with_its_comments_and_refused_by_the_line() {
        let list = "# two\r\n4 0\r\n\r\n 8  # the corner\n";
        assert_eq!(read(&TicTacToe, list), Ok(vec![vec![4, 0], vec![8]]));
        let error = |text: &str| read(&TicTacToe, text).unwrap_err().0;
        assert_eq!(error("4\n4 4"), "line 2: move 2, 4: there is a stone already");
        assert_eq!(error("4 x"), "line 1: 'x' is not a cell from 0 to 8");
        assert_eq!(error("0 3 1 4 2"), "line 1: the game is over after these moves");
        assert_eq!(error("4\n\n4"), "line 3: this opening stands there already");
        assert_eq!(error("# nothing"), "there is no opening in the list");
    }
}
