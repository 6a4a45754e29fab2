//! `tengen compare`: which method learns faster, and how good does each really get?

use std::num::NonZeroU16;
use std::path::PathBuf;

use anyhow::{Result, bail};
use askama::Template;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use methods::learner::Agent;
use oracle::audit::{Audit, audit};
use oracle::table::Table;
use rules::notation::quote;
use rules::{Game, Seat};
use serde::Serialize;

use crate::baselines::{self, Baselines};
use crate::commands::train;
use crate::curve::{self, Curve, Examine, Job, Moment, Spread, groups};
use crate::files;
use crate::progress::thousands;
use crate::registry::{self, Known, WithGame};
use crate::settings::Change;
use crate::svg::{Axes, Series, plot};
use crate::talk::{self, HEAD, Look, paint};

/// Compare methods by their learning curves
///
/// Trains every method with every seed, and asks at moments of each training what is exactly true of the agent: how
/// many lines of play it loses, what a best response makes of it, how often its move keeps the value of the position.
/// Where a game is too large for that, or with --against, the agent meets baselines from short openings instead; on
/// Gomoku it is also asked which tactics it knows.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen compare tictactoe                              all methods, 20 seeds, as they come
  tengen compare tictactoe --preset article             the recipes as published
  tengen compare tictactoe --methods td_backward,monte_carlo --games 30000
  tengen compare tictactoe --methods all --seconds 0.5  the same processor time for each
  tengen compare connect4 --seeds 3 --points 10         against random, greedy and minimax:5
  tengen compare gomoku --seeds 1 --games 4000          against random, greedy and threat:1; and which tactics it knows")]
pub(crate) struct Args {
    /// The game
    game: String,
    /// Methods separated by commas, or 'all'; a preset may follow a colon, as in monte_carlo:article
    #[arg(long, default_value = "all")]
    methods: String,
    /// The preset of those that name none [default: each method's first]
    #[arg(long)]
    preset: Option<String>,
    /// Seeds for each method
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64 - 10_000))]
    first_seed: u64,
    /// Games for each training, in place of the preset's; schedules are stretched to them
    #[arg(long, conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    games: Option<u64>,
    /// Processor time for each training, in seconds: it ends there, wherever its schedule is
    #[arg(long)]
    seconds: Option<f64>,
    /// Moments at which each agent is looked at
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    points: u64,
    /// Opponents that the agents meet, separated by commas [default where a game is too large for exact curves:
    /// random,greedy,minimax:5; on Gomoku random,greedy,threat:1]
    #[arg(long, value_name = "PLAYERS", value_delimiter = ',')]
    against: Vec<String>,
    /// Openings from which an agent meets each opponent at each moment, once in each seat
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    openings: u32,
    /// Threads to use at most; never changes the curves [default: all cores]
    #[arg(long, short, value_name = "T")]
    threads: Option<NonZeroU16>,
    /// The folder for compare.html, compare.csv and compare.json; on Gomoku also tactics.csv
    #[arg(long, default_value = "compare")]
    out: PathBuf,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The command.
pub(crate) fn run(args: &Args, look: Look) -> Result<()> {
    registry::with_game(&args.game, Compare { args, look })
}

struct Compare<'a> {
    args: &'a Args,
    look: Look,
}

