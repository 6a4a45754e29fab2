//! SGF, the Smart Game Format (FF\[4\]), for Gomoku and Renju (GM\[4\]).
//!
//! Written points are two letters, column and row from the *top* left, as in Go and as most programs write them; a
//! letter and a number from the bottom left (`h8`) is read as well. `RU` says `freestyle`, `standard` or `renju`, and
//! other words for these are understood. `AB`, `AW` and `PL` set up the start. Properties that Tengen does not
//! know are kept as they are. There are no passes.
//!
//! The reader is our own because none of the crates that we found says where in the file a fault is and reads
//! on after a faulty game.

use rules::grid::{Grid, Rule};
use rules::{Action, Game, Refusal, Seat, notation};

use super::{GameTree, Part, Refused};
use crate::record::{Reason, Result as Winner};

/// What is wrong, and the byte at which it is.
type Fault = (usize, String);

/// A property of a node: where it stands, its name, and its values, each with the byte at which it begins.
struct Property {
    at: usize,
    name: String,
    values: Vec<(usize, String)>,
}

impl Property {
    /// The value of a property that has one.
    fn single(&self) -> Result<(usize, &str), Fault> {
        match &self.values[..] {
            [(at, value)] => Ok((*at, value.trim())),
            _ => Err((self.at, format!("{} has one value", self.name))),
        }
    }
}

/// Reads all games of a collection; those that do not say their rule are read by `rule`.
pub fn read(text: &str, rule: Rule) -> Vec<Result<GameTree<Grid>, Refused>> {
    let mut reader = Reader { text, at: 0 };
    let mut games = Vec::new();
    while reader.skip_to_game() {
        let start = reader.at;
        games.push(reader.game(rule).map_err(|(at, reason)| {
            reader.at = start;
            reader.skip_game();
            Refused::new(text, at, reason)
        }));
    }
    if games.is_empty() {
        games.push(Err(Refused::new(text, 0, "no game: one begins with '(;'")));
    }
    games
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len()
            - self.text[self.at..].trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
    }

    /// Goes to the next `(;`; false if there is none.
    fn skip_to_game(&mut self) -> bool {
        while let Some(distance) = self.text[self.at..].find('(') {
            self.at += distance;
            if self.text[self.at + 1..].trim_start().starts_with(';') {
                return true;
            }
            self.at += 1;
        }
        false
    }

    /// Goes behind the game that begins here, or to the beginning of the next if this one is not closed.
    fn skip_game(&mut self) {
        let mut depth = 0_usize;
        let mut first = true;
        while let Some(letter) = self.peek() {
            match letter {
                '(' if !first && self.begins_game() => return,
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                '[' => {
                    if self.value().is_err() {
                        self.at = self.text.len();
                    }
                    continue;
                }
                _ => {}
            }
            first = false;
            self.at += letter.len_utf8();
            if depth == 0 {
                return;
            }
        }
    }

    /// Whether the `(` here begins a game, not a variation: its first node says which format or which game it is.
    fn begins_game(&self) -> bool {
        let mut ahead = Reader { text: self.text, at: self.at + 1 };
        ahead.skip_blanks();
        if ahead.peek() != Some(';') {
            return false;
        }
        ahead.at += 1;
        ahead.properties().is_ok_and(|all| all.iter().any(|p| p.name == "FF" || p.name == "GM"))
    }

    /// Reads the game that begins here.
    fn game(&mut self, rule: Rule) -> Result<GameTree<Grid>, Fault> {
        let start = self.at;
        let mut builder = Builder { tree: None, rule, side_is_given: false, result_at: start };
        let mut node: Option<usize> = None;
        let mut open = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('(') => {
                    if !open.is_empty() && self.begins_game() {
                        return Err((start, "the game is not closed with ')' before the next begins".to_owned()));
                    }
                    open.push(node);
                    self.at += 1;
                }
                Some(')') => {
                    self.at += 1;
                    node = open.pop().expect("a game begins with '('");
                    if open.is_empty() {
                        return builder.finish(start);
                    }
                }
                Some(';') => {
                    self.at += 1;
                    let properties = self.properties()?;
                    node = Some(match node {
                        None => builder.root(properties, start)?,
                        Some(parent) => builder.node(parent, properties)?,
                    });
                }
                Some(other) => {
                    return Err((
                        self.at,
                        format!("'{}' where a node (';') or variation is due", other.escape_debug()),
                    ));
                }
                None => return Err((start, "the game is not closed with ')'".to_owned())),
            }
        }
    }

    /// Reads the properties of a node.
    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let mut properties = Vec::new();
        loop {
            self.skip_blanks();
            let at = self.at;
            let rest = &self.text[at..];
            let word = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())];
            if word.is_empty() {
                return Ok(properties);
            }
            self.at += word.len();
            // Older versions spell names out; only their capitals count.
            let name: String = word.chars().filter(char::is_ascii_uppercase).collect();
            let mut values = Vec::new();
            loop {
                self.skip_blanks();
                if self.peek() != Some('[') {
                    break;
                }
                let value_at = self.at + 1;
                values.push((value_at, self.value()?));
            }
            if name.is_empty() || values.is_empty() {
                return Err((at, format!("'{word}' where a property such as B[hh] is due")));
            }
            properties.push(Property { at, name, values });
        }
    }

    /// Reads a value from its `[` to behind its `]`: `\` takes the next character as it is, and a line end away.
    fn value(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let mut value = String::new();
        let mut letters = self.text[start + 1..].char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let (escaped, letter) = match letter {
                ']' => {
                    self.at = start + 1 + at + 1;
                    return Ok(value);
                }
                '\\' => match letters.next() {
                    Some((_, next)) => (true, next),
                    None => break,
                },
                _ => (false, letter),
            };
            if letter == '\r' || letter == '\n' {
                // Any of the four line ends is one.
                let pair = if letter == '\r' { '\n' } else { '\r' };
                letters.next_if(|&(_, next)| next == pair);
                if !escaped {
                    value.push('\n');
                }
            } else {
                value.push(letter);
            }
        }
        Err((start, "the value is not closed with ']'".to_owned()))
    }
}

