//! Which kind of question a position is, and which moves are right; the definitions are those of [`super`].

use rules::grid::{Grid, Position, Rule};
use rules::{Action, Game, Seat};

use super::short::{Short, moves};
use super::{Kind, Question, Region};
use crate::gomoku::board::{Board, Counts, Point, Points};

/// Finds questions in positions.
pub struct Judge {
    game: Grid,
    short: Short,
    /// For Renju, the same board without its rule, and a search there: what is known of a position under one rule is
    /// not true under the other.
    free: Option<(Grid, Short)>,
}

/// What a question is named after, with the moves that make it.
struct Shape {
    kind: Kind,
    keys: Vec<Point>,
}

/// What is right in a position.
enum Right {
    /// These moves win.
    Wins(Vec<Point>),
    /// No move wins, and these do not lose.
    Holds(Vec<Point>),
}

impl Judge {
    /// For five in a row without gravity under any rule; `None` for other games.
    pub fn new(game: &Grid) -> Option<Judge> {
        if game.length() != 5 || game.gravity() {
            return None;
        }
        let free = (game.rule() == Rule::Renju).then(|| {
            let free = Grid::gomoku(game.columns(), Rule::Freestyle).expect("the size is one of Gomoku");
            (free, Short::new())
        });
        Some(Judge { game: *game, short: Short::new(), free })
    }

    /// The question that a position is, if it is one that is `wanted`. The game is not over. The answer does not depend
    /// on what was asked before.
    pub fn question(
        &mut self,
        position: &Position,
        wanted: &dyn Fn(Kind, Region) -> bool,
    ) -> Option<Question<Position>> {
        self.short.forget();
        self.misread(position, wanted).or_else(|| self.plain(position, wanted))
    }

    /// As [`Judge::question`], without the kinds in which a shape is none.
    fn plain(&mut self, position: &Position, wanted: &dyn Fn(Kind, Region) -> bool) -> Option<Question<Position>> {
        let mover = self.game.to_move(position);
        let opponent = mover.other();
        let mut board = Board::of(&self.game, position);
        let (shape, defends) = match (five(&board, mover), five(&board, opponent)) {
            (Some(five), _) => (five, false),
            (None, Some(five)) => (five, true),
            (None, None) => match greatest_shape(&mut board, mover) {
                Some(shape) => (shape, false),
                None => (greatest_shape(&mut board, opponent)?, true),
            },
        };
        let kind = if defends { shape.kind.defence()? } else { shape.kind };
        let region = region(&self.game, &board, &shape.keys);
        if !wanted(kind, region) || !self.decides(&mut board, if defends { opponent } else { mover }, &shape)? {
            return None;
        }
        let right = right(&mut self.short, &mut board, mover)?;
        let ((Right::Wins(right), false) | (Right::Holds(right), true)) = (right, defends) else { return None };
        question(kind, region, position, &board, &right)
    }

    /// Whether `seat`, if it is to move, wins by one of the moves that make the shape, and if that is two threes by
    /// nothing quicker.
    fn decides(&mut self, board: &mut Board, seat: Seat, shape: &Shape) -> Option<bool> {
        if shape.kind == Kind::DoubleThree && self.short.by_fours(board, seat)? {
            return Some(false);
        }
        Some(!self.short.winning(board, seat, &shape.keys)?.is_empty())
    }

    /// The question of a position in which Renju's rule changes what is right.
    fn misread(&mut self, position: &Position, wanted: &dyn Fn(Kind, Region) -> bool) -> Option<Question<Position>> {
        let (free_game, free_short) = self.free.as_mut()?;
        let (black, white) = (Seat::First, Seat::Second);
        let mover = self.game.to_move(position);
        let mut board = Board::of(&self.game, position);
        if five(&board, black).or_else(|| five(&board, white)).is_some() || two_fives(&board, black).is_some() {
            return None;
        }
        let mut free = Board::of(free_game, position);
        let (kind, shape) = match (mover, five(&free, black)) {
            (Seat::Second, Some(four)) => (Kind::FalseFour, four),
            (Seat::Second, None) => (Kind::FalseThree, two_fives(&free, black)?),
            (Seat::First, None) => (Kind::OwnFalseThree, two_fives(&free, black)?),
            (Seat::First, Some(_)) => return None,
        };
        let region = region(&self.game, &board, &shape.keys);
        if !wanted(kind, region) || !self.short.wins(&mut board, white)? {
            return None;
        }
        let right = right(&mut self.short, &mut board, mover)?;
        let ((Right::Wins(right), Seat::Second) | (Right::Holds(right), Seat::First)) = (right, mover) else {
            return None;
        };
        free_short.forget();
        let (Right::Wins(mut naive) | Right::Holds(mut naive)) = self::right(free_short, &mut free, mover)?;
        // What the rule forbids cannot be played by mistake.
        naive.retain(|&point| !board.is_forbidden(point, mover));
        if naive.is_empty() || naive.iter().any(|point| right.contains(point)) {
            return None;
        }
        question(kind, region, position, &board, &right)
    }
}

