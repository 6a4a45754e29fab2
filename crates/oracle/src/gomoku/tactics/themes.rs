//! The stones that a rare kind of question is made of. They only make it likely: what a position is and what is right in
//! it says the judge, as of every other.

use std::collections::BTreeMap;

use rules::Game;
use rules::Seat::{self, First as Black, Second as White};
use rules::grid::Grid;
use rules::random::Rng;

use super::Kind;
use super::positions::distance;

/// Points near each other, each with lines through it.
type Theme = &'static [&'static [(Seat, Line)]];

/// One of these is the line, in any direction: `+` is the point, `x` a stone of the line's owner, `o` one of the other
/// side, for which the end of the board does too, and what is `.` stays empty at first.
type Line = &'static [&'static str];

/// The point makes a four that can be completed on one other point.
const FOUR: Line = &["oxxx+.", "oxxx.+", "oxx+x.", "oxx.x+", "ox+xx.", "ox.xx+"];
/// The point makes an open three.
const THREE: Line = &["..xx+.", ".xx+..", ".x+x..", ".x.x+.", ".xx.+.", ".x+.x."];
/// The point makes an open four.
const OPEN_FOUR: Line = &["..xxx+.", ".xxx+..", ".xx+x."];
/// The point makes a five in the free game, in Renju six or more.
const SIX: Line = &["xx+xxx", "xxx+xxx", "ox+xxxx", "xx+xxxxo"];
/// The point makes an open four in the free game, in Renju nothing, nor does any other on the line make a four: with a
/// four Black could put off what White threatens.
const HOLLOW: Line = &["ox.xx+x.x", "oxx.x+x.xxo"];

/// What may become a question of this kind. None for those that come about by chance.
fn themes(kind: Kind) -> &'static [Theme] {
    match kind {
        // In Renju Black may not make two of a kind at once; the judge refuses what is none there.
        Kind::DoubleFour | Kind::StopDoubleFour => {
            &[&[&[(White, FOUR), (White, FOUR)]], &[&[(Black, FOUR), (Black, FOUR)]]]
        }
        Kind::FourThree | Kind::StopFourThree => {
            &[&[&[(White, FOUR), (White, THREE)]], &[&[(Black, FOUR), (Black, THREE)]]]
        }
        Kind::DoubleThree | Kind::StopDoubleThree => {
            &[&[&[(White, THREE), (White, THREE)]], &[&[(Black, THREE), (Black, THREE)]]]
        }
        Kind::ForbiddenBlock => {
            &[&[&[(White, FOUR), (Black, THREE), (Black, THREE)]], &[&[(White, FOUR), (Black, FOUR), (Black, FOUR)]]]
        }
        Kind::FalseFour => &[
            &[&[(Black, SIX), (White, FOUR)]],
            &[&[(Black, SIX)], &[(White, OPEN_FOUR)]],
            &[&[(Black, SIX)], &[(White, FOUR), (White, THREE)]],
            &[&[(Black, SIX)], &[(White, THREE), (White, THREE)]],
        ],
        Kind::FalseThree => &[&[&[(Black, HOLLOW)], &[(White, THREE), (White, THREE)]]],
        Kind::OwnFalseThree => &[
            &[&[(Black, HOLLOW)], &[(White, OPEN_FOUR)]],
            &[&[(Black, HOLLOW)], &[(White, FOUR), (White, THREE)]],
            &[&[(Black, HOLLOW)], &[(White, THREE), (White, THREE)]],
        ],
        _ => &[],
    }
}

/// Whether questions of this kind are rare enough for a theme.
pub fn has_theme(kind: Kind) -> bool {
    !themes(kind).is_empty()
}

/// How far from the first point of a theme the others are at most.
const APART: usize = 4;

/// Lays out a theme of the kind with its first point on `anchor`: for each cell of its lines who has a stone there, if
/// anybody. `None` if it found no room in a hundred attempts.
pub(super) fn lay_out(game: &Grid, kind: Kind, anchor: usize, rng: &mut Rng) -> Option<BTreeMap<usize, Option<Seat>>> {
    (0..100).find_map(|_| try_to_lay_out(game, kind, anchor, rng))
}