impl WithGame for Compare<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        let args = self.args;
        if args.seconds.is_some_and(|s| !(s > 0.0 && s.is_finite())) {
            bail!("--seconds must be a number above 0");
        }
        // Whatever can be refused is refused before anything is written or trained.
        let jobs = jobs(&game, args)?;
        for job in &jobs {
            registry::method(&game, &job.method)?.seats(&game, job.preset.as_deref(), &job.changes)?;
        }
        match game.table() {
            Some(table) if args.against.is_empty() => {
                let curves = self.train(&game, &jobs, &|moment, agent| examine(&table, moment, agent))?;
                let report = Report::new(game.title(), args, curves);
                self.write(&serde_json::to_string(&report)?, &report.csv(), &report.page(), report.text())
            }
            _ => {
                let by_default = if game.threat_player(1).is_some() { BY_THREATS } else { BASELINES };
                let names =
                    if args.against.is_empty() { by_default.map(str::to_owned).to_vec() } else { args.against.clone() };
                let baselines = Baselines::new(&game, &names, args.openings as usize, args.first_seed)?;
                let curves = self.train(&game, &jobs, &|moment, agent| baselines.examine(moment, agent))?;
                let report = baselines::Report::new(&baselines, budget(args), curves);
                // What an earlier comparison left there would not belong to this one.
                let tactics = args.out.join("tactics.csv");
                match report.tactics_csv() {
                    Some(csv) => files::write(&tactics, csv.as_bytes())?,
                    None if tactics.exists() => std::fs::remove_file(&tactics)?,
                    None => {}
                }
                self.write(&serde_json::to_string(&report)?, &report.csv(), &report.page(), report.text())
            }
        }
    }
}

/// Whom agents meet where no table says what is true.
const BASELINES: [&str; 3] = ["random", "greedy", "minimax:5"];

/// The same on boards where threats decide and five plies take too long.
const BY_THREATS: [&str; 3] = ["random", "greedy", "threat:1"];

impl Compare<'_> {
    /// All trainings, with a bar that says how far they are.
    fn train<G: Known, P: Send>(&self, game: &G, jobs: &[Job], examine: Examine<'_, G, P>) -> Result<Vec<Curve<P>>> {
        let args = self.args;
        files::make_folder(&args.out)?;
        let threads = train::threads(args.threads);
        let steps = jobs.len() as u64 * args.points;
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("  {bar:44.cyan} {percent:>3} %  {eta} left").expect("the template is right");
        bar.set_style(style.progress_chars(if self.look.ascii { "#>-" } else { "━╸─" }));
        talk::say(format!("{} trainings on {threads} threads, {} moments each", jobs.len(), args.points));
        let curves = curve::run(game, jobs, threads, examine, &|| bar.inc(1))?;
        bar.finish_and_clear();
        Ok(curves)
    }

    /// The files, and what is said.
    fn write(&self, json: &str, csv: &str, page: &Page, text: String) -> Result<()> {
        let Args { out, json: as_json, .. } = self.args;
        files::write(&out.join("compare.json"), json.as_bytes())?;
        files::write(&out.join("compare.csv"), csv.as_bytes())?;
        files::write(&out.join("compare.html"), page.render()?.as_bytes())?;
        talk::data(if *as_json { json.to_owned() } else { text })?;
        talk::say(format!("the plots are in {}", out.join("compare.html").display()));
        Ok(())
    }
}

/// What each training may take.
fn budget(args: &Args) -> String {
    match (args.games, args.seconds) {
        (Some(games), _) => format!("{} games each", thousands(games)),
        (None, Some(seconds)) => format!("{seconds} s of processor time each"),
        (None, None) => "the games of each preset".to_owned(),
    }
}

/// What is exactly true of an agent at one moment. Pairs are for the first and the second seat.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Point {
    /// Games learned from.
    games: u64,
    /// Seconds of processor time spent on learning.
    seconds: f64,
    /// Whether no line of play loses, in every seat that the method trains.
    proved: bool,
    /// Lines of play that lose.
    losing_lines: [u64; 2],
    /// The result against a best response.
    best_response: [f64; 2],
    /// The same for the agent's random way to play: its softmax or epsilon-greedy policy.
    policy_best_response: Option<[f64; 2]>,
    /// The share of positions in which the move keeps the value, where that matters.
    kept: [f64; 2],
    /// (wins + draws / 2) of all games against an opponent that moves at random.
    against_random: [f64; 2],
}

