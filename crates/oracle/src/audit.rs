//! What is true of a player: computed over every line of play, not sampled.
//!
//! The player is asked once for its choice in every position of the game. All else is one sweep over the table
//! from the ends to the start, in which its moves are weighed by their probabilities and its opponent makes,
//! in turn: every move (lines), the move that hurts most (best response), a random move (chances).

use rules::{Action, Choice, Game, NotExact, Outcome, Player, Seat, Wdl};
use serde::Serialize;

use crate::table::{Edge, Node, Table};

/// The whole truth about one player of a small game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// The player's name.
    pub player: String,
    /// What it reaches as first and as second player.
    pub seats: [SeatAudit; 2],
    /// How well it chooses, over all positions of the game, by plies: entry p is for positions with p stones, in
    /// which the first player moves when p is even.
    pub by_ply: Vec<Choices>,
}

/// What a player reaches in one seat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeatAudit {
    /// Lines of play: against every sequence of opposing moves, over every move that the player may choose.
    pub lines: Lines,
    /// The player's expected result against the opponent that hurts it most, in [-1, 1].
    pub best_response: f64,
    /// How much less that is than the seat's value with best play: 0 for a player that cannot be exploited.
    pub exploitability: f64,
    /// The player's chances against an opponent that plays any legal move with the same probability.
    pub against_random: Chances,
    /// The first line of play, in order of moves, in which the player loses; empty if it never does.
    pub first_loss: Vec<Action>,
    /// How well it chooses, over all positions in which this seat moves.
    pub choices: Choices,
}

/// Numbers of lines by their result for the player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// Lines that the player wins.
    pub wins: u64,
    /// Lines that nobody wins.
    pub draws: u64,
    /// Lines that the player loses.
    pub losses: u64,
}

impl Lines {
    /// All lines.
    pub fn total(self) -> u64 {
        self.wins + self.draws + self.losses
    }
}

/// Chances of each result for the player; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Chances {
    /// Of a win.
    pub win: f64,
    /// Of a draw.
    pub draw: f64,
    /// Of a loss.
    pub loss: f64,
}

/// In how many positions a player keeps the value that the position has with best play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Choices {
    /// Positions.
    pub positions: u64,
    /// The sum, over these positions, of the probability of a move that keeps the value.
    pub kept: f64,
    /// Positions in which legal moves differ in value, so that the choice matters.
    pub decisive: u64,
    /// As `kept`, over the decisive positions only.
    pub decisive_kept: f64,
}

impl Choices {
    /// Share of positions in which the value is kept, in [0, 1]; 1 if there are no positions.
    pub fn share(self) -> f64 {
        if self.positions == 0 { 1.0 } else { self.kept / self.positions as f64 }
    }

    /// The same over decisive positions.
    pub fn decisive_share(self) -> f64 {
        if self.decisive == 0 { 1.0 } else { self.decisive_kept / self.decisive as f64 }
    }

    fn add(&mut self, edges: &[Edge], best: Wdl, probability: &[f64]) {
        let keeps = edges.iter().zip(probability).filter(|(edge, _)| edge.score.wdl == best);
        self.count(keeps.map(|(_, p)| p).sum(), edges.iter().any(|edge| edge.score.wdl != best));
    }

    /// One more position, with the probability of a move that keeps the value, and whether the choice matters.
    pub(crate) fn count(&mut self, kept: f64, decisive: bool) {
        self.positions += 1;
        self.kept += kept;
        if decisive {
            self.decisive += 1;
            self.decisive_kept += kept;
        }
    }
}

impl Audit {
    /// What is known of the player in this seat.
    pub fn seat(&self, seat: Seat) -> &SeatAudit {
        &self.seats[seat.index()]
    }

    /// Whether no line of play exists in which the player loses from this seat.
    pub fn unbeatable_as(&self, seat: Seat) -> bool {
        self.seat(seat).lines.losses == 0
    }

