//! Proofs on boards so small that everything can be done again the long way, by recursion over all lines of play.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use super::*;
use crate::connect4::Stopped;
use crate::exact::Verdict;
use crate::table::Score;
use rules::game::{legal_actions, replay};
use rules::grid::{Grid, Position};
use rules::player::Random;

/// The truth by plain recursion, remembered.
#[derive(Clone, Default)]
struct Truth {
    known: Arc<Mutex<HashMap<Position, Wdl>>>,
    asked: Arc<Mutex<HashSet<Position>>>,
}

impl Truth {
    fn of(&self, game: &Grid, position: &Position) -> Wdl {
        if let Some(over) = game.outcome(position).seen_by(game.to_move(position)) {
            return over;
        }
        if let Some(&known) = self.known.lock().unwrap().get(position) {
            return known;
        }
        let children = legal_actions(game, position).into_iter().map(|action| self.left_by(game, position, action));
        let value = children.max().unwrap();
        self.known.lock().unwrap().insert(*position, value);
        value
    }

    fn left_by(&self, game: &Grid, position: &Position, action: Action) -> Wdl {
        self.of(game, &played(game, position, action)).flip()
    }

    fn best(&self, game: &Grid, position: &Position) -> Vec<Action> {
        let value = self.of(game, position);
        let mut best = legal_actions(game, position);
        best.retain(|&action| self.left_by(game, position, action) == value);
        best
    }
}

fn played(game: &Grid, position: &Position, action: Action) -> Position {
    let mut after = *position;
    game.play(&mut after, action);
    after
}

/// Knows the truth of one game and notes what it is asked.
struct Oracle(Grid, Truth);

impl Player<Grid> for Oracle {
    fn name(&self) -> String {
        "perfect".to_owned()
    }

    fn distribution(&mut self, game: &Grid, at: &Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let best = self.1.best(game, at);
        let probability = 1.0 / best.len() as f64;
        choices.extend(best.into_iter().map(|action| Choice { action, probability }));
        Ok(())
    }
}

impl Exact<Grid> for Oracle {
    fn verdicts(&mut self, position: &Position) -> Option<Vec<Verdict>> {
        let verdict = |action| {
            let score = Score { wdl: self.1.left_by(&self.0, position, action), plies: None };
            Verdict { action, score }
        };
        Some(legal_actions(&self.0, position).into_iter().map(verdict).collect())
    }

    fn value(&mut self, position: &Position, stop: &AtomicBool) -> Result<Wdl, Stopped> {
        if stop.load(Relaxed) {
            return Err(Stopped);
        }
        self.1.asked.lock().unwrap().insert(*position);
        Ok(self.1.of(&self.0, position))
    }
}

/// Plays one move by a rule.
struct Rule<F>(F, Truth);

impl<F: Fn(&Grid, &Truth, &Position) -> Action + Send> Player<Grid> for Rule<F> {
    fn name(&self) -> String {
        "rule".to_owned()
    }

    fn distribution(&mut self, game: &Grid, at: &Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        choices.push(Choice { action: (self.0)(game, &self.1, at), probability: 1.0 });
        Ok(())
    }
}

/// What a walk finds, the long way.
#[derive(Default)]
struct LongWay {
    seen: HashMap<Position, Lines>,
    mistakes: Mistakes,
    moves: u64,
}

impl LongWay {
    /// The lines below a position.
    fn walk(&mut self, game: &Grid, truth: &Truth, player: &mut dyn Player<Grid>, seat: Seat, at: Position) -> Lines {
        if let Some(end) = game.outcome(&at).seen_by(seat) {
            let one = |wdl| u64::from(end == wdl);
            return Lines { wins: one(Wdl::Win), draws: one(Wdl::Draw), losses: one(Wdl::Loss) };
        }
        if let Some(&lines) = self.seen.get(&at) {
            return lines;
        }
        let mut actions = legal_actions(game, &at);
        if game.to_move(&at) == seat {
            let mut choices = Vec::new();
            player.distribution(game, &at, &mut choices).unwrap();
            actions = choices.iter().map(|choice| choice.action).collect();
            self.moves += actions.len() as u64;
            for &action in &actions {
                self.mistakes.add(truth.of(game, &at), truth.left_by(game, &at, action));
            }
        }
        let mut lines = Lines::default();
        for action in actions {
            let below = self.walk(game, truth, player, seat, played(game, &at, action));
            lines.wins += below.wins;
            lines.draws += below.draws;
            lines.losses += below.losses;
        }
        self.seen.insert(at, lines);
        lines
    }
}

type Make<'a> = dyn Fn() -> Box<dyn Player<Grid>> + Sync + 'a;

const MEMORY: usize = 64 << 20;

