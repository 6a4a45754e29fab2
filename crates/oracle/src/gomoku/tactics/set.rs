//! Questions on disk: 15 to 20 bytes each.
//!
//! A set begins with its kind and version, the game, and the number of questions. A question is a string of bits: kind (4), region (2),
//! number of stones (7), for each stone the number of cells since the one before (Rice code, 4) and its colour (1), then
//! the number of right moves less one (Rice code, 1) and for each the number of cells since the one before (Rice code, 5).
//! At the end stands a checksum. Whose turn it is follows from the number of stones.

use std::sync::OnceLock;

use rules::grid::{Grid, Position, Rule};
use rules::{Action, Game, Seat};

use super::{Kind, Question, Region};
use crate::connect4::checksum;
use crate::connect4::labelled::SetError;

/// What a stored set begins with: its kind and the version of the format.
const MAGIC: [u8; 8] = *b"GTACTIC\x01";

/// The games of which the program has a set.
pub const STORED: [&str; 3] = ["gomoku", "gomoku:9", "gomoku:15:renju"];

/// The set that comes with the program for this game, if there is one. Questions of all kinds and regions are mixed
/// evenly.
pub fn built_in(game: &Grid) -> Option<&'static [Question<Position>]> {
    static SETS: [OnceLock<Vec<Question<Position>>>; STORED.len()] = [const { OnceLock::new() }; STORED.len()];
    let bytes: [&[u8]; STORED.len()] = [
        include_bytes!("../../../data/gomoku/15-freestyle.bin"),
        include_bytes!("../../../data/gomoku/9-freestyle.bin"),
        include_bytes!("../../../data/gomoku/15-renju.bin"),
    ];
    let i = STORED.iter().position(|&name| name == game.name())?;
    Some(SETS[i].get_or_init(|| from_bytes(game, bytes[i]).expect("the stored set is whole")))
}

