//! What every game owes to those who use it, as code that each game's tests call.
//!
//! The laws are checked over random games: in every position, for every action and every symmetry.

use crate::game::{Game, legal_actions};
use crate::planes::{View, write_planes};
use crate::random::Rng;
use crate::symmetry::Symmetry;
use crate::value::{Outcome, Seat};

/// Plays `games` random games and checks every law in every position.
///
/// # Panics
/// With the name of the game, the law and the position, at the first breach.
pub fn check<G: Game>(game: &G, games: u64) {
    assert!(size_of::<G::Position>() <= 200, "{}: a position is at most 200 bytes", game.name());
    assert_eq!(game.symmetries()[0], Symmetry::IDENTITY, "{}: the identity comes first", game.name());
    assert_eq!(game.start(), game.start());
    for number in 0..games {
        let mut rng = Rng::new(0x1a05, number);
        let mut position = game.start();
        check_position(game, &position);
        for ply in 0.. {
            assert_eq!(game.ply(&position), ply, "{}: ply counts stones", game.name());
            if game.outcome(&position).is_over() {
                break;
            }
            let action = game.random_legal(&position, &mut rng);
            check_move(game, &position, action);
            game.play(&mut position, action);
            check_position(game, &position);
        }
    }
}

/// The laws that concern one position.
fn check_position<G: Game>(game: &G, position: &G::Position) {
    let at = || format!("{}: {}", game.name(), game.write_position(position));
    let before = *position;
    let outcome = game.outcome(position);
    let legal = legal_actions(game, position);

    // Listed moves are exactly the accepted ones, in increasing order, and a finished game has none.
    assert!(legal.is_sorted_by(|a, b| a < b), "{}: legal actions out of order", at());
    assert_eq!(legal.is_empty(), outcome.is_over(), "{}: moves and outcome disagree", at());
    for action in 0..game.actions() as u16 + 2 {
        let listed = legal.binary_search(&action).is_ok();
        assert_eq!(game.referee(position, action).is_ok(), listed, "{}: action {action}", at());
        if !listed {
            let mut copy = before;
            assert!(game.try_play(&mut copy, action).is_err(), "{}: action {action} accepted", at());
            assert_eq!(copy, before, "{}: refused action {action} changed the position", at());
        }
    }

    // The winning moves are those after which the side that moved has won.
    let wins = |&action: &u16| {
        let mut after = before;
        game.play(&mut after, action);
        game.outcome(&after) == Outcome::Win(game.to_move(position))
    };
    let mut winning = Vec::new();
    game.winning(position, &mut winning);
    assert_eq!(winning, legal.iter().copied().filter(wins).collect::<Vec<_>>(), "{}: winning moves", at());

    // Printing and parsing come back to the same position, and so do actions.
    let text = game.write_position(position);
    assert_eq!(game.read_position(&text).as_ref(), Ok(position), "{}: read back", at());
    for action in 0..game.actions() as u16 {
        let written = game.write_action(action);
        assert_eq!(game.read_action(&written), Ok(action), "{}: action {written}", at());
        assert_eq!(game.read_action(&format!(" {} ", written.to_uppercase())), Ok(action), "{}: {written}", at());
    }

    // The two views hold the same stones, exchanged for the second player, and tell the position apart.
    let cells = game.cells();
    let planes = |position: &G::Position, view| {
        let mut planes = vec![0.0; 2 * cells];
        write_planes(game, position, view, &mut planes);
        planes
    };
    let absolute = planes(position, View::Absolute);
    let mut relative = planes(position, View::Relative);
    if game.to_move(position) == Seat::Second {
        relative.rotate_left(cells);
    }
    assert_eq!(absolute, relative, "{}: views", at());
    assert_eq!(absolute.iter().sum::<f32>(), game.ply(position) as f32, "{}: one mark a stone", at());

    // Every stone is visited once.
    let mut visited: Vec<_> = (0..cells).map(|_| None).collect();
    game.for_each_stone(position, |cell, owner| assert_eq!(visited[cell].replace(owner), None, "{}: twice", at()));
    assert!((0..cells).all(|cell| visited[cell] == game.stone(position, cell)), "{}: stones visited", at());

    // A won game has lines, all of them the winner's; no other has any.
    let lines = game.winning_lines(position);
    match outcome {
        Outcome::Win(winner) => {
            assert!(!lines.is_empty(), "{}: a win without a line", at());
            for cell in lines.iter().flatten() {
                assert_eq!(game.stone(position, *cell), Some(winner), "{}: line through cell {cell}", at());
            }
        }
        Outcome::Draw | Outcome::Ongoing => assert!(lines.is_empty(), "{}: a line without a win", at()),
    }

    // Symmetry commutes with everything.
    for &symmetry in game.symmetries() {
        let image = game.transform(symmetry, position);
        let back = game.transform(symmetry.inverse(), &image);
        assert_eq!(back, before, "{}: {symmetry:?} is not undone by its inverse", at());
        assert_eq!(game.canonical(&image), game.canonical(position), "{}: canonical under {symmetry:?}", at());
        assert_eq!(game.outcome(&image), outcome, "{}: outcome under {symmetry:?}", at());
        assert_eq!(game.to_move(&image), game.to_move(position), "{}: side under {symmetry:?}", at());
        let mut mapped: Vec<_> = legal.iter().map(|&a| game.transform_action(symmetry, a)).collect();
        mapped.sort_unstable();
        assert_eq!(mapped, legal_actions(game, &image), "{}: legal moves under {symmetry:?}", at());
        for &action in &legal {
            let (mut there, mut here) = (image, before);
            game.play(&mut there, game.transform_action(symmetry, action));
            game.play(&mut here, action);
            assert_eq!(there, game.transform(symmetry, &here), "{}: play {action} under {symmetry:?}", at());
        }
        let seen = planes(&image, View::Absolute);
        for cell in 0..cells {
            let moved = symmetry.cell(game.columns(), game.rows(), cell);
            for plane in [0, cells] {
                assert_eq!(seen[plane + moved], absolute[plane + cell], "{}: planes under {symmetry:?}", at());
            }
        }
    }
    assert_eq!(*position, before, "{}: a query changed the position", at());
}

/// The laws that concern one move.
fn check_move<G: Game>(game: &G, before: &G::Position, action: u16) {
    let at = || format!("{}: {} then {}", game.name(), game.write_position(before), game.write_action(action));
    assert_eq!(game.referee(before, action), Ok(()), "{}: a random legal move is legal", at());
    let mut after = *before;
    game.play(&mut after, action);
    assert_ne!(after, *before, "{}: a move changes the position", at());
    assert_ne!(game.write_position(&after), game.write_position(before), "{}: distinct texts", at());
    assert_eq!(game.to_move(&after), game.to_move(before).other(), "{}: the turn passes", at());
    // The stone lands where it was announced, belongs to the mover, and nothing else changes.
    let landing = game.landing(before, action);
    for cell in 0..game.cells() {
        let expected = if cell == landing { Some(game.to_move(before)) } else { game.stone(before, cell) };
        assert_eq!(game.stone(&after, cell), expected, "{}: cell {cell}", at());
    }
    // Only the side that moved can have won by it.
    assert_ne!(game.outcome(&after), Outcome::Win(game.to_move(&after)), "{}: the wrong side won", at());
}
