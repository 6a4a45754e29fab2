//! Makes the positions by which players of Connect Four are audited, with the exact score of every column.
//!
//! `cargo run --release -p oracle --example connect4_audit_set -- FILE [EACH [FIRST [PUBLISHED]]]`: EACH positions [10]
//! of each of three kinds with every number of stones from FIRST [0] to 36, and the first PUBLISHED [1000] of each
//! published set. What is in the FILE already is not made again, so it may be stopped at any time. Few stones take
//! longest.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use oracle::connect4::labelled::{Scored, Source, from_bytes, to_bytes};
use oracle::connect4::{Book, Score, Solver, read_moves};
use rules::connect4::{Connect4, Position};
use rules::{Action, Game, Outcome, Rng, game::legal_actions};

/// Positions with more stones are hardly ever in doubt.
const MOST_STONES: usize = 36;

/// How far the simple searcher looks.
const DEPTH: u32 = 4;

/// With fewer stones, near-balanced play is random: exact scores of every position on the way would take too long.
const BALANCED_FROM: usize = 14;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = Path::new(arguments.first().expect("the name of a file"));
    let number = |i: usize, default: usize| arguments.get(i).map_or(default, |text| text.parse().expect("a number"));
    let (each, first, published) = (number(1, 10), number(2, 0), number(3, 1_000));
    let mut maker = Maker {
        solver: Solver::new(1 << 28, 1).with_book(Book::built_in()),
        set: std::fs::read(path).map_or(Vec::new(), |bytes| from_bytes(&bytes).expect("a set of positions")),
    };
    for (name, text) in [
        ("Test_L3_R1", include_str!("../data/connect4/Test_L3_R1")),
        ("Test_L2_R1", include_str!("../data/connect4/Test_L2_R1")),
        ("Test_L2_R2", include_str!("../data/connect4/Test_L2_R2")),
        ("Test_L1_R1", include_str!("../data/connect4/Test_L1_R1")),
        ("Test_L1_R2", include_str!("../data/connect4/Test_L1_R2")),
        ("Test_L1_R3", include_str!("../data/connect4/Test_L1_R3")),
    ] {
        let source = Source::named(name).expect("it is a source");
        // The hardest set takes as long as all others together, twenty times over.
        let most = if name == "Test_L1_R3" { published / 50 } else { published };
        for line in text.lines().take(most) {
            let (moves, score) = line.split_once(' ').expect("moves and score");
            let scored = maker.add(source, read_moves(moves).expect("a position"));
            let expected = Some(Score(score.parse().expect("a number")));
            assert!(scored.is_none_or(|scores| scores.into_iter().flatten().max() == expected), "{moves}");
        }
        maker.write(path);
    }
    for stones in (first..=MOST_STONES).rev() {
        for (stream, kind) in ["random play", "searcher's self-play", "near-balanced play"].into_iter().enumerate() {
            let source = Source::named(kind).expect("it is a source");
            let have = |maker: &Maker| {
                let same = |s: &&Scored| s.source == source && Connect4.ply(&s.position) == stones;
                maker.set.iter().filter(same).count()
            };
            // There are few positions with few stones.
            for attempt in 0..10 * each {
                if have(&maker) == each {
                    break;
                }
                let mut rng = Rng::new(stones as u64, (3 * attempt + stream) as u64);
                if let Some(position) = maker.play(kind, stones, &mut rng) {
                    maker.add(source, position);
                }
            }
        }
        maker.write(path);
    }
}

struct Maker {
    solver: Solver,
    set: Vec<Scored>,
}

impl Maker {
    fn write(&mut self, path: &Path) {
        self.set.sort_by_key(|scored| scored.source);
        let unfinished = path.with_extension("tmp");
        std::fs::write(&unfinished, to_bytes(&self.set)).expect("the file can be written");
        std::fs::rename(&unfinished, path).expect("the file can be replaced");
        eprintln!("{} positions", self.set.len());
    }

    /// Adds a position unless one like it is there already, and returns its scores if they are new.
    fn add(&mut self, source: Source, position: Position) -> Option<[Option<Score>; 7]> {
        let canonical = Connect4.canonical(&position);
        let known = |s: &Scored| s.source == source && Connect4.canonical(&s.position) == canonical;
        if self.set.iter().any(known) {
            return None;
        }
        let scores = self.solver.scores(&position, &GO_ON).expect("nobody stops it");
        self.set.push(Scored { source, position, scores });
        Some(scores)
    }

    /// A position with so many stones from play of this kind; `None` if the game ended before.
    fn play(&mut self, kind: &str, stones: usize, rng: &mut Rng) -> Option<Position> {
        let mut position = Connect4.start();
        while Connect4.ply(&position) < stones {
            let ply = Connect4.ply(&position);
            let action = match kind {
                "random play" => Connect4.random_legal(&position, rng),
                "near-balanced play" if ply >= BALANCED_FROM => self.balanced(&position, rng),
                _ => searched(&position, rng),
            };
            Connect4.play(&mut position, action);
            if Connect4.outcome(&position) != Outcome::Ongoing {
                return None;
            }
        }
        Some(position)
    }

    /// One of the moves after which the exact score is nearest to 0.
    fn balanced(&mut self, position: &Position, rng: &mut Rng) -> Action {
        let scores = self.solver.scores(position, &GO_ON).expect("nobody stops it");
        let distances = (0..).zip(scores).filter_map(|(action, score)| Some((action, score?.0.abs())));
        let distances: Vec<(Action, i8)> = distances.collect();
        let least = distances.iter().map(|&(_, distance)| distance).min().expect("the game is not over");
        let nearest: Vec<Action> =
            distances.into_iter().filter(|&(_, d)| d == least).map(|(action, _)| action).collect();
        nearest[rng.below(nearest.len())]
    }
}

/// One of the best moves by plain search, nothing known at its end; now and then any move, or games would be alike.
fn searched(position: &Position, rng: &mut Rng) -> Action {
    if rng.below(8) == 0 {
        return Connect4.random_legal(position, rng);
    }
    let scored = legal_actions(&Connect4, position).into_iter().map(|action| {
        let mut after = *position;
        Connect4.play(&mut after, action);
        (action, -worth(&after, DEPTH - 1))
    });
    let scored: Vec<(Action, i32)> = scored.collect();
    let most = scored.iter().map(|&(_, worth)| worth).max().expect("the game is not over");
    let best: Vec<Action> = scored.into_iter().filter(|&(_, worth)| worth == most).map(|(action, _)| action).collect();
    best[rng.below(best.len())]
}

/// What a position is worth to the side to move: a win or loss the more the sooner, else nothing.
fn worth(position: &Position, depth: u32) -> i32 {
    match Connect4.outcome(position) {
        Outcome::Win(_) => return -1 - depth as i32,
        Outcome::Draw => return 0,
        Outcome::Ongoing if depth == 0 => return 0,
        Outcome::Ongoing => {}
    }
    let children = legal_actions(&Connect4, position).into_iter().map(|action| {
        let mut after = *position;
        Connect4.play(&mut after, action);
        -worth(&after, depth - 1)
    });
    children.max().expect("an ongoing game has moves")
}
