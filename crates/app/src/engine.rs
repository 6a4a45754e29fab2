//! Programs of others as players: any that speaks the Gomocup protocol (P. Laštovička and M. Petříček, "Gomoku AI
//! protocol"), as a child process with limits of its own.
//!
//! What a program says beside its moves is tolerated: MESSAGE, DEBUG and UNKNOWN lines, empty lines, any line ends,
//! bytes that are no text. If it ends, says ERROR, plays off the board or takes too long, it loses that game.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rules::notation::quote;
use rules::{Action, Choice, Forfeit, Game, NotExact, Player, Rng, Seat};

/// What an engine may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// Time for one move.
    pub(crate) turn: Duration,
    /// Time for all its moves of a game, if that is limited.
    pub(crate) game: Option<Duration>,
    /// Memory in MiB, if that is limited: the engine is told and trusted.
    pub(crate) memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { turn: Duration::from_secs(5), game: None, memory: None }
    }
}

/// What the protocol calls the rule of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineRule {
    /// Five or more.
    Freestyle = 0,
    /// Exactly five.
    Standard = 1,
    /// Renju.
    Renju = 4,
}

impl std::fmt::Display for EngineRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            EngineRule::Freestyle => "freestyle",
            EngineRule::Standard => "standard",
            EngineRule::Renju => "renju",
        })
    }
}

/// Time for an engine to begin, whatever the limits for moves are.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Time that may pass between the two programs and is not held against the engine.
const TOLERANCE: Duration = Duration::from_millis(200);

/// Time for an engine to leave when it is told to, before it is ended.
const END_LIMIT: Duration = Duration::from_millis(500);

/// The longest line that is read, in bytes; the rest of it is dropped.
const LONGEST_LINE: usize = 4096;

/// An engine as a player.
pub(crate) struct Engine<G: Game> {
    command: String,
    rule: EngineRule,
    limits: Limits,
    /// The running program; none after it failed.
    process: Option<Process>,
    /// The position that it left behind with its last move.
    last: Option<G::Position>,
    /// The time that it has used in this game.
    used: Duration,
}

impl<G: Game> Engine<G> {
    /// Starts an engine by its command.
    pub(crate) fn new(game: &G, command: &str, rule: EngineRule, limits: Limits) -> Result<Self> {
        let process = Some(Process::start(game, command, rule, limits)?);
        Ok(Engine { command: command.to_owned(), rule, limits, process, last: None, used: Duration::ZERO })
    }

    /// Shows the engine what is new and waits for its move.
    fn ask(&mut self, game: &G, position: &G::Position) -> Result<(usize, usize), Forfeit> {
        let failed = |e: anyhow::Error| Forfeit::Failed(format!("{e:#}"));
        // A game goes on if one stone came to the engine's last move; else the whole board is new to it.
        let reply = self.last.take().and_then(|last| only_new_stone(game, &last, position));
        let (mut process, begun) = match self.process.take() {
            Some(process) => (process, true),
            None => (Process::start(game, &self.command, self.rule, self.limits).map_err(failed)?, false),
        };
        if reply.is_none() {
            self.used = Duration::ZERO;
            if begun {
                process.restart(game).map_err(failed)?;
            }
        }
        let left = self.limits.game.map(|limit| limit.saturating_sub(self.used));
        let limit = left.map_or(self.limits.turn, |left| left.min(self.limits.turn));
        process.forget_answers();
        if let Some(left) = left {
            process.send(&format!("INFO time_left {}", left.as_millis())).map_err(failed)?;
        }
        let begun = Instant::now();
        match reply {
            Some(cell) => process.send(&format!("TURN {}", point(game, cell))),
            None => process.send(&whole_board(game, position)),
        }
        .map_err(failed)?;
        let answer = process.wait_for_move(limit + TOLERANCE)?;
        self.used += begun.elapsed().saturating_sub(TOLERANCE);
        self.process = Some(process);
        Ok(answer)
    }
}

impl<G: Game> Player<G> for Engine<G> {
    fn name(&self) -> String {
        format!("engine:{}", self.command)
    }

