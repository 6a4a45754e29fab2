//! The forbidden points of Renju, on boards with complete verdicts and under every symmetry.

use rules::grid::{Grid, Rule};
use rules::renju::Foul;
use rules::{Game, Refusal};

fn renju() -> Grid {
    Grid::gomoku(15, Rule::Renju).unwrap()
}

/// A board where these points have black and white stones and Black is to move.
fn position(game: &Grid, black: &str, white: &str) -> <Grid as Game>::Position {
    let mut rows = vec![vec!['.'; game.columns()]; game.rows()];
    for (points, letter) in [(black, 'x'), (white, 'o')] {
        for point in points.split_whitespace() {
            let cell = usize::from(game.read_action(point).unwrap());
            rows[cell / game.columns()][cell % game.columns()] = letter;
        }
    }
    let rows: Vec<String> = rows.into_iter().map(String::from_iter).collect();
    game.read_position(&format!("{} x", rows.join("/"))).unwrap()
}

/// The forbidden points as `point=reason`, in the order of their cells.
fn forbidden(game: &Grid, position: &<Grid as Game>::Position) -> Vec<String> {
    let reason = |action| match game.referee(position, action) {
        Err(Refusal::Forbidden(Foul::DoubleThree)) => Some("double-three"),
        Err(Refusal::Forbidden(Foul::DoubleFour)) => Some("double-four"),
        Err(Refusal::Forbidden(Foul::Overline)) => Some("overline"),
        _ => None,
    };
    let actions = 0..game.actions() as u16;
    actions.filter_map(|a| reason(a).map(|reason| format!("{}={reason}", game.write_action(a)))).collect()
}

#[test]
fn every_point_of_every_board_has_its_verdict() {
    let game = renju();
    let mut boards = 0;
    for line in include_str!("renju_boards.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [source, board, verdicts] = fields[..] else { panic!("three fields: {line}") };
        let position = game.read_position(board).unwrap();
        boards += 1;

        let mut expected: Vec<&str> = Vec::new();
        for verdict in verdicts.split_whitespace().map(|verdict| verdict.trim_start_matches('+')) {
            let (point, verdict_of_point) = verdict.split_once('=').unwrap();
            match verdict_of_point {
                "allowed" => {}
                "five" => {
                    let mut after = position;
                    game.try_play(&mut after, game.read_action(point).unwrap()).unwrap();
                    assert_eq!(game.outcome(&after), rules::Outcome::Win(rules::Seat::First), "{source}");
                }
                _ => expected.push(verdict),
            }
        }
        let mut found = forbidden(&game, &position);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{source}: {board}");

        for &symmetry in game.symmetries() {
            let image = game.transform(symmetry, &position);
            for action in 0..game.actions() as u16 {
                let moved = game.transform_action(symmetry, action);
                assert_eq!(game.referee(&image, moved), game.referee(&position, action), "{source}: {symmetry:?}");
            }
        }
    }
    assert_eq!(boards, 36);
}

#[test]
fn one_board_with_each_of_the_three_kinds() {
    let game = renju();
    let black = "o15 c14 m14 n14 b13 d13 l13 n13 c12 l12 m12 k11 b8 c7 d6 b5 c5 d5 b1 c1 e1 f1 g1 k1 l1 m1 n1";
    let position = position(&game, black, "l14 n12");
    assert_eq!(forbidden(&game, &position), ["c13=double-three", "e5=double-four", "d1=overline"]);
}

#[test]
fn a_three_whose_only_straight_four_is_also_a_five_is_no_three() {
    let game = renju();
    let h8 = game.read_action("h8").unwrap();
    let refusal = Refusal::Forbidden(Foul::DoubleThree);
    assert_eq!(refusal.to_string(), "Black may not make a double three");
    // f8 h8 i8 becomes a straight four on g8 only; h8 h9 h10 is a three without doubt.
    let two_threes = position(&game, "f8 i8 h9 h10", "");
    assert_eq!(game.referee(&two_threes, h8), Err(refusal));
    // Now g8 also completes g4 to g8, and a three must become a straight four "without at the same time a five".
    let five_on_g8 = position(&game, "f8 i8 h9 h10 g4 g5 g6 g7", "");
    assert_eq!(game.referee(&five_on_g8, h8), Ok(()));
    // The position that programs dispute: without the five g8 would be a double four, and some hold that the five,
    // which lifts that ban, makes the three good.
    let disputed = position(&game, "f8 i8 g4 g5 g6 g7 h9 h10 e6 f7", "");
    assert_eq!(game.referee(&disputed, h8), Ok(()));
}
