//! The tournament opening swap2, which evens out the advantage of the first move.
//!
//! One player, the *proposer*, places three stones: black, white, black. The other, the *chooser*, then takes White
//! and goes on, takes Black and leaves White to the proposer, or places two more stones, white and black,
//! after which the proposer chooses. From then on it is a usual game, White to move. (So it is played in the Gomoku
//! World Championships and asked of engines by the Gomocup protocol.)
//!
//! It is no part of the game's rules: it is played before the game, which begins from the position that it leads to.

use rules::notation::NotationError;
use rules::{Action, Game, Outcome, Player, Rng, Seat};

/// A player during the opening, when colours are not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// Places the first three stones.
    Proposer,
    /// Answers them.
    Chooser,
}

/// What is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This party places so many stones: black, white, black or white, black.
    Place(Party, usize),
    /// This party takes a colour; if `may_place`, it may place two stones instead.
    Choose {
        /// Whose choice it is.
        party: Party,
        /// Whether two more stones may be placed instead.
        may_place: bool,
    },
    /// The game begins with White to move; this party has Black, the other White.
    Begin {
        /// The party in the first seat.
        black: Party,
    },
}

/// An answer to [`Step::Choose`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// To play Black.
    Black,
    /// To play White, who is to move.
    White,
    /// To place two more stones and leave the choice to the other.
    PlaceTwo,
}

/// The opening, at some step of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Swap2<G: Game> {
    game: G,
    position: G::Position,
    moves: Vec<Action>,
    step: Step,
}

impl<G: Game> Swap2<G> {
    /// Before the first stone.
    pub fn new(game: G) -> Self {
        let position = game.start();
        Swap2 { game, position, moves: Vec::new(), step: Step::Place(Party::Proposer, 3) }
    }

    /// What is expected next, and of whom.
    pub fn step(&self) -> Step {
        self.step
    }

    /// The stones so far.
    pub fn position(&self) -> &G::Position {
        &self.position
    }

    /// The stones so far, in the order in which they were placed.
    pub fn moves(&self) -> &[Action] {
        &self.moves
    }

    /// Places the stones that are expected, all at once.
    ///
    /// # Errors
    /// If no stones, or another number of them, are expected, or one of them is refused; nothing has changed then.
    pub fn place(&mut self, stones: &[Action]) -> Result<(), NotationError> {
        let Step::Place(party, number) = self.step else {
            return Err(NotationError("no stones are to be placed now".to_owned()));
        };
        if stones.len() != number {
            return Err(NotationError(format!("{} stones where {number} are to be placed", stones.len())));
        }
        let mut position = self.position;
        for &stone in stones {
            self.game.try_play(&mut position, stone).map_err(|refusal| {
                let off_board = usize::from(stone) >= self.game.actions();
                let point = if off_board { format!("action {stone}") } else { self.game.write_action(stone) };
                NotationError(format!("{point}: {refusal}"))
            })?;
        }
        if self.game.outcome(&position) != Outcome::Ongoing {
            return Err(NotationError("the opening may not end the game".to_owned()));
        }
        self.position = position;
        self.moves.extend(stones);
        self.step = match party {
            Party::Proposer => Step::Choose { party: Party::Chooser, may_place: true },
            Party::Chooser => Step::Choose { party: Party::Proposer, may_place: false },
        };
        Ok(())
    }

    /// Makes the choice that is expected.
    ///
    /// # Errors
    /// If no choice is expected, or not this one.
    pub fn choose(&mut self, choice: Choice) -> Result<(), NotationError> {
        let Step::Choose { party, may_place } = self.step else {
            return Err(NotationError("there is nothing to choose now".to_owned()));
        };
        let other = match party {
            Party::Proposer => Party::Chooser,
            Party::Chooser => Party::Proposer,
        };
        self.step = match choice {
            Choice::Black => Step::Begin { black: party },
            Choice::White => Step::Begin { black: other },
            Choice::PlaceTwo if may_place => Step::Place(party, 2),
            Choice::PlaceTwo => return Err(NotationError("two stones have been placed already".to_owned())),
        };
        Ok(())
    }

