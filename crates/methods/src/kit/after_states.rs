//! Playing by the values of after-states: the positions that one's own moves lead to.
//!
//! V is always the value for the first player here, in [-1, 1], whatever the network sees: the first player looks for
//! the after-state with the greatest V, the second for the one with the least. A score is a number that orders
//! after-states for the side that moves: the network's output before its last function, with its sign.

use std::collections::HashMap;

use net::file::Tensor;
use net::hidden::Term;
use net::value_net::ValueNet;
use rules::{Action, Choice, Evaluations, Evaluator, Game, NotExact, Outcome, Player, Rng, Seat};

use crate::kit::choose::{argmax, epsilon_greedy_choices};
use crate::kit::value_network::{Inputs, Network, Stone, stones_of};
use crate::learner::{Agent, Opinion, RestoreError};

/// A position, with its stones as a list so that nobody has to look for them.
#[derive(Debug)]
pub struct State<'a, G: Game> {
    /// The position.
    pub position: &'a G::Position,
    /// Its stones, in any order.
    pub stones: &'a [Stone],
}

/// Something that knows what positions are worth: a network, or a table in tests of the theory.
pub trait Values<G: Game> {
    /// V, the value for the first player.
    fn value(&mut self, game: &G, state: &State<'_, G>) -> f32;

    /// Appends, for each of `actions`, the score of the after-state for the side that moves.
    fn scores(&mut self, game: &G, state: &State<'_, G>, actions: &[Action], scores: &mut Vec<f32>);

    /// Moves V towards `target` by one step of gradient descent; returns V before it.
    fn learn(&mut self, game: &G, state: &State<'_, G>, target: f32, rate: f32) -> f32;
}

/// Values from a network.
#[derive(Clone, Debug)]
pub struct NetworkValues {
    /// What it sees.
    inputs: Inputs,
    net: ValueNet,
    terms: Vec<Term>,
    extras: Vec<Term>,
}

impl NetworkValues {
    /// A network with its first weights, which are drawn from the stream of game 0.
    pub fn new<G: Game>(game: &G, network: &Network, seed: u64) -> NetworkValues {
        let net = network.build(game.cells(), 0, &mut Rng::new(seed, 0));
        NetworkValues { inputs: network.inputs, net, terms: Vec::new(), extras: Vec::new() }
    }

    /// The weights, each name with this prefix.
    pub fn tensors(&self, prefix: &str) -> Vec<Tensor> {
        self.net.tensors(prefix)
    }

    /// Takes weights whose names have this prefix.
    ///
    /// # Errors
    /// If they are another network's, or damaged.
    pub fn set_tensors(&mut self, prefix: &str, tensors: &[Tensor]) -> Result<(), RestoreError> {
        Ok(self.net.set_tensors(prefix, tensors)?)
    }

    /// The network as an ONNX file.
    pub fn onnx(&self) -> Vec<u8> {
        self.net.onnx()
    }

    /// The value for the side that moves behind a score.
    pub fn value_of_score(&self, score: f32) -> f32 {
        // A final after-state of known outcome has an infinite score.
        if score.is_infinite() { score.signum() } else { self.net.value_of_score(score) }
    }

    /// Whether every weight is a finite number.
    pub fn is_finite(&self) -> bool {
        self.net.is_finite()
    }

    fn see<G: Game>(&mut self, game: &G, stones: &[Stone], viewer: Seat) {
        let (inputs, cells) = (self.inputs, game.cells());
        self.terms.clear();
        self.terms.extend(stones.iter().map(|&stone| inputs.term(cells, stone, viewer)));
    }
}

impl<G: Game> Values<G> for NetworkValues {
    fn value(&mut self, game: &G, state: &State<'_, G>) -> f32 {
        let to_move = game.to_move(state.position);
        self.see(game, state.stones, to_move);
        self.inputs.for_first(self.net.value(&self.terms), to_move)
    }

    fn scores(&mut self, game: &G, state: &State<'_, G>, actions: &[Action], scores: &mut Vec<f32>) {
        // After the move it is the opponent's turn, so all after-states are seen by the opponent.
        let mover = game.to_move(state.position);
        let viewer = mover.other();
        self.see(game, state.stones, viewer);
        let (inputs, cells) = (self.inputs, game.cells());
        self.extras.clear();
        self.extras.extend(actions.iter().map(|&action| {
            let cell = game.landing(state.position, action);
            inputs.term(cells, Stone { cell, owner: mover }, viewer)
        }));
        let first = scores.len();
        self.net.scores(&self.terms, &self.extras, scores);
        if inputs.for_first(1.0, viewer) * sign(mover) < 0.0 {
            scores[first..].iter_mut().for_each(|score| *score = -*score);
        }
    }

    fn learn(&mut self, game: &G, state: &State<'_, G>, target: f32, rate: f32) -> f32 {
        let to_move = game.to_move(state.position);
        self.see(game, state.stones, to_move);
        let target = self.inputs.for_first(target, to_move);
        self.inputs.for_first(self.net.step(&self.terms, target, rate), to_move)
    }
}

/// +1 for the first seat, -1 for the second: turns a value for the first player into one for `seat`, and back.
#[inline]
pub fn sign(seat: Seat) -> f32 {
    match seat {
        Seat::First => 1.0,
        Seat::Second => -1.0,
    }
}

/// What a finished game is worth to the first player: +1, 0 or -1.
///
/// # Panics
/// If the game is not over.
#[inline]
pub fn reward(outcome: Outcome) -> f32 {
    outcome.seen_by(Seat::First).expect("the game is over").value()
}

/// Values from a table: 0 until learned otherwise, and each position's own. What a method's theory promises, it
/// promises for such a table.
#[derive(Clone, Debug)]
pub struct TableValues<G: Game>(pub HashMap<G::Position, f32>);

impl<G: Game> Default for TableValues<G> {
    fn default() -> Self {
        TableValues(HashMap::new())
    }
}

impl<G: Game> Values<G> for TableValues<G> {
    fn value(&mut self, _game: &G, state: &State<'_, G>) -> f32 {
        self.0.get(state.position).copied().unwrap_or(0.0)
    }

    fn scores(&mut self, game: &G, state: &State<'_, G>, actions: &[Action], scores: &mut Vec<f32>) {
        let mover = game.to_move(state.position);
        scores.extend(actions.iter().map(|&action| {
            let mut after = *state.position;
            game.play(&mut after, action);
            sign(mover) * self.0.get(&after).copied().unwrap_or(0.0)
        }));
    }

    fn learn(&mut self, _game: &G, state: &State<'_, G>, target: f32, rate: f32) -> f32 {
        let value = self.0.entry(*state.position).or_insert(0.0);
        let before = *value;
        *value += rate * (target - before);
        before
    }
}

/// How moves are made while learning.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// The probability of a random move.
    pub epsilon: f32,
    /// The greatest number of random moves before the first other one.
    pub openings: usize,
    /// Whether a final after-state counts its outcome instead of what the values say.
    pub exact_finals: bool,
}

/// A move of a game gone by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The action.
    pub action: Action,
    /// Whether it was drawn at random.
    pub explored: bool,
}

/// A game as it is played, with everything that learning from it needs.
#[derive(Clone, Debug)]
pub struct Episode<G: Game> {
    start: G::Position,
    stones: Vec<Stone>,
    /// S1, S2, ...: the position after each ply.
    after: Vec<G::Position>,
    played: Vec<Action>,
    /// Whether the move that led there was a random one.
    explored: Vec<bool>,
    outcome: Outcome,
    actions: Vec<Action>,
    scores: Vec<f32>,
}

impl<G: Game> Episode<G> {
    /// Before the first move.
    pub fn new(game: &G) -> Episode<G> {
        Episode {
            start: game.start(),
            stones: Vec::with_capacity(game.cells()),
            after: Vec::with_capacity(game.cells()),
            played: Vec::with_capacity(game.cells()),
            explored: Vec::with_capacity(game.cells()),
            outcome: Outcome::Ongoing,
            actions: Vec::with_capacity(game.actions()),
            scores: Vec::with_capacity(game.actions()),
        }
    }

