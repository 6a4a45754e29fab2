//! The one place where a word becomes a type: games, methods, players.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use arena::Record;
use arena::formats::{self, GameTree};
use methods::learner::{Agent, Learner};
use methods::monte_carlo::MonteCarlo;
use methods::outcome::Outcome;
use methods::ppo::Ppo;
use methods::q_learning::QLearning;
use methods::td_backward::TdBackward;
use methods::td_batch::TdBatch;
use methods::td_online::TdOnline;
use methods::value_minimax::ValueMinimax;
use oracle::connect4;
use oracle::exact::Exact;
use oracle::exam::Labelled;
use oracle::gomoku::ThreatPlayer;
use oracle::gomoku::tactics::{self, Question};
use oracle::mnk::{self, Mnk};
use oracle::proof::Packed;
use oracle::table::{Perfect, Table};
use rules::connect4::Connect4;
use rules::grid::{Grid, Rule};
use rules::notation::{quote, read_number};
use rules::player::Random;
use rules::tictactoe::TicTacToe;
use rules::{Game, Player, Seat};
use search::greedy::Greedy;
use search::mcts::{Mcts, Searched};
use search::minimax::MinimaxPlayer;

use crate::adviser::Adviser;
use crate::agent_file::{AgentFile, Origin};
use crate::engine::{Engine, EngineRule, Limits};
use crate::method::{Method, of};
use crate::progress::thousands;
use crate::run;
use crate::shipped;
use crate::threats::Threats;

/// The game that is meant when none is named.
pub(crate) const DEFAULT_GAME: &str = "tictactoe";

/// A name for each kind of game; those with a colon stand for others of their kind.
pub(crate) const GAMES: [&str; 5] = ["tictactoe", "connect4", "gomoku", "gomoku:15:renju", "mnk:5,5,4"];

/// What the program knows of a game beside its rules.
pub(crate) trait Known: Packed {
    /// What people call it.
    fn title(&self) -> String;

    /// The exact value of every position, for games that are small enough.
    fn table(&self) -> Option<Arc<Table<Self>>> {
        (self.cells() <= TABLE_CELLS).then(|| Arc::new(Table::new(self)))
    }

    /// A perfect player that also knows what every move is worth, for games that are solved.
    fn perfect(&self) -> Option<Box<dyn Exact<Self>>> {
        self.table().map(|table| -> Box<dyn Exact<Self>> { Box::new(Perfect(table)) })
    }

    /// Positions with the truth about every move, for games that are too large for a table.
    fn labelled(&self) -> Option<&'static [Labelled<Self>]> {
        None
    }

    /// A player made by hand that looks for threats among so many positions a move, for games that have one.
    fn threat_player(&self, _nodes: u64) -> Option<Box<dyn Player<Self>>> {
        None
    }

    /// Hints and marks, for games in which much can be proved of a position though they are not solved.
    fn adviser(&self) -> Option<Box<dyn Adviser<Self>>> {
        None
    }

    /// Positions of each tactic with all right moves, for games that nobody has solved.
    fn tactics(&self) -> Option<&'static [Question<Self::Position>]> {
        None
    }

    /// What the protocol of Gomoku engines calls the rule, if it knows the game.
    fn engine_rule(&self) -> Option<EngineRule> {
        None
    }

    /// The list of even openings that comes with the program.
    fn openings(&self) -> Option<&'static str> {
        None
    }

    /// The game of a record as other programs write it, with the usual end of such files.
    fn notation(&self, record: &Record) -> Result<(String, &'static str)> {
        Ok((formats::text::write(&GameTree::from_record(self, record)?), "txt"))
    }

    /// Every method that was tried on it, the default first. Each method that is listed costs the program a compilation
    /// of all its code for this game.
    fn methods(&self) -> Vec<Box<dyn Method<Self>>> {
        Vec::new()
    }
}

/// The largest board whose positions are all kept in a table.
const TABLE_CELLS: usize = 12;

