//! Training, its folder, and what may and may not change its result.

use super::{Bench, files};

#[test]
fn a_run_is_a_function_of_config_and_seed() {
    let bench = Bench::new();
    let train = |out: &str, more: &str| {
        bench.ok(&format!("train tictactoe --games 3000 --out {out} {more}"));
        ["agent.safetensors", "metrics.jsonl"].map(|file| bench.read(&format!("{out}/{file}")))
    };
    let first = train("a", "--seed 5");
    assert_eq!(first, train("b", "--seed 5 --threads 1"));
    assert_eq!(first, train("c", "--seed 5 --threads 8 --checkpoint-every 0"));
    assert_ne!(first, train("d", "--seed 6"));
}

#[test]
fn the_folder_tells_all_and_names_no_time_or_place_in_the_agent() {
    let bench = Bench::new();
    let out = bench.ok("train tictactoe --games 2000 --seed 5");
    assert_eq!(out.trim(), "runs/tictactoe-outcome-5/agent.safetensors");
    let folder = bench.path("runs/tictactoe-outcome-5");
    let expected = [
        ".lock",
        "agent.safetensors",
        "checkpoints",
        "config.toml",
        "events.out.tfevents.tengen",
        "metrics.jsonl",
        "timing.jsonl",
    ];
    assert_eq!(files(&folder), expected);
    assert_eq!(files(&folder.join("checkpoints")), ["00000000000000002000.safetensors"]);
    let config = bench.text("runs/tictactoe-outcome-5/config.toml");
    for line in [
        "format = 1",
        "game = \"tictactoe\"",
        "preset = \"strong\"",
        "changed = [\"games\"]",
        "seed = 5",
        "games = 2000",
    ] {
        assert!(config.lines().any(|l| l == line), "{line} in {config}");
    }
    // Every setting stands below a line of explanation.
    let lines: Vec<&str> = config.lines().skip_while(|line| *line != "[config]").skip(1).collect();
    let explained = |i: usize| lines[i - 1].starts_with("# ");
    assert!((0..lines.len()).filter(|&i| lines[i].contains(" = ")).all(explained), "{config}");
    let agent = String::from_utf8_lossy(&bench.read("runs/tictactoe-outcome-5/agent.safetensors")).into_owned();
    assert!(!agent.contains("runs/") && !agent.contains("thread") && !agent.contains("time"), "{agent}");
}

#[test]
fn without_a_seed_one_is_drawn_printed_and_kept() {
    let bench = Bench::new();
    let said = bench.run("train tictactoe --games 500");
    let seed = said.err.split("seed ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap().to_owned();
    let config = bench.text(&format!("runs/tictactoe-outcome-{seed}/config.toml"));
    assert!(config.contains(&format!("\nseed = {seed}\n")));
}

#[test]
fn every_preset_starts() {
    let bench = Bench::new();
    let listed: serde_json::Value = serde_json::from_str(&bench.ok("list --json")).unwrap();
    let mut presets = 0;
    for game in listed["games"].as_array().unwrap() {
        for method in game["methods"].as_array().unwrap() {
            for preset in method["presets"].as_array().unwrap() {
                let [game, method, preset] =
                    [&game["name"], &method["name"], &preset["name"]].map(|v| v.as_str().unwrap());
                bench.ok(&format!("train {game} --method {method} --preset {preset} --games 100 --out run-{presets}"));
                presets += 1;
            }
        }
    }
    assert!(presets >= 3, "{listed}");
}

#[test]
fn with_json_every_line_of_output_is_an_object_and_the_last_names_the_agent() {
    let bench = Bench::new();
    let out = bench.ok("train tictactoe --preset article --games 20000 --seed 5 --json");
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["agent"], "runs/tictactoe-outcome-5/agent.safetensors");
    let metrics = bench.text("runs/tictactoe-outcome-5/metrics.jsonl");
    assert!(out.starts_with(&metrics) && lines.len() > 2, "{out}");
    // Results are told by name, so that nobody mixes up their order.
    for window in &lines[..lines.len() - 1] {
        let count = |name: &str| window[name].as_u64().unwrap_or_else(|| panic!("{name} in {window}"));
        assert!(count("wins") + count("draws") + count("losses") <= count("games"), "{window}");
    }
}

#[test]
fn memory_stays_flat() {
    // Ten times the games must not need more memory than a few pages of it.
    let peak = |games: u64| {
        let bench = Bench::new();
        let mut child = bench
            .command(&format!("train tictactoe --games {games} --seed 1"))
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut peak = 0;
        loop {
            // The last reading before the end: the peak only ever grows.
            peak = peak.max(resident_peak(child.id()).unwrap_or(0));
            if child.try_wait().unwrap().is_some() {
                break peak;
            }
            std::thread::yield_now();
        }
    };
    let (few, many) = (peak(20_000), peak(200_000));
    assert!(many <= few + 2_048, "{few} KiB for 20,000 games, {many} KiB for 200,000");
}

/// The most memory that a process has held, in KiB, where the system tells.
fn resident_peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn the_same_source_learns_the_same_on_every_machine() {
    let bench = Bench::new();
    let expected = include_str!("../signature.txt").trim();
    let message = "learning has changed: if that is meant, run 'cargo xtask signature' and say so in the commit";
    assert_eq!(bench.ok("signature").trim(), expected, "{message}");
}

#[test]
fn the_agent_that_is_shipped_is_proved_in_both_seats_and_takes_every_win_in_one() {
    let bench = Bench::new();
    let out = bench.ok("audit shipped");
    assert!(out.contains("UNBEATABLE (proved: 0 losing lines of "), "{out}");
    assert!(out.contains("no search"), "{out}");
}
