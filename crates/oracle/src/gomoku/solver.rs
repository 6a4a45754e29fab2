//! What threat search can say about a position of Gomoku.

use rules::grid::{Grid, Position};
use rules::{Action, Game, Seat, game::legal_actions};

use super::board::{Board, Points};
use super::vcf::Found;
use super::vct::Vct;
use crate::strategy::Strategy;

/// How long to search: the number of positions, for each of the questions into which a position falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Does this side win by fours alone? Counts the attacker's moves.
    pub fours: u64,
    /// Does it win by threats of all kinds? Counts positions and, inside the searches by fours, the attacker's moves.
    pub threats: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { fours: 100_000, threats: 200_000 }
    }
}

/// What is proved about the side to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It wins.
    Win(Strategy),
    /// The opponent threatens to win. Each of the `losing` moves loses, as shown; nothing is known of the `remaining`
    /// ones. If there is one it is the only defence; if there is none the position is lost.
    Threatened {
        /// Moves that may hold, in increasing order.
        remaining: Vec<Action>,
        /// All other legal moves, each with the opponent's win after it.
        losing: Vec<(Action, Strategy)>,
    },
    /// Neither side has a forced win that the search found.
    Unknown {
        /// Whether all of it was searched: then there is none by fours or by threats of the kinds that are tried.
        complete: bool,
    },
}

/// The searches with their tables.
pub struct Solver {
    game: Grid,
    vct: Vct,
    limits: Limits,
}

impl Solver {
    /// For five in a row on any board without gravity, under any rule; `None` for other games.
    pub fn new(game: &Grid, limits: Limits) -> Option<Solver> {
        let fits = game.length() == 5 && !game.gravity();
        fits.then(|| Solver { game: *game, vct: Vct::new(16), limits })
    }

    /// Positions searched since the solver was made.
    pub fn nodes(&self) -> u64 {
        self.vct.nodes()
    }

    /// Searches for a win of the side to move, then for what the opponent threatens and which moves may stop it.
    /// The game is not over. The answer does not depend on what was asked before.
    pub fn solve(&mut self, position: &Position) -> Verdict {
        let mover = self.game.to_move(position);
        let opponent = mover.other();
        let mut board = Board::of(&self.game, position);
        self.vct.forget();

        let own = self.win(&mut board, mover);
        if let Some(strategy) = own.strategy {
            return Verdict::Win(strategy);
        }
        let threat = self.win(&mut board, opponent);
        let Some(plan) = threat.strategy else {
            return Verdict::Unknown { complete: own.found == Found::Nothing && threat.found == Found::Nothing };
        };
        let (mut remaining, mut losing) = (Vec::new(), Vec::new());
        for action in legal_actions(&self.game, position) {
            let point = board.point(usize::from(action));
            if threat.spoilers.is_some_and(|spoilers| !spoilers.contains(point)) {
                losing.push((action, plan.clone()));
                continue;
            }
            board.place(point, mover);
            let loss = self.win(&mut board, opponent).strategy;
            board.remove(point);
            match loss {
                Some(strategy) => losing.push((action, strategy)),
                None => remaining.push(action),
            }
        }
        Verdict::Threatened { remaining, losing }
    }

    /// Where the side to move makes a five, and where it makes a four, in increasing order; never where that is forbidden.
    pub fn fives_and_fours(&self, position: &Position) -> [Vec<Action>; 2] {
        let mover = self.game.to_move(position);
        let board = Board::of(&self.game, position);
        [board.fives(mover), board.fours(mover)].map(|points| {
            let allowed = points.iter().filter(|&point| !board.is_forbidden(point, mover));
            allowed.map(|point| board.cell(point) as Action).collect()
        })
    }

    /// Whether `seat` would win if it were to move.
    fn win(&mut self, board: &mut Board, seat: Seat) -> Win {
        let (found, strategy) = self.vct.search_fours(board, seat, self.limits.fours);
        if found == Found::Win {
            let spoilers = Some(self.vct.spoilers(board, seat));
            return Win { found, strategy, spoilers };
        }
        let (found, strategy) = self.vct.search(board, seat, self.limits.threats);
        Win { found, strategy, spoilers: None }
    }
}

/// The answer to the question whether a side would win.
struct Win {
    found: Found,
    strategy: Option<Strategy>,
    /// For a win by fours, the points where a stone of the other side might spoil it.
    spoilers: Option<Points>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gomoku::tests::{after, lively, set_up};
    use rules::grid::Rule;
    use rules::random::Rng;

    fn solve(game: &Grid, position: &Position) -> Verdict {
        let verdict = Solver::new(game, Limits { fours: 10_000, threats: 5_000 }).unwrap().solve(position);
        check(game, position, &verdict);
        verdict
    }

    /// Verifies all that a verdict claims.
    fn check(game: &Grid, position: &Position, verdict: &Verdict) {
        match verdict {
            Verdict::Win(strategy) => assert_eq!(strategy.verify(game, position), Ok(())),
            Verdict::Threatened { remaining, losing } => {
                let mut all: Vec<Action> = losing.iter().map(|(action, _)| *action).chain(remaining.clone()).collect();
                all.sort_unstable();
                assert_eq!(all, legal_actions(game, position));
                for (action, strategy) in losing {
                    let mut after = *position;
                    game.play(&mut after, *action);
                    assert_eq!(strategy.verify(game, &after), Ok(()), "{}", game.write_position(position));
                }
            }
            Verdict::Unknown { .. } => {}
        }
    }

