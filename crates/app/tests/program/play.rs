//! A person at the board, through a pipe. The transcripts show every prompt and every answer.

use super::{Bench, one_line};

/// Plays tic-tac-toe with these lines of input; what was shown, expecting this exit code.
fn talk(bench: &Bench, arguments: &str, lines: &[&str], code: i32) -> String {
    let said = bench.run_with(&format!("play tictactoe {arguments}"), lines.join("\n") + "\n");
    assert_eq!(said.code, Some(code), "{said:?}");
    said.out
}

/// The index of a part of the text, behind `from`.
fn after(text: &str, from: usize, part: &str) -> usize {
    from + text[from..].find(part).unwrap_or_else(|| panic!("{part:?} does not follow in {}", &text[from..]))
        + part.len()
}

#[test]
fn the_end_of_input_ends_the_program_with_one_line_wherever_it_comes() {
    let bench = Bench::new();
    for (input, arguments) in
        [("", ""), ("", "--seat first"), ("x\n", ""), ("4\n", "--seat first"), ("4", "--seat second")]
    {
        let said = bench.run_with(&format!("play tictactoe {arguments}"), input);
        assert_eq!(said.code, Some(1), "{input:?} {arguments}: {said:?}");
        assert!(one_line(&said.err).starts_with("the input ended"), "{said:?}");
        assert!(said.out.len() < 4_000, "{said:?}");
    }
    // After a whole game nothing is left undone.
    let won = r#"{"format":1,"game":"tictactoe","first":"human","second":"perfect","moves":"0 3 1 4","result":null}"#;
    bench.write("game.json", won);
    let said = bench.run_with("play tictactoe --against perfect --load game.json", "2\n");
    assert_eq!((said.code, said.err.as_str()), (Some(0), "the input ended: leaving\n"), "{said:?}");
}

#[test]
fn nonsense_is_refused_with_a_reason_and_asked_again() {
    let bench = Bench::new();
    let nonsense = ["", "9", "-1", "99999999999999999999", "0 4", "1,1", "2 2 2", "four", "٣", "4.0", "\u{1b}[2J"];
    let mut lines = nonsense.to_vec();
    lines.push("q");
    let out = talk(&bench, "--seat first --against perfect", &lines, 0);
    let mut at = 0;
    for line in nonsense {
        at = after(&out, at, "Your move, X (? for help): ");
        at = after(
            &out,
            at,
            if line.is_empty() { "nothing was written: write a cell from 0 to 8" } else { "is not a cell from 0 to 8" },
        );
    }
    assert!(!out.contains('\u{1b}'), "control characters of the input are not passed on");
}

#[test]
fn a_taken_cell_is_refused_and_the_turn_stays() {
    let bench = Bench::new();
    let out = talk(&bench, "--seat first --against perfect --seed 1", &["4", "4", "4", "q"], 0);
    assert_eq!(out.matches("4 cannot be played: there is a stone already").count(), 2);
    assert_eq!(out.matches("O plays").count(), 1);
}

#[test]
fn a_line_that_never_ends_is_cut() {
    let bench = Bench::new();
    let mut input = vec![b'7'; 3_000_000];
    input.extend_from_slice(b"\n\xff\xfe\nq\n");
    let said = bench.run_with("play tictactoe --seat first", input);
    assert_eq!(said.code, Some(0));
    assert_eq!(said.out.matches("is not a cell from 0 to 8").count(), 2);
    assert!(said.out.len() < 8_000);
}

#[test]
fn the_seat_is_asked_for_in_words_letters_or_numbers() {
    let bench = Bench::new();
    for (answer, seat) in [("x", "X"), ("X", "X"), ("first", "X"), ("1", "X"), ("o", "O"), ("second", "O"), ("2", "O")]
    {
        let out = talk(&bench, "--against perfect", &[answer, "q"], 0);
        assert!(out.contains(&format!("Your move, {seat}")), "{answer}: {out}");
    }
    let out = talk(&bench, "--against perfect", &["z", "", "q"], 0);
    assert_eq!(out.matches("is no seat").count(), 2);
    assert!(!out.contains("Your move"));
}

