//! Games as text: what other programs write is read, what we write is read back, what cannot be read is refused with
//! its place, and the rest of a collection is still read.

use arena::End;
use arena::formats::{GameTree, list, psq, sgf, text};
use arena::play::Played;
use arena::record::{Reason, Record, Result as Winner};
use proptest::prelude::{Just, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};
use rules::connect4::Connect4;
use rules::game::legal_actions;
use rules::grid::{Grid, Rule};
use rules::tictactoe::TicTacToe;
use rules::{Action, Game, Outcome, Refusal, Rng, Seat};

fn moves<G: Game>(tree: &GameTree<G>) -> String {
    tree.moves().iter().map(|&action| tree.game.write_action(action)).collect::<Vec<_>>().join(" ")
}

/// A game with variations, remarks and comments, as random play makes it.
fn random_tree<G: Game>(game: &G, seed: u64) -> GameTree<G> {
    const WORDS: [&str; 8] = ["good", "a\nb", "]", "}", "\\", "(;FF[4])", "game: x", "ünïcode 天元"];
    let mut rng = Rng::new(seed, 0);
    let mut tree = GameTree::new(game.clone(), game.start());
    tree.names = ["A 1/2".to_owned(), if rng.chance(0.5) { "b:] \\".to_owned() } else { String::new() }];
    let mut node = 0;
    for _ in 0..rng.below(40) {
        if rng.chance(0.15) {
            node = rng.below(tree.nodes().len());
        }
        if rng.chance(0.1) {
            node = tree.remark(node);
        }
        if rng.chance(0.2) {
            *tree.comment_mut(node) = (0..1 + rng.below(3)).map(|_| WORDS[rng.below(8)]).collect();
        }
        if !tree.outcome(node).is_over() {
            // Now and then a point that the referee may forbid.
            let action = game.random_legal(&tree.nodes()[node].position, &mut rng);
            let wild = rng.below(game.actions()) as Action;
            node = tree.play(node, if rng.chance(0.3) { wild } else { action }).unwrap_or(node);
        }
    }
    tree
}

/// The tree, with the result that a reader finds when it ended on the board.
fn concluded<G: Game>(mut tree: GameTree<G>) -> GameTree<G> {
    let last = *tree.main_line().last().unwrap();
    let winner = match tree.outcome(last) {
        Outcome::Ongoing => return tree,
        Outcome::Win(Seat::First) => Winner::First,
        Outcome::Win(Seat::Second) => Winner::Second,
        Outcome::Draw => Winner::Draw,
    };
    tree.result = Some(winner);
    tree.reason = Some(if tree.nodes()[last].refusal.is_some() { Reason::Illegal } else { Reason::Board });
    tree
}

/// The same games in a text, whatever ends its lines.
fn same_with_any_line_end<T: PartialEq + std::fmt::Debug>(written: &str, read: impl Fn(&str) -> T) -> T {
    let games = read(written);
    for end in ["\r\n", "\r"] {
        assert_eq!(read(&written.replace('\n', end)), games);
    }
    games
}

mod own_text {
    use super::*;

    #[test]
    fn a_game_with_everything_is_read() {
        let source = "\
game: gomoku:15:renju
first: Nakamura
second: tengen@400
result: second (time)
start: .............../.............../.............../.............../.............../.............../.............../.......x......./......../o
";
        let game: Grid = "gomoku:15:renju".parse().unwrap();
        let start = game.write_position(&rules::game::replay(&game, &[112]).unwrap());
        let source = source.replace(source.lines().last().unwrap(), &format!("start: {start}"))
            + "\n1. i9 {near\\nby \\} \\\\} (H9 j10 {usual}) (2. i8 - {resting} h9)\n";
        let games = same_with_any_line_end(&source, |source| text::read(&game, source));
        let tree = games[0].as_ref().unwrap();
        assert_eq!(tree.names, ["Nakamura", "tengen@400"]);
        assert_eq!((tree.result, tree.reason), (Some(Winner::Second), Some(Reason::Time)));
        assert_eq!(moves(tree), "i9 h9 j10");
        assert_eq!(tree.nodes()[1].comment, "near\nby } \\");
        assert_eq!(tree.nodes()[1].children.len(), 2);
        assert_eq!(tree.nodes().iter().filter(|node| node.action.is_none()).count(), 2);
        assert_eq!(text::read(&game, &text::write(tree)), games);
    }

