//! Tengen's own text for games, of any kind: lines of `key: value`, an empty line, and the moves.
//!
//! ```text
//! game: gomoku:15:renju
//! first: Nakamura
//! second: tengen@400
//! result: second (time)
//!
//! h8 {the centre} i9 (j10 {usual}) (i8 h9)
//! ```
//!
//! Keys are `game` (always, and first), `first`, `second`, `result` (`first`, `second` or `draw`, then perhaps how it came
//! about: `board`, `resigned`, `left`, `time`, `failed` or `illegal`) and `start`, a position if it is not the usual one.
//! Moves are as the game writes them. A comment stands in braces after its move, with `\n` for a new line, `\}` for a
//! brace and `\\` for a backslash. Where the game branches, each branch stands in parentheses, the game's own first.
//! `-` is a remark without a move. Numbers with a point (`12.`) are passed over. A new game begins with the
//! next line that begins with `game:`.

use rules::{Game, Seat};

use super::{GameTree, Part, Refused, lines};
use crate::record::{Reason, Result as Winner};

/// The keys, and the moves after them, of one game in a text.
struct Section<'a> {
    /// The whole text, and where this game's part of it begins and ends.
    whole: &'a str,
    from: usize,
    to: usize,
}

/// Reads all games of a text, each of which must be a game of `game`.
pub fn read<G: Game>(game: &G, text: &str) -> Vec<Result<GameTree<G>, Refused>> {
    let sections = sections(text);
    if sections.is_empty() {
        return vec![Err(Refused::new(text, 0, "no game: one begins with a line such as 'game: gomoku'"))];
    }
    sections.into_iter().map(|section| section.read(game)).collect()
}

/// The names of the games in a text, in order, so that a caller can choose what to read it as.
pub fn game_names(text: &str) -> Vec<&str> {
    let name = |section: &Section| text[section.from..section.to].lines().next().and_then(|line| line.split_once(':'));
    sections(text).iter().filter_map(name).map(|(_, name)| name.trim()).collect()
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let starts: Vec<usize> = lines(text, 0).filter(|(_, line)| line.starts_with("game:")).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&from, to)| Section { whole: text, from, to }).collect()
}

impl Section<'_> {
    fn read<G: Game>(&self, game: &G) -> Result<GameTree<G>, Refused> {
        let refuse = |at: usize, reason: String| Refused::new(self.whole, at, reason);
        let mut tree = GameTree::new(game.clone(), game.start());
        let mut moves_at = self.to;
        let mut result_at = self.from;
        for (at, line) in lines(&self.whole[..self.to], self.from) {
            if line.trim().is_empty() {
                moves_at = at;
                break;
            }
            let Some((key, value)) = line.split_once(':') else {
                return Err(refuse(at, "an empty line stands between the keys and the moves".to_owned()));
            };
            let value_at = at + line.len() - value.trim_start().len();
            let value = value.trim();
            match key {
                "game" if value.eq_ignore_ascii_case(&game.name()) => {}
                "game" => {
                    let reason = format!("this is a game of '{value}', not of '{}'", game.name());
                    return Err(refuse(value_at, reason));
                }
                "first" => value.clone_into(&mut tree.names[Seat::First.index()]),
                "second" => value.clone_into(&mut tree.names[Seat::Second.index()]),
                "result" => {
                    (tree.result, tree.reason) = read_result(value).map_err(|reason| refuse(value_at, reason))?;
                    result_at = value_at;
                }
                "start" => {
                    tree.nodes[0].position = game.read_position(value).map_err(|e| refuse(value_at, e.0))?;
                }
                _ => {
                    let reason = "no such key: there are game, first, second, result and start".to_owned();
                    return Err(refuse(at, reason));
                }
            }
        }
        read_moves(&mut tree, &self.whole[..self.to], moves_at)
            .and_then(|()| tree.conclude().map_err(|reason| (result_at, reason)))
            .map_err(|(at, reason)| refuse(at, reason))?;
        Ok(tree)
    }
}

