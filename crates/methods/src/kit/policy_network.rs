//! A network that gives each action of a position its share of a policy, and the player that follows it.

use net::file::Tensor;
use net::policy_net::PolicyNet;
use rules::planes::View;
use rules::{Action, Choice, Evaluations, Evaluator, Game, NotExact, Player, Rng, Symmetry, game::legal_actions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::choose::{greedy_choice, sampled_choices, softmax};
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
    /// What the network says of the actions of the position that it was shown last; illegal ones too.
    pub outputs: Vec<f32>,
    view: View,
    canonical: bool,
    ones: Vec<usize>,
    gradient: Vec<f32>,
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
            outputs: vec![0.0; game.actions()],
            view: match inputs {
                Inputs::First => View::Absolute,
                Inputs::Own => View::Relative,
            },
            canonical,
            ones: Vec::with_capacity(game.cells()),
            gradient: vec![0.0; game.actions()],
        }
    }

    /// Shows the position to the network and fills `outputs`; returns the symmetry through which it was shown.
    pub fn look(&mut self, position: &G::Position) -> Symmetry {
        let PolicyNetwork { game, net, view, ones, .. } = self;
        let symmetry = if self.canonical { game.orientation(position) } else { Symmetry::IDENTITY };
        let shown = game.transform(symmetry, position);
        let to_move = game.to_move(position);
        ones.clear();
        game.for_each_stone(&shown, |cell, owner| ones.push(2 * cell + view.plane(owner, to_move)));
        let outputs = net.forward(ones.iter().copied());
        if symmetry == Symmetry::IDENTITY {
            self.outputs.copy_from_slice(outputs);
        } else {
            for action in 0..game.actions() {
                self.outputs[action] = outputs[usize::from(game.transform_action(symmetry, action as Action))];
            }
        }
        symmetry
    }

    /// One step of gradient descent at the position that [`PolicyNetwork::look`] was shown last, through `symmetry`, as
    /// it returned it; `gradient` is dL/d(outputs).
    pub fn descend(&mut self, symmetry: Symmetry, gradient: &[f32], rate: f32) {
        if symmetry == Symmetry::IDENTITY {
            return self.net.descend(gradient, rate);
        }
        for (action, &g) in gradient.iter().enumerate() {
            self.gradient[usize::from(self.game.transform_action(symmetry, action as Action))] = g;
        }
        self.net.descend(&self.gradient, rate);
    }

    /// The outputs of these actions.
    pub fn of(&self, actions: &[Action], out: &mut Vec<f32>) {
        out.clear();
        out.extend(actions.iter().map(|&action| self.outputs[usize::from(action)]));
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
        self.policy.look(position);
        let mut probabilities = self.policy.outputs.clone();
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
