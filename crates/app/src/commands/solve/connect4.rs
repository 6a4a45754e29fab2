//! Connect Four: positions, the published sets, and the book.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cpu_time::ProcessTime;
use oracle::connect4::{Book, Published, Score, Solver, read_moves};
use rules::connect4::{COLUMNS, Connect4, Position};
use rules::{Action, Game, Wdl};

use super::{Answer, Args, GO_ON, Words};
use crate::exit::Ended;
use crate::talk::{self, BAD, DIM, GOOD, HEAD, Look, paint};
use crate::{board, files, progress};

/// Time between two words about how far the book is.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Time between two copies of the unfinished book on disk.
const SAVE_EVERY: Duration = Duration::from_secs(2);

pub(super) fn run(args: &Args, look: Look) -> Result<()> {
    let solver = Solver::new(args.memory(Solver::LEAST_MEMORY)?, args.threads()?);
    if let Some(sets) = &args.bench {
        return bench(solver, sets, args.json);
    }
    if let Some(path) = &args.make_book {
        return make_book(solver, path);
    }
    let mut oracle = Oracle { solver: solver.with_book(Book::built_in()), weak: args.weak };
    let words = Words { key: "moves", example: "4455" };
    args.answer(
        &words,
        |moves| Ok(read_moves(moves)?),
        |moves, position| {
            let found = oracle.answer(moves, position)?;
            Ok(Answer { page: found.page(look), line: found.line(), json: found.json() })
        },
    )
}

/// Answers questions about positions.
struct Oracle {
    solver: Solver,
    weak: bool,
}

/// What is known of a position.
struct Found {
    moves: String,
    position: Position,
    worth: Worth,
    /// What each column is worth to the side to move; `None` where no stone may be played.
    columns: [Option<Worth>; COLUMNS],
    /// Best play to the end.
    line: Vec<Action>,
}

/// How well the side to move does.
#[derive(Clone, Copy)]
enum Worth {
    Score(Score),
    Weak(Wdl),
}

impl Worth {
    fn wdl(self) -> Wdl {
        match self {
            Worth::Score(score) => score.wdl(),
            Worth::Weak(wdl) => wdl,
        }
    }

    fn short(self) -> String {
        match self {
            Worth::Score(score) => score.to_string(),
            Worth::Weak(wdl) => word(wdl).to_owned(),
        }
    }

    fn json(self) -> serde_json::Value {
        match self {
            Worth::Score(score) => score.0.into(),
            Worth::Weak(wdl) => word(wdl).into(),
        }
    }
}

fn word(wdl: Wdl) -> &'static str {
    match wdl {
        Wdl::Win => "win",
        Wdl::Draw => "draw",
        Wdl::Loss => "loss",
    }
}

impl Oracle {
    fn answer(&mut self, moves: &str, position: Position) -> Result<Found> {
        let Oracle { solver, weak } = self;
        let (worth, columns, line) = if *weak {
            let mut columns = [None; COLUMNS];
            solver.prepare(&position);
            for action in rules::game::legal_actions(&Connect4, &position) {
                let mut after = position;
                Connect4.play(&mut after, action);
                columns[usize::from(action)] = Some(Worth::Weak(solver.weak(&after, &GO_ON)?.flip()));
            }
            (Worth::Weak(solver.weak(&position, &GO_ON)?), columns, Vec::new())
        } else {
            let columns = solver.scores(&position, &GO_ON)?.map(|score| score.map(Worth::Score));
            (Worth::Score(solver.score(&position, &GO_ON)?), columns, solver.line(&position, &GO_ON)?)
        };
        Ok(Found { moves: moves.to_owned(), position, worth, columns, line })
    }
}

impl Found {
    /// Who is to move, and what that side can expect.
    fn words(&self) -> String {
        let mover = Connect4.seat_name(Connect4.to_move(&self.position));
        match self.worth {
            Worth::Score(score) => format!("{mover} {}", score.words(&self.position)),
            Worth::Weak(Wdl::Win) => format!("{mover} wins"),
            Worth::Weak(Wdl::Draw) => format!("{mover} draws"),
            Worth::Weak(Wdl::Loss) => format!("{mover} loses"),
        }
    }

