//! Trains `ppo` on a Gomoku board with changed settings and prints how the likeliest move plays while it learns.
//!
//! ```text
//! cargo run --release -p methods --example ppo_gomoku -- GAME PRESET SEED CPU-SECONDS-BETWEEN-LINES [FIELD=JSON]...
//! ```
//!
//! A line: games; CPU seconds of the training; what its last iteration said; points in percent against `random` and
//! `greedy` (and at the end `mcts:1000`), both seats; shapes: in how many percent of positions the likeliest move takes
//! a win, blocks a four, makes an open four, meets an open three.

use cpu_time::ProcessTime;
use methods::learner::{Control, Learner, Metric, Row, Watch};
use methods::ppo::{Config, Ppo};
use rules::grid::{Grid, Position};
use rules::player::Random;
use rules::{Action, Evaluations, Evaluator, Game, Outcome, Player, Rng, Seat};
use search::greedy::Greedy;
use search::mcts::Mcts;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what| arguments.next().expect(what);
    let game: Grid = next("a game").parse().expect("a game of k in a row");
    let preset = next("a preset");
    let seed: u64 = next("a seed").parse().expect("a number");
    let every: f64 = next("CPU seconds").parse().expect("a number");
    let changes: Vec<String> = arguments.collect();

    let presets = <Ppo<Grid> as Learner<Grid>>::presets(&game);
    let preset = presets.into_iter().find(|p| p.name == preset).expect("a preset of the method");
    let mut config = serde_json::to_value(preset.config).expect("settings are JSON");
    for change in &changes {
        let (field, value) = change.split_once('=').expect("FIELD=JSON");
        let at = field.split('.').fold(&mut config, |at, key| &mut at[key]);
        *at = serde_json::from_str(value).expect("a JSON value");
    }
    let config: Config = serde_json::from_value(config).expect("settings that exist");
    println!("{} seed {seed} {}", game.name(), changes.join(" "));
    let mut learner = Ppo::new(&game, &config, seed).expect("possible settings");
    let shapes = Shapes::new(&game);
    let mut watch = Progress { game, shapes, every, spent: 0.0, since: ProcessTime::now(), shown: 0.0, row: None };
    learner.train(&mut watch).expect("finite numbers");
    watch.spent += watch.since.elapsed().as_secs_f64();
    watch.show(&learner);
    for seat in Seat::BOTH {
        let (mut agent, salts) = (learner.agent(), 0..50);
        let players = salts.map(|salt| -> Box<dyn Player<Grid>> { Box::new(Mcts::new(&game, 1_000).salted(salt)) });
        let result = score(&game, &mut agent, seat, players.collect());
        println!("mcts:1000 as {seat}: {:.1} % ({} lost of 50)", result.0, result.1);
    }
}

/// Makes a player.
type Maker = fn() -> Box<dyn Player<Grid>>;

/// What is printed while it learns.
struct Progress {
    game: Grid,
    shapes: Shapes,
    every: f64,
    spent: f64,
    since: ProcessTime,
    shown: f64,
    row: Option<Row>,
}

impl Watch<Ppo<Grid>> for Progress {
    fn row(&mut self, row: &Row) {
        self.row = Some(row.clone());
    }

    fn note(&mut self, games: u64, text: &str) {
        println!("{games}: {text}");
    }

    fn pause(&mut self, learner: &Ppo<Grid>) -> Control {
        self.spent += self.since.elapsed().as_secs_f64();
        if self.spent > self.shown + self.every {
            self.shown = self.spent;
            self.show(learner);
        }
        self.since = ProcessTime::now();
        Control::Continue
    }
}

impl Progress {
    fn show(&mut self, learner: &Ppo<Grid>) {
        let mut line = format!("{:>7} {:>5.0} s", learner.games(), self.spent);
        for (name, metric) in &self.row.as_ref().expect("there was an iteration").metrics {
            match metric {
                Metric::Count(n) => line += &format!(" {name} {n}"),
                Metric::Real(x) => line += &format!(" {name} {x:.3}"),
            }
        }
        let mut agent = learner.agent();
        let makers: [(&str, Maker); 2] = [("random", || Box::new(Random)), ("greedy", || Box::new(Greedy))];
        for (name, make) in makers {
            let results =
                Seat::BOTH.map(|seat| score(&self.game, &mut agent, seat, (0..100).map(|_| make()).collect()));
            let [(x, a), (o, b)] = results;
            line += &format!(" | {name} {x:.1} {o:.1} (lost {a}+{b})");
        }
        let shapes = self.shapes.taken(&self.game, &mut agent);
        println!("{line} | shapes {}", shapes.map(|share| format!("{share:.1}")).join(" "));
    }
}