/// The question, unless chance answers it.
fn question(
    kind: Kind,
    region: Region,
    position: &Position,
    board: &Board,
    right: &[Point],
) -> Option<Question<Position>> {
    let mut right: Vec<Action> = right.iter().map(|&point| board.cell(point) as Action).collect();
    right.sort_unstable();
    let hard = !right.is_empty() && 2 * right.len() <= board.empty().count();
    hard.then_some(Question { kind, region, position: *position, right })
}

/// The region of a question with these key moves.
fn region(game: &Grid, board: &Board, keys: &[Point]) -> Region {
    keys.iter().map(|&key| Region::of(game, board.cell(key))).max().expect("a shape has key moves")
}

/// The points on which `seat` makes a five.
fn five(board: &Board, seat: Seat) -> Option<Shape> {
    let keys: Vec<Point> = board.fives(seat).iter().collect();
    (!keys.is_empty()).then_some(Shape { kind: Kind::WinInOne, keys })
}

/// The moves of `seat` that threaten two fives at once, by an open four if it can make one.
fn two_fives(board: &Board, seat: Seat) -> Option<Shape> {
    let fours = board.fours(seat);
    made(board, seat, fours, Kind::OpenFour, |counts| counts.open_fours() > 0)
        .or_else(|| made(board, seat, fours, Kind::DoubleFour, |counts| counts.fours() > 1))
}

/// The greatest shape that `seat` can make, if neither side can make a five.
fn greatest_shape(board: &mut Board, seat: Seat) -> Option<Shape> {
    let double = two_fives(board, seat);
    if double.is_some() {
        return double;
    }
    let mut fours: Vec<Point> = board.fours(seat).iter().filter(|&point| !board.is_forbidden(point, seat)).collect();
    fours.retain(|&point| block_is_forbidden(board, point, seat));
    if !fours.is_empty() {
        return Some(Shape { kind: Kind::ForbiddenBlock, keys: fours });
    }
    made(board, seat, board.fours(seat), Kind::FourThree, |counts| counts.threes() > 0).or_else(|| {
        let two_threes = |counts: Counts| counts.fours() == 0 && counts.threes() > 1;
        made(board, seat, board.threes(seat), Kind::DoubleThree, two_threes)
    })
}

/// Those of the points whose lines fit, where `seat` may play.
fn made(board: &Board, seat: Seat, points: &Points, kind: Kind, fits: impl Fn(Counts) -> bool) -> Option<Shape> {
    let makes = |&point: &Point| fits(board.counts(point, seat)) && !board.is_forbidden(point, seat);
    let keys: Vec<Point> = points.iter().filter(makes).collect();
    (!keys.is_empty()).then_some(Shape { kind, keys })
}

/// Whether the only point that stops the four which `seat` makes on `point` is forbidden to the other side.
fn block_is_forbidden(board: &mut Board, point: Point, seat: Seat) -> bool {
    board.place(point, seat);
    let block = board.fives(seat).first().expect("a four can become a five");
    let forbidden = board.is_forbidden(block, seat.other());
    board.remove(point);
    forbidden
}

/// What is right for `mover`.
fn right(short: &mut Short, board: &mut Board, mover: Seat) -> Option<Right> {
    let opponent = mover.other();
    let fives: Vec<Point> = board.fives(mover).iter().collect();
    if !fives.is_empty() {
        return Some(Right::Wins(fives));
    }
    let own = moves(board, mover);
    let wins = short.winning(board, mover, &own)?;
    if !wins.is_empty() {
        return Some(Right::Wins(wins));
    }
    // What the opponent would do if it were to move answers most moves.
    let threats = short.winning(board, opponent, &moves(board, opponent))?;
    let mut holds = Vec::new();
    for point in own {
        board.place(point, mover);
        let loses = loses(short, board, opponent, &threats);
        board.remove(point);
        if !loses? {
            holds.push(point);
        }
    }
    Some(Right::Holds(holds))
}