    fn names(game: &Grid, actions: &[Action]) -> Vec<String> {
        actions.iter().map(|&action| game.write_action(action)).collect()
    }

    /// dhbloo/rapfi, issue 18: an engine left the four open because it had something better to think of.
    #[test]
    fn the_only_point_that_stops_a_four_is_found() {
        let game = Grid::gomoku(15, Rule::Freestyle).unwrap();
        let position = after(&game, "h8h7i7g9h6g5g7i6g8f8f6e5f5j10i10i11k9h10j12l10");
        let Verdict::Threatened { remaining, losing } = solve(&game, &position) else { panic!("there is a threat") };
        assert_eq!(names(&game, &remaining), ["e7"]);
        assert_eq!(losing.len(), 225 - 20 - 1);
    }

    fn winning_move(rule: Rule, black: &str, white: &str, to_move: char) -> Option<String> {
        let (game, position) = set_up(rule, black, white, to_move);
        match solve(&game, &position) {
            Verdict::Win(strategy) => Some(game.write_action(strategy.action)),
            _ => None,
        }
    }

    #[test]
    fn shapes_that_win_are_won_where_the_rule_allows_them() {
        use Rule::{Freestyle, Renju, Standard};
        // An open four, a four with a three, two fours on two lines and on one line, two threes: the point, and whether
        // Renju allows it to Black.
        let cases = [
            ("f8 g8 h8", "a1 c2 o13", "e8", true),
            ("e8 f8 g8 h6 h7", "d8 a1 o1 c13 m12", "h8", true),
            ("e8 f8 g8 h5 h6 h7", "d8 h4 a1 o1 c13 m12", "h8", false),
            ("d8 f8 h8 j8", "a1 c1 e1 g1", "g8", false),
            ("f8 g8 h6 h7", "a1 c2 o13 m1", "h8", false),
        ];
        for (black, white, point, allowed) in cases {
            for rule in [Freestyle, Standard] {
                assert_eq!(winning_move(rule, black, white, 'x').as_deref(), Some(point), "{rule:?} {black}");
            }
            assert_eq!(winning_move(Renju, black, white, 'x').as_deref() == Some(point), allowed, "{black}");
            // White is as free in Renju as anybody in the game without restrictions.
            for rule in [Freestyle, Renju] {
                assert_eq!(winning_move(rule, white, black, 'o').as_deref(), Some(point), "{rule:?} {black}");
            }
        }
    }

    #[test]
    fn white_wins_by_leaving_black_a_forbidden_point_only() {
        let (black, white) = ("e8 f8 g8 i8 j8 h3", "h4 h5 h6 a1 o15 c13");
        assert_eq!(winning_move(Rule::Renju, black, white, 'o').as_deref(), Some("h7"));
        // Where six in a row win, the same point wins for Black.
        assert_eq!(winning_move(Rule::Freestyle, black, white, 'o'), None);
        // Where they are nothing, Black may defend there.
        assert_eq!(winning_move(Rule::Standard, black, white, 'o'), None);
    }

    /// rapfi, commit 88c77b9: two threes win nothing against an open four.
    #[test]
    fn nothing_stops_an_open_four() {
        let (game, position) = set_up(Rule::Freestyle, "f8 g8 h6 h7", "c2 c3 c4 c5", 'x');
        let Verdict::Threatened { remaining, losing } = solve(&game, &position) else { panic!("White wins") };
        assert_eq!((remaining.len(), losing.len()), (0, 217));
    }

    /// Closed threes in rows that never meet: each search by fours inside the search by threats is cut off among their orders.
    #[test]
    fn what_was_cut_off_is_not_called_complete() {
        let game = Grid::gomoku(15, Rule::Freestyle).unwrap();
        for (rows, expected) in [(1, true), (3, false)] {
            let line = |row: usize| if row % 4 == 1 && row / 4 < rows { "oxxx...oxxx...o" } else { "..............." };
            let text: Vec<&str> = (0..15).map(line).collect();
            let position = game.read_position(&format!("{} x", text.join("/"))).unwrap();
            let mut solver = Solver::new(&game, Limits { fours: 100, threats: 1_000_000 }).unwrap();
            assert_eq!(solver.solve(&position), Verdict::Unknown { complete: expected }, "{rows}");
            assert!(solver.nodes() < 1_000_000, "it was not for want of nodes");
        }
    }

    #[test]
    fn claims_hold_for_both_colours_all_rules_and_sizes_up_to_the_last_stones() {
        let (mut wins, mut threats, mut single) = (0, 0, 0);
        for rule in [Rule::Freestyle, Rule::Standard, Rule::Renju] {
            for number in 0..60 {
                let mut rng = Rng::new(17, number);
                let size = [5, 6, 9, 15, if number < 6 { 22 } else { 7 }][rng.below(5)];
                let game = Grid::gomoku(size, rule).unwrap();
                let plies = if size < 9 { size * size - 1 - rng.below(9) } else { 10 + rng.below(30) };
                let position = lively(&game, plies, 0.8, &mut rng);
                if game.outcome(&position).is_over() {
                    continue;
                }
                match solve(&game, &position) {
                    Verdict::Win(_) => wins += 1,
                    Verdict::Threatened { remaining, .. } => {
                        threats += 1;
                        single += u32::from(remaining.len() == 1);
                    }
                    Verdict::Unknown { .. } => {}
                }
            }
        }
        assert!(wins > 8 && threats > 15 && single > 1, "{wins} {threats} {single}");
    }
}