/// Reads moves, comments and variations from byte `at` to the end of the text.
fn read_moves<G: Game>(tree: &mut GameTree<G>, text: &str, mut at: usize) -> Result<(), (usize, String)> {
    let mut node = 0;
    let mut open: Vec<(usize, usize)> = Vec::new();
    while let Some(letter) = text[at..].chars().next() {
        let start = at;
        match letter {
            _ if letter.is_whitespace() => at += letter.len_utf8(),
            '(' => {
                open.push((start, node));
                at += 1;
            }
            ')' => {
                (_, node) = open.pop().ok_or((start, "no variation is open that this could close".to_owned()))?;
                at += 1;
            }
            '{' => {
                let (comment, length) =
                    read_comment(&text[at + 1..]).ok_or((start, "the comment is not closed with '}'".to_owned()))?;
                if !tree.nodes[node].comment.is_empty() {
                    tree.nodes[node].comment.push('\n');
                }
                tree.nodes[node].comment.push_str(&comment);
                at += 1 + length;
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '{');
                let word = &text[at..][..text[at..].find(ends).unwrap_or(text.len() - at)];
                at += word.len();
                let is_number = word.strip_suffix('.').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
                if word == "-" {
                    node = tree.remark(node);
                } else if !is_number {
                    let action = tree.game.read_action(word).map_err(|e| (start, e.0))?;
                    node = tree.play(node, action).map_err(|refusal| (start, format!("{word}: {refusal}")))?;
                }
            }
        }
    }
    match open.last() {
        Some(&(start, _)) => Err((start, "the variation is not closed with ')'".to_owned())),
        None => Ok(()),
    }
}

/// Reads a comment up to and with its closing brace; also returns how many bytes that took.
fn read_comment(text: &str) -> Option<(String, usize)> {
    let mut comment = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '}' => return Some((comment, at + 1)),
            '\\' => match letters.next()?.1 {
                'n' => comment.push('\n'),
                escaped => comment.push(escaped),
            },
            '\r' if text[at + 1..].starts_with('\n') => {}
            '\r' => comment.push('\n'),
            _ => comment.push(letter),
        }
    }
    None
}

fn read_result(text: &str) -> Result<(Option<Winner>, Option<Reason>), String> {
    let (winner, reason) = match text.split_once('(') {
        Some((winner, rest)) => (winner.trim(), rest.strip_suffix(')')),
        None => (text, Some("")),
    };
    let reasons = [Reason::Board, Reason::Resigned, Reason::Left, Reason::Time, Reason::Failed, Reason::Illegal];
    let known = |text: &str| reasons.into_iter().find(|&reason| reason_word(reason) == text);
    let winner = [Winner::First, Winner::Second, Winner::Draw].into_iter().find(|&w| winner_word(w) == winner);
    match (winner, reason) {
        (Some(winner), Some("")) => Ok((Some(winner), None)),
        (Some(winner), Some(reason)) if known(reason).is_some() => Ok((Some(winner), known(reason))),
        _ => Err(format!(
            "'{text}' is no result: write first, second or draw, and perhaps (resigned), (time) or another reason"
        )),
    }
}

fn winner_word(winner: Winner) -> &'static str {
    match winner {
        Winner::First => "first",
        Winner::Second => "second",
        Winner::Draw => "draw",
    }
}

fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Board => "board",
        Reason::Resigned => "resigned",
        Reason::Left => "left",
        Reason::Time => "time",
        Reason::Failed => "failed",
        Reason::Illegal => "illegal",
    }
}

/// Writes a game. Line ends in names become blanks.
pub fn write<G: Game>(tree: &GameTree<G>) -> String {
    let mut text = format!("game: {}\n", tree.game.name());
    for (key, name) in ["first", "second"].into_iter().zip(&tree.names) {
        if !name.is_empty() {
            text += &format!("{key}: {}\n", name.replace(['\n', '\r'], " "));
        }
    }
    if let Some(winner) = tree.result {
        text += "result: ";
        text += winner_word(winner);
        if let Some(reason) = tree.reason {
            text += &format!(" ({})", reason_word(reason));
        }
        text.push('\n');
    }
    let start = &tree.nodes[0].position;
    if *start != tree.game.start() {
        text += &format!("start: {}\n", tree.game.write_position(start));
    }

    // Words are set in lines of about this length.
    const WIDTH: usize = 100;
    let mut line = String::new();
    text.push('\n');
    for part in tree.written() {
        let word = match part {
            Part::Open => "(".to_owned(),
            Part::Close => ")".to_owned(),
            Part::Node(node) => {
                let node = &tree.nodes[node];
                let action = match (node.action, node.parent) {
                    (Some(action), _) => tree.game.write_action(action),
                    (None, Some(_)) => "-".to_owned(),
                    (None, None) => String::new(),
                };
                let comment = node.comment.replace('\\', "\\\\").replace('}', "\\}").replace('\n', "\\n");
                match (action.is_empty(), comment.is_empty()) {
                    (_, true) => action,
                    (true, false) => format!("{{{comment}}}"),
                    (false, false) => format!("{action} {{{comment}}}"),
                }
            }
        };
        if word.is_empty() {
            continue;
        }
        if line.len() + word.len() > WIDTH && !line.is_empty() {
            text += &std::mem::take(&mut line);
            text.push('\n');
        }
        if !(line.is_empty() || line.ends_with('(') || word == ")") {
            line.push(' ');
        }
        line += &word;
    }
    text += &line;
    text.push('\n');
    text
}
