//! What cannot be used is refused in one line that names it, with code 2, and nothing is overwritten.

use super::{Bench, files};

#[test]
fn unknown_words_are_answered_with_what_exists() {
    let bench = Bench::new();
    let refused = |arguments: &str| bench.refused(arguments);
    assert!(refused("trian tictactoe").contains("'train'"));
    assert!(refused("train chess").contains("there are: tictactoe, connect4, gomoku"));
    assert!(refused("train gomoku:4").contains("it may be 5 to 22"));
    assert!(refused("train mnk:3,3").contains("write mnk:columns,rows,length"));
    assert!(refused("train tictactoe --method magic").contains("there are: outcome"));
    assert!(refused("train tictactoe --preset best").contains("there are: strong, article, program"));
    assert!(refused("train tictactoe --set colour=red").contains("expected one of"));
    assert!(refused("train tictactoe --flag").contains("--flag"));
    assert!(refused("train").contains("<GAME>"));
    assert!(refused("audit nobody").contains("there are: shipped, AGENT@N, perfect"));
    assert!(refused("audit shipped --proof").contains("covers every line of play already"));
    assert!(refused("audit random --game gomoku:9 --proof").contains("nothing exact is known about"));
    assert!(refused("audit random --out folder").contains("--proof"));
    assert!(refused("audit --resume nowhere").contains("proof.toml cannot be read"));
    assert!(refused("audit random --resume nowhere").contains("cannot be used with"));
    assert!(refused("audit").contains("<PLAYER>"));
    assert!(refused("play tictactoe --against nobody").contains("there is no player 'nobody'"));
    assert!(refused("play tictactoe --against minimax:0").contains("a depth from 1 to 9"));
    assert!(refused("play tictactoe --against mcts:0").contains("a number of simulations from 1"));
    assert!(refused("play tictactoe --against shipped@0").contains("a number of simulations from 1"));
    assert!(refused("play tictactoe --against random@5").contains("only an agent can be given a search"));
    assert!(refused("play gomoku --against threat:0").contains("a number of positions from 1"));
    assert!(refused("play connect4 --against threat:9").contains("plays five in a row, not Connect Four"));
    assert!(refused("play mnk:7,7,4 --against threat:9").contains("plays five in a row, not 4 or more in a row"));
    assert!(refused("play tictactoe --against engine:x").contains("do not play tic-tac-toe"));
    assert!(refused("play gomoku --against engine:").contains("write the command"));
    assert!(refused("play gomoku --against engine:./no-such").contains("can't be started"));
    assert!(refused("play gomoku:11 --against shipped").contains("no agent for 5 or more in a row on 11 x 11 comes"));
    assert!(refused("play tictactoe --seat third").contains("first, second"));
    assert!(refused("list magic").contains("there are: outcome"));
    assert!(files(&bench.path("")).is_empty());
}

#[test]
fn impossible_values_are_refused_before_anything_is_written() {
    let bench = Bench::new();
    let impossible = [
        "--games 0",
        "--games -1",
        "--games 1e3",
        "--games 99999999999999999999",
        "--games many",
        "--set games=0",
        "--set rate.start=nan",
        "--set rate.start=inf",
        "--set rate.start=-1",
        "--set rate.start=fast",
        "--set hidden=0",
        "--set hidden=[0]",
        "--set =1",
        "--set rate",
        "--seed -1",
        "--seed 9223372036854775808",
        "--threads 0",
        "--checkpoint-every -1",
        "--checkpoint-every never",
    ];
    for arguments in impossible {
        bench.refused(&format!("train tictactoe {arguments}"));
    }
    assert!(bench.refused("train tictactoe --set rate.start=nan").contains("rate = NaN to 0.001 is impossible"));
    assert!(files(&bench.path("")).is_empty());
}

#[test]
fn an_existing_run_is_refused_with_a_pointer_to_resume_and_stays_as_it_is() {
    let bench = Bench::new();
    bench.ok("train tictactoe --games 500 --seed 1 --out run");
    let before = ["config.toml", "metrics.jsonl", "agent.safetensors"].map(|f| bench.read(&format!("run/{f}")));
    let refusal = bench.refused("train tictactoe --games 900 --seed 2 --out run");
    assert!(refusal.contains("'tengen resume run'"), "{refusal}");
    assert_eq!(before, ["config.toml", "metrics.jsonl", "agent.safetensors"].map(|f| bench.read(&format!("run/{f}"))));
    bench.write("notes", "mine");
    assert!(bench.refused("train tictactoe --out .").contains("holds other files"));
    assert!(bench.refused("train tictactoe --out notes/run").contains("notes"));
    assert_eq!(bench.text("notes"), "mine");
}

#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_written_is_named() {
    let bench = Bench::new();
    // Not even the superuser can write here.
    assert!(bench.refused("train tictactoe --out /proc/none/run").contains("/proc/none/run"));
    assert!(bench.refused("resume /proc/none").contains("/proc/none is not the folder of a run"));
}

