//! Plain lists of moves, a game a line: `h8 i9 j10`, `h8,i9,j10`, `h8h7i7`, and in Connect Four `4 4 3` or `443`.
//!
//! Empty lines and lines that begin with `#` are passed over.

use rules::Game;

use super::{GameTree, Refused, lines};

/// Reads all games of a text.
pub fn read<G: Game>(game: &G, text: &str) -> Vec<Result<GameTree<G>, Refused>> {
    let content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    lines(text, 0).filter(|(_, line)| content(line)).map(|(at, line)| read_line(game, text, at, line)).collect()
}

fn read_line<G: Game>(game: &G, text: &str, at: usize, line: &str) -> Result<GameTree<G>, Refused> {
    let mut tree = GameTree::new(game.clone(), game.start());
    let mut node = 0;
    let separates = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let mut start = 0;
    for word in line.split(separates) {
        let mut word_at = at + start;
        start += word.len() + line[start + word.len()..].chars().next().map_or(0, char::len_utf8);
        for single in split(game, word) {
            let refuse = |reason: String| Refused::new(text, word_at, reason);
            let action = game.read_action(single).map_err(|e| refuse(e.0))?;
            node = tree.play(node, action).map_err(|refusal| refuse(format!("{single}: {refusal}")))?;
            word_at += single.len();
        }
    }
    tree.conclude().map_err(|reason| Refused::new(text, at, reason))?;
    Ok(tree)
}

/// The moves in a word: one if it is one, else a move for each letter, or for each digit where moves are one digit.
fn split<'a, G: Game>(game: &G, word: &'a str) -> Vec<&'a str> {
    let is_move = word.is_empty() || game.read_action(word).is_ok();
    let has_letters = word.contains(|c: char| c.is_alphabetic());
    let one_digit = (0..game.actions()).all(|action| game.write_action(action as u16).len() == 1);
    let mut moves = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let length = if is_move {
            rest.len()
        } else if has_letters {
            rest.char_indices().skip(1).find(|(_, c)| c.is_alphabetic()).map_or(rest.len(), |(at, _)| at)
        } else if one_digit {
            first.len_utf8()
        } else {
            rest.len()
        };
        moves.push(&rest[..length]);
        rest = &rest[length..];
    }
    moves
}

/// Writes the moves of a game in one line, separated by blanks, without comments and variations.
///
/// # Errors
/// A list has no way to set up a position.
pub fn write<G: Game>(tree: &GameTree<G>) -> Result<String, String> {
    if tree.nodes[0].position != tree.game.start() {
        return Err("a list of moves begins with the usual start".to_owned());
    }
    Ok(crate::record::write_moves(&tree.game, &tree.moves()) + "\n")
}
