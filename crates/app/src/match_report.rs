//! What a tournament came to: for people, for spreadsheets, for programs, as a page.

use std::fmt::Write as _;

use arena::score::{Interval, elo, expected};
use arena::sprt::{Sprt, Verdict};
use arena::standings::Faults;
use arena::tournament::Tournament;
use arena::{Pairs, Tally};
use askama::Template;
use rules::Seat;
use serde::Serialize;

use crate::VERSION;
use crate::match_folder::Setup;
use crate::progress::thousands;
use crate::registry::Known;
use crate::svg::{self, Bar};
use crate::talk::{DIM, HEAD, Look, paint};

/// The report.
#[derive(Serialize)]
pub(crate) struct Report {
    version: &'static str,
    game: String,
    title: String,
    seed: u64,
    /// Whether the same command gives the same games.
    reproducible: bool,
    openings: usize,
    /// Games that count: those whose other half was played too.
    games: u64,
    planned: u64,
    /// How many of them differ from each other.
    distinct: u64,
    mean_plies: f64,
    /// How ratings were found.
    model: &'static str,
    anchor: String,
    players: Vec<Row>,
    meetings: Vec<Meeting>,
    sprt: Option<Test>,
}

/// One player's results.
#[derive(Serialize)]
struct Row {
    name: String,
    tally: Tally,
    score: f64,
    score_interval: Interval,
    as_first: Tally,
    as_second: Tally,
    /// The difference to the anchor's rating; an open end of an interval is written as null. No rating if no games
    /// connect the player with the anchor.
    rating: Option<f64>,
    rating_interval: Option<Interval>,
    faults: Faults,
}

/// What two players made of each other, seen by the first named.
#[derive(Serialize)]
struct Meeting {
    player: usize,
    opponent: usize,
    pairs: Pairs,
    score: f64,
    score_interval: Interval,
}

/// Where the sequential test stands.
#[derive(Serialize)]
struct Test {
    elo0: f64,
    elo1: f64,
    alpha: f64,
    beta: f64,
    log_likelihood_ratio: f64,
    lower: f64,
    upper: f64,
    verdict: &'static str,
}

impl Report {
    pub(crate) fn new<G: Known>(game: &G, setup: &Setup, tournament: &Tournament<'_, G>) -> Report {
        let standings = tournament.standings();
        let names = standings.names();
        let two = names.len() == 2;
        let ratings = standings.ratings(setup.anchor);
        let row = |player: usize| {
            let pairs = standings.all_pairs(player);
            let sum = |seat: Seat| {
                let mut tally = Tally::default();
                (0..names.len()).for_each(|other| tally += standings.tally_as(player, other, seat));
                tally
            };
            let (score, interval) = (pairs.tally().score(), pairs.interval());
            let rating = match ratings[player] {
                // Of two players the score says all: Elo's formula, and no prior is needed.
                Some(_) if two && player != setup.anchor => Some((elo(score), interval.elo())),
                rating => rating.map(|rating| (rating.elo, rating.interval)),
            };
            Row {
                name: names[player].clone(),
                tally: pairs.tally(),
                score,
                score_interval: interval,
                as_first: sum(Seat::First),
                as_second: sum(Seat::Second),
                rating: rating.map(|rating| rating.0),
                rating_interval: rating.map(|rating| rating.1),
                faults: standings.faults(player),
            }
        };
        let all = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
        let meeting = |(player, opponent)| {
            let pairs = standings.pairs(player, opponent);
            let (score, score_interval) = (pairs.tally().score(), pairs.interval());
            (pairs.count() > 0).then_some(Meeting { player, opponent, pairs, score, score_interval })
        };
        let sprt = setup.sprt.map(|saved| {
            let sprt = Sprt::from(saved);
            let (lower, upper) = sprt.bounds();
            let verdict = match tournament.verdict() {
                Some(Verdict::Alternative) => "accepted: stronger",
                Some(Verdict::Null) => "rejected: not stronger by so much",
                Some(Verdict::Open) | None => "open",
            };
            let log_likelihood_ratio = sprt.log_ratio(&standings.pairs(0, 1));
            let Sprt { elo0, elo1, alpha, beta } = sprt;
            Test { elo0, elo1, alpha, beta, log_likelihood_ratio, lower, upper, verdict }
        });
        Report {
            version: VERSION,
            game: game.name(),
            title: game.title(),
            seed: setup.seed,
            reproducible: setup.reproducible,
            openings: setup.openings.len(),
            games: standings.games(),
            planned: tournament.planned(),
            distinct: standings.distinct(),
            mean_plies: standings.mean_plies(),
            model: if two {
                "Elo's formula on the score"
            } else {
                "Bradley-Terry with draws (Davidson), one virtual draw a pair"
            },
            anchor: names[setup.anchor].clone(),
            players: (0..names.len()).map(row).collect(),
            meetings: all.filter_map(meeting).collect(),
            sprt,
        }
    }

