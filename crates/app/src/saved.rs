//! Games with a person as files.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use arena::record;
use rules::game::replay;
use rules::{Action, Game, Outcome, Seat};
use serde::{Deserialize, Serialize};

use crate::files;

/// A game with a person, finished or not, as one line of JSON.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    format: u64,
    game: String,
    first: String,
    second: String,
    moves: String,
    result: Option<record::Result>,
}

/// What stands in a saved game for the person.
const PERSON: &str = "human";

impl Saved {
    pub(crate) fn new<G: Game>(game: &G, seat: Seat, opponent: &str, moves: &[Action]) -> Saved {
        let name = |of| if of == seat { PERSON.to_owned() } else { opponent.to_owned() };
        let result = match game.outcome(&replay(game, moves).expect("only legal moves are saved")) {
            Outcome::Ongoing => None,
            Outcome::Draw => Some(record::Result::Draw),
            Outcome::Win(Seat::First) => Some(record::Result::First),
            Outcome::Win(Seat::Second) => Some(record::Result::Second),
        };
        let moves = record::write_moves(game, moves);
        Saved { format: 1, game: game.name(), first: name(Seat::First), second: name(Seat::Second), moves, result }
    }

    /// The person's seat and the moves, checked against the rules.
    pub(crate) fn read<G: Game>(game: &G, path: &Path) -> Result<(Seat, Vec<Action>)> {
        let source = path.display();
        let text = files::read_text(path)?;
        let saved: Saved = serde_json::from_str(&text).map_err(|e| anyhow!("{source}: not a saved game: {e}"))?;
        if saved.format != 1 || saved.game != game.name() {
            bail!("{source}: a game of {} in format {}, not of {} in format 1", saved.game, saved.format, game.name());
        }
        let seat = if saved.first == PERSON { Seat::First } else { Seat::Second };
        let mut position = game.start();
        let mut moves = Vec::new();
        for (i, text) in saved.moves.split_whitespace().enumerate() {
            let at = |e: &dyn std::fmt::Display| anyhow!("{source}: move {}: {e}", i + 1);
            let action = game.read_action(text).map_err(|e| at(&e))?;
            game.try_play(&mut position, action).map_err(|e| at(&e))?;
            moves.push(action);
        }
        Ok((seat, moves))
    }
}
