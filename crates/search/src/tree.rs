//! The tree of Monte Carlo tree search, and one simulation in two halves.
//!
//! [`Tree::gather`] walks from the root to a position that has not been judged; [`Tree::apply`] takes the judgement and
//! carries it back up. Whatever happens between the halves is the caller's: one playout, one evaluation, a batch of
//! evaluations gathered first and applied later, on any number of threads. All of these share this file.
//!
//! Selection is by UCB1 (Kocsis and Szepesvári 2006) or by PUCT (Silver et al., "Mastering the game of Go without human
//! knowledge", 2017). Wins, draws and losses that are proved are kept as such, with their distance, and carried up
//! (MCTS-Solver; Winands, Björnsson and Saito 2008), so that no average outvotes them.
//!
//! Every value in a node is seen by the side to move in that node; a parent therefore sees its child's value negated.

use std::fmt::Write as _;

use rules::{Action, Game, Rng, Wdl};

/// How a child is selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// UCB1: Q + c sqrt(ln N / n), every child once before any twice, in random order. Priors play no part.
    Uct {
        /// c, for values in [-1, 1].
        exploration: f64,
    },
    /// PUCT: Q + c P sqrt(N) / (1 + n). A child without visits has the value of its parent.
    Puct {
        /// c, for values in [-1, 1].
        exploration: f64,
    },
}

/// A search tree. Its memory is one list of nodes and one of edges, cleared and used again for the next search.
#[derive(Clone, Debug)]
pub struct Tree<G: Game> {
    rule: Rule,
    root: G::Position,
    rng: Rng,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    actions: Vec<Action>,
    repaired: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    /// The edges of this node are `edges[first..first + count]`; the first `opened` of them lead to nodes, and the next
    /// one is the one to be opened next.
    first: u32,
    count: u16,
    opened: u16,
    visits: u32,
    /// Simulations below this node that were gathered and are not yet applied.
    in_flight: u32,
    /// The sum of the values of its visits, for the side to move here.
    total: f64,
    proof: Option<Proof>,
    /// Waits for its own judgement.
    pending: bool,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    child: u32,
    prior: f32,
    action: Action,
}

/// A result that is certain, for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The result with best play.
    pub wdl: Wdl,
    /// The number of moves to the end, as far as the search has seen: an upper bound for a win, for a loss the longest
    /// defence that was found.
    pub plies: u16,
}

const ROOT: u32 = 0;
const NONE: u32 = u32::MAX;

/// What came of the first half of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Gathered<P> {
    /// A position to be judged; the simulation ends when [`Tree::apply`] is told the judgement.
    Leaf(Leaf<P>),
    /// The simulation came to a proved result and has ended.
    Ended,
    /// The simulation came to a leaf that still waits to be judged; nothing was changed.
    Busy,
}

/// A position to be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf<P> {
    node: u32,
    /// The position; it is not over.
    pub position: P,
}

/// What the search knows of one action of the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActionStats {
    /// The action.
    pub action: Action,
    /// Simulations that began with it.
    pub visits: u32,
    /// Its probability before the search.
    pub prior: f32,
    /// The mean value of its visits for the side to move in the root; `None` without visits. Exact if proved.
    pub value: Option<f64>,
    /// What is certain about it, for the side to move in the root, counted from the position after the action.
    pub proof: Option<Proof>,
}

impl<G: Game> Tree<G> {
    /// A tree of a finished search for nothing: [`Tree::reset`] comes first.
    pub fn new(game: &G, rule: Rule) -> Self {
        let (nodes, edges, actions) = (Vec::new(), Vec::new(), Vec::new());
        let mut tree = Tree { rule, root: game.start(), rng: Rng::new(0, 0), nodes, edges, actions, repaired: 0 };
        tree.reset(game, &game.start(), Rng::new(0, 0));
        tree
    }

    /// Forgets everything and begins at `root`. `rng` decides the order of children between which nothing else does.
    pub fn reset(&mut self, game: &G, root: &G::Position, rng: Rng) {
        self.root = *root;
        self.rng = rng;
        self.nodes.clear();
        self.edges.clear();
        self.open(game, root, NONE);
    }

