//! A position as a picture in text.

use rules::{Action, Game, Outcome, Seat, Wdl};

use crate::talk::{BAD, DIM, FIRST, GOOD, HEAD, Look, SECOND, paint};

/// Something to say about a cell, below its mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Note {
    /// A few characters, at most [`NOTE_WIDTH`] - 2.
    pub(crate) text: String,
    /// Good news, bad news, or neither.
    pub(crate) mood: Option<bool>,
}

impl Note {
    /// What a move is worth to who makes it.
    pub(crate) fn of(value: Wdl) -> Note {
        let mood = match value {
            Wdl::Win => Some(true),
            Wdl::Draw => None,
            Wdl::Loss => Some(false),
        };
        Note { text: value.to_string(), mood }
    }

    /// How its text is painted.
    pub(crate) fn style(&self) -> anstyle::Style {
        match self.mood {
            Some(true) => GOOD,
            Some(false) => BAD,
            None => HEAD,
        }
    }
}

/// Characters between two vertical lines when cells carry notes.
const NOTE_WIDTH: usize = 9;

/// Characters between two vertical lines otherwise.
const WIDTH: usize = 5;

/// The parts of a grid: vertical, horizontal, crossing.
fn lines(look: Look) -> [&'static str; 3] {
    if look.ascii { ["|", "-", "+"] } else { ["│", "─", "┼"] }
}

/// The largest board whose cells show what to write to play there, and carry notes.
const LABELLED: usize = 25;

/// Whether the cells of the board are large: they show what to write to play there, and carry notes.
pub(crate) fn has_large_cells<G: Game>(game: &G) -> bool {
    game.cells() <= LABELLED && game.actions() == game.cells()
}

/// Draws the position: large cells on a small board, else points with coordinates on the edges, where notes of a single
/// character stand on the points themselves.
pub(crate) fn draw<G: Game>(
    look: Look,
    game: &G,
    position: &G::Position,
    last: Option<usize>,
    notes: Option<&[Note]>,
) -> Vec<String> {
    if has_large_cells(game) {
        draw_cells(look, game, position, last, notes)
    } else {
        draw_points(look, game, position, last, notes)
    }
}

/// Points with coordinates on the edges. The last move is in parentheses, winning lines are in brackets.
fn draw_points<G: Game>(
    look: Look,
    game: &G,
    position: &G::Position,
    last: Option<usize>,
    notes: Option<&[Note]>,
) -> Vec<String> {
    let winning = game.winning_lines(position).concat();
    let empty = if look.ascii { "." } else { "·" };
    let point = |cell: usize| {
        let Some(seat) = game.stone(position, cell) else {
            return match notes.map(|notes| &notes[cell]).filter(|note| !note.text.is_empty()) {
                Some(note) => paint(note.style(), format!(" {} ", note.text)),
                None => paint(DIM, format!(" {empty} ")),
            };
        };
        let name = &game.seat_name(seat)[..1];
        let style = if seat == Seat::First { FIRST } else { SECOND };
        let text = match (winning.contains(&cell), last == Some(cell)) {
            (true, _) => format!("[{name}]"),
            (false, true) => format!("({name})"),
            (false, false) => format!(" {name} "),
        };
        paint(style, text)
    };
    // Where stones fall, an action is a column; elsewhere it is a point such as h8, split into letter and number.
    let falls = game.actions() == game.columns();
    let name = |action: usize| game.write_action(action as Action);
    let split = |action: usize| {
        let name = name(action);
        let at = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        (name[..at].to_owned(), name[at..].to_owned())
    };
    let column = |column: usize| if falls { name(column) } else { split(column).0 };
    let mut drawn: Vec<String> = (0..game.rows())
        .map(|row| {
            let edge = if falls { String::new() } else { split(row * game.columns()).1 };
            let points: String = (0..game.columns()).map(|column| point(row * game.columns() + column)).collect();
            format!("{} {points}", paint(DIM, format!("{edge:>2}")))
        })
        .collect();
    let columns: String = (0..game.columns()).map(|c| format!("{:^3}", column(c))).collect();
    drawn.push(format!("   {}", paint(DIM, columns.trim_end())));
    drawn
}

/// Large cells. Empty cells of a running game show what to write to play there; `last` is in parentheses,
/// winning lines are in brackets. With `notes`, one for each cell, there is a second line in each cell.
fn draw_cells<G: Game>(
    look: Look,
    game: &G,
    position: &G::Position,
    last: Option<usize>,
    notes: Option<&[Note]>,
) -> Vec<String> {
    let width = if notes.is_some() { NOTE_WIDTH } else { WIDTH };
    let [vertical, horizontal, crossing] = lines(look);
    let labels = labels(game, position);
    let winning = game.winning_lines(position).concat();
    let centre = |text: &str, style| {
        let length = text.chars().count();
        let left = (width - length) / 2;
        format!("{}{}{}", " ".repeat(left), paint(style, text), " ".repeat(width - length - left))
    };
    let mark = |cell: usize| match game.stone(position, cell) {
        Some(seat) => {
            let name = &game.seat_name(seat)[..1];
            let style = if seat == Seat::First { FIRST } else { SECOND };
            match (winning.contains(&cell), last == Some(cell)) {
                (true, _) => centre(&format!("[{name}]"), style),
                (false, true) => centre(&format!("({name})"), style),
                (false, false) => centre(name, style),
            }
        }
        None => centre(&labels[cell], DIM),
    };
    let note = |cell: usize| {
        let note = &notes.expect("asked only with notes")[cell];
        centre(&note.text, note.style())
    };
    let between = vec![horizontal.repeat(width); game.columns()].join(crossing);
    let mut drawn = Vec::new();
    for row in 0..game.rows() {
        if row > 0 {
            drawn.push(paint(DIM, &between));
        }
        let cells = row * game.columns()..(row + 1) * game.columns();
        let join = |parts: Vec<String>| parts.join(&paint(DIM, vertical));
        drawn.push(join(cells.clone().map(mark).collect()));
        if notes.is_some() {
            drawn.push(join(cells.map(note).collect()));
        }
    }
    drawn
}