/// A game in the making.
struct Builder {
    tree: Option<GameTree<Grid>>,
    rule: Rule,
    /// Whether the start said which side is to move; if not, the first move tells.
    side_is_given: bool,
    result_at: usize,
}

impl Builder {
    fn finish(self, start: usize) -> Result<GameTree<Grid>, Fault> {
        let mut tree = self.tree.ok_or((start, "the game has no node".to_owned()))?;
        tree.conclude().map_err(|reason| (self.result_at, reason))?;
        Ok(tree)
    }

    /// Makes the start from the first node. A move in it, which older programs write there, becomes a second node.
    fn root(&mut self, properties: Vec<Property>, at: usize) -> Result<usize, Fault> {
        let mut columns_rows = (15, 15);
        for property in &properties {
            match property.name.as_str() {
                "GM" => {
                    let (at, value) = property.single()?;
                    if value != "4" {
                        return Err((at, format!("this is game number '{value}' of SGF; Gomoku and Renju are GM[4]")));
                    }
                }
                "SZ" => {
                    let (at, value) = property.single()?;
                    let number = |text: &str| {
                        notation::read_number(text, 1, rules::grid::MAX_SIZE, "a size from 1 to 22")
                            .map_err(|e| (at, e.0))
                    };
                    columns_rows = match value.split_once(':') {
                        Some((columns, rows)) => (number(columns)?, number(rows)?),
                        None => (number(value)?, number(value)?),
                    };
                }
                "RU" => self.rule = read_rule(property.single()?.1).unwrap_or(self.rule),
                _ => {}
            }
        }
        let game = match columns_rows {
            (columns, rows) if columns == rows => Grid::gomoku(columns, self.rule),
            (columns, rows) if self.rule == Rule::Freestyle => Grid::mnk(columns, rows, 5, false),
            _ => return Err((at, "the rules standard and renju are for square boards".to_owned())),
        };
        let game = game.map_err(|e| (at, e.0))?;
        let mut tree = GameTree::new(game, game.start());
        let mut board = vec![vec!['.'; columns_rows.0]; columns_rows.1];
        let mut side = None;
        let mut moves = Vec::new();
        for property in properties {
            match property.name.as_str() {
                "AB" | "AW" => {
                    let letter = if property.name == "AB" { 'x' } else { 'o' };
                    for (at, value) in &property.values {
                        for action in read_points(&game, value).map_err(|reason| (*at, reason))? {
                            let cell =
                                &mut board[usize::from(action) / columns_rows.0][usize::from(action) % columns_rows.0];
                            if *cell != '.' {
                                return Err((
                                    *at,
                                    format!("there is a stone on {} already", game.write_action(action)),
                                ));
                            }
                            *cell = letter;
                        }
                    }
                }
                "PL" => side = Some(read_side(&property)?),
                "B" | "W" => moves.push(property),
                "PB" => property.single()?.1.clone_into(&mut tree.names[Seat::First.index()]),
                "PW" => property.single()?.1.clone_into(&mut tree.names[Seat::Second.index()]),
                "RE" => {
                    let (at, value) = property.single()?;
                    self.result_at = at;
                    (tree.result, tree.reason) = read_result(value);
                }
                // Our own are written anew.
                "GM" | "FF" | "SZ" | "RU" | "AP" | "CA" => {}
                _ => keep(&mut tree, 0, property)?,
            }
        }
        let stones = |letter: char| board.iter().flatten().filter(|&&cell| cell == letter).count();
        let seat = side.unwrap_or(if stones('x') > stones('o') { Seat::Second } else { Seat::First });
        self.side_is_given = side.is_some();
        tree.nodes[0].position = set_up(&game, &board, seat).map_err(|reason| (at, reason))?;
        self.tree = Some(tree);
        if moves.is_empty() { Ok(0) } else { self.node(0, moves) }
    }