fn with_task<T>(game: &Grid, seat: Seat, player: &Make<'_>, work: impl Fn(&Task<'_, Grid>, &Truth) -> T) -> T {
    let truth = Truth::default();
    let exact = || -> Box<dyn Exact<Grid>> { Box::new(Oracle(*game, truth.clone())) };
    let stop = AtomicBool::new(false);
    work(&Task { game, seat, player, exact: &exact, threads: 2, memory: MEMORY, stop: &stop }, &truth)
}

fn proof_of(task: &Task<'_, Grid>) -> Proof {
    prove(task, &mut InMemory::new(MEMORY), &mut |_| false).unwrap()
}

/// Compares a proof in both seats with the long way, and returns both proofs.
fn check(game: &Grid, player: &Make<'_>) -> [Proof; 2] {
    Seat::BOTH.map(|seat| {
        with_task(game, seat, player, |task, truth| {
            let proof = proof_of(task);
            let mut long = LongWay::default();
            let lines = long.walk(game, truth, &mut *player(), seat, game.start());
            assert_eq!(proof.lines, lines, "{seat}");
            let own = long.seen.keys().filter(|position| game.to_move(position) == seat);
            let positions: HashSet<Position> = if proof.symmetric {
                own.map(|position| game.canonical(position)).collect()
            } else {
                own.copied().collect()
            };
            assert_eq!(proof.positions, positions.len() as u64, "{seat}");
            let start = truth.of(game, &game.start());
            assert_eq!(proof.theory, as_number(if seat == Seat::First { start } else { start.flip() }));
            if !proof.symmetric {
                assert_eq!((proof.moves, proof.mistakes), (long.moves, long.mistakes), "{seat}");
            }
            assert_eq!(proof.mistakes.total() == 0, long.mistakes.total() == 0, "{seat}");
            assert_eq!(proof.first.is_some(), proof.mistakes.total() > 0);
            if let Some(mistake) = &proof.first {
                let position = replay(game, &mistake.line).unwrap();
                assert!(long.seen.contains_key(&position), "it is reached");
                assert_eq!(as_number(truth.of(game, &position)), mistake.had);
                assert_eq!(as_number(truth.left_by(game, &position, mistake.action)), mistake.left);
                assert_eq!(mistake.better, truth.best(game, &position));
                assert!(mistake.left < mistake.had);
            }
            // It is asked only where no move of the player wins, and at the end about
            // the moves at the first mistake.
            assert!(truth.asked.lock().unwrap().len() as u64 <= proof.questions + 5);
            proof
        })
    })
}

fn board(columns: usize, rows: usize, length: usize) -> Grid {
    Grid::mnk(columns, rows, length, true).unwrap()
}

#[test]
fn who_always_plays_the_lowest_column_fails_and_it_is_counted_how_often() {
    for game in [board(4, 4, 3), board(4, 4, 4), board(5, 4, 3)] {
        let lowest = || -> Box<dyn Player<Grid>> {
            Box::new(Rule(|game: &Grid, _: &Truth, at: &Position| legal_actions(game, at)[0], Truth::default()))
        };
        for proof in check(&game, &lowest) {
            assert!(!proof.symmetric && !proof.wins_everything() && !proof.is_perfect(), "{proof:?}");
        }
    }
}

#[test]
fn all_moves_at_once_are_the_whole_game() {
    let random = || -> Box<dyn Player<Grid>> { Box::new(Random) };
    for proof in check(&board(4, 4, 3), &random) {
        assert!(proof.symmetric && !proof.is_perfect());
    }
}

#[test]
fn a_perfect_player_wins_everything_where_the_game_is_won_and_gives_nothing_away_elsewhere() {
    for (game, theory) in [(board(4, 4, 3), 1), (board(4, 4, 4), 0)] {
        let truth = Truth::default();
        let perfect = || -> Box<dyn Player<Grid>> { Box::new(Oracle(game, truth.clone())) };
        let [first, second] = check(&game, &perfect);
        assert_eq!((first.theory, second.theory), (theory, -theory));
        assert_eq!(first.wins_everything(), theory == 1);
        assert!(first.is_perfect() && second.is_perfect());
        let expected =
            if theory == 1 { "WINS AGAINST EVERYTHING (proved, " } else { "NEVER BELOW WHAT THEORY ALLOWS (proved, " };
        assert!(first.verdict().starts_with(expected), "{}", first.verdict());
        assert!(first.symmetric && second.symmetric);
        assert_eq!(first.questions == 0, theory == 1, "where every line is won nobody is asked");
    }
}

