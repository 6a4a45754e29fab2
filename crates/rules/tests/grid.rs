//! Games of k in a row: laws, counts, ends of games, names and texts.

use proptest::prelude::{Just, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};
use rules::connect4::Connect4;
use rules::game::{legal_actions, replay};
use rules::grid::{Grid, Position, Rule};
use rules::perft::perft;
use rules::tictactoe::TicTacToe;
use rules::{Action, Game, Outcome, Refusal, Rng, Seat, laws};

fn game(name: &str) -> Grid {
    name.parse().unwrap()
}

fn actions(game: &Grid, moves: &str) -> Vec<Action> {
    moves.split_whitespace().map(|text| game.read_action(text).unwrap()).collect()
}

fn play(game: &Grid, moves: &str) -> Position {
    replay(game, &actions(game, moves)).unwrap()
}

/// A board with these stones and this side to move.
fn set_up(game: &Grid, black: &str, white: &str, to_move: char) -> Position {
    let mut rows = vec![vec!['.'; game.columns()]; game.rows()];
    for (points, letter) in [(black, 'x'), (white, 'o')] {
        for action in actions(game, points) {
            rows[usize::from(action) / game.columns()][usize::from(action) % game.columns()] = letter;
        }
    }
    let rows: Vec<String> = rows.into_iter().map(String::from_iter).collect();
    game.read_position(&format!("{} {to_move}", rows.join("/"))).unwrap()
}

#[test]
fn every_kind_of_board_obeys_the_laws() {
    let names = ["mnk:3,3,3", "mnk:5,4,3", "mnk:1,1,1", "mnk:1,6,2", "mnk:8,5,4", "mnk:6,6,6", "mnk:4,4,4"];
    let fallen = ["mnk:5,4,3:gravity", "mnk:7,6,4:gravity", "mnk:1,5,3:gravity"];
    let small = ["gomoku:5", "gomoku:6:standard", "gomoku:7:renju", "gomoku:5:renju"];
    for name in names.into_iter().chain(fallen).chain(small) {
        laws::check(&game(name), 20);
    }
    for name in ["gomoku", "gomoku:15:standard", "gomoku:15:renju", "mnk:22,3,5"] {
        laws::check(&game(name), 2);
    }
    laws::check(&game("mnk:22,22,22:gravity"), 1);
}

#[test]
fn a_square_board_has_relatives_of_every_side_on_which_a_row_fits() {
    assert_eq!(game("gomoku:15:renju").resized(9), Some(game("gomoku:9:renju")));
    assert_eq!(game("gomoku").resized(5), Some(game("gomoku:5")));
    assert_eq!([4, 23].map(|side| game("gomoku").resized(side)), [None; 2]);
    assert_eq!(game("mnk:7,6,4:gravity").resized(6), None);
}

#[test]
fn a_position_is_at_most_200_bytes() {
    assert!(size_of::<Position>() <= 200);
}

#[test]
fn three_in_a_row_on_nine_cells_is_tic_tac_toe() {
    for depth in 0..=9 {
        assert_eq!(perft(&game("mnk:3,3,3"), depth), perft(&TicTacToe, depth));
    }
}

#[test]
fn four_in_a_row_with_gravity_on_7x6_is_connect_four() {
    let general = game("mnk:7,6,4:gravity");
    for depth in 0..=6 {
        assert_eq!(perft(&general, depth), perft(&Connect4, depth));
    }
    for number in 0..300 {
        let mut rng = Rng::new(3, number);
        let (mut a, mut b) = (general.start(), Connect4.start());
        while !Connect4.outcome(&b).is_over() {
            assert_eq!(legal_actions(&general, &a), legal_actions(&Connect4, &b));
            let action = Connect4.random_legal(&b, &mut rng);
            assert_eq!(general.landing(&a, action), Connect4.landing(&b, action));
            general.play(&mut a, action);
            Connect4.play(&mut b, action);
        }
        assert_eq!(general.outcome(&a), Connect4.outcome(&b));
        assert_eq!(general.winning_lines(&a), Connect4.winning_lines(&b));
        assert_eq!(general.write_position(&a), Connect4.write_position(&b));
    }
}

/// Counts by hand: on 2x2 with two in a row the first player wins with the second own stone, wherever.
#[test]
fn two_in_a_row_on_2x2_always_ends_at_the_third_stone() {
    let counts = perft(&game("mnk:2,2,2"), 3);
    assert_eq!((counts.lines, counts.ended), (24, 24));
}