    /// Adds a node after another.
    fn node(&mut self, parent: usize, properties: Vec<Property>) -> Result<usize, Fault> {
        let tree = self.tree.as_mut().expect("the root comes first");
        let is_move = |property: &&Property| property.name == "B" || property.name == "W";
        let mut moves = properties.iter().filter(is_move);
        let node = match (moves.next(), moves.next()) {
            (None, _) => tree.remark(parent),
            (Some(_), Some(second)) => return Err((second.at, "a node has one move".to_owned())),
            (Some(property), None) => {
                let (at, value) = property.single()?;
                if value.is_empty() {
                    return Err((at, "there are no passes in this game".to_owned()));
                }
                let action = read_point(&tree.game, value).map_err(|reason| (at, reason))?;
                let point = tree.game.write_action(action);
                if tree.outcome(parent).is_over() {
                    return Err((at, format!("{point}: {}", Refusal::GameOver)));
                }
                let seat = if property.name == "B" { Seat::First } else { Seat::Second };
                if tree.game.to_move(&tree.nodes[parent].position) != seat {
                    let begins = parent == 0 && tree.nodes[0].children.is_empty() && !self.side_is_given;
                    if !begins {
                        let side = if seat == Seat::First { "White" } else { "Black" };
                        return Err((property.at, format!("it is {side}'s turn")));
                    }
                    let start = &mut tree.nodes[0].position;
                    let mut text = tree.game.write_position(start);
                    text.pop();
                    text.push(notation::seat_letter(seat));
                    *start = tree.game.read_position(&text).map_err(|e| (at, e.0))?;
                }
                tree.play(parent, action).map_err(|refusal| (at, format!("{point}: {refusal}")))?
            }
        };
        for property in properties {
            match property.name.as_str() {
                "B" | "W" => {}
                "AB" | "AW" | "AE" | "PL" => {
                    return Err((property.at, "stones are set up in the middle of the game".to_owned()));
                }
                _ => keep(tree, node, property)?,
            }
        }
        Ok(node)
    }
}