/// What is exactly true of this agent.
fn examine<G: Game>(table: &Table<G>, moment: Moment<'_>, agent: &mut dyn Agent<G>) -> Point {
    let Moment { games, seconds, seats } = moment;
    let exact = "an agent's choice is a function of the position";
    let policy = agent.stochastic().map(|mut policy| audit(table, &mut *policy).expect(exact));
    let plays = audit(table, agent).expect(exact);
    let best_response = |audit: &Audit| Seat::BOTH.map(|seat| audit.seat(seat).best_response);
    Point {
        games,
        seconds,
        proved: seats.iter().all(|&seat| plays.unbeatable_as(seat)),
        losing_lines: Seat::BOTH.map(|seat| plays.seat(seat).lines.losses),
        best_response: best_response(&plays),
        policy_best_response: policy.as_ref().map(best_response),
        kept: Seat::BOTH.map(|seat| plays.seat(seat).choices.decisive_share()),
        against_random: Seat::BOTH.map(|seat| {
            let chances = plays.seat(seat).against_random;
            chances.win + chances.draw / 2.0
        }),
    }
}

/// Every method that was named, with every seed.
fn jobs<G: Known>(game: &G, args: &Args) -> Result<Vec<Job>> {
    let names: Vec<String> = match args.methods.as_str() {
        "all" => registry::methods(game)?.iter().map(|method| method.name().to_owned()).collect(),
        list => list.split(',').map(|name| name.trim().to_owned()).collect(),
    };
    let mut jobs = Vec::new();
    for name in &names {
        if names.iter().filter(|other| *other == name).count() > 1 {
            bail!("the method {} is named twice", quote(name));
        }
        let (method, preset) = match name.split_once(':') {
            Some((method, preset)) => (method, Some(preset.to_owned())),
            None => (name.as_str(), args.preset.clone()),
        };
        for seed in args.first_seed..args.first_seed.saturating_add(args.seeds) {
            jobs.push(Job {
                method: method.to_owned(),
                preset: preset.clone(),
                changes: args.games.map(Change::games).into_iter().collect(),
                seed,
                seconds: args.seconds,
                points: args.points,
            });
        }
    }
    Ok(jobs)
}

/// Above the cells of a row.
const HEADS: [&str; 9] = [
    "method:preset",
    "proved unbeatable",
    "games until proved",
    "seconds until proved",
    "losing lines as first",
    "as second",
    "value kept as first, %",
    "as second, %",
    "games/s",
];

/// Everything that was measured, and what it comes to.
#[derive(Serialize)]
struct Report {
    game: String,
    budget: String,
    /// Whether the same command gives the same curves, seconds aside.
    reproducible: bool,
    summaries: Vec<Summary>,
    curves: Vec<Curve<Point>>,
}

/// One method over its seeds.
#[derive(Serialize)]
struct Summary {
    method: String,
    preset: String,
    seeds: usize,
    /// Whether each seat is trained.
    trained: [bool; 2],
    /// Seeds whose agent is proved unbeatable at the end.
    proved: usize,
    /// Over these: from which moment on the proof held, in games.
    games_until_proved: Option<Spread>,
    /// The same in seconds of processor time.
    seconds_until_proved: Option<Spread>,
    /// Losing lines at the end, as first and as second player.
    losing_lines: [Spread; 2],
    /// Share of positions in which the move keeps the value, where that matters, at the end.
    kept: [Spread; 2],
    /// Games a second of processor time.
    games_a_second: Spread,
}

/// The moment from which the proof held until the end.
fn proved_from(curve: &Curve<Point>) -> Option<&Point> {
    let last_bad = curve.points.iter().rposition(|point| !point.proved);
    curve.points.get(last_bad.map_or(0, |i| i + 1))
}

fn count(x: f64) -> String {
    thousands(x.round() as u64)
}

impl Report {
    fn new(game: String, args: &Args, curves: Vec<Curve<Point>>) -> Report {
        let summaries = groups(&curves).map(summary).collect();
        Report { game, budget: budget(args), reproducible: args.seconds.is_none(), summaries, curves }
    }

