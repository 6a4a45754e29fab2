//! Recorded games that pin everything observable: whoever changes what a game says must change a record by hand and
//! say why.

use std::fmt::Write;

use rules::connect4::Connect4;
use rules::game::legal_actions;
use rules::grid::Grid;
use rules::planes::{View, write_planes};
use rules::tictactoe::TicTacToe;
use rules::{Action, Game, Outcome, Rng};

/// All that can be asked of a game along one line of play. `wanted` moves are tried first: one that is refused is
/// recorded and not played. Then the game is played to its end at random.
fn play_through<G: Game>(game: &G, wanted: &str) -> String {
    let mut record = String::new();
    writeln!(record, "name {}", game.name()).unwrap();
    writeln!(record, "board {} columns, {} rows, {} cells", game.columns(), game.rows(), game.cells()).unwrap();
    let actions: Vec<String> = (0..game.actions() as Action).map(|action| game.write_action(action)).collect();
    writeln!(record, "actions {}", actions.join(" ")).unwrap();
    for &symmetry in game.symmetries() {
        let image: Vec<String> =
            (0..game.actions() as Action).map(|a| game.transform_action(symmetry, a).to_string()).collect();
        writeln!(record, "symmetry {}", image.join(" ")).unwrap();
    }

    let mut rng = Rng::new(42, 0);
    let mut wanted = wanted.split_whitespace();
    let mut position = game.start();
    loop {
        describe(game, &position, &mut record);
        let action = match wanted.next() {
            Some(text) => game.read_action(text).unwrap(),
            None if game.outcome(&position).is_over() => break,
            None => game.random_legal(&position, &mut rng),
        };
        let text = game.write_action(action);
        match game.referee(&position, action) {
            Err(refusal) => writeln!(record, "\nrefused {text}: {refusal}").unwrap(),
            Ok(()) => {
                writeln!(record, "\nplay {text} = {action}, lands on {}", game.landing(&position, action)).unwrap();
                game.play(&mut position, action);
            }
        }
    }
    for action in [0, game.actions() as Action] {
        let refusal = game.referee(&position, action).unwrap_err();
        writeln!(record, "after the end {action} is refused: {refusal}").unwrap();
    }
    record
}

fn describe<G: Game>(game: &G, position: &G::Position, record: &mut String) {
    let text = game.write_position(position);
    writeln!(record, "position {text}").unwrap();
    writeln!(record, "ply {}, {} to move", game.ply(position), game.to_move(position)).unwrap();
    let written = |actions: &[Action]| actions.iter().map(|&a| game.write_action(a)).collect::<Vec<_>>().join(" ");
    let legal = legal_actions(game, position);
    writeln!(record, "legal {}: {}", legal.len(), written(&legal)).unwrap();
    let mut winning = Vec::new();
    game.winning(position, &mut winning);
    if !winning.is_empty() {
        writeln!(record, "winning {}", written(&winning)).unwrap();
    }
    let forbidden: Vec<String> = (0..game.actions() as Action)
        .filter_map(|action| match game.referee(position, action) {
            Err(rules::Refusal::Forbidden(foul)) => Some(format!("{} is {foul}", game.write_action(action))),
            _ => None,
        })
        .collect();
    if !forbidden.is_empty() {
        writeln!(record, "forbidden {}", forbidden.join(", ")).unwrap();
    }
    for view in [View::Absolute, View::Relative] {
        let mut planes = vec![0.0; 2 * game.cells()];
        write_planes(game, position, view, &mut planes);
        let ones: Vec<usize> = (0..planes.len()).filter(|&i| planes[i] == 1.0).collect();
        writeln!(record, "{view:?} planes {ones:?}").unwrap();
    }
    writeln!(record, "canonical {}", game.write_position(&game.canonical(position))).unwrap();
    match game.outcome(position) {
        Outcome::Ongoing => {}
        over => writeln!(record, "outcome {over:?}, lines {:?}", game.winning_lines(position)).unwrap(),
    }
}

/// Compares with the recorded file; where they differ, the new text is left beside the build for a person to look at.
fn compare(name: &str, record: &str, expected: &str) {
    // A checkout may have changed the line ends.
    let expected = expected.replace("\r\n", "\n");
    if record != expected {
        let seen = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&seen, record).unwrap();
        let differs = record.lines().zip(expected.lines()).position(|(a, b)| a != b);
        panic!("tests/playthroughs/{name} differs from line {differs:?} (from 0) on; what was seen is in {seen}");
    }
}

macro_rules! records {
    ($($test:ident: $game:expr, $wanted:literal, $file:literal;)*) => {$(
        #[test]
        fn $test() {
            compare($file, &play_through(&$game, $wanted), include_str!(concat!("playthroughs/", $file)));
        }
    )*};
}

fn grid(name: &str) -> Grid {
    name.parse().unwrap()
}

records! {
    tic_tac_toe: TicTacToe, "4 4 0 8 2", "tictactoe.txt";
    connect_four: Connect4, "4 4 4 4 4 4 4 3 5", "connect4.txt";
    general: grid("mnk:5,4,3"), "c2 c2 a1", "mnk-5,4,3.txt";
    general_with_gravity: grid("mnk:4,3,3:gravity"), "1 1 1 1", "mnk-4,3,3-gravity.txt";
    freestyle: grid("gomoku:6"), "c3 d4", "gomoku-6.txt";
    // Black has five with a gap of one: filling it makes six, which is no win.
    standard: grid("gomoku:7:standard"), "a1 a7 b1 c7 c1 e7 e1 g7 f1 a5 d1", "gomoku-7-standard.txt";
    // Black makes two threes that meet on d4, is refused, and goes on.
    renju: grid("gomoku:7:renju"), "d5 a1 d3 g7 c4 a7 e4 g1 d4 d2", "gomoku-7-renju.txt";
}
