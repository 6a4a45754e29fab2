//! Work that is cut off: by Ctrl-C, by a kill, by a second process in the same folder.

use std::process::{Child, Stdio};

use oracle::connect4::{Book, Score};

use super::{Bench, Said, files, said};

const GAMES: &str = "train tictactoe --games 6000 --seed 9 --checkpoint-every 0 --out run";

/// The bytes that must not depend on interruptions.
fn result(bench: &Bench) -> [Vec<u8>; 2] {
    ["agent.safetensors", "metrics.jsonl"].map(|file| bench.read(&format!("run/{file}")))
}

fn unbroken() -> [Vec<u8>; 2] {
    let bench = Bench::new();
    bench.ok(GAMES);
    result(&bench)
}

fn start(bench: &Bench, arguments: &str) -> Child {
    bench.command(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for something that the program does, not for time to pass; gives up when the program has ended.
fn until(child: &mut Child, mut happened: impl FnMut() -> bool) {
    while !happened() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
}

fn newest_checkpoint(bench: &Bench) -> Option<String> {
    files(&bench.path("run/checkpoints")).into_iter().rfind(|name| name.ends_with(".safetensors"))
}

/// Sends the process what Ctrl-C sends.
#[cfg(unix)]
fn interrupt(child: &Child) {
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn ended(child: Child) -> Said {
    said(child.wait_with_output().unwrap())
}

#[test]
fn killed_at_many_moments_and_resumed_the_run_ends_in_the_same_bytes() {
    let expected = unbroken();
    let bench = Bench::new();
    let mut child = start(&bench, GAMES);
    until(&mut child, || bench.path("run/config.toml").exists());
    child.kill().unwrap();
    ended(child);
    // Each time it is killed right after another checkpoint has appeared: amid the next games or the next write.
    let mut kills = 0;
    while !bench.path("run/agent.safetensors").exists() {
        let before = newest_checkpoint(&bench);
        let mut child = start(&bench, "resume run --checkpoint-every 0");
        let mut seen = before.clone();
        let mut changes = 0;
        until(&mut child, || {
            let newest = newest_checkpoint(&bench);
            if newest != seen {
                seen = newest;
                changes += 1;
            }
            changes > kills % 7
        });
        child.kill().unwrap();
        ended(child);
        kills += 1;
        assert!(newest_checkpoint(&bench) >= before, "a resumed run never goes back");
    }
    assert!(kills >= 3, "{kills} kills are too few to show anything");
    bench.ok("resume run");
    assert_eq!(result(&bench), expected);
    assert!(files(&bench.path("run")).iter().all(|name| !name.ends_with(".tmp")), "{:?}", files(&bench.path("run")));
}

#[test]
fn a_half_written_row_behind_the_checkpoint_is_cut_off() {
    let expected = unbroken();
    let bench = Bench::new();
    let mut child = start(&bench, GAMES);
    until(&mut child, || newest_checkpoint(&bench).is_some());
    child.kill().unwrap();
    ended(child);
    if !bench.path("run/agent.safetensors").exists() {
        let metrics = [bench.read("run/metrics.jsonl"), b"{\"games\":99,\"wi".to_vec()].concat();
        bench.write("run/metrics.jsonl", metrics);
        bench.write("run/checkpoints/.half.tmp", "half");
        bench.ok("resume run");
    }
    assert_eq!(result(&bench), expected);
}

#[test]
#[cfg(unix)]
fn ctrl_c_saves_and_leaves_with_the_command_that_resumes() {
    let expected = unbroken();
    let bench = Bench::new();
    let mut child = start(&bench, GAMES);
    until(&mut child, || newest_checkpoint(&bench).is_some());
    interrupt(&child);
    let said = ended(child);
    // Ctrl-C may have come after the last game: then there was nothing left to save.
    if !bench.path("run/agent.safetensors").exists() {
        assert_eq!(said.code, Some(130), "{said:?}");
        assert!(said.err.contains("continue with 'tengen resume run'"), "{said:?}");
        bench.ok("resume run");
    }
    assert_eq!(result(&bench), expected);
}

#[test]
#[cfg(unix)]
fn ctrl_c_in_an_endless_training_leaves_a_checkpoint() {
    let bench = Bench::new();
    let mut child = start(&bench, "train tictactoe --games 4000000000 --out run --checkpoint-every 1000");
    until(&mut child, || bench.path("run/metrics.jsonl").metadata().is_ok_and(|file| file.len() > 0));
    assert_eq!(newest_checkpoint(&bench), None);
    interrupt(&child);
    let said = ended(child);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.err.contains("press Ctrl-C again to leave at once"), "{said:?}");
    assert!(newest_checkpoint(&bench).is_some());
}

#[test]
fn one_folder_is_trained_by_one_process() {
    let bench = Bench::new();
    let mut child = start(&bench, "train tictactoe --games 4000000000 --out run --checkpoint-every 0");
    until(&mut child, || newest_checkpoint(&bench).is_some());
    assert!(bench.refused("resume run").contains("another process is training in run"));
    child.kill().unwrap();
    ended(child);
}

#[test]
fn resuming_what_is_finished_changes_nothing() {
    let bench = Bench::new();
    bench.ok("train tictactoe --games 1000 --seed 9 --out run");
    let before = result(&bench);
    let said = bench.run("resume run");
    assert_eq!((said.code, result(&bench)), (Some(0), before), "{said:?}");
    assert!(said.err.contains("is finished"), "{said:?}");
}

/// A book takes half an hour: here only early wins are missing, each of which is found in a moment.
#[test]
fn a_book_that_was_killed_goes_on_where_it_was() {
    let positions = Book::positions();
    let whole: Vec<Option<Score>> = positions.iter().map(|position| Book::built_in().score(position)).collect();
    let missing = |score: &Option<Score>| score.is_some_and(|score| score.0.abs() >= 7);
    let bench = Bench::new();
    let begun: Vec<_> = whole.iter().map(|score| if missing(score) { None } else { *score }).collect();
    let before = Book::to_bytes(&begun);
    bench.write("book", &before);
    let known = |bytes: &[u8]| {
        let book = Book::from_bytes(bytes).expect("a whole book, however the program ended");
        positions.iter().filter(|position| book.score(position).is_some()).count()
    };
    let mut child = start(&bench, "solve connect4 --make-book book --threads 1");
    until(&mut child, || bench.read("book") != before);
    child.kill().unwrap();
    ended(child);
    let after = known(&bench.read("book"));
    assert!(known(&before) < after && after < positions.len(), "{after}");
    bench.ok("solve connect4 --make-book book");
    assert!(bench.read("book") == Book::to_bytes(&whole));
}
