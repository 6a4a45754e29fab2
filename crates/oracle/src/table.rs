//! The exact value of every position of a game that is small enough to hold whole.
//!
//! Tic-tac-toe has 5,478 positions; the table of all of them takes a few milliseconds to make. Later questions
//! (is this move a mistake? can this player be beaten?) are sweeps over the table, without search.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rules::{Action, Choice, Game, NotExact, Outcome, Player, Wdl, game::legal_actions};

use crate::connect4::Stopped;
use crate::exact::{Exact, Verdict};

/// Every position that can be reached from the start, in order of plies, each with its exact value.
#[derive(Clone, Debug)]
pub struct Table<G: Game> {
    game: G,
    nodes: Vec<Node<G::Position>>,
    edges: Vec<Edge>,
    index: HashMap<G::Position, u32>,
}

/// A position of the table.
#[derive(Clone, Debug)]
pub struct Node<P> {
    /// The position.
    pub position: P,
    /// Stones on the board.
    pub ply: usize,
    /// Whether and how the game has ended here.
    pub outcome: Outcome,
    /// What the position is worth with best play of both.
    pub score: Score,
    edges: Range<u32>,
}

/// A legal move of a position of the table.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The move.
    pub action: Action,
    /// The index of the position it leads to, always greater than that of the position it leaves.
    pub child: usize,
    /// What the move is worth to the side that makes it.
    pub score: Score,
}

/// An exact value, seen by the side to move, ordered from worst to best: a win the sooner the better, a loss the
/// later the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Win, draw or loss.
    pub wdl: Wdl,
    /// Moves to the end, when the winner hurries and the loser resists; for a draw, any fixed number will do. `None` if
    /// only the result is known.
    pub plies: Option<usize>,
}

impl Score {
    /// The value of this score's position seen from the move that led to it.
    fn before_move(self) -> Score {
        Score { wdl: self.wdl.flip(), plies: self.plies.map(|plies| plies + 1) }
    }

    fn rank(self) -> (Wdl, isize) {
        let plies = self.plies.map_or(0, |plies| plies as isize);
        (self.wdl, if self.wdl == Wdl::Loss { plies } else { -plies })
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Score) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl<G: Game> Table<G> {
    /// Visits every position and values each from its children. Only for games whose positions fit in memory.
    pub fn new(game: &G) -> Table<G> {
        let mut table = Table { game: game.clone(), nodes: Vec::new(), edges: Vec::new(), index: HashMap::new() };
        table.add(game.start());
        // Breadth first, so that children always stand behind their parents and `nodes` is sorted by plies.
        let mut next = 0;
        while next < table.nodes.len() {
            let position = table.nodes[next].position;
            let first = table.edges.len() as u32;
            for action in legal_actions(game, &position) {
                let mut after = position;
                game.play(&mut after, action);
                let child = table.add(after);
                table.edges.push(Edge { action, child, score: UNKNOWN });
            }
            table.nodes[next].edges = first..table.edges.len() as u32;
            next += 1;
        }
        for i in (0..table.nodes.len()).rev() {
            table.value(i);
        }
        table
    }

    /// The index of a position, which is appended if it is new.
    fn add(&mut self, position: G::Position) -> usize {
        let (game, nodes) = (&self.game, &mut self.nodes);
        let index = self.index.entry(position).or_insert_with(|| {
            let outcome = game.outcome(&position);
            nodes.push(Node { position, ply: game.ply(&position), outcome, score: UNKNOWN, edges: 0..0 });
            nodes.len() as u32 - 1
        });
        *index as usize
    }

    /// Values a node whose children have been valued.
    fn value(&mut self, i: usize) {
        let (start, end) = (self.nodes[i].edges.start as usize, self.nodes[i].edges.end as usize);
        for edge in start..end {
            self.edges[edge].score = self.nodes[self.edges[edge].child].score.before_move();
        }
        let node = &mut self.nodes[i];
        node.score = match node.outcome.seen_by(self.game.to_move(&node.position)) {
            Some(wdl) => Score { wdl, plies: Some(0) },
            None => self.edges[start..end].iter().map(|e| e.score).max().expect("an ongoing game has moves"),
        };
    }

    /// The game.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// All positions, in order of plies; the first is the start.
    pub fn nodes(&self) -> &[Node<G::Position>] {
        &self.nodes
    }

    /// The legal moves of a position, in increasing order of actions.
    pub fn edges(&self, node: &Node<G::Position>) -> &[Edge] {
        &self.edges[node.edges.start as usize..node.edges.end as usize]
    }

    /// The entry of a position, if it can be reached from the start.
    pub fn find(&self, position: &G::Position) -> Option<&Node<G::Position>> {
        self.index.get(position).map(|&i| &self.nodes[i as usize])
    }
}

/// Stands in a node until it is valued.
const UNKNOWN: Score = Score { wdl: Wdl::Draw, plies: None };

/// Plays any of the moves that are best by the table: it wins as soon and loses as late as can be.
#[derive(Clone, Debug)]
pub struct Perfect<G: Game>(pub Arc<Table<G>>);

impl<G: Game> Player<G> for Perfect<G> {
    fn name(&self) -> String {
        "perfect".to_owned()
    }

