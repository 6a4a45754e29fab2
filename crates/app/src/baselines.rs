//! Learning curves where no table says what is true: agents meet baselines from short openings, both seats each.
//!
//! All agents meet the same opponents from the same openings, so that a difference between two curves is one between
//! the agents. Where positions are stored that ask for a tactic, they also say which tactics an agent has learned by then.

use std::fmt::Write as _;

use anyhow::Result;
use arena::Tally;
use arena::openings;
use arena::play::play_game;
use methods::learner::Agent;
use oracle::gomoku::tactics::{Question, exam};
use rules::{Action, Player, Rng, Seat, Wdl};
use serde::Serialize;

use crate::curve::{Curve, Moment, Spread, groups};
use crate::registry::{self, Known};
use crate::svg::{Axes, Series, plot};
use crate::talk::{HEAD, paint};

/// An agent at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Point {
    /// Games learned from.
    pub(crate) games: u64,
    /// Seconds of processor time spent on learning.
    pub(crate) seconds: f64,
    /// Its results as first and as second player, against each opponent.
    pub(crate) results: Vec<[Tally; 2]>,
    /// What it knows of each tactic; nothing for games of which none are stored.
    pub(crate) tactics: Vec<Tactic>,
}

/// How often an agent finds the right move where a tactic asks for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Tactic {
    /// The name of the kind.
    pub(crate) kind: &'static str,
    /// Positions of the kind that it was asked.
    pub(crate) positions: u64,
    /// The share of them in which its move is right.
    pub(crate) right: f64,
}

impl Point {
    fn score(&self, opponent: usize, seat: Option<Seat>) -> f64 {
        let [first, second] = self.results[opponent];
        match seat {
            Some(Seat::First) => first.score(),
            Some(Seat::Second) => second.score(),
            None => (first.score() + second.score()) / 2.0,
        }
    }
}

/// Opponents, openings and questions.
pub(crate) struct Baselines<G: Known> {
    game: G,
    names: Vec<String>,
    openings: Vec<Vec<Action>>,
    questions: &'static [Question<G::Position>],
}

/// The most positions of tactics that an agent is asked at each moment: 200 or so of each kind, for a network a second.
const QUESTIONS: usize = 2_000;

impl<G: Known> Baselines<G> {
    /// So many openings of the game's short ones, the same for the same seed.
    ///
    /// # Errors
    /// If there is no such opponent.
    pub(crate) fn new(game: &G, names: &[String], openings: usize, seed: u64) -> Result<Baselines<G>> {
        for name in names {
            registry::player(game, name)?;
        }
        let mut list = openings::short(game);
        Rng::new(seed, 0).shuffle(&mut list);
        list.truncate(openings);
        // The first questions are a fair sample of all.
        let questions = game.tactics().unwrap_or_default();
        let questions = &questions[..questions.len().min(QUESTIONS)];
        Ok(Baselines { game: game.clone(), names: names.to_vec(), openings: list, questions })
    }

    /// Games in each seat against each opponent, at each moment.
    pub(crate) fn games(&self) -> usize {
        self.openings.len()
    }

    /// Lets the agent meet all of them.
    pub(crate) fn examine(&self, moment: Moment<'_>, agent: &mut dyn Agent<G>) -> Point {
        let results = self.names.iter().enumerate().map(|(number, name)| {
            let opponent = registry::player(&self.game, name).expect("it was made before");
            self.meet(agent, &mut *opponent.into_player(), number)
        });
        let results = results.collect();
        Point { games: moment.games, seconds: moment.seconds, results, tactics: self.tactics(agent) }
    }

    fn tactics(&self, agent: &mut dyn Agent<G>) -> Vec<Tactic> {
        let marks = exam(&self.game, self.questions, agent).expect("an agent's choice is a function of the position");
        let kinds = marks.kinds.iter();
        kinds.map(|m| Tactic { kind: m.kind.name(), positions: m.all.questions, right: m.all.share() }).collect()
    }

