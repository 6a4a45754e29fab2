//! Whether other programs read what we write: ONNX files, weights and event files, by the Python packages made for them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The packages, with versions, so that a new release of one cannot fail a change of ours.
const PACKAGES: [&str; 5] =
    ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0", "safetensors==0.8.0", "tensorboard==2.21.0"];

/// Writes networks and trains a run, installs the packages in a folder of their own (once) and lets them read.
///
/// # Errors
/// If Python 3 is missing, a package cannot be installed, or a file is not what it should be.
pub(crate) fn check(root: &Path) -> Result<()> {
    let folder = root.join("target/interop");
    let files = folder.join("files");
    fs::create_dir_all(&files)?;
    let python = folder.join(if cfg!(windows) { "python/Scripts/python.exe" } else { "python/bin/python" });
    let installed = folder.join("installed");
    if fs::read_to_string(&installed).ok().as_deref() != Some(&PACKAGES.join(" ")) {
        let system = if cfg!(windows) { "python" } else { "python3" };
        run(Command::new(system).args(["-m", "venv", "--clear"]).arg(folder.join("python")))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
        fs::write(&installed, PACKAGES.join(" "))?;
    }
    let cargo = &mut Command::new(env!("CARGO"));
    run(cargo.args(["run", "--quiet", "--package", "net", "--example", "interop"]).arg(&files).current_dir(root))?;
    run(Command::new(&python).arg(root.join("crates/net/tests/interop.py")).arg(&files))?;
    let trained = folder.join("run");
    if trained.exists() {
        fs::remove_dir_all(&trained)?;
    }
    let words = ["run", "--quiet", "--package", "tengen", "--", "train", "tictactoe", "--method", "ppo"];
    let small = ["--preset", "article", "--games", "2000", "--seed", "1", "--out"];
    run(Command::new(env!("CARGO")).args(words).args(small).arg(&trained).current_dir(root))?;
    run(Command::new(&python).arg(root.join("crates/app/tests/events.py")).arg(&trained))
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{program} cannot be started"))?;
    if !status.success() {
        bail!("{program} failed: {command:?}");
    }
    Ok(())
}
