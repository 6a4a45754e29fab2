//! Networks that give a policy and a value, in batches: their settings, what they see, how they learn, and the player
//! that follows the policy.

use std::sync::Arc;

use net::file::Tensor;
use net::loss::softmax;
use net::{
    Actions, Board, BoardInference, BoardNet, BoardSpec, DenseInference, DenseNet, DenseSpec, NetError, Optimiser,
    Outputs, Rule, Workers,
};
use rules::{Action, Choice, Evaluations, Evaluator, Game, NotExact, Player, Rng, Symmetry, game::legal_actions};
use schemars::JsonSchema;
use search::Averaged;
use serde::{Deserialize, Serialize};

use crate::kit::choose::{greedy_choice, sampled_choices};
use crate::learner::{Agent, ConfigError, Opinion, RestoreError, require};

/// A network with a policy and a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// `separate`: dense layers, one network for the policy and one for the value; `shared`: dense layers, one network
    /// with both; `residual`: convolutions, one network with both.
    pub kind: Kind,
    /// Units of each hidden layer, 1 to 8 layers of 1 to 4,096; of a residual network the channels of each block, all
    /// equal and a multiple of 16.
    pub hidden: Vec<usize>,
    /// What it sees: `signed`, one number a cell, +1 own, -1 the opponent's stone; `planes`, two numbers a cell, 0 or 1
    /// (and in a residual network a third that is 1 on the board, so that its edge can be seen).
    pub inputs: Inputs,
    /// How the board is turned and mirrored before it is shown: `as_is`; `canonical`, into one orientation for all
    /// symmetric positions; `random`, anew for each position that is learned from, and in play averaged over all of them.
    pub orientation: Orientation,
}

/// What the layers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "told at the field of `Network`")]
pub enum Kind {
    Separate,
    Shared,
    Residual,
}

/// How a stone is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "told at the field of `Network`")]
pub enum Inputs {
    Signed,
    Planes,
}

/// How the board is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "told at the field of `Network`")]
pub enum Orientation {
    AsIs,
    Canonical,
    Random,
}

impl Network {
    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// Names the first impossible field.
    pub fn check(&self) -> Result<(), ConfigError> {
        let shown = format!("{:?}", self.hidden);
        let fits = |n: &usize| match self.kind {
            Kind::Residual => *n == self.hidden[0] && n.is_multiple_of(16) && (16..=1_024).contains(n),
            Kind::Separate | Kind::Shared => (1..=4_096).contains(n),
        };
        let range = match self.kind {
            Kind::Residual => "the channels of 1 to 8 blocks, all equal, a multiple of 16 up to 1024, such as [64, 64]",
            Kind::Separate | Kind::Shared => "1 to 8 layers of 1 to 4096 units, such as [256, 128]",
        };
        let sizes = (1..=8).contains(&self.hidden.len()) && self.hidden.iter().all(fits);
        require(sizes, "network.hidden", &shown, range)?;
        let seen = self.kind != Kind::Residual || self.inputs == Inputs::Planes;
        require(seen, "network.inputs", &"signed", "planes in a residual network")
    }

    /// Numbers that describe a position.
    fn inputs_of<G: Game>(&self, game: &G) -> usize {
        game.cells()
            * match (self.kind, self.inputs) {
                (Kind::Residual, _) => 3,
                (_, Inputs::Planes) => 2,
                (_, Inputs::Signed) => 1,
            }
    }

    /// The symmetry through which a position is shown while it is learned from.
    pub fn orient<G: Game>(&self, game: &G, position: &G::Position, rng: &mut Rng) -> Symmetry {
        match self.orientation {
            Orientation::Random => game.symmetries()[rng.below(game.symmetries().len())],
            Orientation::AsIs | Orientation::Canonical => self.orient_in_play(game, position),
        }
    }

    /// The symmetry through which a position is shown when the agent plays.
    pub fn orient_in_play<G: Game>(&self, game: &G, position: &G::Position) -> Symmetry {
        match self.orientation {
            Orientation::Canonical => game.orientation(position),
            Orientation::AsIs | Orientation::Random => Symmetry::IDENTITY,
        }
    }

