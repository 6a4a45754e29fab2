//! Help, lists, audits, and to whom they are said.

use std::process::Stdio;

use super::{Bench, one_line, said};

#[test]
fn without_a_terminal_the_bare_command_trains_proves_and_ends() {
    let bench = Bench::new();
    let said = bench.run("");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("Learning tic-tac-toe from nothing: outcome, preset strong"), "{said:?}");
    assert!(said.out.contains("UNBEATABLE (proved: 0 losing lines of "), "{said:?}");
    assert!(!said.out.contains("Your move"));
}

#[test]
fn data_goes_to_standard_output_and_talk_to_standard_error() {
    let bench = Bench::new();
    let said = bench.run("train tictactoe --games 500 --seed 1");
    assert_eq!(said.out, "runs/tictactoe-outcome-1/agent.safetensors\n");
    assert!(said.err.starts_with("Learning tic-tac-toe from nothing"), "{said:?}");
    let said = bench.run("audit runs/tictactoe-outcome-1");
    assert!(said.out.contains("losing lines of") && said.err.is_empty(), "{said:?}");
}

#[test]
fn nothing_that_is_piped_has_colours() {
    let bench = Bench::new();
    let said = bench.run("");
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:?}");
}

#[test]
fn ascii_is_enough() {
    let bench = Bench::new();
    bench.ok("train tictactoe --games 200 --seed 1 --out run");
    for arguments in [
        "--ascii audit run",
        "--ascii play tictactoe --seat second",
        "--ascii train tictactoe --games 20000 --out other",
        "--ascii list",
    ] {
        let said = bench.run_with(arguments, "p\nv\n0\nq\n");
        let strange: String =
            [&said.out, &said.err].into_iter().flat_map(|text| text.chars()).filter(|c| !c.is_ascii()).collect();
        assert!(strange.is_empty(), "{arguments}: {strange}");
    }
    let mut command = bench.command("play tictactoe --seat second --against perfect");
    let child = command.env("LANG", "C").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    assert!(said(child.unwrap().wait_with_output().unwrap()).out.is_ascii());
}

#[test]
fn help_teaches_and_every_command_has_some() {
    let bench = Bench::new();
    let help = bench.ok("--help");
    for part in ["train, prove, play", "Exit codes", "Examples:"] {
        assert!(help.contains(part), "{part} in {help}");
    }
    for command in
        ["train", "resume", "audit", "compare", "arena", "play", "openings", "list", "signature", "completions"]
    {
        assert!(help.contains(command));
        assert!(bench.ok(&format!("{command} --help")).len() > 200);
    }
    // Who knows Go looks for the letter that is missing there.
    let help = bench.ok("play --help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("i is one of them"), "{help}");
    assert!(bench.ok("--version").starts_with("tengen 0."));
}

#[test]
fn shells_get_their_completions() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(bench.ok(&format!("completions {shell}")).contains("tengen"));
    }
}

#[test]
fn the_list_shows_what_there_is_and_the_settings_with_their_docs() {
    let bench = Bench::new();
    bench.ok("train tictactoe --games 200 --seed 77");
    std::fs::create_dir(bench.path("runs/broken")).unwrap();
    bench.write("runs/broken/config.toml", "nonsense");
    bench.write("stray.safetensors", "nonsense");
    let list = bench.ok("list");
    for part in [
        "tic-tac-toe",
        "outcome",
        "strong",
        "article",
        "program",
        "perfect",
        "minimax:D",
        "runs/tictactoe-outcome-77",
        "runs/broken",
        "stray.safetensors: not a whole safetensors file",
    ] {
        assert!(list.contains(part), "{part} in {list}");
    }
    let settings = bench.ok("list outcome");
    assert!(settings.contains("games") && settings.contains("--set KEY=VALUE"), "{settings}");
    let json: serde_json::Value = serde_json::from_str(&bench.ok("list outcome --json")).unwrap();
    for field in json["strong"].as_array().unwrap() {
        assert!(field["about"].as_str().unwrap().len() > 10, "{field} has no documentation");
    }
}

