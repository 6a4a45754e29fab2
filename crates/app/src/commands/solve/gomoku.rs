//! Gomoku and Renju: what threat search proves.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use arena::record::write_moves;
use cpu_time::ProcessTime;
use oracle::gomoku::{Limits, Solver, Verdict};
use oracle::strategy::Strategy;
use rules::grid::{Grid, Position};
use rules::{Action, Game};
use serde_json::{Value, json};

use super::{Answer, Args, Words, read_position};
use crate::board::{self, Note};
use crate::exit::Ended;
use crate::progress::thousands;
use crate::talk::{BAD, DIM, GOOD, HEAD, Look, paint};
use crate::threats;

/// Positions for each question where no limit is named.
const NODES: u64 = 200_000;

pub(super) fn run(game: &Grid, args: &Args, look: Look) -> Result<()> {
    let nodes = args.nodes.unwrap_or(NODES);
    let solver = Solver::new(game, Limits { fours: nodes, threats: nodes });
    let mut solver = solver.ok_or_else(|| anyhow!("threats are searched for in five in a row only"))?;
    let words = Words { key: "position", example: "'h8 i9 j8', or a board by rows and the side to move" };
    args.answer(
        &words,
        |text| read_position(game, text),
        |text, position| {
            let found = Found::new(game, &mut solver, position)?;
            let json = found.json(text, nodes);
            Ok(Answer { page: found.page(look, nodes), line: format!("{text}\t{}", found.line()), json })
        },
    )
}

/// What was found of a position.
struct Found<'a> {
    game: &'a Grid,
    position: Position,
    /// `None` if the game is over.
    verdict: Option<Verdict>,
    nodes: u64,
    time: Duration,
    busy: Duration,
}

impl<'a> Found<'a> {
    fn new(game: &'a Grid, solver: &mut Solver, position: Position) -> Result<Found<'a>> {
        let before = solver.nodes();
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let verdict = (!game.outcome(&position).is_over()).then(|| solver.solve(&position));
        let nodes = solver.nodes() - before;
        if let Some(verdict) = &verdict {
            verify(game, &position, verdict)?;
        }
        Ok(Found { game, position, verdict, nodes, time: start.elapsed(), busy: cpu.elapsed() })
    }

    fn result(&self) -> &'static str {
        match &self.verdict {
            None => "over",
            Some(Verdict::Win(_)) => "win",
            Some(Verdict::Threatened { remaining, .. }) if remaining.is_empty() => "loss",
            Some(Verdict::Threatened { .. }) => "threatened",
            Some(Verdict::Unknown { .. }) => "unknown",
        }
    }