/// What to write to play on each empty cell; nothing once the game is over.
fn labels<G: Game>(game: &G, position: &G::Position) -> Vec<String> {
    let mut labels = vec![String::new(); game.cells()];
    for action in rules::game::legal_actions(game, position) {
        labels[game.landing(position, action)] = game.write_action(action);
    }
    labels
}

/// The positions of a line of play, side by side, each below the name of the move that led to it.
pub(crate) fn film<G: Game>(look: Look, game: &G, actions: &[Action], columns: usize) -> Vec<String> {
    let gap = "    ";
    let width = game.columns() * (WIDTH + 1) - 1;
    let mut pictures = Vec::new();
    let mut position = game.start();
    for &action in actions {
        let (mover, cell) = (game.to_move(&position), game.landing(&position, action));
        game.play(&mut position, action);
        let title = format!("{} {}", game.seat_name(mover), game.write_action(action));
        let mut picture = vec![format!("{}{}", paint(HEAD, &title), " ".repeat(width - title.chars().count()))];
        picture.extend(draw(look, game, &position, Some(cell), None));
        pictures.push(picture);
    }
    let per_row = ((columns + gap.len()) / (width + gap.len())).max(1);
    let mut lines = Vec::new();
    for row in pictures.chunks(per_row) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        for line in 0..row[0].len() {
            let line = row.iter().map(|picture| picture[line].as_str()).collect::<Vec<_>>().join(gap);
            lines.push(line.trim_end().to_owned());
        }
    }
    lines
}

/// How the game ended, in words; `None` while it goes on.
pub(crate) fn result<G: Game>(game: &G, position: &G::Position) -> Option<String> {
    match game.outcome(position) {
        Outcome::Ongoing => None,
        Outcome::Draw => Some("a draw".to_owned()),
        Outcome::Win(seat) => Some(format!("{} wins", game.seat_name(seat))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::replay;
    use rules::tictactoe::TicTacToe;

    fn plain(lines: &[String]) -> String {
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    const ASCII: Look = Look { ascii: true };

    #[test]
    fn cells_stand_by_rows_and_the_last_move_is_marked() {
        let position = replay(&TicTacToe, &[2, 3]).unwrap();
        let text = plain(&draw(ASCII, &TicTacToe, &position, Some(3), None));
        let expected = "  0  |  1  |  X  \n-----+-----+-----\n (O) |  4  |  5  \n-----+-----+-----\n  6  |  7  |  8  ";
        assert_eq!(text, expected);
    }

    #[test]
    fn both_of_two_winning_lines_are_marked_without_colours_and_nothing_can_be_played() {
        let position = replay(&TicTacToe, &[0, 1, 2, 3, 4, 6, 5, 7, 8]).unwrap();
        let text = plain(&draw(ASCII, &TicTacToe, &position, Some(8), None));
        let rows: Vec<&str> = text.lines().step_by(2).collect();
        assert_eq!(rows, [" [X] |  O  | [X] ", "  O  | [X] | [X] ", "  O  |  O  | [X] "]);
        assert_eq!(result(&TicTacToe, &position).unwrap(), "X wins");
        let won = replay(&TicTacToe, &[0, 3, 1, 4, 2]).unwrap();
        assert!(!plain(&draw(ASCII, &TicTacToe, &won, None, None)).contains(char::is_numeric));
    }

    #[test]
    fn large_boards_have_coordinates_on_their_edges_the_right_way_up() {
        let game = rules::grid::Grid::gomoku(9, rules::grid::Rule::Freestyle).unwrap();
        let action = game.read_action("a1").unwrap();
        let position = replay(&game, &[action]).unwrap();
        let text = plain(&draw(ASCII, &game, &position, Some(game.landing(&game.start(), action)), None));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[8], " 1 (X) .  .  .  .  .  .  .  . ");
        assert_eq!(lines[9], "    a  b  c  d  e  f  g  h  i");
        let game = rules::connect4::Connect4;
        let position = replay(&game, &[0, 1]).unwrap();
        let text = plain(&draw(ASCII, &game, &position, None, None));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[5], lines[6]), (7, "    X  O  .  .  .  .  . ", "    1  2  3  4  5  6  7"));
    }

    #[test]
    fn a_line_of_play_is_shown_side_by_side_as_the_width_allows() {
        let lines = film(ASCII, &TicTacToe, &[4, 0, 8], 40);
        let text = plain(&lines);
        assert_eq!(text.lines().count(), 6 + 1 + 6);
        assert!(text.starts_with("X 4                  O 0"));
    }
}