    #[test]
    fn the_shape_of_what_is_written() {
        let mut tree = GameTree::new(Connect4, Connect4.start());
        tree.names = ["a".to_owned(), "b\nc".to_owned()];
        let four = tree.play(0, 3).unwrap();
        let three = tree.play(four, 2).unwrap();
        tree.play(four, 3).unwrap();
        *tree.comment_mut(0) = "start".to_owned();
        *tree.comment_mut(three) = "odd".to_owned();
        assert_eq!(text::write(&tree), "game: connect4\nfirst: a\nsecond: b c\n\n{start} 4 (3 {odd}) (4)\n");
    }

    #[test]
    fn names_and_results_are_read_by_field_so_a_half_in_them_is_no_draw() {
        let source = "game: tictactoe\nfirst: 1/2\nsecond: 0-1 {draw}\nresult: first (resigned)\n\n4 0\n";
        let tree = text::read(&TicTacToe, source).remove(0).unwrap();
        assert_eq!(tree.names, ["1/2", "0-1 {draw}"]);
        assert_eq!((tree.result, tree.reason), (Some(Winner::First), Some(Reason::Resigned)));
    }

    #[test]
    fn a_collection_is_read_around_what_is_wrong_in_it() {
        let source = "# preface\n\ngame: tictactoe\n\n0 1 2\ngame: tictactoe\n\n0 1\n2 0\ngame: connect4\n\n4\ngame: tictactoe\n\n8 7 6\n";
        let games = same_with_any_line_end(source, |source| text::read(&TicTacToe, source));
        assert_eq!(text::game_names(source), ["tictactoe", "tictactoe", "connect4", "tictactoe"]);
        assert_eq!(moves(games[0].as_ref().unwrap()), "0 1 2");
        assert_eq!(games[1].as_ref().unwrap_err().to_string(), "line 9, column 3: 0: there is a stone already");
        assert_eq!(
            games[2].as_ref().unwrap_err().to_string(),
            "line 10, column 7: this is a game of 'connect4', not of 'tictactoe'"
        );
        assert_eq!(moves(games[3].as_ref().unwrap()), "8 7 6");
    }

    #[test]
    fn each_fault_is_refused_with_its_place() {
        for (rest, expected) in [
            ("colour: red\n\n4", "line 2, column 1: no such key"),
            ("4 0", "line 2, column 1: an empty line stands"),
            ("result: 1/2\n\n4", "line 2, column 9: '1/2' is no result"),
            ("result: first (tired)\n\n4", "line 2, column 9: 'first (tired)' is no result"),
            ("result: first (board)\n\n4", "line 2, column 9: the game is said to have ended on the board"),
            ("result: second\n\n0 3 1 4 2", "line 2, column 9: the result that is claimed"),
            ("start: x../.../... x\n\n4", "line 2, column 8: 'x../.../... x' has 1 x"),
            ("\n4 {ü} 9", "line 3, column 7: '9' is not a cell"),
            ("\n4 (0 1", "line 3, column 3: the variation is not closed"),
            ("\n4 0)", "line 3, column 4: no variation is open"),
            ("\n4 {0", "line 3, column 3: the comment is not closed"),
            ("\n0 3 1 4 2 5", "line 3, column 11: 5: the game is over"),
        ] {
            let source = format!("game: tictactoe\n{rest}\n");
            let error = text::read(&TicTacToe, &source).remove(0).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{rest}: {error}");
        }
        assert!(
            text::read(&TicTacToe, "4 0").remove(0).unwrap_err().to_string().starts_with("line 1, column 1: no game")
        );
    }

    #[test]
    fn a_game_of_a_hundred_thousand_nodes_is_written_and_read() {
        let mut tree = GameTree::new(TicTacToe, TicTacToe.start());
        let mut node = 0;
        for _ in 0..100_000 {
            node = tree.remark(node);
        }
        assert_eq!(text::read(&TicTacToe, &text::write(&tree)), [Ok(tree)]);
    }
}

