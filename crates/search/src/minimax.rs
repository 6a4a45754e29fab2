//! Minimax to a fixed depth, by alpha-beta: exact where the game ends within the depth, a judgement elsewhere.
//!
//! Knuth and Moore, "An analysis of alpha-beta pruning" (1975), in the negamax form: every value is seen by the side to
//! move, so a parent's value is the greatest of its children's values negated. The tests hold it against plain minimax.

use rules::{Action, Choice, Game, NotExact, Outcome, Player, Wdl};

/// What a position is worth to the side to move: an estimate in [-1, 1], or a win or loss with its distance.
///
/// Scores compare as one would play: any win is above any estimate, a quicker win above a slower one, a slower loss
/// above a quicker one.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Score(f32);

/// A win on the spot; each ply of distance takes 1 off. Whole numbers of this size are exact in `f32`.
const WIN: f32 = 100_000.0;

impl Score {
    /// Worth nothing to either: a drawn end, or an estimate of 0.
    pub const EVEN: Score = Score(0.0);

    /// A win whose last move is `plies` moves away, or (with `wdl` a loss) the opponent's; a draw is even.
    pub fn end(wdl: Wdl, plies: usize) -> Score {
        Score(wdl.value() * (WIN - plies as f32))
    }

    /// The win or loss that was proved, with the number of moves to the end; `None` for an estimate or a draw.
    pub fn proved(self) -> Option<(Wdl, usize)> {
        let distance = || (WIN - self.0.abs()) as usize;
        match self.0 {
            value if value > 1.0 => Some((Wdl::Win, distance())),
            value if value < -1.0 => Some((Wdl::Loss, distance())),
            _ => None,
        }
    }