    fn words(&self) -> Option<threats::Words<'_>> {
        let Found { game, position, .. } = self;
        Some(threats::Words { game, position, verdict: self.verdict.as_ref()? })
    }

    fn sentence(&self) -> String {
        match self.words() {
            Some(words) => words.sentence(),
            None => {
                let result = board::result(self.game, &self.position).expect("the game is over");
                format!("the game is over: {result}")
            }
        }
    }

    /// The line of a proved win or loss.
    fn play(&self) -> Vec<Action> {
        self.words().map(|words| words.line()).unwrap_or_default()
    }

    /// The moves that may hold, where others are proved to lose.
    fn defences(&self) -> &[Action] {
        match &self.verdict {
            Some(Verdict::Threatened { remaining, .. }) => remaining,
            _ => &[],
        }
    }

    fn line(&self) -> String {
        let moves = if self.defences().is_empty() { self.play() } else { self.defences().to_vec() };
        format!("{}\t{}\t{}", self.result(), self.sentence(), write_moves(self.game, &moves))
    }

    fn json(&self, text: &str, nodes: u64) -> Value {
        let game = self.game;
        let names = |actions: &[Action]| actions.iter().map(|&a| game.write_action(a)).collect::<Vec<_>>();
        let mut answer = json!({
            "position": text,
            "board": game.write_position(&self.position),
            "to_move": game.seat_name(game.to_move(&self.position)),
            "result": self.result(),
            "words": self.sentence(),
            "line": names(&self.play()),
            "limit": nodes,
            "nodes": self.nodes,
            "seconds": self.time.as_secs_f64(),
            "cpu_seconds": self.busy.as_secs_f64(),
        });
        match &self.verdict {
            Some(Verdict::Win(strategy)) => answer["proof"] = proof(game, strategy),
            Some(Verdict::Threatened { remaining, losing }) => {
                answer["defences"] = names(remaining).into();
                let loses = |(action, strategy): &(Action, Strategy)| {
                    (game.write_action(*action), names(&strategy.line()).into())
                };
                answer["losing"] = Value::Object(losing.iter().map(loses).collect());
            }
            Some(Verdict::Unknown { complete }) => answer["complete"] = (*complete).into(),
            None => {}
        }
        answer
    }

    fn page(&self, look: Look, nodes: u64) -> String {
        let (mut notes, play) = (vec![Note::default(); self.game.cells()], self.play());
        for (number, &action) in play.iter().enumerate().take(9) {
            notes[usize::from(action)] = Note { text: (number + 1).to_string(), mood: None };
        }
        for &action in self.defences() {
            notes[usize::from(action)] = Note { text: "!".to_owned(), mood: None };
        }
        let mut lines = board::draw(look, self.game, &self.position, None, Some(&notes));
        let style = match self.result() {
            "win" => GOOD,
            "loss" => BAD,
            _ => HEAD,
        };
        lines.push(format!("\n{}", paint(style, self.sentence())));
        if !play.is_empty() {
            lines
                .push(format!("the line of the longest resistance, numbered above: {}", write_moves(self.game, &play)));
        }
        if self.defences().len() > 1 {
            lines.push(format!("the moves that may stop it: {}", write_moves(self.game, self.defences())));
        }
        if let Some(Verdict::Win(_) | Verdict::Threatened { .. }) = &self.verdict {
            lines.push("what wins and what loses is proved against every reply, by the rules alone".to_owned());
        }
        if self.verdict.is_some() {
            let (searched, limit) = (thousands(self.nodes), thousands(nodes));
            let seconds = self.time.as_secs_f64();
            lines
                .push(paint(DIM, format!("{searched} positions in {seconds:.2} s; at most {limit} for each question")));
        }
        lines.join("\n")
    }
}

/// Checks everything that a verdict claims.
fn verify(game: &Grid, position: &Position, verdict: &Verdict) -> Result<()> {
    let holds = |position: &Position, strategy: &Strategy| match strategy.verify(game, position) {
        Ok(()) => Ok(()),
        Err(flaw) => {
            let (at, line) = (game.write_position(position), write_moves(game, &flaw.line));
            bail!(Ended::Failed(format!("a proof does not hold, please report it: {at}, after {line}: {}", flaw.why)))
        }
    };
    match verdict {
        Verdict::Win(strategy) => holds(position, strategy),
        Verdict::Threatened { losing, .. } => losing.iter().try_for_each(|(action, strategy)| {
            let mut after = *position;
            game.play(&mut after, *action);
            holds(&after, strategy)
        }),
        Verdict::Unknown { .. } => Ok(()),
    }
}

/// A forced win as a tree: a move, the replies that need an answer of their own, and what follows after any other.
fn proof(game: &Grid, strategy: &Strategy) -> Value {
    let mut tree = json!({ "move": game.write_action(strategy.action) });
    if !strategy.replies.is_empty() {
        let reply = |(action, next): &(Action, Strategy)| (game.write_action(*action), proof(game, next));
        tree["replies"] = Value::Object(strategy.replies.iter().map(reply).collect());
    }
    if let Some(next) = &strategy.otherwise {
        tree["otherwise"] = proof(game, next);
    }
    tree
}
