//! A training as it is seen from outside: the learning curve line by line, and below it a bar on a terminal, or now
//! and then a plain line elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use methods::learner::{Metric, Row};

use crate::memory;
use crate::talk::{self, BAD, DIM, FIRST, GOOD, HEAD, Look, SECOND, paint};

/// Time without any line before a plain one.
const PLAIN_EVERY: Duration = Duration::from_secs(2);

/// About how many lines a whole training is shown in; a window is never split.
const LINES: u64 = 30;

/// Characters of a window's bar.
const WIDTH: usize = 44;

/// Shows how far a training is.
pub(crate) struct Progress {
    look: Look,
    bar: ProgressBar,
    planned: u64,
    began_at: u64,
    started: Instant,
    told: Instant,
    next_line: u64,
    window: Window,
    total: Window,
    /// Moves since the beginning, as far as the method counts them.
    moves: u64,
}

impl Progress {
    /// For a training of `planned` games of which `began_at` have been played already.
    pub(crate) fn begin(look: Look, began_at: u64, planned: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(planned), ProgressDrawTarget::stderr()).with_position(began_at);
        let template = "  {bar:44.cyan} {percent:>3} %  {rate} games/s{msg}  {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is right");
        let style = style.progress_chars(if look.ascii { "#>-" } else { "━╸─" });
        bar.set_style(style.with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = out.write_str(&thousands(state.per_sec() as u64));
        }));
        bar.reset_eta();
        let now = Instant::now();
        let (window, total) = (Window::default(), Window::default());
        Progress { look, bar, planned, began_at, started: now, told: now, next_line: 0, window, total, moves: 0 }
    }

    /// A line of metrics.
    pub(crate) fn row(&mut self, row: &Row) {
        let count = |name: &str| match row.metrics.iter().find(|(n, _)| *n == name) {
            Some((_, Metric::Count(count))) => Some(*count),
            _ => None,
        };
        self.moves += count("moves").unwrap_or(0);
        self.bar.set_message(self.moves_rate());
        match Window::of(count) {
            Some(window) => self.window(row.games, &window),
            None => self.bar.suspend(|| talk::say(plain(row))),
        }
    }

    /// The results up to this game since the last. Of a long training, several are shown as one.
    pub(crate) fn window(&mut self, games: u64, window: &Window) {
        if self.total.games() == 0 {
            self.bar.suspend(|| talk::say(window.head(self.look)));
        }
        self.window.add(window);
        self.total.add(window);
        if games >= self.next_line || games >= self.planned {
            self.told = Instant::now();
            let shown = std::mem::take(&mut self.window);
            self.bar.suspend(|| talk::say(shown.line(self.look, &thousands(games))));
            let step = (self.planned / LINES).max(1);
            self.next_line = (games / step + 1) * step;
        }
    }

    /// So many games have been learned from.
    pub(crate) fn at(&mut self, games: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_position(games);
        } else if self.told.elapsed() >= PLAIN_EVERY {
            self.told = Instant::now();
            let seconds = self.started.elapsed().as_secs_f64();
            let rate = (games - self.began_at) as f64 / seconds;
            let left = self.planned.saturating_sub(games) as f64 / rate;
            let (games, planned, rate) = (thousands(games), thousands(self.planned), thousands(rate as u64));
            let moves = self.moves_rate();
            talk::say(format!("  {games} of {planned} games, {rate} games/s{moves}, {left:.0} s left"));
        }
    }

    /// Moves a second, the learning included; nothing where they are not counted.
    fn moves_rate(&self) -> String {
        let rate = self.moves as f64 / self.started.elapsed().as_secs_f64();
        if self.moves == 0 { String::new() } else { format!(", {} moves/s", thousands(rate as u64)) }
    }

    /// A line about the training.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| talk::say(line));
    }

    /// Removes the bar and adds up.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
        if self.total.games() > 0 {
            talk::say(self.total.line(self.look, "in total"));
        }
    }

    /// What it took: so many games have been learned from.
    pub(crate) fn cost(&self, games: u64) {
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = thousands(((games - self.began_at) as f64 / seconds) as u64);
        let memory = memory::resident().map_or(String::new(), |mib| format!(", {mib:.0} MiB of memory"));
        talk::say(format!("  {seconds:.1} s, {rate} games/s{}{memory}", self.moves_rate()));
    }
}

