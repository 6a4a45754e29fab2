//! `tengen audit --playouts`: a player against perfect play from every short opening.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Result, bail};
use oracle::exact::Exact;
use oracle::playouts::{self, Playouts, openings};
use oracle::proof::{Mistakes, Task};
use rules::{Player, Seat};

use super::Args;
use super::proof::{Setup, TELL_EVERY};
use crate::commands::train::threads;
use crate::progress::thousands;
use crate::registry::Known;
use crate::talk::{self, HEAD, paint};

/// The longest openings, in plies.
const PLIES: usize = 4;

/// Decides among equal moves of perfect play, and what a player that draws its moves plays.
const SEED: u64 = 1;

/// Plays the player out in each seat that it was trained for.
pub(super) fn run<G: Known>(game: &G, args: &Args, setup: &Setup) -> Result<()> {
    if game.table().is_some() {
        bail!("the audit of {} covers every line of play already: leave out --playouts", game.title());
    }
    if game.perfect().is_none() {
        bail!("there is no perfect player of {} to play against", game.title());
    }
    let mut made = setup.player(game)?;
    let (name, seats) = (made.player().name(), made.seats());
    let player = || -> Box<dyn Player<G>> { setup.player(game).expect("the player was made before").into_player() };
    let exact = || -> Box<dyn Exact<G>> { game.perfect().expect("it was there before") };
    let (openings, stop) = (openings(game, PLIES), AtomicBool::new(false));
    let play = |&seat: &Seat| {
        let threads = threads(args.threads);
        let task = Task { game, seat, player: &player, exact: &exact, threads, memory: 0, stop: &stop };
        let mut told = Instant::now();
        playouts::play_out(&task, &openings, SEED, &mut |done| {
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                talk::say(format!(
                    "  as {}: {} of {} openings",
                    game.seat_name(seat),
                    thousands(done as u64),
                    openings.len()
                ));
            }
        })
    };
    if !args.json {
        talk::data(format!("\n{}", paint(HEAD, format!("{name} against perfect play"))))?;
        let count = thousands(openings.len() as u64);
        talk::data(format!("a game from each of the {count} openings of at most {PLIES} moves"))?;
    }
    let mut results = Vec::new();
    for seat in &seats {
        let playouts = play(seat)?;
        if !args.json {
            // At once: the next seat takes as long again.
            talk::data(words(game.seat_name(*seat), &playouts))?;
        }
        results.push(playouts);
    }
    if args.json {
        let seats: Vec<String> = seats.iter().map(ToString::to_string).collect();
        let json = serde_json::json!({ "game": game.name(), "player": name, "seats": seats, "playouts": results });
        talk::data(serde_json::to_string(&json)?)?;
    }
    Ok(())
}

/// What came of one seat.
fn words(seat: &str, playouts: &Playouts) -> String {
    let Playouts { won_by_theory, drawn_by_theory, lost_by_theory, lost, .. } = playouts;
    let Mistakes { win_to_draw, win_to_loss, draw_to_loss } = *lost;
    let [won, drawn, hopeless] = [*won_by_theory, *drawn_by_theory, *lost_by_theory].map(thousands);
    format!(
        "  as {seat}: {won} openings are won, {drawn} drawn, {hopeless} lost\n    results lost: {} of {} (a win for a draw {}, \
         a win for a loss {}, a draw for a loss {})",
        thousands(lost.total()),
        thousands(playouts.games()),
        thousands(win_to_draw),
        thousands(win_to_loss),
        thousands(draw_to_loss)
    )
}