#[test]
fn where_there_is_no_table_a_player_is_compared_with_the_solver_beside_others() {
    let bench = Bench::new();
    let audit: serde_json::Value = serde_json::from_str(&bench.ok("audit greedy --game connect4 --json")).unwrap();
    let share = |exam: &serde_json::Value, what: &str| {
        let choices = &exam["all"][what];
        choices["kept"].as_f64().unwrap() / choices["positions"].as_f64().unwrap()
    };
    let (greedy, random, minimax) = (&audit["exam"], &audit["beside"][0], &audit["beside"][1]);
    assert_eq!((random["player"].as_str(), minimax["player"].as_str()), (Some("random"), Some("minimax:5")));
    for what in ["value", "best"] {
        assert!(share(random, what) < share(greedy, what) && share(greedy, what) < share(minimax, what));
    }
    let text = bench.ok("audit greedy --game connect4");
    assert!(text.contains("as X") && text.contains("random play") && text.contains("beside it: minimax:5"), "{text}");
}

#[test]
fn tactics_are_told_by_kind_and_region_beside_others() {
    let bench = Bench::new();
    let audit: serde_json::Value = serde_json::from_str(&bench.ok("audit greedy --game gomoku:9 --json")).unwrap();
    let (greedy, random) = (&audit["tactics"], &audit["beside"][0]);
    assert_eq!((audit["beside"][1] == *greedy, random["player"].as_str()), (true, Some("random")));
    let kinds = greedy["kinds"].as_array().unwrap();
    assert_eq!((kinds.len(), kinds[0]["kind"].as_str()), (10, Some("win in one")));
    for (i, kind) in kinds.iter().enumerate() {
        // It sees one move ahead, which is all that the first two need; elsewhere it chooses as chance does.
        let by_chance = random["kinds"][i]["all"]["right"].as_f64().unwrap();
        let right = kind["all"]["right"].as_f64().unwrap();
        assert!(if i < 2 { right == 1.0 && by_chance < 0.1 } else { (right - by_chance).abs() < 1e-9 }, "{kind}");
        let regions = ["middle", "edge", "corner"].map(|region| kind[region]["positions"].as_u64().unwrap());
        assert_eq!(regions.iter().sum::<u64>(), kind["all"]["positions"].as_u64().unwrap());
    }
    let text = bench.ok("audit greedy --game gomoku:15:renju");
    for part in ["Audit of greedy", "corner", "win in one", "own three that is none", "make two open threes at once"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn an_audit_tells_the_exact_truth() {
    let bench = Bench::new();
    let audit: serde_json::Value = serde_json::from_str(&bench.ok("audit random --json")).unwrap();
    let seats = &audit["plays"]["seats"];
    assert_eq!(seats[0]["lines"], serde_json::json!({"wins": 131_184, "draws": 46_080, "losses": 77_904}));
    assert!((seats[0]["against_random"]["win"].as_f64().unwrap() - 737.0 / 1260.0).abs() < 1e-12);
    assert_eq!(audit["unbeatable"], false);
    let audit: serde_json::Value = serde_json::from_str(&bench.ok("audit perfect --json")).unwrap();
    assert_eq!(audit["unbeatable"], true);
    assert_eq!(audit["plays"]["seats"][1]["exploitability"], 0.0);
}

#[test]
fn a_player_that_can_be_beaten_is_shown_where() {
    let bench = Bench::new();
    let text = bench.ok("audit greedy");
    assert!(text.contains("BEATABLE (") && !text.contains("UNBEATABLE"), "{text}");
    assert!(text.contains("The first line that it loses as O:"), "{text}");
    assert!(text.contains("[X]"), "the losing line ends with a line of X: {text}");
}

#[test]
fn a_seat_that_was_not_trained_is_marked_and_not_in_the_verdict() {
    let bench = Bench::new();
    bench.ok("train tictactoe --preset article --games 2000 --seed 1 --out run");
    let text = bench.ok("audit run");
    assert!(text.contains("\n  as X (not trained) "), "{text}");
    assert!(text.contains("\n  as O  "), "{text}");
    let verdict = text.lines().last().unwrap();
    assert!(verdict.contains("as O") && !verdict.contains("as X"), "{verdict}");
}

#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    let bench = Bench::new();
    let mut child = bench.command("completions bash").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Nobody reads: the pipe breaks at the first write.
    drop(child.stdout.take());
    let said = said(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
}

#[test]
fn a_wrong_variable_is_bad_input_and_no_panic() {
    let bench = Bench::new();
    let output = bench.command("audit perfect").env("TENGEN_SIMD", "quantum").output().unwrap();
    let said = said(output);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(one_line(&said.err).contains("TENGEN_SIMD"), "{said:?}");
}