    fn distribution(&mut self, _game: &G, position: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
        let node = self.0.find(position).ok_or_else(|| NotExact("the position cannot arise in play".to_owned()))?;
        let best = |edge: &&Edge| {
            edge.score.wdl == node.score.wdl && (node.score.wdl == Wdl::Draw || edge.score == node.score)
        };
        let best: Vec<Action> = self.0.edges(node).iter().filter(best).map(|edge| edge.action).collect();
        let probability = 1.0 / best.len() as f64;
        choices.extend(best.into_iter().map(|action| Choice { action, probability }));
        Ok(())
    }
}

impl<G: Game> Exact<G> for Perfect<G> {
    fn verdicts(&mut self, position: &G::Position) -> Option<Vec<Verdict>> {
        let edges = self.0.edges(self.0.find(position)?);
        Some(edges.iter().map(|&Edge { action, score, .. }| Verdict { action, score }).collect())
    }

    fn value(&mut self, position: &G::Position, _stop: &AtomicBool) -> Result<Wdl, Stopped> {
        Ok(self.0.find(position).expect("the position can arise in play").score.wdl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::replay;
    use rules::tictactoe::TicTacToe;
    use rules::tiny::Tiny;

    #[test]
    fn tic_tac_toe_has_the_published_numbers() {
        let table = Table::new(&TicTacToe);
        let ongoing: Vec<_> = table.nodes().iter().filter(|node| !node.outcome.is_over()).collect();
        let differ = ongoing.iter().filter(|node| {
            let edges = table.edges(node);
            edges.iter().any(|edge| edge.score.wdl != edges[0].score.wdl)
        });
        assert_eq!((table.nodes().len(), ongoing.len(), differ.count()), (5_478, 4_520, 3_191));
        let shapes: std::collections::HashSet<_> = ongoing.iter().map(|n| TicTacToe.canonical(&n.position)).collect();
        assert_eq!(shapes.len(), 627);
        assert_eq!(table.nodes()[0].score.wdl, Wdl::Draw);
    }

    #[test]
    fn a_tree_is_valued_as_by_hand() {
        // The first player avoids the move after which the second chooses a win for himself.
        let table = Table::new(&Tiny::new("((x o) (= x) (o (o o)))"));
        let root = &table.nodes()[0];
        let scores: Vec<_> = table.edges(root).iter().map(|edge| (edge.score.wdl, edge.score.plies)).collect();
        assert_eq!(scores, [(Wdl::Loss, Some(2)), (Wdl::Draw, Some(2)), (Wdl::Loss, Some(2))]);
        assert_eq!(root.score.wdl, Wdl::Draw);
    }

    #[test]
    fn a_sooner_win_and_a_later_loss_are_better() {
        let score = |wdl, plies| Score { wdl, plies: Some(plies) };
        let mut scores =
            [score(Wdl::Win, 3), score(Wdl::Loss, 4), score(Wdl::Win, 1), score(Wdl::Loss, 2), score(Wdl::Draw, 5)];
        scores.sort();
        let order = scores.map(|s| (s.wdl, s.plies.unwrap()));
        assert_eq!(order, [(Wdl::Loss, 2), (Wdl::Loss, 4), (Wdl::Draw, 5), (Wdl::Win, 3), (Wdl::Win, 1)]);
    }

    #[test]
    fn perfect_wins_at_once_and_varies_where_moves_are_equal() {
        let mut perfect = Perfect(Arc::new(Table::new(&TicTacToe)));
        let mut choices = Vec::new();
        let won = replay(&TicTacToe, &[0, 3, 1, 4]).unwrap();
        perfect.distribution(&TicTacToe, &won, &mut choices).unwrap();
        assert_eq!(choices, [Choice { action: 2, probability: 1.0 }]);
        choices.clear();
        perfect.distribution(&TicTacToe, &TicTacToe.start(), &mut choices).unwrap();
        assert_eq!(choices.len(), 9);
    }
}
