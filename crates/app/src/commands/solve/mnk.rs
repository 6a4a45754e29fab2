//! Small boards of k in a row, exactly.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use arena::record::write_moves;
use cpu_time::ProcessTime;
use oracle::mnk::Mnk;
use rules::grid::{Grid, Position};
use rules::{Action, Game, Wdl};

use super::{Answer, Args, GO_ON, Words, read_position};
use crate::board::{self, Note};
use crate::progress::thousands;
use crate::registry::Known;
use crate::talk::{DIM, HEAD, Look, paint};

/// Bytes of an entry in the solver's table.
const ENTRY: usize = 24;

/// The least memory that is taken, in bytes.
const LEAST_MEMORY: usize = 1 << 20;

pub(super) fn run(game: &Grid, args: &Args, look: Look) -> Result<()> {
    let bits = (args.memory(LEAST_MEMORY)? / ENTRY).ilog2();
    let too_large = || anyhow!("{} is too large: boards of at most 64 cells can be asked", game.title());
    let mut mnk = Mnk::new(game, bits).ok_or_else(too_large)?;
    let words = Words { key: "position", example: "'a1 b2' or 'x../.o./... x'" };
    args.answer(
        &words,
        |text| read_position(game, text),
        |text, position| {
            let found = Found::new(game, &mut mnk, position, args);
            Ok(Answer { page: found.page(look), line: format!("{text}\t{}", found.line()), json: found.json(text) })
        },
    )
}

/// What was found of a position.
struct Found<'a> {
    game: &'a Grid,
    position: Position,
    /// What it is worth to the side to move; `None` if the limit did not suffice.
    value: Option<Wdl>,
    /// What each move is worth; empty if it was not asked for, or if the limit did not suffice.
    moves: Vec<(Action, Wdl)>,
    nodes: u64,
    time: Duration,
    busy: Duration,
}

impl<'a> Found<'a> {
    fn new(game: &'a Grid, mnk: &mut Mnk, position: Position, args: &Args) -> Found<'a> {
        let (limit, nodes) = (args.nodes.unwrap_or(u64::MAX), mnk.nodes());
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let mover = game.to_move(&position);
        let (value, moves) = match game.outcome(&position).seen_by(mover) {
            Some(value) => (Some(value), Vec::new()),
            None => {
                let value = mnk.solve(&position, limit, &GO_ON);
                let left = limit - (mnk.nodes() - nodes);
                let moves = if args.weak { None } else { value.and_then(|_| mnk.moves(&position, left, &GO_ON)) };
                (value, moves.unwrap_or_default())
            }
        };
        let nodes = mnk.nodes() - nodes;
        Found { game, position, value, moves, nodes, time: start.elapsed(), busy: cpu.elapsed() }
    }

    fn result(&self) -> String {
        self.value.map_or("unknown".to_owned(), |value| value.to_string())
    }

    fn words(&self) -> String {
        let mover = self.game.seat_name(self.game.to_move(&self.position));
        if let Some(over) = board::result(self.game, &self.position) {
            return format!("the game is over: {over}");
        }
        match self.value {
            Some(Wdl::Win) => format!("{mover} wins"),
            Some(Wdl::Draw) => format!("{mover} draws"),
            Some(Wdl::Loss) => format!("{mover} loses"),
            None => format!("unknown: {} positions did not suffice", thousands(self.nodes)),
        }
    }

    /// The moves that keep the value.
    fn best(&self) -> String {
        self.value.map_or(String::new(), |value| self.worth(value))
    }

    /// The moves that are worth this.
    fn worth(&self, value: Wdl) -> String {
        let moves = self.moves.iter().filter(|(_, v)| *v == value);
        write_moves(self.game, &moves.map(|&(action, _)| action).collect::<Vec<_>>())
    }

    fn line(&self) -> String {
        format!("{}\t{}\t{}", self.result(), self.words(), self.best())
    }

    fn json(&self, text: &str) -> serde_json::Value {
        let value = |&(action, value): &(Action, Wdl)| (self.game.write_action(action), value.to_string().into());
        serde_json::json!({
            "position": text,
            "board": self.game.write_position(&self.position),
            "to_move": self.game.seat_name(self.game.to_move(&self.position)),
            "result": self.result(),
            "words": self.words(),
            "moves": self.moves.iter().map(value).collect::<serde_json::Map<_, _>>(),
            "nodes": self.nodes,
            "seconds": self.time.as_secs_f64(),
            "cpu_seconds": self.busy.as_secs_f64(),
        })
    }

    fn page(&self, look: Look) -> String {
        let mut notes = vec![Note::default(); self.game.cells()];
        for &(action, value) in &self.moves {
            notes[self.game.landing(&self.position, action)] = Note::of(value);
        }
        let large = board::has_large_cells(self.game) && !self.moves.is_empty();
        let mut lines = board::draw(look, self.game, &self.position, None, large.then_some(&notes));
        let style = self.value.map_or(HEAD, |value| Note::of(value).style());
        lines.push(format!("\n{}", paint(style, self.words())));
        if !large {
            for value in [Wdl::Win, Wdl::Draw, Wdl::Loss] {
                let moves = self.worth(value);
                if !moves.is_empty() {
                    lines.push(format!("{:5}  {moves}", value.to_string()));
                }
            }
        }
        let (nodes, seconds) = (thousands(self.nodes), self.time.as_secs_f64());
        lines.push(paint(DIM, format!("{nodes} positions searched in {seconds:.2} s")));
        lines.join("\n")
    }
}