    /// The side to move next on the board.
    pub fn to_move(&self) -> Seat {
        self.game.to_move(&self.position)
    }
}

/// Plays the opening with two players who know only the game, the proposer first. Returns all its stones and who has
/// Black.
///
/// `stones` are the proposer's three. Whoever is to choose plays the position out against itself, and takes the colour
/// that wins. If neither does, the chooser adds its own next two moves, unless they would end the game, and
/// then it takes White, as the proposer does. Who fails at it has White, and fails again when it is to move.
///
/// # Panics
/// If `stones` are not three, not legal, or end the game.
pub fn settle<G: Game>(
    game: &G,
    stones: &[Action],
    [proposer, chooser]: [&mut dyn Player<G>; 2],
    rng: &mut Rng,
) -> (Vec<Action>, Party) {
    let mut swap2 = Swap2::new(game.clone());
    loop {
        match swap2.step() {
            Step::Place(Party::Proposer, _) => swap2.place(stones).expect("a proposal is three legal stones"),
            Step::Choose { party, may_place } => {
                let player = match party {
                    Party::Proposer => &mut *proposer,
                    Party::Chooser => &mut *chooser,
                };
                let choice = match alone(game, swap2.position, player, rng) {
                    Some((_, Outcome::Win(Seat::First))) => Choice::Black,
                    Some((moves, Outcome::Draw)) if may_place && moves.len() > 2 => {
                        swap2.choose(Choice::PlaceTwo).expect("stones may be placed");
                        swap2.place(&moves[..2]).expect("the game went on after them");
                        continue;
                    }
                    _ => Choice::White,
                };
                swap2.choose(choice).expect("a choice is due");
            }
            Step::Begin { black } => return (swap2.moves, black),
            Step::Place(Party::Chooser, _) => unreachable!("its two stones are placed as it chooses to place them"),
        }
    }
}

