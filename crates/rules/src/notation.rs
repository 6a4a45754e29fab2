//! Positions as text that people can read, write and paste.
//!
//! A board is written by rows from the top, separated by `/`; `x` is a stone of the first player, `o` of the
//! second, `.` an empty cell; then, after a blank, the side to move: `x..../..o../... x`. Letters may be in either case.

use thiserror::Error;

use crate::value::Seat;

/// A text that is not what it should be; the message says where and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NotationError(pub String);

/// Shortens text from outside before it is shown in a message, and makes control characters visible.
pub fn quote(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

/// Writes a board; `stone` tells the owner of the stone on (column, row from the top).
pub fn write_board(
    columns: usize,
    rows: usize,
    to_move: Seat,
    mut stone: impl FnMut(usize, usize) -> Option<Seat>,
) -> String {
    let mut text = String::with_capacity((columns + 1) * rows + 2);
    for row in 0..rows {
        if row > 0 {
            text.push('/');
        }
        text.extend((0..columns).map(|column| match stone(column, row) {
            None => '.',
            Some(Seat::First) => 'x',
            Some(Seat::Second) => 'o',
        }));
    }
    text.push(' ');
    text.push(seat_letter(to_move));
    text
}

/// Reads a board; calls `place` with (column, row from the top, owner) for each stone and returns the side to move.
///
/// # Errors
/// On any other number of rows or columns, another character, or a missing side to move.
pub fn read_board(
    text: &str,
    columns: usize,
    rows: usize,
    mut place: impl FnMut(usize, usize, Seat),
) -> Result<Seat, NotationError> {
    let shape =
        || format!("{rows} rows of {columns} cells (x, o or .) separated by '/', a blank, and the side to move");
    let mut fields = text.split_whitespace();
    let (Some(board), Some(mover), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err(NotationError(format!("{} is not a position: write {}", quote(text), shape())));
    };
    let lines: Vec<&str> = board.split('/').collect();
    if lines.len() != rows {
        return Err(NotationError(format!("the position has {} rows: write {}", lines.len(), shape())));
    }
    for (row, line) in lines.iter().enumerate() {
        let length = line.chars().count();
        if length != columns {
            return Err(NotationError(format!("row {} has {length} cells: write {}", row + 1, shape())));
        }
        for (column, letter) in line.chars().enumerate() {
            match letter {
                '.' => {}
                'x' | 'X' => place(column, row, Seat::First),
                'o' | 'O' => place(column, row, Seat::Second),
                other => {
                    let place = format!("row {}, column {}", row + 1, column + 1);
                    return Err(NotationError(format!("{} at {place}: write x, o or .", quote(&other.to_string()))));
                }
            }
        }
    }
    match mover {
        "x" | "X" => Ok(Seat::First),
        "o" | "O" => Ok(Seat::Second),
        other => Err(NotationError(format!("{} cannot be to move: write x or o", quote(other)))),
    }
}

/// `x` for the first seat, `o` for the second.
pub fn seat_letter(seat: Seat) -> char {
    match seat {
        Seat::First => 'x',
        Seat::Second => 'o',
    }
}

/// Reads a whole number in `low..=high`, with blanks around it and nothing else: no sign, no second number.
///
/// # Errors
/// `expected` names what the number is (`a cell from 0 to 8`) in the message.
pub fn read_number(text: &str, low: usize, high: usize, expected: &str) -> Result<usize, NotationError> {
    let trimmed = text.trim();
    let digits = !trimmed.is_empty() && trimmed.bytes().all(|b| b.is_ascii_digit());
    match trimmed.parse::<usize>() {
        Ok(number) if digits && (low..=high).contains(&number) => Ok(number),
        _ if trimmed.is_empty() => Err(NotationError(format!("nothing was written: write {expected}"))),
        _ => Err(NotationError(format!("{} is not {expected}", quote(trimmed)))),
    }
}

/// Writes the point on (column, row from the top) as Gomoku players do: a letter for the column, `i` included, and
/// the row's number from the bottom.
pub fn write_point(rows: usize, column: usize, row: usize) -> String {
    format!("{}{}", column_letter(column), rows - row)
}

/// The letter of a column: `a` for 0, `i` for 8. (Go leaves `i` out; Gomoku does not.)
pub fn column_letter(column: usize) -> char {
    char::from(b'a' + column as u8)
}

/// Reads a point such as `h8`, in either case and with blanks around it, as (column, row from the top).
///
/// # Errors
/// On anything but one letter and one number that are both on the board.
pub fn read_point(text: &str, columns: usize, rows: usize) -> Result<(usize, usize), NotationError> {
    let last = column_letter(columns - 1);
    let refuse = |why: String| Err(NotationError(format!("{why}: write a point from a1 to {last}{rows}")));
    let trimmed = text.trim();
    let Some(letter) = trimmed.chars().next() else {
        return refuse("nothing was written".to_owned());
    };
    let number = &trimmed[letter.len_utf8()..];
    if !letter.is_ascii_alphabetic() || number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return refuse(format!("{} is not a letter and a number", quote(trimmed)));
    }
    let column = usize::from(letter.to_ascii_lowercase() as u8 - b'a');
    if column >= columns {
        return refuse(format!("{} has column {letter}, the last is {last}", quote(trimmed)));
    }
    match number.parse::<usize>() {
        Ok(number) if (1..=rows).contains(&number) => Ok((column, rows - number)),
        _ => refuse(format!("{} has row {}, there are 1 to {rows}", quote(trimmed), quote(number))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_read_by_fields_so_slashes_inside_it_never_look_like_a_result() {
        let mut stones = Vec::new();
        let mover = read_board("x.o/.../..X o", 3, 3, |c, r, s| stones.push((c, r, s))).unwrap();
        assert_eq!(mover, Seat::Second);
        assert_eq!(stones, [(0, 0, Seat::First), (2, 0, Seat::Second), (2, 2, Seat::First)]);
    }

    #[test]
    fn a_bad_board_is_refused_with_the_place() {
        let error = |text: &str| read_board(text, 3, 3, |_, _, _| {}).unwrap_err().to_string();
        assert!(error("x.o/... x").starts_with("the position has 2 rows"));
        assert!(error("x.o/..../... x").starts_with("row 2 has 4 cells"));
        assert!(error("x.o/.z./... x").starts_with("'z' at row 2, column 2"));
        assert!(error("x.o/.../... 1/2").starts_with("'1/2' cannot be to move"));
        assert!(error("").starts_with("'' is not a position"));
        assert!(error("x.o/.../...").contains("is not a position"));
    }

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        let read = |text: &str| read_number(text, 0, 8, "a cell from 0 to 8");
        assert_eq!(read(" 4\r\n"), Ok(4));
        for bad in ["", " ", "9", "-1", "+1", "0 4", "1,1", "2 2 2", "four", "99999999999999999999", "٣", "1e0"] {
            assert!(read(bad).unwrap_err().to_string().contains("a cell from 0 to 8"), "{bad}");
        }
    }

    #[test]
    fn points_have_the_letter_i_and_count_rows_from_the_bottom() {
        for (text, point) in [("a1", (0, 14)), ("h8", (7, 7)), ("I8", (8, 7)), (" j8\n", (9, 7)), ("o15", (14, 0))] {
            assert_eq!(read_point(text, 15, 15), Ok(point));
            assert_eq!(write_point(15, point.0, point.1), text.trim().to_lowercase());
        }
    }

    #[test]
    fn a_bad_point_is_refused_with_the_reason() {
        let error = |text: &str| read_point(text, 15, 15).unwrap_err().to_string();
        assert_eq!(error("  "), "nothing was written: write a point from a1 to o15");
        assert_eq!(error("p3"), "'p3' has column p, the last is o: write a point from a1 to o15");
        assert!(error("h16").starts_with("'h16' has row '16', there are 1 to 15"));
        for bad in ["h0", "h99999999999999999999"] {
            assert!(error(bad).contains("there are 1 to 15"), "{bad}");
        }
        for bad in ["h", "8", "8h", "hh8", "h8 i8", "h+8", "h-8", "é8", "h٣", "7,7"] {
            assert!(error(bad).contains("is not a letter and a number"), "{bad}");
        }
    }

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(quote("a\u{1b}[2J"), "'a\\u{1b}[2J'");
        assert_eq!(quote(&"9".repeat(100)).chars().count(), 43);
    }
}