/// The largest board of k in a row whose positions are solved by search, in a few seconds at most.
const SEARCHED_CELLS: usize = 25;

/// The size of the table of such a search: 2 to this power positions, 24 MiB.
const SEARCHED_BITS: u32 = 20;

/// Memory of a perfect player that searches, in bytes. An arena has one for each thread.
const PERFECT_MEMORY: usize = 256 << 20;

impl Known for TicTacToe {
    fn title(&self) -> String {
        "tic-tac-toe".to_owned()
    }

    fn methods(&self) -> Vec<Box<dyn Method<Self>>> {
        vec![
            of::<Self, Outcome<Self>>(),
            of::<Self, MonteCarlo<Self>>(),
            of::<Self, TdBackward<Self>>(),
            of::<Self, TdBatch<Self>>(),
            of::<Self, TdOnline<Self>>(),
            of::<Self, QLearning<Self>>(),
            of::<Self, ValueMinimax<Self>>(),
            of::<Self, Ppo<Self>>(),
        ]
    }
}

impl Known for Connect4 {
    fn title(&self) -> String {
        "Connect Four".to_owned()
    }

    fn perfect(&self) -> Option<Box<dyn Exact<Self>>> {
        Some(Box::new(connect4::Perfect::new(PERFECT_MEMORY, 1)))
    }

    fn labelled(&self) -> Option<&'static [Labelled<Self>]> {
        Some(connect4::labelled::built_in())
    }

    fn methods(&self) -> Vec<Box<dyn Method<Self>>> {
        vec![
            of::<Self, Outcome<Self>>(),
            of::<Self, TdBackward<Self>>(),
            of::<Self, QLearning<Self>>(),
            of::<Self, Ppo<Self>>(),
        ]
    }
}

impl Known for Grid {
    fn title(&self) -> String {
        let (columns, rows, length) = (self.columns(), self.rows(), self.length());
        let falling = if self.gravity() { ", stones fall" } else { "" };
        let rule = match self.rule() {
            Rule::Freestyle => "or more in a row",
            Rule::Standard => "in a row, not more",
            Rule::Renju => "in a row by the rules of Renju",
        };
        format!("{length} {rule} on {columns} x {rows}{falling}")
    }

    fn notation(&self, record: &Record) -> Result<(String, &'static str)> {
        let tree = GameTree::from_record(self, record)?;
        Ok(formats::sgf::write(&tree).map_or_else(|_| (formats::text::write(&tree), "txt"), |sgf| (sgf, "sgf")))
    }

    fn openings(&self) -> Option<&'static str> {
        (self.name() == "gomoku").then_some(include_str!("../data/gomoku-openings.txt"))
    }

    fn perfect(&self) -> Option<Box<dyn Exact<Self>>> {
        if let Some(table) = self.table() {
            return Some(Box::new(Perfect(table)));
        }
        let mnk = (self.cells() <= SEARCHED_CELLS).then(|| Mnk::new(self, SEARCHED_BITS))??;
        Some(Box::new(mnk::Perfect(mnk)))
    }

    fn threat_player(&self, nodes: u64) -> Option<Box<dyn Player<Self>>> {
        ThreatPlayer::new(self, nodes).map(|player| -> Box<dyn Player<Self>> { Box::new(player) })
    }

    fn adviser(&self) -> Option<Box<dyn Adviser<Self>>> {
        Threats::new(self).map(|threats| -> Box<dyn Adviser<Self>> { Box::new(threats) })
    }

    fn tactics(&self) -> Option<&'static [Question<Self::Position>]> {
        tactics::built_in(self)
    }

    fn engine_rule(&self) -> Option<EngineRule> {
        (self.length() == 5 && !self.gravity()).then(|| match self.rule() {
            Rule::Freestyle => EngineRule::Freestyle,
            Rule::Standard => EngineRule::Standard,
            Rule::Renju => EngineRule::Renju,
        })
    }

    fn methods(&self) -> Vec<Box<dyn Method<Self>>> {
        let tried = !Ppo::<Self>::presets(self).is_empty();
        tried.then(of::<Self, Ppo<Self>>).into_iter().collect()
    }
}