    fn meet(&self, agent: &mut dyn Agent<G>, opponent: &mut dyn Player<G>, number: usize) -> [Tally; 2] {
        Seat::BOTH.map(|seat| {
            let mut tally = Tally::default();
            for (i, opening) in self.openings.iter().enumerate() {
                let mut rng = Rng::new(number as u64, (2 * i + seat.index()) as u64);
                let played = match seat {
                    Seat::First => play_game(&self.game, opening, [agent, opponent], &mut rng),
                    Seat::Second => play_game(&self.game, opening, [opponent, agent], &mut rng),
                };
                tally.add(played.outcome.seen_by(seat).unwrap_or(Wdl::Draw));
            }
            tally
        })
    }
}

/// Everything that was seen.
#[derive(Serialize)]
pub(crate) struct Report {
    game: String,
    budget: String,
    opponents: Vec<String>,
    /// Games in each seat against each opponent, at each moment.
    games_a_seat: usize,
    curves: Vec<Curve<Point>>,
}

/// A method against an opponent, as first, as second, and both: the seats in the order of the table.
const SEATS: [(Option<Seat>, &str); 3] =
    [(Some(Seat::First), "as first player"), (Some(Seat::Second), "as second player"), (None, "both seats")];

impl Report {
    pub(crate) fn new<G: Known>(baselines: &Baselines<G>, budget: String, curves: Vec<Curve<Point>>) -> Report {
        Report {
            game: baselines.game.title(),
            budget,
            opponents: baselines.names.clone(),
            games_a_seat: baselines.games(),
            curves,
        }
    }

    /// A line for each opponent at each moment of each training.
    pub(crate) fn csv(&self) -> String {
        let mut csv = "method,preset,seed,games,seconds,opponent,wins_first,draws_first,losses_first,wins_second,\
                       draws_second,losses_second\n"
            .to_owned();
        for Curve { method, preset, seed, points, .. } in &self.curves {
            for Point { games, seconds, results, .. } in points {
                for (opponent, [a, b]) in self.opponents.iter().zip(results) {
                    let _ = writeln!(
                        csv,
                        "{method},{preset},{seed},{games},{seconds:.6},\"{}\",{},{},{},{},{},{}",
                        opponent.replace('"', "\"\""),
                        a.wins,
                        a.draws,
                        a.losses,
                        b.wins,
                        b.draws,
                        b.losses
                    );
                }
            }
        }
        csv
    }

    /// A line for each tactic at each moment of each training; nothing for games of which none are stored.
    pub(crate) fn tactics_csv(&self) -> Option<String> {
        self.kinds().next()?;
        let mut csv = "method,preset,seed,games,seconds,tactic,positions,right\n".to_owned();
        for Curve { method, preset, seed, points, .. } in &self.curves {
            for Point { games, seconds, tactics, .. } in points {
                for Tactic { kind, positions, right } in tactics {
                    let _ =
                        writeln!(csv, "{method},{preset},{seed},{games},{seconds:.6},{kind},{positions},{right:.6}");
                }
            }
        }
        Some(csv)
    }

