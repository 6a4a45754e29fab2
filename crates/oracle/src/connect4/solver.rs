//! Questions about positions, answered by a few searches each.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rules::connect4::{COLUMNS, Connect4, Position};
use rules::{Action, Game, Wdl, game::legal_actions};

use super::board::{CELLS, INDICES, landings};
use super::book::Book;
use super::score::Score;
#[cfg(target_arch = "x86_64")]
use super::search::Bmi2;
use super::search::{Crew, FAR_ENTRIES, Machine, Node, Plain, Search};
use super::shelf::Shelf;
use super::table::{LEAST_MEMORY, Table};

/// The search was told to stop before it had an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped before the answer was known")
    }
}

impl std::error::Error for Stopped {}

/// Answers questions about positions, and remembers for the next question what it has found out.
pub struct Solver {
    table: Table,
    shelf: Shelf,
    book: Option<&'static Book>,
    threads: usize,
    search: fn(&mut Search, Node, i32) -> i32,
    nodes: u64,
}

/// A position that needs no more stores than this (some hundredths of a second) is not worth a second thread.
const EASY_STORES: u64 = 1 << 18;

/// More memory than this does not help to remember positions with few stones.
const MOST_SHELF: usize = 1 << 28;

/// No score is greater.
const ANY_SCORE: i32 = 18;

/// A lower and an upper bound on a score.
type Window = (i32, i32);

impl Solver {
    /// The least memory with which a solver keeps its promise, in bytes.
    pub const LEAST_MEMORY: usize = LEAST_MEMORY + LEAST_MEMORY / 4;

    /// A solver that remembers what fits into `memory` bytes, but no less than [`Solver::LEAST_MEMORY`]; easy
    /// positions take much less. Hard ones are searched by `threads` threads.
    pub fn new(memory: usize, threads: usize) -> Solver {
        #[cfg(target_arch = "x86_64")]
        let search = if Bmi2::usable() { Bmi2::search } else { Plain::search };
        #[cfg(not(target_arch = "x86_64"))]
        let search = Plain::search;
        // A quarter for what few stones are worth remembering for.
        let shelf = Shelf::new((memory / 4).min(MOST_SHELF));
        let table = Table::new(memory.saturating_sub(memory / 4));
        Solver { table, shelf, book: None, threads: threads.max(1), search, nodes: 0 }
    }

    /// Lets the solver look up positions in a book.
    #[must_use]
    pub fn with_book(mut self, book: &'static Book) -> Solver {
        self.book = Some(book);
        self
    }

    /// Forgets what was found out.
    pub fn clear(&mut self) {
        self.table.clear();
        self.shelf.clear();
    }

    /// Makes ready for questions about positions that descend from this one: they will share what they find out.
    pub fn prepare(&mut self, position: &Position) {
        self.table.rebase(position.mover(), position.occupied());
    }

    /// Positions visited since the solver was made.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The exact score of the position, for the side to move.
    ///
    /// # Errors
    /// If `stop` was set meanwhile.
    pub fn score(&mut self, position: &Position, stop: &AtomicBool) -> Result<Score, Stopped> {
        let (low, _) = self.narrow(position, (-ANY_SCORE, ANY_SCORE), stop)?;
        Ok(Score(low as i8))
    }

    /// Whether the side to move wins, draws or loses: quicker than its score.
    ///
    /// # Errors
    /// If `stop` was set meanwhile.
    pub fn weak(&mut self, position: &Position, stop: &AtomicBool) -> Result<Wdl, Stopped> {
        let (low, high) = self.narrow(position, (-1, 1), stop)?;
        debug_assert_eq!(low, high);
        Ok(Score(low as i8).wdl())
    }

