//! `tengen audit` where a game is too large for a table: a player in positions whose truth is stored.

use anyhow::Result;
use oracle::audit::Choices;
use oracle::exam::{Exam, Labelled, Marks, exam};
use rules::Seat;

use super::with_interval;
use crate::progress::thousands;
use crate::registry::{self, Known, Opponent};
use crate::talk::{self, DIM, HEAD, paint};

/// Who is shown beside the player.
const BESIDE: [&str; 2] = ["random", "minimax:5"];

/// Positions are shown together by so many stones.
const STONES: usize = 6;

/// Examines a player and those that are shown beside it.
pub(super) fn run<G: Known>(game: &G, set: &[Labelled<G>], player: &mut Opponent<G>, json: bool) -> Result<()> {
    let of_player = exam(game, set, player.player())?;
    let beside = BESIDE.iter().map(|name| Ok(exam(game, set, registry::player(game, name)?.player())?));
    let beside = beside.collect::<Result<Vec<Exam>>>()?;
    if json {
        let json = serde_json::json!({ "game": game.name(), "exam": of_player, "beside": beside });
        return Ok(talk::data(serde_json::to_string(&json)?)?);
    }
    let (source, about) = match player {
        Opponent::Agent(agent) => (agent.source.clone(), Some(agent.about())),
        Opponent::Other(_) => (of_player.player.clone(), None),
    };
    let mut lines = vec![String::new(), paint(HEAD, format!("Audit of {source}"))];
    lines.extend(about);
    lines.push(format!(
        "in {} positions of {}, beside exact scores; in brackets the 95 % interval",
        thousands(set.len() as u64),
        game.title()
    ));
    lines.push(String::new());
    lines.push(paint(HEAD, format!("{:35}{:>22}{:>28}", "", "keeps win or draw, %", "has the best score, %")));
    let head = format!(
        "{:26}{:>9}{:>11}{:>17}{:>11}{:>17}",
        "", "positions", "all", "where it matters", "all", "where it matters"
    );
    lines.push(paint(DIM, head));
    lines.push(row("all", &of_player.all));
    for seat in Seat::BOTH {
        lines.push(row(&format!("as {}", game.seat_name(seat)), &of_player.seats[seat.index()]));
    }
    for (i, some) in of_player.by_ply.chunks(STONES).enumerate() {
        let marks = some.iter().copied().fold(Marks::default(), together);
        if marks.value.positions > 0 {
            lines.push(row(&format!("{} to {} stones", STONES * i, STONES * i + some.len() - 1), &marks));
        }
    }
    lines.extend(of_player.sources.iter().map(|(name, marks)| row(name, marks)));
    lines.extend(beside.iter().map(|exam| row(&format!("beside it: {}", exam.player), &exam.all)));
    Ok(talk::data(lines.join("\n"))?)
}

fn together(a: Marks, b: Marks) -> Marks {
    let add = |a: Choices, b: Choices| Choices {
        positions: a.positions + b.positions,
        kept: a.kept + b.kept,
        decisive: a.decisive + b.decisive,
        decisive_kept: a.decisive_kept + b.decisive_kept,
    };
    Marks { value: add(a.value, b.value), best: add(a.best, b.best) }
}

fn row(name: &str, marks: &Marks) -> String {
    let Marks { value, best } = marks;
    let cells = |c: &Choices| {
        format!("{:>15}{:>17}", with_interval(c.share(), c.positions), with_interval(c.decisive_share(), c.decisive))
    };
    format!("  {name:22}{:>9}{}{}", thousands(value.positions), cells(value), cells(best))
}