#[test]
fn the_network_says_what_it_thinks_of_every_cell_legal_or_not_and_the_truth_is_shown_apart() {
    let bench = Bench::new();
    let out = talk(&bench, "--seat first", &["p", "v", "4", "p", "w", "v", "h", "q"], 0);
    let mut at = after(&out, 0, "the network alone: no search");
    at = after(&out, at, "What the network says for X");
    at = after(&out, at, "What each of your moves leads to when both play best");
    assert_eq!(out[at..].split("Your move").next().unwrap().matches("draw").count(), 9);
    at = after(&out, at, "O plays");
    // Nine numbers again, though two cells are taken: they add up to 100.
    at = after(&out, at, "What the network says for X");
    let shown = out[at..].split("Your move").next().unwrap();
    let numbers: Vec<f64> = shown
        .split_whitespace()
        .filter(|word| word.contains('.'))
        .map(|word| word.trim_end_matches('*').parse().unwrap())
        .collect();
    assert_eq!(numbers.len(), 9, "{shown}");
    assert!((numbers.iter().sum::<f64>() - 100.0).abs() < 0.5, "{numbers:?}");
    at = after(&out, at, "What the network says for O");
    at = after(&out, at, "What each of your moves leads to");
    after(&out, at, "play ");
}

#[test]
fn a_hint_wins_when_it_can() {
    let bench = Bench::new();
    // X has 0 and 1, O has 3 and 4: X wins at 2 (and 5 would only save).
    let saved = r#"{"format":1,"game":"tictactoe","first":"human","second":"perfect","moves":"0 3 1 4","result":null}"#;
    bench.write("game.json", saved);
    let out = talk(&bench, "--load game.json --against perfect", &["h", "2", "n"], 0);
    assert!(out.contains("play 2: it wins at once"), "{out}");
    assert!(out.contains("[X] │ [X] │ [X]") && out.contains("X wins: you"), "{out}");
}