/// Keeps a comment, or a property of no meaning to us.
fn keep(tree: &mut GameTree<Grid>, node: usize, property: Property) -> Result<(), Fault> {
    if property.name == "C" {
        if property.values.len() > 1 {
            return Err((property.at, "C has one value".to_owned()));
        }
        tree.nodes[node].comment.extend(property.values.into_iter().map(|(_, value)| value));
    } else {
        let values = property.values.into_iter().map(|(_, value)| value).collect();
        tree.nodes[node].other.push((property.name, values));
    }
    Ok(())
}

fn set_up(game: &Grid, board: &[Vec<char>], to_move: Seat) -> Result<rules::grid::Position, String> {
    let rows: Vec<String> = board.iter().map(|row| row.iter().collect()).collect();
    game.read_position(&format!("{} {}", rows.join("/"), notation::seat_letter(to_move))).map_err(|e| e.0)
}

fn read_side(property: &Property) -> Result<Seat, Fault> {
    let (at, value) = property.single()?;
    match value.to_ascii_lowercase().as_str() {
        "b" | "black" => Ok(Seat::First),
        "w" | "white" => Ok(Seat::Second),
        _ => Err((at, "the side to move is B or W".to_owned())),
    }
}

/// The rule by a word for it, if it is one that we know.
fn read_rule(text: &str) -> Option<Rule> {
    let lower = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["renju"]) {
        Some(Rule::Renju)
    } else if has(&["standard", "exact"]) {
        Some(Rule::Standard)
    } else if has(&["free"]) {
        Some(Rule::Freestyle)
    } else {
        None
    }
}

fn read_result(text: &str) -> (Option<Winner>, Option<Reason>) {
    let lower = text.to_ascii_lowercase();
    let (winner, how) = match lower.split_once('+') {
        Some(("b" | "black", how)) => (Winner::First, how),
        Some(("w" | "white", how)) => (Winner::Second, how),
        _ if lower == "0" || lower == "draw" || lower == "jigo" => return (Some(Winner::Draw), None),
        _ => return (None, None),
    };
    let reason = match how {
        "r" | "resign" => Some(Reason::Resigned),
        "t" | "time" => Some(Reason::Time),
        "f" | "forfeit" => Some(Reason::Failed),
        _ => None,
    };
    (Some(winner), reason)
}

/// Reads a point: two letters from the top left, or a letter and a number from the bottom left.
fn read_point(game: &Grid, text: &str) -> Result<Action, String> {
    let text = text.trim();
    let index = |letter: u8| usize::from(letter.wrapping_sub(b'a'));
    if let [column, row] = *text.as_bytes()
        && column.is_ascii_lowercase()
        && row.is_ascii_lowercase()
    {
        return if index(column) < game.columns() && index(row) < game.rows() {
            Ok((index(row) * game.columns() + index(column)) as Action)
        } else {
            Err(format!("'{text}' is not on a board of {} columns and {} rows", game.columns(), game.rows()))
        };
    }
    game.read_action(text).map_err(|e| format!("{}, or two letters", e.0))
}

/// Reads a point, or a rectangle `aa:cc` of points.
fn read_points(game: &Grid, text: &str) -> Result<Vec<Action>, String> {
    let Some((one, other)) = text.split_once(':') else {
        return Ok(vec![read_point(game, text)?]);
    };
    let (one, other) = (usize::from(read_point(game, one)?), usize::from(read_point(game, other)?));
    let width = game.columns();
    let range = |a: usize, b: usize| a.min(b)..=a.max(b);
    let columns = range(one % width, other % width);
    Ok(range(one / width, other / width)
        .flat_map(|r| columns.clone().map(move |c| (r * width + c) as Action))
        .collect())
}