/// The longest row of `seat` that counts, found by looking at the stones alone.
fn has_row(game: &Grid, position: &Position, seat: Seat) -> bool {
    let (columns, rows) = (game.columns() as isize, game.rows() as isize);
    let own = |c: isize, r: isize| {
        (0..columns).contains(&c)
            && (0..rows).contains(&r)
            && game.stone(position, (r * columns + c) as usize) == Some(seat)
    };
    let exact = game.rule() == Rule::Standard || game.rule() == Rule::Renju && seat == Seat::First;
    (0..columns * rows).any(|cell| {
        let (c, r) = (cell % columns, cell / columns);
        [(1, 0), (0, 1), (1, 1), (1, -1)].into_iter().any(|(dc, dr)| {
            let length = (0..).take_while(|i| own(c + i * dc, r + i * dr)).count();
            !own(c - dc, r - dr) && if exact { length == game.length() } else { length >= game.length() }
        })
    })
}

#[test]
fn a_row_is_found_exactly_when_there_is_one() {
    // Games that go on for long: both sides avoid to win when they can, so that rows of all lengths arise.
    let names = [
        "gomoku:9",
        "gomoku:9:standard",
        "gomoku:9:renju",
        "gomoku:22",
        "mnk:22,7,6",
        "mnk:6,9,4:gravity",
        "mnk:9,6,3",
    ];
    let mut wins = 0;
    for name in names {
        let game = game(name);
        for number in 0..60 {
            let mut rng = Rng::new(11, number);
            let mut position = game.start();
            while !game.outcome(&position).is_over() {
                let mover = game.to_move(&position);
                for attempt in 0..4 {
                    let mut next = position;
                    game.play(&mut next, game.random_legal(&position, &mut rng));
                    assert_eq!(game.outcome(&next) == Outcome::Win(mover), has_row(&game, &next, mover), "{name}");
                    if attempt == 3 || game.outcome(&next) != Outcome::Win(mover) {
                        position = next;
                        break;
                    }
                }
            }
            wins += u32::from(game.outcome(&position) != Outcome::Draw);
        }
    }
    assert!(wins > 100, "{wins}");
}

#[test]
fn the_stone_that_joins_three_and_two_makes_six_which_wins_only_where_long_rows_count() {
    let black = "f8 g8 h8 j8 k8";
    let white = "a1 c1 e1 g1 i1";
    let i8 = |game: &Grid| game.read_action("i8").unwrap();
    let outcome = |name: &str| {
        let game = game(name);
        let mut position = set_up(&game, black, white, 'x');
        game.try_play(&mut position, i8(&game)).map(|()| (game.outcome(&position), game.winning_lines(&position)))
    };
    let cells: Vec<usize> = (7 * 15 + 5..7 * 15 + 11).collect();
    assert_eq!(outcome("gomoku"), Ok((Outcome::Win(Seat::First), vec![cells])));
    assert_eq!(outcome("gomoku:15:standard"), Ok((Outcome::Ongoing, vec![])));
    assert_eq!(outcome("gomoku:15:renju"), Err(Refusal::Forbidden(rules::renju::Foul::Overline)));
    // White's six wins in Renju.
    let renju = game("gomoku:15:renju");
    let mut position = set_up(&renju, white, black, 'o');
    renju.try_play(&mut position, i8(&renju)).unwrap();
    assert_eq!(renju.outcome(&position), Outcome::Win(Seat::Second));
}

#[test]
fn a_five_in_the_corner_ends_the_game_at_once_and_later_moves_are_refused() {
    let game = game("gomoku");
    let moves = "o1 a15 n1 b15 m1 c15 l1 d15 k1";
    let position = play(&game, moves);
    assert_eq!(game.outcome(&position), Outcome::Win(Seat::First));
    assert_eq!(game.winning_lines(&position), [(220..225).collect::<Vec<_>>()]);
    assert!(legal_actions(&game, &position).is_empty());
    // White would make a five as well: a record that goes on is refused at the first move after the end.
    let longer = actions(&game, &format!("{moves} e15 h8"));
    assert_eq!(replay(&game, &longer), Err((9, Refusal::GameOver)));
}

