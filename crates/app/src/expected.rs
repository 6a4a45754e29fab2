//! Where a training stands beside the trainings of the same preset that were measured.

use crate::progress::thousands;
use crate::run::Plan;

/// Lines of game, method, preset, tenth of the training, metric, and the least and the greatest that was measured over
/// seeds; made by `expected.py` of results/2026-12-01-ppo-gomoku.
const MEASURED: &str = include_str!("../data/expected.csv");

/// The stretches of a training after which it is compared.
const STRETCHES: u64 = 10;

/// What was measured, and what this training has reached since the last comparison.
pub(crate) struct Expected {
    planned: u64,
    /// For each stretch and metric the least and the greatest that was measured.
    measured: Vec<(u64, &'static str, [f64; 2])>,
    /// The stretch that is going on.
    stretch: u64,
    /// For each metric of this stretch the sum of its rows, and their number.
    sums: Vec<(&'static str, f64, f64)>,
}

impl Expected {
    /// For a preset that was measured; the plan's settings are those of the preset as it is now.
    pub(crate) fn of(plan: &Plan, planned: u64) -> Option<Expected> {
        let line = |line: &'static str| -> Option<(u64, &'static str, [f64; 2])> {
            let [game, method, preset, stretch, metric, least, greatest] =
                line.split(',').collect::<Vec<_>>().try_into().ok()?;
            let same = [game, method, preset] == [&plan.game, &plan.method, &plan.preset];
            same.then_some(())?;
            Some((stretch.parse().ok()?, metric, [least.parse().ok()?, greatest.parse().ok()?]))
        };
        let measured: Vec<_> = MEASURED.lines().filter_map(line).collect();
        (!measured.is_empty()).then(|| Expected { planned, measured, stretch: 1, sums: Vec::new() })
    }

    /// Counts a row of metrics; at the end of a stretch, a line that compares its means with what was measured.
    pub(crate) fn row(&mut self, games: u64, metric: impl Fn(&str) -> Option<f64>) -> Option<String> {
        for &(_, name, _) in self.measured.iter().filter(|(stretch, ..)| *stretch == self.stretch) {
            let Some(number) = metric(name) else { continue };
            match self.sums.iter_mut().find(|(of, ..)| *of == name) {
                Some((_, sum, rows)) => (*sum, *rows) = (*sum + number, *rows + 1.0),
                None => self.sums.push((name, number, 1.0)),
            }
        }
        if games * STRETCHES < self.stretch * self.planned {
            return None;
        }
        let compared = self.sums.drain(..).map(|(name, sum, rows)| {
            let here = |(stretch, of, _): &&(u64, &str, [f64; 2])| *stretch == self.stretch && *of == name;
            let [least, greatest] = self.measured.iter().find(here).expect("it was counted for this").2;
            format!("{} {:.2} (measured: {least:.2} to {greatest:.2})", name.replace('_', " "), sum / rows)
        });
        let compared = compared.collect::<Vec<_>>().join(", ");
        self.stretch = games * STRETCHES / self.planned + 1;
        (!compared.is_empty()).then(|| format!("  after {} games: {compared}", thousands(games)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(preset: &str, planned: u64) -> Option<Expected> {
        let plan = Plan {
            game: "gomoku".to_owned(),
            method: "ppo".to_owned(),
            preset: preset.to_owned(),
            changed: Vec::new(),
            seed: 1,
            version: String::new(),
        };
        Expected::of(&plan, planned)
    }

    #[test]
    fn each_tenth_is_compared_once_by_its_mean_and_changed_presets_never() {
        let mut beside = expected("strong", 1_000).unwrap();
        let metric = |number: f64| move |name: &str| (name == "explained_variance").then_some(number);
        assert_eq!(beside.row(50, metric(0.2)), None);
        let line = beside.row(100, metric(0.4)).unwrap();
        assert!(line.starts_with("  after 100 games: explained variance 0.30 (measured: "), "{line}");
        // A row that ends two tenths at once is compared with the first of them.
        assert_eq!(beside.row(150, metric(0.5)), None);
        assert!(beside.row(320, metric(0.7)).unwrap().contains("variance 0.60 (measured"));
        assert_eq!(beside.row(350, metric(0.1)), None);
        assert!(beside.row(400, metric(0.1)).unwrap().contains("variance 0.10 (measured"));
        assert!(expected("article", 1_000).is_none());
    }

    #[test]
    fn a_training_that_was_measured_is_found_within_what_was_measured() {
        let rows = include_str!("../../../results/2026-12-01-ppo-gomoku/metrics-1.jsonl").lines();
        let mut beside = expected("strong", 100_000).unwrap();
        let line = |row: &str| {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            beside.row(row["games"].as_u64().unwrap(), |name| row[name].as_f64())
        };
        let lines: Vec<String> = rows.filter_map(line).collect();
        assert_eq!(lines.len(), 10);
        for compared in lines.iter().flat_map(|line| line.split("), ")) {
            let numbers: Vec<f64> = compared.split([' ', ')']).filter_map(|word| word.parse().ok()).collect();
            let [reached, least, greatest] = numbers[numbers.len() - 3..] else { panic!("{compared}") };
            assert!((least..=greatest).contains(&reached), "{compared}");
        }
    }
}
