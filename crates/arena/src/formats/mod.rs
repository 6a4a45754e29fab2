//! Games as text, in and out: Tengen's own ([`text`]), SGF ([`sgf`]), Piskvork's `.psq` ([`psq`]) and plain lists of
//! moves ([`list`]). One line of JSON a game is [`crate::record`].
//!
//! What is read is a [`GameTree`], every move of which the referee has seen. A collection is read game by game: one that
//! cannot be read is [`Refused`] with its place in the file, and the others are still read. Nothing here
//! ever panics, whatever the text.

pub mod list;
pub mod psq;
pub mod sgf;
pub mod text;

use rules::notation::NotationError;
use rules::{Action, Game, Outcome, Refusal};
use thiserror::Error;

use crate::record::{Reason, Record, Result as Winner};

/// A place in a text and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct Refused {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl Refused {
    /// The place of byte `at` of `text`. A line ends with `\n`, `\r\n` or `\r`.
    fn new(text: &str, at: usize, reason: impl Into<String>) -> Refused {
        let before = &text[..at];
        let ends = before
            .bytes()
            .enumerate()
            .filter(|&(i, b)| b == b'\n' || b == b'\r' && text.as_bytes().get(i + 1) != Some(&b'\n'));
        let (lines, start) = ends.fold((0, 0), |(lines, _), (i, _)| (lines + 1, i + 1));
        Refused { line: lines + 1, column: text[start..at].chars().count() + 1, reason: reason.into() }
    }
}

/// The lines of a text from byte `from` on, without their ends, each with the byte at which it begins.
fn lines(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let line = (at, &rest[..length]);
        at += length + if rest[length..].starts_with("\r\n") { 2 } else { 1 };
        Some(line)
    })
}

/// A game with its variations and comments.
///
/// Nodes are numbered; 0 is the start. The first child of a node continues the game, the others are variations. Undoing
/// a move is going to the parent: positions are kept, so whatever was set up stays as it was.
///
/// Two are equal if they have the same moves, variations and remarks, however their nodes are numbered.
#[derive(Clone, Debug)]
pub struct GameTree<G: Game> {
    /// The game that is played.
    pub game: G,
    /// The players in the first and second seat; empty if not known.
    pub names: [String; 2],
    /// Who won, if it is known.
    pub result: Option<Winner>,
    /// How the result came about, if it is known.
    pub reason: Option<Reason>,
    nodes: Vec<Node<G>>,
}

/// The start, a move, or a remark without a move.
#[derive(Clone, Debug)]
pub struct Node<G: Game> {
    /// The move that leads here, if there is one.
    pub action: Option<Action>,
    /// The position here. A forbidden move, which loses the game, leaves the position before it.
    pub position: G::Position,
    /// Why the move was forbidden.
    pub refusal: Option<Refusal>,
    /// What somebody said about it; lines end with `\n`.
    pub comment: String,
    /// Properties that mean nothing to Tengen but are kept, by name; only SGF has them.
    pub other: Vec<(String, Vec<String>)>,
    /// The node before; `None` for the start.
    pub parent: Option<usize>,
    /// The nodes after, the game's own continuation first.
    pub children: Vec<usize>,
}

impl<G: Game> GameTree<G> {
    /// A game that begins with this position.
    pub fn new(game: G, start: G::Position) -> GameTree<G> {
        let root = Node {
            action: None,
            position: start,
            refusal: None,
            comment: String::new(),
            other: Vec::new(),
            parent: None,
            children: Vec::new(),
        };
        GameTree { game, names: Default::default(), result: None, reason: None, nodes: vec![root] }
    }

    /// The game of a record; what it says of a failed or refused move becomes the last comment.
    ///
    /// # Errors
    /// As [`Record::replay`].
    pub fn from_record(game: &G, record: &Record) -> Result<GameTree<G>, NotationError> {
        let mut tree = GameTree::new(game.clone(), game.start());
        let mut node = 0;
        for action in record.replay(game)? {
            node = tree.play(node, action).map_err(|refusal| NotationError(refusal.to_string()))?;
        }
        tree.nodes[node].comment = record.detail.clone().unwrap_or_default();
        tree.names = [record.first.clone(), record.second.clone()];
        tree.result = Some(record.result);
        tree.reason = Some(record.end);
        Ok(tree)
    }

    /// All nodes; each comes after its parent.
    pub fn nodes(&self) -> &[Node<G>] {
        &self.nodes
    }

    /// The comment of a node, to be written.
    pub fn comment_mut(&mut self, node: usize) -> &mut String {
        &mut self.nodes[node].comment
    }

