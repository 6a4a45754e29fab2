//! Exact answers about positions.

use super::{Bench, one_line};

/// The position of row F16 of the public reports: a user of another program read the sign the wrong way.
const SIGN: &str = "55466554422442623";

#[test]
fn a_position_is_answered_with_score_columns_and_best_play() {
    let bench = Bench::new();
    let page = bench.ok(&format!("solve connect4 {SIGN}"));
    assert!(page.contains("\nO draws: score 0 for the side to move\n"), "{page}");
    assert!(page.contains("worth        -4     0    -4    -4     0    -7   -12\n"), "{page}");
    let line = page.trim_end().rsplit(' ').next().unwrap();
    assert_eq!(line.len() + SIGN.len(), 42, "a draw fills the board: {page}");
    let weak = bench.ok("solve connect4 4455 --weak");
    assert!(weak.contains("\nX wins\n") && weak.contains("win") && !weak.contains("best play"), "{weak}");
    let over = bench.ok("solve connect4 1212121");
    assert!(over.contains("O has lost: score -18") && !over.contains("column "), "{over}");
}

#[test]
fn the_score_of_a_column_is_that_of_the_position_after_it_seen_from_the_other_side() {
    let bench = Bench::new();
    let after: String = (1..=7).map(|column| format!("{SIGN}{column}\n")).collect();
    let said = bench.run_with("solve connect4 --json --memory 96", format!("{SIGN}\n{after}"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let answers: Vec<serde_json::Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (here, after) = answers.split_first().unwrap();
    assert_eq!((&here["to_move"], after.len()), (&"O".into(), 7));
    for (column, answer) in here["columns"].as_array().unwrap().iter().zip(after) {
        assert_eq!(column.as_i64().unwrap(), -answer["score"].as_i64().unwrap(), "{answer}");
        assert_eq!(answer["to_move"], "X");
    }
    let best = here["columns"].as_array().unwrap().iter().map(|score| score.as_i64().unwrap()).max();
    assert_eq!(best, here["score"].as_i64());
}

#[test]
fn every_line_is_answered_in_its_place_even_a_bad_one() {
    let bench = Bench::new();
    let lines = [
        "4455",
        "44444444",
        "12121212",
        "448",
        "4 4",
        "1111111",
        &"1".repeat(43),
        "121212\r",
        "12\u{1b}[31m",
        "123456712345671234567123456712345671234567",
    ];
    let said = bench.run_with("solve connect4", format!("{}\n4455\n\u{fffd}", lines.join("\n")));
    let answers: Vec<&str> = said.out.lines().collect();
    assert_eq!(answers[0], "4455\t18\tX wins in 2 moves\t-4 -3 18 2 2 18 -3\t342");
    assert_eq!(answers[1], "44444444\trefused: move 7, column 4: the column is full");
    assert_eq!(answers[2], "12121212\trefused: move 8, column 2: the game is over");
    assert_eq!(answers[3], "448\trefused: character 3 is '8', not a column from 1 to 7");
    assert_eq!(answers[4], "4 4\trefused: character 2 is ' ', not a column from 1 to 7");
    assert_eq!(answers[5], "1111111\trefused: move 7, column 1: the column is full");
    assert_eq!(answers[6], format!("{}\trefused: 43 moves, but the board has 42 cells", "1".repeat(43)));
    assert!(answers[7].starts_with("121212\t18\tX wins in 1 move\t18 "), "{}", answers[7]);
    assert_eq!(answers[8], "12[31m\trefused: character 3 is '\\u{1b}', not a column from 1 to 7");
    assert!(answers[9].ends_with("\trefused: move 23, column 2: the game is over"), "{}", answers[9]);
    assert_eq!(answers[10], answers[0]);
    assert!(answers[11].contains("refused: character 1 is '\u{fffd}'"), "{}", answers[11]);
    assert_eq!((answers.len(), said.code), (12, Some(2)));
    assert_eq!(one_line(&said.err), "9 of 12 lines are not positions");
}

#[test]
fn nothing_to_answer_is_no_error() {
    let bench = Bench::new();
    let said = bench.run("solve connect4 --weak");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
}

#[test]
fn impossible_questions_are_refused() {
    let bench = Bench::new();
    let refused = |arguments: &str| bench.refused(arguments);
    assert!(refused("solve chess").contains("there is no game 'chess'"));
    assert!(refused("solve tictactoe").contains("tic-tac-toe cannot be solved; what can: connect4"));
    assert!(refused("solve connect4 448").contains("'448': character 3 is '8'"));
    assert!(refused("solve connect4 44 --memory 1").contains("--memory 1: it may be 80 MiB or more"));
    assert!(refused("solve connect4 44 --memory 99999999999999999").contains("--memory 99999999999999999"));
    assert!(refused("solve connect4 44 --threads 0").contains("at least 1"));
    assert!(refused("solve connect4 44 --bench").contains("--bench"));
    bench.write("foreign", "not a book");
    assert!(refused("solve connect4 --make-book foreign").contains("foreign: not a Connect Four book of this version"));
    assert!(refused("solve connect4 --make-book no/such/folder/book").contains("cannot be written"));
    bench.write("set", "44 x\n");
    assert!(refused("solve connect4 --bench no-such-set --json").contains("no-such-set"));
    assert!(refused("solve connect4 --bench set --json").contains("44 x: no score"));
}

#[test]
fn the_bench_counts_times_and_compares() {
    let bench = Bench::new();
    let out = bench.ok("solve connect4 --bench L3_R1");
    let fields: Vec<&str> = out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((fields[0], fields[1], fields[5]), ("L3_R1", "1000", "1000"), "{out}");
    assert!(fields[2..5].iter().all(|number| number.parse::<f64>().unwrap() > 0.0), "{out}");
    bench.write("set", "4455 17\n4455 18\n4455\n");
    let said = bench.run("solve connect4 --bench set");
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("set: 4455 has score 18, not as published"), "{said:?}");
    assert!(said.err.contains("1 scores are not those that were published"), "{said:?}");
    assert_eq!(bench.ok("solve connect4 --json --bench L3_R1").lines().count(), 1_000);
}

/// Row B7 of the public reports: an engine left a four open, as it had something better to think of.
const FOUR: &str = "h8h7i7g9h6g5g7i6g8f8f6e5f5j10i10i11k9h10j12l10";

/// The rows of an empty board of 15x15, but for one.
fn board_with(row: usize, stones: &str) -> String {
    let rows: Vec<&str> = (0..15).map(|at| if at == row { stones } else { "..............." }).collect();
    rows.join("/")
}

#[test]
fn gomoku_is_answered_with_a_win_a_defence_or_unknown() {
    let bench = Bench::new();
    let page = bench.ok(&format!("solve gomoku {FOUR}"));
    assert!(page.contains("\nX has one defence, e7: O threatens to win at once with e7\n"), "{page}");
    assert!(page.contains(" 7  ·  ·  ·  ·  !  ·  X ") && page.contains("proved against every reply"), "{page}");
    // Rows A8 and B1: three, a gap and two, joined by the stone between them, are six in a row.
    let six = "h1 a1 f8 a3 g8 a5 h8 a7 j8 a9 k8 a11";
    let lines = [
        format!("{six} i8"),
        six.to_owned(),
        "h8 i9".to_owned(),
        // Rows B10 and B11: any side may be to move in a position that was set up, and five stones are five whoever else
        // has how many.
        format!("{} o", board_with(7, "....oooo.......")),
        format!("{} o", board_with(14, "xxxxx..........")),
        format!("{} x", board_with(7, "....oooo.......")),
        format!("{} x", board_with(7, ".....ooo.......")),
        "h8 h8".to_owned(),
        "h8 p9".to_owned(),
        "x/o".to_owned(),
        "# h8".to_owned(),
    ];
    let said = bench.run_with("solve gomoku", lines.join("\n"));
    let answers: Vec<&str> = said.out.lines().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(answers[0], "over\tthe game is over: X wins\t");
    assert_eq!(answers[1], "win\tX wins at once\ti8");
    assert_eq!(answers[2], "unknown\tunknown: neither side has a win by fours and open threes alone\t");
    assert_eq!(answers[3], "win\tO wins at once\td8");
    assert_eq!(answers[4], "over\tthe game is over: X wins\t");
    assert_eq!(answers[5], "loss\tX loses: O wins against every move\td8 i8");
    let threat = "threatened\tO threatens to win by fours in at most 2 moves with ";
    assert!(answers[6].starts_with(threat) && answers[6].ends_with("may stop it\te8 i8"), "{}", answers[6]);
    assert_eq!(answers[7], "refused: column 4: h8: there is a stone already");
    assert!(answers[8].starts_with("refused: column 4: 'p9' "), "{}", answers[8]);
    assert!(answers[9].starts_with("refused: 'x/o' is not a position"), "{}", answers[9]);
    assert!(answers[10].starts_with("refused: write moves"), "{}", answers[10]);
    assert_eq!((answers.len(), said.code), (11, Some(2)));
    // Where only five count, six are nothing, and the game goes on.
    let standard = bench.run_with("solve gomoku:15:standard", format!("{six} i8\n"));
    assert!(standard.out.contains("\twin\tO wins by fours") && standard.code == Some(0), "{standard:?}");
}

#[test]
fn a_proof_has_an_answer_to_every_reply_and_depends_on_the_rule() {
    let bench = Bench::new();
    // A four with a three: two stones in a row and two in a column meet.
    let cross = "e8 d8 f8 a1 g8 o1 h6 c13 h7 m12";
    let ask = |rule: &str| -> serde_json::Value {
        let said = bench.run_with(&format!("solve gomoku:15:{rule} --json --nodes 50000"), format!("{cross}\n"));
        serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"))
    };
    for rule in ["freestyle", "standard", "renju"] {
        let answer = ask(rule);
        assert_eq!((answer["result"].as_str(), answer["line"][0].as_str()), (Some("win"), Some("h8")), "{answer}");
        let proof = &answer["proof"];
        assert_eq!((proof["move"].as_str(), proof["otherwise"]["move"].as_str()), (Some("h8"), Some("i8")), "{proof}");
        assert_eq!(proof["replies"].as_object().unwrap().keys().collect::<Vec<_>>(), ["i8"]);
    }
    // Row B6: two threes at once win nothing against four stones with both ends open.
    assert!(bench.ok("solve gomoku f8c2g8c3h6c4h7c5").contains("X loses: O wins against every move"));
    assert!(bench.ok("solve gomoku:15:renju f8a1g8c2h6o13h7m1 --nodes 20000").contains("unknown"));
}

#[test]
fn small_boards_are_solved_exactly() {
    let bench = Bench::new();
    let said = bench.run_with("solve mnk:4,4,4", "\nb2 b3 c2\nbad\n");
    let answers: Vec<&str> = said.out.lines().collect();
    assert!(answers[0].starts_with("\tdraw\tX draws\ta4 b4 c4 d4 "), "{}", answers[0]);
    assert!(answers[1].starts_with("b2 b3 c2\tdraw\tO draws\t"), "{}", answers[1]);
    assert!(answers[2].starts_with("bad\trefused: column 1: "), "{}", answers[2]);
    assert_eq!((answers.len(), said.code), (3, Some(2)));
    let set_up = bench.run_with("solve mnk:4,4,4", "xxx./ooo./..../.... o\nxxx./ooo./..../.... x\n");
    assert!(set_up.out.contains(" o\twin\tO wins\td3\n") && set_up.out.contains(" x\twin\tX wins\td4\n"), "{set_up:?}");
    let page = bench.ok("solve mnk:4,4,4 b2b3c2 --ascii");
    assert!(page.contains("\nO draws\n") && page.contains("positions searched"), "{page}");
    let weak: serde_json::Value =
        serde_json::from_str(&bench.run_with("solve mnk:6,5,4 --weak --json", "\n").out).unwrap();
    assert_eq!((weak["result"].as_str(), weak["moves"].as_object().unwrap().len()), (Some("win"), 0));
    assert!(bench.ok("solve mnk:7,7,5 d4 --nodes 500").contains("unknown: 500 positions did not suffice"));
    assert!(bench.ok("solve mnk:4,4,4:gravity 1122").contains("X draws"));
    for (refused, why) in [
        ("mnk:9,8,5 a1", "boards of at most 64 cells"),
        ("mnk:3,3", "write mnk:columns,rows,length"),
        ("mnk:4,4,4 a1 --threads 2", "--threads has no meaning for mnk:4,4,4"),
        ("gomoku h8 --weak", "--weak has no meaning for gomoku"),
        ("gomoku:23 h8", "5 to 22"),
        ("gomoku h8 --nodes 0", "--nodes"),
        ("connect4 44 --nodes 5", "--nodes has no meaning for connect4"),
    ] {
        assert!(bench.refused(&format!("solve {refused}")).contains(why), "{refused}");
    }
}

#[test]
fn a_solver_of_small_boards_judges_players_and_proofs() {
    let bench = Bench::new();
    let report: serde_json::Value =
        serde_json::from_str(&bench.ok("audit perfect --game mnk:4,4,3:gravity --proof --json")).unwrap();
    let proofs = report["proofs"].as_array().unwrap();
    // The first player wins; the second can be sure of nothing, and the solver errs nowhere.
    assert_eq!([&proofs[0]["theory"], &proofs[1]["theory"]], [1, -1]);
    for proof in proofs {
        assert!(proof["mistakes"].as_object().unwrap().values().all(|count| count == 0), "{proof}");
    }
    assert_eq!(proofs[0]["lines"]["wins"].as_u64(), Some(139_336));
}
