//! `tengen compare`: which method learns faster, and how good does each really get?

use std::path::PathBuf;

use anyhow::{Result, bail};
use askama::Template;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rules::notation::quote;
use serde::Serialize;

use crate::curve::{self, Curve, Job, Point};
use crate::files;
use crate::progress::thousands;
use crate::registry::{self, Known, WithGame};
use crate::settings::Change;
use crate::svg::{Axes, Series, plot};
use crate::talk::{self, HEAD, Look, paint};

/// Compare methods by their exact learning curves
///
/// Trains every method with every seed, and asks at moments of each training what is exactly true of the agent: how
/// many lines of play it loses, what a best response makes of it, how often its move keeps the value of the position.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen compare tictactoe                              all methods, 20 seeds, as they come
  tengen compare tictactoe --preset article             the recipes as published
  tengen compare tictactoe --methods td_backward,monte_carlo --games 30000
  tengen compare tictactoe --methods all --seconds 0.5  the same processor time for each")]
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
    #[arg(long, default_value_t = 1)]
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
    /// Threads [default: all cores]; the curves do not depend on it
    #[arg(long)]
    threads: Option<usize>,
    /// The folder for compare.html, compare.csv and compare.json
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
        let jobs = jobs(&game, args)?;
        // Whatever can be refused is refused before anything is trained.
        files::make_folder(&args.out)?;
        for job in &jobs {
            registry::method(&game, &job.method)?.seats(&game, job.preset.as_deref(), &job.changes)?;
        }
        let threads = args.threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
        let steps = jobs.len() as u64 * args.points;
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("  {bar:44.cyan} {percent:>3} %  {eta} left").expect("the template is right");
        bar.set_style(style.progress_chars(if self.look.ascii { "#>-" } else { "━╸─" }));
        talk::say(format!("{} trainings on {threads} threads, {} moments each", jobs.len(), args.points));
        let curves = curve::run(&game, &jobs, threads, &|| bar.inc(1))?;
        bar.finish_and_clear();

        let report = Report::new(game.title(), args, curves);
        let write = |name: &str, bytes: &[u8]| files::write(&args.out.join(name), bytes);
        let json = serde_json::to_string(&report)?;
        write("compare.json", json.as_bytes())?;
        write("compare.csv", report.csv().as_bytes())?;
        write("compare.html", report.page().render()?.as_bytes())?;
        talk::data(if args.json { json } else { report.text() })?;
        talk::say(format!("the plots are in {}", args.out.join("compare.html").display()));
        Ok(())
    }
}