#[test]
fn a_board_of_200_stones_is_loaded_and_filled_to_a_draw() {
    // Pairs of rows shifted against each other: no five anywhere.
    let game = game("gomoku");
    let letter = |cell: usize| if (cell % 15 + 2 * (cell / 15)) % 4 < 2 { 'x' } else { 'o' };
    let row =
        |r: usize| -> String { (0..15).map(|c| if r * 15 + c < 200 { letter(r * 15 + c) } else { '.' }).collect() };
    let rows: Vec<String> = (0..15).map(row).collect();
    let mut position = game.read_position(&format!("{} x", rows.join("/"))).unwrap();
    assert_eq!(game.ply(&position), 200);
    // The rest is filled with the two colours in turn, in an order that makes no five either.
    let mut left: Vec<usize> = (200..225).collect();
    while !left.is_empty() {
        assert_eq!(game.outcome(&position), Outcome::Ongoing);
        let mover = game.to_move(&position);
        let wanted = if mover == Seat::First { 'x' } else { 'o' };
        let next = left.iter().position(|&cell| letter(cell) == wanted).unwrap_or(0);
        game.try_play(&mut position, left.remove(next) as Action).unwrap();
    }
    assert_eq!(game.ply(&position), 225);
    assert_eq!(game.outcome(&position), Outcome::Draw);
    assert!(game.winning_lines(&position).is_empty());
}

#[test]
fn either_side_may_be_to_move_in_a_position_set_up_by_hand() {
    let game = game("gomoku");
    let text = game.write_position(&game.start()).replace(" x", " o");
    let mut position = game.read_position(&text).unwrap();
    assert_eq!((game.to_move(&position), game.ply(&position)), (Seat::Second, 0));
    game.play(&mut position, 112);
    assert_eq!(game.stone(&position, 112), Some(Seat::Second));
    assert_eq!(game.to_move(&position), Seat::First);
    assert_eq!(game.read_position(&game.write_position(&position)), Ok(position));
}

#[test]
fn five_stones_set_up_without_any_of_the_rival_are_a_win_whoever_is_to_move() {
    let game = game("gomoku");
    for to_move in ['x', 'o'] {
        let position = set_up(&game, "a1 b1 c1 d1 e1", "", to_move);
        assert_eq!(game.outcome(&position), Outcome::Win(Seat::First));
        assert!(legal_actions(&game, &position).is_empty());
    }
}

#[test]
fn a_position_where_both_sides_have_a_row_is_refused() {
    let game = game("gomoku:5");
    let error = game.read_position("xxxxx/ooooo/...../...../..... x").unwrap_err().to_string();
    assert!(error.ends_with("both sides have a winning row"), "{error}");
}

#[test]
fn a_stone_in_the_air_is_refused_where_stones_fall_and_only_there() {
    let error = game("mnk:4,3,3:gravity").read_position(".x../..../..x. o").unwrap_err().to_string();
    assert!(error.ends_with("a stone in column 2 has nothing below it"), "{error}");
    assert!(game("mnk:4,3,3").read_position(".x../..../..x. o").is_ok());
}

#[test]
fn refusals_come_in_order() {
    let game = game("gomoku:9:renju");
    let begun = play(&game, "e5 d4");
    assert_eq!(game.referee(&begun, 81), Err(Refusal::OutOfRange));
    assert_eq!(game.referee(&begun, 40), Err(Refusal::Occupied));
    let fallen = "mnk:3,2,2:gravity".parse::<Grid>().unwrap();
    assert_eq!(fallen.referee(&play(&fallen, "1 1"), 0), Err(Refusal::ColumnFull));
    assert_eq!(fallen.referee(&play(&fallen, "1 1"), 3), Err(Refusal::OutOfRange));
}

#[test]
fn white_moves_freely_in_renju_and_black_only_where_nothing_is_forbidden() {
    let game = game("gomoku:15:renju");
    let stones = "h9 h10 g8 i8";
    let h8 = game.read_action("h8").unwrap();
    assert!(!legal_actions(&game, &set_up(&game, stones, "", 'x')).contains(&h8));
    assert!(legal_actions(&game, &set_up(&game, stones, "", 'o')).contains(&h8));
    assert!(legal_actions(&game, &set_up(&game, "", stones, 'o')).contains(&h8));
}