mod smart_game_format {
    use super::*;

    fn read(text: &str) -> Vec<Result<GameTree<Grid>, String>> {
        sgf::read(text, Rule::Freestyle).into_iter().map(|game| game.map_err(|e| e.to_string())).collect()
    }

    fn one(text: &str) -> GameTree<Grid> {
        read(text).remove(0).unwrap()
    }

    fn error(text: &str) -> String {
        read(text).remove(0).unwrap_err()
    }

    #[test]
    fn what_other_programs_write_is_read() {
        // With the move in the first node, names spelt out, blanks between, a time stamp, and old line ends.
        let old =
            "(;\r\nGaMe[4]FF[3]SiZe[15]PlayerBlack[Li]PW[Wang]RE[B+]\r\n ;B[hh];W[ig]BL[55.2];\r\n\r\nB[jf] )\r\n";
        let tree = one(old);
        assert_eq!((moves(&tree).as_str(), tree.game.name().as_str()), ("h8 i9 j10", "gomoku"));
        assert_eq!((tree.names[1].as_str(), tree.result), ("Wang", Some(Winner::First)));
        // Letter and number; the rule by another word; the move in the first node.
        let tree = one("(;GM[4]RU[Renju (RIF)]SZ[15]B[h8];W[I9]C[ok])");
        assert_eq!((moves(&tree).as_str(), tree.game.rule()), ("h8 i9", Rule::Renju));
        assert_eq!(tree.nodes()[2].comment, "ok");
        // What does not say its rule has the caller's.
        let standard = sgf::read("(;GM[4]SZ[9];B[ee])", Rule::Standard).remove(0).unwrap();
        assert_eq!(standard.game.name(), "gomoku:9:standard");
    }

    #[test]
    fn variations_comments_and_unknown_properties_survive() {
        let source = "(;FF[4]GM[4]CA[UTF-8]AP[Tengen]SZ[15]RU[renju]PB[a\\]b]PW[c]RE[W+R]C[start]DT[1999-12-31]\n;B[hh]\n(;W[ig]C[two\nlines: \\\\ and \\]]LB[aa:x][bb:y]\n(;B[jf];W[ke])\n(;B[jh]))\n(;W[gg]))\n";
        let tree = one(source);
        assert_eq!(tree.names, ["a]b", "c"]);
        assert_eq!((tree.result, tree.reason), (Some(Winner::Second), Some(Reason::Resigned)));
        assert_eq!(tree.nodes()[2].comment, "two\nlines: \\ and ]");
        assert_eq!(sgf::write(&tree).unwrap(), source);
        // A line end behind a backslash is none, and CR LF is one.
        assert_eq!(one("(;GM[4]C[a\\\r\nb\r\nc\\\\])").nodes()[0].comment, "ab\nc\\");
    }

    #[test]
    fn positions_are_set_up_with_either_side_to_move() {
        let tree = one("(;GM[4]SZ[15]AB[hh][aa:ba]AW[ig]PL[W];W[gg])");
        let start = &tree.nodes()[0].position;
        let (game, to_move) = (&tree.game, tree.game.to_move(start));
        assert_eq!((game.ply(start), to_move), (4, Seat::Second));
        assert_eq!(game.stone(start, 0), Some(Seat::First));
        assert_eq!(sgf::read(&sgf::write(&tree).unwrap(), Rule::Freestyle), [Ok(tree)]);
        // Without PL the number of stones tells, and if that is against it, the first move.
        let side = |text: &str| {
            let tree = one(text);
            tree.game.to_move(&tree.nodes()[0].position)
        };
        assert_eq!(side("(;GM[4]AB[hh])"), Seat::Second);
        assert_eq!(side("(;GM[4]AB[hh]AW[ii])"), Seat::First);
        assert_eq!(side("(;GM[4]AB[hh]AW[ii];W[jj])"), Seat::Second);
        assert_eq!(side("(;GM[4];W[hh];B[ii])"), Seat::Second);
    }