    fn distribution(&mut self, _: &G, _: &G::Position, _: &mut Vec<Choice>) -> Result<(), NotExact> {
        Err(NotExact("another program chooses".to_owned()))
    }

    fn choose(&mut self, game: &G, position: &G::Position, _: &mut Rng) -> Result<Action, Forfeit> {
        let (x, y) = self.ask(game, position)?;
        if x >= game.columns() || y >= game.rows() {
            // Off the board: the referee refuses it.
            return Ok(Action::MAX);
        }
        let action = (y * game.columns() + x) as Action;
        let mut after = *position;
        self.last = game.try_play(&mut after, action).is_ok().then_some(after);
        Ok(action)
    }
}

/// The cell of the one stone that `after` has and `before` has not, if that is all the difference.
fn only_new_stone<G: Game>(game: &G, before: &G::Position, after: &G::Position) -> Option<usize> {
    let mut changed = (0..game.cells()).filter(|&cell| game.stone(before, cell) != game.stone(after, cell));
    let (cell, none) = (changed.next()?, changed.next());
    let new = game.stone(before, cell).is_none() && game.stone(after, cell) == Some(game.to_move(before));
    (none.is_none() && new && game.to_move(after) != game.to_move(before)).then_some(cell)
}

/// A cell as the protocol writes it: column and row from the top left, from 0.
fn point<G: Game>(game: &G, cell: usize) -> String {
    format!("{},{}", cell % game.columns(), cell / game.columns())
}

/// The request for a move in a position that is new to the engine.
fn whole_board<G: Game>(game: &G, position: &G::Position) -> String {
    let own = game.to_move(position);
    let stones = |seat: Seat| (0..game.cells()).filter(move |&cell| game.stone(position, cell) == Some(seat));
    let (mut first, mut second) = (stones(Seat::First), stones(Seat::Second));
    if game.ply(position) == 0 {
        return "BEGIN".to_owned();
    }
    // By turns, as many engines take the order for that of the moves.
    let mut text = "BOARD\r\n".to_owned();
    loop {
        let next = [(Seat::First, first.next()), (Seat::Second, second.next())];
        if next.iter().all(|(_, cell)| cell.is_none()) {
            return text + "DONE";
        }
        for (seat, cell) in next.into_iter().filter_map(|(seat, cell)| Some((seat, cell?))) {
            text += &format!("{},{}\r\n", point(game, cell), if seat == own { 1 } else { 2 });
        }
    }
}