    /// A line for each moment of each training.
    fn csv(&self) -> String {
        let mut csv =
            "method,preset,seed,games,seconds,proved,losing_lines_first,losing_lines_second,best_response_first,\
                       best_response_second,policy_best_response_first,policy_best_response_second,kept_first,\
                       kept_second,against_random_first,against_random_second\n"
                .to_owned();
        for Curve { method, preset, seed, points, .. } in &self.curves {
            for p in points {
                let policy =
                    p.policy_best_response.map_or([String::new(), String::new()], |b| b.map(|x| x.to_string()));
                let fields = [
                    method.clone(),
                    preset.clone(),
                    seed.to_string(),
                    p.games.to_string(),
                    format!("{:.6}", p.seconds),
                    p.proved.to_string(),
                    p.losing_lines[0].to_string(),
                    p.losing_lines[1].to_string(),
                    p.best_response[0].to_string(),
                    p.best_response[1].to_string(),
                    policy[0].clone(),
                    policy[1].clone(),
                    format!("{:.6}", p.kept[0]),
                    format!("{:.6}", p.kept[1]),
                    format!("{:.6}", p.against_random[0]),
                    format!("{:.6}", p.against_random[1]),
                ];
                csv.push_str(&fields.join(","));
                csv.push('\n');
            }
        }
        csv
    }

    /// The tables for people.
    fn text(&self) -> String {
        let [method, proved, ..] = HEADS;
        let mut lines = vec![paint(HEAD, format!("{method:25}{proved:>18}  {:29}{:23}games/s", HEADS[2], HEADS[3]))];
        let rows = self.rows();
        for [method, proved, games, seconds, .., rate] in &rows {
            lines.push(format!("{method:25}{proved:>18}  {games:29}{seconds:23}{rate:>7}"));
        }
        let seats = "as first and as second";
        let head = format!("{:25}losing lines {seats:24}  value kept, % {seats}", "at the end");
        lines.extend([String::new(), paint(HEAD, head)]);
        for [method, _, _, _, first, second, kept_first, kept_second, _] in &rows {
            lines.push(format!("{method:25}{first:18} {second:18}  {kept_first:18} {kept_second}"));
        }
        lines.push("\nMedians over seeds, and the interval that holds the middle 80 %.".to_owned());
        lines.join("\n")
    }

    /// The tables' cells, below [`HEADS`].
    fn rows(&self) -> Vec<[String; 9]> {
        let seconds = |x: f64| format!("{x:.3}");
        let percent = |x: f64| format!("{:.1}", 100.0 * x);
        let seats = |s: &Summary, spreads: [Spread; 2], write: &dyn Fn(f64) -> String| {
            let text = |seat: usize| if s.trained[seat] { spreads[seat].text(write) } else { "not trained".to_owned() };
            [0, 1].map(text)
        };
        let row = |s: &Summary| {
            let [losing_first, losing_second] = seats(s, s.losing_lines, &count);
            let [kept_first, kept_second] = seats(s, s.kept, &percent);
            [
                format!("{}:{}", s.method, s.preset),
                format!("{} of {}", s.proved, s.seeds),
                s.games_until_proved.map_or_else(|| "never".to_owned(), |spread| spread.text(count)),
                s.seconds_until_proved.map_or_else(|| "never".to_owned(), |spread| spread.text(seconds)),
                losing_first,
                losing_second,
                kept_first,
                kept_second,
                count(s.games_a_second.median),
            ]
        };
        self.summaries.iter().map(row).collect()
    }