    /// Appends the numbers of a position as `symmetry` shows it.
    pub fn write<G: Game>(&self, game: &G, position: &G::Position, symmetry: Symmetry, rows: &mut Vec<f32>) {
        let (cells, begin) = (game.cells(), rows.len());
        let (columns, lines, mover) = (game.columns(), game.rows(), game.to_move(position));
        rows.resize(begin + self.inputs_of(game), 0.0);
        let row = &mut rows[begin..];
        game.for_each_stone(position, |cell, owner| {
            // Any other symmetry needs divisions, which are most of the work here.
            let cell = if symmetry == Symmetry::IDENTITY { cell } else { symmetry.cell(columns, lines, cell) };
            match (self.inputs, owner == mover) {
                (Inputs::Signed, own) => row[cell] = if own { 1.0 } else { -1.0 },
                (Inputs::Planes, own) => row[cell + if own { 0 } else { cells }] = 1.0,
            }
        });
        if self.kind == Kind::Residual {
            row[2 * cells..].fill(1.0);
        }
    }
}

/// The legal actions of a position, and where `symmetry` shows them to the network.
pub fn shown_legal<G: Game>(
    game: &G,
    position: &G::Position,
    symmetry: Symmetry,
    legal: &mut Vec<Action>,
    shown: &mut Vec<Action>,
) {
    legal.clear();
    game.legal(position, legal);
    shown.clear();
    if symmetry == Symmetry::IDENTITY {
        shown.extend_from_slice(legal);
    } else {
        shown.extend(legal.iter().map(|&action| game.transform_action(symmetry, action)));
    }
}

#[derive(Debug)]
enum Nets {
    Separate(Box<[DenseNet; 2]>),
    Shared(Box<DenseNet>),
    Residual(Box<BoardNet>),
}

/// A network that learns, with its optimisers.
#[derive(Debug)]
pub struct ActorCritic {
    config: Network,
    nets: Nets,
    /// One for each network.
    optimisers: Vec<Optimiser>,
    /// What the last [`ActorCritic::forward`] said, with logits for illegal actions too.
    pub outputs: Outputs,
}

const PARTS: [&str; 2] = ["policy.", "value."];

impl ActorCritic {
    /// A network with random weights that learns by Adam; `norm` is the longest gradient of a step, 0 for any length.
    ///
    /// # Errors
    /// As [`Network::check`].
    pub fn new<G: Game>(game: &G, config: &Network, norm: f32, rng: &mut Rng) -> Result<Self, ConfigError> {
        config.check()?;
        let mut uniform = || rng.unit();
        let mut dense = |actions| {
            let spec =
                DenseSpec { inputs: config.inputs_of(game), hidden: config.hidden.clone(), actions, encoding: 1 };
            DenseNet::new(spec, &mut uniform).expect("the config was checked")
        };
        let nets = match config.kind {
            Kind::Separate => Nets::Separate(Box::new([dense(game.actions()), dense(1)])),
            Kind::Shared => Nets::Shared(Box::new(dense(game.actions()))),
            Kind::Residual => {
                let actions = if game.actions() == game.cells() { Actions::Points } else { Actions::Columns };
                // A batch's moments would make the policy that learns another than the one that played.
                let (channels, blocks) = (config.hidden[0], config.hidden.len());
                let spec = BoardSpec { planes: 3, channels, blocks, norm: false, actions, encoding: 1 };
                Nets::Residual(Box::new(BoardNet::new(spec, &mut uniform).expect("the config was checked")))
            }
        };
        let optimiser = || Optimiser::new(Rule::ADAM, 0.0, (norm > 0.0).then_some(norm));
        let optimisers = (0..if config.kind == Kind::Separate { 2 } else { 1 }).map(|_| optimiser()).collect();
        Ok(ActorCritic { config: config.clone(), nets, optimisers, outputs: Outputs::default() })
    }

    /// Fills [`ActorCritic::outputs`] for rows that [`Network::write`] made of positions of `game`, which in a residual
    /// network may have another board than the one it was made for.
    ///
    /// # Errors
    /// If a number is not finite.
    pub fn forward<G: Game>(&mut self, game: &G, rows: &[f32], workers: &Workers) -> Result<(), NetError> {
        let board = board_of(game);
        let outputs = &mut self.outputs;
        match &mut self.nets {
            Nets::Separate(nets) => {
                let [policy, value] = &mut **nets;
                let (policy, value) = workers.both(|| policy.forward(rows, workers), || value.forward(rows, workers));
                outputs.policy.clone_from(&policy?.policy);
                outputs.value.clone_from(&value?.value);
            }
            Nets::Shared(net) => outputs.clone_from(net.forward(rows, workers)?),
            Nets::Residual(net) => outputs.clone_from(net.forward(board, rows, workers)?),
        }
        net::finite("the policy's outputs", &outputs.policy)?;
        net::finite("the value's outputs", &outputs.value)
    }