/// Something to be done with a game whose type is not known before its name has been read.
pub(crate) trait WithGame {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<G: Known>(self, game: G) -> Result<Self::Output>;
}

/// Does something with the game of this name.
pub(crate) fn with_game<W: WithGame>(name: &str, work: W) -> Result<W::Output> {
    match name {
        "tictactoe" => work.run(TicTacToe),
        "connect4" => work.run(Connect4),
        _ if ["gomoku", "mnk"].contains(&name.split(':').next().unwrap_or(name)) => work.run(name.parse::<Grid>()?),
        _ => Err(anyhow!("there is no game {}; there are: {}", quote(name), GAMES.join(", "))),
    }
}

/// Every method that was tried on the game, the default first.
///
/// # Errors
/// If there is none.
pub(crate) fn methods<G: Known>(game: &G) -> Result<Vec<Box<dyn Method<G>>>> {
    let all = game.methods();
    if all.is_empty() {
        bail!("no method has been tried on {}", game.title());
    }
    Ok(all)
}

/// The method of this name.
pub(crate) fn method<G: Known>(game: &G, name: &str) -> Result<Box<dyn Method<G>>> {
    let mut all = methods(game)?;
    let names = all.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ");
    match all.iter().position(|method| method.name() == name) {
        Some(i) => Ok(all.swap_remove(i)),
        None => bail!("there is no method {} for {}; there are: {names}", quote(name), game.title()),
    }
}

/// Somebody to play against or to audit.
pub(crate) enum Opponent<G: Game> {
    /// A network that was trained.
    Agent(Box<Trained<G>>),
    /// Anybody else.
    Other(Box<dyn Player<G>>),
}

/// An agent with the file it came from.
pub(crate) struct Trained<G: Game> {
    /// Plays.
    pub(crate) agent: Box<dyn Agent<G>>,
    /// Says where it comes from.
    pub(crate) file: AgentFile,
    /// The file's name, or words for the agent that comes with the program.
    pub(crate) source: String,
}

impl<G: Game> Trained<G> {
    /// What it learned, how, and how long, in a line.
    pub(crate) fn about(&self) -> String {
        let Origin { method, preset, changed, seed, games, games_with_a_person, .. } = &self.file.origin;
        let changed = if changed.is_empty() { String::new() } else { format!(" with {} changed", changed.join(", ")) };
        let person = match games_with_a_person {
            0 => String::new(),
            games => format!(" and {games} with a person"),
        };
        let (games, weights) = (thousands(*games), thousands(self.file.weight_count() as u64));
        format!("{method}, preset {preset}{changed}, seed {seed}, {games} games{person}, {weights} weights")
    }

    /// The seats that it was trained for.
    pub(crate) fn seats(&self) -> Vec<Seat> {
        Seat::BOTH.into_iter().filter(|seat| self.file.origin.seats.contains(&seat.to_string())).collect()
    }
}

/// Players that are not files, and what they are.
pub(crate) const PLAYERS: [(&str, &str); 9] = [
    (SHIPPED, "the agent that comes with tengen"),
    ("AGENT@N", "any agent with N simulations of Monte Carlo tree search a move"),
    ("perfect", "any of the best moves, by exact solution"),
    ("minimax:D", "looks D moves ahead, with nothing to judge positions"),
    ("mcts:N", "Monte Carlo tree search, N random games a move"),
    ("threat:N", "made by hand for Gomoku: sees fours, threes and wins by fours, N positions a move"),
    ("engine:COMMAND", "another program that speaks the Gomocup protocol"),
    ("greedy", "wins in one, else blocks a win in one, else plays any move"),
    ("random", "any legal move, each with the same probability"),
];