#[test]
fn damaged_truncated_and_foreign_agents_are_refused_by_name() {
    let bench = Bench::new();
    bench.ok("train tictactoe --games 500 --seed 1 --out run");
    let good = bench.read("run/agent.safetensors");
    let mut flipped = good.clone();
    flipped[3] ^= 0x40;
    let not_finite = {
        let mut bytes = good.clone();
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        bytes
    };
    let said = |text: &str, by: &str| String::from_utf8_lossy(&good).replace(text, by).into_bytes().len();
    assert_ne!(said("tictactoe", ""), good.len(), "the metadata is text");
    let edited = |from: &str, to: &str| {
        // Metadata of the same length, so that the file around it stays whole.
        assert_eq!(from.len(), to.len());
        let at = good.windows(from.len()).position(|w| w == from.as_bytes()).unwrap_or_else(|| panic!("{from}"));
        let mut bytes = good.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("empty", Vec::new(), "not a whole safetensors file"),
        ("cut", good[..good.len() - 5].to_vec(), "not a whole safetensors file"),
        ("head", good[..20].to_vec(), "not a whole safetensors file"),
        ("flipped", flipped, "not a whole safetensors file"),
        ("picture", b"\x89PNG\r\n\x1a\n".to_vec(), "not a whole safetensors file"),
        ("nan", not_finite, "holds NaN"),
        (
            "newer",
            edited("\\\"format\\\":1", "\\\"format\\\":9"),
            "written in format 9, and this program reads format 1",
        ),
        ("game", edited("tictactoe", "tictactow"), "there is no game 'tictactow'"),
        ("method", edited("\\\"outcome\\\"", "\\\"outcomf\\\""), "there is no method 'outcomf'"),
    ];
    for (name, bytes, why) in cases {
        bench.write(name, bytes);
        for command in ["audit", "play --against"] {
            let refusal = bench.refused(&format!("{command} {name}"));
            assert!(refusal.contains(why), "{command} {name}: {refusal}");
            assert!(refusal.contains(name), "{command} {name}: {refusal}");
        }
    }
    let checkpoint = "run/checkpoints/00000000000000000500.safetensors";
    assert!(bench.refused(&format!("audit {checkpoint}")).contains("this is a checkpoint, not an agent"));
}

#[test]
fn damaged_runs_are_refused_by_name_and_left_as_they_are() {
    let bench = Bench::new();
    bench.ok("train tictactoe --games 1000 --seed 1 --out run");
    std::fs::remove_file(bench.path("run/agent.safetensors")).unwrap();
    let checkpoint = "run/checkpoints/00000000000000001000.safetensors";
    let files = ["run/config.toml", "run/metrics.jsonl", checkpoint];
    let good = files.map(|file| bench.read(file));
    let config = String::from_utf8(good[0].clone()).unwrap();
    let refusal = |file: usize, bytes: &[u8]| {
        bench.write(files[file], bytes);
        let refusal = bench.refused("resume run");
        assert_eq!(bench.read(files[file]), bytes, "what is refused is not touched");
        bench.write(files[file], &good[file]);
        refusal
    };
    let changed = |from: &str, to: &str| refusal(0, config.replace(from, to).as_bytes());
    assert!(changed("format = 1", "format = 2").contains("run/config.toml: written in format 2"));
    assert!(changed("seed = 1", "seed = 2").contains("belongs to another run than the config.toml"));
    assert!(changed("games = 1000", "games = 2000").contains("belongs to another run"));
    assert!(changed("games = 1000", "games = 0").contains("games = 0 is impossible"));
    assert!(changed("[config]", "[config]\ncolour = 1").contains("unknown field `colour`"));
    assert!(changed("seed = 1", "seed = 1\ncolour = 1").contains("unknown field `colour`"));
    assert!(changed("seed = 1", "seed = ").contains("run/config.toml"));
    assert!(changed("tictactoe", "chess").contains("there is no game 'chess'"));
    assert!(refusal(0, b"\xff\xfe").contains("not text in UTF-8"));
    assert!(refusal(2, &good[2][..good[2].len() - 1]).contains("remove that file to go on from an earlier checkpoint"));
    assert!(refusal(2, b"").contains(checkpoint));
    assert!(refusal(1, b"").contains("metrics.jsonl is shorter than the checkpoint says"));
    bench.ok("resume run");
}

#[test]
fn numbers_that_explode_stop_the_run_name_the_game_and_keep_the_last_good_checkpoint() {
    let bench = Bench::new();
    let said = bench.run("train tictactoe --games 100000 --seed 1 --out run --set scale=1e30 --checkpoint-every 0");
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
    let line = said.err.lines().last().unwrap();
    assert!(line.starts_with("tengen: ") && line.contains("stopped being finite in game "), "{line}");
    assert!(!bench.path("run/agent.safetensors").exists());
}
