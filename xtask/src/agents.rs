//! The agents that come with tengen, each with a card that says what it is.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{Arithmetic, tengen};

/// An agent that comes with tengen.
struct Shipped {
    game: &'static str,
    /// Its file's name without the ending.
    file: &'static str,
    /// What `tengen train` is told beside game and seed.
    options: &'static [&'static str],
    /// Portable arithmetic makes the same file on every machine; large networks take much longer with it.
    arithmetic: Arithmetic,
}

/// The seed of every run: the first that was tried, since agents are not chosen by their audits.
const SEED: &str = "1";

const AGENTS: [Shipped; 4] = [
    Shipped { game: "tictactoe", file: "tictactoe", options: &[], arithmetic: Arithmetic::Portable },
    Shipped { game: "connect4", file: "connect4", options: PPO, arithmetic: Arithmetic::Native },
    Shipped { game: "gomoku:9", file: "gomoku-9", options: PPO_SHORT, arithmetic: Arithmetic::Native },
    Shipped { game: "gomoku", file: "gomoku", options: PPO, arithmetic: Arithmetic::Native },
];

const PPO: &[&str] = &["--method", "ppo"];
const PPO_SHORT: &[&str] = &["--method", "ppo", "--games", "40000"];

/// Trains anew the agents of these files, or all, and writes `agents/FILE.safetensors` and `agents/FILE.md`.
pub(crate) fn train(root: &Path, files: &[&str]) -> Result<()> {
    if let Some(unknown) = files.iter().find(|file| AGENTS.iter().all(|agent| agent.file != **file)) {
        bail!("there is no agent {unknown}; there are: {}", AGENTS.map(|agent| agent.file).join(", "));
    }
    for agent in AGENTS.iter().filter(|agent| files.is_empty() || files.contains(&agent.file)) {
        let Shipped { game, file, options, arithmetic } = agent;
        let run = std::env::temp_dir().join(format!("tengen-agent-{}", std::process::id()));
        let folder = run.to_str().context("the folder for temporary files has a name in UTF-8")?;
        let command = [&["train", game][..], options, &["--seed", SEED]].concat();
        tengen(&[&command[..], &["--out", folder]].concat(), *arithmetic)?;
        let audit = tengen(&["audit", folder], *arithmetic)?;
        let agents = root.join("agents");
        fs::copy(run.join("agent.safetensors"), agents.join(format!("{file}.safetensors")))?;
        fs::remove_dir_all(&run)?;
        // The first line names the file, by where it lies on this machine.
        let audit: Vec<&str> = audit.trim().lines().skip(1).map(str::trim_end).collect();
        let made = match arithmetic {
            Arithmetic::Portable => {
                "with portable arithmetic (`TENGEN_SIMD=portable`), so every machine makes the same file"
            }
            Arithmetic::Native => {
                "with the arithmetic of the processor that made it, so another kind makes another file"
            }
        };
        let card = format!(
            "# The agent for {game}\n\nMade by `cargo xtask agents {file}`: `tengen {}`,\n{made}.\nIts metadata holds all settings.\n\n\
             `tengen audit shipped --game {game}` prints:\n\n```text\n{}\n```\n",
            command.join(" "),
            audit.join("\n")
        );
        fs::write(agents.join(format!("{file}.md")), card)?;
        println!("xtask: agents/{file}.safetensors, agents/{file}.md");
    }
    Ok(())
}