    /// How the game stands at a node. A forbidden move loses.
    pub fn outcome(&self, node: usize) -> Outcome {
        let Node { position, refusal, .. } = &self.nodes[node];
        match refusal {
            Some(_) => Outcome::Win(self.game.to_move(position).other()),
            None => self.game.outcome(position),
        }
    }

    /// Adds a move after a node and returns the new node. A forbidden move can be added too, but nothing after it.
    ///
    /// # Errors
    /// If the referee refuses the move for any other reason.
    pub fn play(&mut self, node: usize, action: Action) -> Result<usize, Refusal> {
        if self.outcome(node).is_over() {
            return Err(Refusal::GameOver);
        }
        let mut position = self.nodes[node].position;
        let refusal = match self.game.try_play(&mut position, action) {
            Ok(()) => None,
            Err(refusal @ Refusal::Forbidden(_)) => Some(refusal),
            Err(refusal) => return Err(refusal),
        };
        Ok(self.add(node, Some(action), position, refusal))
    }

    /// Adds a node without a move.
    pub fn remark(&mut self, node: usize) -> usize {
        let Node { position, refusal, .. } = self.nodes[node];
        self.add(node, None, position, refusal)
    }

    fn add(&mut self, parent: usize, action: Option<Action>, position: G::Position, refusal: Option<Refusal>) -> usize {
        let node = self.nodes.len();
        let (comment, other, children) = Default::default();
        self.nodes.push(Node { action, position, refusal, comment, other, parent: Some(parent), children });
        self.nodes[parent].children.push(node);
        node
    }

    /// The nodes of the game itself, without variations, from the start.
    pub fn main_line(&self) -> Vec<usize> {
        std::iter::successors(Some(0), |&node| self.nodes[node].children.first().copied()).collect()
    }

    /// The moves of the game itself.
    pub fn moves(&self) -> Vec<Action> {
        self.main_line().into_iter().filter_map(|node| self.nodes[node].action).collect()
    }

    /// Fills in the result of a game that ended on the board, and compares it with one that was claimed.
    fn conclude(&mut self) -> Result<(), String> {
        let last = *self.main_line().last().expect("every game has a start");
        let reached = match self.outcome(last) {
            Outcome::Ongoing if self.reason == Some(Reason::Board) => {
                return Err("the game is said to have ended on the board, but it goes on there".to_owned());
            }
            Outcome::Ongoing => return Ok(()),
            Outcome::Win(rules::Seat::First) => Winner::First,
            Outcome::Win(rules::Seat::Second) => Winner::Second,
            Outcome::Draw => Winner::Draw,
        };
        if self.result.is_some_and(|claimed| claimed != reached) {
            return Err("the result that is claimed does not follow from the moves".to_owned());
        }
        self.result = Some(reached);
        self.reason = Some(if self.nodes[last].refusal.is_some() { Reason::Illegal } else { Reason::Board });
        Ok(())
    }

    /// The nodes in the order in which they are written, with the places where variations open and close: where a node
    /// has more than one child, each is the beginning of one.
    fn written(&self) -> Vec<Part> {
        let mut parts = Vec::with_capacity(self.nodes.len());
        // A stack instead of recursion: a game may have as many moves as its file has room for.
        let mut ahead = vec![Part::Node(0)];
        while let Some(part) = ahead.pop() {
            parts.push(part);
            let Part::Node(node) = part else { continue };
            match self.nodes[node].children[..] {
                [only] => ahead.push(Part::Node(only)),
                ref children => {
                    ahead.extend(children.iter().rev().flat_map(|&child| [Part::Close, Part::Node(child), Part::Open]));
                }
            }
        }
        parts
    }
}

impl<G: Game> PartialEq for GameTree<G> {
    fn eq(&self, other: &GameTree<G>) -> bool {
        let same = |&(one, two): &(Part, Part)| match (one, two) {
            (Part::Node(one), Part::Node(two)) => self.nodes[one].says_the_same(&other.nodes[two]),
            (Part::Open, Part::Open) | (Part::Close, Part::Close) => true,
            _ => false,
        };
        let (parts, others) = (self.written(), other.written());
        self.game == other.game
            && (&self.names, self.result, self.reason) == (&other.names, other.result, other.reason)
            && parts.len() == others.len()
            && parts.into_iter().zip(others).all(|pair| same(&pair))
    }
}

impl<G: Game> Node<G> {
    /// Whether all is the same but the place in the tree.
    fn says_the_same(&self, other: &Node<G>) -> bool {
        (self.action, self.refusal) == (other.action, other.refusal)
            && self.position == other.position
            && self.comment == other.comment
            && self.other == other.other
    }
}

/// A piece of a game as it is written.
#[derive(Clone, Copy)]
enum Part {
    Node(usize),
    Open,
    Close,
}