    /// Begins a simulation: walks to a position that is not judged yet, or to a proved result.
    ///
    /// The first leaf is the root itself.
    pub fn gather(&mut self, game: &G) -> Gathered<G::Position> {
        let mut position = self.root;
        let mut at = ROOT;
        loop {
            let node = self.nodes[at as usize];
            if let Some(proof) = node.proof {
                self.back_up(at, f64::from(proof.wdl.value()), 0);
                return Gathered::Ended;
            }
            if node.pending && node.in_flight > 0 {
                return Gathered::Busy;
            }
            if node.pending {
                self.mark_in_flight(at);
                return Gathered::Leaf(Leaf { node: at, position });
            }
            let slot = self.select(&node);
            let edge = self.edges[slot];
            game.play(&mut position, edge.action);
            if edge.child == NONE {
                let child = self.open(game, &position, at);
                self.edges[slot].child = child;
                self.nodes[at as usize].opened += 1;
                self.bring_next_forward(at);
                self.carry_proof(child);
                at = child;
            } else {
                at = edge.child;
            }
        }
    }

    /// Ends a simulation with the judgement of its leaf.
    ///
    /// `policy` has a number for each action of the game, of which those of legal actions count, in proportion to each
    /// other; it may be empty, and then all are equal. `value` is for the side to move in the leaf, in [-1, 1]. Numbers
    /// that make no sense (no weight on any legal action, NaN) are replaced by "all equal" and "even", and counted.
    ///
    /// # Panics
    /// If the leaf was judged before.
    pub fn apply(&mut self, leaf: &Leaf<G::Position>, policy: &[f32], value: f32) {
        let node = self.nodes[leaf.node as usize];
        assert!(node.pending, "a leaf is judged once");
        let edges = &mut self.edges[node.first as usize..][..usize::from(node.count)];
        let mut total = 0.0;
        if !policy.is_empty() {
            for edge in &mut *edges {
                edge.prior = policy[usize::from(edge.action)].max(0.0);
                total += edge.prior;
            }
        }
        let sound = total > 0.0 && total.is_finite();
        for edge in &mut *edges {
            edge.prior = if sound { edge.prior / total } else { 1.0 / f32::from(node.count) };
        }
        if !sound && matches!(self.rule, Rule::Puct { .. }) {
            for i in (1..edges.len()).rev() {
                edges.swap(i, self.rng.below(i + 1));
            }
        }
        let odd_value = value.is_nan();
        self.repaired += u64::from(odd_value || !sound && !policy.is_empty());
        self.nodes[leaf.node as usize].pending = false;
        self.bring_next_forward(leaf.node);
        self.back_up(leaf.node, if odd_value { 0.0 } else { f64::from(value.clamp(-1.0, 1.0)) }, 1);
    }

    /// The priors of the root's actions, to be changed (by noise, for instance) before any of them is tried.
    ///
    /// # Panics
    /// If the root has not been judged, or children of it have been opened already.
    pub fn change_root_priors(&mut self, mut change: impl FnMut(&mut [(Action, f32)])) {
        let root = self.nodes[ROOT as usize];
        assert!(!root.pending && root.opened == 0, "priors change after the root is judged and before it is searched");
        let edges = &mut self.edges[root.first as usize..][..usize::from(root.count)];
        // In the order of actions, so that the caller need not know the order of the edges.
        edges.sort_by_key(|edge| edge.action);
        let mut priors: Vec<(Action, f32)> = edges.iter().map(|edge| (edge.action, edge.prior)).collect();
        change(&mut priors);
        for (edge, (_, prior)) in edges.iter_mut().zip(priors) {
            edge.prior = prior;
        }
        self.bring_next_forward(ROOT);
    }

    /// Simulations that have ended.
    pub fn visits(&self) -> u32 {
        self.nodes[ROOT as usize].visits
    }

    /// What is certain about the root.
    pub fn proof(&self) -> Option<Proof> {
        self.nodes[ROOT as usize].proof
    }

    /// The value of the root for its side to move: exact if proved, else the mean of all simulations, 0 without any.
    pub fn value(&self) -> f64 {
        let root = &self.nodes[ROOT as usize];
        root.proof.map_or_else(|| root.mean().unwrap_or(0.0), |proof| f64::from(proof.wdl.value()))
    }

    /// How many judgements made no sense and had to be replaced, since the tree was made.
    pub fn repaired(&self) -> u64 {
        self.repaired
    }

    /// The legal actions of the root in increasing order, with what was found; only the winning ones if one wins at once.
    pub fn actions(&self) -> Vec<ActionStats> {
        let root = &self.nodes[ROOT as usize];
        let mut actions: Vec<ActionStats> = self.edges(root).iter().map(|edge| self.stats(root, edge)).collect();
        actions.sort_by_key(|stats| stats.action);
        actions
    }