    /// The tactics that were asked for.
    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let asked = self.curves.first().and_then(|curve| curve.points.first());
        asked.into_iter().flat_map(|point| point.tactics.iter().map(|tactic| tactic.kind))
    }

    /// What the numbers are, in a sentence.
    fn about(&self) -> String {
        let games = self.games_a_seat;
        format!("Scores in %, (W + D/2) / N, of {games} games in each seat from short openings, the same for all.")
    }

    /// The table for people.
    pub(crate) fn text(&self) -> String {
        let row = |[method, opponent, first, second, both, rate]: [String; 6]| {
            format!("{method:24}{opponent:16}{first:>24}{second:>24}{both:>24}{rate:>10}")
        };
        let mut lines = vec![paint(HEAD, row(Self::HEAD.map(str::to_owned)))];
        lines.extend(self.rows().into_iter().map(row));
        if self.kinds().next().is_some() {
            let names: String = groups(&self.curves).map(|curves| format!("{:>24}", name(curves))).collect();
            lines.extend([String::new(), paint(HEAD, format!("{:24}{names}", "right moves, %"))]);
        }
        for (i, kind) in self.kinds().enumerate() {
            let shares = groups(&self.curves).map(|curves| {
                let share = Spread::of(curves.iter().map(|curve| at_the_end(curve).tactics[i].right));
                format!("{:>24}", share.text(|x| format!("{:.1}", 100.0 * x)))
            });
            lines.push(format!("{kind:24}{}", shares.collect::<String>()));
        }
        lines.extend([String::new(), self.about()]);
        lines.push(
            "At the end of each training: medians over seeds, and the interval that holds the middle 80 %.".to_owned(),
        );
        lines.join("\n")
    }

    const HEAD: [&'static str; 6] =
        ["method", "against", "as first player", "as second player", "both seats", "games/s"];

    fn rows(&self) -> Vec<[String; 6]> {
        let row = |(curves, opponent): (&[Curve<Point>], usize)| {
            let last = |f: &dyn Fn(&Point) -> f64| Spread::of(curves.iter().map(|curve| f(at_the_end(curve))));
            let score = |seat| last(&|p| p.score(opponent, seat)).text(|x| format!("{:.1}", 100.0 * x));
            let [first, second, both] = SEATS.map(|(seat, _)| score(seat));
            let rate = last(&|p| p.games as f64 / p.seconds.max(1e-9)).median;
            [name(curves), self.opponents[opponent].clone(), first, second, both, format!("{rate:.0}")]
        };
        let all = groups(&self.curves).flat_map(|curves| (0..self.opponents.len()).map(move |i| (curves, i)));
        all.map(row).collect()
    }

    /// The page: what stands over the table, its head, its rows, the plots.
    pub(crate) fn page(&self) -> crate::commands::compare::Page {
        let mut plots = Vec::new();
        for (opponent, name) in self.opponents.iter().enumerate() {
            for (seat, seat_name) in SEATS {
                let title = format!("Score against {name}, {seat_name}");
                let axes = Axes { title: &title, x: "games", y: Some((0.0, 1.0)), log: false };
                plots.push(plot(&axes, &self.series(|p| p.score(opponent, seat))));
            }
        }
        for (i, kind) in self.kinds().enumerate() {
            let title = format!("Right moves where the tactic is: {kind}");
            let axes = Axes { title: &title, x: "games", y: Some((0.0, 1.0)), log: false };
            plots.push(plot(&axes, &self.series(|p| p.tactics[i].right)));
        }
        crate::commands::compare::Page {
            game: self.game.clone(),
            about: format!(
                "{} Budget: {}. Medians over seeds, with the interval that holds the middle 80 % of them; nothing of \
                 these games went back into the training.",
                self.about(),
                self.budget
            ),
            heads: Self::HEAD.to_vec(),
            rows: self.rows().into_iter().map(Vec::from).collect(),
            plots,
        }
    }

    fn series(&self, score: impl Fn(&Point) -> f64) -> Vec<Series> {
        let series = groups(&self.curves).map(|curves| {
            let moments = curves.iter().map(|curve| curve.points.len()).min().unwrap_or(0);
            let points = (0..moments).map(|i| {
                let y = Spread::of(curves.iter().map(|curve| score(&curve.points[i])));
                let x = Spread::of(curves.iter().map(|curve| curve.points[i].games as f64));
                [x.median, y.median, y.low, y.high]
            });
            Series { name: name(curves), points: points.collect() }
        });
        series.collect()
    }
}

fn name(curves: &[Curve<Point>]) -> String {
    format!("{}:{}", curves[0].method, curves[0].preset)
}

fn at_the_end(curve: &Curve<Point>) -> &Point {
    curve.points.last().expect("every curve has its end")
}
