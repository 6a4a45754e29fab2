//! Piskvork's `.psq`, the file of Gomocup's game manager: one game, without comments or variations.
//!
//! ```text
//! Piskvorky 15x15, 11:11, 0
//! 8,8,1500
//! 9,8,1204
//! first.exe
//! second.exe
//! 0
//! ```
//!
//! Size, the levels of the two players and which of them began; then a line for each move, column and row from 1 at the
//! top left and the time in milliseconds; perhaps the two players; a code for how the game ended, which only the
//! manager can explain and which is passed over. The file does not say the rule.

use rules::grid::{Grid, Rule};
use rules::{Game, notation};

use super::{GameTree, Refused};

/// Reads a game by the given rule.
///
/// # Errors
/// At the first line that is not what it should be, with the place.
pub fn read(text: &str, rule: Rule) -> Result<GameTree<Grid>, Refused> {
    let refuse = |at: usize, reason: String| Refused::new(text, at, reason);
    let mut lines = super::lines(text, 0).filter(|(_, line)| !line.trim().is_empty());
    let (at, first) = lines.next().unwrap_or((0, ""));
    let (columns, rows, begins) = read_head(first.trim_start_matches('\u{feff}'))
        .ok_or_else(|| refuse(at, "the file begins with a line such as 'Piskvorky 15x15, 11:11, 0'".to_owned()))?;
    let game = match rule {
        Rule::Freestyle => Grid::mnk(columns, rows, 5, false),
        _ if columns == rows => Grid::gomoku(columns, rule),
        _ => return Err(refuse(at, "the rules standard and renju are for square boards".to_owned())),
    };
    let game = game.map_err(|e| refuse(at, e.0))?;

    let mut tree = GameTree::new(game, game.start());
    let mut node = 0;
    let mut rest = Vec::new();
    for (at, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let is_number = |field: &&str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit());
        if rest.is_empty() && fields.len() >= 2 && fields.iter().all(is_number) {
            let number = |field: &str, last: usize, what: &str| {
                notation::read_number(field, 1, last, &format!("a {what} from 1 to {last}"))
                    .map_err(|e| refuse(at, e.0))
            };
            let column = number(fields[0], columns, "column")?;
            let row = number(fields[1], rows, "row")?;
            let action = ((row - 1) * columns + column - 1) as u16;
            node = tree
                .play(node, action)
                .map_err(|refusal| refuse(at, format!("{}: {refusal}", game.write_action(action))))?;
        } else {
            rest.push((at, line.trim()));
        }
    }
    match rest[..] {
        [] | [_] => {}
        [(_, one), (_, other)] | [(_, one), (_, other), _] => {
            tree.names = [one.to_owned(), other.to_owned()];
            if begins == 1 {
                tree.names.reverse();
            }
        }
        [_, _, _, (at, _), ..] => {
            return Err(refuse(at, "after the moves come two players and a code, and then nothing".to_owned()));
        }
    }
    tree.conclude().map_err(|reason| refuse(0, reason))?;
    Ok(tree)
}

/// Columns, rows, and which player began.
fn read_head(line: &str) -> Option<(usize, usize, usize)> {
    let mut fields = line.trim().strip_prefix("Piskvorky")?.split(',').map(str::trim);
    let (size, _levels, begins) = (fields.next()?, fields.next()?, fields.next()?);
    let (columns, rows) = size.split_once('x')?;
    let number = |text: &str| notation::read_number(text, 0, 1_000, "a number").ok();
    Some((number(columns)?, number(rows)?, number(begins).filter(|&begins| begins <= 1)?))
}

/// Writes the moves of a game, without comments and variations.
///
/// # Errors
/// The format has no other length than five, no falling stones, and no position that was set up.
pub fn write(tree: &GameTree<Grid>) -> Result<String, String> {
    let game = &tree.game;
    if game.length() != 5 || game.gravity() {
        return Err(format!("a .psq file has no way to say {}: only five in a row", game.name()));
    }
    if tree.nodes[0].position != game.start() {
        return Err("a .psq file begins with the empty board and Black to move".to_owned());
    }
    let mut text = format!("Piskvorky {}x{}, 0:0, 0\n", game.columns(), game.rows());
    for action in tree.moves() {
        let cell = usize::from(action);
        text += &format!("{},{},0\n", cell % game.columns() + 1, cell / game.columns() + 1);
    }
    if tree.names.iter().any(|name| !name.is_empty()) {
        for name in &tree.names {
            // A player has a line, which must not be empty or look like a move.
            let name = name.replace(['\n', '\r', ','], " ");
            text += if name.trim().is_empty() { "?" } else { name.trim() };
            text.push('\n');
        }
    }
    text += "0\n";
    Ok(text)
}