    /// The action to play. `None` if the game is over.
    ///
    /// A proved win comes first, the quickest; then the action with most visits among those not proved lost, unless its
    /// value is below even and a draw is certain elsewhere; if all lose, the longest defence. Ties go to the better
    /// value, then the greater prior, then the lower action.
    pub fn best(&self) -> Option<Action> {
        let actions = self.actions();
        let drawn = actions.iter().any(|stats| stats.proof.is_some_and(|proof| proof.wdl == Wdl::Draw));
        let rank = |stats: &ActionStats| {
            let visits = f64::from(stats.visits);
            let (class, strength) = match stats.proof.map(|proof| (proof.wdl, f64::from(proof.plies))) {
                Some((Wdl::Win, plies)) => (3, -plies),
                Some((Wdl::Loss, plies)) => (0, plies),
                None if drawn && stats.value.is_some_and(|value| value < 0.0) => (1, visits),
                Some((Wdl::Draw, _)) | None => (2, visits),
            };
            (class, strength, stats.value.unwrap_or(-1.0), stats.prior)
        };
        let better = |a: &ActionStats, b: &ActionStats| rank(a).partial_cmp(&rank(b)).expect("no NaN among ranks");
        // `max_by` takes the last of equals; reversed, that is the lowest action.
        actions.iter().rev().max_by(|a, b| better(a, b)).map(|stats| stats.action)
    }

    /// The tree as text down to `depth`, children with more visits first: to be read by people.
    pub fn describe(&self, game: &G, depth: usize) -> String {
        let mut text = String::new();
        self.describe_node(game, ROOT, "root", 0, depth, &mut text);
        text
    }

    fn describe_node(&self, game: &G, at: u32, label: &str, level: usize, depth: usize, text: &mut String) {
        let node = &self.nodes[at as usize];
        let value = node.mean().map_or_else(|| "-".to_owned(), |mean| format!("{mean:+.3}"));
        let proof = node.proof.map_or_else(String::new, |proof| format!(", {} in {}", proof.wdl, proof.plies));
        let indent = 2 * level;
        writeln!(text, "{:indent$}{label}: {} visits, value {value}{proof}", "", node.visits).expect("text grows");
        if level == depth {
            return;
        }
        let mut children: Vec<&Edge> = self.edges(node).iter().filter(|edge| edge.child != NONE).collect();
        children.sort_by_key(|edge| (std::cmp::Reverse(self.nodes[edge.child as usize].visits), edge.action));
        for edge in children {
            let label = game.write_action(edge.action);
            self.describe_node(game, edge.child, &label, level + 1, depth, text);
        }
    }

    fn edges(&self, node: &Node) -> &[Edge] {
        &self.edges[node.first as usize..][..usize::from(node.count)]
    }

    fn stats(&self, parent: &Node, edge: &Edge) -> ActionStats {
        let Edge { child, prior, action } = *edge;
        if child == NONE {
            // A win at once is known without opening it.
            let won = parent.proof.is_some_and(|proof| proof.wdl == Wdl::Win && proof.plies == 1);
            let proof = won.then_some(Proof { wdl: Wdl::Win, plies: 0 });
            return ActionStats { action, prior, visits: 0, value: won.then_some(1.0), proof };
        }
        let node = &self.nodes[child as usize];
        let proof = node.proof.map(|proof| Proof { wdl: proof.wdl.flip(), ..proof });
        let value = proof.map(|proof| f64::from(proof.wdl.value())).or_else(|| node.mean().map(|mean| -mean));
        ActionStats { action, prior, visits: node.visits, value, proof }
    }

    /// Appends a node for the position. One that is over, or in which the side to move wins at once, is proved.
    fn open(&mut self, game: &G, position: &G::Position, parent: u32) -> u32 {
        let index = self.nodes.len() as u32;
        let first = self.edges.len();
        let mut proof = game.outcome(position).seen_by(game.to_move(position)).map(|wdl| Proof { wdl, plies: 0 });
        if proof.is_none() {
            self.actions.clear();
            game.winning(position, &mut self.actions);
            if !self.actions.is_empty() {
                proof = Some(Proof { wdl: Wdl::Win, plies: 1 });
            }
            // Below the root it doesn't matter which move wins.
            if proof.is_none() {
                game.legal(position, &mut self.actions);
            } else if parent != NONE {
                self.actions.clear();
            }
            self.edges.extend(self.actions.iter().map(|&action| Edge { child: NONE, prior: 0.0, action }));
        }
        self.nodes.push(Node {
            parent,
            first: first as u32,
            count: (self.edges.len() - first) as u16,
            opened: 0,
            visits: 0,
            in_flight: 0,
            total: 0.0,
            proof,
            pending: proof.is_none(),
        });
        index
    }