    /// A step down the gradient of a loss, `d` being its gradient by the outputs of the last forward pass.
    ///
    /// # Errors
    /// If a number is not finite.
    pub fn descend(&mut self, d: &Outputs, rate: f32, workers: &Workers) -> Result<(), NetError> {
        match &mut self.nets {
            Nets::Separate(nets) => {
                let ([policy, value], positions) = (&mut **nets, d.value.len());
                let [for_policy, for_value] = &mut self.optimisers[..] else { unreachable!("one for each network") };
                let step = |net: &mut DenseNet, optimiser: &mut Optimiser, d: &Outputs| -> Result<(), NetError> {
                    net.backward(d, workers)?;
                    net.step(optimiser, rate);
                    Ok(())
                };
                let of_policy = Outputs { policy: d.policy.clone(), value: vec![0.0; positions] };
                let of_value = Outputs { policy: vec![0.0; positions], value: d.value.clone() };
                let (policy, value) =
                    workers.both(|| step(policy, for_policy, &of_policy), || step(value, for_value, &of_value));
                policy.and(value)?;
            }
            Nets::Shared(net) => {
                net.backward(d, workers)?;
                net.step(&mut self.optimisers[0], rate);
            }
            Nets::Residual(net) => {
                net.backward(d, workers)?;
                net.step(&mut self.optimisers[0], rate);
            }
        }
        Ok(())
    }

    /// The weights, as [`ActorCritic::set_tensors`] takes them.
    pub fn tensors(&self) -> Vec<Tensor> {
        match &self.nets {
            Nets::Separate(nets) => {
                nets.iter().zip(PARTS).flat_map(|(net, part)| prefixed(part, net.tensors())).collect()
            }
            Nets::Shared(net) => prefixed("net.", net.tensors()),
            Nets::Residual(net) => prefixed("net.", net.tensors()),
        }
    }

    /// Takes the weights.
    ///
    /// # Errors
    /// If they are of another network.
    pub fn set_tensors(&mut self, tensors: &[Tensor]) -> Result<(), RestoreError> {
        match &mut self.nets {
            Nets::Separate(nets) => {
                let mut parts = nets.iter_mut().zip(PARTS);
                parts.try_for_each(|(net, part)| net.load(&without(part, tensors)))?;
            }
            Nets::Shared(net) => net.load(&without("net.", tensors))?,
            Nets::Residual(net) => net.load(&without("net.", tensors))?,
        }
        Ok(())
    }

    /// What the optimisers remember.
    pub fn optimiser_tensors(&self) -> Vec<Tensor> {
        let parts = self.optimisers.iter().enumerate();
        parts.flat_map(|(i, optimiser)| prefixed(&format!("{i}."), optimiser.state())).collect()
    }

    /// Takes what [`ActorCritic::optimiser_tensors`] gave.
    ///
    /// # Errors
    /// If it is of another network.
    pub fn set_optimiser_tensors(&mut self, tensors: &[Tensor]) -> Result<(), RestoreError> {
        let lengths = match &self.nets {
            Nets::Separate(nets) => nets.iter().map(DenseNet::weights_len).collect(),
            Nets::Shared(net) => vec![net.weights_len()],
            Nets::Residual(net) => vec![net.weights_len()],
        };
        for (i, (optimiser, length)) in self.optimisers.iter_mut().zip(lengths).enumerate() {
            optimiser.restore(length, &without(&format!("{i}."), tensors))?;
        }
        Ok(())
    }

    /// The network as it now is, for positions of `game`.
    pub fn reader<G: Game>(&self, game: &G) -> Arc<Reader<G>> {
        let fixed = match &self.nets {
            Nets::Separate(nets) => Fixed::Separate([nets[0].inference(), nets[1].inference()]),
            Nets::Shared(net) => Fixed::Shared(net.inference()),
            Nets::Residual(net) => {
                Fixed::Residual(Box::new(net.inference(board_of(game), 16).expect("a board has cells")))
            }
        };
        Arc::new(Reader { game: game.clone(), config: self.config.clone(), fixed })
    }
}

