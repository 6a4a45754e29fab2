//! Games written as text, small enough that learning and search can be checked against a computation by hand.
//!
//! `(a (b c))` is a game tree: parentheses hold the moves of the side whose turn it is, `x` is a win of the first
//! player, `o` of the second, `=` a draw. On the board of such a game every node but the root is a cell, and the
//! stones are the moves that led to the present node.

use crate::game::{Action, Game, Refusal};
use crate::notation::{self, NotationError};
use crate::random::Rng;
use crate::symmetry::Symmetry;
use crate::value::{Outcome, Seat};

/// A game tree with at most 64 nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiny {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    parent: usize,
    depth: usize,
    outcome: Outcome,
    children: Vec<usize>,
}

/// The node that has been reached; 0 is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u8);

impl Tiny {
    /// Reads a tree.
    ///
    /// # Panics
    /// If the text is not a tree: these games are written by programmers, in tests.
    pub fn new(text: &str) -> Tiny {
        let mut nodes: Vec<Node> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for letter in text.chars().filter(|c| !c.is_whitespace()) {
            let outcome = match letter {
                ')' => {
                    let node = open.pop().expect("a ')' closes a '('");
                    assert!(!nodes[node].children.is_empty(), "a node that is not an end has moves");
                    continue;
                }
                '(' => Outcome::Ongoing,
                'x' => Outcome::Win(Seat::First),
                'o' => Outcome::Win(Seat::Second),
                '=' => Outcome::Draw,
                other => panic!("'{other}' in a tree: write ( ) x o ="),
            };
            let index = nodes.len();
            let parent = open.last().copied().unwrap_or(0);
            if index > 0 {
                assert!(!open.is_empty(), "one tree, not two");
                nodes[parent].children.push(index);
            }
            nodes.push(Node { parent, depth: open.len(), outcome, children: Vec::new() });
            if outcome == Outcome::Ongoing {
                open.push(index);
            }
        }
        assert!(open.is_empty() && nodes.len() > 1 && nodes.len() <= 64, "a closed tree of 2 to 64 nodes");
        Tiny { nodes }
    }

    fn node(&self, position: &Position) -> &Node {
        &self.nodes[usize::from(position.0)]
    }

    /// The nodes from the present one up to, and without, the root.
    fn path(&self, position: &Position) -> impl Iterator<Item = usize> + '_ {
        let start = usize::from(position.0);
        std::iter::successors(Some(start), |&node| Some(self.nodes[node].parent)).take_while(|&node| node != 0)
    }
}

impl Game for Tiny {
    type Position = Position;

    fn name(&self) -> String {
        format!("tiny:{}", self.nodes.len())
    }

    fn columns(&self) -> usize {
        self.nodes.len() - 1
    }

    fn rows(&self) -> usize {
        1
    }

    fn actions(&self) -> usize {
        self.nodes.iter().map(|node| node.children.len()).max().unwrap_or(0)
    }

    fn start(&self) -> Position {
        Position(0)
    }

    fn ply(&self, position: &Position) -> usize {
        self.node(position).depth
    }

    fn to_move(&self, position: &Position) -> Seat {
        Seat::at_ply(self.ply(position))
    }

    fn outcome(&self, position: &Position) -> Outcome {
        self.node(position).outcome
    }

    fn legal(&self, position: &Position, actions: &mut Vec<Action>) {
        actions.extend(0..self.node(position).children.len() as Action);
    }

    fn referee(&self, position: &Position, action: Action) -> Result<(), Refusal> {
        if self.outcome(position).is_over() {
            Err(Refusal::GameOver)
        } else if usize::from(action) >= self.node(position).children.len() {
            Err(Refusal::OutOfRange)
        } else {
            Ok(())
        }
    }

    fn play(&self, position: &mut Position, action: Action) {
        *position = Position(self.node(position).children[usize::from(action)] as u8);
    }

    fn random_legal(&self, position: &Position, rng: &mut Rng) -> Action {
        rng.below(self.node(position).children.len()) as Action
    }

    fn landing(&self, position: &Position, action: Action) -> usize {
        self.node(position).children[usize::from(action)] - 1
    }

    fn stone(&self, position: &Position, cell: usize) -> Option<Seat> {
        let node = self.path(position).find(|&node| node == cell + 1)?;
        Some(Seat::at_ply(self.nodes[node].depth - 1))
    }

    fn winning_lines(&self, position: &Position) -> Vec<Vec<usize>> {
        match self.outcome(position) {
            Outcome::Win(winner) => {
                let own = |&node: &usize| Seat::at_ply(self.nodes[node].depth - 1) == winner;
                let mut line: Vec<usize> = self.path(position).filter(own).map(|node| node - 1).collect();
                line.reverse();
                vec![line]
            }
            Outcome::Draw | Outcome::Ongoing => Vec::new(),
        }
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::NONE
    }

    fn transform(&self, _symmetry: Symmetry, position: &Position) -> Position {
        *position
    }

    fn transform_action(&self, _symmetry: Symmetry, action: Action) -> Action {
        action
    }

    fn write_action(&self, action: Action) -> String {
        action.to_string()
    }

    fn read_action(&self, text: &str) -> Result<Action, NotationError> {
        let last = self.actions() - 1;
        notation::read_number(text, 0, last, &format!("a move from 0 to {last}")).map(|n| n as Action)
    }

    fn write_position(&self, position: &Position) -> String {
        format!("node {}", position.0)
    }

    fn read_position(&self, text: &str) -> Result<Position, NotationError> {
        let last = self.nodes.len() - 1;
        let number = text.trim().strip_prefix("node").unwrap_or(text);
        notation::read_number(number, 0, last, &format!("a node from 0 to {last}")).map(|n| Position(n as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::replay;
    use crate::laws;

    #[test]
    fn obeys_the_laws() {
        // The laws let only the side that moved win: `x` at odd depths, `o` at even ones.
        laws::check(&Tiny::new("((= o (x =)) (o =) x)"), 60);
    }

    #[test]
    fn text_becomes_a_tree() {
        let game = Tiny::new("(x (o =))");
        assert_eq!(game.actions(), 2);
        assert_eq!(game.outcome(&replay(&game, &[0]).unwrap()), Outcome::Win(Seat::First));
        let inner = replay(&game, &[1]).unwrap();
        assert_eq!((game.outcome(&inner), game.to_move(&inner)), (Outcome::Ongoing, Seat::Second));
        let end = replay(&game, &[1, 1]).unwrap();
        assert_eq!(game.outcome(&end), Outcome::Draw);
        assert_eq!((game.stone(&end, 1), game.stone(&end, 3)), (Some(Seat::First), Some(Seat::Second)));
        assert_eq!(replay(&game, &[0, 0]), Err((1, Refusal::GameOver)));
    }
}
