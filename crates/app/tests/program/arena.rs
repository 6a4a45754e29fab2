//! `tengen arena`: results that are known, stopped and gone on with, engines that misbehave, bad input.

use super::{Bench, files, one_line};

/// The report of a tournament.
fn report(bench: &Bench, arguments: &str) -> serde_json::Value {
    serde_json::from_str(&bench.ok(&format!("arena {arguments} --json"))).unwrap()
}

/// The command of the engine that comes with these tests, misbehaving in this way.
fn engine(habit: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_tengen"));
    let name = format!("fake_engine{}", std::env::consts::EXE_SUFFIX);
    let path = program.with_file_name("examples").join(name);
    if !path.is_file() {
        // `cargo test` makes the examples too, but not when it is asked for one target only.
        let build = ["build", "--quiet", "--package", "tengen", "--example", "fake_engine"];
        assert!(std::process::Command::new(env!("CARGO")).args(build).status().unwrap().success());
    }
    format!("engine:{} {habit}", path.display())
}

fn run(bench: &Bench, arguments: &[&str]) -> super::Said {
    let mut command = bench.command("arena");
    command.args(arguments);
    super::said(command.output().unwrap())
}

/// Row F10 of the public reports too: whoever is named is the one who played.
#[test]
fn a_table_says_who_is_stronger_and_adds_up() {
    let bench = Bench::new();
    let all = report(&bench, "perfect greedy random --games 64 --seed 1");
    assert_eq!((all["games"].as_u64(), all["reproducible"].as_bool()), (Some(192), Some(true)));
    let players = all["players"].as_array().unwrap();
    let rating = |i: usize| players[i]["rating"].as_f64().unwrap();
    assert!(rating(0) > rating(1) && rating(1) > rating(2) && rating(2) == 0.0, "{all}");
    for player in players {
        let tally = &player["tally"];
        let sum = ["wins", "draws", "losses"].iter().map(|key| tally[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum, 128);
    }
    assert!(all["distinct"].as_u64().unwrap() > 100);
    let text = bench.ok("arena perfect random --games 10 --seed 1");
    for word in ["perfect", "random", "won", "95 %", "10 games", "seed 1", "Elo's formula"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn two_deterministic_players_that_repeat_themselves_are_noticed() {
    let bench = Bench::new();
    let text = bench.ok("arena shipped mcts:50 --games 40 --openings start --seed 1");
    assert!(text.contains("40 games, 2 of them different"), "{text}");
    assert!(text.contains("no further evidence"));
}

#[test]
fn a_stopped_tournament_goes_on_to_the_same_bytes_on_any_number_of_threads() {
    let bench = Bench::new();
    let arguments = "arena minimax:3 mcts:20 random --games 30 --seed 5";
    bench.ok(&format!("{arguments} --out whole --threads 1"));
    let whole = bench.text("whole/games.jsonl");
    assert_eq!(whole.lines().count(), 90);
    assert!(files(&bench.path("whole")).contains(&"arena.html".to_owned()));
    assert!(bench.text("whole/games.txt").starts_with("game: tictactoe"));

    bench.ok(&format!("{arguments} --out cut --threads 3"));
    assert_eq!(bench.text("cut/games.jsonl"), whole);
    // As a killed process leaves it: in the middle of a line.
    bench.write("cut/games.jsonl", &whole[..whole.len() / 2 + 7]);
    bench.ok("arena --resume cut --threads 2");
    assert_eq!(bench.text("cut/games.jsonl"), whole);
    for name in ["arena.json", "arena.csv", "arena.html", "games.txt"] {
        assert_eq!(bench.text(&format!("cut/{name}")), bench.text(&format!("whole/{name}")), "{name}");
    }
    // Going on with what is finished changes nothing.
    bench.ok("arena --resume cut");
    assert_eq!(bench.text("cut/games.jsonl"), whole);
}

#[test]
fn a_sequential_test_stops_when_it_is_decided() {
    let bench = Bench::new();
    let all = report(&bench, "greedy random --games 20000 --sprt 0,50 --seed 2");
    assert_eq!(all["sprt"]["verdict"], "accepted: stronger");
    assert!(all["games"].as_u64().unwrap() < 1_000);
    let all = report(&bench, "random greedy --games 20000 --sprt 0,50,0.01,0.01 --seed 2 --threads 3");
    assert_eq!(all["sprt"]["verdict"], "rejected: not stronger by so much");
}

#[test]
fn an_engine_plays_through_openings_chatter_and_new_games() {
    let bench = Bench::new();
    for habit in ["", "no-restart"] {
        let said = run(
            &bench,
            &[
                "random",
                &engine(habit),
                "--game",
                "gomoku:7",
                "--games",
                "6",
                "--seed",
                "1",
                "--json",
                "--threads",
                "1",
            ],
        );
        assert_eq!(said.code, Some(0), "{said:?}");
        let all: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(all["reproducible"], false);
        for player in all["players"].as_array().unwrap() {
            let faults = player["faults"].as_object().unwrap();
            assert!(faults.values().all(|n| n == 0), "{all}");
        }
    }
}

#[test]
fn an_engine_that_misbehaves_loses_the_game_for_the_right_reason_and_the_others_go_on() {
    let bench = Bench::new();
    let cases = [
        ("crash", "failed", "ended (exit"),
        ("error", "failed", "ERROR out of ideas"),
        ("illegal", "illegal", "there is a stone already"),
        ("off", "illegal", "no such point"),
        ("hang", "time", ""),
    ];
    for (habit, reason, detail) in cases {
        let out = format!("out-{habit}");
        // Only who waits for ever needs to be given up soon.
        let limit = if habit == "hang" { "0.05" } else { "60" };
        let said = run(
            &bench,
            &["random", &engine(habit), "--game", "gomoku:9", "--games", "4", "--turn-time", limit, "--out", &out],
        );
        assert_eq!(said.code, Some(0), "{said:?}");
        let games = bench.text(&format!("{out}/games.jsonl"));
        assert_eq!(games.lines().count(), 4);
        for line in games.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(record["end"], reason, "{line}");
            assert!(record["detail"].as_str().unwrap_or_default().contains(detail), "{line}");
            let winner = if record["result"] == "first" { &record["first"] } else { &record["second"] };
            assert_eq!(winner, "random", "{line}");
        }
        assert!(said.out.contains("lost games without the opponent's doing: 4"), "{}", said.out);
        assert!(bench.text(&format!("{out}/games.sgf")).trim_start().starts_with("(;"));
    }
}

#[test]
fn what_makes_no_tournament_is_refused_in_one_line() {
    let bench = Bench::new();
    let refused = |arguments: &str| bench.refused(&format!("arena {arguments}"));
    assert!(refused("").contains("PLAYERS"));
    assert!(refused("random").contains("at least two players"));
    assert!(refused("random random").contains("'random' takes part twice"));
    assert!(refused("random nobody").contains("there is no player 'nobody'"));
    assert!(refused("random greedy perfect --sprt 0,5").contains("is for two players"));
    assert!(refused("random greedy --sprt 5,0").contains("the first must be the smaller"));
    assert!(refused("random greedy --sprt 0,5,0.6,0.05").contains("below 0.5"));
    assert!(refused("random greedy --sprt five").contains("write ELO0,ELO1"));
    assert!(refused("random greedy --games 0").contains("--games"));
    assert!(refused("random greedy --anchor perfect").contains("does not take part"));
    assert!(refused("random greedy --turn-time 0").contains("above 0"));
    assert!(refused("random greedy --turn-time nan").contains("above 0"));
    assert!(refused("random greedy --openings none").contains("none cannot be read"));
    assert!(refused("random greedy --threads 0").contains("--threads"));
    assert!(refused("--resume .").contains("has no arena.toml"));
    assert!(refused("random greedy --resume x").contains("cannot be used with"));
    bench.write("bad", "4\n4 4\n");
    assert_eq!(refused("random greedy --openings bad"), "bad: line 2: move 2, 4: there is a stone already");
    assert_eq!(files(&bench.path("")), ["bad"]);
    let said = run(&bench, &["random", &engine("mute"), "--game", "mnk:9,9,4"]);
    assert!(one_line(&said.err).contains("do not play"), "{said:?}");
}

#[test]
fn a_folder_is_refused_when_it_is_not_what_it_was() {
    let bench = Bench::new();
    bench.ok("arena greedy random --games 4 --seed 1 --out a");
    assert!(bench.refused("arena greedy random --out a").contains("--resume a"));
    std::fs::create_dir(bench.path("b")).unwrap();
    bench.write("b/mine", "");
    assert!(bench.refused("arena greedy random --out b").contains("holds other files"));
    let toml = bench.text("a/arena.toml");
    let games = bench.text("a/games.jsonl");
    bench.write("a/arena.toml", toml.replace("format = 1", "format = 2"));
    assert!(bench.refused("arena --resume a").contains("format 2"));
    bench.write("a/arena.toml", toml.replace("rounds = 2", "rounds = 0"));
    assert!(bench.refused("arena --resume a").contains("nobody could have begun"));
    bench.write("a/arena.toml", toml.replace("seed = 1", "seed = 2"));
    assert!(bench.refused("arena --resume a").contains("it has another opening"));
    bench.write("a/arena.toml", &toml);
    bench.write("a/games.jsonl", games.replacen("\"number\":1", "\"number\":7", 1));
    assert!(bench.refused("arena --resume a").contains("it has the number 7"));
    bench.write("a/games.jsonl", "{}\n");
    assert!(bench.refused("arena --resume a").contains("line 1: missing field"));
    bench.write("a/games.jsonl", &games);
    bench.ok("arena --resume a");
}