#[test]
fn where_a_solver_knows_the_truth_every_column_has_its_verdict() {
    let bench = Bench::new();
    let saved =
        r#"{"format":1,"game":"connect4","first":"human","second":"random","moves":"3 3 4 4 5 5","result":null}"#;
    bench.write("saved.json", saved);
    let lines = ["v", "h", "1", "q"];
    let said = bench.run_with("play connect4 --against random --seed 1 --load saved.json", lines.join("\n") + "\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    let out = said.out;
    let verdicts = after(&out, 0, "when both play best");
    let wins = after(&out, verdicts, "2  wins at once");
    after(&out, wins, "6  wins at once");
    assert!(out.contains("1  wins in 2 moves\n"), "{out}");
    assert!(out.contains("play 6: it wins at once"), "{out}");
}

/// Shows hints and marks in a game of Gomoku after these moves.
fn advice(bench: &Bench, game: &str, moves: &str) -> String {
    let saved =
        format!(r#"{{"format":1,"game":"{game}","first":"human","second":"random","moves":"{moves}","result":null}}"#);
    let name = format!("{}.json", moves.replace(' ', ""));
    bench.write(&name, &saved);
    let said = bench.run_with(&format!("play {game} --against random --load {name} --ascii"), "m\nh\nq\n");
    assert_eq!((said.code, said.out.is_ascii()), (Some(0), true), "{said:?}");
    said.out
}

#[test]
fn gomoku_has_hints_with_reasons_and_marks_for_points_that_matter() {
    let bench = Bench::new();
    let three = advice(&bench, "gomoku", "h8 a1 g8 a3 f8 o15");
    assert!(three.contains("   8  .  .  .  4  +  X  X  X  4  4  ."), "{three}");
    assert!(
        three.contains("4  makes a four: d8 e8 i8 j8\n  +  begins a win by fours in at most 2 moves: e8\n"),
        "{three}"
    );
    assert!(three.contains("play e8: it wins by fours in at most 2 moves: e8 "), "{three}");
    let four = advice(&bench, "gomoku", "a1 h8 a3 g8 a5 f8 d8 e8");
    assert!(four.contains("   8  .  .  .  X  O  O  O  O  !"), "{four}");
    assert!(four.contains("!  may hold, all others lose (O threatens to win at once with i8): i8\n"), "{four}");
    assert!(four.contains("play i8: the only defence; O threatens to win at once with i8\n"), "{four}");
    let cross = advice(&bench, "gomoku:15:renju", "f8 a1 g8 c2 h6 o13 h7 m1");
    assert!(cross.contains("#  Black may not make a double three: h8\n") && cross.contains(" X  X  # "), "{cross}");
    assert!(cross.contains(": nothing is proved here\n") && !cross.contains("h8: nothing"), "{cross}");
    let lost = advice(&bench, "gomoku", "a1 h8 a3 g8 a5 f8 o1 e8");
    assert!(lost.contains("X loses: O wins against every move; the longest resistance is "), "{lost}");
    let quiet = bench.run_with("play gomoku --against random --seat first", "m\nq\n");
    assert!(quiet.out.contains("nothing to mark: no fours, no threats, nothing forbidden"), "{quiet:?}");
    let none = bench.run_with("play tictactoe --against random --seat first", "m\nq\n");
    assert!(none.out.contains("there are no marks for tic-tac-toe"), "{none:?}");
}

#[test]
fn taking_back_gives_the_turn_back_and_leaves_a_clean_record() {
    let bench = Bench::new();
    let lines = ["u", "0", "u", "u", "8", "s game.json", "q"];
    let out = talk(&bench, "--seat first --against perfect --seed 3", &lines, 0);
    assert_eq!(out.matches("there is no move of yours to take back").count(), 2, "{out}");
    let saved: serde_json::Value = serde_json::from_str(&bench.text("game.json")).unwrap();
    let moves: Vec<&str> = saved["moves"].as_str().unwrap().split(' ').collect();
    assert_eq!((moves[0], moves.len()), ("8", 2), "{saved}");
    assert_eq!((saved["first"].as_str(), saved["second"].as_str()), (Some("human"), Some("perfect")));
    assert!(saved["result"].is_null());
}

#[test]
fn as_second_player_the_opponents_first_move_cannot_be_taken_back() {
    let bench = Bench::new();
    let out = talk(&bench, "--seat second", &["u", "q"], 0);
    assert!(out.contains("there is no move of yours to take back"));
}

#[test]
fn a_saved_game_goes_on_where_it_was_and_is_never_overwritten() {
    let bench = Bench::new();
    talk(&bench, "--seat second --against perfect --seed 2", &["s", "s game.json", "q"], 0);
    let before = bench.text("game.json");
    let out = talk(&bench, "--load game.json --against perfect", &["s game.json", "q"], 0);
    assert!(out.contains("Your move, O"), "{out}");
    assert!(out.contains("not saved: game.json exists already"), "{out}");
    assert_eq!(bench.text("game.json"), before);
    for (bad, why) in [("{}", "not a saved game"), ("4 4", "not a saved game")] {
        bench.write("bad.json", bad);
        assert!(bench.refused("play tictactoe --load bad.json").contains(why));
    }
    bench.write("bad.json", before.replace("\"moves\":\"", "\"moves\":\"4 4 "));
    assert!(bench.refused("play tictactoe --load bad.json").contains("move 2: there is a stone already"));
}

#[test]
fn the_result_is_the_referees() {
    let bench = Bench::new();
    // The ninth stone completes a line: a win, not a draw.
    let almost =
        r#"{"format":1,"game":"tictactoe","first":"human","second":"random","moves":"0 1 2 3 4 5 7 6","result":null}"#;
    bench.write("game.json", almost);
    let out = talk(&bench, "--load game.json --against random", &["8", "s end.json", "n"], 0);
    assert!(out.contains("X wins: you"), "{out}");
    assert!(bench.text("end.json").contains(r#""result":"first""#));
    let drawn = almost.replace("0 1 2 3 4 5 7 6", "0 1 2 4 3 5 7 6");
    bench.write("drawn.json", drawn);
    let out = talk(&bench, "--load drawn.json --against random", &["8", "n"], 0);
    assert!(out.contains("\na draw\n"), "{out}");
}

#[test]
fn after_the_end_one_may_take_back_go_on_or_leave() {
    let bench = Bench::new();
    let game = r#"{"format":1,"game":"tictactoe","first":"human","second":"perfect","moves":"0 3 1 4","result":null}"#;
    bench.write("game.json", game);
    let out = talk(&bench, "--load game.json --against perfect", &["2", "maybe", "u", "2", "y", "o", "q"], 0);
    assert_eq!(out.matches("X wins: you").count(), 2);
    assert!(out.contains("'maybe' is no answer"));
    assert!(out.contains("Your move, O"), "{out}");
}

#[test]
fn learning_from_a_person_makes_a_new_file_and_leaves_the_old_one() {
    let bench = Bench::new();
    bench.ok("train tictactoe --games 2000 --seed 1 --out run");
    let before = bench.read("run/agent.safetensors");
    let lines: Vec<&str> = (0..3).flat_map(|_| ["0", "1", "2", "3", "4", "5", "6", "7", "8"]).collect();
    let said = bench.run_with("play --against run --seat first --learn", lines.join("\n"));
    assert!(said.out.contains("it has learned from this game: tictactoe-learned.safetensors"), "{said:?}");
    let learned = bench.read("tictactoe-learned.safetensors");
    assert_eq!(bench.read("run/agent.safetensors"), before);
    assert_ne!(learned, before);
    assert!(String::from_utf8_lossy(&learned).contains("games_with_a_person"));
    let audit = bench.ok("audit tictactoe-learned.safetensors");
    assert!(audit.contains(" with a person"), "{audit}");
    // The next pupil takes the next name; a name that is taken is refused.
    let said = bench.run_with("play --against run --seat first --learn", lines.join("\n"));
    assert!(said.out.contains("tictactoe-learned-2.safetensors"), "{said:?}");
    assert!(bench.refused("play --against run --learn=tictactoe-learned.safetensors").contains("left as it is"));
    assert!(bench.refused("play tictactoe --against random --learn").contains("only an agent can learn"));
}

/// Row F19 of the public reports: with search behind it even an untrained network plays well, and people thought it cheated.
#[test]
fn an_untrained_network_shows_itself_as_the_network_alone() {
    // Playing strength that comes from search must never be taken for the network's.
    let bench = Bench::new();
    bench.ok("train tictactoe --games 100 --seed 1 --out run");
    let out = talk(&bench, "--against run --seat first", &["q"], 0);
    assert!(out.contains("the network alone: no search") && out.contains("100 games"), "{out}");
    assert!(bench.ok("audit run").contains("no search"));
}

#[test]
fn every_game_can_be_played_and_a_bad_board_is_refused() {
    let bench = Bench::new();
    for (game, first, second) in
        [("connect4", "4", "4"), ("gomoku", "h8", "H8"), ("mnk:5,5,4", "c3", "c3"), ("gomoku:15:renju", "a1", "o16")]
    {
        let input = format!("{first}\n{second}\nx9\nq\n");
        let said = bench.run_with(&format!("play {game} --against mcts:20 --seat first --ascii"), input);
        assert_eq!(said.code, Some(0), "{game}: {said:?}");
        assert!(
            said.out.contains("O plays ") && said.out.contains("(O)") && said.out.contains(" X "),
            "{game}: {said:?}"
        );
    }
    for bad in [
        "gomoku:4",
        "gomoku:23",
        "gomoku:15:magic",
        "gomoku:15:renju:x",
        "mnk:3,3",
        "mnk:3,3,4",
        "mnk:0,3,3",
        "mnk:3,3,3:up",
        "gomoku:x",
    ] {
        bench.refused(&format!("play {bad}"));
    }
    assert!(bench.refused("play gomoku:9 --against perfect").contains("no perfect player of"));
    assert!(bench.refused("train mnk:5,5,4").contains("no method has been tried on 4 or more in a row"));
    assert!(bench.refused("audit random --game mnk:5,5,4").contains("too large"));
    assert!(bench.refused("audit random --game gomoku:11").contains("stored for gomoku, gomoku:9, gomoku:15:renju"));
}

#[test]
fn an_agent_of_values_shows_values_and_can_look_further_ahead() {
    let bench = Bench::new();
    bench.ok("train tictactoe --method value_minimax --games 200 --seed 1 --out run");
    let out = talk(&bench, "--against run --seat first --depth 9", &["p", "q"], 0);
    assert!(out.contains("the value of each move, from -1 to 1"), "{out}");
    assert!(bench.ok("audit run --depth 9").contains("UNBEATABLE (proved"), "nine moves ahead is the whole game");
    assert!(bench.refused("audit run --depth 0").contains("depth = 0 is impossible"));
    assert!(bench.refused("audit shipped --depth 2").contains("has no depth"));
}
