//! Makes the questions by which players of Gomoku are audited, each with all of its right moves.
//!
//! `cargo run --release -p oracle --example gomoku_tactics_set -- GAME FILE [EACH [GAMES]]`: EACH questions [1,200] of
//! each kind, a third of them in each region, as far as GAMES games [7,000] have so many. The same command makes the
//! same file.

use std::collections::HashSet;

use oracle::gomoku::tactics::{Judge, Kind, Question, Region, playout, to_bytes};
use rules::Game;
use rules::grid::{Grid, Position, Rule};
use rules::random::Rng;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [game, file, ..] = &arguments[..] else { panic!("a game and the name of a file") };
    let number = |i: usize, default: u64| arguments.get(i).map_or(default, |text| text.parse().expect("a number"));
    let game: Grid = game.parse().expect("a game");
    let kinds = if game.rule() == Rule::Renju { &Kind::ALL[..] } else { &Kind::ALL[..Kind::ForbiddenBlock as usize] };
    let each = number(2, 1_200) as usize / Region::ALL.len();

    let mut judge = Judge::new(&game).expect("a game of five in a row");
    let mut seen = HashSet::new();
    let mut found: Vec<Vec<Question<Position>>> = vec![Vec::new(); Kind::ALL.len() * Region::ALL.len()];
    let shelf = |kind: Kind, region: Region| kind as usize * Region::ALL.len() + region as usize;
    let all = kinds.len() * Region::ALL.len() * each;
    for stream in 0..number(3, 7_000) {
        let misses = |&region: &Region| kinds.iter().any(|&kind| found[shelf(kind, region)].len() < each);
        let missing: Vec<Region> = Region::ALL.into_iter().filter(misses).collect();
        if missing.is_empty() {
            break;
        }
        let region = missing[stream as usize % missing.len()];
        // No kind twice from one game: its positions are too much alike.
        let mut kinds_of_game = HashSet::new();
        playout(&game, region, &mut Rng::new(1, stream), &mut |position| {
            let wanted = |kind, region| !kinds_of_game.contains(&kind) && found[shelf(kind, region)].len() < each;
            if let Some(question) = judge.question(position, &wanted)
                && seen.insert(game.canonical(position))
            {
                kinds_of_game.insert(question.kind);
                found[shelf(question.kind, question.region)].push(question);
            }
            true
        });
        let total: usize = found.iter().map(Vec::len).sum();
        if stream % 500 == 0 || total == all {
            let counts: Vec<usize> = found.iter().map(Vec::len).collect();
            eprintln!("{} games, {total} of {all} questions, by kind and region: {counts:?}", stream + 1);
        }
    }
    // Mixed evenly, so that the first questions of the file are a fair sample.
    let mixed: Vec<Question<Position>> =
        (0..each).flat_map(|i| found.iter().filter_map(move |shelf| shelf.get(i).cloned())).collect();
    let bytes = to_bytes(&game, &mixed);
    std::fs::write(file, &bytes).expect("the file can be written");
    eprintln!("{} questions, {} bytes", mixed.len(), bytes.len());
}
