//! One game between two players, with every way in which it can end.

use std::fmt;

use rules::{Action, Forfeit, Game, Outcome, Player, Refusal, Rng, Seat};

/// A finished game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// All moves from the empty board, those of the opening first.
    pub moves: Vec<Action>,
    /// How many of them belong to the opening, which no player chose.
    pub opening: usize,
    /// The result. A player that makes no move loses, whatever is on the board.
    pub outcome: Outcome,
    /// How the result came about.
    pub end: End,
}

/// How a game ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// On the board: a completed line, or a draw.
    Board,
    /// The side to move made no move and lost by it.
    Forfeit(Forfeit),
    /// The side to move chose this action, which the referee refused, and lost by it.
    Illegal(Action, Refusal),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Board => f.write_str("played to the end"),
            End::Forfeit(forfeit) => forfeit.fmt(f),
            End::Illegal(action, refusal) => write!(f, "illegal move {action}: {refusal}"),
        }
    }
}

/// Plays a game to its end. `players` are the first and the second seat; `opening` is played before anyone is asked.
///
/// # Panics
/// If the opening is not legal, or ends the game.
pub fn play_game<G: Game>(game: &G, opening: &[Action], players: [&mut dyn Player<G>; 2], rng: &mut Rng) -> Played {
    let mut position = rules::game::replay(game, opening).expect("an opening is legal");
    let mut moves = opening.to_vec();
    let mut outcome = game.outcome(&position);
    assert!(!outcome.is_over(), "an opening leaves something to play");
    let [first, second] = players;
    let mut end = End::Board;
    while !outcome.is_over() {
        let mover = game.to_move(&position);
        let choice = match mover {
            Seat::First => first.choose(game, &position, rng),
            Seat::Second => second.choose(game, &position, rng),
        };
        let refused = match choice {
            Ok(action) => match game.try_play(&mut position, action) {
                Ok(()) => {
                    moves.push(action);
                    outcome = game.outcome(&position);
                    continue;
                }
                Err(refusal) => End::Illegal(action, refusal),
            },
            Err(forfeit) => End::Forfeit(forfeit),
        };
        end = refused;
        outcome = Outcome::Win(mover.other());
    }
    Played { moves, opening: opening.len(), outcome, end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::Wdl;
    use rules::game::replay;
    use rules::player::Random;
    use rules::player::{Choice, NotExact};
    use rules::tictactoe::{Position, TicTacToe};

    /// Plays the given moves in turn, then gives up in the given way.
    struct Script(Vec<Action>, Forfeit);

    impl Player<TicTacToe> for Script {
        fn name(&self) -> String {
            "script".to_owned()
        }

        fn distribution(&mut self, _: &TicTacToe, _: &Position, _: &mut Vec<Choice>) -> Result<(), NotExact> {
            Err(NotExact("it follows a script".to_owned()))
        }

        fn choose(&mut self, _: &TicTacToe, _: &Position, _: &mut Rng) -> Result<Action, Forfeit> {
            if self.0.is_empty() { Err(self.1.clone()) } else { Ok(self.0.remove(0)) }
        }
    }

    fn play(first: &[Action], second: &[Action], forfeit: Forfeit) -> Played {
        let mut first = Script(first.to_vec(), forfeit.clone());
        let mut second = Script(second.to_vec(), forfeit);
        play_game(&TicTacToe, &[], [&mut first, &mut second], &mut Rng::new(0, 0))
    }

    #[test]
    fn a_line_and_a_full_board_end_the_game_on_the_board() {
        let won = play(&[0, 1, 2], &[3, 4], Forfeit::Left);
        assert_eq!((won.outcome, &won.end), (Outcome::Win(Seat::First), &End::Board));
        let drawn = play(&[0, 2, 3, 7, 5], &[1, 4, 6, 8], Forfeit::Left);
        assert_eq!((drawn.outcome, &drawn.end, drawn.moves.len()), (Outcome::Draw, &End::Board, 9));
    }

    #[test]
    fn who_makes_no_move_loses_in_either_seat_whatever_the_reason() {
        for forfeit in [Forfeit::Resigned, Forfeit::Left, Forfeit::TimedOut, Forfeit::Failed("crashed".to_owned())] {
            let lost = play(&[0], &[1], forfeit.clone());
            assert_eq!((lost.outcome, &lost.end), (Outcome::Win(Seat::Second), &End::Forfeit(forfeit.clone())));
            let lost = play(&[0, 2], &[1], forfeit.clone());
            assert_eq!((lost.outcome, &lost.end), (Outcome::Win(Seat::First), &End::Forfeit(forfeit)));
        }
        assert_eq!(Forfeit::TimedOut.to_string(), "lost on time");
    }

    #[test]
    fn an_illegal_move_loses_and_says_why() {
        let lost = play(&[0, 1], &[0], Forfeit::Left);
        assert_eq!((lost.outcome, &lost.end), (Outcome::Win(Seat::First), &End::Illegal(0, Refusal::Occupied)));
        assert_eq!(lost.moves, [0]);
        assert_eq!(lost.end.to_string(), "illegal move 0: there is a stone already");
    }

    #[test]
    fn the_opening_is_played_and_the_right_seat_goes_on() {
        let mut first = Script(vec![2], Forfeit::Left);
        let mut second = Script(vec![5], Forfeit::Left);
        let played = play_game(&TicTacToe, &[0, 3, 1, 4], [&mut first, &mut second], &mut Rng::new(0, 0));
        assert_eq!((played.moves.as_slice(), played.opening), ([0, 3, 1, 4, 2].as_slice(), 4));
        let played = play_game(&TicTacToe, &[0], [&mut first, &mut second], &mut Rng::new(0, 0));
        assert_eq!((played.moves.as_slice(), played.outcome), ([0, 5].as_slice(), Outcome::Win(Seat::Second)));
    }

    #[test]
    fn the_result_is_the_referees_in_every_random_game() {
        for number in 0..200 {
            let mut rng = Rng::new(5, number);
            let played = play_game(&TicTacToe, &[], [&mut Random, &mut Random], &mut rng);
            let end = replay(&TicTacToe, &played.moves).unwrap();
            assert_eq!(played.outcome, TicTacToe.outcome(&end));
            for seat in Seat::BOTH {
                let won = !TicTacToe.winning_lines(&end).is_empty() && TicTacToe.to_move(&end) != seat;
                assert_eq!(played.outcome.seen_by(seat) == Some(Wdl::Win), won);
            }
        }
    }
}