    /// The place of the edge to follow from a judged node that is not proved.
    fn select(&self, node: &Node) -> usize {
        let first = node.first as usize;
        let opened = usize::from(node.opened);
        let unopened = (node.opened < node.count).then(|| first + opened);
        let visits = f64::from(node.visits + node.in_flight);
        let (scale, puct) = match self.rule {
            Rule::Uct { exploration } => match unopened {
                Some(next) => return next,
                None => (exploration * visits.ln().sqrt(), false),
            },
            Rule::Puct { exploration } => (exploration * visits.sqrt(), true),
        };
        let mut best = (f64::NEG_INFINITY, first);
        for (slot, edge) in self.edges[first..first + opened].iter().enumerate() {
            let child = &self.nodes[edge.child as usize];
            let value = match child.proof {
                // The opponent wins: never worth a visit, as something else is open, or the node would be proved lost.
                Some(Proof { wdl: Wdl::Win, .. }) => continue,
                Some(proof) => -f64::from(proof.wdl.value()),
                None => -child.mean_with_virtual_losses(),
            };
            let n = f64::from(child.visits + child.in_flight);
            let score = value + if puct { scale * f64::from(edge.prior) / (1.0 + n) } else { scale / n.sqrt() };
            if score > best.0 {
                best = (score, first + slot);
            }
        }
        if let Some(next) = unopened {
            // Of the unopened, the one with the greatest prior stands first, so no other need be looked at.
            let score = node.mean().unwrap_or(0.0) + scale * f64::from(self.edges[next].prior);
            if score > best.0 {
                best = (score, next);
            }
        }
        best.1
    }

    /// Exchanges the edges of a node so that the unopened one to be opened next stands first: by UCT any, by PUCT one
    /// with the greatest prior.
    fn bring_next_forward(&mut self, at: u32) {
        let node = self.nodes[at as usize];
        let edges = &mut self.edges[node.first as usize..][usize::from(node.opened)..usize::from(node.count)];
        if let Rule::Uct { .. } = self.rule {
            if edges.len() > 1 {
                let next = self.rng.below(edges.len());
                edges.swap(0, next);
            }
            return;
        }
        let mut greatest = 0;
        for (i, edge) in edges.iter().enumerate() {
            if edge.prior > edges[greatest].prior {
                greatest = i;
            }
        }
        if greatest > 0 {
            edges.swap(0, greatest);
        }
    }

    fn mark_in_flight(&mut self, mut at: u32) {
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            node.in_flight += 1;
            at = node.parent;
        }
    }

    /// Counts a visit with this value for the side to move in `at`, there and in all nodes above.
    fn back_up(&mut self, mut at: u32, mut value: f64, in_flight: u32) {
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            node.visits += 1;
            node.in_flight -= in_flight;
            node.total += value;
            value = -value;
            at = node.parent;
        }
    }

    /// Draws conclusions in the nodes above a newly opened one, as long as there are any.
    fn carry_proof(&mut self, mut at: u32) {
        while let Some(proof) = self.nodes[at as usize].proof {
            let parent = self.nodes[at as usize].parent;
            if parent == NONE || self.nodes[parent as usize].proof.is_some() {
                return;
            }
            let concluded = if proof.wdl == Wdl::Loss {
                Some(Proof { wdl: Wdl::Win, plies: proof.plies + 1 })
            } else {
                self.conclude(&self.nodes[parent as usize])
            };
            self.nodes[parent as usize].proof = concluded;
            at = parent;
        }
    }

    /// What follows for a node none of whose children is lost for the opponent: something only if all are proved.
    fn conclude(&self, node: &Node) -> Option<Proof> {
        if node.opened < node.count {
            return None;
        }
        let mut best: Option<Proof> = None;
        for edge in self.edges(node) {
            let child = self.nodes[edge.child as usize].proof?;
            let own = Proof { wdl: child.wdl.flip(), plies: child.plies + 1 };
            // A draw is better than a loss, and the longer loss better than the shorter.
            if best.is_none_or(|best| (own.wdl, own.plies) > (best.wdl, best.plies)) {
                best = Some(own);
            }
        }
        best
    }
}

impl Node {
    fn mean(&self) -> Option<f64> {
        (self.visits > 0).then(|| self.total / f64::from(self.visits))
    }