    /// The value in [-1, 1]: 1 for any win, -1 for any loss.
    pub fn value(self) -> f32 {
        self.0.clamp(-1.0, 1.0)
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Every action with the best score, in increasing order.
    pub best: Vec<Action>,
    /// That score, for the side to move.
    pub score: Score,
    /// The depth to which the search was finished, in plies.
    pub depth: usize,
    /// Positions visited, the root not counted.
    pub nodes: u64,
}

/// An alpha-beta search with the memory that it uses again from search to search.
#[derive(Clone, Debug)]
pub struct Minimax<G: Game> {
    /// The children of all positions on the way to the present one, the innermost last.
    children: Vec<Child<G>>,
    actions: Vec<Action>,
    /// For each cell its distance from the middle of the board, squared and fourfold to stay whole.
    distances: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Child<G: Game> {
    /// The order in which children are tried: closest to the middle first.
    distance: usize,
    action: Action,
    position: G::Position,
}

impl<G: Game> Default for Minimax<G> {
    fn default() -> Self {
        Minimax { children: Vec::new(), actions: Vec::new(), distances: Vec::new() }
    }
}

impl<G: Game> Minimax<G> {
    /// The best actions of a position that is not over, looking `depth` >= 1 moves ahead.
    ///
    /// `leaf` judges a position that is not over, for the side to move, in [-1, 1]; NaN counts as -1. The search deepens
    /// from 1 to `depth` and asks `stop` every thousand positions; stopped, it returns the last depth that was
    /// finished, or `None` if none was.
    ///
    /// # Panics
    /// If the depth is 0 or the game is over.
    pub fn search(
        &mut self,
        game: &G,
        position: &G::Position,
        depth: usize,
        leaf: &mut impl FnMut(&G, &G::Position) -> f32,
        stop: &mut dyn FnMut() -> bool,
    ) -> Option<Found> {
        assert!(depth > 0, "a search looks at least one move ahead");
        assert!(!game.outcome(position).is_over(), "there is nothing to search when the game is over");
        self.prepare(game);
        let mut pass = Pass { search: self, game, leaf, stop, nodes: 0, leaves: 0, stopped: false };

        // Wins in one are beyond improvement, and the only case in which ends alone decide.
        let wins = pass.expand(position, 0);
        let mut roots: Vec<Root<G>> = pass
            .search
            .children
            .drain(..)
            .map(|Child { action, position, .. }| Root { action, position, score: f32::NEG_INFINITY })
            .collect();
        if wins {
            let mut best: Vec<Action> = roots.iter().map(|root| root.action).collect();
            best.sort_unstable();
            return Some(Found { best, score: Score::end(Wdl::Win, 1), depth: 1, nodes: pass.nodes });
        }

        let mut found = None;
        for depth in 1..=depth {
            let mut best = f32::NEG_INFINITY;
            for root in &mut roots {
                // The window leaves room for an equal score, so that all of the best are known to be so.
                root.score = -pass.value(&root.position, depth - 1, 1, f32::NEG_INFINITY, -best.next_down());
                best = best.max(root.score);
            }
            if pass.stopped {
                break;
            }
            let mut actions: Vec<Action> = roots.iter().filter(|r| r.score == best).map(|r| r.action).collect();
            actions.sort_unstable();
            found = Some(Found { best: actions, score: Score(best), depth, nodes: pass.nodes });
            if pass.leaves == 0 || Score(best).proved().is_some() {
                // Every line that matters was followed to its end, so looking further changes nothing.
                break;
            }
            pass.leaves = 0;
            // The best of this depth is tried first at the next. The sort is stable, so the order is determined.
            roots.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        found
    }

    fn prepare(&mut self, game: &G) {
        let (columns, rows) = (game.columns(), game.rows());
        self.children.clear();
        self.distances.clear();
        self.distances.extend((0..game.cells()).map(|cell| {
            let column = (2 * (cell % columns) + 1).abs_diff(columns);
            let row = (2 * (cell / columns) + 1).abs_diff(rows);
            column * column + row * row
        }));
    }
}

struct Root<G: Game> {
    action: Action,
    position: G::Position,
    score: f32,
}

/// One search under way.
struct Pass<'a, G: Game, L> {
    search: &'a mut Minimax<G>,
    game: &'a G,
    leaf: &'a mut L,
    stop: &'a mut dyn FnMut() -> bool,
    nodes: u64,
    leaves: u64,
    stopped: bool,
}

impl<G: Game, L: FnMut(&G, &G::Position) -> f32> Pass<'_, G, L> {
    /// The value of a position for the side to move, `ply` moves below the root: exact if it lies between `alpha` and
    /// `beta`, else a bound on the same side.
    fn value(&mut self, position: &G::Position, depth: usize, ply: usize, alpha: f32, beta: f32) -> f32 {
        match self.game.outcome(position) {
            Outcome::Ongoing => {}
            over => return over.seen_by(self.game.to_move(position)).map_or(0.0, |wdl| Score::end(wdl, ply).0),
        }
        if depth == 0 {
            self.leaves += 1;
            let value = (self.leaf)(self.game, position);
            return if value >= -1.0 { value.min(1.0) } else { -1.0 };
        }
        let base = self.search.children.len();
        let wins = self.expand(position, base);
        let mut best = f32::NEG_INFINITY;
        if wins {
            best = Score::end(Wdl::Win, ply + 1).0;
        } else {
            for i in base..self.search.children.len() {
                let child = self.search.children[i].position;
                best = best.max(-self.value(&child, depth - 1, ply + 1, -beta, -alpha.max(best)));
                if best >= beta || self.stopped {
                    break;
                }
            }
        }
        self.search.children.truncate(base);
        best
    }

