//! What the games of a tournament come to.

use std::collections::HashSet;

use rules::{Action, Seat, Wdl};
use serde::Serialize;

use crate::rating::{Match, Rating, ratings};
use crate::record::{Reason, Record, Result};
use crate::score::{Pairs, Tally};

/// Results of all players against each other. Games are added in the order of their numbers, two by two; a game whose
/// other half is missing counts nowhere.
#[derive(Clone, Debug)]
pub struct Standings {
    names: Vec<String>,
    /// For each player and opponent, what the player made of its games, by its seat; row by row.
    seats: Vec<[Tally; 2]>,
    pairs: Vec<Pairs>,
    faults: Vec<Faults>,
    distinct: HashSet<(usize, usize, Vec<Action>)>,
    games: u64,
    plies: u64,
}

/// Games that a player lost without the opponent's doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// Moves that were refused.
    pub illegal: u64,
    /// Games lost on time.
    pub time: u64,
    /// Crashes and nonsense.
    pub failed: u64,
    /// Games that were given up or left.
    pub resigned: u64,
}

/// A finished game by the places of its players.
#[derive(Clone, Debug)]
pub(crate) struct Entered<'a> {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) moves: Vec<Action>,
    pub(crate) record: &'a Record,
}

impl Standings {
    /// No games yet.
    pub fn new(names: Vec<String>) -> Self {
        let cells = names.len() * names.len();
        Standings {
            seats: vec![[Tally::default(); 2]; cells],
            pairs: vec![Pairs::default(); cells],
            faults: vec![Faults::default(); names.len()],
            names,
            distinct: HashSet::new(),
            games: 0,
            plies: 0,
        }
    }

    /// Adds both games of an opening, the second with seats exchanged.
    pub(crate) fn add(&mut self, games: [Entered<'_>; 2]) {
        let player = games[0].first;
        let opponent = games[0].second;
        let mut results = [Wdl::Draw; 2];
        for (result, game) in results.iter_mut().zip(&games) {
            let of = |seat: Seat| match (game.record.result, seat) {
                (Result::Draw, _) => Wdl::Draw,
                (Result::First, Seat::First) | (Result::Second, Seat::Second) => Wdl::Win,
                _ => Wdl::Loss,
            };
            let players = [game.first, game.second];
            for seat in Seat::BOTH {
                let cell = self.cell(players[seat.index()], players[seat.other().index()]);
                self.seats[cell][seat.index()].add(of(seat));
            }
            *result = of(if game.first == player { Seat::First } else { Seat::Second });
            self.count_fault(game);
        }
        let (own, other) = (self.cell(player, opponent), self.cell(opponent, player));
        self.pairs[own].add(results[0], results[1]);
        self.pairs[other].add(results[0].flip(), results[1].flip());
        for game in games {
            self.games += 1;
            self.plies += game.moves.len() as u64;
            self.distinct.insert((game.first, game.second, game.moves));
        }
    }

    fn count_fault(&mut self, game: &Entered<'_>) {
        let loser = if game.record.result == Result::First { game.second } else { game.first };
        let faults = &mut self.faults[loser];
        match game.record.end {
            Reason::Board => {}
            Reason::Resigned | Reason::Left => faults.resigned += 1,
            Reason::Time => faults.time += 1,
            Reason::Failed => faults.failed += 1,
            Reason::Illegal => faults.illegal += 1,
        }
    }

    fn cell(&self, player: usize, opponent: usize) -> usize {
        player * self.names.len() + opponent
    }

    /// The players' names, by place.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of games that count.
    pub fn games(&self) -> u64 {
        self.games
    }

    /// How many of them differ from each other, in their moves or in who sat where.
    pub fn distinct(&self) -> u64 {
        self.distinct.len() as u64
    }

    /// The mean length of a game in plies; 0 without games.
    pub fn mean_plies(&self) -> f64 {
        if self.games == 0 { 0.0 } else { self.plies as f64 / self.games as f64 }
    }

    /// What a player made of its games against an opponent when it sat in `seat`.
    pub fn tally_as(&self, player: usize, opponent: usize, seat: Seat) -> Tally {
        self.seats[self.cell(player, opponent)][seat.index()]
    }

    /// What a player made of its pairs of games against an opponent.
    pub fn pairs(&self, player: usize, opponent: usize) -> Pairs {
        self.pairs[self.cell(player, opponent)]
    }

    /// What a player made of all its pairs of games.
    pub fn all_pairs(&self, player: usize) -> Pairs {
        let mut sum = Pairs::default();
        for opponent in 0..self.names.len() {
            sum += self.pairs(player, opponent);
        }
        sum
    }

    /// How often a player lost without the opponent's doing.
    pub fn faults(&self, player: usize) -> Faults {
        self.faults[player]
    }

    /// The ratings of all players relative to `anchor`.
    pub fn ratings(&self, anchor: usize) -> Vec<Option<Rating>> {
        let players = self.names.len();
        let ordered = (0..players).flat_map(|player| (player + 1..players).map(move |opponent| (player, opponent)));
        let matches: Vec<Match> =
            ordered.map(|(player, opponent)| Match { player, opponent, pairs: self.pairs(player, opponent) }).collect();
        ratings(players, anchor, &matches)
    }
}