#[test]
fn one_wrong_move_in_one_position_is_found() {
    // Perfect, the lowest of the best columns, except in one position that this leads to after the opponent's first
    // reply that leaves something to give away.
    let game = board(4, 4, 3);
    let truth = Truth::default();
    let begin = [truth.best(&game, &game.start())[0]];
    let mut lines = (0..4).map(|reply| [&begin[..], &[reply]].concat());
    let errs = |line: &Vec<Action>| {
        let at = replay(&game, line).unwrap();
        truth.best(&game, &at).len() < legal_actions(&game, &at).len()
    };
    let line = lines.find(errs).unwrap();
    let slip = replay(&game, &line).unwrap();
    let player = || -> Box<dyn Player<Grid>> {
        let rule = move |game: &Grid, truth: &Truth, at: &Position| {
            let best = truth.best(game, at);
            let worse = legal_actions(game, at).into_iter().find(|action| !best.contains(action));
            if *at == slip { worse.unwrap() } else { best[0] }
        };
        Box::new(Rule(rule, truth.clone()))
    };
    let [first, _] = check(&game, &player);
    assert_eq!(first.mistakes.total(), 1, "{first:?}");
    assert_eq!(first.first.unwrap().line, line);
}

#[test]
fn the_result_is_the_same_on_any_number_of_threads_and_when_stopped_anywhere() {
    let game = board(5, 4, 3);
    let player = || -> Box<dyn Player<Grid>> {
        Box::new(Rule(
            |game: &Grid, _: &Truth, at: &Position| *legal_actions(game, at).last().unwrap(),
            Truth::default(),
        ))
    };
    for seat in Seat::BOTH {
        with_task(&game, seat, &player, |task, _| {
            let whole = proof_of(&Task { threads: 1, ..*task });
            assert_eq!(proof_of(&Task { threads: 3, ..*task }), whole);
            // Stopped at every look, and what was saved is at most a look old.
            let (mut store, mut calls, mut stops) = (InMemory::new(MEMORY), 0, 0);
            let proof = loop {
                let stop = AtomicBool::new(false);
                let mut looks = 0;
                let stopping = prove(&Task { stop: &stop, ..*task }, &mut store, &mut |_| {
                    looks += 1;
                    calls += 1;
                    // The first look is let pass, or it would never get anywhere in a level of one look.
                    stop.store(looks > 1, Relaxed);
                    calls % 2 == 0
                });
                match stopping {
                    Ok(proof) => break proof,
                    Err(Halted::Stopped) => stops += 1,
                    Err(other) => panic!("{other}"),
                }
            };
            assert_eq!(proof, whole);
            assert!(stops > 5, "{stops}");
        });
    }
}

#[test]
fn what_cannot_be_proved_is_refused_with_the_reason() {
    struct Remembers;
    impl Player<Grid> for Remembers {
        fn name(&self) -> String {
            "remembers".to_owned()
        }
        fn distribution(&mut self, _: &Grid, _: &Position, _: &mut Vec<Choice>) -> Result<(), NotExact> {
            Err(NotExact("it remembers".to_owned()))
        }
    }
    let game = board(4, 4, 4);
    let remembers = || -> Box<dyn Player<Grid>> { Box::new(Remembers) };
    let random = || -> Box<dyn Player<Grid>> { Box::new(Random) };
    let run = |task: &Task<'_, Grid>, store: &mut InMemory| prove(task, store, &mut |_| false).unwrap_err();
    with_task(&game, Seat::First, &remembers, |task, _| {
        assert!(matches!(run(task, &mut InMemory::new(MEMORY)), Halted::NotExact(_)));
    });
    with_task(&game, Seat::First, &random, |task, _| {
        let small = Task { memory: 1 << 16, ..*task };
        assert!(matches!(run(&small, &mut InMemory::new(MEMORY)), Halted::TooLarge { .. }));
        let error = run(task, &mut InMemory::new(1 << 16)).to_string();
        assert_eq!(error, "the positions take more than 0 MiB of memory");
        // A store whose contents were changed is refused by the name of the part.
        let mut store = InMemory::new(MEMORY);
        prove(task, &mut store, &mut |_| false).unwrap();
        let state = store.get("state").unwrap().unwrap();
        for at in [0, 9, state.len() - 1] {
            let mut damaged = state.clone();
            damaged[at] ^= 1;
            store.put("state", damaged).unwrap();
            let error = run(task, &mut store).to_string();
            let expected =
                if at == 0 { "state is not a part of a proof in this version's format" } else { "state is damaged" };
            assert_eq!(error, expected);
        }
    });
}

#[test]
fn the_estimate_is_near_the_truth() {
    let game = board(5, 4, 3);
    let player = || -> Box<dyn Player<Grid>> {
        Box::new(Rule(|game: &Grid, _: &Truth, at: &Position| legal_actions(game, at)[0], Truth::default()))
    };
    for seat in Seat::BOTH {
        with_task(&game, seat, &player, |task, _| {
            let positions = proof_of(task).positions as f64;
            let estimate = estimate(task, 20_000).unwrap();
            // Six standard deviations.
            assert!((estimate.positions - positions).abs() < 6.0 * estimate.deviation, "{estimate:?}, {positions}");
            assert!(estimate.deviation < 0.6 * positions, "{estimate:?}, {positions}");
        });
    }
}