    fn page(&self) -> Page {
        type Measure = fn(&Point, [bool; 2]) -> f64;
        type Shown = (&'static str, Measure, Option<(f64, f64)>, bool);
        // The seats that are trained, or one of them: nothing if it is not.
        fn worse(of: [f64; 2], trained: [bool; 2]) -> f64 {
            (0..2).filter(|&seat| trained[seat]).map(|seat| of[seat]).fold(f64::INFINITY, f64::min)
        }
        fn seat<const SEAT: usize>(of: [f64; 2], trained: [bool; 2]) -> f64 {
            if trained[SEAT] { of[SEAT] } else { f64::NAN }
        }
        let total: Measure = |p, t| (0..2).filter(|&seat| t[seat]).map(|seat| p.losing_lines[seat] as f64).sum();
        let policy: Measure = |p, t| p.policy_best_response.map_or(f64::NAN, |b| worse(b, t));
        let results = Some((-1.0, 0.0));
        let shares = Some((0.5, 1.0));
        let plots: [Shown; 7] = [
            ("Losing lines of play in the seats that are trained", total, None, true),
            (
                "Result of the greedy agent against a best response, worse seat",
                |p, t| worse(p.best_response, t),
                results,
                false,
            ),
            ("Result of its softmax or epsilon-greedy policy, worse seat", policy, results, false),
            ("Value kept where moves differ, as first player", |p, t| seat::<0>(p.kept, t), shares, false),
            ("Value kept where moves differ, as second player", |p, t| seat::<1>(p.kept, t), shares, false),
            ("Against random, as first player: (W + D/2) / N", |p, t| seat::<0>(p.against_random, t), shares, false),
            ("Against random, as second player: (W + D/2) / N", |p, t| seat::<1>(p.against_random, t), shares, false),
        ];
        let plots = plots.iter().flat_map(|&(title, measure, y, log)| {
            let by_games = plot(&Axes { title, x: "games", y, log }, &self.series(|p| p.games as f64, measure));
            let by_time =
                plot(&Axes { title, x: "seconds of processor time", y, log }, &self.series(|p| p.seconds, measure));
            [by_games, by_time]
        });
        Page {
            game: self.game.clone(),
            about: format!(
                "Every number is exact: each agent was played against every line of opposing moves, at moments of its \
                 training, and nothing of that went back into the training. Budget: {}. Medians over seeds, with the \
                 interval that holds the middle 80 % of them. A proof counts from the moment from which it held until \
                 the end.",
                self.budget
            ),
            heads: HEADS.to_vec(),
            rows: self.rows().into_iter().map(Vec::from).collect(),
            plots: plots.collect(),
        }
    }

    /// One line for each method: medians over seeds, moment by moment, with the middle 80 % as a band.
    fn series(&self, x: fn(&Point) -> f64, y: fn(&Point, [bool; 2]) -> f64) -> Vec<Series> {
        // The method's name is enough, unless two of its presets take part.
        let name = |of: &Curve<Point>| match self.summaries.iter().filter(|s| s.method == of.method).count() {
            0 | 1 => of.method.clone(),
            _ => format!("{}:{}", of.method, of.preset),
        };
        let series = groups(&self.curves).map(|curves| {
            let moments = curves.iter().map(|curve| curve.points.len()).min().unwrap_or(0);
            let points = (0..moments).filter_map(|i| {
                let x = Spread::of(curves.iter().map(|curve| x(&curve.points[i]))).median;
                let y = Spread::of(curves.iter().map(|curve| y(&curve.points[i], curve.trained)));
                (!y.median.is_nan()).then_some([x, y.median, y.low, y.high])
            });
            Series { name: name(&curves[0]), points: points.collect() }
        });
        series.filter(|series| !series.points.is_empty()).collect()
    }
}

fn summary(curves: &[Curve<Point>]) -> Summary {
    let proved: Vec<&Point> = curves.iter().filter_map(proved_from).collect();
    let until = |f: fn(&Point) -> f64| (!proved.is_empty()).then(|| Spread::of(proved.iter().map(|point| f(point))));
    let last = |f: &dyn Fn(&Point) -> f64| {
        Spread::of(curves.iter().map(|curve| f(curve.points.last().expect("every curve has its end"))))
    };
    Summary {
        method: curves[0].method.clone(),
        preset: curves[0].preset.clone(),
        seeds: curves.len(),
        trained: curves[0].trained,
        proved: proved.len(),
        games_until_proved: until(|p| p.games as f64),
        seconds_until_proved: until(|p| p.seconds),
        losing_lines: [0, 1].map(|seat| last(&|p| p.losing_lines[seat] as f64)),
        kept: [0, 1].map(|seat| last(&|p| p.kept[seat])),
        games_a_second: last(&|p| p.games as f64 / p.seconds.max(1e-9)),
    }
}

/// The page.
#[derive(Template)]
#[template(path = "compare.html")]
pub(crate) struct Page {
    pub(crate) game: String,
    /// What the numbers are.
    pub(crate) about: String,
    pub(crate) heads: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) plots: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(games: u64, losses: [u64; 2]) -> Point {
        Point {
            games,
            seconds: games as f64 / 1e5,
            proved: losses == [0, 0],
            losing_lines: losses,
            best_response: losses.map(|n| if n > 0 { -1.0 } else { 0.0 }),
            policy_best_response: None,
            kept: [0.75, 1.0],
            against_random: [0.99, 0.9],
        }
    }

