//! What the threat search of Gomoku says of a position, in words and on the board.

use std::collections::BTreeSet;

use arena::record::write_moves;
use oracle::gomoku::{Limits, Solver, Verdict};
use oracle::strategy::Strategy;
use rules::grid::{Grid, Position};
use rules::{Action, Game, Refusal};

use crate::adviser::{Adviser, Marks};
use crate::registry::Known;

/// How much may be searched for a hint: an answer takes well below a second, mostly.
const HINT_LIMITS: Limits = Limits { fours: 50_000, threats: 20_000 };

/// Positions that are looked at for a move where nothing is proved.
const LOOK: u64 = 3_000;

/// A verdict in words.
pub(crate) struct Words<'a> {
    pub(crate) game: &'a Grid,
    pub(crate) position: &'a Position,
    pub(crate) verdict: &'a Verdict,
}

impl Words<'_> {
    /// Who wins and how, or what is not known, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let (mover, other) = self.names();
        match self.verdict {
            Verdict::Win(strategy) => format!("{mover} wins {}", how(strategy)),
            Verdict::Threatened { remaining, .. } => match remaining[..] {
                [] => format!("{mover} loses: {other} wins against every move"),
                [only] => {
                    format!("{mover} has one defence, {}: {}", self.game.write_action(only), self.threat())
                }
                _ => format!("{}; only {} moves may stop it", self.threat(), remaining.len()),
            },
            Verdict::Unknown { complete: true } => {
                "unknown: neither side has a win by fours and open threes alone".to_owned()
            }
            Verdict::Unknown { complete: false } => {
                "unknown: no win was found for either side before the limit was reached".to_owned()
            }
        }
    }

    /// How the side to move wins, or how it loses after the longest resistance; empty where neither is proved.
    pub(crate) fn line(&self) -> Vec<Action> {
        match self.verdict {
            Verdict::Win(strategy) => strategy.line(),
            Verdict::Threatened { remaining, losing } if remaining.is_empty() => {
                // Of moves that resist equally long, the one that at least takes the point where the opponent would win.
                let taken = self.quickest().map(|strategy| strategy.action);
                let resists = |(action, strategy): &&(Action, Strategy)| (strategy.plies(), Some(*action) == taken);
                let longest = losing.iter().rev().max_by_key(resists);
                longest.map(|(action, strategy)| [vec![*action], strategy.line()].concat()).unwrap_or_default()
            }
            Verdict::Threatened { .. } | Verdict::Unknown { .. } => Vec::new(),
        }
    }

    /// What the opponent would do if it were to move.
    fn threat(&self) -> String {
        let (_, other) = self.names();
        match self.quickest() {
            Some(strategy) => {
                format!("{other} threatens to win {} with {}", how(strategy), write_moves(self.game, &strategy.line()))
            }
            None => format!("{other} threatens to win"),
        }
    }

    /// The opponent's quickest win after a move that does not stop it.
    fn quickest(&self) -> Option<&Strategy> {
        let Verdict::Threatened { losing, .. } = self.verdict else { return None };
        losing.iter().map(|(_, strategy)| strategy).min_by_key(|strategy| strategy.plies())
    }

    /// What the sides are called, the side to move first.
    fn names(&self) -> (&'static str, &'static str) {
        let mover = self.game.to_move(self.position);
        (self.game.seat_name(mover), self.game.seat_name(mover.other()))
    }
}

/// How a win is forced, and how long it takes at most.
fn how(strategy: &Strategy) -> String {
    let means = if strategy.is_by_fours() { "fours" } else { "fours and open threes" };
    match strategy.plies().div_ceil(2) {
        1 => "at once".to_owned(),
        moves => format!("by {means} in at most {moves} moves"),
    }
}

/// Gives hints by threat search.
pub(crate) struct Threats {
    game: Grid,
    solver: Solver,
}

impl Threats {
    /// `None` for games other than five in a row.
    pub(crate) fn new(game: &Grid) -> Option<Threats> {
        Some(Threats { game: *game, solver: Solver::new(game, HINT_LIMITS)? })
    }

    /// What looks best where nothing is proved.
    fn looks_best(&self, position: &Position) -> Option<Action> {
        let mut choices = Vec::new();
        self.game.threat_player(LOOK)?.distribution(&self.game, position, &mut choices).ok()?;
        choices.first().map(|choice| choice.action)
    }
}

impl Adviser<Grid> for Threats {
    fn hint(&mut self, position: &Position) -> String {
        let verdict = self.solver.solve(position);
        let words = Words { game: &self.game, position, verdict: &verdict };
        let (sentence, line) = (words.sentence(), words.line());
        match &verdict {
            Verdict::Win(strategy) => {
                let action = self.game.write_action(strategy.action);
                format!("play {action}: it wins {}: {}", how(strategy), write_moves(&self.game, &line))
            }
            Verdict::Threatened { remaining, .. } if remaining.is_empty() => {
                format!("{sentence}; the longest resistance is {}", write_moves(&self.game, &line))
            }
            Verdict::Threatened { remaining, .. } if remaining.len() == 1 => {
                format!("play {}: the only defence; {}", self.game.write_action(remaining[0]), words.threat())
            }
            Verdict::Threatened { remaining, .. } => {
                format!("play one of {}: the others lose; {}", write_moves(&self.game, remaining), words.threat())
            }
            Verdict::Unknown { .. } => match self.looks_best(position) {
                Some(action) => format!("perhaps {}: nothing is proved here", self.game.write_action(action)),
                None => "nothing is proved here".to_owned(),
            },
        }
    }

    fn marks(&mut self, position: &Position) -> Marks {
        let game = &self.game;
        let verdict = self.solver.solve(position);
        let mut marks = Marks::default();
        let [fives, fours] = self.solver.fives_and_fours(position);
        marks.add(game, '4', None, "makes a four", &fours);
        match &verdict {
            Verdict::Win(strategy) => {
                let why = format!("begins a win {}", how(strategy));
                marks.add(game, '+', Some(true), &why, &[strategy.action]);
            }
            Verdict::Threatened { remaining, .. } => {
                let threat = Words { game, position, verdict: &verdict }.threat();
                marks.add(game, '!', None, &format!("may hold, all others lose ({threat})"), remaining);
            }
            Verdict::Unknown { .. } => {}
        }
        marks.add(game, '5', Some(true), "wins at once", &fives);
        let refused = |action: &Action| match game.referee(position, *action) {
            Err(refusal @ Refusal::Forbidden(_)) => Some((*action, refusal.to_string())),
            _ => None,
        };
        let forbidden: Vec<(Action, String)> =
            (0..game.actions() as Action).filter_map(|action| refused(&action)).collect();
        let reasons: BTreeSet<&String> = forbidden.iter().map(|(_, why)| why).collect();
        for why in reasons {
            let points: Vec<Action> = forbidden.iter().filter(|(_, w)| w == why).map(|&(action, _)| action).collect();
            marks.add(game, '#', Some(false), why, &points);
        }
        marks
    }
}