    /// Begins a new game with `0..=openings` random moves, each number with the same probability. Moves that would
    /// end the game are not made.
    pub fn begin(&mut self, game: &G, openings: usize, rng: &mut Rng) {
        self.clear();
        let moves = if openings == 0 { 0 } else { rng.below(openings + 1) };
        for _ in 0..moves {
            let action = game.random_legal(self.position(), rng);
            let mut after = *self.position();
            game.play(&mut after, action);
            if game.outcome(&after).is_over() {
                break;
            }
            self.play(game, action, true);
        }
    }

    /// Plays a whole game from the start, epsilon-greedily after its opening.
    pub fn play_out(&mut self, game: &G, values: &mut impl Values<G>, behaviour: Behaviour, rng: &mut Rng) {
        self.begin(game, behaviour.openings, rng);
        while !self.outcome.is_over() {
            let (action, explored) = self.choose(game, values, behaviour, rng);
            self.play(game, action, explored);
        }
    }

    /// An epsilon-greedy move, and whether it was a random one.
    pub fn choose(
        &mut self,
        game: &G,
        values: &mut impl Values<G>,
        behaviour: Behaviour,
        rng: &mut Rng,
    ) -> (Action, bool) {
        if rng.chance(behaviour.epsilon) {
            return (game.random_legal(self.position(), rng), true);
        }
        self.actions.clear();
        self.scores.clear();
        let position = self.after.last().unwrap_or(&self.start);
        game.legal(position, &mut self.actions);
        let state = State { position, stones: &self.stones };
        scores(game, values, &state, behaviour.exact_finals, &self.actions, &mut self.scores);
        (self.actions[argmax(&self.scores)], false)
    }