    /// The score of each column for the side that plays there; `None` where no stone may be played.
    ///
    /// # Errors
    /// If `stop` was set meanwhile.
    pub fn scores(&mut self, position: &Position, stop: &AtomicBool) -> Result<[Option<Score>; COLUMNS], Stopped> {
        self.prepare(position);
        let mut scores = [None; COLUMNS];
        for action in legal_actions(&Connect4, position) {
            let after = played(position, action);
            scores[usize::from(action)] = Some(Score(-self.score(&after, stop)?.0));
        }
        Ok(scores)
    }

    /// The columns with the best score, and that score: cheaper than the scores of all columns. None if the game is
    /// over.
    ///
    /// # Errors
    /// If `stop` was set meanwhile.
    pub fn best(&mut self, position: &Position, stop: &AtomicBool) -> Result<(Score, Vec<Action>), Stopped> {
        let score = self.score(position, stop)?;
        let mut best = legal_actions(&Connect4, position);
        let mut failed = None;
        best.retain(|&action| match self.keeps(position, action, score, stop) {
            Ok(keeps) => keeps,
            Err(stopped) => {
                failed = Some(stopped);
                false
            }
        });
        failed.map_or(Ok((score, best)), Err)
    }

    /// A line of best play from the position to the end of the game. Among best moves it takes those in the middle.
    ///
    /// # Errors
    /// If `stop` was set meanwhile.
    pub fn line(&mut self, position: &Position, stop: &AtomicBool) -> Result<Vec<Action>, Stopped> {
        let mut score = self.score(position, stop)?;
        let mut position = *position;
        let mut line = Vec::new();
        loop {
            let mut actions = legal_actions(&Connect4, &position);
            if actions.is_empty() {
                return Ok(line);
            }
            actions.sort_by_key(|&action| action.abs_diff(COLUMNS as Action / 2));
            let best = self.first_that_keeps(&position, score, &actions, stop)?;
            line.push(best);
            position = played(&position, best);
            score = Score(-score.0);
        }
    }

    /// The first column of `order` with the best score: cheaper than all of them. The order holds all legal columns, and
    /// the game is not over.
    ///
    /// # Errors
    /// If `stop` was set meanwhile.
    pub fn first_best(&mut self, position: &Position, order: &[Action], stop: &AtomicBool) -> Result<Action, Stopped> {
        // Whether it is won is the cheapest question, and of a draw nothing else is to be known.
        let window = match self.weak(position, stop)? {
            Wdl::Win => (1, ANY_SCORE),
            Wdl::Draw => (0, 0),
            Wdl::Loss => (-ANY_SCORE, -1),
        };
        let (score, _) = self.narrow(position, window, stop)?;
        self.first_that_keeps(position, Score(score as i8), order, stop)
    }

    /// The first column of `order` that reaches the position's score.
    fn first_that_keeps(
        &mut self,
        position: &Position,
        score: Score,
        order: &[Action],
        stop: &AtomicBool,
    ) -> Result<Action, Stopped> {
        let (&last, others) = order.split_last().expect("the game is not over");
        for &action in others {
            if self.keeps(position, action, score, stop)? {
                return Ok(action);
            }
        }
        Ok(last)
    }

    /// Whether the move reaches the position's score.
    fn keeps(&mut self, position: &Position, action: Action, score: Score, stop: &AtomicBool) -> Result<bool, Stopped> {
        let after = played(position, action);
        let goal = -i32::from(score.0);
        let (_, high) = self.narrow(&after, (goal, goal + 1), stop)?;
        Ok(high <= goal)
    }