fn board_of<G: Game>(game: &G) -> Board {
    Board { height: game.rows(), width: game.columns() }
}

/// The tensors under longer names.
pub(crate) fn prefixed(prefix: &str, tensors: Vec<Tensor>) -> Vec<Tensor> {
    tensors.into_iter().map(|tensor| Tensor { name: format!("{prefix}{}", tensor.name), ..tensor }).collect()
}

/// The tensors whose names begin so, without that beginning.
pub(crate) fn without(prefix: &str, tensors: &[Tensor]) -> Vec<Tensor> {
    let named = tensors.iter().filter_map(|tensor| Some((tensor.name.strip_prefix(prefix)?, tensor)));
    named.map(|(name, tensor)| Tensor { name: name.to_owned(), ..tensor.clone() }).collect()
}

#[derive(Debug)]
enum Fixed {
    Separate([DenseInference; 2]),
    Shared(DenseInference),
    Residual(Box<BoardInference>),
}

/// A network whose weights no longer change, to be shared between threads.
#[derive(Debug)]
pub struct Reader<G: Game> {
    /// The game whose positions it is shown.
    pub game: G,
    /// What it is.
    pub config: Network,
    fixed: Fixed,
}

const WHOLE: &str = "rows of stones are whole and finite";

impl<G: Game> Reader<G> {
    /// Logits and values for rows that [`Network::write`] made; numbers that are not finite are passed on.
    pub fn run(&self, rows: &[f32], outputs: &mut Outputs) {
        self.run_policy(rows, outputs);
        if let Fixed::Separate([_, value]) = &self.fixed {
            let mut values = Outputs::default();
            value.run(rows, &Workers::one(), &mut values).expect(WHOLE);
            outputs.value = values.value;
        }
    }

    /// As [`Reader::run`], but the values are of no use.
    pub fn run_policy(&self, rows: &[f32], outputs: &mut Outputs) {
        let workers = Workers::one();
        let done = match &self.fixed {
            Fixed::Separate([net, _]) | Fixed::Shared(net) => net.run(rows, &workers, outputs),
            Fixed::Residual(net) => net.run(rows, &workers, outputs),
        };
        done.expect(WHOLE);
    }
}

/// What has been learned: plays the likeliest legal move, or samples from the policy; without search.
#[derive(Clone, Debug)]
pub struct ActorCriticPlayer<G: Game> {
    name: &'static str,
    reader: Arc<Reader<G>>,
    sampled: bool,
}

impl<G: Game> ActorCriticPlayer<G> {
    /// The greedy player of this network.
    pub fn new(name: &'static str, reader: Arc<Reader<G>>) -> Self {
        ActorCriticPlayer { name, reader, sampled: false }
    }

    /// For each position the logits by the game's own actions, illegal ones too, and its value.
    fn outputs(&self, positions: &[G::Position]) -> Outputs {
        let Reader { game, config, .. } = &*self.reader;
        let symmetries: Vec<_> = positions.iter().map(|position| config.orient_in_play(game, position)).collect();
        let mut rows = Vec::new();
        positions.iter().zip(&symmetries).for_each(|(position, &s)| config.write(game, position, s, &mut rows));
        let (mut shown, actions) = (Outputs::default(), game.actions());
        self.reader.run(&rows, &mut shown);
        let policy = symmetries.iter().enumerate().flat_map(|(i, &symmetry)| {
            let row = &shown.policy[i * actions..][..actions];
            (0..actions).map(move |action| row[usize::from(game.transform_action(symmetry, action as Action))])
        });
        Outputs { policy: policy.collect(), value: shown.value.clone() }
    }

    /// The probability of each action of the game. A network that learned through random symmetries is asked through all of
    /// them, which a game has time for, and learning and tree search have not.
    fn policy(&mut self, game: &G, position: &G::Position) -> Vec<f32> {
        let mut found = Evaluations::default();
        match self.reader.config.orientation {
            Orientation::Random => Averaged::new(self.clone()).evaluate(game, &[*position], &mut found),
            Orientation::AsIs | Orientation::Canonical => self.evaluate(game, &[*position], &mut found),
        }
        found.policies
    }
}

