//! In a terminal: what is typed, what is shown, Ctrl-C and Ctrl-D.

use rexpect::process::WaitStatus;
use rexpect::session::{PtySession, spawn_command};

use super::{Bench, files};

/// Longest wait for something that must come.
const PATIENCE: Option<u64> = Some(60_000);

fn session(bench: &Bench, arguments: &str) -> PtySession {
    spawn_command(bench.command(arguments), PATIENCE).unwrap()
}

fn exit_code(session: &PtySession) -> i32 {
    match session.process().wait().unwrap() {
        WaitStatus::Exited(_, code) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_bare_command_trains_proves_and_plays() {
    let bench = Bench::new();
    let mut session = session(&bench, "");
    session.exp_string("Learning tic-tac-toe from nothing").unwrap();
    session.exp_string("won").unwrap();
    session.exp_string("UNBEATABLE (proved: 0 losing lines of").unwrap();
    session.exp_string("Play X (moves first) or O (second)?").unwrap();
    session.send_line("o").unwrap();
    session.exp_string("X").unwrap();
    session.exp_string("plays").unwrap();
    session.exp_string("(? for help): ").unwrap();
    session.send_line("q").unwrap();
    session.exp_eof().unwrap();
    assert_eq!(exit_code(&session), 0);
}

#[test]
fn ctrl_d_and_ctrl_c_leave_a_game_at_once() {
    let bench = Bench::new();
    for (key, code) in [('d', 1), ('c', 130)] {
        let mut session = session(&bench, "play tictactoe --seat first");
        session.exp_string("(? for help): ").unwrap();
        session.send_control(key).unwrap();
        session.exp_eof().unwrap();
        assert_eq!(exit_code(&session), code, "Ctrl-{key}");
    }
}

#[test]
fn marks_and_hints_of_gomoku_are_shown_in_a_terminal() {
    let bench = Bench::new();
    let saved =
        r#"{"format":1,"game":"gomoku:9","first":"human","second":"random","moves":"e5 a1 d5 a3 c5 i9","result":null}"#;
    bench.write("saved.json", saved);
    let mut session = session(&bench, "play gomoku:9 --against random --load saved.json");
    session.exp_string("(? for help): ").unwrap();
    session.send_line("m").unwrap();
    session.exp_string("begins a win by fours in at most 2 moves: ").unwrap();
    session.exp_string("(? for help): ").unwrap();
    session.send_line("h").unwrap();
    session.exp_string("it wins by fours in at most 2 moves: ").unwrap();
    session.send_line("q").unwrap();
    session.exp_eof().unwrap();
    assert_eq!(exit_code(&session), 0);
}

#[test]
fn ctrl_c_once_saves_and_twice_leaves_at_once() {
    let bench = Bench::new();
    let mut once = session(&bench, "train tictactoe --preset article --games 4000000000 --out once");
    once.exp_string("lost").unwrap();
    once.send_control('c').unwrap();
    once.exp_string("continue with 'tengen resume once'").unwrap();
    once.exp_eof().unwrap();
    assert_eq!(exit_code(&once), 130);
    assert!(!files(&bench.path("once/checkpoints")).is_empty());

    // A network so wide that the next pause is far away, and a rate so small that it lives to see it.
    let wide = "--set hidden=[10000,1000] --set rate.start=0.000001 --set rate.end=0.000001";
    let mut twice = session(&bench, &format!("train tictactoe --games 4000000000 --out twice {wide}"));
    twice.exp_string("Learning").unwrap();
    twice.send_control('c').unwrap();
    twice.exp_string("press Ctrl-C again to leave at once").unwrap();
    twice.send_control('c').unwrap();
    twice.exp_eof().unwrap();
    assert_eq!(exit_code(&twice), 130);
    assert!(files(&bench.path("twice/checkpoints")).is_empty());
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let bench = Bench::new();
    let shown = |variable: Option<(&str, &str)>| {
        let mut command = bench.command("play tictactoe --seat second --against perfect");
        command.envs(variable);
        let mut session = spawn_command(command, PATIENCE).unwrap();
        let before = session.exp_string("(? for help): ").unwrap();
        session.send_line("q").unwrap();
        session.exp_eof().unwrap();
        before
    };
    assert!(shown(None).contains("\u{1b}["));
    assert!(!shown(Some(("NO_COLOR", "1"))).contains('\u{1b}'));
    assert!(!shown(Some(("TERM", "dumb"))).contains('\u{1b}'));
}

#[test]
fn a_bar_shows_rate_and_remaining_time() {
    let bench = Bench::new();
    let mut session = session(&bench, "train tictactoe --games 4000000000 --out run");
    session.exp_regex(r"\d+ % .*games/s .* left").unwrap();
    session.send_control('c').unwrap();
    session.exp_string("tengen resume run").unwrap();
    session.exp_eof().unwrap();
}