fn try_to_lay_out(game: &Grid, kind: Kind, anchor: usize, rng: &mut Rng) -> Option<BTreeMap<usize, Option<Seat>>> {
    let themes = themes(kind);
    let mut cells = BTreeMap::new();
    for lines in themes[rng.below(themes.len())] {
        let apart = if cells.is_empty() { 0 } else { APART };
        let near = (0..game.cells()).filter(|&cell| distance(game, anchor, cell) <= apart);
        let near: Vec<usize> = near.filter(|cell| !cells.contains_key(cell)).collect();
        let point = near[rng.below(near.len())];
        let mut steps = [(1, 0), (0, 1), (1, 1), (1, -1)];
        rng.shuffle(&mut steps);
        for (&(owner, shapes), (right, down)) in lines.iter().zip(steps) {
            let sense = if rng.chance(0.5) { 1 } else { -1 };
            let shape = shapes[rng.below(shapes.len())];
            let middle = shape.find('+').expect("a line goes through the point") as isize;
            for (i, content) in (-middle..).zip(shape.chars()) {
                let stone = match content {
                    'x' => Some(owner),
                    'o' => Some(owner.other()),
                    _ => None,
                };
                match cell_from(game, point, i * sense * right, i * sense * down) {
                    Some(cell) if *cells.entry(cell).or_insert(stone) == stone => {}
                    None if content == 'o' => {}
                    _ => return None,
                }
            }
        }
    }
    Some(cells)
}

/// The cell so many columns and rows from another, if it is on the board.
fn cell_from(game: &Grid, cell: usize, right: isize, down: isize) -> Option<usize> {
    let column = (cell % game.columns()).checked_add_signed(right).filter(|&column| column < game.columns())?;
    let row = (cell / game.columns()).checked_add_signed(down).filter(|&row| row < game.rows())?;
    Some(row * game.columns() + column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gomoku::board::{Board, Counts};
    use crate::gomoku::tactics::{Judge, Region, themed_playout};
    use rules::grid::Rule;

    /// What Black makes on the point of a line of his in the free game and in Renju, and whether he can make fours there.
    fn made(shape: &str) -> [(Counts, bool); 2] {
        [Rule::Freestyle, Rule::Renju].map(|rule| {
            let mut board = Board::new(15, 15, rule);
            let start = 7 * 15 + 2;
            for (i, content) in shape.chars().enumerate() {
                let point = board.point(start + i);
                match content {
                    'x' => board.place(point, Black),
                    'o' => board.place(point, White),
                    _ => {}
                }
            }
            (board.counts(board.point(start + shape.find('+').unwrap()), Black), !board.fours(Black).is_empty())
        })
    }

    #[test]
    fn lines_make_what_they_are_for() {
        let check = |line: Line, fits: &dyn Fn(Counts, Counts) -> bool| {
            line.iter().for_each(|shape| {
                let [(free, _), (renju, fours)] = made(shape);
                assert!(fits(free, renju), "{shape} {free:?} {renju:?}");
                assert!(!fours || line != HOLLOW, "{shape}");
            });
        };
        check(FOUR, &|free, renju| (free.closed_fours(), renju.closed_fours()) == (1, 1));
        check(THREE, &|free, renju| (free.threes(), renju.threes()) == (1, 1));
        check(OPEN_FOUR, &|free, renju| (free.open_fours(), renju.open_fours()) == (1, 1));
        check(SIX, &|free, renju| (free.fives(), renju.fives()) == (1, 0));
        check(HOLLOW, &|free, renju| (free.open_fours(), renju.fours()) == (1, 0));
    }

    #[test]
    fn themes_have_room_in_every_region_and_their_stones_are_where_they_should_be() {
        let game: Grid = "gomoku:15:renju".parse().unwrap();
        for kind in Kind::ALL.into_iter().filter(|&kind| has_theme(kind)) {
            for (stream, anchor) in [0, 3 * 15 + 3, 7 * 15 + 2, 7 * 15 + 7].into_iter().enumerate() {
                let mut rng = Rng::new(3, stream as u64);
                // In the very corner three lines have no room.
                let Some(cells) = lay_out(&game, kind, anchor, &mut rng) else {
                    assert_eq!(anchor, 0, "{kind:?}");
                    continue;
                };
                assert_eq!(cells[&anchor], None);
                let stones = |seat| cells.values().filter(|&&stone| stone == Some(seat)).count();
                assert!(stones(Black) + stones(White) >= 4, "{kind:?} {cells:?}");
            }
        }
    }

    #[test]
    fn games_with_a_theme_hold_questions_of_its_kind() {
        let game: Grid = "gomoku:15:renju".parse().unwrap();
        let mut judge = Judge::new(&game).unwrap();
        for kind in Kind::ALL.into_iter().filter(|&kind| has_theme(kind)) {
            let mut asks = |stream| {
                let mut found = false;
                themed_playout(&game, kind, Region::Middle, &mut Rng::new(4, stream), &mut |position| {
                    found |= judge.question(position, &|of, _| of == kind).is_some();
                    !found
                });
                found
            };
            assert!((0..60).any(&mut asks), "{kind:?}");
        }
    }
}