#[test]
fn a_record_that_plays_a_forbidden_point_is_refused_there() {
    let game = game("gomoku:15:renju");
    let moves = actions(&game, "h9 a1 h10 c1 g8 e1 i8 g1 h8");
    let refusal = Refusal::Forbidden(rules::renju::Foul::DoubleThree);
    assert_eq!(replay(&game, &moves), Err((8, refusal)));
}

#[test]
fn the_game_is_drawn_when_black_is_to_move_and_every_empty_point_is_forbidden() {
    // Both empty points, b6 and a4, would make six for Black.
    let game = game("gomoku:7:renju");
    let board = "oxoxoxx/x.xxxxo/xooxoxo/.xxooxo/xxoxxox/xxoxoxo/xooxxxo";
    let stuck = game.read_position(&format!("{board} x")).unwrap();
    assert_eq!(game.outcome(&stuck), Outcome::Draw);
    assert!(legal_actions(&game, &stuck).is_empty());
    assert_eq!(game.referee(&stuck, 8), Err(Refusal::GameOver));
    // White may play on either; then Black is stuck on the other.
    let mut position = game.read_position(&format!("{board} o")).unwrap();
    assert_eq!(legal_actions(&game, &position), [8, 21]);
    game.try_play(&mut position, 8).unwrap();
    assert_eq!((game.ply(&position), game.outcome(&position)), (48, Outcome::Draw));
    assert_eq!(game.read_position(&game.write_position(&position)), Ok(position));
}

#[test]
fn names_are_read_in_either_case_and_written_in_one_way() {
    for (written, name) in [
        ("gomoku", "gomoku"),
        ("GOMOKU:15", "gomoku"),
        ("gomoku:15:freestyle", "gomoku"),
        ("mnk:15,15,5", "gomoku"),
        ("gomoku:9", "gomoku:9"),
        (" gomoku:22:Renju\n", "gomoku:22:renju"),
        ("gomoku:5:standard", "gomoku:5:standard"),
        ("mnk:5,5,4", "mnk:5,5,4"),
        ("mnk:7,6,4:gravity", "mnk:7,6,4:gravity"),
        ("mnk:5,5,5:gravity", "mnk:5,5,5:gravity"),
        ("mnk:22,1,22", "mnk:22,1,22"),
    ] {
        let game = game(written);
        assert_eq!(game.name(), name);
        assert_eq!(name.parse(), Ok(game));
    }
}

#[test]
fn what_is_no_game_is_refused_with_the_reason() {
    let error = |text: &str| text.parse::<Grid>().unwrap_err().to_string();
    assert!(error("gomoku:4").contains("it may be 5 to 22"));
    assert!(error("gomoku:23").contains("it may be 5 to 22"));
    assert!(error("mnk:23,3,3").contains("each may be 1 to 22"));
    assert!(error("mnk:0,3,3").contains("each may be 1 to 22"));
    assert!(error("mnk:4,3,5").contains("5 in a row do not fit"));
    assert!(error("mnk:4,3,0").contains("0 in a row do not fit"));
    for text in ["gomoku:", "gomoku:renju", "gomoku:15:", "gomoku:15:pro", "gomoku:256", "gomoku:-9"] {
        assert!(error(text).contains("write gomoku, gomoku:size"), "{text}: {}", error(text));
    }
    for text in ["mnk:", "mnk:3,3", "mnk:3,3,3,3", "mnk:3,3,3:", "mnk:3,,3", "mnk:a,b,c"] {
        assert!(error(text).contains("mnk:columns,rows,length"), "{text}: {}", error(text));
    }
}

#[test]
fn on_a_board_that_is_not_square_columns_and_rows_are_never_exchanged() {
    let game = game("mnk:7,4,3");
    for column in 0..7 {
        for row in 0..4 {
            let point = format!("{}{}", char::from(b'a' + column as u8), row + 1);
            let action = game.read_action(&point).unwrap();
            assert_eq!(usize::from(action), (3 - row) * 7 + column);
            assert_eq!(game.write_action(action), point);
            let position = play(&game, &point);
            assert_eq!(game.landing(&game.start(), action), usize::from(action));
            assert_eq!(game.stone(&position, usize::from(action)), Some(Seat::First));
            let text = game.write_position(&position);
            assert_eq!(text.split(['/', ' ']).nth(3 - row).unwrap().find('x'), Some(column));
        }
    }
}

