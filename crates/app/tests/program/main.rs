//! The whole program, driven as a person or a script would: the real binary, through pipes and in a terminal.

mod arena;
mod bad_input;
mod compares;
mod export;
mod interrupted;
mod larger_games;
mod play;
mod solve;
mod speaks;
#[cfg(unix)]
mod terminal;
mod trains;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own, in which `tengen` runs.
struct Bench {
    folder: tempfile::TempDir,
}

/// What a run of the program came to.
#[derive(Debug)]
struct Said {
    out: String,
    err: String,
    code: Option<i32>,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// The program with its arguments, separated by blanks, in an environment without surprises.
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tengen"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        for variable in ["CI", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(variable);
        }
        command.env("LANG", "C.UTF-8").env("TERM", "xterm").env("TENGEN_SIMD", "portable");
        command
    }

    /// Runs the program with no input.
    fn run(&self, arguments: &str) -> Said {
        self.run_with(arguments, "")
    }

    /// Runs the program with these bytes on its input.
    fn run_with(&self, arguments: &str, input: impl AsRef<[u8]>) -> Said {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that has left reads no more: that is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        said(child.wait_with_output().unwrap())
    }

    /// Runs the program and expects success; what it said on standard output.
    fn ok(&self, arguments: &str) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments}: {said:?}");
        said.out
    }

    /// Runs the program and expects it to refuse with one line and code 2; the line without `tengen: `.
    fn refused(&self, arguments: &str) -> String {
        let said = self.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{arguments}: {said:?}");
        one_line(&said.err)
    }
}

fn said(output: Output) -> Said {
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// The one line that was said on standard error.
fn one_line(err: &str) -> String {
    let line = err.strip_suffix('\n').unwrap_or(err);
    assert_eq!(line.lines().count(), 1, "{err:?}");
    line.strip_prefix("tengen: ").unwrap_or_else(|| panic!("{err:?} does not begin with the program's name")).to_owned()
}

/// Names of the files in a folder, in order.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
