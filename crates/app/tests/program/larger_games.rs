//! Games too large for a table: they are learned, compared by their games against baselines, and begun evenly.

use super::{Bench, files};

#[test]
fn connect_four_is_learned_by_three_methods_and_the_agents_play() {
    let bench = Bench::new();
    for method in ["outcome", "q_learning", "td_backward"] {
        bench.ok(&format!("train connect4 --method {method} --games 100 --seed 3"));
        let agent = format!("runs/connect4-{method}-3");
        let out = bench.ok(&format!("arena {agent} {agent}@20 random --games 4 --seed 1 --json"));
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((report["game"].as_str(), report["games"].as_u64()), (Some("connect4"), Some(12)));
        let faults = report["players"].as_array().unwrap().iter().map(|player| player["faults"].clone());
        assert!(faults.into_iter().all(|f| f.as_object().unwrap().values().all(|n| n == 0)), "{report}");
    }
    assert!(bench.refused("train connect4 --method td_batch").contains("there are: outcome"));
}

#[test]
fn the_agents_that_come_with_tengen_lose_to_no_beginner() {
    let bench = Bench::new();
    for game in ["connect4", "gomoku:9", "gomoku"] {
        let out = bench.ok(&format!("arena shipped random greedy --game {game} --gauntlet --games 8 --seed 1 --json"));
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        let best = &report["players"][0];
        assert_eq!(best["name"], "shipped", "{report}");
        assert_eq!(best["tally"]["losses"], 0, "{report}");
        assert!(bench.run_with(&format!("play {game} --seat first"), "q\n").out.contains("the agent that comes with"));
    }
}

#[test]
fn the_threat_player_beats_the_baselines_on_every_board_and_under_every_rule() {
    let bench = Bench::new();
    for (game, nodes) in [("gomoku:7", 1), ("gomoku:9:standard", 30), ("gomoku:15:renju", 30), ("mnk:8,9,5", 1)] {
        let out = bench.ok(&format!("arena threat:{nodes} greedy --game {game} --games 6 --seed 1 --json"));
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        let best = &report["players"][0];
        assert_eq!(
            (best["name"].as_str(), best["tally"]["losses"].as_u64()),
            (Some(&*format!("threat:{nodes}")), Some(0))
        );
        assert!(best["tally"]["wins"].as_u64() >= Some(5), "{report}");
        assert!(best["faults"].as_object().unwrap().values().all(|n| n == 0), "{report}");
    }
    assert!(bench.ok("list").contains("threat:N"));
}

#[test]
fn methods_are_compared_by_games_where_no_table_is_possible() {
    let bench = Bench::new();
    let compare = |out: &str, more: &str| {
        let all = "compare connect4 --methods outcome,td_backward --seeds 2 --points 2 --games 200 --openings 6";
        bench.ok(&format!("{all} --out {out} {more}"))
    };
    let text = compare("a", "--threads 1");
    for part in ["outcome:", "td_backward:", "random", "greedy", "minimax:5", "as first player", "6 games in each seat"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    compare("b", "--threads 3");
    // All but the seconds.
    let curves = |out: &str| {
        let csv = bench.text(&format!("{out}/compare.csv"));
        let line =
            |line: &str| line.split(',').enumerate().filter(|(i, _)| *i != 4).map(|(_, s)| s.to_owned()).collect();
        csv.lines().map(line).collect::<Vec<Vec<String>>>()
    };
    assert_eq!(curves("a"), curves("b"));
    // A line for each method, seed, moment and opponent.
    assert_eq!(curves("a").len(), 1 + 2 * 2 * 2 * 3);
    for line in &curves("a")[1..] {
        let games: u64 = line[5..].iter().map(|n| n.parse::<u64>().unwrap()).sum();
        assert_eq!(games, 12, "{line:?}");
    }
    assert_eq!(files(&bench.path("a")), ["compare.csv", "compare.html", "compare.json"]);
    assert_eq!(bench.text("a/compare.html").matches("<svg").count(), 9);
    // A small game can be compared so too, if that is asked for.
    let text = bench.ok("compare tictactoe --methods outcome --seeds 1 --points 1 --games 300 --against greedy");
    assert!(text.contains("greedy") && !text.contains("proved"), "{text}");
    assert!(bench.refused("compare connect4 --against nobody").contains("no player 'nobody'"));
}

#[test]
fn even_openings_are_found_read_and_proposed() {
    let bench = Bench::new();
    let find = "openings gomoku:7 --simulations 5 --games 4 --least 3 --most 3 --count 3 --seed 2";
    let list = bench.ok(&format!("{find} --threads 1"));
    assert_eq!(list, bench.ok(&format!("{find} --threads 3")));
    assert_eq!(list.lines().filter(|line| line.starts_with('#')).count(), 2);
    assert_eq!(list.lines().filter(|line| line.contains("# first player: ")).count(), 3);
    bench.write("even.txt", &list);
    let arena = "arena mcts:5 random --game gomoku:7 --games 8 --seed 1 --openings even.txt";
    assert!(bench.ok(arena).contains("3 openings"));

    bench.ok(&format!("{arena} --swap2 --out swapped"));
    let games = bench.text("swapped/games.jsonl");
    assert!(games.lines().all(|line| line.contains("\"opening\":3") || line.contains("\"opening\":5")), "{games}");
    let half: String = games.lines().take(3).map(|line| format!("{line}\n")).collect();
    bench.write("swapped/games.jsonl", half);
    bench.ok("arena --resume swapped");
    assert_eq!(bench.text("swapped/games.jsonl"), games);
    assert!(bench.ok("arena greedy random --game gomoku:9 --games 4 --seed 1 --swap2").contains("500 openings"));
    // The largest board has a list of its own, made by the command that stands in it.
    assert!(bench.ok("arena greedy random --game gomoku --games 4 --seed 1").contains("40 openings"));

    assert!(bench.refused("arena greedy random --game connect4 --swap2").contains("an opening of Gomoku"));
    bench.write("long.txt", "d4\n");
    let long = bench.refused("arena greedy random --game gomoku:7 --swap2 --openings long.txt");
    assert!(long.contains("has 3 moves"), "{long}");
    assert!(bench.refused("openings gomoku --least 5 --most 4").contains("from 1 to 56"));
}
