//! Positions as they come about between players of uneven care, in every region of the board.

use rules::grid::{Grid, Position, Rule};
use rules::random::Rng;
use rules::{Action, Game, Seat};

use super::themes::lay_out;
use super::{Kind, Region};
use crate::gomoku::board::{Board, Point};

/// How far from another stone of the fight a move may be.
const NEAR: usize = 2;

/// How far from the middle of the fight it may be, so that it stays in its region.
const FAR: usize = 5;

/// Plays a game around a random cell of the region until `visit`, which is shown each position, says stop.
///
/// First come some stones anywhere on the board, then a fight near that cell.
pub fn playout(game: &Grid, region: Region, rng: &mut Rng, visit: &mut dyn FnMut(&Position) -> bool) {
    let sides = Sides::new(game, rng);
    let anchor = cell_of(game, region, rng);
    let mut position = game.start();
    for _ in 0..strewn(game, rng) {
        let cells: Vec<usize> = (0..game.cells()).filter(|&cell| plays_on(game, &position, cell)).collect();
        game.play(&mut position, cells[rng.below(cells.len())] as Action);
    }
    sides.fight(game, &mut position, anchor, vec![anchor], rng, visit);
}

/// As [`playout`], but the first stones are those of a theme around the cell, for a kind of question
/// that hardly ever comes about by chance. Half of the stones between them are near it. Shows nothing if the theme has no
/// room there or the stones in this order are no game.
pub fn themed_playout(
    game: &Grid,
    kind: Kind,
    region: Region,
    rng: &mut Rng,
    visit: &mut dyn FnMut(&Position) -> bool,
) {
    let sides = Sides::new(game, rng);
    let anchor = cell_of(game, region, rng);
    let Some(cells) = lay_out(game, kind, anchor, rng) else { return };
    let mut stones = Seat::BOTH.map(|seat| -> Vec<usize> {
        cells.iter().filter(|&(_, &stone)| stone == Some(seat)).map(|(&cell, _)| cell).collect()
    });
    let fight = stones.concat();
    stones.iter_mut().for_each(|stones| rng.shuffle(stones));
    let mut position = game.start();
    for _ in 0..2 * stones[0].len().max(stones[1].len()) + strewn(game, rng) {
        let chosen = stones[game.to_move(&position).index()].pop().or_else(|| {
            let far = if rng.chance(0.5) { FAR } else { game.cells() };
            let fits = |&cell: &usize| !cells.contains_key(&cell) && distance(game, anchor, cell) <= far;
            let rest: Vec<usize> =
                (0..game.cells()).filter(fits).filter(|&cell| plays_on(game, &position, cell)).collect();
            (!rest.is_empty()).then(|| rest[rng.below(rest.len())])
        });
        let Some(chosen) = chosen.filter(|&cell| plays_on(game, &position, cell)) else { return };
        game.play(&mut position, chosen as Action);
    }
    if visit(&position) {
        sides.fight(game, &mut position, anchor, fight, rng, visit);
    }
}

/// How the two sides of a fight play.
struct Sides {
    /// By what rule they see shapes.
    eyes: Rule,
    /// Whether closed threes count: double fours come of them.
    likes_closed_threes: bool,
    /// With which probability each plays the move that makes or meets the greatest threats, rather than any.
    cares: [f32; 2],
}

impl Sides {
    fn new(game: &Grid, rng: &mut Rng) -> Sides {
        // In half of the games of Renju shapes are taken for what they are in the free game.
        let eyes = if rng.chance(0.5) { Rule::Freestyle } else { game.rule() };
        let likes_closed_threes = rng.chance(0.5);
        Sides { eyes, likes_closed_threes, cares: Seat::BOTH.map(|_| rng.uniform(0.3, 1.0)) }
    }

    /// Plays on from a position, all moves near the anchor and the stones of the `fight`, and shows each position.
    /// Nobody completes a five, so fights go on; this one ends after 16 moves, a few more on large boards, when no other
    /// move is left, or when `visit` says so.
    fn fight(
        &self,
        game: &Grid,
        position: &mut Position,
        anchor: usize,
        mut fight: Vec<usize>,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&Position) -> bool,
    ) {
        let mut seen = Board::new(game.columns(), game.rows(), self.eyes);
        game.for_each_stone(position, |cell, owner| seen.place(seen.point(cell), owner));
        for _ in 0..16 + game.cells() / 37 {
            let seat = game.to_move(position);
            let near = |cell: usize| {
                distance(game, anchor, cell) <= FAR && fight.iter().any(|&stone| distance(game, stone, cell) <= NEAR)
            };
            let cells = (0..game.cells()).filter(|&cell| near(cell) && plays_on(game, position, cell));
            let cells: Vec<usize> = cells.collect();
            if cells.is_empty() {
                return;
            }
            let mut chosen = cells[rng.below(cells.len())];
            if rng.chance(self.cares[seat.index()]) {
                let score = |cell: usize| {
                    let point = seen.point(cell);
                    let closed = Seat::BOTH.map(|seat| seen.counts(point, seat).closed_threes()).iter().sum::<u32>();
                    worth(&seen, point) + if self.likes_closed_threes { 2 * closed } else { 0 }
                };
                let best = cells.iter().max_by_key(|&&cell| (score(cell), rng.bits()));
                chosen = *best.expect("there are some");
            }
            fight.push(chosen);
            seen.place(seen.point(chosen), seat);
            game.play(position, chosen as Action);
            if !visit(position) {
                return;
            }
        }
    }
}

/// A random cell of the region.
fn cell_of(game: &Grid, region: Region, rng: &mut Rng) -> usize {
    let inside: Vec<usize> = (0..game.cells()).filter(|&cell| Region::of(game, cell) == region).collect();
    inside[rng.below(inside.len())]
}

/// How many stones lie on the board by chance: up to one to 18 cells.
fn strewn(game: &Grid, rng: &mut Rng) -> usize {
    rng.below(game.cells() / 18 + 1)
}

/// Whether a stone may be placed on the cell and the game goes on.
fn plays_on(game: &Grid, position: &Position, cell: usize) -> bool {
    let mut after = *position;
    game.try_play(&mut after, cell as Action).is_ok() && !game.outcome(&after).is_over()
}

/// Moves of a king from one cell to the other.
pub(super) fn distance<G: Game>(game: &G, a: usize, b: usize) -> usize {
    let columns = game.columns();
    (a % columns).abs_diff(b % columns).max((a / columns).abs_diff(b / columns))
}

/// What a stone on a point makes for either side, and so what it takes from the other.
pub(in crate::gomoku) fn worth(board: &Board, point: Point) -> u32 {
    let of = |seat| {
        let counts = board.counts(point, seat);
        8 * counts.fives() + 4 * counts.open_fours() + counts.fours() + 2 * counts.threes() + counts.twos()
    };
    of(Seat::First) + of(Seat::Second)
}
