//! A network that gives each action of a position its share of a policy, and the player that follows it.

use net::file::Tensor;
use net::math::softmax;
use net::policy_net::PolicyNet;
use rules::planes::View;
use rules::{Action, Choice, Evaluations, Evaluator, Game, NotExact, Player, Rng, Symmetry, game::legal_actions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::choose::{greedy_choice, sampled_choices};
use crate::learner::{Agent, Opinion, RestoreError};

/// Whose stones the first of two inputs for each cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Inputs {
    /// The first player's.
    First,
    /// Those of the side to move.
    Own,
}

/// A policy network: two inputs for each cell (a stone of one side, a stone of the other), hidden layers with ReLU, one
/// output for each action, before the softmax.
#[derive(Clone, Debug)]
pub struct PolicyNetwork<G: Game> {
    /// The game whose positions it is shown.
    pub game: G,
    /// The network itself.
    pub net: PolicyNet,
    view: View,
    canonical: bool,
    /// Through which the last position was shown.
    symmetry: Symmetry,
    ones: Vec<usize>,
}

impl<G: Game> PolicyNetwork<G> {
    /// A network whose weights and biases are uniform in [-scale, scale], `hidden` layers wide. If `canonical`, every
    /// position is turned and mirrored into the orientation that it shares with its symmetric positions.
    pub fn new(game: &G, hidden: &[usize], inputs: Inputs, canonical: bool, scale: f32, rng: &mut Rng) -> Self {
        let mut sizes = vec![2 * game.cells()];
        sizes.extend(hidden);
        sizes.push(game.actions());
        let net = PolicyNet::new(&sizes, |_| rng.uniform(-scale, scale));
        PolicyNetwork {
            game: game.clone(),
            net,
            view: match inputs {
                Inputs::First => View::Absolute,
                Inputs::Own => View::Relative,
            },
            canonical,
            symmetry: Symmetry::IDENTITY,
            ones: Vec::with_capacity(game.cells()),
        }
    }

    /// Shows the position to the network, whose outputs then tell what it says.
    pub fn look(&mut self, position: &G::Position) {
        let PolicyNetwork { game, net, view, canonical, symmetry, ones } = self;
        *symmetry = if *canonical { game.orientation(position) } else { Symmetry::IDENTITY };
        let shown = game.transform(*symmetry, position);
        let to_move = game.to_move(position);
        ones.clear();
        game.for_each_stone(&shown, |cell, owner| ones.push(2 * cell + view.plane(owner, to_move)));
        net.forward(ones.iter().copied());
    }

    /// The index of the output that stands for an action, legal or not, of the position that was shown last.
    #[inline]
    pub fn output(&self, action: Action) -> usize {
        usize::from(self.game.transform_action(self.symmetry, action))
    }

    /// The outputs of these actions of the position that was shown last.
    pub fn of(&self, actions: &[Action], out: &mut Vec<f32>) {
        let outputs = self.net.outputs();
        out.clear();
        out.extend(actions.iter().map(|&action| outputs[self.output(action)]));
    }

    /// The softmax over the outputs of these actions of the position that was shown last, in the order of the outputs.
    pub fn policy_over(&mut self, actions: &[Action], temperature: f32) -> &mut [f32] {
        let PolicyNetwork { game, net, symmetry, .. } = self;
        let outputs = actions.iter().map(|&action| usize::from(game.transform_action(*symmetry, action)));
        net.policy_over(outputs, temperature)
    }

    /// The one of these actions with the greatest output, the first of equals.
    ///
    /// # Panics
    /// If there are none.
    pub fn best(&self, actions: &[Action]) -> Action {
        let outputs = self.net.outputs();
        let mut best = (actions[0], outputs[self.output(actions[0])]);
        for &action in &actions[1..] {
            let output = outputs[self.output(action)];
            if output > best.1 {
                best = (action, output);
            }
        }
        best.0
    }

    /// The weights, as [`PolicyNetwork::set_tensors`] takes them.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.net.tensors("policy.")
    }

    /// Takes the weights.
    ///
    /// # Errors
    /// If they are of another network.
    pub fn set_tensors(&mut self, tensors: &[Tensor]) -> Result<(), RestoreError> {
        Ok(self.net.set_tensors("policy.", tensors)?)
    }
}

/// What has been learned: plays the legal move with the highest output, or samples from the softmax over legal moves.
#[derive(Clone, Debug)]
pub struct PolicyPlayer<G: Game> {
    name: String,
    /// The network that it follows.
    pub policy: PolicyNetwork<G>,
    sampled: bool,
}

impl<G: Game> PolicyPlayer<G> {
    /// The greedy player of this network.
    pub fn new(name: &str, policy: PolicyNetwork<G>) -> Self {
        PolicyPlayer { name: name.to_owned(), policy, sampled: false }
    }

    /// The legal actions and their outputs before the softmax.
    fn legal_outputs(&mut self, position: &G::Position) -> (Vec<Action>, Vec<f32>) {
        let legal = legal_actions(&self.policy.game, position);
        let mut scores = Vec::with_capacity(legal.len());
        self.policy.look(position);
        self.policy.of(&legal, &mut scores);
        (legal, scores)
    }
}

impl<G: Game> Player<G> for PolicyPlayer<G> {
    fn name(&self) -> String {
        if self.sampled { format!("{} (sampled)", self.name) } else { self.name.clone() }
    }

    fn distribution(&mut self, _game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let (legal, mut scores) = self.legal_outputs(position);
        if self.sampled {
            softmax(&mut scores, 1.0);
            sampled_choices(&legal, &scores, choices);
        } else {
            greedy_choice(&legal, &scores, choices);
        }
        Ok(())
    }
}

impl<G: Game> Evaluator<G> for PolicyPlayer<G> {
    /// A policy knows no values: there are none.
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        let actions = game.actions();
        out.values.clear();
        out.policies = vec![0.0; positions.len() * actions];
        for (position, row) in positions.iter().zip(out.policies.chunks_exact_mut(actions)) {
            let (legal, mut scores) = self.legal_outputs(position);
            softmax(&mut scores, 1.0);
            legal.iter().zip(scores).for_each(|(&action, p)| row[usize::from(action)] = p);
        }
    }
}

impl<G: Game> Agent<G> for PolicyPlayer<G> {
    fn opinion(&mut self, _game: &G, position: &G::Position) -> Opinion {
        let every: Vec<Action> = (0..self.policy.game.actions() as Action).collect();
        let mut probabilities = Vec::new();
        self.policy.look(position);
        self.policy.of(&every, &mut probabilities);
        softmax(&mut probabilities, 1.0);
        Opinion::Probabilities(probabilities)
    }

    fn onnx(&self) -> Option<Vec<u8>> {
        Some(self.policy.net.onnx())
    }

    fn stochastic(&self) -> Option<Box<dyn Player<G>>> {
        Some(Box::new(PolicyPlayer { sampled: true, ..self.clone() }))
    }
}
