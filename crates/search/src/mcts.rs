//! Players that choose by Monte Carlo tree search.
//!
//! Both are functions of the position: the randomness of a search comes from the position's text, its tree is empty at
//! the beginning, and nothing is carried over to the next move or game.

use rules::{Choice, Evaluations, Evaluator, Game, NotExact, Outcome, Player, Rng};

use crate::tree::{Gathered, Leaf, Rule, Tree};

/// Plain UCT: a random game from each new position, children by UCB1. Knows nothing but the rules.
#[derive(Clone, Debug)]
pub struct Mcts<G: Game> {
    simulations: u32,
    salt: u64,
    tree: Tree<G>,
}

/// UCB1's constant for values in [-1, 1].
const UCT_EXPLORATION: f64 = 1.0;

impl<G: Game> Mcts<G> {
    /// A player that looks at `simulations` >= 1 random games a move.
    ///
    /// # Panics
    /// If there are no simulations.
    pub fn new(game: &G, simulations: u32) -> Self {
        assert!(simulations > 0, "a search makes at least one simulation");
        Mcts { simulations, salt: 0, tree: Tree::new(game, Rule::Uct { exploration: UCT_EXPLORATION }) }
    }

    /// The same player with other random numbers for each `salt`, when one position is to be played in several ways.
    #[must_use]
    pub fn salted(self, salt: u64) -> Self {
        Mcts { salt, ..self }
    }

    /// Searches the position; stops early when its result is proved or `stop` says so, which is asked before every simulation.
    pub fn search(&mut self, game: &G, position: &G::Position, stop: &mut dyn FnMut() -> bool) -> &Tree<G> {
        let mut rng = position_stream(game, position, self.salt);
        self.tree.reset(game, position, rng.clone());
        while self.tree.visits() < self.simulations && self.tree.proof().is_none() && !stop() {
            if let Gathered::Leaf(leaf) = self.tree.gather(game) {
                let value = playout(game, &leaf.position, &mut rng);
                self.tree.apply(&leaf, &[], value);
            }
        }
        &self.tree
    }
}

impl<G: Game> Player<G> for Mcts<G> {
    fn name(&self) -> String {
        match self.salt {
            0 => format!("mcts:{}", self.simulations),
            salt => format!("mcts:{}, salt {salt}", self.simulations),
        }
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let best = self.search(game, position, &mut || false).best();
        choices.push(Choice { action: best.expect("the game is not over"), probability: 1.0 });
        Ok(())
    }
}

/// An evaluator with search: PUCT with its policy as priors and its values in the leaves.
///
/// Without a policy all priors are equal; without values each leaf is judged by a random game.
#[derive(Clone, Debug)]
pub struct Searched<G: Game, E> {
    name: String,
    evaluator: E,
    simulations: u32,
    batch: usize,
    tree: Tree<G>,
    leaves: Vec<Leaf<G::Position>>,
    positions: Vec<G::Position>,
    evaluations: Evaluations,
}

/// PUCT's constant for values in [-1, 1].
pub const PUCT_EXPLORATION: f64 = 1.5;

impl<G: Game, E: Evaluator<G>> Searched<G, E> {
    /// A player named `name@simulations`. Up to `batch` leaves are judged together; a greater batch is faster and
    /// plays a little worse, since the later leaves of a batch are chosen without knowing the earlier.
    ///
    /// # Panics
    /// If `simulations` or `batch` is 0.
    pub fn new(game: &G, name: &str, evaluator: E, simulations: u32, batch: usize) -> Self {
        assert!(simulations > 0 && batch > 0, "a search makes at least one simulation at a time");
        Searched {
            name: format!("{name}@{simulations}"),
            evaluator,
            simulations,
            batch,
            tree: Tree::new(game, Rule::Puct { exploration: PUCT_EXPLORATION }),
            leaves: Vec::new(),
            positions: Vec::new(),
            evaluations: Evaluations::default(),
        }
    }

    /// Searches the position; stops early when its result is proved or `stop` says so, which is asked before every batch.
    pub fn search(&mut self, game: &G, position: &G::Position, stop: &mut dyn FnMut() -> bool) -> &Tree<G> {
        let mut rng = position_stream(game, position, 0);
        self.tree.reset(game, position, rng.clone());
        while self.tree.visits() < self.simulations && self.tree.proof().is_none() && !stop() {
            self.gather(game);
            if self.leaves.is_empty() {
                continue;
            }
            self.evaluator.evaluate(game, &self.positions, &mut self.evaluations);
            let Evaluations { policies, values } = &self.evaluations;
            for (i, leaf) in self.leaves.drain(..).enumerate() {
                let policy = if policies.is_empty() { &[] } else { &policies[i * game.actions()..][..game.actions()] };
                let value = match values.get(i) {
                    Some(&value) => value,
                    None => playout(game, &leaf.position, &mut rng),
                };
                self.tree.apply(&leaf, policy, value);
            }
        }
        &self.tree
    }

    /// The evaluator.
    pub fn evaluator(&mut self) -> &mut E {
        &mut self.evaluator
    }

    /// Collects the leaves of the next batch; none if every simulation left came to a proved result.
    fn gather(&mut self, game: &G) {
        self.positions.clear();
        let left = (self.simulations - self.tree.visits()) as usize;
        let mut ended = 0;
        while self.leaves.len() < self.batch && self.leaves.len() + ended < left && self.tree.proof().is_none() {
            match self.tree.gather(game) {
                Gathered::Leaf(leaf) => {
                    self.positions.push(leaf.position);
                    self.leaves.push(leaf);
                }
                Gathered::Ended => ended += 1,
                Gathered::Busy => break,
            }
        }
    }
}

impl<G: Game, E: Evaluator<G>> Player<G> for Searched<G, E> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let best = self.search(game, position, &mut || false).best();
        choices.push(Choice { action: best.expect("the game is not over"), probability: 1.0 });
        Ok(())
    }
}

/// The result of a random game from the position, for the side to move in it.
pub fn playout<G: Game>(game: &G, position: &G::Position, rng: &mut Rng) -> f32 {
    let mut end = *position;
    loop {
        match game.outcome(&end) {
            Outcome::Ongoing => {
                let action = game.random_legal(&end, rng);
                game.play(&mut end, action);
            }
            over => return over.seen_by(game.to_move(position)).map_or(0.0, rules::Wdl::value),
        }
    }
}

/// A stream of randomness that belongs to the position: the same on every machine (FNV-1a of its text).
fn position_stream<G: Game>(game: &G, position: &G::Position, salt: u64) -> Rng {
    let text = game.write_position(position);
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    Rng::new(hash, salt)
}