    #[test]
    fn taking_back_moves_leaves_a_set_up_position_as_it_was() {
        let mut tree = one("(;GM[4]AB[hh][gg]AW[ii]PL[B])");
        let start = tree.nodes()[0].position;
        let j7 = tree.game.read_action("j7").unwrap();
        let node = tree.play(0, j7).unwrap();
        let back = tree.nodes()[node].parent.unwrap();
        assert_eq!(tree.nodes()[back].position, start);
        assert_eq!(tree.game.to_move(&tree.nodes()[back].position), Seat::First);
    }

    #[test]
    fn black_loses_by_a_forbidden_move_and_nothing_comes_after() {
        let shape = "(;GM[4]RU[renju]AB[hg][hf][gh][ih]AW[aa][ca][ea][ga]PL[B]RE[W+F]";
        let tree = one(&format!("{shape};B[hh])"));
        assert_eq!(moves(&tree), "h8");
        assert_eq!(tree.outcome(1), Outcome::Win(Seat::Second));
        assert_eq!((tree.result, tree.reason), (Some(Winner::Second), Some(Reason::Illegal)));
        assert_eq!(sgf::read(&sgf::write(&tree).unwrap(), Rule::Freestyle), [Ok(tree)]);
        assert!(error(&format!("{shape};B[hh];W[ii])")).ends_with("i7: the game is over"));
        let credited_to_black = shape.replace("W+F", "B+");
        assert!(error(&format!("{credited_to_black};B[hh])")).contains("does not follow from the moves"));
    }

    #[test]
    fn two_fives_in_a_record_are_refused_at_the_move_after_the_first() {
        let five = ";B[aa];W[ab];B[ba];W[bb];B[ca];W[cb];B[da];W[db];B[ea]";
        assert_eq!(one(&format!("(;GM[4]{five})")).result, Some(Winner::First));
        let error = error(&format!("(;GM[4]\n{five};W[eb])"));
        assert_eq!(error, "line 2, column 58: e14: the game is over");
    }

    #[test]
    fn a_collection_is_read_around_what_is_wrong_in_it() {
        let source = "(;GM[4];B[hh])\n(;GM[4];B[hh];W[hh])\n(;GM[4];B[hh](;W[ii])\n(;FF[4]GM[4];B[aa])\n(;GM[1];B[aa])\n(;GM[4];B[bb](;W[cc])(;W[dd]))";
        let games = same_with_any_line_end(source, read);
        let told: Vec<String> = games.iter().map(|game| game.as_ref().map_or_else(Clone::clone, moves)).collect();
        assert_eq!(
            told,
            [
                "h8",
                "line 2, column 17: h8: there is a stone already",
                "line 3, column 1: the game is not closed with ')' before the next begins",
                "a15",
                "line 5, column 6: this is game number '1' of SGF; Gomoku and Renju are GM[4]",
                "b14 c13"
            ]
        );
    }