/// Whether a player is named by a word and not by a file. Words that a number or a command must follow are none without it.
pub(crate) fn is_word(name: &str) -> bool {
    let first = |text: &str| text.split_once(':').map(|(word, _)| word.to_owned());
    PLAYERS.iter().any(|(player, _)| *player == name || first(player).is_some_and(|word| first(name) == Some(word)))
}

/// The name of the agent that comes with the program.
pub(crate) const SHIPPED: &str = "shipped";

/// The most simulations of a search: its tree then takes some gigabytes.
const MOST_SIMULATIONS: usize = 10_000_000;

/// The most positions of a threat player: a move then takes some minutes.
const MOST_NODES: usize = 100_000_000;

/// A player by its name: one of [`PLAYERS`], a run's folder, or an agent's file.
pub(crate) fn player<G: Known>(game: &G, name: &str) -> Result<Opponent<G>> {
    player_within(game, name, Limits::default())
}

/// As [`player`], with limits for an engine.
pub(crate) fn player_within<G: Known>(game: &G, name: &str, limits: Limits) -> Result<Opponent<G>> {
    let other = |player: Box<dyn Player<G>>| Ok(Opponent::Other(player));
    match name {
        "random" => other(Box::new(Random)),
        "greedy" => other(Box::new(Greedy)),
        "perfect" => match game.perfect() {
            Some(perfect) => other(perfect),
            None => bail!("there is no perfect player of {}", game.title()),
        },
        SHIPPED => match shipped::of(game) {
            Some(bytes) => trained(game, "the agent that comes with tengen", AgentFile::from_bytes(SHIPPED, bytes)?),
            None => bail!("no agent for {} comes with tengen", game.title()),
        },
        _ => {
            if let Some(depth) = name.strip_prefix("minimax:") {
                let most = game.cells();
                let depth = read_number(depth, 1, most, &format!("a depth from 1 to {most}"))?;
                return other(Box::new(MinimaxPlayer::new(depth)));
            }
            if let Some(simulations) = name.strip_prefix("mcts:") {
                return other(Box::new(Mcts::new(game, read_simulations(simulations)?)));
            }
            if let Some(nodes) = name.strip_prefix("threat:") {
                let nodes =
                    read_number(nodes, 1, MOST_NODES, &format!("a number of positions from 1 to {MOST_NODES}"))?;
                return match game.threat_player(nodes as u64) {
                    Some(player) => other(player),
                    None => bail!("threat:N plays five in a row, not {}", game.title()),
                };
            }
            if let Some(command) = name.strip_prefix("engine:") {
                return match game.engine_rule() {
                    Some(rule) => other(Box::new(Engine::new(game, command, rule, limits)?)),
                    None => bail!("engines of the Gomocup protocol do not play {}", game.title()),
                };
            }
            if let (agent, Some(simulations)) = split_search(name) {
                let simulations = read_simulations(simulations)?;
                return match player(game, agent)? {
                    Opponent::Agent(trained) => {
                        other(Box::new(Searched::new(game, agent, trained.agent, simulations, 1)))
                    }
                    Opponent::Other(_) => bail!("{}: only an agent can be given a search", quote(name)),
                };
            }
            let path = agent_path(name)?;
            trained(game, &path.display().to_string(), AgentFile::read(&path)?)
        }
    }
}