    /// The verdict in one line, over the seats that were trained.
    pub fn verdict<G: Game>(&self, game: &G, trained: &[Seat]) -> String {
        let count = |(i, &seat): (usize, &Seat)| {
            let (lines, unit) = (self.seat(seat).lines, if i == 0 { " losing lines" } else { "" });
            format!("{}{unit} of {} as {}", lines.losses, lines.total(), game.seat_name(seat))
        };
        let counts = trained.iter().enumerate().map(count).collect::<Vec<_>>().join(", ");
        match trained {
            [] => "nothing to prove: no seat was trained".to_owned(),
            seats if !seats.iter().all(|&seat| self.unbeatable_as(seat)) => format!("BEATABLE ({counts})"),
            [seat] => format!("UNBEATABLE AS {} (proved: {counts})", game.seat_name(*seat)),
            _ => format!("UNBEATABLE (proved: {counts})"),
        }
    }
}

/// Audits a player over the whole game.
///
/// # Errors
/// If the player's choice depends on more than the position.
///
/// # Panics
/// If the player's choices are not a distribution over legal moves: then its own report about itself is wrong.
pub fn audit<G: Game>(table: &Table<G>, player: &mut dyn Player<G>) -> Result<Audit, NotExact> {
    let probabilities = ask(table, player)?;
    let longest = table.nodes().last().map_or(0, |node| node.ply);
    let mut by_ply = vec![Choices::default(); longest];
    let mut by_seat = [Choices::default(); 2];
    for (node, probability) in table.nodes().iter().zip(&probabilities) {
        if !node.outcome.is_over() {
            let mover = table.game().to_move(&node.position);
            for choices in [&mut by_ply[node.ply], &mut by_seat[mover.index()]] {
                choices.add(table.edges(node), node.score.wdl, probability);
            }
        }
    }
    let seats = Seat::BOTH.map(|seat| audit_seat(table, &probabilities, seat, by_seat[seat.index()]));
    Ok(Audit { player: player.name(), seats, by_ply })
}

