//! `cargo xtask`: the chores of this repository. `check` is what must pass before a change lands.

mod agents;
mod docs;
mod interop;
mod picture;
mod tidy;
mod tree;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const HELP: &str = "cargo xtask COMMAND

  check             format, lints, documentation, house rules and all tests: the test command of this repository
  tidy              the house rules that a program can check
  docs              bring the blocks that are included from results/ up to date
  interop           whether the Python packages for ONNX, safetensors and TensorBoard read our files; needs Python 3
  agents [FILE]...  train the agents that come with tengen, or these, and write their cards
  picture           run a session and draw it for the README
  signature         bring crates/app/tests/signature.txt up to date after a change that alters learning";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check"] => check(),
        ["tidy"] => tidy::check(&root()),
        ["docs"] => docs::write(&root()),
        ["interop"] => interop::check(&root()),
        ["agents", ref files @ ..] => agents::train(&root(), files),
        ["picture"] => picture::draw(&root()),
        ["signature"] => signature(),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    tidy::check(&root())?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    cargo(&["test", "--workspace"], &[])
}

/// Writes what `tengen signature` prints.
fn signature() -> Result<()> {
    let printed = tengen(&["signature"], Arithmetic::Portable)?;
    std::fs::write(root().join("crates/app/tests/signature.txt"), &printed)?;
    println!("{}", printed.trim());
    Ok(())
}

/// The repository's root: the parent of this crate.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

fn cargo(arguments: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    println!("xtask: cargo {}", arguments.join(" "));
    let mut command = Command::new(env!("CARGO"));
    let status = command.args(arguments).envs(variables.iter().copied()).current_dir(root()).status();
    if !status.context("cargo cannot be started")?.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}

/// With which instructions networks are computed.
#[derive(Clone, Copy)]
enum Arithmetic {
    /// Those that every machine has, with the same results to the last bit.
    Portable,
    /// The best that this machine has.
    Native,
}

/// What the release build of tengen prints on standard output.
fn tengen(arguments: &[&str], arithmetic: Arithmetic) -> Result<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--release", "--package", "tengen", "--"]).args(arguments);
    if let Arithmetic::Portable = arithmetic {
        command.env("TENGEN_SIMD", "portable");
    }
    let output = command.current_dir(root()).stderr(std::process::Stdio::inherit()).output();
    let output = output.context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("tengen {} failed", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}