/// The name of an agent without its search, and the number of simulations behind the `@` if there is one.
pub(crate) fn split_search(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('@') {
        Some((agent, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => (agent, Some(n)),
        _ => (name, None),
    }
}

fn read_simulations(text: &str) -> Result<u32> {
    let expected = format!("a number of simulations from 1 to {MOST_SIMULATIONS}");
    Ok(read_number(text, 1, MOST_SIMULATIONS, &expected)? as u32)
}

/// The agent's file that is meant by its own name or by that of a run's folder.
pub(crate) fn agent_path(name: &str) -> Result<std::path::PathBuf> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    if !path.is_dir() {
        let words = PLAYERS.map(|(name, _)| name).join(", ");
        bail!("there is no player {}; there are: {words}, a run's folder, an agent's file", quote(name));
    }
    let agent = run::agent_of(path);
    if !agent.is_file() {
        run::read_config(path)?;
        bail!("the run {name} is not finished: continue it with 'tengen resume {name}'");
    }
    Ok(agent)
}

fn trained<G: Known>(game: &G, source: &str, file: AgentFile) -> Result<Opponent<G>> {
    let origin = &file.origin;
    if origin.game != game.name() {
        bail!("{source}: an agent for {}, not for {}", origin.game, game.name());
    }
    let agent = method(game, &origin.method).map_err(|e| anyhow!("{source}: {e}"))?.load(game, source, &file)?;
    Ok(Opponent::Agent(Box::new(Trained { agent, file, source: source.to_owned() })))
}

impl<G: Game> Opponent<G> {
    /// Lets an agent that plays by minimax over its values look this many moves ahead.
    pub(crate) fn look_ahead(&mut self, game: &G, depth: u32) -> Result<()>
    where
        G: Known,
    {
        if let Opponent::Agent(agent) = self
            && let Some(setting) = agent.file.origin.config.get_mut("depth")
        {
            *setting = depth.into();
            let method = method(game, &agent.file.origin.method)?;
            agent.agent = method.load(game, &agent.source, &agent.file)?;
            return Ok(());
        }
        bail!("{} has no depth: it does not look ahead by minimax over values", self.player().name());
    }

    /// The seats that it was trained for; both if it was not trained.
    pub(crate) fn seats(&self) -> Vec<Seat> {
        match self {
            Opponent::Agent(trained) => trained.seats(),
            Opponent::Other(_) => Seat::BOTH.to_vec(),
        }
    }

    /// The player, without where it comes from.
    pub(crate) fn into_player(self) -> Box<dyn Player<G>> {
        match self {
            Opponent::Agent(trained) => trained.agent,
            Opponent::Other(player) => player,
        }
    }

    /// The player.
    pub(crate) fn player(&mut self) -> &mut dyn Player<G> {
        match self {
            Opponent::Agent(trained) => &mut *trained.agent,
            Opponent::Other(player) => &mut **player,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::{Action, Wdl};

    /// The moves that a player may make.
    fn may_play(player: &mut Opponent<TicTacToe>, position: &rules::tictactoe::Position) -> Vec<Action> {
        let mut choices = Vec::new();
        player.player().distribution(&TicTacToe, position, &mut choices).unwrap();
        choices.iter().map(|choice| choice.action).collect()
    }

    #[test]
    fn a_folder_may_be_called_like_a_player_that_needs_a_number() {
        assert!(["random", "mcts:200", "mcts:many", "engine:./x", "shipped"].into_iter().all(is_word));
        assert!(["mcts", "threat", "engine", "runs/mcts", "random:1"].into_iter().all(|name| !is_word(name)));
    }

    #[test]
    fn whoever_looks_ahead_takes_a_win_in_one_wherever_there_is_one() {
        let table = TicTacToe.table().unwrap();
        for name in ["perfect", "greedy", "minimax:1", "mcts:50", "shipped@50"] {
            let mut player = player(&TicTacToe, name).unwrap();
            for node in table.nodes().iter().filter(|node| (node.score.wdl, node.score.plies) == (Wdl::Win, Some(1))) {
                let wins = |action| table.edges(node).iter().any(|e| e.action == action && e.score == node.score);
                assert!(may_play(&mut player, &node.position).into_iter().all(wins), "{name}: {:?}", node.position);
            }
            // X has 0, 3 and 4, O has 1, 6 and 8: only 5 completes a line.
            let position = TicTacToe.read_position("xo./xx./o.o x").unwrap();
            assert_eq!(may_play(&mut player, &position), [5], "{name}");
        }
    }
}
