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