    /// The players from the strongest, as far as that is known.
    fn ranked(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.players.iter().collect();
        let key = |row: &Row| (row.rating.unwrap_or(f64::NEG_INFINITY), row.score);
        rows.sort_by(|a, b| key(b).partial_cmp(&key(a)).expect("ratings are numbers"));
        rows
    }

    /// For the terminal.
    pub(crate) fn text(&self, look: Look) -> String {
        let width = self.players.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(6, 40);
        let head = format!(
            "{:width$} {:>7} {:>7} {:>7} {:>7}  {:>6} {:>15}  {:>6} {:>6}  {:>6} {:>16}",
            "player", "games", "won", "drawn", "lost", "score", "95 %", "first", "second", "rating", "95 %"
        );
        let mut lines = vec![String::new(), paint(HEAD, head)];
        for row in self.ranked() {
            let Tally { wins, draws, losses } = row.tally;
            let [games, wins, draws, losses] = [row.tally.games(), wins, draws, losses].map(thousands);
            let (rating, interval) = (row.rating_text(), row.rating_interval_text());
            lines.push(format!(
                "{:width$} {games:>7} {wins:>7} {draws:>7} {losses:>7}  {:>6} {:>15}  {:>6} {:>6}  {rating:>6} {interval:>16}",
                shorten(&row.name, width, look),
                percent(row.score),
                percents(row.score_interval),
                percent(row.as_first.score()),
                percent(row.as_second.score()),
            ));
        }
        if self.players.len() > 2 {
            lines.push(String::new());
            lines.extend(self.cross_table(width, look));
        }
        lines.push(String::new());
        lines.extend(self.notes().into_iter().map(|note| paint(DIM, note)));
        lines.extend(self.sprt.iter().map(Test::text));
        lines.join("\n")
    }

    /// Scores of everyone against everyone.
    fn cross_table(&self, width: usize, look: Look) -> Vec<String> {
        let ranked = self.ranked();
        let numbers: String = (1..=ranked.len()).map(|n| format!("{n:>8}")).collect();
        let mut lines = vec![paint(HEAD, format!("{:width$}     {numbers}", "score in % against"))];
        for (i, row) in ranked.iter().enumerate() {
            let cells: String = ranked
                .iter()
                .map(|other| {
                    format!("{:>8}", self.score_between(&row.name, &other.name).map_or("-".to_owned(), percent))
                })
                .collect();
            lines.push(format!("{:width$} {:>3} {cells}", shorten(&row.name, width, look), i + 1));
        }
        lines
    }

    fn score_between(&self, player: &str, opponent: &str) -> Option<f64> {
        let name = |i: usize| self.players[i].name.as_str();
        self.meetings.iter().find_map(|m| match (name(m.player), name(m.opponent)) {
            (a, b) if (a, b) == (player, opponent) => Some(m.score),
            (a, b) if (b, a) == (player, opponent) => Some(1.0 - m.score),
            _ => None,
        })
    }

    /// What must be said beside the numbers.
    fn notes(&self) -> Vec<String> {
        let (games, distinct) = (thousands(self.games), thousands(self.distinct));
        let mut notes = vec![format!(
            "{games} games, {distinct} of them different, {:.1} moves on average; {} openings, seed {}",
            self.mean_plies,
            thousands(self.openings as u64),
            self.seed
        )];
        if self.distinct < self.games {
            notes.push("Games that repeat others are no further evidence where a player does not vary.".to_owned());
        }
        notes.push(format!("Ratings: {}; {} is 0. Intervals count pairs of games.", self.model, self.anchor));
        for row in &self.players {
            let Faults { illegal, time, failed, resigned } = row.faults;
            let faults =
                [(illegal, "by illegal moves"), (time, "on time"), (failed, "by failing"), (resigned, "by resigning")];
            let said: Vec<String> =
                faults.iter().filter(|(n, _)| *n > 0).map(|(n, how)| format!("{} {how}", thousands(*n))).collect();
            if !said.is_empty() {
                notes.push(format!("{} lost games without the opponent's doing: {}.", row.name, said.join(", ")));
            }
        }
        if !self.reproducible {
            notes.push("Not reproducible: an engine plays against the clock.".to_owned());
        }
        notes
    }