    /// Makes a move.
    pub fn play(&mut self, game: &G, action: Action, explored: bool) {
        let mut position = *self.position();
        let owner = game.to_move(&position);
        self.stones.push(Stone { cell: game.landing(&position, action), owner });
        game.play(&mut position, action);
        self.outcome = game.outcome(&position);
        self.after.push(position);
        self.played.push(action);
        self.explored.push(explored);
    }

    /// Copies the moves out.
    pub fn save(&self, moves: &mut Vec<Move>) {
        moves.clear();
        let explored = self.explored.iter();
        moves.extend(self.played.iter().zip(explored).map(|(&action, &explored)| Move { action, explored }));
    }

    /// Plays the moves of an earlier game.
    pub fn load(&mut self, game: &G, moves: &[Move]) {
        self.clear();
        moves.iter().for_each(|m| self.play(game, m.action, m.explored));
    }

    fn clear(&mut self) {
        self.stones.clear();
        self.after.clear();
        self.played.clear();
        self.explored.clear();
        self.outcome = Outcome::Ongoing;
    }

    /// The position as it now is.
    pub fn position(&self) -> &G::Position {
        self.after.last().unwrap_or(&self.start)
    }

    /// The number of plies so far.
    pub fn plies(&self) -> usize {
        self.after.len()
    }

    /// Si, the position after ply i, counted from 1; S0 is the start.
    pub fn state(&self, i: usize) -> State<'_, G> {
        let position = if i == 0 { &self.start } else { &self.after[i - 1] };
        State { position, stones: &self.stones[..i] }
    }

    /// Whether the move that led to Si was a random one.
    pub fn explored(&self, i: usize) -> bool {
        self.explored[i - 1]
    }

