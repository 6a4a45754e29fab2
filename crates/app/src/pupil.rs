//! An agent that learns from its games with a person.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rules::{Action, Seat};

use crate::agent_file::{self, AgentFile};
use crate::registry::{self, Known, Opponent};
use crate::{VERSION, files, talk};

/// Learns from games with the person, into a file of its own.
pub(crate) struct Pupil {
    path: PathBuf,
    written: bool,
}

impl Pupil {
    /// For the agent across the board, which is left as it is; the file gets a free name unless one is given.
    pub(crate) fn new<G: Known>(game: &G, path: Option<&Path>, opponent: &Opponent<G>) -> Result<Pupil> {
        let Opponent::Agent(agent) = opponent else { bail!("only an agent can learn: choose one with --against") };
        // A game without moves teaches nothing, but shows whether the method could.
        registry::method(game, &agent.file.origin.method)?.learn_from(game, &agent.file, &[], Seat::First)?;
        let path = path.map_or_else(
            || {
                let names = std::iter::once(String::new()).chain((2..).map(|n| format!("-{n}")));
                let mut paths =
                    names.map(|n| PathBuf::from(format!("{}-learned{n}.safetensors", files::name_of(game))));
                paths.find(|path| !path.exists()).expect("some name is free")
            },
            Path::to_owned,
        );
        if path.exists() {
            bail!("{} exists already and is left as it is: choose another name", path.display());
        }
        Ok(Pupil { path, written: false })
    }

    /// Learns from one finished game, writes the file, and lets the opponent play on with what it has learned.
    pub(crate) fn learn<G: Known>(
        &mut self,
        game: &G,
        opponent: &mut Opponent<G>,
        moves: &[Action],
        seat: Seat,
    ) -> Result<()> {
        let Opponent::Agent(agent) = opponent else { return Ok(()) };
        let method = registry::method(game, &agent.file.origin.method)?;
        let weights = method.learn_from(game, &agent.file, moves, seat)?;
        let mut origin = agent.file.origin.clone();
        origin.games_with_a_person += 1;
        VERSION.clone_into(&mut origin.version);
        let file = AgentFile { origin, weights };
        agent.agent = method.load(game, "what was learned", &file)?;
        agent.file = file;
        let bytes = agent_file::to_bytes(&agent.file.origin, &agent.file.weights)?;
        let write = if self.written { files::write } else { files::write_new };
        write(&self.path, &bytes)?;
        self.written = true;
        Ok(talk::data(format!("it has learned from this game: {}", self.path.display()))?)
    }
}