    /// Narrows a window until it holds one number: the score, or if that lies outside, the nearer end of the window.
    fn narrow(&mut self, position: &Position, window: Window, stop: &AtomicBool) -> Result<Window, Stopped> {
        let in_book = || self.book.and_then(|book| book.score(position));
        let known = Score::of_finished(position).or_else(|| at_a_glance(position)).or_else(in_book);
        if let Some(Score(score)) = known {
            let score = i32::from(score).clamp(window.0, window.1);
            return Ok((score, score));
        }
        // Neither side wins with the next stone.
        let left = left(position);
        let mut window = ((-(left / 2)).clamp(window.0, window.1), ((left - 1) / 2).clamp(window.0, window.1));
        let node = Node::new(position.mover(), position.occupied());
        self.table.rebase(node.mine, node.occupied);
        let alone = if self.threads == 1 { u64::MAX } else { EASY_STORES };
        let stops = [stop];
        let mut search = self.start(&stops, None, alone);
        while window.0 < window.1 && !search.stopped {
            self.ask(&mut search, node, &mut window);
        }
        let (nodes, layout) = (search.nodes, search.table.layout);
        self.nodes += nodes;
        self.table.resume(layout);
        if window.0 < window.1 && self.threads > 1 && !stop.load(Relaxed) {
            self.narrow_together(node, &mut window, stop);
        }
        if window.0 < window.1 { Err(Stopped) } else { Ok(window) }
    }

    /// Asks one question about the window and notes the answer, unless the search was stopped.
    fn ask(&self, search: &mut Search, node: Node, window: &mut Window) -> bool {
        let alpha = question(*window, node.stones);
        let bound = (self.search)(search, node, alpha);
        if !search.stopped {
            if bound <= alpha {
                window.1 = bound.max(window.0);
            } else {
                window.0 = bound.min(window.1);
            }
        }
        !search.stopped
    }

    /// Narrows the window of a hard position with all threads: all ask the same question, and the first that knows the
    /// answer stops the others.
    fn narrow_together(&mut self, node: Node, window: &mut Window, stop: &AtomicBool) {
        let mut view = self.table.view();
        while view.grow() {}
        let layout = view.layout;
        self.table.resume(layout);
        let crew = Crew::new();
        while window.0 < window.1 && !stop.load(Relaxed) {
            let done = AtomicBool::new(false);
            let stops = [stop, &done];
            let narrowed = Mutex::new(*window);
            let work = || {
                let mut search = self.start(&stops, Some(&crew), u64::MAX);
                let mut own = *window;
                if self.ask(&mut search, node, &mut own) {
                    done.store(true, Relaxed);
                    *narrowed.lock().expect("no thread panics") = own;
                }
                search.nodes
            };
            let nodes: u64 = std::thread::scope(|scope| {
                let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(work)).collect();
                work() + others.into_iter().map(|other| other.join().expect("no thread panics")).sum::<u64>()
            });
            *window = narrowed.into_inner().expect("no thread panics");
            self.nodes += nodes;
        }
    }

    fn start<'a>(&'a self, stop: &'a [&'a AtomicBool], crew: Option<&'a Crew>, limit: u64) -> Search<'a> {
        let table = self.table.view();
        let far = table.len() >= FAR_ENTRIES;
        let (shelf, history) = (&self.shelf, [[0; INDICES]; 2]);
        Search { table, shelf, far, stop, crew, limit, history, nodes: 0, stored: 0, stopped: false }
    }
}

/// Number of empty cells.
fn left(position: &Position) -> i32 {
    (CELLS - position.occupied().count_ones()) as i32
}

fn played(position: &Position, action: Action) -> Position {
    let mut after = *position;
    Connect4.play(&mut after, action);
    after
}

/// The score of a position in which a side wins with the next stone or with the next but one, whatever the other does.
fn at_a_glance(position: &Position) -> Option<Score> {
    let node = Node::new(position.mover(), position.occupied());
    let open = landings(node.occupied);
    let left = left(position);
    if node.my_wins & open != 0 {
        Some(Score((left + 1) as i8 / 2))
    } else if (node.their_wins & open).count_ones() > 1 {
        Some(Score(-(left as i8 / 2)))
    } else {
        None
    }
}

/// A window whose ends are no farther from 0 than this is not halved any more.
const NEAR: i32 = 8;