/// The results of a window of games.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Won, drawn, lost by the learner; in self-play: won by the first, drawn, won by the second.
    counts: [u64; 3],
    self_play: bool,
}

impl Window {
    /// The window that a row of metrics speaks of, if it speaks of one; `count` looks up a count by its name.
    pub(crate) fn of(count: impl Fn(&str) -> Option<u64>) -> Option<Window> {
        let (first, last) = (count("first_wins"), count("second_wins"));
        let self_play = first.is_some();
        let counts = [first.or_else(|| count("wins"))?, count("draws")?, last.or_else(|| count("losses"))?];
        Some(Window { counts, self_play })
    }

    fn games(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, other: &Window) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.self_play = other.self_play;
    }

    fn marks(look: Look) -> [&'static str; 3] {
        if look.ascii { ["#", "=", "."] } else { ["█", "▒", "·"] }
    }

    fn head(&self, look: Look) -> String {
        let [won, drawn, lost] = Window::marks(look);
        let [left, right] = if self.self_play { ["first", "second"] } else { ["won", "lost"] };
        let [left, drawn, right] = [format!("{won} {left}"), format!("{drawn} drawn"), format!("{lost} {right}")];
        paint(HEAD, format!("  {:>11}  {:<WIDTH$} {left:>8}  {drawn:>8}  {right:>8}", "games", "their results"))
    }

    fn line(&self, look: Look, name: &str) -> String {
        let total = self.games().max(1);
        let [won, drawn, lost] = self.counts.map(|count| 100.0 * count as f64 / total as f64);
        let styles = if self.self_play { [FIRST, DIM, SECOND] } else { [GOOD, DIM, BAD] };
        let parts = styles.into_iter().zip(Window::marks(look)).zip(lengths(self.counts, WIDTH));
        let bar: String = parts.map(|((style, mark), length)| paint(style, mark.repeat(length))).collect();
        format!("  {name:>11}  {bar}  {won:5.1} %   {drawn:5.1} %   {lost:5.1} %")
    }
}

/// Splits a bar of `width` characters by the counts; whatever is not zero shows.
fn lengths(counts: [u64; 3], width: usize) -> [usize; 3] {
    let total = counts.iter().sum::<u64>().max(1);
    let mut lengths = counts.map(|count| ((count * width as u64 + total / 2) / total) as usize);
    for i in 0..3 {
        lengths[i] = lengths[i].max(usize::from(counts[i] > 0));
    }
    let greatest = (0..3).max_by_key(|&i| lengths[i]).expect("there are three");
    let others: usize = (0..3).filter(|&i| i != greatest).map(|i| lengths[i]).sum();
    lengths[greatest] = width - others;
    lengths
}

/// A row of other metrics: names and numbers.
fn plain(row: &Row) -> String {
    let mut line = format!("  {:>11}", thousands(row.games));
    for (name, metric) in &row.metrics {
        let number = match metric {
            Metric::Count(count) => thousands(*count),
            Metric::Real(real) => format!("{real:.4}"),
        };
        line.push_str(&format!("  {} {number}", name.replace('_', " ")));
    }
    line
}

/// A whole number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_bar_is_as_wide_as_it_should_be_and_shows_even_one_loss() {
        assert_eq!(lengths([9_999, 0, 1], 44), [43, 0, 1]);
        assert_eq!(lengths([1, 1, 1], 44).iter().sum::<usize>(), 44);
        assert_eq!(lengths([0, 0, 0], 44), [0, 0, 44]);
        assert_eq!(lengths([1, 0, 9_999], 44), [1, 0, 43]);
    }

    #[test]
    fn without_colours_and_in_ascii_a_window_still_says_all() {
        let window = Window { counts: [50, 25, 25], self_play: false };
        let line = window.line(Look { ascii: true }, "10,000");
        let line = anstream::adapter::strip_str(&line).to_string();
        assert_eq!(
            line,
            format!(
                "       10,000  {}{}{}   50.0 %    25.0 %    25.0 %",
                "#".repeat(22),
                "=".repeat(11),
                ".".repeat(11)
            )
        );
    }
}