/// Writes a game.
///
/// # Errors
/// SGF has no game with another length than five, or with falling stones.
pub fn write(tree: &GameTree<Grid>) -> Result<String, String> {
    let game = &tree.game;
    if game.length() != 5 || game.gravity() {
        return Err(format!("SGF has no way to say {}: only five in a row", game.name()));
    }
    let point = |cell: usize| {
        let letter = |index: usize| notation::column_letter(index);
        [letter(cell % game.columns()), letter(cell / game.columns())]
    };
    let mut text = String::new();
    for part in tree.written() {
        match part {
            Part::Open => text.push_str("\n("),
            Part::Close => text.push(')'),
            Part::Node(0) => write_root(tree, &point, &mut text),
            Part::Node(node) => {
                text.push(';');
                let parent = tree.nodes[node].parent.expect("only the start has none");
                if let Some(action) = tree.nodes[node].action {
                    let seat = game.to_move(&tree.nodes[parent].position);
                    text.push(if seat == Seat::First { 'B' } else { 'W' });
                    text.push('[');
                    text.extend(point(usize::from(action)));
                    text.push(']');
                }
                write_rest(tree, node, &mut text);
            }
        }
    }
    text.push_str(")\n");
    Ok(text)
}

fn write_root(tree: &GameTree<Grid>, point: &impl Fn(usize) -> [char; 2], text: &mut String) {
    let game = &tree.game;
    text.push_str("(;FF[4]GM[4]CA[UTF-8]AP[Tengen]SZ[");
    text.push_str(&game.columns().to_string());
    if game.rows() != game.columns() {
        text.push_str(&format!(":{}", game.rows()));
    }
    text.push_str(match game.rule() {
        Rule::Freestyle => "]RU[freestyle]",
        Rule::Standard => "]RU[standard]",
        Rule::Renju => "]RU[renju]",
    });
    for (name, value) in ["PB", "PW"].into_iter().zip(&tree.names) {
        if !value.is_empty() {
            write_property(name, value, text);
        }
    }
    let how = match tree.reason {
        Some(Reason::Resigned) => "R",
        Some(Reason::Time) => "T",
        Some(Reason::Left | Reason::Failed | Reason::Illegal) => "F",
        Some(Reason::Board) | None => "",
    };
    match tree.result {
        Some(Winner::First) => write_property("RE", &format!("B+{how}"), text),
        Some(Winner::Second) => write_property("RE", &format!("W+{how}"), text),
        Some(Winner::Draw) => write_property("RE", "0", text),
        None => {}
    }
    let start = &tree.nodes[0].position;
    if *start != game.start() {
        for (name, seat) in ["AB", "AW"].into_iter().zip(Seat::BOTH) {
            let cells: Vec<usize> = (0..game.cells()).filter(|&cell| game.stone(start, cell) == Some(seat)).collect();
            if !cells.is_empty() {
                text.push_str(name);
            }
            for cell in cells {
                text.push('[');
                text.extend(point(cell));
                text.push(']');
            }
        }
        text.push_str(if game.to_move(start) == Seat::First { "PL[B]" } else { "PL[W]" });
    }
    write_rest(tree, 0, text);
    text.push('\n');
}

/// Writes the comment and the kept properties of a node.
fn write_rest(tree: &GameTree<Grid>, node: usize, text: &mut String) {
    let node = &tree.nodes[node];
    if !node.comment.is_empty() {
        write_property("C", &node.comment, text);
    }
    for (name, values) in &node.other {
        text.push_str(name);
        for value in values {
            write_value(value, text);
        }
    }
}

fn write_property(name: &str, value: &str, text: &mut String) {
    text.push_str(name);
    write_value(value, text);
}

fn write_value(value: &str, text: &mut String) {
    text.push('[');
    for letter in value.chars() {
        if letter == ']' || letter == '\\' {
            text.push('\\');
        }
        text.push(letter);
    }
    text.push(']');
}
