//! Whole tournaments between players whose results are known.

use arena::Record;
use arena::openings::{at_ply, short};
use arena::record::Reason;
use arena::score::{Pairs, Tally};
use arena::sprt::{Sprt, Verdict};
use arena::standings::{Faults, Standings};
use arena::tournament::{Control, Entrant, Pairing, Plan, Tournament, TournamentError};
use rules::player::{Choice, Random};
use rules::tictactoe::{Position, TicTacToe};
use rules::{Action, Forfeit, Game, NotExact, Player, Rng, Seat};
use search::Greedy;
use search::minimax::MinimaxPlayer;

fn entrant(name: &str, make: impl Fn() -> Box<dyn Player<TicTacToe>> + Sync + 'static) -> Entrant<TicTacToe> {
    Entrant { name: name.to_owned(), make: Box::new(move || Ok(make())) }
}

fn baselines() -> Vec<Entrant<TicTacToe>> {
    vec![
        entrant("minimax:9", || Box::new(MinimaxPlayer::new(9))),
        entrant("greedy", || Box::new(Greedy)),
        entrant("random", || Box::new(Random)),
    ]
}

fn plan(rounds: u64) -> Plan {
    Plan { pairing: Pairing::RoundRobin, rounds, openings: short(&TicTacToe), seed: 7, sprt: None, swap2: false }
}

fn run(entrants: &[Entrant<TicTacToe>], plan: Plan, threads: usize) -> (Vec<Record>, Standings) {
    let mut tournament = Tournament::new(&TicTacToe, entrants, plan).unwrap();
    let mut records = Vec::new();
    tournament.run(threads, &mut |record, _| {
        records.push(record.clone());
        Control::Continue
    });
    assert_eq!(records.len() as u64, tournament.played());
    (records, tournament.standings().clone())
}

/// Plays the lowest free cell, or does what `odd` says instead.
struct Lowest(fn(&Position) -> Option<Result<Action, Forfeit>>);

impl Player<TicTacToe> for Lowest {
    fn name(&self) -> String {
        "lowest".to_owned()
    }

    fn distribution(&mut self, game: &TicTacToe, at: &Position, out: &mut Vec<Choice>) -> Result<(), NotExact> {
        out.push(Choice { action: rules::game::legal_actions(game, at)[0], probability: 1.0 });
        Ok(())
    }

    fn choose(&mut self, game: &TicTacToe, at: &Position, _: &mut Rng) -> Result<Action, Forfeit> {
        (self.0)(at).unwrap_or_else(|| Ok(rules::game::legal_actions(game, at)[0]))
    }
}

