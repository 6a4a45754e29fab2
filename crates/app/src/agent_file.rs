//! What stands in an agent's file and in a checkpoint beside the numbers: one JSON text that says what they are.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use net::file::{self, Tensor};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::files;

/// The version of the metadata below; files of other versions are refused.
pub(crate) const FORMAT: u64 = 1;

/// Where the numbers come from: all that is needed to use them, or to make them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Origin<C> {
    /// [`FORMAT`].
    pub(crate) format: u64,
    /// The game's name.
    pub(crate) game: String,
    /// The method's name.
    pub(crate) method: String,
    /// The method's encoding version.
    pub(crate) encoding: u32,
    /// The preset that the settings started from.
    pub(crate) preset: String,
    /// The settings that differ from the preset's by hand.
    pub(crate) changed: Vec<String>,
    /// The seats that were trained: `first`, `second`.
    pub(crate) seats: Vec<String>,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// Games learned from in training.
    pub(crate) games: u64,
    /// Games learned from afterwards, against a person.
    pub(crate) games_with_a_person: u64,
    /// The program's version.
    pub(crate) version: String,
    /// The method's settings.
    pub(crate) config: C,
    /// In a checkpoint only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moment: Option<Moment>,
}

/// What a checkpoint adds: all that a learner needs to go on beside its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Moment {
    /// The learner's counters.
    pub(crate) counters: Vec<(String, u64)>,
    /// How much of `metrics.jsonl` had been written, in bytes.
    pub(crate) metrics: u64,
}

/// A file of weights that has been read, its settings not yet.
#[derive(Clone, Debug)]
pub(crate) struct AgentFile {
    /// Where it comes from.
    pub(crate) origin: Origin<serde_json::Value>,
    /// The weights.
    pub(crate) weights: Vec<Tensor>,
}

impl AgentFile {
    /// Reads an agent; `source` names it in messages.
    pub(crate) fn from_bytes(source: &str, bytes: &[u8]) -> Result<AgentFile> {
        let (origin, weights) = from_bytes(source, bytes)?;
        if origin.moment.is_some() {
            bail!("{source}: this is a checkpoint, not an agent: continue its run with 'tengen resume'");
        }
        Ok(AgentFile { origin, weights })
    }

    pub(crate) fn read(path: &Path) -> Result<AgentFile> {
        AgentFile::from_bytes(&path.display().to_string(), &files::read(path)?)
    }

    /// Numbers that were learned.
    pub(crate) fn weight_count(&self) -> usize {
        self.weights.iter().map(|tensor| tensor.data.len()).sum()
    }
}

/// The bytes of a file with these numbers: of an agent, or of a checkpoint when `origin.moment` is there.
pub(crate) fn to_bytes<C: Serialize>(origin: &Origin<C>, tensors: &[Tensor]) -> Result<Vec<u8>> {
    Ok(file::write(&serde_json::to_string(origin)?, tensors))
}

/// Reads a checkpoint; its `origin.moment` is there.
pub(crate) fn read_checkpoint<C: DeserializeOwned>(path: &Path) -> Result<(Origin<C>, Vec<Tensor>)> {
    let source = path.display().to_string();
    let (origin, tensors) = from_bytes::<C>(&source, &files::read(path)?)?;
    if origin.moment.is_none() {
        bail!("{source}: this is an agent, not a checkpoint");
    }
    Ok((origin, tensors))
}

fn from_bytes<C: DeserializeOwned>(source: &str, bytes: &[u8]) -> Result<(Origin<C>, Vec<Tensor>)> {
    #[derive(Deserialize)]
    struct Head {
        format: u64,
    }
    let (metadata, tensors) = file::read(bytes).map_err(|e| anyhow!("{source}: {e}"))?;
    let damaged = |e: serde_json::Error| anyhow!("{source}: damaged metadata: {e}");
    let head: Head = serde_json::from_str(&metadata).map_err(damaged)?;
    if head.format != FORMAT {
        bail!("{source}: written in format {}, and this program reads format {FORMAT}", head.format);
    }
    Ok((serde_json::from_str(&metadata).map_err(damaged)?, tensors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin<f32> {
        Origin {
            format: FORMAT,
            game: "tictactoe".to_owned(),
            method: "outcome".to_owned(),
            encoding: 1,
            preset: "strong".to_owned(),
            changed: vec![],
            seats: vec!["first".to_owned()],
            seed: u64::MAX,
            games: 100,
            games_with_a_person: 0,
            version: "0.1.0".to_owned(),
            config: 0.1,
            moment: None,
        }
    }

    #[test]
    fn an_agent_is_read_back_and_a_number_keeps_its_shortest_form() {
        let weights = vec![Tensor::new("a", &[2], vec![1.0, 2.0])];
        let bytes = to_bytes(&origin(), &weights).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(r#"\"config\":0.1}"#));
        let file = AgentFile::from_bytes("x", &bytes).unwrap();
        assert_eq!((file.weights, file.origin.seed, file.origin.config), (weights, u64::MAX, serde_json::json!(0.1)));
    }

    #[test]
    fn other_formats_and_other_kinds_are_refused_by_name() {
        let error = |origin: &Origin<f32>| {
            AgentFile::from_bytes("x.safetensors", &to_bytes(origin, &[]).unwrap()).unwrap_err().to_string()
        };
        let newer = Origin { format: 7, ..origin() };
        assert_eq!(error(&newer), "x.safetensors: written in format 7, and this program reads format 1");
        let checkpoint = Origin { moment: Some(Moment { counters: vec![], metrics: 0 }), ..origin() };
        assert!(error(&checkpoint).starts_with("x.safetensors: this is a checkpoint, not an agent"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        std::fs::write(&path, to_bytes(&origin(), &[]).unwrap()).unwrap();
        assert!(read_checkpoint::<f32>(&path).unwrap_err().to_string().contains("this is an agent"));
    }

    #[test]
    fn metadata_that_is_not_ours_is_called_damaged() {
        for metadata in ["", "{}", "[]", r#"{"format":1}"#, r#"{"format":1,"surprise":true}"#] {
            let error = AgentFile::from_bytes("x", &file::write(metadata, &[])).unwrap_err().to_string();
            assert!(error.starts_with("x: damaged metadata"), "{error}");
        }
    }
}
