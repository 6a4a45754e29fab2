//! The agents that come with tengen: trained by the default command, with a card that says what they are.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tengen;

/// Games for which an agent is shipped, with the seed of its run. The seed is the first that was tried: agents are not
/// chosen by their audits.
const AGENTS: [(&str, &str); 1] = [("tictactoe", "1")];

/// Trains each agent anew and writes `agents/GAME.safetensors` and `agents/GAME.md`.
pub(crate) fn train(root: &Path) -> Result<()> {
    for (game, seed) in AGENTS {
        let run = std::env::temp_dir().join(format!("tengen-agent-{}", std::process::id()));
        let folder = run.to_str().context("the folder for temporary files has a name in UTF-8")?;
        tengen(&["train", game, "--seed", seed, "--out", folder])?;
        let audit = tengen(&["audit", folder])?;
        let agents = root.join("agents");
        fs::copy(run.join("agent.safetensors"), agents.join(format!("{game}.safetensors")))?;
        fs::remove_dir_all(&run)?;
        // The first line names the file, by where it lies on this machine.
        let audit: Vec<&str> = audit.trim().lines().skip(1).map(str::trim_end).collect();
        let card = format!(
            "# The agent for {game}\n\nMade by `cargo xtask agents`: the default method and preset, seed {seed}, portable arithmetic\n\
             (`TENGEN_SIMD=portable`), so every machine makes the same file. Its metadata holds all settings.\n\n\
             `tengen audit shipped --game {game}` prints:\n\n```text\n{}\n```\n",
            audit.join("\n")
        );
        fs::write(agents.join(format!("{game}.md")), card)?;
        println!("xtask: agents/{game}.safetensors, agents/{game}.md");
    }
    Ok(())
}