/// A running program.
struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    /// Starts the program and waits until it says that it can play.
    fn start<G: Game>(game: &G, command: &str, rule: EngineRule, limits: Limits) -> Result<Process> {
        let words = split_command(command)?;
        let mut program = Command::new(&words[0]);
        program.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        {
            // Ctrl-C in the terminal is for us: we end the engine ourselves.
            std::os::unix::process::CommandExt::process_group(&mut program, 0);
        }
        let mut child = program.spawn().with_context(|| format!("{} can't be started", quote(command)))?;
        let input = child.stdin.take().expect("its input is piped");
        let output = child.stdout.take().expect("its output is piped");
        let (sender, lines) = sync_channel(64);
        std::thread::spawn(move || read_lines(BufReader::new(output), &sender));
        let mut process = Process { child, input, lines };
        process.begin(game)?;
        let milliseconds = |time: Duration| time.as_millis();
        process.send(&format!("INFO timeout_turn {}", milliseconds(limits.turn)))?;
        process.send(&format!("INFO timeout_match {}", limits.game.map_or(0, milliseconds)))?;
        process.send(&format!("INFO max_memory {}", limits.memory.unwrap_or(0) << 20))?;
        process.send("INFO game_type 1")?;
        process.send(&format!("INFO rule {}", rule as u8))?;
        Ok(process)
    }

    fn begin<G: Game>(&mut self, game: &G) -> Result<()> {
        let (columns, rows) = (game.columns(), game.rows());
        if columns == rows {
            self.send(&format!("START {columns}"))?;
        } else {
            self.send(&format!("RECTSTART {columns},{rows}"))?;
        }
        match self.wait_for_ok()? {
            Ok(()) => Ok(()),
            Err(refusal) => bail!("the engine can't play on {columns}x{rows}: {}", quote(&refusal)),
        }
    }

    /// Clears the board for another game.
    fn restart<G: Game>(&mut self, game: &G) -> Result<()> {
        self.forget_answers();
        self.send("RESTART")?;
        // Not every engine knows the word; all know how to begin.
        if self.wait_for_ok()?.is_err() { self.begin(game) } else { Ok(()) }
    }

    fn send(&mut self, command: &str) -> Result<()> {
        let sent = self.input.write_all(format!("{command}\r\n").as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|_| self.ended())
    }

    /// Drops what was said without being asked.
    fn forget_answers(&mut self) {
        while self.lines.try_recv().is_ok() {}
    }

    /// The next line that is no chatter.
    fn line_before(&mut self, end: Instant) -> Result<String, Silence> {
        self.lines.recv_timeout(end.saturating_duration_since(Instant::now())).map_err(|e| match e {
            RecvTimeoutError::Timeout => Silence::TooLong,
            RecvTimeoutError::Disconnected => Silence::Ended,
        })
    }

    /// Waits for OK, or for the line by which the engine refuses.
    fn wait_for_ok(&mut self) -> Result<Result<(), String>> {
        let end = Instant::now() + START_LIMIT;
        loop {
            match self.line_before(end) {
                Ok(line) if starts_with_word(&line, "OK") => return Ok(Ok(())),
                Ok(line) if starts_with_word(&line, "ERROR") || starts_with_word(&line, "UNKNOWN") => {
                    return Ok(Err(line));
                }
                Ok(_) => {}
                Err(Silence::TooLong) => bail!("the engine did not say OK in {} seconds", START_LIMIT.as_secs()),
                Err(Silence::Ended) => return Err(self.ended()),
            }
        }
    }

    /// Waits for a move: column and row from 0.
    fn wait_for_move(&mut self, limit: Duration) -> Result<(usize, usize), Forfeit> {
        let end = Instant::now() + limit;
        loop {
            match self.line_before(end) {
                Ok(line) if starts_with_word(&line, "ERROR") => return Err(Forfeit::Failed(quote(&line))),
                Ok(line) => {
                    if let Some(point) = read_point(&line) {
                        return Ok(point);
                    }
                }
                Err(Silence::TooLong) => return Err(Forfeit::TimedOut),
                Err(Silence::Ended) => return Err(Forfeit::Failed(self.ended().to_string())),
            }
        }
    }

    /// The error for a program that is no longer there.
    fn ended(&mut self) -> anyhow::Error {
        match wait_for_end(&mut self.child, END_LIMIT) {
            Some(status) => anyhow!("the engine ended ({status})"),
            None => anyhow!("the engine closed its output"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already, and then there is nobody to tell.
        let told = self.send("END").is_ok();
        if !told || wait_for_end(&mut self.child, END_LIMIT).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Why no line came.
enum Silence {
    TooLong,
    Ended,
}

fn wait_for_end(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
    let end = Instant::now() + limit;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Passes on every line that is no chatter, until the output ends or nobody listens. Lines end with LF, CR or both.
fn read_lines(output: impl BufRead, lines: &SyncSender<String>) {
    let mut line = Vec::new();
    for byte in output.bytes() {
        match byte {
            Err(_) => return,
            Ok(b'\n' | b'\r') => {
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                line.clear();
                let chatter = ["MESSAGE", "DEBUG"].iter().any(|word| starts_with_word(&text, word));
                if !text.is_empty() && !chatter && lines.send(text).is_err() {
                    return;
                }
            }
            Ok(byte) if line.len() < LONGEST_LINE => line.push(byte),
            Ok(_) => {}
        }
    }
}

/// Whether the line begins with this word, in either case.
fn starts_with_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphanumeric()).next().is_some_and(|first| first.eq_ignore_ascii_case(word))
}

/// Reads `x,y`. Numbers that no board has become the greatest, which is off every board.
fn read_point(line: &str) -> Option<(usize, usize)> {
    let (x, y) = line.split_once(',')?;
    let number = |text: &str| text.trim().parse::<i64>().ok().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    Some((number(x)?, number(y)?))
}

/// A command as a program and its arguments: words between blanks, or between quotes. The name of a file is a program
/// even if there are blanks in it.
fn split_command(command: &str) -> Result<Vec<String>> {
    let command = command.trim();
    if Path::new(command).is_file() {
        return Ok(vec![command.to_owned()]);
    }
    let mut words: Vec<String> = Vec::new();
    let mut inside = None;
    let mut word = None;
    for letter in command.chars() {
        match (inside, letter) {
            (Some(quote), letter) if letter == quote => inside = None,
            (None, '"' | '\'') => {
                inside = Some(letter);
                word.get_or_insert_with(String::new);
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_with(String::new).push(letter),
        }
    }
    if inside.is_some() {
        bail!("{}: a quote is opened and not closed", quote(command));
    }
    words.extend(word);
    if words.is_empty() {
        bail!("engine: write the command that starts the program, such as engine:./pbrain-name");
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::replay;
    use rules::grid::Grid;

    #[test]
    fn answers_are_points_and_nothing_else() {
        assert_eq!(read_point("7,8"), Some((7, 8)));
        assert_eq!(read_point(" 14 , 0 "), Some((14, 0)));
        assert_eq!(read_point("-1,3"), Some((usize::MAX, 3)));
        for line in ["OK", "7", "7;8", "7,8,1", "SUGGEST 7,8", "a,b", ""] {
            assert_eq!(read_point(line), None, "{line}");
        }
    }

    #[test]
    fn lines_end_in_any_way_and_chatter_is_left_out() {
        let (sender, lines) = sync_channel(64);
        let long = "x".repeat(3 * LONGEST_LINE);
        let said = format!(
            "OK\r\n\r\nMESSAGE hello, 7,7\rDEBUG\n7,7\r{long}\n\u{fffd}\nmessage in small letters\n8,8\nno end"
        );
        read_lines(said.as_bytes(), &sender);
        drop(sender);
        let heard: Vec<String> = lines.iter().collect();
        assert_eq!(heard, ["OK", "7,7", &long[..LONGEST_LINE], "\u{fffd}", "8,8"]);
    }

    #[test]
    fn commands_are_split_at_blanks_outside_quotes() {
        let split = |command: &str| split_command(command).map_err(|e| e.to_string());
        assert_eq!(split("./pbrain  --level 3").unwrap(), ["./pbrain", "--level", "3"]);
        assert_eq!(split(r#""C:\My AI's\AI.exe" '' 'a b'c"#).unwrap(), [r"C:\My AI's\AI.exe", "", "a bc"]);
        assert!(split("'open").unwrap_err().contains("not closed"));
        assert!(split("  ").unwrap_err().contains("write the command"));
    }

    #[test]
    fn a_new_board_is_shown_with_own_stones_as_1_and_a_reply_as_its_point() {
        let game: Grid = "gomoku".parse().unwrap();
        let at = |moves: &str| {
            let moves: Vec<Action> = moves.split_whitespace().map(|m| game.read_action(m).unwrap()).collect();
            replay(&game, &moves).unwrap()
        };
        assert_eq!(whole_board(&game, &at("")), "BEGIN");
        // a15 is the top left.
        assert_eq!(whole_board(&game, &at("a15 o1 h8")), "BOARD\r\n0,0,2\r\n14,14,1\r\n7,7,2\r\nDONE");
        assert_eq!(only_new_stone(&game, &at("h8"), &at("h8 i8")), Some(7 * 15 + 8));
        assert_eq!(only_new_stone(&game, &at("h8"), &at("h8")), None);
        assert_eq!(only_new_stone(&game, &at("h8"), &at("i8 h8")), None);
        assert_eq!(only_new_stone(&game, &at("h8"), &at("h8 i8 j8")), None);
    }
}