    /// Appends the children of a position in the order in which they are to be tried. If some of them are wins of the
    /// side that moves, it appends only those and says so.
    fn expand(&mut self, position: &G::Position, base: usize) -> bool {
        let Minimax { children, actions, distances } = &mut *self.search;
        actions.clear();
        self.game.legal(position, actions);
        let winning = Outcome::Win(self.game.to_move(position));
        let mut wins = false;
        for &action in &*actions {
            let mut child = *position;
            self.game.play(&mut child, action);
            let win = self.game.outcome(&child) == winning;
            if win && !wins {
                wins = true;
                children.truncate(base);
            }
            if win == wins {
                let distance = distances[self.game.landing(position, action)];
                children.push(Child { distance, action, position: child });
            }
        }
        children[base..].sort_by_key(|child| child.distance);
        let before = self.nodes;
        self.nodes += actions.len() as u64;
        if before / POLL != self.nodes / POLL {
            self.stopped = self.stopped || (self.stop)();
        }
        wins
    }
}

/// How many positions lie between two questions whether to stop.
const POLL: u64 = 1_000;

/// Plays by minimax with nothing to judge positions: it sees every win and loss within its depth, takes the quickest
/// win and the slowest loss, and plays any of equal moves, each with the same probability.
#[derive(Clone, Debug)]
pub struct MinimaxPlayer<G: Game> {
    depth: usize,
    search: Minimax<G>,
}

impl<G: Game> MinimaxPlayer<G> {
    /// A player that looks `depth` >= 1 moves ahead.
    pub fn new(depth: usize) -> Self {
        MinimaxPlayer { depth, search: Minimax::default() }
    }
}

impl<G: Game> Player<G> for MinimaxPlayer<G> {
    fn name(&self) -> String {
        format!("minimax:{}", self.depth)
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let found = self.search.search(game, position, self.depth, &mut |_, _| 0.0, &mut || false);
        let best = found.expect("nobody stops this search").best;
        let probability = 1.0 / best.len() as f64;
        choices.extend(best.into_iter().map(|action| Choice { action, probability }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::{legal_actions, replay};
    use rules::tictactoe::{self, TicTacToe};
    use rules::tiny::Tiny;

    fn search<G: Game>(game: &G, position: &G::Position, depth: usize) -> Found {
        Minimax::default().search(game, position, depth, &mut |_, _| 0.0, &mut || false).unwrap()
    }

    /// Plain minimax, the definition: the score for the side to move, `ply` moves below the root.
    fn plain<G: Game>(game: &G, at: &G::Position, depth: usize, ply: usize, leaf: fn(&G, &G::Position) -> f32) -> f32 {
        if let Some(wdl) = game.outcome(at).seen_by(game.to_move(at)) {
            return Score::end(wdl, ply).0;
        }
        if depth == 0 {
            return leaf(game, at);
        }
        let values = legal_actions(game, at).into_iter().map(|action| {
            let mut child = *at;
            game.play(&mut child, action);
            -plain(game, &child, depth - 1, ply + 1, leaf)
        });
        values.fold(f32::NEG_INFINITY, f32::max)
    }

    /// Some number in (-1, 1) that few positions share.
    fn judge(_: &TicTacToe, position: &tictactoe::Position) -> f32 {
        let key = u64::from(position.stones(rules::Seat::First)) << 9 | u64::from(position.stones(rules::Seat::Second));
        (rules::Rng::new(key, 0).below(41) as f32 - 20.0) / 21.0
    }

    fn all_positions() -> Vec<tictactoe::Position> {
        let mut all = vec![TicTacToe.start()];
        let mut next = 0;
        while let Some(&position) = all.get(next) {
            next += 1;
            for action in legal_actions(&TicTacToe, &position) {
                let mut child = position;
                TicTacToe.play(&mut child, action);
                if !all.contains(&child) {
                    all.push(child);
                }
            }
        }
        all.retain(|position| !TicTacToe.outcome(position).is_over());
        assert_eq!(all.len(), 4_520);
        all
    }

    #[test]
    fn equals_plain_minimax_everywhere() {
        let mut memory = Minimax::default();
        for position in all_positions() {
            // From the first plies plain minimax is slow at full depth.
            for depth in if TicTacToe.ply(&position) < 3 { 1..=3 } else { 1..=7 } {
                let found = memory.search(&TicTacToe, &position, depth, &mut judge, &mut || false).unwrap();
                let mut values = Vec::new();
                for action in legal_actions(&TicTacToe, &position) {
                    let mut child = position;
                    TicTacToe.play(&mut child, action);
                    values.push((action, -plain(&TicTacToe, &child, depth - 1, 1, judge)));
                }
                let best = values.iter().map(|v| v.1).fold(f32::NEG_INFINITY, f32::max);
                let expected: Vec<Action> = values.iter().filter(|v| v.1 == best).map(|v| v.0).collect();
                let at = TicTacToe.write_position(&position);
                assert_eq!((found.score, found.best), (Score(best), expected), "{at} depth {depth}");
            }
        }
    }

    #[test]
    fn a_small_tree_by_hand() {
        // The first side may win at once, draw, or let the second choose between losing and drawing.
        let game = Tiny::new("(= (x =) (x x))");
        let found = search(&game, &game.start(), 2);
        assert_eq!((found.best, found.score.proved()), (vec![2], Some((Wdl::Win, 2))));
        // Every move loses, the last two in four moves instead of two.
        let game = Tiny::new("((o o) (o =) ((x =) ((o o) (o x))) (((o o)) ((o o))))");
        let found = search(&game, &game.start(), 9);
        assert_eq!((found.best, found.score.proved()), (vec![2, 3], Some((Wdl::Loss, 4))));
    }

    #[test]
    fn values_alternate_on_the_way_up() {
        // X wins by 2, whoever asks: X to move is winning, and so the same threat with O to move is not.
        let threat = replay(&TicTacToe, &[0, 3, 1, 4]).unwrap();
        assert_eq!(search(&TicTacToe, &threat, 1).score.proved(), Some((Wdl::Win, 1)));
        // O has one stone, X two corners and the centre: X wins in three from O's side of the board.
        let lost = replay(&TicTacToe, &[4, 1, 0, 8, 6]).unwrap();
        let found = search(&TicTacToe, &lost, 9);
        assert_eq!(found.score.proved(), Some((Wdl::Loss, 2)));
        assert_eq!(found.score.value(), -1.0);
    }

    #[test]
    fn the_empty_board_is_a_draw_and_every_first_move_keeps_it() {
        let found = search(&TicTacToe, &TicTacToe.start(), 20);
        assert_eq!((found.score, found.depth), (Score::EVEN, 9));
        assert_eq!(found.best, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(found.nodes < 100_000, "{} positions", found.nodes);
    }

    #[test]
    fn a_known_position_of_another_program() {
        // X 0, 3, 4, O 1, 6, 8, X to move: 5 completes the middle row.
        let position = TicTacToe.read_position("xo./xx./o.o x").unwrap();
        assert_eq!(search(&TicTacToe, &position, 4).best, [5]);
    }

    #[test]
    fn a_lost_position_is_held_as_long_as_possible() {
        // O must stop 2-5-8 and cannot stop 2-4-6 as well; at depth 1 it doesn't see that and any move looks even.
        let lost = replay(&TicTacToe, &[4, 1, 8, 0, 2]).unwrap();
        assert_eq!(search(&TicTacToe, &lost, 1).best.len(), 4);
        let found = search(&TicTacToe, &lost, 9);
        assert_eq!(found.score.proved(), Some((Wdl::Loss, 2)));
    }

    #[test]
    fn stopped_searches_return_the_last_finished_depth() {
        let mut memory = Minimax::default();
        let start = TicTacToe.start();
        let mut polls = 0;
        let mut stop = || {
            polls += 1;
            polls > 3
        };
        let found = memory.search(&TicTacToe, &start, 9, &mut judge, &mut stop).unwrap();
        assert!(found.depth < 9 && found.nodes < 5_000, "{found:?}");
        let same = memory.search(&TicTacToe, &start, found.depth, &mut judge, &mut || false).unwrap();
        assert_eq!((same.best, same.score), (found.best, found.score));
    }

    #[test]
    fn judgements_that_are_no_numbers_count_as_lost() {
        let start = TicTacToe.start();
        let mut leaf = |game: &TicTacToe, at: &tictactoe::Position| {
            if game.stone(at, 4).is_some() { f32::NAN } else { 7.0 }
        };
        let found = Minimax::default().search(&TicTacToe, &start, 1, &mut leaf, &mut || false).unwrap();
        assert_eq!((found.best, found.score), (vec![4], Score(1.0)));
    }

    #[test]
    fn the_player_spreads_over_equal_moves() {
        let mut choices = Vec::new();
        MinimaxPlayer::new(2).distribution(&TicTacToe, &TicTacToe.start(), &mut choices).unwrap();
        assert_eq!(choices.len(), 9);
        assert!(choices.iter().all(|c| c.probability == 1.0 / 9.0));
    }
}