impl<G: Game> Player<G> for ActorCriticPlayer<G> {
    fn name(&self) -> String {
        if self.sampled { format!("{} (sampled)", self.name) } else { self.name.to_owned() }
    }

    fn distribution(&mut self, game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let legal = legal_actions(game, position);
        let policy = self.policy(game, position);
        let probabilities: Vec<f32> = legal.iter().map(|&action| policy[usize::from(action)]).collect();
        if self.sampled {
            sampled_choices(&legal, &probabilities, choices);
        } else {
            greedy_choice(&legal, &probabilities, choices);
        }
        Ok(())
    }
}

impl<G: Game> Evaluator<G> for ActorCriticPlayer<G> {
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        let (outputs, actions) = (self.outputs(positions), game.actions());
        out.policies = vec![0.0; positions.len() * actions];
        let mut probabilities = Vec::new();
        let rows = out.policies.chunks_exact_mut(actions).zip(outputs.policy.chunks_exact(actions));
        for (position, (row, logits)) in positions.iter().zip(rows) {
            let legal = legal_actions(game, position);
            softmax(logits, &legal, &mut probabilities);
            legal.iter().zip(&probabilities).for_each(|(&action, &p)| row[usize::from(action)] = p);
        }
        out.values = outputs.value;
    }
}

impl<G: Game> Agent<G> for ActorCriticPlayer<G> {
    fn opinion(&mut self, game: &G, position: &G::Position) -> Opinion {
        // Through the views of the board through which it plays.
        let views = match self.reader.config.orientation {
            Orientation::Random => game.symmetries(),
            Orientation::AsIs | Orientation::Canonical => &[Symmetry::IDENTITY],
        };
        let images: Vec<_> = views.iter().map(|&view| game.transform(view, position)).collect();
        let logits = self.outputs(&images).policy;
        let all: Vec<Action> = (0..game.actions() as Action).collect();
        let (mut probabilities, mut of_image) = (vec![0.0; all.len()], Vec::new());
        for (&view, logits) in views.iter().zip(logits.chunks_exact(all.len())) {
            softmax(logits, &all, &mut of_image);
            for (&action, p) in all.iter().zip(&mut probabilities) {
                *p += of_image[usize::from(game.transform_action(view, action))] / views.len() as f32;
            }
        }
        Opinion::Probabilities(probabilities)
    }

