//! `tengen compare`: curves that are a function of methods, seeds and games, in three files and two tables.

use super::{Bench, files};

const METHODS: [&str; 8] =
    ["outcome", "monte_carlo", "td_backward", "td_batch", "td_online", "q_learning", "value_minimax", "ppo"];

/// The lines of `compare.csv` without what the clock says.
fn curves(bench: &Bench, folder: &str) -> Vec<Vec<String>> {
    let csv = bench.text(&format!("{folder}/compare.csv"));
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let clock = lines.next().unwrap().iter().position(|name| name == "seconds").unwrap();
    lines
        .map(|mut fields| {
            fields.remove(clock);
            fields
        })
        .collect()
}

#[test]
fn every_method_takes_part_and_the_curves_do_not_depend_on_the_number_of_threads() {
    let bench = Bench::new();
    let compare = |out: &str, threads: u32| {
        bench.ok(&format!("compare tictactoe --games 400 --seeds 3 --points 4 --threads {threads} --out {out}"));
        curves(&bench, out)
    };
    let one = compare("one", 1);
    let (ppo, each) = (METHODS.len() - 1, 3 * 4);
    let place = |line: &Vec<String>| [0, 2, 3].map(|i| line[i].clone());
    // PPO can only be asked after an iteration, and 400 games are less than one.
    let of_ppo = [1, 2, 3].map(|seed| ["ppo".to_owned(), seed.to_string(), "400".to_owned()]);
    assert!(one[ppo * each..].iter().map(place).eq(of_ppo), "{:?}", &one[ppo * each..]);
    for (of_method, name) in one[..ppo * each].chunks(each).zip(METHODS) {
        let expected = (1..=3).flat_map(|seed| (1..=4).map(move |i| (seed, 100 * i)));
        let expected = expected.map(|(seed, games)| [name.to_owned(), seed.to_string(), games.to_string()]);
        assert!(of_method.iter().map(place).eq(expected), "{of_method:?}");
    }
    assert_eq!(one, compare("two", 2));
    assert_eq!(one, compare("eight", 8));
}

#[test]
fn each_seat_is_told_on_its_own_and_each_is_learned() {
    // Programs have shown one number for a learner that was strong in one seat and weak in the other.
    let bench = Bench::new();
    let out = bench.ok("compare tictactoe --games 20000 --seeds 1 --points 1 --json");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (report["reproducible"].as_bool(), report["curves"].as_array().unwrap().len()),
        (Some(true), METHODS.len())
    );
    for summary in report["summaries"].as_array().unwrap() {
        for seat in 0..2 {
            let kept = summary["kept"][seat]["median"].as_f64().unwrap();
            assert!(kept > 0.75, "seat {seat} of {summary}");
        }
    }
    for curve in report["curves"].as_array().unwrap() {
        for seat in 0..2 {
            let point = &curve["points"][0];
            // The random mover keeps half of the points or less as second player; who has learned gets nearly all.
            let points = point["against_random"][seat].as_f64().unwrap();
            assert!(points > 0.85, "seat {seat} of {curve}");
            let losing = point["losing_lines"][seat].as_u64().unwrap();
            assert_eq!(point["best_response"][seat].as_f64().unwrap() < 0.0, losing > 0, "seat {seat} of {curve}");
        }
    }
}

#[test]
fn methods_and_presets_are_chosen_and_the_page_stands_alone() {
    let bench = Bench::new();
    let methods = "monte_carlo:article,td_batch,monte_carlo:strong";
    let out = bench.ok(&format!("compare tictactoe --methods {methods} --preset article --games 200 --seeds 2"));
    assert_eq!(files(&bench.path("compare")), ["compare.csv", "compare.html", "compare.json"]);
    let page = bench.text("compare/compare.html");
    for name in ["monte_carlo:article", "td_batch:article", "monte_carlo:strong"] {
        assert!(out.contains(name) && page.contains(name), "{name} in {out}");
    }
    assert!(!page.contains("http") && !page.contains("<script") && page.contains("200 games each"));
    assert!(out.lines().all(|line| line.chars().count() <= 110), "{out}");
    // What is on standard output with --json is what is in the file.
    let json = bench.ok("compare tictactoe --methods td_batch --games 200 --seeds 1 --out other --json");
    assert_eq!(json.trim(), bench.text("other/compare.json").trim());
}