/// Any game of the family.
fn games() -> impl Strategy<Value = Grid> {
    let mnk = (1..=22usize, 1..=22usize, 1..=22usize, proptest::bool::ANY)
        .prop_filter_map("fits", |(m, n, k, gravity)| Grid::mnk(m, n, k, gravity).ok());
    let rules = prop_oneof![Just(Rule::Freestyle), Just(Rule::Standard), Just(Rule::Renju)];
    prop_oneof![mnk, (5..=22usize, rules).prop_map(|(size, rule)| Grid::gomoku(size, rule).unwrap())]
}

proptest! {
    #[test]
    fn any_name_is_read_or_refused(text in ".*", near in "(mnk|gomoku)?:?[0-9,:a-z]{0,14}") {
        for text in [text, near] {
            if let Ok(game) = text.parse::<Grid>() {
                prop_assert_eq!(game.name().parse(), Ok(game));
            }
        }
    }

    #[test]
    fn any_text_is_a_position_or_refused(game in games(), text in ".*", board in "[xo./ ]{0,600}") {
        for text in [text, board] {
            if let Ok(position) = game.read_position(&text) {
                prop_assert_eq!(game.read_position(&game.write_position(&position)), Ok(position));
            }
            if let Ok(action) = game.read_action(&text) {
                prop_assert!(usize::from(action) < game.actions());
            }
        }
    }

    #[test]
    fn any_stones_are_read_back(game in games(), seed in 0..u64::MAX, fill in 0..100usize) {
        let mut rng = Rng::new(seed, 0);
        let rows: Vec<String> = (0..game.rows())
            .map(|_| (0..game.columns()).map(|_| if rng.below(100) >= fill { '.' } else { ['x', 'o'][rng.below(2)] }).collect())
            .collect();
        let text = format!("{} {}", rows.join("/"), ['x', 'o'][rng.below(2)]);
        if let Ok(position) = game.read_position(&text) {
            prop_assert_eq!(game.write_position(&position), text);
            prop_assert_eq!(game.ply(&position), game.write_position(&position).matches(['x', 'o']).count() - 1);
            for &symmetry in game.symmetries() {
                let image = game.transform(symmetry, &position);
                prop_assert_eq!(game.read_position(&game.write_position(&image)), Ok(image));
            }
        }
    }
}

/// A board with as many stones as fit in random order without ending the game, three of four of them `x`.
fn crowded(game: &Grid, rng: &mut Rng) -> Position {
    let (columns, rows) = (game.columns(), game.rows());
    let mut board = vec![vec!['.'; columns]; rows];
    let text = |board: &[Vec<char>]| {
        let lines: Vec<String> = board.iter().map(|row| row.iter().collect()).collect();
        lines.join("/") + " x"
    };
    let mut position = game.start();
    for _ in 0..columns * rows * 3 / 4 {
        let (column, mut row) = (rng.below(columns), rng.below(rows));
        if game.gravity() {
            let Some(free) = (0..rows).rev().find(|&row| board[row][column] == '.') else { continue };
            row = free;
        }
        if board[row][column] != '.' {
            continue;
        }
        board[row][column] = if rng.chance(0.75) { 'x' } else { 'o' };
        match game.read_position(&text(&board)) {
            Ok(next) if !game.outcome(&next).is_over() => position = next,
            _ => board[row][column] = '.',
        }
    }
    position
}

#[test]
fn winning_moves_are_found_on_crowded_boards_too() {
    // The laws ask the same of random games; here rows of every length and direction are nearly complete.
    for name in ["gomoku", "gomoku:7:standard", "gomoku:15:renju", "gomoku:22", "mnk:9,3,3", "mnk:7,6,4:gravity"] {
        let game: Grid = name.parse().unwrap();
        let mut seen = 0;
        for number in 0..40 {
            let position = crowded(&game, &mut Rng::new(17, number));
            let mut winning = Vec::new();
            game.winning(&position, &mut winning);
            let wins = |&action: &u16| {
                let mut after = position;
                game.play(&mut after, action);
                game.outcome(&after) == Outcome::Win(Seat::First)
            };
            let expected: Vec<u16> = legal_actions(&game, &position).into_iter().filter(wins).collect();
            assert_eq!(winning, expected, "{name}: {}", game.write_position(&position));
            seen += winning.len();
        }
        assert!(seen >= 20, "{name}: {seen}");
    }
}