    fn stochastic(&self) -> Option<Box<dyn Player<G>>> {
        Some(Box::new(ActorCriticPlayer { sampled: true, ..self.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::kit::self_play::self_play;
    use rules::connect4::Connect4;
    use rules::grid::{Grid, Rule as GridRule};

    fn network(kind: Kind, inputs: Inputs) -> Network {
        Network { kind, hidden: vec![16], inputs, orientation: Orientation::Random }
    }

    /// It moves alike in all images of a position: turned with the board, it is the same policy.
    #[test]
    fn a_policy_that_learned_through_random_symmetries_is_symmetric_in_play() {
        let game: Grid = "gomoku:7".parse().unwrap();
        let config = Network { hidden: vec![16], ..network(Kind::Residual, Inputs::Planes) };
        let net = ActorCritic::new(&game, &config, 0.0, &mut Rng::new(3, 0)).unwrap();
        let mut player = ActorCriticPlayer::new("test", net.reader(&game));
        let position = rules::game::replay(&game, &[10, 24, 3, 40]).unwrap();
        let policy = player.policy(&game, &position);
        assert!((policy.iter().sum::<f32>() - 1.0).abs() < 1e-5 && policy[10] == 0.0);
        // The opinion tells of illegal actions too.
        let Opinion::Probabilities(all) = player.opinion(&game, &position) else { panic!("it has a policy") };
        assert!((all.iter().sum::<f32>() - 1.0).abs() < 1e-5 && all[10] > 0.0);
        for &symmetry in game.symmetries() {
            let turned = player.policy(&game, &game.transform(symmetry, &position));
            let Opinion::Probabilities(opinion) = player.opinion(&game, &game.transform(symmetry, &position)) else {
                panic!("it has a policy")
            };
            for (action, p) in policy.iter().enumerate() {
                let image = usize::from(game.transform_action(symmetry, action as Action));
                assert!((p - turned[image]).abs() < 1e-6, "{symmetry:?}: {p} and {}", turned[image]);
                assert!(
                    (all[action] - opinion[image]).abs() < 1e-6,
                    "{symmetry:?}: {} and {}",
                    all[action],
                    opinion[image]
                );
            }
        }
        // One image alone is seen otherwise.
        let mut one = Evaluations::default();
        player.evaluate(&game, &[position], &mut one);
        assert!(one.policies.iter().zip(&policy).any(|(p, q)| (p - q).abs() > 1e-5));
    }

    /// Of a thousand positions of random games: all numbers turn together, the legal actions with them, and two positions
    /// look alike only if they are the same.
    fn assert_shown_whole<G: Game>(game: &G, network: &Network) {
        let (mut rng, mut seen) = (Rng::new(7, 0), HashMap::new());
        let mut position = game.start();
        for _ in 0..1_000 {
            if game.outcome(&position).is_over() {
                position = game.start();
            }
            let shown = |position: &G::Position, symmetry| {
                let mut row = Vec::new();
                network.write(game, position, symmetry, &mut row);
                row
            };
            let (mut legal, mut turned_legal) = (Vec::new(), Vec::new());
            for &symmetry in game.symmetries() {
                let turned = game.transform(symmetry, &position);
                assert_eq!(shown(&position, symmetry), shown(&turned, Symmetry::IDENTITY));
                shown_legal(game, &position, symmetry, &mut legal, &mut turned_legal);
                turned_legal.sort_unstable();
                assert_eq!(turned_legal, legal_actions(game, &turned));
            }
            let bits: Vec<u32> = shown(&position, Symmetry::IDENTITY).into_iter().map(f32::to_bits).collect();
            assert_eq!(*seen.entry(bits).or_insert(position), position);
            let action = game.random_legal(&position, &mut rng);
            game.play(&mut position, action);
        }
        assert!(seen.len() > 500, "{}", seen.len());
    }

    /// Rows D12 and D15 of the public reports: a plane that was not turned with the others, and an input without the board.
    #[test]
    fn a_position_is_shown_whole_and_turned_whole() {
        let gomoku = Grid::gomoku(6, GridRule::Freestyle).unwrap();
        for (kind, inputs) in
            [(Kind::Shared, Inputs::Signed), (Kind::Shared, Inputs::Planes), (Kind::Residual, Inputs::Planes)]
        {
            assert_shown_whole(&gomoku, &network(kind, inputs));
            assert_shown_whole(&Connect4, &network(kind, inputs));
        }
    }

    #[test]
    fn separate_networks_learn_and_play_the_same_on_any_number_of_threads() {
        let gomoku = Grid::gomoku(6, GridRule::Freestyle).unwrap();
        let learned = [1, 2, 3].map(|threads| {
            let (network, workers) = (network(Kind::Separate, Inputs::Signed), Workers::new(threads).unwrap());
            let mut net = ActorCritic::new(&gomoku, &network, 0.5, &mut Rng::new(3, 0)).unwrap();
            for round in 0..3 {
                let played = self_play(&net.reader(&gomoku), 2, (7, 10 * round..10 * round + 10), &workers);
                let (mut rows, mut outputs) = (Vec::new(), Outputs::default());
                let steps = played.iter().flat_map(|game| &game.steps);
                steps.for_each(|step| network.write(&gomoku, &step.position, step.symmetry, &mut rows));
                net.forward(&gomoku, &rows, &workers).unwrap();
                net.reader(&gomoku).run(&rows, &mut outputs);
                assert_eq!(outputs, net.outputs);
                net.reader(&gomoku).run_policy(&rows, &mut outputs);
                assert_eq!(outputs.policy, net.outputs.policy);
                net.descend(&outputs, 0.01, &workers).unwrap();
            }
            (net.tensors(), net.optimiser_tensors())
        });
        assert!(learned[0] == learned[1] && learned[0] == learned[2]);
    }

    /// Row D11 of the public reports (alpha-zero-general, issue 69): the board was mirrored and the policy not.
    #[test]
    fn a_mirror_takes_the_first_column_to_the_last() {
        let (mut legal, mut shown) = (Vec::new(), Vec::new());
        shown_legal(&Connect4, &Connect4.start(), Symmetry::MIRROR[1], &mut legal, &mut shown);
        assert_eq!((legal[0], shown[0], shown[6]), (0, 6, 0));
    }
}
