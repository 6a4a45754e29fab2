//! Games made by Monte Carlo tree search that the policy guides (PUCT; Silver et al. 2017, "Mastering the game of Go without
//! human knowledge"). They are learned from towards the visits, never through the ratio: no policy sampled their moves.

use std::ops::Range;

use net::{Outputs, Workers};
use rules::{Game, Rng, Wdl};
use schemars::JsonSchema;
use search::mcts::PUCT_EXPLORATION;
use search::tree::Gathered;
use search::{Rule, Tree};
use serde::{Deserialize, Serialize};

use crate::kit::actor_critic::{Reader, shown_legal};
use crate::kit::choose::sample;
use crate::kit::self_play::{Played, Step, groups, in_groups, opening};
use crate::learner::{ConfigError, require};

/// Games made by Monte Carlo tree search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mcts {
    /// The share of an iteration's games that the search makes for both seats, in [0, 1]; 0 for none. They are learned from
    /// by the cross-entropy towards its visits, and the value towards the result.
    pub share: f32,
    /// Simulations for each move, 2 to 1,000: each of the 64 trees that a thread has at once keeps all its positions.
    pub visits: u32,
}

impl Default for Mcts {
    /// None.
    fn default() -> Self {
        Mcts { share: 0.0, visits: 32 }
    }
}

impl Mcts {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        require((0.0..=1.0).contains(&self.share), "mcts.share", &self.share, "within [0, 1]")?;
        require((2..=1_000).contains(&self.visits), "mcts.visits", &self.visits, "from 2 to 1000")
    }
}

/// A game, and for each of its moves the share of each legal action in the search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made<P> {
    pub(super) game: Played<P>,
    pub(super) shares: Vec<Vec<f32>>,
}

/// Makes games with these numbers on all workers, with this many simulations a move.
pub(super) fn make<G: Game>(
    reader: &Reader<G>,
    visits: u32,
    openings: usize,
    (seed, numbers): (u64, Range<u64>),
    workers: &Workers,
) -> Vec<Made<G::Position>> {
    in_groups(groups(numbers, workers), workers, |numbers| {
        make_group(reader, visits, openings, (seed, numbers.as_slice()))
    })
}

/// Makes games in lock-step: each has a tree of its own, and one evaluation judges a leaf of every tree.
fn make_group<G: Game>(
    reader: &Reader<G>,
    visits: u32,
    openings: usize,
    (seed, numbers): (u64, &[u64]),
) -> Vec<Made<G::Position>> {
    let game = &reader.game;
    let begin = |&number: &u64| {
        let mut rng = Rng::new(seed, number);
        let position = opening(game, openings, &mut rng);
        let mut tree = Tree::new(game, Rule::Puct { exploration: PUCT_EXPLORATION });
        tree.reset(game, &position, rng.clone());
        (rng, position, tree, Vec::new(), Vec::new())
    };
    let mut tables: Vec<_> = numbers.iter().map(begin).collect();
    let (mut rows, mut leaves, mut outputs) = (Vec::new(), Vec::new(), Outputs::default());
    let (mut legal, mut shown, mut p, mut policy) = (Vec::new(), Vec::new(), Vec::new(), vec![0.0; game.actions()]);
    loop {
        rows.clear();
        for (i, (rng, position, tree, steps, shares)) in tables.iter_mut().enumerate() {
            while !game.outcome(position).is_over() {
                if tree.visits() >= visits || tree.proof().is_some() {
                    let (actions, searched) = shares_of(tree);
                    let action = actions[sample(&searched, rng)];
                    let (seat, symmetry) = (game.to_move(position), reader.config.orient(game, position, rng));
                    steps.push(Step { position: *position, seat, symmetry, action });
                    legal.clear();
                    game.legal(position, &mut legal);
                    let share = |action| actions.iter().position(|a| a == action).map_or(0.0, |at| searched[at]);
                    shares.push(legal.iter().map(share).collect::<Vec<f32>>());
                    game.play(position, action);
                    tree.reset(game, position, rng.clone());
                } else if let Gathered::Leaf(leaf) = tree.gather(game) {
                    let symmetry = reader.config.orient(game, &leaf.position, rng);
                    reader.config.write(game, &leaf.position, symmetry, &mut rows);
                    leaves.push((i, symmetry, leaf));
                    break;
                }
            }
        }
        if leaves.is_empty() {
            break;
        }
        reader.run(&rows, &mut outputs);
        let judged = outputs.policy.chunks_exact(game.actions()).zip(&outputs.value);
        for ((i, symmetry, leaf), (logits, &value)) in leaves.drain(..).zip(judged) {
            shown_legal(game, &leaf.position, symmetry, &mut legal, &mut shown);
            net::loss::softmax(logits, &shown, &mut p);
            legal.iter().zip(&p).for_each(|(&action, &p)| policy[usize::from(action)] = p);
            tables[i].2.apply(&leaf, &policy, value);
        }
    }
    let made = |(_, position, _, steps, shares)| Made {
        game: Played { steps, outcome: game.outcome(&position), seat: None },
        shares,
    };
    tables.into_iter().map(made).collect()
}

