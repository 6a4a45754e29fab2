//! `tengen arena`: who is stronger, by how much, and how sure is that?

use std::num::{NonZeroU16, NonZeroU64};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use arena::sprt::Sprt;
use arena::tournament::{Control, Entrant, Pairing, Plan, Tournament};
use arena::{balance, openings, record};
use rules::notation::quote;

use crate::commands::audit::game_of;
use crate::commands::train::{draw_seed, threads};
use crate::exit::Ended;
use crate::match_folder::{Agent, Folder, SavedLimits, Setup};
use crate::match_report::Report;
use crate::progress::{Progress, thousands};
use crate::registry::{self, Known, WithGame};
use crate::stop::Saving;
use crate::talk::{self, Look};
use crate::{VERSION, files};

/// Let players meet, and say who is stronger and how sure that is
///
/// Everyone meets everyone. Every opening is played twice, with seats exchanged, and intervals count such pairs of games.
/// Who plays what from where, and all randomness, follow from the seed, so the result is the same on any number of
/// threads. A player that crashes, loses on time or plays an illegal move loses that game, and the others go on.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen arena minimax:5 mcts:800 greedy random --game connect4
  tengen arena runs/connect4-outcome-1 minimax:5 --games 1000 --out match
  tengen arena new.safetensors old.safetensors --sprt 0,20      stop as soon as it is decided
  tengen arena mcts:5000 'engine:./pbrain-name' --game gomoku --turn-time 1
  tengen arena --resume match")]
pub(crate) struct Args {
    /// Two or more players ('tengen list' shows all)
    #[arg(required_unless_present = "resume")]
    players: Vec<String>,
    /// The game [default: that of the first agent, else tictactoe]
    #[arg(long, short)]
    game: Option<String>,
    /// Games between every two players, rounded up to an even number
    #[arg(long, short = 'n', default_value_t = NonZeroU64::new(100).expect("it is not 0"))]
    games: NonZeroU64,
    /// Only the first player meets the others
    #[arg(long)]
    gauntlet: bool,
    /// First moves: 'short' for all short ones, 'start' for the empty board, or a file with one list of moves a line
    /// [default: the list that comes with tengen, else short]
    #[arg(long, value_name = "FILE")]
    openings: Option<String>,
    /// Begin each game of Gomoku by swap2: one player proposes three stones, those of --openings or drawn ones;
    /// the other plays on from them against itself and takes the colour that wins, or adds two more
    #[arg(long)]
    swap2: bool,
    /// Start of all randomness, a number below 2^63 [default: drawn and printed]
    #[arg(long, short, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Stop when it is decided whether the first is stronger by ELO1 or only by ELO0; ALPHA and BETA are the accepted
    /// chances of error, 0.05 each if left out
    #[arg(long, value_name = "ELO0,ELO1[,ALPHA,BETA]", allow_hyphen_values = true, value_parser = read_sprt)]
    sprt: Option<Sprt>,
    /// The player whose rating is 0 [default: the last]
    #[arg(long, value_name = "PLAYER")]
    anchor: Option<String>,
    /// Folder for the games and the report, new or empty
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with a tournament that was stopped, from its folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["players", "game", "games", "gauntlet", "openings", "swap2",
        "seed", "sprt", "anchor", "out", "turn_time", "game_time", "memory"])]
    resume: Option<PathBuf>,
    /// Seconds an engine may take for a move
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    turn_time: f64,
    /// Seconds an engine may take for all its moves of a game [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    game_time: Option<f64>,
    /// Memory that an engine is told it may take [default: no limit]
    #[arg(long, value_name = "MIB")]
    memory: Option<u32>,
    /// Threads to use; never changes the result [default: all]
    #[arg(long, short, value_name = "T")]
    threads: Option<NonZeroU16>,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
}

fn read_sprt(text: &str) -> Result<Sprt, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
    let sprt = match numbers.map_err(|_| "write ELO0,ELO1 or ELO0,ELO1,ALPHA,BETA".to_owned())?[..] {
        [elo0, elo1] => Sprt { elo0, elo1, alpha: 0.05, beta: 0.05 },
        [elo0, elo1, alpha, beta] => Sprt { elo0, elo1, alpha, beta },
        _ => return Err("write ELO0,ELO1 or ELO0,ELO1,ALPHA,BETA".to_owned()),
    };
    sprt.check()?;
    Ok(sprt)
}

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    let (folder, setup) = match &args.resume {
        Some(path) => {
            let (folder, setup) = Folder::open(path)?;
            (Some(folder), setup)
        }
        None => (None, Setup::new(args)?),
    };
    let game = setup.game.clone();
    registry::with_game(&game, Meet { args, look, folder, setup })
}

impl Setup {
    /// What the command line asks for. The openings are filled in when the game is known.
    fn new(args: &Args) -> Result<Setup> {
        let agent = args.players.iter().find(|name| !registry::is_word(registry::split_search(name).0));
        let game = game_of(agent.unwrap_or(&args.players[0]), args.game.as_deref())?;
        let anchor = match &args.anchor {
            None => args.players.len() - 1,
            Some(name) => args
                .players
                .iter()
                .position(|player| player == name)
                .with_context(|| format!("the anchor {} does not take part", quote(name)))?,
        };
        for seconds in [Some(args.turn_time), args.game_time].into_iter().flatten() {
            if !(seconds > 0.0 && seconds <= 1e6) {
                bail!("a time limit of {seconds} s: it must be above 0 and at most 1000000");
            }
        }
        Ok(Setup {
            format: Setup::FORMAT,
            version: VERSION.to_owned(),
            game,
            reproducible: !args.players.iter().any(|name| name.starts_with("engine:")),
            players: args.players.clone(),
            anchor,
            rounds: args.games.get().div_ceil(2),
            gauntlet: args.gauntlet,
            seed: args.seed.map_or_else(draw_seed, Ok)?,
            openings: Vec::new(),
            limits: SavedLimits { turn: args.turn_time, game: args.game_time, memory: args.memory.map(u64::from) },
            sprt: args.sprt.map(Into::into),
            swap2: args.swap2,
            agents: agents(&args.players)?,
        })
    }
}