    /// For spreadsheets: one line a player.
    pub(crate) fn csv(&self) -> String {
        let mut text = "player,games,wins,draws,losses,score,score_low,score_high,score_as_first,score_as_second,\
                        rating,rating_low,rating_high,illegal,time,failed,resigned\n"
            .to_owned();
        for row in self.ranked() {
            let number = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.4}"));
            let Tally { wins, draws, losses } = row.tally;
            let Faults { illegal, time, failed, resigned } = row.faults;
            let _ = writeln!(
                text,
                "\"{}\",{},{wins},{draws},{losses},{},{},{},{},{},{},{},{},{illegal},{time},{failed},{resigned}",
                row.name.replace('"', "\"\""),
                row.tally.games(),
                number(Some(row.score)),
                number(Some(row.score_interval.low)),
                number(Some(row.score_interval.high)),
                number(Some(row.as_first.score())),
                number(Some(row.as_second.score())),
                number(row.rating),
                number(row.rating_interval.map(|i| i.low)),
                number(row.rating_interval.map(|i| i.high)),
            );
        }
        text
    }

    /// As a page that needs nothing but itself.
    pub(crate) fn page(&self) -> Page {
        let ranked = self.ranked();
        let row = |row: &&Row| {
            let Tally { wins, draws, losses } = row.tally;
            let counts = [row.tally.games(), wins, draws, losses].map(thousands);
            let mut cells = vec![row.name.clone()];
            cells.extend(counts);
            cells.push(format!("{} [{}]", percent(row.score), percents(row.score_interval)));
            cells.extend([row.as_first.score(), row.as_second.score()].map(percent));
            cells.push(row.rating_text());
            cells.push(row.rating_interval_text());
            cells
        };
        let cross = |row: &&Row| {
            let cell = |other: &&Row| match self.score_between(&row.name, &other.name) {
                // The shade says the same as the number: it only helps to find it.
                Some(score) => Cell { text: percent(score), shade: format!("{:.2}", 0.45 * score) },
                None => Cell { text: String::new(), shade: "0".to_owned() },
            };
            (row.name.clone(), ranked.iter().map(cell).collect())
        };
        let scores: Vec<Bar> = ranked
            .iter()
            .map(|row| Bar {
                name: row.name.clone(),
                value: 100.0 * row.score,
                low: 100.0 * row.score_interval.low,
                high: 100.0 * row.score_interval.high,
            })
            .collect();
        let rated: Vec<Bar> = ranked
            .iter()
            .filter_map(|row| {
                let interval = row.rating_interval?;
                Some(Bar { name: row.name.clone(), value: row.rating?, low: interval.low, high: interval.high })
            })
            .collect();
        Page {
            title: self.title.clone(),
            version: self.version,
            rows: ranked.iter().map(row).collect(),
            names: ranked.iter().map(|row| row.name.clone()).collect(),
            cross: if ranked.len() > 2 { ranked.iter().map(cross).collect() } else { Vec::new() },
            notes: self.notes().into_iter().chain(self.sprt.iter().map(Test::text)).collect(),
            plots: vec![
                svg::bars(&format!("Rating, {} = 0, with 95 % interval", self.anchor), &rated),
                svg::bars("Score in %, with 95 % interval", &scores),
            ],
        }
    }
}

/// The page.
#[derive(Template)]
#[template(path = "arena.html")]
pub(crate) struct Page {
    title: String,
    version: &'static str,
    rows: Vec<Vec<String>>,
    names: Vec<String>,
    cross: Vec<(String, Vec<Cell>)>,
    notes: Vec<String>,
    plots: Vec<String>,
}

/// A cell of the cross table.
struct Cell {
    text: String,
    /// How strongly it is tinted, from 0 to 1.
    shade: String,
}

impl Row {
    fn rating_text(&self) -> String {
        self.rating.map_or_else(|| "-".to_owned(), points)
    }

    fn rating_interval_text(&self) -> String {
        match self.rating_interval {
            Some(Interval { low, high }) if low < high => format!("{} to {}", points(low), points(high)),
            _ => String::new(),
        }
    }
}

impl Test {
    fn text(&self) -> String {
        let Test { elo0, elo1, alpha, beta, log_likelihood_ratio, lower, upper, verdict } = self;
        let scores = [*elo0, *elo1].map(|elo| percent(expected(elo)));
        format!(
            "SPRT {elo0} against {elo1} (a score of {} against {} %), errors {alpha} and {beta}: log-likelihood ratio \
             {log_likelihood_ratio:.2} in [{lower:.2}, {upper:.2}]: {verdict}",
            scores[0], scores[1]
        )
    }
}

/// A difference in rating; an open end is `inf`.
fn points(elo: f64) -> String {
    format!("{elo:+.0}")
}

/// A share in percent. Only what is exactly nothing or all looks so.
fn percent(share: f64) -> String {
    let rounded = (share * 1_000.0).round() / 10.0;
    let shown = if share > 0.0 && share < 1.0 { rounded.clamp(0.1, 99.9) } else { rounded };
    format!("{shown:.1}")
}

fn percents(Interval { low, high }: Interval) -> String {
    format!("{} to {}", percent(low), percent(high))
}

/// A name in at most `width` characters: its end tells more than its beginning.
fn shorten(name: &str, width: usize, look: Look) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let mark = if look.ascii { "..." } else { "…" };
    let kept = width - mark.chars().count();
    mark.chars().chain(name.chars().skip(length - kept)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_ends_and_shares_their_meaning() {
        assert_eq!(shorten("runs/connect4-outcome-1", 9, Look { ascii: false }), "…utcome-1");
        assert_eq!(shorten("runs/connect4-outcome-1", 9, Look { ascii: true }), "...come-1");
        assert_eq!(shorten("random", 9, Look { ascii: true }), "random");
        assert_eq!([0.0, 1e-6, 0.5, 0.99999, 1.0].map(percent), ["0.0", "0.1", "50.0", "99.9", "100.0"]);
        assert_eq!([f64::INFINITY, -0.2, 338.4].map(points), ["+inf", "-0", "+338"]);
    }
}
