//! Makes the questions by which players of Gomoku are audited, each with all of its right moves.
//!
//! `cargo run --release -p oracle --example gomoku_tactics_set -- GAME FILE [EACH [GAMES [THEMED]]]`: EACH questions
//! [1,200] of each kind, a third of them in each region, as far as GAMES games [7,000] and after them THEMED games [0] that
//! begin with the theme of a rare kind have so many. The same command makes the same file.

use std::collections::HashSet;

use oracle::gomoku::tactics::{Judge, Kind, Question, Region, has_theme, playout, themed_playout, to_bytes};
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
    let (games, themed_games) = (number(3, 7_000), number(4, 0));
    for stream in 0..games + themed_games {
        let themed = stream >= games;
        let shelves = kinds.iter().flat_map(|&kind| Region::ALL.map(|region| (kind, region)));
        let missing =
            |&(kind, region): &(Kind, Region)| found[shelf(kind, region)].len() < each && (!themed || has_theme(kind));
        let missing: Vec<(Kind, Region)> = shelves.filter(missing).collect();
        if missing.is_empty() {
            break;
        }
        // No kind twice from one game: its positions are too much alike.
        let mut kinds_of_game = HashSet::new();
        let mut visit = |position: &Position| {
            let wanted = |kind, region| !kinds_of_game.contains(&kind) && found[shelf(kind, region)].len() < each;
            if let Some(question) = judge.question(position, &wanted)
                && seen.insert(game.canonical(position))
            {
                kinds_of_game.insert(question.kind);
                found[shelf(question.kind, question.region)].push(question);
            }
            true
        };
        let rng = &mut Rng::new(1, stream);
        if themed {
            let (kind, region) = missing[rng.below(missing.len())];
            themed_playout(&game, kind, region, rng, &mut visit);
        } else {
            let is_missing = |&region: &Region| missing.iter().any(|&(_, of_missing)| of_missing == region);
            let regions: Vec<Region> = Region::ALL.into_iter().filter(is_missing).collect();
            playout(&game, regions[stream as usize % regions.len()], rng, &mut visit);
        }
        let total: usize = found.iter().map(Vec::len).sum();
        if stream % 500 == 0 || total == all {
            let counts: Vec<usize> = found.iter().map(Vec::len).collect();
            eprintln!("{} games, {total} of {all} questions, by kind and region: {counts:?}", stream + 1);
        }
    }
    if themed_games > 0 {
        // They came last.
        found.iter_mut().for_each(|questions| Rng::new(2, 0).shuffle(questions));
    }
    // Mixed evenly, so that the first questions of the file are a fair sample.
    let mixed: Vec<Question<Position>> =
        (0..each).flat_map(|i| found.iter().filter_map(move |shelf| shelf.get(i).cloned())).collect();
    let bytes = to_bytes(&game, &mixed);
    std::fs::write(file, &bytes).expect("the file can be written");
    eprintln!("{} questions, {} bytes", mixed.len(), bytes.len());
}