/// The files of the agents that take part, by name and content.
fn agents(players: &[String]) -> Result<Vec<Agent>> {
    let files = players.iter().map(|name| registry::split_search(name).0).filter(|name| !registry::is_word(name));
    let agent = |name: &str| {
        let bytes = files::read(&registry::agent_path(name)?)?;
        Ok(Agent { name: name.to_owned(), blake3: blake3::hash(&bytes).to_hex().to_string() })
    };
    files.map(agent).collect()
}

struct Meet<'a> {
    args: &'a Args,
    look: Look,
    /// The folder of a tournament that goes on.
    folder: Option<Folder>,
    setup: Setup,
}

impl WithGame for Meet<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        let Meet { args, look, mut folder, mut setup } = self;
        if args.resume.is_some() {
            if agents(&setup.players)? != setup.agents {
                bail!("the agents have changed since the tournament began");
            }
        } else {
            if args.swap2 && game.engine_rule().is_none() {
                bail!("swap2 is an opening of Gomoku, not of {}", game.title());
            }
            setup.openings = openings_of(&game, args.openings.as_deref(), args.swap2, setup.seed)?;
        }
        let entrants = entrants(&game, &setup)?;
        let mut tournament = Tournament::new(&game, &entrants, plan(&game, &setup)?)?;
        if let Some(path) = &args.out {
            folder = Some(Folder::create(path, &setup)?);
        }
        if let Some(folder) = &mut folder {
            folder.restore(&mut tournament)?;
        }
        let (planned, seed) = (thousands(tournament.planned()), setup.seed);
        let names = setup.players.join(", ");
        talk::say(format!(
            "{}: {names}; {planned} games, {} openings, seed {seed}",
            game.title(),
            setup.openings.len()
        ));

        let saving = Saving::begin();
        let mut progress = Progress::begin(look, tournament.played(), tournament.planned());
        let mut failure = None;
        tournament.run(threads(args.threads), &mut |record, _| {
            if let Some(folder) = &mut folder
                && let Err(e) = folder.append(record)
            {
                failure = Some(e);
                return Control::Stop;
            }
            progress.at(record.number + 1);
            if saving.asked() { Control::Stop } else { Control::Continue }
        });
        progress.end();
        drop(saving);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let report = Report::new(&game, &setup, &tournament);
        if let Some(folder) = &folder {
            folder.write_report(&game, &report)?;
        }
        talk::data(if args.json { serde_json::to_string(&report)? } else { report.text(look) })?;
        if let Some(folder) = &folder {
            talk::say(format!("games, table and plots are in {}", folder.path().display()));
        }
        if tournament.is_over() {
            return Ok(());
        }
        let again = match &folder {
            Some(folder) => format!("go on with 'tengen arena --resume {}'", folder.path().display()),
            None => "without --out nothing was kept".to_owned(),
        };
        let played = thousands(tournament.played());
        Err(Ended::Interrupted(format!("stopped after {played} of {planned} games; {again}")).into())
    }
}

/// Stones that one player proposes to the other by swap2.
const PROPOSED: usize = 3;

/// How many proposals are drawn.
const PROPOSALS: usize = 500;

/// The first moves that are asked for.
fn openings_of<G: Known>(game: &G, asked: Option<&str>, swap2: bool, seed: u64) -> Result<Vec<String>> {
    let list = match (asked, game.openings()) {
        (None | Some("short"), _) if swap2 => balance::candidates(game, PROPOSED, PROPOSALS, seed),
        (Some("start"), _) => vec![Vec::new()],
        (None, Some(text)) => openings::read(game, text)?,
        (None | Some("short"), _) => openings::short(game),
        (Some(path), _) => {
            let text = files::read_text(Path::new(path))?;
            openings::read(game, &text).map_err(|e| anyhow!("{path}: {e}"))?
        }
    };
    if swap2 && list.iter().any(|opening| opening.len() != PROPOSED) {
        bail!("an opening to propose by swap2 has {PROPOSED} moves, no more and no less");
    }
    Ok(list.iter().map(|opening| record::write_moves(game, opening)).collect())
}

/// The plan in the game's own actions.
fn plan<G: Known>(game: &G, setup: &Setup) -> Result<Plan> {
    let read = |opening: &String| opening.split_whitespace().map(|text| game.read_action(text)).collect();
    let openings = setup.openings.iter().map(read).collect::<Result<Vec<Vec<_>>, _>>()?;
    let pairing = if setup.gauntlet { Pairing::Gauntlet } else { Pairing::RoundRobin };
    Ok(Plan {
        pairing,
        rounds: setup.rounds,
        openings,
        seed: setup.seed,
        sprt: setup.sprt.map(Into::into),
        swap2: setup.swap2,
    })
}

/// Makes every player once, so that what is wrong with one is said before the first game.
fn entrants<G: Known>(game: &G, setup: &Setup) -> Result<Vec<Entrant<G>>> {
    let limits = setup.limits.into();
    let entrant = |name: &String| {
        registry::player_within(game, name, limits)?;
        let (game, owned) = (game.clone(), name.clone());
        let make = move || match registry::player_within(&game, &owned, limits) {
            Ok(player) => Ok(player.into_player()),
            Err(e) => Err(format!("{e:#}")),
        };
        Ok(Entrant { name: name.clone(), make: Box::new(make) })
    };
    setup.players.iter().map(entrant).collect()
}