/// The root's actions with their shares, which add up to 1: of the visits, without those of moves that are proved lost; where
/// the best is a proved win, or all are lost, of those that are proved like it, all the same.
fn shares_of<G: Game>(tree: &Tree<G>) -> (Vec<rules::Action>, Vec<f32>) {
    let (actions, best) = (tree.actions(), tree.best().expect("the game is not over"));
    // A proved draw settles nothing while another move may win.
    let proof = actions.iter().find(|stats| stats.action == best).and_then(|stats| stats.proof);
    let proof = proof.filter(|proof| proof.wdl != Wdl::Draw);
    let weights = actions.iter().map(|stats| match (proof, stats.proof) {
        (Some(_), _) => f32::from(u8::from(stats.proof == proof)),
        (None, Some(lost)) if lost.wdl == Wdl::Loss => 0.0,
        (None, _) => stats.visits as f32,
    });
    let mut weights: Vec<f32> = weights.collect();
    if weights.iter().all(|&weight| weight == 0.0) {
        // Only lost moves were looked at.
        weights
            .iter_mut()
            .zip(&actions)
            .for_each(|(weight, stats)| *weight = f32::from(u8::from(stats.action == best)));
    }
    let total: f32 = weights.iter().sum();
    (actions.iter().map(|stats| stats.action).collect(), weights.iter().map(|weight| weight / total).collect())
}

#[cfg(test)]
mod tests {
    use rules::game::{legal_actions, replay};
    use rules::tictactoe::TicTacToe;

    use super::*;
    use crate::kit::actor_critic::{ActorCritic, Inputs, Kind, Network, Orientation};

    fn reader(orientation: Orientation) -> std::sync::Arc<Reader<TicTacToe>> {
        let network = Network { kind: Kind::Shared, hidden: vec![16], inputs: Inputs::Planes, orientation };
        ActorCritic::new(&TicTacToe, &network, 0.0, &mut Rng::new(1, 0)).unwrap().reader(&TicTacToe)
    }

    /// The shares after a search of this position with an evaluator that knows nothing.
    fn searched(moves: &[rules::Action], visits: u32) -> (Vec<rules::Action>, Vec<f32>) {
        let mut tree = Tree::new(&TicTacToe, Rule::Puct { exploration: PUCT_EXPLORATION });
        tree.reset(&TicTacToe, &replay(&TicTacToe, moves).unwrap(), Rng::new(1, 0));
        while tree.visits() < visits && tree.proof().is_none() {
            if let Gathered::Leaf(leaf) = tree.gather(&TicTacToe) {
                tree.apply(&leaf, &[], 0.0);
            }
        }
        shares_of(&tree)
    }

    #[test]
    fn a_win_takes_all_and_a_lost_move_nothing() {
        // X on 0 and 1, O on 3 and 4, X to move: 2 wins.
        assert_eq!(searched(&[0, 3, 1, 4], 100), (vec![2], vec![1.0]));
        // O to move must stop X on 2: every other move is proved lost as soon as it is looked at.
        let (actions, shares) = searched(&[0, 4, 1], 60);
        assert_eq!(actions, [2, 3, 5, 6, 7, 8]);
        assert_eq!(shares, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        // With two simulations a single move has been looked at; be it lost, another is made.
        let (actions, shares) = searched(&[0, 4, 1], 2);
        assert!(actions.len() == 6 && shares.iter().filter(|share| **share == 1.0).count() == 1);
        // O to move with two cells left draws on both: neither is better than the other.
        let (_, shares) = searched(&[2, 5, 8, 0, 1, 4, 3], 60);
        assert!(shares.len() == 2 && shares.iter().all(|share| *share > 0.0), "{shares:?}");
        // Nothing is proved: shares of the visits below the root, of which there are two.
        let (_, shares) = searched(&[], 3);
        assert_eq!(shares.iter().filter(|share| **share == 0.5).count(), 2);
        assert_eq!(shares.iter().sum::<f32>(), 1.0);
    }

    #[test]
    fn the_games_are_whole_legal_and_the_same_on_any_number_of_threads() {
        for orientation in [Orientation::AsIs, Orientation::Random] {
            let reader = reader(orientation);
            let make = |threads| make(&reader, 8, 4, (7, 0..100), &Workers::new(threads).unwrap());
            let made = make(1);
            assert!(made == make(3) && made.len() == 100);
            for Made { game, shares } in &made {
                assert!(game.outcome.is_over() && game.seat.is_none() && game.steps.len() == shares.len());
                for (step, shares) in game.steps.iter().zip(shares) {
                    let legal = legal_actions(&TicTacToe, &step.position);
                    let chosen = legal.iter().position(|&action| action == step.action).unwrap();
                    assert!(shares.len() == legal.len() && shares[chosen] > 0.0);
                    assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
                }
            }
        }
    }
}
