//! The agents that come with the program; `cargo xtask agents` makes them.

use rules::Game;

/// The file of the agent for this game, if one comes with the program.
pub(crate) fn of<G: Game>(game: &G) -> Option<&'static [u8]> {
    Some(match game.name().as_str() {
        "tictactoe" => include_bytes!("../../../agents/tictactoe.safetensors"),
        "connect4" => include_bytes!("../../../agents/connect4.safetensors"),
        "gomoku" => include_bytes!("../../../agents/gomoku.safetensors"),
        "gomoku:9" => include_bytes!("../../../agents/gomoku-9.safetensors"),
        _ => return None,
    })
}