    #[test]
    fn each_fault_is_refused_with_its_place() {
        for (text, expected) in [
            ("", "line 1, column 1: no game"),
            ("hello (world)", "line 1, column 1: no game"),
            ("(;GM[4];B[hh]", "line 1, column 1: the game is not closed"),
            ("(;GM[4];B[hh)", "line 1, column 10: the value is not closed"),
            ("(;GM[4];B[pp])", "line 1, column 11: 'pp' is not on a board of 15 columns and 15 rows"),
            ("(;GM[4];B[h16])", "line 1, column 11: 'h16' has row '16'"),
            ("(;GM[4];B[])", "line 1, column 11: there are no passes"),
            ("(;GM[4];B[hh]W[ii])", "line 1, column 14: a node has one move"),
            ("(;GM[4];B[hh];B[ii])", "line 1, column 15: it is White's turn"),
            ("(;GM[4];B[hh];AB[ii])", "line 1, column 15: stones are set up in the middle"),
            ("(;GM[4]AB[hh]AW[hh])", "line 1, column 17: there is a stone on h8 already"),
            ("(;GM[4]SZ[23])", "line 1, column 11: '23' is not a size"),
            ("(;GM[4]SZ[4])", "line 1, column 1: a Gomoku board of size 4"),
            ("(;GM[4]SZ[15:10]RU[renju])", "line 1, column 1: the rules standard and renju"),
            ("(;GM[4]PL[red])", "line 1, column 11: the side to move"),
            ("(;GM[4]x)", "line 1, column 8: 'x' where a property"),
            ("(;GM[4]7)", "line 1, column 8: '7' where a node"),
            ("(;GM[4];B[hh][ii])", "line 1, column 9: B has one value"),
        ] {
            let error = error(text);
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn boards_that_are_not_square_keep_columns_and_rows_apart() {
        let game = Grid::mnk(12, 7, 5, false).unwrap();
        let mut tree = GameTree::new(game, game.start());
        let node = tree.play(0, game.read_action("l1").unwrap()).unwrap();
        tree.play(node, game.read_action("a7").unwrap()).unwrap();
        let written = sgf::write(&tree).unwrap();
        assert!(written.contains("SZ[12:7]") && written.contains(";B[lg];W[aa]"), "{written}");
        assert_eq!(sgf::read(&written, Rule::Freestyle), [Ok(tree)]);
    }

    #[test]
    fn games_that_it_has_no_way_to_say_are_not_written() {
        let game = Grid::mnk(7, 6, 4, true).unwrap();
        assert!(sgf::write(&GameTree::new(game, game.start())).unwrap_err().contains("mnk:7,6,4:gravity"));
    }

    #[test]
    fn nesting_is_limited_by_nothing_but_the_file() {
        let deep = "(;GM[4]".to_owned() + &"(;C[x]".repeat(100_000) + &")".repeat(100_001);
        assert_eq!(one(&deep).nodes().len(), 100_001);
        assert!(error(&"(;".repeat(100_000)).contains("is not closed"));
    }
}

mod piskvork {
    use super::*;

    const FILE: &str =
        "Piskvorky 20x20, 11:11, 0\n10,10,0\n11,10,0\n11,11,234\n9,10,1204\npbrain-A.exe\npbrain-B.exe\n0\n";

    #[test]
    fn a_file_of_the_game_manager_is_read() {
        let tree = same_with_any_line_end(FILE, |text| psq::read(text, Rule::Freestyle)).unwrap();
        assert_eq!((tree.game.name().as_str(), moves(&tree).as_str()), ("gomoku:20", "j11 k11 k10 i11"));
        assert_eq!(tree.names, ["pbrain-A.exe", "pbrain-B.exe"]);
        // If the second player began, it has the first seat.
        let swapped = psq::read(&FILE.replace(", 0\n", ", 1\n"), Rule::Freestyle).unwrap();
        assert_eq!(swapped.names, ["pbrain-B.exe", "pbrain-A.exe"]);
        let renju = psq::read(&FILE.replace("20x20", "15x15"), Rule::Renju).unwrap();
        assert_eq!(renju.game.name(), "gomoku:15:renju");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let tree = psq::read(FILE, Rule::Freestyle).unwrap();
        let written = psq::write(&tree).unwrap();
        assert!(written.starts_with("Piskvorky 20x20, 0:0, 0\n10,10,0\n11,10,0\n"));
        assert_eq!(psq::read(&written, Rule::Freestyle), Ok(tree));
        let wide = Grid::mnk(12, 7, 5, false).unwrap();
        let mut tree = GameTree::new(wide, wide.start());
        tree.play(0, wide.read_action("l1").unwrap()).unwrap();
        assert!(psq::write(&tree).unwrap().contains("12x7, 0:0, 0\n12,7,0\n"));
        assert_eq!(psq::read(&psq::write(&tree).unwrap(), Rule::Freestyle), Ok(tree));
    }

    #[test]
    fn each_fault_is_refused_with_its_place() {
        for (text, expected) in [
            ("", "line 1, column 1: the file begins"),
            ("Piskvorky 20, 11:11, 0\n", "line 1, column 1: the file begins"),
            ("Piskvorky 20x20, 11:11, 7\n", "line 1, column 1: the file begins"),
            ("Piskvorky 30x30, 11:11, 0\n", "line 1, column 1: a board of 30 columns"),
            ("Piskvorky 20x20, 0:0, 0\n21,1,0\n", "line 2, column 1: '21' is not a column"),
            ("Piskvorky 20x20, 0:0, 0\n1,0,0\n", "line 2, column 1: '0' is not a row"),
            ("Piskvorky 20x20, 0:0, 0\n1,1,0\n\n1,1,0\n", "line 4, column 1: a20: there is a stone already"),
            ("Piskvorky 20x20, 0:0, 0\n1,1,0\nA\nB\n0\n1,2,0\n", "line 6, column 1: after the moves"),
        ] {
            let error = psq::read(text, Rule::Freestyle).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let set_up = sgf::read("(;GM[4]AB[hh])", Rule::Freestyle).remove(0).unwrap();
        assert!(psq::write(&set_up).unwrap_err().contains("begins with the empty board"));
    }
}

mod lists {
    use super::*;

    #[test]
    fn all_usual_ways_to_write_a_line_are_read() {
        let gomoku: Grid = "gomoku".parse().unwrap();
        let source = "# a comment\nh8 i9 j10\r\nh8,i9,j10\n\n  h8; I9;\tj10 \nh8i9j10\n";
        let games = list::read(&gomoku, source);
        assert_eq!(games.len(), 4);
        assert!(games.iter().all(|game| moves(game.as_ref().unwrap()) == "h8 i9 j10"));
        assert_eq!(list::write(games[0].as_ref().unwrap()).unwrap(), "h8 i9 j10\n");

        for source in ["4 4 3", "443", "4,4,3", "44,3"] {
            assert_eq!(moves(list::read(&Connect4, source)[0].as_ref().unwrap()), "4 4 3", "{source}");
        }
        assert_eq!(moves(list::read(&TicTacToe, "0,1,2")[0].as_ref().unwrap()), "0 1 2");
    }

    #[test]
    fn a_long_game_without_separators_is_read() {
        let gomoku: Grid = "gomoku".parse().unwrap();
        let source = "h8h7i7g9h6g5g7i6g8f8f6e5f5j10i10i11k9h10j12l10";
        let tree = list::read(&gomoku, source).remove(0).unwrap();
        assert_eq!(moves(&tree).replace(' ', ""), source);
        assert_eq!(tree.result, None);
    }

    #[test]
    fn a_bad_line_is_refused_with_its_place_and_the_next_is_read() {
        let games = list::read(&Connect4, "44\n443x\n1111111\n12 8 3\n7");
        let told: Vec<String> =
            games.iter().map(|game| game.as_ref().map_or_else(ToString::to_string, moves)).collect();
        assert_eq!(told[0], "4 4");
        assert_eq!(told[1], "line 2, column 1: '443' is not a column from 1 to 7");
        assert_eq!(told[2], "line 3, column 7: 1: the column is full");
        assert_eq!(told[3], "line 4, column 4: '8' is not a column from 1 to 7");
        assert_eq!(told[4], "7");
    }
}

#[test]
fn the_record_of_an_arena_becomes_a_game_of_each_format() {
    let game: Grid = "gomoku:9".parse().unwrap();
    let actions: Vec<Action> = vec![40, 0, 41, 1, 42, 2];
    let played = Played {
        moves: actions.clone(),
        opening: 0,
        outcome: Outcome::Win(Seat::Second),
        end: End::Illegal(40, Refusal::Occupied),
    };
    let record = Record::new(&game, 3, "a", "b", &played);
    let tree = GameTree::from_record(&game, &record).unwrap();
    assert_eq!(tree.moves(), actions);
    assert_eq!(tree.nodes()[6].comment, "e5: there is a stone already");
    assert_eq!(text::read(&game, &text::write(&tree)), [Ok(tree.clone())]);
    assert!(sgf::write(&tree).unwrap().contains("RE[W+F]"));
    assert_eq!(list::write(&tree).unwrap(), "e5 a9 f5 b9 g5 c9\n");
}

/// Text that looks like one of the formats, with faults.
fn nearly(valid: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let fault = prop_oneof![
        Just(""),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just("\\"),
        Just(";"),
        Just("\n"),
        Just("ü"),
        Just("game:")
    ];
    (valid, proptest::collection::vec((0..10_000usize, 0..5usize, fault), 0..4)).prop_map(|(mut text, faults)| {
        for (at, length, fault) in faults {
            let boundary =
                |i: usize, text: &str| (i..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len());
            let from = boundary(at % (text.len() + 1), &text);
            let to = boundary((from + length).min(text.len()), &text);
            text.replace_range(from..to, fault);
        }
        text
    })
}

fn gomoku() -> impl Strategy<Value = Grid> {
    let rules = prop_oneof![Just(Rule::Freestyle), Just(Rule::Standard), Just(Rule::Renju)];
    (5..12usize, rules).prop_map(|(size, rule)| Grid::gomoku(size, rule).unwrap())
}

proptest! {
    #[test]
    fn trees_survive_our_text(game in gomoku(), seed in 0..u64::MAX) {
        let tree = random_tree(&game, seed);
        prop_assert_eq!(text::read(&game, &text::write(&tree)), [Ok(concluded(tree))]);
        let tree = random_tree(&Connect4, seed);
        prop_assert_eq!(text::read(&Connect4, &text::write(&tree)), [Ok(concluded(tree))]);
    }

    #[test]
    fn trees_survive_sgf(game in gomoku(), seed in 0..u64::MAX) {
        let tree = random_tree(&game, seed);
        let games = [tree.clone(), random_tree(&game, !seed)];
        let written: String = games.iter().map(|tree| sgf::write(tree).unwrap()).collect();
        let expected: Vec<_> = games.into_iter().map(|tree| Ok(concluded(tree))).collect();
        prop_assert_eq!(sgf::read(&written, Rule::Standard), expected);
    }

    #[test]
    fn main_lines_survive_lists_and_psq(game in gomoku(), seed in 0..u64::MAX) {
        let tree = random_tree(&game, seed);
        let line = tree.moves();
        let list = list::read(&game, &list::write(&tree).unwrap());
        prop_assert_eq!(list.first().map(|game| game.as_ref().unwrap().moves()).unwrap_or_default(), line.clone());
        prop_assert_eq!(psq::read(&psq::write(&tree).unwrap(), game.rule()).unwrap().moves(), line);
    }

    #[test]
    fn no_text_makes_a_reader_panic(any in ".*", seed in 0..u64::MAX) {
        let game: Grid = "gomoku:9:renju".parse().unwrap();
        for text in [any.clone(), format!("game: gomoku:9:renju\n{any}"), format!("(;GM[4]{any}"), format!("Piskvorky 9x9, 0:0, 0\n{any}")] {
            let _ = text::read(&game, &text);
            let _ = text::game_names(&text);
            let _ = sgf::read(&text, Rule::Renju);
            let _ = psq::read(&text, Rule::Renju);
            let _ = list::read(&game, &text);
            let _ = list::read(&Connect4, &text);
        }
        prop_assert!(legal_actions(&game, &random_tree(&game, seed).nodes()[0].position).len() == 81);
    }

    #[test]
    fn faults_in_a_good_file_are_refused_or_harmless(
        sgf_text in nearly((0..1000u64).prop_map(|seed| sgf::write(&random_tree(&"gomoku:7:renju".parse::<Grid>().unwrap(), seed)).unwrap())),
        own_text in nearly((0..1000u64).prop_map(|seed| text::write(&random_tree(&Connect4, seed)))),
        psq_text in nearly((0..1000u64).prop_map(|seed| psq::write(&random_tree(&"gomoku:7".parse::<Grid>().unwrap(), seed)).unwrap())),
    ) {
        for tree in sgf::read(&sgf_text, Rule::Renju).into_iter().flatten() {
            prop_assert_eq!(sgf::read(&sgf::write(&tree).unwrap(), Rule::Renju), [Ok(tree)]);
        }
        for tree in text::read(&Connect4, &own_text).into_iter().flatten() {
            prop_assert_eq!(text::read(&Connect4, &text::write(&tree)), [Ok(tree)]);
        }
        if let Ok(tree) = psq::read(&psq_text, Rule::Freestyle) {
            prop_assert_eq!(psq::read(&psq::write(&tree).unwrap(), Rule::Freestyle).map(|tree| tree.moves()), Ok(tree.moves()));
        }
    }
}