/// The stored form of questions of a game.
pub fn to_bytes(game: &Grid, questions: &[Question<Position>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(head(game));
    bytes.extend_from_slice(&(questions.len() as u32).to_le_bytes());
    let mut writer = Writer { bytes, bits: 0 };
    for Question { kind, region, position, right } in questions {
        writer.put(*kind as usize, 4);
        writer.put(*region as usize, 2);
        writer.put(game.ply(position), 7);
        let mut next = 0;
        game.for_each_stone(position, |cell, owner| {
            writer.rice(cell - next, 4);
            writer.put(owner.index(), 1);
            next = cell + 1;
        });
        writer.rice(right.len() - 1, 1);
        let mut next = 0;
        for cell in right.iter().map(|&action| usize::from(action)) {
            writer.rice(cell - next, 5);
            next = cell + 1;
        }
    }
    let mut bytes = writer.bytes;
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Reads a stored set.
///
/// # Errors
/// If the bytes are not a set of this version for this game, or not whole.
pub fn from_bytes(game: &Grid, bytes: &[u8]) -> Result<Vec<Question<Position>>, SetError> {
    let rest = bytes.strip_prefix(&MAGIC).and_then(|rest| rest.strip_prefix(&head(game))).ok_or(SetError::Foreign)?;
    let (stored, sum) = bytes.split_last_chunk().ok_or(SetError::Damaged)?;
    if checksum(stored) != u64::from_le_bytes(*sum) {
        return Err(SetError::Damaged);
    }
    let (count, bits) = rest[..rest.len() - sum.len()].split_first_chunk().ok_or(SetError::Damaged)?;
    let mut reader = Reader { bytes: bits, at: 0 };
    let questions = (0..u32::from_le_bytes(*count)).map(|_| read(game, &mut reader));
    questions.collect::<Option<Vec<_>>>().ok_or(SetError::Damaged)
}

/// The game in two bytes.
fn head(game: &Grid) -> [u8; 2] {
    let rule = [Rule::Freestyle, Rule::Standard, Rule::Renju].iter().position(|&rule| rule == game.rule());
    [game.columns() as u8, rule.expect("it is one of these") as u8]
}

fn read(game: &Grid, reader: &mut Reader<'_>) -> Option<Question<Position>> {
    let kind = *Kind::ALL.get(reader.take(4)?)?;
    let region = *Region::ALL.get(reader.take(2)?)?;
    let stones = reader.take(7)?;
    let mut cells = vec!['.'; game.cells()];
    let mut next = 0;
    for _ in 0..stones {
        let cell = next + reader.rice(4)?;
        *cells.get_mut(cell)? = ['x', 'o'][reader.take(1)?];
        next = cell + 1;
    }
    let rows: Vec<String> = cells.chunks(game.columns()).map(|row| row.iter().collect()).collect();
    let mover = ['x', 'o'][Seat::at_ply(stones).index()];
    let position = game.read_position(&format!("{} {mover}", rows.join("/"))).ok()?;
    let mut right = Vec::new();
    let mut next = 0;
    for _ in 0..=reader.rice(1)? {
        let cell = next + reader.rice(5)?;
        right.push(Action::try_from(cell).ok().filter(|_| cell < game.cells())?);
        next = cell + 1;
    }
    Some(Question { kind, region, position, right })
}

/// Appends bits to bytes, the lowest of each byte first.
struct Writer {
    bytes: Vec<u8>,
    /// How many bits have been put.
    bits: usize,
}

impl Writer {
    fn put(&mut self, number: usize, width: usize) {
        debug_assert!(number < 1 << width);
        for i in 0..width {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().expect("a byte was begun");
            *last |= ((number >> i & 1) as u8) << (self.bits % 8);
            self.bits += 1;
        }
    }

    /// A number in the Rice code: what is above the lowest `low` bits in unary, then those.
    fn rice(&mut self, number: usize, low: usize) {
        (0..number >> low).for_each(|_| self.put(1, 1));
        self.put(0, 1);
        self.put(number & ((1 << low) - 1), low);
    }
}

/// Reads what a [`Writer`] wrote; `None` where there are no more bits.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, width: usize) -> Option<usize> {
        let mut number = 0;
        for i in 0..width {
            let byte = self.bytes.get(self.at / 8)?;
            number |= usize::from(byte >> (self.at % 8) & 1) << i;
            self.at += 1;
        }
        Some(number)
    }

    fn rice(&mut self, low: usize) -> Option<usize> {
        let mut high = 0;
        while self.take(1)? == 1 {
            high += 1;
        }
        Some(high << low | self.take(low)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::gomoku::tactics::Judge;
    use crate::gomoku::tactics::judge::tests::check_plainly;

    fn stored() -> impl Iterator<Item = (Grid, &'static [Question<Position>])> {
        STORED.into_iter().map(|name| {
            let game: Grid = name.parse().unwrap();
            (game, built_in(&game).unwrap())
        })
    }

    #[test]
    fn stored_sets_are_read_back_and_damaged_ones_refused() {
        for (game, set) in stored() {
            let bytes = to_bytes(&game, set);
            assert_eq!(from_bytes(&game, &bytes).unwrap(), set);
            for at in [0, 7, 9, 10, 1_000, bytes.len() - 1] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                let expected = if at < 10 { SetError::Foreign } else { SetError::Damaged };
                assert_eq!(from_bytes(&game, &damaged), Err(expected));
            }
            assert_eq!(from_bytes(&game, &bytes[..bytes.len() - 16]), Err(SetError::Damaged));
            assert_eq!(from_bytes(&game, &bytes[..10]), Err(SetError::Damaged));
        }
        assert_eq!(built_in(&Grid::gomoku(11, Rule::Freestyle).unwrap()), None);
    }

    #[test]
    fn no_two_stored_positions_are_alike_and_stones_alternate() {
        for (game, set) in stored() {
            let distinct: HashSet<Position> = set.iter().map(|question| game.canonical(&question.position)).collect();
            assert_eq!(distinct.len(), set.len());
            for Question { position, right, .. } in set {
                let stones =
                    Seat::BOTH.map(|seat| position.stones(seat).iter().map(|row| row.count_ones()).sum::<u32>());
                assert_eq!(stones[0] - stones[1], game.to_move(position).index() as u32);
                assert!(right.iter().all(|&action| game.referee(position, action).is_ok()));
            }
        }
    }

    #[test]
    fn stored_answers_are_found_again_and_by_the_rules_alone() {
        for (game, set) in stored() {
            let mut judge = Judge::new(&game).unwrap();
            for question in set.iter().step_by(set.len() / 100) {
                // In Renju a position can be of two kinds.
                let wanted = |kind, _| kind == question.kind;
                assert_eq!(judge.question(&question.position, &wanted).as_ref(), Some(question));
            }
            // On large boards the rules alone take long to decide anything but a win in one.
            let of_kind = |kind: Kind| set.iter().filter(move |question| question.kind == kind);
            of_kind(Kind::WinInOne).step_by(10).for_each(|question| check_plainly(&game, question));
            if game.columns() == 9 {
                of_kind(Kind::FourThree).take(1).for_each(|question| check_plainly(&game, question));
            }
        }
    }
}