    /// The mean as if every simulation under way had been won here, that is lost by the side that chose this node:
    /// the next simulation then tries something else.
    fn mean_with_virtual_losses(&self) -> f64 {
        let n = self.visits + self.in_flight;
        if n == 0 { 0.0 } else { (self.total + f64::from(self.in_flight)) / f64::from(n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::connect4::Connect4;
    use rules::game::replay;
    use rules::tictactoe::TicTacToe;

    const PUCT: Rule = Rule::Puct { exploration: 1.5 };
    const UCT: Rule = Rule::Uct { exploration: 1.0 };

    /// What must hold between simulations.
    fn check<G: Game>(tree: &Tree<G>) {
        for (index, node) in tree.nodes.iter().enumerate() {
            assert_eq!(node.in_flight, 0, "node {index}");
            assert!(node.total.abs() <= f64::from(node.visits), "node {index}");
            let opened = &tree.edges[node.first as usize..][..usize::from(node.opened)];
            let below: u32 = opened.iter().map(|edge| tree.nodes[edge.child as usize].visits).sum();
            if node.proof.is_none() && !node.pending {
                assert_eq!(node.visits, 1 + below, "node {index}");
            } else {
                // A proved node is visited without looking further down.
                assert!(node.visits >= below, "node {index}");
            }
        }
    }

    /// Simulations with a judgement that depends on the position and nothing else, gathered `batch` at a time.
    fn simulate<G: Game>(tree: &mut Tree<G>, game: &G, simulations: u32, batch: usize) {
        while tree.visits() < simulations && tree.proof().is_none() {
            let mut leaves = Vec::new();
            while leaves.len() < batch {
                match tree.gather(game) {
                    Gathered::Leaf(leaf) => leaves.push(leaf),
                    Gathered::Ended => {}
                    Gathered::Busy => break,
                }
            }
            for leaf in leaves {
                let mut rng = Rng::new(game.write_position(&leaf.position).bytes().map(u64::from).sum(), 1);
                let policy: Vec<f32> = (0..game.actions()).map(|_| rng.unit()).collect();
                tree.apply(&leaf, &policy, rng.uniform(-1.0, 1.0));
            }
        }
    }

    #[test]
    fn visits_add_up_in_every_node() {
        for rule in [PUCT, UCT] {
            for batch in [1, 8] {
                let mut tree = Tree::new(&Connect4, rule);
                for moves in [&[][..], &[3, 3, 3, 2], &[3, 2, 3, 2, 4]] {
                    tree.reset(&Connect4, &replay(&Connect4, moves).unwrap(), Rng::new(1, 0));
                    simulate(&mut tree, &Connect4, 500, batch);
                    check(&tree);
                }
            }
        }
    }

    #[test]
    fn a_visit_that_was_gathered_and_applied_leaves_nothing_in_flight() {
        let mut tree = Tree::new(&TicTacToe, PUCT);
        let Gathered::Leaf(leaf) = tree.gather(&TicTacToe) else { panic!("the root is a leaf") };
        assert_eq!((tree.nodes[0].visits, tree.nodes[0].in_flight), (0, 1));
        assert_eq!(tree.gather(&TicTacToe), Gathered::Busy);
        assert_eq!((tree.nodes[0].visits, tree.nodes[0].in_flight), (0, 1));
        tree.apply(&leaf, &[], 0.5);
        assert_eq!((tree.nodes[0].visits, tree.nodes[0].in_flight, tree.nodes[0].total), (1, 0, 0.5));
        check(&tree);
    }

    #[test]
    #[should_panic(expected = "a leaf is judged once")]
    fn a_leaf_is_not_judged_twice() {
        let mut tree = Tree::new(&TicTacToe, PUCT);
        let Gathered::Leaf(leaf) = tree.gather(&TicTacToe) else { panic!("the root is a leaf") };
        tree.apply(&leaf, &[], 0.0);
        tree.apply(&leaf, &[], 0.0);
    }

    #[test]
    fn leaves_gathered_together_spread_over_equal_moves() {
        let mut tree = Tree::new(&Connect4, PUCT);
        let Gathered::Leaf(root) = tree.gather(&Connect4) else { panic!("the root is a leaf") };
        tree.apply(&root, &[], 0.0);
        let mut nodes = Vec::new();
        for _ in 0..4 {
            let Gathered::Leaf(leaf) = tree.gather(&Connect4) else { panic!("there is always another move") };
            nodes.push(leaf.node);
        }
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), 4);
        assert!(nodes.iter().all(|&node| tree.nodes[node as usize].parent == ROOT));
    }

    #[test]
    fn memory_is_used_again() {
        let mut tree = Tree::new(&Connect4, UCT);
        let mut search = |number: u64| {
            tree.reset(&Connect4, &Connect4.start(), Rng::new(number, 0));
            simulate(&mut tree, &Connect4, 50, 1);
            (tree.nodes.capacity(), tree.edges.capacity())
        };
        let early = (0..100).map(&mut search).max();
        let late = (100..10_000).map(&mut search).max();
        assert_eq!(early, late);
    }
}