    /// Whether and how the game has ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// Appends the score of each action's after-state for the side that moves; with `exact_finals` a final one counts
/// its outcome: more than any estimate, 0, or less than any.
pub fn scores<G: Game>(
    game: &G,
    values: &mut impl Values<G>,
    state: &State<'_, G>,
    exact_finals: bool,
    actions: &[Action],
    scores: &mut Vec<f32>,
) {
    let first = scores.len();
    values.scores(game, state, actions, scores);
    if !exact_finals {
        return;
    }
    let mover = game.to_move(state.position);
    for (score, &action) in scores[first..].iter_mut().zip(actions) {
        let mut after = *state.position;
        game.play(&mut after, action);
        match game.outcome(&after) {
            Outcome::Ongoing => {}
            Outcome::Draw => *score = 0.0,
            Outcome::Win(seat) => *score = f32::INFINITY * sign(seat) * sign(mover),
        }
    }
}

/// Plays the move whose after-state the network likes best.
#[derive(Clone, Debug)]
pub struct AfterStatePlayer<G: Game> {
    name: String,
    values: NetworkValues,
    exact_finals: bool,
    /// The probability of a random move; 0 for the agent itself.
    epsilon: f32,
    /// That of the player that [`Agent::stochastic`] makes.
    stochastic: f32,
    stones: Vec<Stone>,
    actions: Vec<Action>,
    scores: Vec<f32>,
    game: std::marker::PhantomData<fn(&G)>,
}

impl<G: Game> AfterStatePlayer<G> {
    /// The greedy player of these values; the stochastic one makes a random move with probability `epsilon`.
    pub fn new(name: &str, values: NetworkValues, exact_finals: bool, epsilon: f32) -> AfterStatePlayer<G> {
        AfterStatePlayer {
            name: name.to_owned(),
            values,
            exact_finals,
            epsilon: 0.0,
            stochastic: epsilon,
            stones: Vec::new(),
            actions: Vec::new(),
            scores: Vec::new(),
            game: std::marker::PhantomData,
        }
    }

    /// Fills `actions` and `scores`.
    fn judge(&mut self, game: &G, position: &G::Position) {
        self.actions.clear();
        self.scores.clear();
        game.legal(position, &mut self.actions);
        stones_of(game, position, &mut self.stones);
        let state = State { position, stones: &self.stones };
        scores(game, &mut self.values, &state, self.exact_finals, &self.actions, &mut self.scores);
    }

    /// The move that it makes.
    pub fn greedy(&mut self, game: &G, position: &G::Position) -> Action {
        self.judge(game, position);
        self.actions[argmax(&self.scores)]
    }
}

impl<G: Game> Player<G> for AfterStatePlayer<G> {
    fn name(&self) -> String {
        match self.epsilon {
            0.0 => self.name.clone(),
            epsilon => format!("{} with {epsilon} random moves", self.name),
        }
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        self.judge(game, position);
        epsilon_greedy_choices(&self.actions, &self.scores, self.epsilon, choices);
        Ok(())
    }
}

impl<G: Game> Evaluator<G> for AfterStatePlayer<G> {
    /// The value is that of the best after-state; these methods have no policy.
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        out.policies.clear();
        out.values.clear();
        for position in positions {
            self.judge(game, position);
            let best = self.scores[argmax(&self.scores)];
            out.values.push(self.values.value_of_score(best));
        }
    }
}

impl<G: Game> Agent<G> for AfterStatePlayer<G> {
    fn opinion(&mut self, game: &G, position: &G::Position) -> Opinion {
        self.judge(game, position);
        let mut values = vec![f32::NAN; game.actions()];
        for (&action, &score) in self.actions.iter().zip(&self.scores) {
            values[usize::from(action)] = self.values.value_of_score(score);
        }
        Opinion::Values(values)
    }

    fn stochastic(&self) -> Option<Box<dyn Player<G>>> {
        (self.stochastic > 0.0)
            .then(|| Box::new(Self { epsilon: self.stochastic, ..self.clone() }) as Box<dyn Player<G>>)
    }

    fn onnx(&self) -> Option<Vec<u8>> {
        Some(self.values.onnx())
    }
}
