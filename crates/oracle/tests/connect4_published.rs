//! The six published sets of Pons' "Solving Connect 4": 1,000 positions each, with exact scores.
//! `tengen solve connect4 --bench` solves them all; here, all of the easy sets and some of the hard ones.

use std::sync::atomic::AtomicBool;

use oracle::connect4::{Score, Solver, read_moves};

/// Solves every `step`-th position of a set from the one numbered `first`, and compares.
fn check(set: &str, first: usize, step: usize) {
    let mut solver = Solver::new(0, 1);
    let go_on = AtomicBool::new(false);
    for line in set.lines().skip(first).step_by(step) {
        let (moves, score) = line.split_once(' ').expect("moves and score");
        let expected = Score(score.parse().expect("a number"));
        let position = read_moves(moves).expect("a position");
        assert_eq!(solver.score(&position, &go_on), Ok(expected), "{moves}");
    }
}

macro_rules! sets {
    ($($test:ident, $file:literal, $first:literal, $step:literal;)*) => {
        $(#[test]
        fn $test() {
            check(include_str!(concat!("../data/connect4/", $file)), $first, $step);
        })*
    };
}

sets! {
    late_easy, "Test_L3_R1", 0, 1;
    middle_easy, "Test_L2_R1", 0, 1;
    middle_medium, "Test_L2_R2", 0, 2;
    early_easy, "Test_L1_R1", 0, 1;
    early_medium, "Test_L1_R2", 0, 100;
    early_hard, "Test_L1_R3", 5, 1000;
}

/// Row F16 of the public reports: a user of another program read the sign the wrong way.
#[test]
fn the_sign_is_that_of_the_side_to_move() {
    let position = read_moves("55466554422442623").unwrap();
    let mut solver = Solver::new(0, 1);
    let go_on = AtomicBool::new(false);
    let score = solver.score(&position, &go_on).unwrap();
    let scores = solver.scores(&position, &go_on).unwrap();
    assert_eq!(scores.into_iter().flatten().max(), Some(score));
    for (column, of_column) in (1..).zip(scores) {
        if let Some(of_column) = of_column {
            let after = read_moves(&format!("55466554422442623{column}")).unwrap();
            assert_eq!(solver.score(&after, &go_on), Ok(Score(-of_column.0)));
        }
    }
}