#[test]
fn on_gomoku_the_curves_say_which_tactics_are_known() {
    let bench = Bench::new();
    let changes = "--methods ppo --preset article --games 20 --seeds 1 --points 2 --openings 2";
    let out = bench.ok(&format!("compare gomoku {changes}"));
    assert!(out.contains("against") && out.contains("threat:1") && out.contains("right moves, %"), "{out}");
    assert_eq!(files(&bench.path("compare")), ["compare.csv", "compare.html", "compare.json", "tactics.csv"], "{out}");
    let csv = bench.text("compare/tactics.csv");
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    // Two moments, ten tactics; each says of how many positions it speaks.
    assert_eq!((rows.len(), rows[0][3], rows[19][3], rows[0][5]), (20, "10", "20", "win in one"));
    let asked: u64 = rows[..10].iter().map(|row| row[6].parse::<u64>().unwrap()).sum();
    assert!(asked == 2_000 && rows.iter().all(|row| (0.0..=1.0).contains(&row[7].parse::<f64>().unwrap())), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&bench.text("compare/compare.json")).unwrap();
    let last = &json["curves"][0]["points"][1]["tactics"];
    assert_eq!(last[9]["kind"], "stop a double three");
    assert!(bench.text("compare/compare.html").contains("Right moves where the tactic is: block a four"));
}

#[test]
fn a_budget_of_processor_time_ends_every_training_soon_after_it() {
    let bench = Bench::new();
    let out = bench.ok("compare tictactoe --methods td_online,q_learning --seconds 0.02 --seeds 2 --points 4 --json");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["reproducible"], false);
    for curve in report["curves"].as_array().unwrap() {
        let points = curve["points"].as_array().unwrap();
        let seconds = |i: usize| points[i]["seconds"].as_f64().unwrap();
        let games = |i: usize| points[i]["games"].as_u64().unwrap();
        let last = points.len() - 1;
        assert!((1..=4).contains(&points.len()), "{curve}");
        assert!(seconds(last) >= 0.02 && games(last) < 120_000, "{curve}");
        assert!((1..=last).all(|i| seconds(i - 1) < 0.02 && games(i - 1) < games(i)), "{curve}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let refused = |arguments: &str| bench.refused(&format!("compare {arguments}"));
    assert!(refused("chess").contains("there are: tictactoe, connect4"));
    let all = "there are: outcome, monte_carlo, td_backward, td_batch, td_online, q_learning, value_minimax";
    assert!(refused("tictactoe --methods outcome,magic").contains(all));
    assert!(refused("tictactoe --methods outcome,").contains(all));
    assert!(refused("tictactoe --methods outcome,outcome").contains("named twice"));
    assert!(refused("tictactoe --preset best").contains("there are: strong, article"));
    assert!(refused("tictactoe --methods monte_carlo:best").contains("there are: strong, article"));
    assert!(refused("mnk:5,5,4").contains("no method has been tried"));
    assert!(refused("connect4 --against nobody").contains("no player 'nobody'"));
    let impossible = [
        "--seeds 0",
        "--seeds many",
        "--games 0",
        "--games -3",
        "--seconds 0",
        "--seconds -1",
        "--seconds nan",
        "--seconds inf",
        "--points 0",
        "--threads 0",
        "--first-seed -1",
        "--first-seed 18446744073709551615",
        "--games 5 --seconds 1",
        "--colour red",
    ];
    for arguments in impossible {
        refused(&format!("tictactoe {arguments}"));
    }
    bench.write("notes", "mine");
    assert!(refused("tictactoe --games 100 --seeds 1 --out notes").contains("notes"));
    assert_eq!((files(&bench.path("")), bench.text("notes").as_str()), (vec!["notes".to_owned()], "mine"));
}