    fn best_play(&self) -> String {
        self.line.iter().map(|&action| Connect4.write_action(action)).collect()
    }

    /// For standard output, one line.
    fn line(&self) -> String {
        let columns = self.columns.map(|worth| worth.map_or("-".to_owned(), Worth::short)).join(" ");
        let mut line = format!("{}\t{}\t{}\t{columns}", self.moves, self.worth.short(), self.words());
        if matches!(self.worth, Worth::Score(_)) {
            let _ = write!(line, "\t{}", self.best_play());
        }
        line
    }

    fn json(&self) -> serde_json::Value {
        let mut json = serde_json::json!({
            "moves": self.moves,
            "to_move": Connect4.seat_name(Connect4.to_move(&self.position)),
            "result": word(self.worth.wdl()),
            "words": self.words(),
            "columns": self.columns.map(|worth| worth.map(Worth::json)),
        });
        if let Worth::Score(score) = self.worth {
            json["score"] = score.0.into();
            json["moves_to_win"] = score.moves_to_win(&self.position).into();
            json["line"] = self.best_play().into();
        }
        json
    }

    /// For a person, with a picture.
    fn page(&self, look: Look) -> String {
        let last = self.moves.chars().last().and_then(|column| column.to_digit(10)).map(|column| column as usize - 1);
        let top = last.and_then(|column| {
            (column..Connect4.cells()).step_by(COLUMNS).find(|&cell| Connect4.stone(&self.position, cell).is_some())
        });
        let mut lines = board::draw(look, &Connect4, &self.position, top, None);
        let style = match self.worth.wdl() {
            Wdl::Win => GOOD,
            Wdl::Draw => HEAD,
            Wdl::Loss => BAD,
        };
        let score = match self.worth {
            Worth::Score(score) => format!(": score {score} for the side to move"),
            Worth::Weak(_) => String::new(),
        };
        lines.push(format!("\n{}{score}", paint(style, self.words())));
        if self.columns.iter().any(Option::is_some) {
            let cells = |cell: &dyn Fn(usize) -> String| (0..COLUMNS).map(cell).collect::<String>();
            let names = cells(&|column| format!("{:>6}", Connect4.write_action(column as Action)));
            let worths = cells(&|column| format!("{:>6}", self.columns[column].map_or("-".to_owned(), Worth::short)));
            lines.push(format!("\n{}", paint(DIM, format!("column   {names}"))));
            lines.push(format!("worth    {worths}"));
        }
        if !self.line.is_empty() {
            lines.push(format!("best play to the end: {}", self.best_play()));
        }
        lines.join("\n")
    }
}

/// Solves sets of positions, each position by a solver that knows nothing yet, and says how long it took.
fn bench(mut solver: Solver, sets: &[String], json: bool) -> Result<()> {
    let published = Published::SETS.map(|set| set.name.to_owned());
    let sets = if sets.is_empty() { &published } else { sets };
    let mut wrong = 0;
    if !json {
        let head = format!(
            "{:16} {:>9} {:>14} {:>14} {:>12} {:>7}",
            "set", "positions", "mean us", "mean nodes", "nodes/s", "agree"
        );
        talk::data(paint(HEAD, head))?;
    }
    for name in sets {
        let mut timing = Timing::default();
        let mut line = |moves: &str, expected| timing.position(&mut solver, name, moves, expected, json);
        if let Some(set) = Published::SETS.iter().find(|set| set.name == name) {
            set.lines().try_for_each(|(moves, score)| line(moves, Some(score)))?;
        } else if name == "-" {
            for text in io::stdin().lock().lines() {
                read_line(&text?, &mut line).context("standard input")?;
            }
        } else {
            let text = files::read_text(Path::new(name))?;
            text.lines().try_for_each(|text| read_line(text, &mut line)).with_context(|| name.clone())?;
        }
        wrong += timing.positions - timing.agree;
        if !json {
            talk::data(timing.line(name))?;
        }
    }
    if wrong > 0 {
        bail!(Ended::Failed(format!("{wrong} scores are not those that were published")));
    }
    Ok(())
}