/// For each position of the table, the probability with which the player makes each of its moves.
fn ask<G: Game>(table: &Table<G>, player: &mut dyn Player<G>) -> Result<Vec<Vec<f64>>, NotExact> {
    let mut choices: Vec<Choice> = Vec::new();
    let mut answers = Vec::with_capacity(table.nodes().len());
    for node in table.nodes() {
        let edges = table.edges(node);
        let mut answer = vec![0.0; edges.len()];
        if !node.outcome.is_over() {
            choices.clear();
            player.distribution(table.game(), &node.position, &mut choices)?;
            for choice in &choices {
                let edge = edges.iter().position(|edge| edge.action == choice.action);
                answer[edge.expect("a player chooses legal moves")] += choice.probability;
            }
            let total: f64 = answer.iter().sum();
            assert!((total - 1.0).abs() < 1e-5, "{}: probabilities add up to {total}", player.name());
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// What one position means for the player in the seat under audit.
#[derive(Clone, Copy, Default)]
struct Swept {
    lines: Lines,
    best_response: f64,
    chances: Chances,
}

fn audit_seat<G: Game>(table: &Table<G>, probabilities: &[Vec<f64>], seat: Seat, choices: Choices) -> SeatAudit {
    let mut swept = vec![Swept::default(); table.nodes().len()];
    for (i, node) in table.nodes().iter().enumerate().rev() {
        swept[i] = match node.outcome.seen_by(seat) {
            Some(result) => at_end(result),
            None => from_children(table, node, &probabilities[i], &swept, seat),
        };
    }
    let root = swept[0];
    let first = &table.nodes()[0];
    let value = if table.game().to_move(&first.position) == seat { first.score.wdl } else { first.score.wdl.flip() };
    SeatAudit {
        lines: root.lines,
        best_response: root.best_response,
        exploitability: f64::from(value.value()) - root.best_response,
        against_random: root.chances,
        first_loss: first_loss(table, probabilities, &swept, seat),
        choices,
    }
}

fn at_end(result: Wdl) -> Swept {
    let one = |wdl| u64::from(result == wdl);
    let lines = Lines { wins: one(Wdl::Win), draws: one(Wdl::Draw), losses: one(Wdl::Loss) };
    let chances = Chances { win: lines.wins as f64, draw: lines.draws as f64, loss: lines.losses as f64 };
    Swept { lines, best_response: f64::from(result.value()), chances }
}

fn from_children<G: Game>(
    table: &Table<G>,
    node: &Node<G::Position>,
    probability: &[f64],
    swept: &[Swept],
    seat: Seat,
) -> Swept {
    let own_move = table.game().to_move(&node.position) == seat;
    let edges = table.edges(node);
    let random = 1.0 / edges.len() as f64;
    let mut sum = Swept { best_response: if own_move { 0.0 } else { f64::INFINITY }, ..Swept::default() };
    for (edge, &p) in edges.iter().zip(probability) {
        if own_move && p == 0.0 {
            continue;
        }
        let child = &swept[edge.child];
        sum.lines.wins += child.lines.wins;
        sum.lines.draws += child.lines.draws;
        sum.lines.losses += child.lines.losses;
        if own_move {
            sum.best_response += p * child.best_response;
        } else {
            sum.best_response = sum.best_response.min(child.best_response);
        }
        let weight = if own_move { p } else { random };
        sum.chances.win += weight * child.chances.win;
        sum.chances.draw += weight * child.chances.draw;
        sum.chances.loss += weight * child.chances.loss;
    }
    sum
}

/// Follows, from the start, the first possible move behind which a loss still lies.
fn first_loss<G: Game>(table: &Table<G>, probabilities: &[Vec<f64>], swept: &[Swept], seat: Seat) -> Vec<Action> {
    let mut line = Vec::new();
    let mut at = 0;
    while swept[at].lines.losses > 0 && table.nodes()[at].outcome == Outcome::Ongoing {
        let node = &table.nodes()[at];
        let own_move = table.game().to_move(&node.position) == seat;
        let mut possible = table.edges(node).iter().zip(&probabilities[at]).filter(|(_, p)| !own_move || **p > 0.0);
        let (edge, _) =
            possible.find(|(edge, _)| swept[edge.child].lines.losses > 0).expect("a loss lies behind a move");
        line.push(edge.action);
        at = edge.child;
    }
    line
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::table::Perfect;
    use rules::game::{legal_actions, replay};
    use rules::player::Random;
    use rules::tictactoe::TicTacToe;
    use rules::tiny::Tiny;

    /// Plays the first legal move.
    struct First;

    impl<G: Game> Player<G> for First {
        fn name(&self) -> String {
            "first legal".to_owned()
        }

        fn distribution(&mut self, game: &G, at: &G::Position, choices: &mut Vec<Choice>) -> Result<(), NotExact> {
            choices.push(Choice { action: legal_actions(game, at)[0], probability: 1.0 });
            Ok(())
        }
    }

    #[test]
    fn a_small_tree_is_audited_as_by_hand() {
        // The first player chooses a or b; behind a the second chooses between a draw and his win.
        let table = Table::new(&Tiny::new("((= o) x)"));
        let first = audit(&table, &mut First).unwrap();
        let seat = first.seat(Seat::First);
        assert_eq!(seat.lines, Lines { wins: 0, draws: 1, losses: 1 });
        assert_eq!((seat.best_response, seat.exploitability), (-1.0, 2.0));
        assert_eq!(seat.against_random, Chances { win: 0.0, draw: 0.5, loss: 0.5 });
        assert_eq!(seat.first_loss, [0, 1]);
        // As second player it takes the draw where it could win, and can do nothing about b.
        let seat = first.seat(Seat::Second);
        assert_eq!(seat.lines, Lines { wins: 0, draws: 1, losses: 1 });
        assert_eq!((seat.best_response, seat.exploitability), (-1.0, 0.0));
        assert_eq!(seat.choices, Choices { positions: 1, kept: 0.0, decisive: 1, decisive_kept: 0.0 });
        // A player that mixes loses half of what the worse move loses.
        let mixed = audit(&table, &mut Random).unwrap();
        assert_eq!(mixed.seat(Seat::First).best_response, 0.0);
        assert_eq!(mixed.seat(Seat::First).lines, Lines { wins: 1, draws: 1, losses: 1 });
    }

    #[test]
    fn random_against_random_has_the_known_chances() {
        // 255,168 lines: X wins 131,184, O 77,904, 46,080 are drawn; by chance 58.5 %, 28.8 % and 12.7 %.
        let audit = audit(&Table::new(&TicTacToe), &mut Random).unwrap();
        let seat = audit.seat(Seat::First);
        assert_eq!(seat.lines, Lines { wins: 131_184, draws: 46_080, losses: 77_904 });
        assert_eq!(audit.seat(Seat::Second).lines, Lines { wins: 77_904, draws: 46_080, losses: 131_184 });
        let chances = [seat.against_random.win, seat.against_random.draw, seat.against_random.loss];
        for (chance, known) in chances.into_iter().zip([737.0 / 1260.0, 8.0 / 63.0, 121.0 / 420.0]) {
            assert!((chance - known).abs() < 1e-12, "{chance} {known}");
        }
    }

    #[test]
    fn perfect_play_is_proved_unbeatable_and_the_first_legal_move_is_not() {
        let table = Arc::new(Table::new(&TicTacToe));
        let perfect = audit(&table, &mut Perfect(Arc::clone(&table))).unwrap();
        for seat in Seat::BOTH {
            assert!(perfect.unbeatable_as(seat));
            assert_eq!(perfect.seat(seat).exploitability, 0.0);
            assert_eq!(perfect.seat(seat).choices.decisive_share(), 1.0);
            assert!(perfect.seat(seat).first_loss.is_empty());
        }
        let verdict = perfect.verdict(&TicTacToe, &Seat::BOTH);
        let [x, o] = Seat::BOTH.map(|seat| perfect.seat(seat).lines.total());
        assert_eq!(verdict, format!("UNBEATABLE (proved: 0 losing lines of {x} as X, 0 of {o} as O)"));
        assert!(perfect.verdict(&TicTacToe, &[Seat::Second]).starts_with("UNBEATABLE AS O (proved: 0 losing"));
        let positions: u64 = perfect.by_ply.iter().map(|choices| choices.positions).sum();
        let decisive: u64 = perfect.by_ply.iter().map(|choices| choices.decisive).sum();
        assert_eq!((positions, decisive), (4_520, 3_191));

        let first = audit(&table, &mut First).unwrap();
        for seat in Seat::BOTH {
            assert!(!first.unbeatable_as(seat));
            let end = replay(&TicTacToe, &first.seat(seat).first_loss).unwrap();
            assert_eq!(TicTacToe.outcome(&end), Outcome::Win(seat.other()));
        }
        assert!(first.verdict(&TicTacToe, &Seat::BOTH).starts_with("BEATABLE ("));
    }

    #[test]
    fn the_sweep_counts_what_plain_play_counts() {
        // The same lines counted by walking every game, without a table.
        fn walk(position: rules::tictactoe::Position, seat: Seat, lines: &mut Lines) {
            match TicTacToe.outcome(&position).seen_by(seat) {
                Some(Wdl::Win) => lines.wins += 1,
                Some(Wdl::Draw) => lines.draws += 1,
                Some(Wdl::Loss) => lines.losses += 1,
                None => {
                    let mut actions = legal_actions(&TicTacToe, &position);
                    if TicTacToe.to_move(&position) == seat {
                        actions.truncate(1);
                    }
                    for action in actions {
                        let mut after = position;
                        TicTacToe.play(&mut after, action);
                        walk(after, seat, lines);
                    }
                }
            }
        }
        let audited = audit(&Table::new(&TicTacToe), &mut First).unwrap();
        for seat in Seat::BOTH {
            let mut lines = Lines::default();
            walk(TicTacToe.start(), seat, &mut lines);
            assert_eq!(audited.seat(seat).lines, lines);
        }
    }

    #[test]
    fn a_player_with_a_memory_is_refused() {
        struct Remembers;
        impl<G: Game> Player<G> for Remembers {
            fn name(&self) -> String {
                "remembers".to_owned()
            }
            fn distribution(&mut self, _: &G, _: &G::Position, _: &mut Vec<Choice>) -> Result<(), NotExact> {
                Err(NotExact("it remembers earlier games".to_owned()))
            }
        }
        assert!(audit(&Table::new(&TicTacToe), &mut Remembers).is_err());
    }
}