    fn curve(seed: u64, losses: &[[u64; 2]]) -> Curve<Point> {
        let points = losses.iter().zip(1..).map(|(&losses, i)| point(100 * i, losses)).collect();
        Curve { method: "m".to_owned(), preset: "p".to_owned(), seed, trained: [true; 2], points }
    }

    #[test]
    fn a_proof_counts_from_the_moment_on_which_it_is_never_lost_again() {
        let from = |losses: &[[u64; 2]]| proved_from(&curve(1, losses)).map(|p| p.games);
        assert_eq!(from(&[[1, 0], [0, 0], [0, 2], [0, 0], [0, 0]]), Some(400));
        assert_eq!(from(&[[0, 0], [0, 0]]), Some(100));
        assert_eq!(from(&[[0, 0], [0, 1]]), None);
    }

    #[test]
    fn the_spread_is_the_median_and_the_middle_eight_tenths() {
        let spread = Spread::of((0..=10).map(f64::from));
        assert_eq!(spread, Spread { median: 5.0, low: 1.0, high: 9.0 });
        assert_eq!(Spread::of([3.0]), Spread { median: 3.0, low: 3.0, high: 3.0 });
    }

    #[test]
    fn the_report_counts_seeds_and_shows_each_method_once_in_every_plot() {
        let curves = vec![curve(1, &[[1, 4], [0, 0]]), curve(2, &[[1, 4], [0, 2]])];
        let summaries: Vec<Summary> = groups(&curves).map(summary).collect();
        let report =
            Report { game: "a game".to_owned(), budget: "200 games".to_owned(), reproducible: true, summaries, curves };
        let [only] = &report.summaries[..] else { panic!("one method") };
        assert_eq!((only.seeds, only.proved, only.games_until_proved.unwrap().median), (2, 1, 200.0));
        assert_eq!(report.csv().lines().count(), 5);
        let page = report.page().render().unwrap();
        // No policy was measured, so those two plots stay empty.
        assert_eq!((page.matches("<svg").count(), page.matches("<polyline").count()), (14, 12));
        assert!(page.contains("1 of 2") && !page.contains("NaN") && !page.contains("http"));
    }

    #[test]
    fn nothing_is_said_of_a_seat_that_is_not_trained() {
        let curves = vec![Curve { trained: [false, true], ..curve(1, &[[9, 4], [9, 0]]) }];
        let summaries = groups(&curves).map(summary).collect();
        let report =
            Report { game: "a game".to_owned(), budget: "200 games".to_owned(), reproducible: true, summaries, curves };
        let [row] = &report.rows()[..] else { panic!("one method") };
        assert_eq!([&row[4], &row[5], &row[6]], ["not trained", "0 [0, 0]", "not trained"]);
        // Its two plots of what is kept and its two against random, by games and by time, are left out.
        assert_eq!(report.page().render().unwrap().matches("<polyline").count(), 8);
    }
}