/// The likeliest legal action of each position.
fn likeliest<E: Evaluator<Grid>>(game: &Grid, agent: &mut E, positions: &[Position]) -> Vec<Action> {
    let mut evaluations = Evaluations::default();
    agent.evaluate(game, positions, &mut evaluations);
    let best = |row: &[f32]| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).expect("actions") as Action;
    evaluations.policies.chunks_exact(game.actions()).map(best).collect()
}

/// Points in percent, and games lost, of `agent` in this seat, a game against each of the players.
fn score<E: Evaluator<Grid>>(
    game: &Grid,
    agent: &mut E,
    seat: Seat,
    mut players: Vec<Box<dyn Player<Grid>>>,
) -> (f64, usize) {
    let mut positions = vec![game.start(); players.len()];
    let mut rng = Rng::new(77, seat.index() as u64);
    loop {
        for (position, player) in positions.iter_mut().zip(&mut players) {
            if !game.outcome(position).is_over() && game.to_move(position) != seat {
                let action = player.choose(game, position, &mut rng).expect("it plays");
                game.play(position, action);
            }
        }
        let open: Vec<usize> = (0..positions.len()).filter(|&i| !game.outcome(&positions[i]).is_over()).collect();
        if open.is_empty() {
            break;
        }
        let asked: Vec<Position> = open.iter().map(|&i| positions[i]).collect();
        let actions = likeliest(game, agent, &asked);
        open.into_iter().zip(actions).for_each(|(i, action)| game.play(&mut positions[i], action));
    }
    let count = |outcome| positions.iter().filter(|p| game.outcome(p) == outcome).count();
    let (won, lost) = (count(Outcome::Win(seat)), count(Outcome::Win(seat.other())));
    (50.0 + 50.0 * (won as f64 - lost as f64) / positions.len() as f64, lost)
}

/// Positions with one right idea each, and the actions that are right.
struct Shapes([Vec<(Position, Vec<Action>)>; 4]);

/// Positions of each shape.
const EACH: usize = 300;

impl Shapes {
    fn new(game: &Grid) -> Shapes {
        let mut shapes: [Vec<(Position, Vec<Action>)>; 4] = Default::default();
        let mut rng = Rng::new(2, 0);
        let mut games = 0;
        while shapes.iter().any(|s| s.len() < EACH) && games < 20_000 {
            games += 1;
            let mut position = game.start();
            while !game.outcome(&position).is_over() {
                if rng.chance(0.2)
                    && let Some((shape, right)) = shape_of(game, &position)
                    && shapes[shape].len() < EACH
                {
                    shapes[shape].push((position, right));
                }
                let action = scattered(game, &position, &mut rng);
                game.play(&mut position, action);
            }
        }
        println!("{games} games, positions {:?}", shapes.each_ref().map(Vec::len));
        Shapes(shapes)
    }

    /// Percent of the positions of each shape in which the likeliest action is right.
    fn taken<E: Evaluator<Grid>>(&self, game: &Grid, agent: &mut E) -> [f64; 4] {
        [0, 1, 2, 3].map(|i| {
            let shape = &self.0[i];
            let positions: Vec<Position> = shape.iter().map(|(position, _)| *position).collect();
            let actions = likeliest(game, agent, &positions);
            let right = actions.iter().zip(shape).filter(|(action, (_, right))| right.contains(action)).count();
            100.0 * right as f64 / shape.len() as f64
        })
    }
}