#[test]
fn every_opening_is_played_with_both_seats_by_everyone() {
    let (records, standings) = run(&baselines(), plan(16), 2);
    assert_eq!(records.len(), 16 * 3 * 2);
    assert_eq!(standings.games(), 96);
    let mut seen = std::collections::HashSet::new();
    for pair in records.chunks(2) {
        assert_eq!((&pair[0].first, &pair[0].second), (&pair[1].second, &pair[1].first));
        let opening = |record: &Record| record.replay(&TicTacToe).unwrap()[..record.opening].to_vec();
        assert_eq!(opening(&pair[0]), opening(&pair[1]));
        assert!(seen.insert((pair[0].first.clone(), pair[0].second.clone(), opening(&pair[0]))));
    }
    // From the empty board and after any first move a perfect player never loses (some pairs of moves are lost).
    for record in records.iter().filter(|record| record.opening < 2) {
        let loser = if record.result == arena::record::Result::First { &record.second } else { &record.first };
        assert!(record.winner().is_none() || loser != "minimax:9", "{record:?}");
    }
    // The tables add up from both sides.
    for a in 0..3 {
        for b in 0..3 {
            assert_eq!(standings.pairs(a, b), standings.pairs(b, a).flip());
            let mut both = standings.tally_as(a, b, Seat::First);
            both += standings.tally_as(a, b, Seat::Second);
            assert_eq!(both, standings.pairs(a, b).tally());
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (one, _) = run(&baselines(), plan(40), 1);
    for threads in [2, 5] {
        assert_eq!(run(&baselines(), plan(40), threads).0, one);
    }
    let other_seed = Plan { seed: 8, ..plan(40) };
    assert_ne!(run(&baselines(), other_seed, 1).0, one);
}

#[test]
fn a_stopped_tournament_goes_on_as_if_it_had_not_stopped() {
    let (whole, standings) = run(&baselines(), plan(20), 1);
    let entrants = baselines();
    for stop_after in [0, 1, 37, 120] {
        let mut tournament = Tournament::new(&TicTacToe, &entrants, plan(20)).unwrap();
        for record in &whole[..stop_after] {
            tournament.restore(record).unwrap();
        }
        let mut rest = Vec::new();
        tournament.run(3, &mut |record, _| {
            rest.push(record.clone());
            Control::Continue
        });
        assert_eq!(rest, whole[stop_after..]);
        assert!(tournament.is_over());
        assert_eq!(tournament.standings().pairs(0, 2), standings.pairs(0, 2));
    }
    // And it stops at once when told.
    let mut tournament = Tournament::new(&TicTacToe, &entrants, plan(20)).unwrap();
    let mut seen = 0;
    tournament.run(2, &mut |_, _| {
        seen += 1;
        if seen == 5 { Control::Stop } else { Control::Continue }
    });
    assert_eq!((seen, tournament.played(), tournament.standings().games()), (5, 5, 4));
}

#[test]
fn records_of_another_tournament_are_refused_by_their_number() {
    let (records, _) = run(&baselines(), plan(4), 1);
    let entrants = baselines();
    let mut tournament = Tournament::new(&TicTacToe, &entrants, plan(4)).unwrap();
    let mut refuse = |record: &Record| tournament.restore(record).unwrap_err().to_string();
    assert_eq!(refuse(&records[1]), "game 0 of the records is not of this tournament: it has the number 1");
    let mut changed = records[0].clone();
    changed.second = "someone".to_owned();
    assert!(refuse(&changed).ends_with("minimax:9 against greedy is due"));
    let mut changed = records[0].clone();
    changed.moves.push_str(" 0");
    assert!(refuse(&changed).contains("the game is over"), "{}", refuse(&changed));
    // Another seed has other openings first.
    let other = Plan { seed: 3, ..plan(4) };
    let mut tournament = Tournament::new(&TicTacToe, &entrants, other).unwrap();
    assert!(tournament.restore(&records[0]).unwrap_err().to_string().ends_with("it has another opening"));
}

#[test]
fn deterministic_players_that_repeat_themselves_are_noticed() {
    let same = || vec![entrant("a", || Box::new(Lowest(|_| None))), entrant("b", || Box::new(Lowest(|_| None)))];
    // Forty games from the empty board are two.
    let (_, standings) = run(&same(), Plan { openings: vec![vec![]], ..plan(20) }, 2);
    assert_eq!((standings.games(), standings.distinct()), (40, 2));
    // From as many openings of equal length as are needed, each is another game.
    let openings = at_ply(&TicTacToe, 2);
    let (_, standings) = run(&same(), Plan { openings, ..plan(12) }, 2);
    assert_eq!((standings.games(), standings.distinct()), (24, 24));
}

#[test]
fn crashes_lost_time_and_illegal_moves_lose_one_game_and_the_tournament_goes_on() {
    fn with_two_stones(at: &Position, what: Result<Action, Forfeit>) -> Option<Result<Action, Forfeit>> {
        (TicTacToe.ply(at) >= 2).then_some(what)
    }
    let entrants = vec![
        entrant("sound", || Box::new(Lowest(|_| None))),
        entrant("crash", || Box::new(Lowest(|at| with_two_stones(at, Err(Forfeit::Failed("went away".to_owned())))))),
        entrant("slow", || Box::new(Lowest(|at| with_two_stones(at, Err(Forfeit::TimedOut))))),
        entrant("wrong", || Box::new(Lowest(|at| with_two_stones(at, Ok(99))))),
        entrant("meek", || Box::new(Lowest(|at| with_two_stones(at, Err(Forfeit::Resigned))))),
        Entrant { name: "absent".to_owned(), make: Box::new(|| Err("no such program".to_owned())) },
    ];
    let gauntlet = Plan { pairing: Pairing::Gauntlet, ..plan(4) };
    let (records, standings) = run(&entrants, gauntlet, 2);
    assert_eq!(records.len(), 4 * 5 * 2);
    let all_won = Tally { wins: 8, draws: 0, losses: 0 };
    assert!((1..6).all(|opponent| standings.pairs(0, opponent).tally() == all_won));
    let none = Faults::default();
    let expected = [
        none,
        Faults { failed: 8, ..none },
        Faults { time: 8, ..none },
        Faults { illegal: 8, ..none },
        Faults { resigned: 8, ..none },
        Faults { failed: 8, ..none },
    ];
    assert_eq!((0..6).map(|player| standings.faults(player)).collect::<Vec<_>>(), expected);
    for record in &records {
        assert_eq!(record.winner(), Some("sound"));
        assert!(record.replay(&TicTacToe).is_ok());
        assert_ne!(record.end, Reason::Board);
    }
    let absent = records.iter().find(|record| record.second == "absent").unwrap();
    assert_eq!(absent.detail.as_deref(), Some("no such program"));
    // Who never met is rated through the one that all met, open downwards.
    let ratings = standings.ratings(0);
    assert!(ratings[1..].iter().all(|rating| rating.unwrap().interval.low == f64::NEG_INFINITY));
}

#[test]
fn a_failed_player_is_made_anew() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static MADE: AtomicU64 = AtomicU64::new(0);
    let entrants = vec![
        entrant("sound", || Box::new(Lowest(|_| None))),
        entrant("crash", || {
            MADE.fetch_add(1, Ordering::Relaxed);
            Box::new(Lowest(|_| Some(Err(Forfeit::Failed(String::new())))))
        }),
    ];
    run(&entrants, plan(3), 1);
    assert_eq!(MADE.load(Ordering::Relaxed), 6);
}

#[test]
fn a_sequential_test_ends_the_match_at_the_same_game_on_any_number_of_threads() {
    let entrants = vec![entrant("greedy", || Box::new(Greedy)), entrant("random", || Box::new(Random))];
    let sprt = Some(Sprt { elo0: 0.0, elo1: 50.0, alpha: 0.05, beta: 0.05 });
    let mut ends = Vec::new();
    for threads in [1, 3] {
        let mut tournament = Tournament::new(&TicTacToe, &entrants, Plan { sprt, ..plan(5_000) }).unwrap();
        tournament.run(threads, &mut |_, _| Control::Continue);
        assert_eq!(tournament.verdict(), Some(Verdict::Alternative));
        assert!(tournament.is_over() && tournament.played() < tournament.planned());
        ends.push(tournament.played());
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn what_makes_no_tournament_is_refused() {
    let new =
        |entrants: &[Entrant<TicTacToe>], sprt| Tournament::new(&TicTacToe, entrants, Plan { sprt, ..plan(1) }).err();
    assert_eq!(new(&baselines()[..1], None), Some(TournamentError::TooFewPlayers));
    let twice = [entrant("a", || Box::new(Random)), entrant("a", || Box::new(Random))];
    assert_eq!(new(&twice, None), Some(TournamentError::SameName("a".to_owned())));
    let sprt = Some(Sprt { elo0: 0.0, elo1: 5.0, alpha: 0.05, beta: 0.05 });
    assert_eq!(new(&baselines(), sprt), Some(TournamentError::SprtNeedsTwo));
    assert_eq!(new(&baselines()[..2], sprt), None);
}

#[test]
fn two_players_have_ratings_too() {
    let entrants =
        vec![entrant("minimax:9", || Box::new(MinimaxPlayer::new(9))), entrant("random", || Box::new(Random))];
    let (_, standings) = run(&entrants, plan(50), 2);
    let ratings = standings.ratings(1);
    assert!(ratings[0].unwrap().elo > 200.0 && ratings[1].unwrap().elo == 0.0);
    assert_ne!(standings.pairs(0, 1), Pairs::default());
    assert!(standings.mean_plies() > 5.0 && standings.mean_plies() <= 9.0);
}

#[test]
fn by_swap2_players_choose_their_seats_and_a_stopped_tournament_goes_on() {
    let plan = Plan { openings: at_ply(&TicTacToe, 3), swap2: true, ..plan(12) };
    let entrants = baselines();
    let (records, standings) = run(&entrants, plan.clone(), 3);
    assert_eq!(records, run(&entrants, plan.clone(), 1).0);
    for pair in records.chunks(2) {
        let three = |record: &Record| record.replay(&TicTacToe).unwrap()[..3].to_vec();
        assert_eq!(three(&pair[0]), three(&pair[1]));
        assert!(pair.iter().all(|record| [3, 5].contains(&record.opening)));
    }
    assert!(records.iter().any(|record| record.opening == 5));
    // Somewhere the same player has the first seat in both games of a pair.
    assert!(records.chunks(2).any(|pair| pair[0].first == pair[1].first));

    let mut tournament = Tournament::new(&TicTacToe, &entrants, plan).unwrap();
    records[..9].iter().for_each(|record| tournament.restore(record).unwrap());
    let mut rest = Vec::new();
    tournament.run(2, &mut |record, _| {
        rest.push(record.clone());
        Control::Continue
    });
    assert_eq!(rest, records[9..]);
    for player in 0..entrants.len() {
        assert_eq!(tournament.standings().all_pairs(player), standings.all_pairs(player));
    }
}
