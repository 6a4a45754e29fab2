//! The best that can be done against a player that always moves the same way.

use std::collections::HashMap;

use net::file::Tensor;
use rules::{Action, Game, Outcome, Rng, Seat};

use crate::kit::after_states::{AfterStatePlayer, Behaviour, Episode, NetworkValues};
use crate::learner::RestoreError;

/// For every position that can arise against a deterministic player in one seat: the move that is best against it.
/// Found by playing the game out, so only for games that can be.
#[derive(Clone, Debug)]
pub struct BestResponse<G: Game> {
    moves: HashMap<G::Position, Action>,
    value: f32,
}

impl<G: Game> BestResponse<G> {
    /// The best response to `player`, which sits in `seat` and moves as the function says.
    pub fn new(game: &G, seat: Seat, player: &mut impl FnMut(&G::Position) -> Action) -> BestResponse<G> {
        let mut values = HashMap::new();
        let mut moves = HashMap::new();
        let value = walk(game, seat.other(), &game.start(), player, &mut values, &mut moves);
        BestResponse { moves, value }
    }

    /// The best move in a position that arose against the player; `None` if it cannot arise.
    pub fn choose(&self, position: &G::Position) -> Option<Action> {
        self.moves.get(position).copied()
    }

    /// What the response achieves: +1, 0 or -1.
    pub fn value(&self) -> f32 {
        self.value
    }
}

/// The opponent that finds every hole: plays the best response to the greedy play of a frozen copy of the learner.
#[derive(Clone, Debug)]
pub struct Adversary<G: Game> {
    frozen: NetworkValues,
    /// Against the copy in the first and in the second seat; computed when first needed.
    responses: Option<[BestResponse<G>; 2]>,
}

impl<G: Game> Adversary<G> {
    /// Against a copy of these values.
    pub fn of(values: &NetworkValues) -> Adversary<G> {
        Adversary { frozen: values.clone(), responses: None }
    }

    /// Plays a game against the learner, who sits in a seat drawn by chance and moves epsilon-greedily. Where the
    /// learner's present play has led to what the copy would not have, the adversary moves as the learner does.
    pub fn play(
        &mut self,
        game: &G,
        episode: &mut Episode<G>,
        values: &mut NetworkValues,
        behaviour: Behaviour,
        rng: &mut Rng,
    ) {
        let frozen = &self.frozen;
        let responses = self.responses.get_or_insert_with(|| {
            let mut player = AfterStatePlayer::new("frozen", frozen.clone(), true, 0.0);
            Seat::BOTH.map(|seat| BestResponse::new(game, seat, &mut |position| player.greedy(game, position)))
        });
        let seat = Seat::at_ply(rng.below(2));
        episode.begin(game, 0, rng);
        while !episode.outcome().is_over() {
            let own_move = game.to_move(episode.position()) == seat;
            let reply = if own_move { None } else { responses[seat.index()].choose(episode.position()) };
            let (action, explored) = match reply {
                Some(action) => (action, false),
                None => episode.choose(game, values, behaviour, rng),
            };
            episode.play(game, action, explored);
        }
    }

    /// The copy's weights.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.frozen.tensors("frozen.")
    }

    /// With the weights that [`Adversary::tensors`] gave; `like` has the same shape.
    ///
    /// # Errors
    /// If they are another network's, or damaged.
    pub fn restore(like: &NetworkValues, tensors: &[Tensor]) -> Result<Adversary<G>, RestoreError> {
        let mut adversary = Adversary::of(like);
        adversary.frozen.set_tensors("frozen.", tensors)?;
        Ok(adversary)
    }
}

/// The value of a position for `responder`; remembers its moves.
fn walk<G: Game>(
    game: &G,
    responder: Seat,
    position: &G::Position,
    player: &mut impl FnMut(&G::Position) -> Action,
    values: &mut HashMap<G::Position, f32>,
    moves: &mut HashMap<G::Position, Action>,
) -> f32 {
    match game.outcome(position) {
        Outcome::Ongoing => {}
        over => return over.seen_by(responder).map_or(0.0, rules::Wdl::value),
    }
    if let Some(&value) = values.get(position) {
        return value;
    }
    let after = |action| {
        let mut after = *position;
        game.play(&mut after, action);
        after
    };
    let value = if game.to_move(position) == responder {
        let mut best = (f32::NEG_INFINITY, 0);
        for action in rules::game::legal_actions(game, position) {
            let value = walk(game, responder, &after(action), player, values, moves);
            if value > best.0 {
                best = (value, action);
            }
        }
        moves.insert(*position, best.1);
        best.0
    } else {
        let reply = player(position);
        walk(game, responder, &after(reply), player, values, moves)
    };
    values.insert(*position, value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::game::legal_actions;
    use rules::tictactoe::TicTacToe;
    use rules::tiny::Tiny;

    #[test]
    fn it_takes_what_the_player_leaves() {
        // The player takes the first move; behind it the responder finds his win.
        let game = Tiny::new("((= o) x)");
        let response = BestResponse::new(&game, Seat::First, &mut |_| 0);
        assert_eq!(response.value(), 1.0);
        assert_eq!(response.choose(&rules::game::replay(&game, &[0]).unwrap()), Some(1));
        assert_eq!(response.choose(&game.start()), None);
        // Against the same player in the second seat he wins at once.
        assert_eq!(BestResponse::new(&game, Seat::Second, &mut |_| 0).choose(&game.start()), Some(1));
    }

    #[test]
    fn it_beats_a_player_of_tic_tac_toe_who_plays_the_first_empty_cell() {
        for seat in Seat::BOTH {
            let mut first = |position: &_| legal_actions(&TicTacToe, position)[0];
            let response = BestResponse::new(&TicTacToe, seat, &mut first);
            assert_eq!(response.value(), 1.0);
            let mut position = TicTacToe.start();
            while !TicTacToe.outcome(&position).is_over() {
                let to_move = TicTacToe.to_move(&position);
                let action = if to_move == seat { first(&position) } else { response.choose(&position).unwrap() };
                TicTacToe.play(&mut position, action);
            }
            assert_eq!(TicTacToe.outcome(&position), Outcome::Win(seat.other()));
        }
    }
}
