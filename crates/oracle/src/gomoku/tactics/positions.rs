//! Positions as they come about between players of uneven care, in every region of the board.

use rules::grid::{Grid, Position, Rule};
use rules::random::Rng;
use rules::{Action, Game, Seat};

use super::Region;
use crate::gomoku::board::{Board, Point};

/// How far from another stone of the fight a move may be.
const NEAR: usize = 2;

/// How far from the middle of the fight it may be, so that it stays in its region.
const FAR: usize = 5;

/// Plays a game around a random cell of the region until `visit`, which is shown each position, says stop.
///
/// First come some stones anywhere on the board. From then on all moves are near the others: with a probability that
/// is drawn for each side and game, the move that makes or meets the greatest threats, else any. In half of the games
/// closed threes count too: double fours come of them. Nobody completes a five, so fights go on; the game
/// ends after 16 moves of the fight, a few more on large boards, or when no other move is left.
pub fn playout(game: &Grid, region: Region, rng: &mut Rng, visit: &mut dyn FnMut(&Position) -> bool) {
    // In half of the games of Renju shapes are taken for what they are in the free game.
    let eyes = if rng.chance(0.5) { Rule::Freestyle } else { game.rule() };
    let mut seen = Board::new(game.columns(), game.rows(), eyes);
    let likes_closed_threes = rng.chance(0.5);
    let cares = Seat::BOTH.map(|_| rng.uniform(0.3, 1.0));
    let inside: Vec<usize> = (0..game.cells()).filter(|&cell| Region::of(game, cell) == region).collect();
    let anchor = inside[rng.below(inside.len())];
    let mut fight = vec![anchor];
    let strewn = rng.below(game.cells() / 18 + 1);

    let mut position = game.start();
    for ply in 0..strewn + 16 + game.cells() / 37 {
        let seat = game.to_move(&position);
        let plays_on = |&cell: &usize| {
            let mut after = position;
            game.try_play(&mut after, cell as Action).is_ok() && !game.outcome(&after).is_over()
        };
        let near = |cell: usize| {
            distance(game, anchor, cell) <= FAR && fight.iter().any(|&stone| distance(game, stone, cell) <= NEAR)
        };
        let cells = (0..game.cells()).filter(|&cell| ply < strewn || near(cell));
        let cells: Vec<usize> = cells.filter(plays_on).collect();
        if cells.is_empty() {
            return;
        }
        let mut chosen = cells[rng.below(cells.len())];
        if ply >= strewn {
            if rng.chance(cares[seat.index()]) {
                let score = |cell: usize| {
                    let point = seen.point(cell);
                    let closed = Seat::BOTH.map(|seat| seen.counts(point, seat).closed_threes()).iter().sum::<u32>();
                    worth(&seen, point) + if likes_closed_threes { 2 * closed } else { 0 }
                };
                let best = cells.iter().max_by_key(|&&cell| (score(cell), rng.bits()));
                chosen = *best.expect("there are some");
            }
            fight.push(chosen);
        }
        seen.place(seen.point(chosen), seat);
        game.play(&mut position, chosen as Action);
        if ply >= strewn && !visit(&position) {
            return;
        }
    }
}

/// Moves of a king from one cell to the other.
fn distance<G: Game>(game: &G, a: usize, b: usize) -> usize {
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