/// A greedy move one time in three, else a random one next to a stone.
fn scattered(game: &Grid, position: &Position, rng: &mut Rng) -> Action {
    if game.ply(position) > 0 && rng.chance(0.35) {
        return Greedy.choose(game, position, rng).expect("it plays");
    }
    let mut stones = Vec::new();
    game.for_each_stone(position, |cell, _| stones.push(cell));
    loop {
        let action = game.random_legal(position, rng);
        let (column, row) = (usize::from(action) % game.columns(), usize::from(action) / game.columns());
        let near =
            |cell: &usize| (cell % game.columns()).abs_diff(column).max((cell / game.columns()).abs_diff(row)) <= 1;
        if stones.is_empty() || stones.iter().any(near) || rng.chance(0.02) {
            return action;
        }
    }
}

/// Stones by cells.
#[derive(Clone)]
struct Stones<'a>(&'a Grid, Vec<Option<Seat>>);

impl Stones<'_> {
    /// Whether a stone of `seat` on the cell makes five in a row.
    fn wins(&self, cell: usize, seat: Seat) -> bool {
        let (columns, rows) = (self.0.columns() as isize, self.0.rows() as isize);
        let (column, row) = (cell as isize % columns, cell as isize / columns);
        let own = |i: isize, (dc, dr): (isize, isize)| {
            let (c, r) = (column + i * dc, row + i * dr);
            (0..columns).contains(&c) && (0..rows).contains(&r) && self.1[(r * columns + c) as usize] == Some(seat)
        };
        let run = |d, sign: isize| (1..5).take_while(|&i| own(sign * i, d)).count();
        [(1, 0), (0, 1), (1, 1), (1, -1)].into_iter().any(|d| run(d, 1) + run(d, -1) >= 4)
    }

    fn empty(&self) -> impl Iterator<Item = usize> {
        (0..self.1.len()).filter(|&cell| self.1[cell].is_none())
    }

    /// The cells on which `seat` makes five.
    fn winning(&self, seat: Seat) -> Vec<Action> {
        self.empty().filter(|&cell| self.wins(cell, seat)).map(|cell| cell as Action).collect()
    }

    /// Those of the cells on which a stone of `seat` makes at least so many others winning, where none was.
    fn making(&self, cells: impl Iterator<Item = usize>, seat: Seat, threats: usize) -> Vec<Action> {
        let columns = self.0.columns();
        let makes = |&cell: &usize| {
            let mut after = self.clone();
            after.1[cell] = Some(seat);
            let near = |&other: &usize| {
                let (dc, dr) = ((cell % columns).abs_diff(other % columns), (cell / columns).abs_diff(other / columns));
                dc.max(dr) <= 4 && (dc == 0 || dr == 0 || dc == dr)
            };
            after.empty().filter(near).filter(|&other| after.wins(other, seat)).count() >= threats
        };
        cells.filter(makes).map(|cell| cell as Action).collect()
    }
}

/// Which shape decides the position, and the right actions.
fn shape_of(game: &Grid, position: &Position) -> Option<(usize, Vec<Action>)> {
    if game.ply(position) < 5 {
        return None;
    }
    let (own, other) = (game.to_move(position), game.to_move(position).other());
    let stones = Stones(game, (0..game.cells()).map(|cell| game.stone(position, cell)).collect());
    let wins = stones.winning(own);
    if !wins.is_empty() {
        return Some((0, wins));
    }
    let blocks = stones.winning(other);
    match blocks.len() {
        0 => {}
        1 => return Some((1, blocks)),
        _ => return None,
    }
    let open_fours = stones.making(stones.empty(), own, 2);
    if !open_fours.is_empty() {
        return Some((2, open_fours));
    }
    let threats = stones.making(stones.empty(), other, 2);
    if threats.is_empty() {
        return None;
    }
    // A four of one's own is an answer as well; else nothing may be left that makes two threats.
    let fours = stones.making(stones.empty(), own, 1);
    let answers = |&cell: &usize| {
        let mut after = stones.clone();
        after.1[cell] = Some(own);
        let left = threats.iter().map(|&threat| usize::from(threat)).filter(|&threat| threat != cell);
        fours.contains(&(cell as Action)) || after.making(left, other, 2).is_empty()
    };
    let right: Vec<Action> = stones.empty().filter(answers).map(|cell| cell as Action).collect();
    (!right.is_empty()).then_some((3, right))
}