/// Every method that was named, with every seed.
fn jobs<G: Known>(game: &G, args: &Args) -> Result<Vec<Job>> {
    let names: Vec<String> = match args.methods.as_str() {
        "all" => registry::methods(game).iter().map(|method| method.name().to_owned()).collect(),
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

/// Everything that was measured, and what it comes to.
#[derive(Serialize)]
struct Report {
    game: String,
    budget: String,
    /// Whether the same command gives the same curves, seconds aside.
    reproducible: bool,
    summaries: Vec<Summary>,
    curves: Vec<Curve>,
}

/// One method over its seeds.
#[derive(Serialize)]
struct Summary {
    method: String,
    preset: String,
    seeds: usize,
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

/// The middle of some numbers, and the interval that holds the middle eight tenths of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Spread {
    median: f64,
    low: f64,
    high: f64,
}

impl Spread {
    /// # Panics
    /// If there are no numbers.
    fn of(numbers: impl IntoIterator<Item = f64>) -> Spread {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        // Linear between neighbours, as most programs have it.
        let quantile = |q: f64| {
            let at = q * (numbers.len() - 1) as f64;
            let (below, above) = (numbers[at.floor() as usize], numbers[at.ceil() as usize]);
            below + (above - below) * at.fract()
        };
        Spread { median: quantile(0.5), low: quantile(0.1), high: quantile(0.9) }
    }

    fn text(self, write: impl Fn(f64) -> String) -> String {
        format!("{} [{}, {}]", write(self.median), write(self.low), write(self.high))
    }
}

/// The moment from which the proof held until the end.
fn proved_from(curve: &Curve) -> Option<&Point> {
    let last_bad = curve.points.iter().rposition(|point| !point.proved);
    curve.points.get(last_bad.map_or(0, |i| i + 1))
}

fn count(x: f64) -> String {
    thousands(x.round() as u64)
}

impl Report {
    fn new(game: String, args: &Args, curves: Vec<Curve>) -> Report {
        let budget = match (args.games, args.seconds) {
            (Some(games), _) => format!("{} games each", thousands(games)),
            (None, Some(seconds)) => format!("{seconds} s of processor time each"),
            (None, None) => "the games of each preset".to_owned(),
        };
        let summaries = groups(&curves).map(summary).collect();
        Report { game, budget, reproducible: args.seconds.is_none(), summaries, curves }
    }

    /// A line for each moment of each training.
    fn csv(&self) -> String {
        let mut csv =
            "method,preset,seed,games,seconds,proved,losing_lines_first,losing_lines_second,best_response_first,\
                       best_response_second,policy_best_response_first,policy_best_response_second,kept_first,\
                       kept_second,against_random_first,against_random_second\n"
                .to_owned();
        for Curve { method, preset, seed, points } in &self.curves {
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

    /// The table for people.
    fn text(&self) -> String {
        let head = format!(
            "{:28}{:>9}  {:30}{:26}{:>18}{:>18}{:>10}",
            "method",
            "proved",
            "games until proved",
            "seconds until proved",
            "losing as first",
            "losing as second",
            "games/s"
        );
        let mut lines = vec![paint(HEAD, head)];
        for row in self.rows() {
            let [method, proved, games, seconds, first, second, _, _, rate] = row;
            lines.push(format!("{method:28}{proved:>9}  {games:30}{seconds:26}{first:>18}{second:>18}{rate:>10}"));
        }
        lines.push("Medians over seeds, and the interval that holds the middle 80 %.".to_owned());
        lines.join("\n")
    }

    /// The table's cells.
    fn rows(&self) -> Vec<[String; 9]> {
        let seconds = |x: f64| format!("{x:.3}");
        let percent = |x: f64| format!("{:.1}", 100.0 * x);
        let row = |s: &Summary| {
            [
                format!("{}:{}", s.method, s.preset),
                format!("{} of {}", s.proved, s.seeds),
                s.games_until_proved.map_or_else(|| "never".to_owned(), |spread| spread.text(count)),
                s.seconds_until_proved.map_or_else(|| "never".to_owned(), |spread| spread.text(seconds)),
                s.losing_lines[0].text(count),
                s.losing_lines[1].text(count),
                s.kept[0].text(percent),
                s.kept[1].text(percent),
                count(s.games_a_second.median),
            ]
        };
        self.summaries.iter().map(row).collect()
    }

    fn page(&self) -> Page<'_> {
        type Measure = fn(&Point) -> f64;
        type Shown = (&'static str, Measure, Option<(f64, f64)>, bool);
        let total: Measure = |p| (p.losing_lines[0] + p.losing_lines[1]) as f64;
        let policy: Measure = |p| p.policy_best_response.map_or(f64::NAN, |b| b[0].min(b[1]));
        let plots: [Shown; 7] = [
            ("Losing lines, both seats together", total, None, true),
            (
                "Best response to the greedy agent: its result in the worse seat",
                |p| p.best_response[0].min(p.best_response[1]),
                Some((-1.0, 0.0)),
                false,
            ),
            ("Best response to the softmax or epsilon-greedy policy, worse seat", policy, Some((-1.0, 0.0)), false),
            ("Value kept where moves differ, as first player", |p| p.kept[0], Some((0.5, 1.0)), false),
            ("Value kept where moves differ, as second player", |p| p.kept[1], Some((0.5, 1.0)), false),
            ("Against random, as first player: (W + D/2) / N", |p| p.against_random[0], Some((0.5, 1.0)), false),
            ("Against random, as second player: (W + D/2) / N", |p| p.against_random[1], Some((0.5, 1.0)), false),
        ];
        let plots = plots.iter().flat_map(|&(title, measure, y, log)| {
            let by_games = plot(&Axes { title, x: "games", y, log }, &self.series(|p| p.games as f64, measure));
            let by_time =
                plot(&Axes { title, x: "seconds of processor time", y, log }, &self.series(|p| p.seconds, measure));
            [by_games, by_time]
        });
        Page { game: &self.game, budget: &self.budget, rows: self.rows(), plots: plots.collect() }
    }

    /// One line for each method: medians over seeds, moment by moment, with the middle 80 % as a band.
    fn series(&self, x: fn(&Point) -> f64, y: fn(&Point) -> f64) -> Vec<Series> {
        let series = groups(&self.curves).map(|curves| {
            let moments = curves.iter().map(|curve| curve.points.len()).min().unwrap_or(0);
            let points = (0..moments).filter_map(|i| {
                let at = |f: fn(&Point) -> f64| Spread::of(curves.iter().map(|curve| f(&curve.points[i])));
                let (x, y) = (at(x).median, at(y));
                (!y.median.is_nan()).then_some([x, y.median, y.low, y.high])
            });
            Series { name: curves[0].method.clone(), points: points.collect() }
        });
        series.filter(|series| !series.points.is_empty()).collect()
    }
}

/// The curves of each method, which stand together.
fn groups(curves: &[Curve]) -> impl Iterator<Item = &[Curve]> {
    curves.chunk_by(|a, b| (&a.method, &a.preset) == (&b.method, &b.preset))
}

fn summary(curves: &[Curve]) -> Summary {
    let proved: Vec<&Point> = curves.iter().filter_map(proved_from).collect();
    let until = |f: fn(&Point) -> f64| (!proved.is_empty()).then(|| Spread::of(proved.iter().map(|point| f(point))));
    let last = |f: &dyn Fn(&Point) -> f64| {
        Spread::of(curves.iter().map(|curve| f(curve.points.last().expect("every curve has its end"))))
    };
    Summary {
        method: curves[0].method.clone(),
        preset: curves[0].preset.clone(),
        seeds: curves.len(),
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
struct Page<'a> {
    game: &'a str,
    budget: &'a str,
    rows: Vec<[String; 9]>,
    plots: Vec<String>,
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

    fn curve(seed: u64, losses: &[[u64; 2]]) -> Curve {
        let points = losses.iter().zip(1..).map(|(&losses, i)| point(100 * i, losses)).collect();
        Curve { method: "m".to_owned(), preset: "p".to_owned(), seed, points }
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
}