/// Which question about a score in the window to ask next: whether it is above the number returned.
///
/// A question is the cheaper the farther it is from 0: it is about fewer moves. With many empty cells the difference
/// is so great that the window is best narrowed from outside, one by one where it is cheapest, then in larger
/// steps; with few, halving the window saves more, as in Pons' solver, until it is near 0, where most scores are.
/// There the first question is the one that parity answers most often: does the first player win?
fn question((low, high): Window, stones: u32) -> i32 {
    let farther_is_high = high >= -low;
    if stones < 15 {
        let most = (CELLS as i32 - stones as i32 - 1) / 2;
        let size = high - low;
        let edge = if farther_is_high { high } else { -low };
        let step = if edge > most - 7 { 1 } else { 1 + (size - 1) / if stones < 9 { 3 } else { 8 } };
        return if farther_is_high { (high - step).max(0.min(high - 1)) } else { (low + step - 1).min((-1).max(low)) };
    }
    if high.max(-low) <= NEAR {
        return if stones.is_multiple_of(2) { 0 } else { -1 }.clamp(low, high - 1);
    }
    let middle = low + (high - low) / 2;
    if middle <= 0 && low / 2 < middle {
        low / 2
    } else if middle >= 0 && high / 2 > middle {
        high / 2
    } else {
        middle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect4::read_moves;
    use crate::connect4::search::parity_bound;
    use rules::Rng;
    use std::collections::HashMap;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    /// The score by plain negamax over every move: what the solver must equal.
    fn plain(position: &Position, known: &mut HashMap<Position, Score>) -> Score {
        if let Some(score) = Score::of_finished(position).or_else(|| known.get(position).copied()) {
            return score;
        }
        let actions = legal_actions(&Connect4, position);
        let scores = actions.into_iter().map(|action| Score(-plain(&played(position, action), known).0));
        let best = scores.max().expect("an ongoing game has moves");
        known.insert(*position, best);
        best
    }

    /// Random positions that are not over, with this many stones.
    fn random_positions(stones: usize, count: usize) -> Vec<Position> {
        let mut rng = Rng::new(11, stones as u64);
        let mut positions = Vec::new();
        while positions.len() < count {
            let mut position = Connect4.start();
            while Connect4.ply(&position) < stones && !Connect4.outcome(&position).is_over() {
                let action = Connect4.random_legal(&position, &mut rng);
                Connect4.play(&mut position, action);
            }
            if !Connect4.outcome(&position).is_over() {
                positions.push(position);
            }
        }
        positions
    }

    #[test]
    fn late_positions_are_solved_as_by_plain_search() {
        let mut solver = Solver::new(0, 1);
        let mut known = HashMap::new();
        for stones in 30..42 {
            for position in random_positions(stones, 40) {
                let score = plain(&position, &mut known);
                assert_eq!(solver.score(&position, &GO_ON), Ok(score));
                assert_eq!(solver.weak(&position, &GO_ON), Ok(score.wdl()));
                let scores = solver.scores(&position, &GO_ON).unwrap();
                for column in 0..COLUMNS as Action {
                    let expected = Connect4
                        .referee(&position, column)
                        .is_ok()
                        .then(|| Score(-plain(&played(&position, column), &mut known).0));
                    assert_eq!(scores[usize::from(column)], expected);
                }
                let best: Vec<_> = (0..7).filter(|&c| scores[usize::from(c)] == Some(score)).collect();
                assert_eq!(solver.best(&position, &GO_ON), Ok((score, best)));
                let line = solver.line(&position, &GO_ON).unwrap();
                let end = line.iter().fold(position, |at, &action| played(&at, action));
                let end_score = Score::of_finished(&end).expect("the line goes to the end");
                assert_eq!(if line.len().is_multiple_of(2) { end_score } else { Score(-end_score.0) }, score);
            }
        }
    }

    #[test]
    fn no_score_exceeds_what_parity_proves() {
        let mut known = HashMap::new();
        let mut proved = [0; 2];
        for stones in 28..40 {
            for position in random_positions(stones, 100) {
                if at_a_glance(&position).is_some() {
                    continue;
                }
                let node = Node::new(position.mover(), position.occupied());
                let score = i32::from(plain(&position, &mut known).0);
                for alpha in -4..4 {
                    if let Some(bound) = parity_bound(&node, alpha) {
                        assert!((score..=alpha).contains(&bound), "{position:?}: {score}, not up to {bound}");
                        proved[stones % 2] += 1;
                    }
                }
            }
        }
        assert!(proved.iter().all(|&proved| proved > 100), "{proved:?}");
    }

    #[test]
    fn finished_games_have_their_score_and_no_moves() {
        let mut solver = Solver::new(0, 1);
        let lost = read_moves("1212121").unwrap();
        assert_eq!(solver.score(&lost, &GO_ON), Ok(Score(-18)));
        assert_eq!(solver.weak(&lost, &GO_ON), Ok(Wdl::Loss));
        assert_eq!(solver.scores(&lost, &GO_ON), Ok([None; 7]));
        assert_eq!(solver.best(&lost, &GO_ON), Ok((Score(-18), vec![])));
        assert_eq!(solver.line(&lost, &GO_ON), Ok(vec![]));
    }

    #[test]
    fn the_portable_search_visits_the_same_positions() {
        let mut quick = Solver::new(0, 1);
        let mut portable = Solver { search: Plain::search, ..Solver::new(0, 1) };
        for position in random_positions(16, 40) {
            assert_eq!(quick.score(&position, &GO_ON), portable.score(&position, &GO_ON));
            assert_eq!(quick.nodes(), portable.nodes());
        }
        assert!(quick.nodes() > 100_000);
    }

    #[test]
    fn what_was_found_out_before_does_not_change_an_answer() {
        let mut remembers = Solver::new(0, 1);
        for position in random_positions(17, 25) {
            let scores = remembers.scores(&position, &GO_ON).unwrap();
            let best = scores.into_iter().flatten().max().unwrap();
            remembers.prepare(&Connect4.start());
            assert_eq!(remembers.score(&position, &GO_ON), Ok(best));
            let mirrored = Connect4.transform(Connect4.symmetries()[1], &position);
            assert_eq!(Solver::new(0, 1).score(&mirrored, &GO_ON), Ok(best));
        }
    }

    #[test]
    fn threads_agree_with_one() {
        // Hard enough to go beyond what one thread does alone.
        let position = read_moves("3246313").unwrap();
        let mut one = Solver::new(0, 1);
        let mut two = Solver::new(0, 2);
        let alone = one.score(&position, &GO_ON).unwrap();
        assert_eq!(two.score(&position, &GO_ON), Ok(alone));
        assert!(one.nodes() > 2 * EASY_STORES);
    }

    #[test]
    fn a_stopped_search_says_so() {
        for threads in [1, 2] {
            let mut solver = Solver::new(0, threads);
            assert_eq!(solver.score(&Connect4.start(), &AtomicBool::new(true)), Err(Stopped));
            assert_eq!(solver.line(&Connect4.start(), &AtomicBool::new(true)), Err(Stopped));
        }
    }

    #[test]
    fn questions_are_inside_the_window_and_every_window_closes() {
        for stones in 0..42 {
            let left = CELLS as i32 - stones as i32;
            for score in -(left / 2)..=(left - 1) / 2 {
                let mut window = (-(left / 2), (left - 1) / 2);
                while window.0 < window.1 {
                    let alpha = question(window, stones);
                    assert!((window.0..window.1).contains(&alpha), "{stones} {window:?} {alpha}");
                    if score > alpha {
                        window.0 = alpha + 1;
                    } else {
                        window.1 = alpha;
                    }
                }
                assert_eq!(window.0, score);
            }
        }
    }
}