/// Whether `opponent`, who is to move, has a short win; the `threats` are looked at first.
fn loses(short: &mut Short, board: &mut Board, opponent: Seat, threats: &[Point]) -> Option<bool> {
    for &threat in threats {
        if board.is_empty_at(threat)
            && !board.is_forbidden(threat, opponent)
            && short.wins_by(board, opponent, threat)?
        {
            return Some(true);
        }
    }
    short.wins(board, opponent)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::gomoku::tactics::playout;
    use crate::gomoku::tests::{set_up, wins_plainly};
    use rules::game::legal_actions;
    use rules::random::Rng;

    /// Kind, region and right moves of a position of 15x15, by the points of its stones.
    fn asked(rule: Rule, black: &str, white: &str, to_move: char) -> Option<(Kind, Region, String)> {
        let (game, position) = set_up(rule, black, white, to_move);
        let question = Judge::new(&game).unwrap().question(&position, &|_, _| true)?;
        let right: Vec<String> = question.right.iter().map(|&action| game.write_action(action)).collect();
        Some((question.kind, question.region, right.join(" ")))
    }

    #[test]
    fn positions_made_by_hand_are_what_they_were_made_for() {
        use Region::{Corner, Edge, Middle};
        // Stones of the side with the shape, stones of the other, then kind, region and right moves for the side to
        // make it and for the side to stop it. Rows are listed from the top, so are moves.
        let cases = [
            // A four that one point completes; in the corner, where the board blocks its other end; with a gap.
            ("e8 f8 g8 h8", "d8 c2 m3 l12", (Kind::WinInOne, Middle, "i8"), (Kind::BlockFour, "i8")),
            ("a1 b1 c1 d1", "h8 i4 m3 l12", (Kind::WinInOne, Edge, "e1"), (Kind::BlockFour, "e1")),
            ("a1 a2 a4 a5", "h8 i4 m3 l12", (Kind::WinInOne, Corner, "a3"), (Kind::BlockFour, "a3")),
            ("l12 m13 n14 o15", "h8 i4 m3 c12", (Kind::WinInOne, Middle, "k11"), (Kind::BlockFour, "k11")),
            // An open three, with room on both sides, at the edge where a block from afar is enough too, with a gap.
            ("f8 g8 h8", "c2 m3 l12", (Kind::OpenFour, Middle, "e8 i8"), (Kind::BlockOpenThree, "e8 i8")),
            ("b1 c1 d1", "h8 m3 l12", (Kind::OpenFour, Edge, "e1"), (Kind::BlockOpenThree, "a1 e1 f1")),
            ("c1 d1 e1", "h8 m3 l12", (Kind::OpenFour, Corner, "b1 f1"), (Kind::BlockOpenThree, "b1 f1")),
            ("n14 m13 l12", "h8 m3 c12", (Kind::OpenFour, Middle, "k11"), (Kind::BlockOpenThree, "o15 k11 j10")),
            ("e8 f8 h8", "c2 m3 l12", (Kind::OpenFour, Middle, "g8"), (Kind::BlockOpenThree, "d8 g8 i8")),
            // Two lines that meet in h8 or i8, with everything else between them blocked.
            (
                "e8 f8 g8 i5 i6 i7",
                "d8 i4 h7 g7 c13 m2",
                (Kind::DoubleFour, Middle, "i8"),
                (Kind::StopDoubleFour, "i9 h8 i8"),
            ),
            (
                "e8 f8 g8 h6 h7",
                "d8 g7 i6 c13 m2",
                (Kind::FourThree, Middle, "h8"),
                (Kind::StopFourThree, "h9 h8 i8 h5"),
            ),
            (
                "f8 g8 h6 h7",
                "g7 i6 c2 m13",
                (Kind::DoubleThree, Middle, "h8"),
                (Kind::StopDoubleThree, "h9 e8 h8 i8 h5"),
            ),
        ];
        for rule in [Rule::Freestyle, Rule::Standard] {
            for (own, other, (kind, region, right), (defence, stops)) in cases {
                // Either colour may have the shape.
                for (black, white, attacks, defends) in [(own, other, 'x', 'o'), (other, own, 'o', 'x')] {
                    let made = asked(rule, black, white, attacks);
                    assert_eq!(made, Some((kind, region, right.to_owned())), "{rule:?} {own}");
                    let stopped = asked(rule, black, white, defends);
                    assert_eq!(stopped, Some((defence, region, stops.to_owned())), "{rule:?} {own}");
                }
            }
        }
    }

    #[test]
    fn forbidden_points_make_questions_of_their_own() {
        // White's four g7 i9 j10 k11 could only be blocked on h8, where Black would make two threes.
        let block = asked(Rule::Renju, "f8 g8 h6 h7 l12", "i9 j10 k11 c2 o1", 'o');
        assert_eq!(block, Some((Kind::ForbiddenBlock, Region::Middle, "g7".to_owned())));
        // On h8 Black would make six, so White need not block there: h7 leaves Black nothing but that point.
        let (black, white) = ("e8 f8 g8 i8 j8 h3", "h4 h5 h6 a1 o15 c13");
        assert_eq!(asked(Rule::Renju, black, white, 'o'), Some((Kind::FalseFour, Region::Middle, "h7".to_owned())));
        // In the free game that is a four like any other.
        assert_eq!(asked(Rule::Freestyle, black, white, 'o'), Some((Kind::BlockFour, Region::Middle, "h8".to_owned())));
    }

    #[test]
    fn threes_that_are_none_in_renju_need_no_answer_and_win_nothing() {
        // On h8 Black would make a four that only six would complete, on either side. So White has time for two threes.
        let threes = asked(Rule::Renju, "d8 f8 g8 i8 k8 i4 k5", "c8 h3 i3 j4 j5 n13", 'o');
        assert_eq!(threes, Some((Kind::FalseThree, Region::Middle, "j3".to_owned())));
        // Were c8 empty, Black could first make fours there, so that is no short win.
        assert_eq!(asked(Rule::Renju, "d8 f8 g8 i8 k8 i4 k5", "b14 h3 i3 j4 j5 n13", 'o'), None);
        // And if it is his move, he must stop a three, where in the free game he wins.
        let (black, white) = ("d8 f8 g8 i8 k8", "c8 f3 g3 h3 n12");
        let own = asked(Rule::Renju, black, white, 'x');
        assert_eq!(own, Some((Kind::OwnFalseThree, Region::Middle, "e3 i3".to_owned())));
        let free = asked(Rule::Freestyle, black, white, 'x');
        assert_eq!(free, Some((Kind::OpenFour, Region::Middle, "h8".to_owned())));
    }

    #[test]
    fn what_is_lost_or_won_by_almost_everything_is_no_question() {
        // An open four cannot be stopped; two open threes are won by nearly any move.
        assert_eq!(asked(Rule::Freestyle, "f8 g8 h8 i8", "c2 m3 l12 c13", 'o'), None);
        assert_eq!(asked(Rule::Freestyle, "f8 g8 h8 c3 d4 e5", "m3 l12 c13 o1 a15", 'x'), None);
        assert_eq!(asked(Rule::Freestyle, "h8", "i9", 'x'), None);
    }

    /// Whether the side to move wins by this move at once, or by fours after every reply, by the rules alone.
    fn wins_shortly_plainly(game: &Grid, position: &Position, action: Action) -> bool {
        let mut after = *position;
        game.play(&mut after, action);
        if game.outcome(&after).is_over() {
            return matches!(game.outcome(&after), rules::Outcome::Win(_));
        }
        legal_actions(game, &after).into_iter().all(|reply| {
            let mut next = after;
            game.play(&mut next, reply);
            !game.outcome(&next).is_over() && wins_plainly(game, &next)
        })
    }

    /// Checks a question by the rules alone.
    pub(in crate::gomoku) fn check_plainly(game: &Grid, question: &Question<Position>) {
        let Question { kind, position, right, .. } = question;
        let legal = legal_actions(game, position);
        let wins = |position: &Position| -> Vec<Action> {
            let mut moves = Vec::new();
            game.winning(position, &mut moves);
            if moves.is_empty() {
                moves = legal_actions(game, position);
                moves.retain(|&action| wins_shortly_plainly(game, position, action));
            }
            moves
        };
        let mut expected = wins(position);
        if expected.is_empty() {
            // The moves with which the opponent wins after one move answer most others.
            let mut known = Vec::new();
            let mut holds = |&action: &Action| {
                let mut after = *position;
                game.play(&mut after, action);
                let refutes =
                    |&reply: &Action| game.referee(&after, reply).is_ok() && wins_shortly_plainly(game, &after, reply);
                let refuted = known.iter().any(refutes) || {
                    known = wins(&after);
                    !known.is_empty()
                };
                !refuted
            };
            expected = legal.into_iter().filter(&mut holds).collect();
        }
        assert_eq!(*right, expected, "{} {kind:?} {}", game.name(), game.write_position(position));
    }

    #[test]
    fn right_moves_are_those_that_the_rules_alone_find() {
        for rule in [Rule::Freestyle, Rule::Standard, Rule::Renju] {
            let mut counts = [0; Kind::ALL.len()];
            for stream in 0..40 {
                let game = Grid::gomoku([6, 7][stream as usize % 2], rule).unwrap();
                let mut judge = Judge::new(&game).unwrap();
                let region = Region::ALL[stream as usize / 2 % 3];
                playout(&game, region, &mut Rng::new(5, stream), &mut |position| {
                    let question = judge.question(position, &|kind, _| {
                        counts[kind as usize] < 1 + usize::from(kind.defence().is_some())
                    });
                    if let Some(question) = question {
                        counts[question.kind as usize] += 1;
                        check_plainly(&game, &question);
                    }
                    true
                });
            }
            let kinds = counts.iter().filter(|&&count| count > 0).count();
            assert!(kinds >= 5, "{rule:?} {counts:?}");
        }
    }
}