/// Moves and, after a blank, the score that is expected.
fn read_line(text: &str, line: &mut dyn FnMut(&str, Option<Score>) -> Result<()>) -> Result<()> {
    let (moves, score) = text.trim_end().split_once(' ').map_or((text.trim_end(), None), |(m, s)| (m, Some(s)));
    let expected = score.map(|score| score.parse().map(Score).with_context(|| format!("{text}: no score")));
    line(moves, expected.transpose()?)
}

/// What solving a set took.
#[derive(Default)]
struct Timing {
    positions: u64,
    agree: u64,
    time: Duration,
    nodes: u64,
}

impl Timing {
    fn position(
        &mut self,
        solver: &mut Solver,
        set: &str,
        moves: &str,
        expected: Option<Score>,
        json: bool,
    ) -> Result<()> {
        let position = read_moves(moves).with_context(|| rules::notation::quote(moves))?;
        solver.clear();
        let nodes = solver.nodes();
        // Asking for the processor's time takes a good part of what an easy position takes, so the clock runs inside.
        let (cpu, start) = (ProcessTime::now(), Instant::now());
        let score = solver.score(&position, &GO_ON)?;
        let (time, cpu) = (start.elapsed(), cpu.elapsed());
        let nodes = solver.nodes() - nodes;
        self.positions += 1;
        self.time += time;
        self.nodes += nodes;
        if expected.is_none_or(|expected| expected == score) {
            self.agree += 1;
        } else {
            talk::say(format!("{set}: {moves} has score {score}, not as published"));
        }
        if json {
            let us = |time: Duration| time.as_nanos() as f64 / 1e3;
            talk::data(serde_json::json!({
                "set": set, "moves": moves, "score": score.0, "nodes": nodes, "us": us(time), "cpu_us": us(cpu),
            }))?;
        }
        Ok(())
    }

    fn line(&self, name: &str) -> String {
        let (seconds, count) = (self.time.as_secs_f64(), self.positions.max(1) as f64);
        let per_second = self.nodes as f64 / seconds.max(f64::MIN_POSITIVE);
        format!(
            "{name:16} {:>9} {:>14.3} {:>14.1} {per_second:>12.0} {:>7}",
            self.positions,
            seconds / count * 1e6,
            self.nodes as f64 / count,
            self.agree
        )
    }
}

/// Finds what is missing in the book, and saves it every few seconds.
fn make_book(mut solver: Solver, path: &Path) -> Result<()> {
    let positions = Book::positions();
    let mut scores = vec![None; positions.len()];
    if path.exists() {
        let book = Book::from_bytes(&files::read(path)?).with_context(|| path.display().to_string())?;
        scores = positions.iter().map(|position| book.score(position)).collect();
    }
    let places: HashMap<Position, usize> = positions.iter().copied().zip(0..).collect();
    let known: Vec<bool> = scores.iter().map(Option::is_some).collect();
    let before = known.iter().filter(|&&known| known).count();
    let mut count = before;
    let all = progress::thousands(positions.len() as u64);
    let (start, mut told, mut saved) = (Instant::now(), Instant::now(), Instant::now());
    // Written once before the work, so that a file that cannot be written is known at once.
    files::write(path, &Book::to_bytes(&scores))?;
    let (mut failed, stop) = (Ok(()), AtomicBool::new(false));
    let made = Book::make(
        &mut solver,
        &stop,
        |position| known[places[position]],
        |position, score| {
            scores[places[position]] = Some(score);
            count += 1;
            if saved.elapsed() >= SAVE_EVERY {
                failed = files::write(path, &Book::to_bytes(&scores));
                stop.store(failed.is_err(), Relaxed);
                saved = Instant::now();
            }
            if told.elapsed() >= TELL_EVERY {
                let rate = (count - before) as f64 / start.elapsed().as_secs_f64();
                let left = (positions.len() - count) as f64 / rate / 60.0;
                let found = progress::thousands(count as u64);
                talk::say(format!("{found} of {all} positions are solved, about {left:.0} minutes left"));
                told = Instant::now();
            }
        },
    );
    failed?;
    made?;
    files::write(path, &Book::to_bytes(&scores))?;
    talk::say(format!("{} holds the scores of all {all} positions with {} stones", path.display(), Book::STONES));
    Ok(())
}
