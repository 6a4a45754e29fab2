//! `tengen openings`: openings that favour neither side, for boards whose short openings are too many or lopsided.

use std::num::{NonZeroU16, NonZeroU64, NonZeroUsize};

use anyhow::{Result, bail};
use arena::balance::{self, Wish};
use arena::record;
use arena::tournament::Control;
use rules::Player;
use search::mcts::Mcts;

use crate::commands::train::{draw_seed, threads};
use crate::exit::Ended;
use crate::registry::{self, Known, WithGame};
use crate::stop::Saving;
use crate::talk;

/// Find even openings, by letting Monte Carlo tree search play both sides of many
///
/// Candidates are random moves that lie together in the middle of the board. One is taken if the games that the search
/// plays against itself from there end so that wins and losses differ by at most a quarter of them. Prints a list for
/// 'tengen arena --openings', as it is found; game, numbers and seed determine it, not the threads.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  tengen openings gomoku --simulations 2000 --count 100 > even.txt
  tengen arena A B --game gomoku --openings even.txt")]
pub(crate) struct Args {
    /// The game
    game: String,
    /// How many openings
    #[arg(long, short = 'c', value_name = "N", default_value_t = NonZeroUsize::new(100).expect("it is not 0"))]
    count: NonZeroUsize,
    /// Simulations for each move
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    simulations: u32,
    /// Games that decide about an opening
    #[arg(long, short = 'n', default_value_t = NonZeroU64::new(8).expect("it is not 0"))]
    games: NonZeroU64,
    /// The least number of moves in an opening
    #[arg(long, value_name = "PLIES", default_value_t = 3)]
    least: usize,
    /// The greatest number of moves in an opening
    #[arg(long, value_name = "PLIES", default_value_t = 6)]
    most: usize,
    /// Start of all randomness, a number below 2^63 [default: drawn and printed]
    #[arg(long, short, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Threads to use; never changes the result [default: all]
    #[arg(long, short, value_name = "T")]
    threads: Option<NonZeroU16>,
}

/// The command.
pub(crate) fn run(args: &Args) -> Result<()> {
    registry::with_game(&args.game, Openings(args))
}

struct Openings<'a>(&'a Args);

impl WithGame for Openings<'_> {
    type Output = ();

    fn run<G: Known>(self, game: G) -> Result<()> {
        let Args { simulations, least, most, .. } = *self.0;
        let longest = game.cells() / 4;
        if !(1..=most).contains(&least) || most > longest {
            bail!("openings of {least} to {most} moves: on this board from 1 to {longest} are possible");
        }
        let seed = self.0.seed.map_or_else(draw_seed, Ok)?;
        let wish = Wish { count: self.0.count.get(), plies: (least, most), games: self.0.games.get(), seed };
        let (count, games, name) = (wish.count, wish.games, game.name());
        talk::data(format!(
            "# Even openings of {name}: wins and losses of mcts:{simulations} against itself differ by at most {} in {games} games.\n\
             # tengen openings {name} --simulations {simulations} --games {games} --least {least} --most {most} --count {count} --seed {seed}",
            games / 4
        ))?;
        let make = |salt| Box::new(Mcts::new(&game, simulations).salted(salt)) as Box<dyn Player<G>>;
        let saving = Saving::begin();
        let (mut examined, mut taken, mut failure) = (0_u64, 0, None);
        balance::search(&game, wish, &make, threads(self.0.threads), &mut |candidate| {
            examined += 1;
            if candidate.taken {
                taken += 1;
                let (moves, tally) = (record::write_moves(&game, &candidate.opening), candidate.tally);
                let line = format!(
                    "{moves:24} # first player: {} won, {} drawn, {} lost",
                    tally.wins, tally.draws, tally.losses
                );
                if let Err(e) = talk::data(line) {
                    failure = Some(e);
                    return Control::Stop;
                }
            }
            if saving.asked() { Control::Stop } else { Control::Continue }
        });
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        talk::say(format!("{taken} of {examined} candidates are even"));
        if saving.asked() {
            bail!(Ended::Interrupted("stopped: the list is shorter than asked for".to_owned()));
        }
        if taken < count {
            bail!(Ended::Failed(format!(
                "there seem to be no more than {taken} even openings of {least} to {most} moves"
            )));
        }
        Ok(())
    }
}
