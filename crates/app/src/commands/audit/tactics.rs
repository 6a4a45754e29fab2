//! `tengen audit` for Gomoku: which tactics a player knows.

use anyhow::Result;
use arena::score::{Interval, wilson};
use oracle::gomoku::tactics::{KindMarks, Marks, Question, Region, STORED, Share, exam};
use serde::Serialize;

use super::{percent, with_interval};
use crate::progress::thousands;
use crate::registry::{self, Known, Opponent};
use crate::talk::{self, DIM, HEAD, paint};

/// Who is shown beside the player.
const BESIDE: [&str; 2] = ["random", "greedy"];

/// Where positions are stored, to be added to a refusal; nothing for games of another kind.
pub(super) fn elsewhere<G: Known>(game: &G) -> String {
    if game.engine_rule().is_some() {
        format!(", and tactics are stored for {} only", STORED.join(", "))
    } else {
        String::new()
    }
}

/// Examines a player and those that are shown beside it.
pub(super) fn run<G: Known>(
    game: &G,
    questions: &[Question<G::Position>],
    player: &mut Opponent<G>,
    json: bool,
) -> Result<()> {
    let plays = exam(game, questions, player.player())?;
    let beside = BESIDE.iter().map(|name| Ok(exam(game, questions, registry::player(game, name)?.player())?));
    let beside = beside.collect::<Result<Vec<Marks>>>()?;
    let mut about = vec![format!("Audit of {}", plays.player)];
    let mut policy = None;
    if let Opponent::Agent(agent) = player {
        about = vec![format!("Audit of {}", agent.source), agent.about()];
        policy = agent.agent.stochastic().map(|mut policy| exam(game, questions, &mut *policy)).transpose()?;
    }
    if json {
        let report = serde_json::json!({
            "game": game.name(),
            "tactics": Json::new(&plays),
            "policy": policy.as_ref().map(Json::new),
            "beside": beside.iter().map(Json::new).collect::<Vec<_>>(),
        });
        return Ok(talk::data(serde_json::to_string(&report)?)?);
    }
    let mut lines = vec![String::new(), paint(HEAD, &about[0])];
    lines.extend(about[1..].iter().cloned());
    lines.push(format!(
        "in {} positions of {}: how often its move is a right one, in %, with the 95 % interval",
        thousands(questions.len() as u64),
        game.title()
    ));
    if policy.is_some() {
        lines.push("policy: the mean probability that it gives to all right moves together".to_owned());
    }
    lines.push(String::new());
    let head = Region::ALL.map(|region| format!("{:>8}", region.name())).concat();
    let policy_head = if policy.is_some() { format!("{:>9}", "policy") } else { String::new() };
    let others: String = BESIDE.iter().map(|name| format!("{name:>9}")).collect();
    lines.push(paint(HEAD, format!("{:24}{:>9}{:>17}{policy_head}{head}{others}", "", "positions", "right")));
    for (i, marks) in plays.kinds.iter().enumerate() {
        lines.push(row(marks, policy.as_ref().map(|policy| &policy.kinds[i]), beside.iter().map(|b| &b.kinds[i])));
    }
    lines.push(String::new());
    lines.extend(plays.kinds.iter().map(|m| paint(DIM, format!("  {:24}{}", m.kind.name(), m.kind.about()))));
    Ok(talk::data(lines.join("\n"))?)
}

fn row<'a>(marks: &KindMarks, policy: Option<&KindMarks>, beside: impl Iterator<Item = &'a KindMarks>) -> String {
    let cell = |share: &Share| if share.questions == 0 { "-".to_owned() } else { percent(share.share()) };
    let all = with_interval(marks.all.share(), marks.all.questions);
    let policy = policy.map_or_else(String::new, |policy| format!("{:>9}", cell(&policy.all)));
    let regions: String = marks.regions.iter().map(|share| format!("{:>8}", cell(share))).collect();
    let beside: String = beside.map(|marks| format!("{:>9}", cell(&marks.all))).collect();
    format!("  {:22}{:>9}{all:>17}{policy}{regions}{beside}", marks.kind.name(), thousands(marks.all.questions))
}

/// What a player reaches, for programs.
#[derive(Serialize)]
struct Json<'a> {
    player: &'a str,
    kinds: Vec<KindJson>,
}

#[derive(Serialize)]
struct KindJson {
    kind: &'static str,
    about: &'static str,
    all: ShareJson,
    middle: ShareJson,
    edge: ShareJson,
    corner: ShareJson,
}

/// A share with its interval; both are null where nothing was asked.
#[derive(Serialize)]
struct ShareJson {
    positions: u64,
    right: Option<f64>,
    interval: Option<Interval>,
}

impl<'a> Json<'a> {
    fn new(marks: &'a Marks) -> Json<'a> {
        let share = |share: Share| {
            let asked = (share.questions > 0).then(|| (share.share(), share.questions as f64));
            ShareJson {
                positions: share.questions,
                right: asked.map(|(share, _)| share),
                interval: asked.map(|(share, trials)| wilson(share, trials)),
            }
        };
        let kind = |marks: &KindMarks| {
            let [middle, edge, corner] = marks.regions.map(share);
            KindJson { kind: marks.kind.name(), about: marks.kind.about(), all: share(marks.all), middle, edge, corner }
        };
        Json { player: &marks.player, kinds: marks.kinds.iter().map(kind).collect() }
    }
}