/// A game of a player against itself from here: its moves and how it ends, unless it fails.
fn alone<G: Game>(
    game: &G,
    mut position: G::Position,
    player: &mut dyn Player<G>,
    rng: &mut Rng,
) -> Option<(Vec<Action>, Outcome)> {
    let mut moves = Vec::new();
    while !game.outcome(&position).is_over() {
        let action = player.choose(game, &position, rng).ok()?;
        game.try_play(&mut position, action).ok()?;
        moves.push(action);
    }
    Some((moves, game.outcome(&position)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::grid::{Grid, Position, Rule};
    use rules::player::{Choice as Move, Forfeit, NotExact};

    fn opening() -> (Grid, Swap2<Grid>) {
        let game = Grid::gomoku(15, Rule::Standard).unwrap();
        (game, Swap2::new(game))
    }

    fn points(game: &Grid, text: &str) -> Vec<Action> {
        text.split_whitespace().map(|point| game.read_action(point).unwrap()).collect()
    }

    #[test]
    fn the_chooser_takes_either_colour_and_white_moves_next() {
        for (choice, black) in [(Choice::White, Party::Proposer), (Choice::Black, Party::Chooser)] {
            let (game, mut swap2) = opening();
            assert_eq!(swap2.step(), Step::Place(Party::Proposer, 3));
            swap2.place(&points(&game, "h8 i9 a1")).unwrap();
            assert_eq!(swap2.step(), Step::Choose { party: Party::Chooser, may_place: true });
            swap2.choose(choice).unwrap();
            assert_eq!(swap2.step(), Step::Begin { black });
            assert_eq!((game.ply(swap2.position()), swap2.to_move()), (3, Seat::Second));
            assert_eq!(game.stone(swap2.position(), usize::from(swap2.moves()[1])), Some(Seat::Second));
        }
    }

    #[test]
    fn two_more_stones_leave_the_choice_to_the_proposer() {
        for (choice, black) in [(Choice::White, Party::Chooser), (Choice::Black, Party::Proposer)] {
            let (game, mut swap2) = opening();
            swap2.place(&points(&game, "h8 i9 a1")).unwrap();
            swap2.choose(Choice::PlaceTwo).unwrap();
            assert_eq!(swap2.step(), Step::Place(Party::Chooser, 2));
            swap2.place(&points(&game, "b2 c3")).unwrap();
            assert_eq!(swap2.step(), Step::Choose { party: Party::Proposer, may_place: false });
            assert!(swap2.choose(Choice::PlaceTwo).unwrap_err().0.contains("already"));
            swap2.choose(choice).unwrap();
            assert_eq!(swap2.step(), Step::Begin { black });
            assert_eq!((game.ply(swap2.position()), swap2.to_move()), (5, Seat::Second));
        }
    }

    #[test]
    fn what_is_out_of_turn_or_refused_changes_nothing() {
        let (game, mut swap2) = opening();
        let before = swap2.clone();
        assert!(swap2.choose(Choice::Black).unwrap_err().0.contains("nothing to choose"));
        assert!(swap2.place(&points(&game, "h8 i9")).unwrap_err().0.contains("2 stones where 3"));
        assert_eq!(swap2.place(&points(&game, "h8 i9 h8")).unwrap_err().0, "h8: there is a stone already");
        assert!(swap2.place(&[0, 1, 225]).unwrap_err().0.starts_with("action 225: there is no such point"));
        assert_eq!(swap2, before);
        swap2.place(&points(&game, "h8 i9 a1")).unwrap();
        assert!(swap2.place(&points(&game, "b2 c3")).unwrap_err().0.contains("no stones are to be placed"));
        swap2.choose(Choice::White).unwrap();
        assert!(swap2.choose(Choice::White).unwrap_err().0.contains("nothing to choose"));
    }
    /// Plays the first point of its list that is free; fails when there is none.
    struct Script(Vec<Action>);

    impl Player<Grid> for Script {
        fn name(&self) -> String {
            "script".to_owned()
        }

        fn distribution(&mut self, _: &Grid, _: &Position, _: &mut Vec<Move>) -> Result<(), NotExact> {
            Err(NotExact("it reads from a list".to_owned()))
        }

        fn choose(&mut self, game: &Grid, position: &Position, _: &mut Rng) -> Result<Action, Forfeit> {
            let free = self.0.iter().copied().find(|&action| game.referee(position, action).is_ok());
            free.ok_or(Forfeit::Resigned)
        }
    }

    /// Who has Black after this proposal, and how many stones there are, if the parties play these points.
    fn settled(game: Grid, proposal: &str, lists: [&str; 2]) -> (Party, usize) {
        let [mut proposer, mut chooser] = lists.map(|list| Script(points(&game, list)));
        let stones = points(&game, proposal);
        let (moves, black) = settle(&game, &stones, [&mut proposer, &mut chooser], &mut Rng::new(1, 0));
        assert!(moves.starts_with(&stones));
        (black, moves.len())
    }

    #[test]
    fn who_chooses_takes_the_colour_that_wins_when_it_plays_on_alone() {
        // Three in a row win here, and White moves next. First it lets Black complete a row, then it completes its own.
        let game = "mnk:5,5,3".parse::<Grid>().unwrap();
        assert_eq!(settled(game, "a1 a3 b1", ["", "c5 c1"]), (Party::Chooser, 3));
        assert_eq!(settled(game, "a1 b3 e5", ["", "c3 d5 a3"]), (Party::Proposer, 3));
        // Who fails has White.
        assert_eq!(settled(game, "a1 b3 e5", ["", "d1"]), (Party::Proposer, 3));
    }

    #[test]
    fn without_a_winner_the_chooser_adds_two_stones_and_the_proposer_chooses() {
        // Played to the end by this list, there is no row of three.
        let game = "mnk:3,3,3".parse::<Grid>().unwrap();
        let draw = "c3 c2 a2 b3 b1 a1";
        assert_eq!(settled(game, "b2 c1 a3", [draw, draw]), (Party::Chooser, 5));
    }
}
