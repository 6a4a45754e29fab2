//! The loss of one move, told in [`super`], and its gradient; what a search of two plies adds to it.

use net::loss::{Policy, cross_entropy, squared_error};
use net::math::{exp, ln};
use rules::{Action, Game, game::legal_actions};

use super::{Lesson, Sample};
use crate::kit::actor_critic::shown_legal;

/// Which legal actions a search of two plies finds sound: those that win at once or, where none does, those that leave the
/// opponent no win at once. Empty where it cannot tell: all are sound, or none.
pub(super) fn sound<G: Game>(game: &G, position: &G::Position) -> Vec<bool> {
    let (legal, mut wins) = (legal_actions(game, position), Vec::new());
    game.winning(position, &mut wins);
    let sound: Vec<bool> = if wins.is_empty() {
        let safe = |&action: &Action| {
            let mut after = *position;
            game.play(&mut after, action);
            wins.clear();
            game.winning(&after, &mut wins);
            wins.is_empty()
        };
        legal.iter().map(safe).collect()
    } else {
        legal.iter().map(|action| wins.contains(action)).collect()
    };
    if sound.contains(&true) && sound.contains(&false) { sound } else { Vec::new() }
}

/// The coefficients of the loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub(super) clip: f32,
    pub(super) value: f32,
    pub(super) entropy: f32,
    pub(super) search: f32,
}

/// What the loss of one move is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms {
    pub(super) policy: f32,
    pub(super) value: f32,
    pub(super) entropy: f32,
    /// - ln of the probability of a sound action.
    pub(super) search: f32,
    pub(super) ratio: f32,
    pub(super) log_ratio: f32,
}

/// Room for the loss of one move after the other.
#[derive(Debug, Default)]
pub(super) struct Room {
    legal: Vec<Action>,
    shown: Vec<Action>,
    policy: Policy,
}

impl Loss {
    /// The loss of a sample, for what the network says of it: adds its terms to `sums` and `weight` times its gradient to
    /// `d_logits`; returns `weight` times the gradient by the value.
    #[allow(clippy::too_many_arguments, reason = "what is given, and where the gradient goes")]
    pub(super) fn of_sample<G: Game>(
        &self,
        game: &G,
        Sample { step, target, lesson }: &Sample<G::Position>,
        (logits, value): (&[f32], f32),
        weight: f32,
        Room { legal, shown, policy }: &mut Room,
        d_logits: &mut [f32],
        sums: &mut Sums,
    ) -> f32 {
        shown_legal(game, &step.position, step.symmetry, legal, shown);
        match lesson {
            Lesson::Sampled { sound, log_p, advantage } => {
                let chosen = legal.iter().position(|&action| action == step.action).expect("a legal move was made");
                let (chosen, given) = ((&**shown, chosen, &**sound), (*log_p, *advantage, *target));
                let (terms, d_value) = self.of((logits, value), chosen, given, weight, policy, d_logits);
                sums.count(terms, self.clip, !sound.is_empty());
                d_value
            }
            Lesson::Searched(shares) => {
                sums.made += 1.0;
                sums.shares += f64::from(cross_entropy(logits, shown, shares, weight, policy, d_logits));
                weight * self.value * squared_error(value, *target).1
            }
        }
    }

    /// The loss of a move: `logits` and `value` are the network's, `legal` the legal actions as the network sees them,
    /// `chosen` the index of the move among them. Adds `weight` times the gradient to `d_logits`; returns the terms and
    /// `weight` times the gradient by the value. `policy` becomes that of the logits.
    #[allow(clippy::too_many_arguments, reason = "what is given, and where the gradient goes")]
    pub(super) fn of(
        &self,
        (logits, value): (&[f32], f32),
        (legal, chosen, sound): (&[Action], usize, &[bool]),
        (log_p_old, advantage, target): (f32, f32, f32),
        weight: f32,
        policy: &mut Policy,
        d_logits: &mut [f32],
    ) -> (Terms, f32) {
        policy.set(logits, legal);
        let log_ratio = policy.log_p[chosen] - log_p_old;
        // Never infinite, since 0 times that is no number.
        let ratio = exp(log_ratio).min(f32::MAX);
        let clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip);
        let surrogate = -(ratio * advantage).min(clipped * advantage);
        // Where the clipped term is the smaller one, nothing depends on the ratio.
        let d_ratio = if ratio * advantage <= clipped * advantage { -advantage } else { 0.0 };
        let entropy = policy.entropy();
        // d ln p_chosen / d logit_i = [i = chosen] - p_i, and d H / d logit_i = - p_i (ln p_i + H).
        for ((&action, &p), &log_p) in legal.iter().zip(&policy.p).zip(&policy.log_p) {
            d_logits[usize::from(action)] += weight * p * (self.entropy * (log_p + entropy) - d_ratio * ratio);
        }
        d_logits[usize::from(legal[chosen])] += weight * d_ratio * ratio;
        let mut search = 0.0;
        if !sound.is_empty() {
            // The probability of all sound actions together.
            let p_sound: f32 = policy.p.iter().zip(sound).filter(|(_, sound)| **sound).map(|(p, _)| p).sum();
            let p_sound = p_sound.max(f32::MIN_POSITIVE);
            search = -ln(p_sound);
            for ((&action, &p), &sound) in legal.iter().zip(&policy.p).zip(sound) {
                // d ln p_sound / d logit_i = [i is sound] p_i / p_sound - p_i.
                d_logits[usize::from(action)] -= weight * self.search * (if sound { p / p_sound } else { 0.0 } - p);
            }
        }
        let (square, d_square) = squared_error(value, target);
        let terms = Terms { policy: surrogate, value: square, entropy, search, ratio, log_ratio };
        (terms, weight * self.value * d_square)
    }
}

/// Sums over the moves of an iteration; but for the last two, those that the policy made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) moves: f64,
    pub(super) policy: f64,
    pub(super) value: f64,
    pub(super) entropy: f64,
    pub(super) divergence: f64,
    pub(super) clipped: f64,
    pub(super) search: f64,
    /// Moves of positions in which some are sound and some are not.
    pub(super) searched: f64,
    /// The cross-entropy towards the shares of moves that a tree search made, and their number.
    pub(super) shares: f64,
    pub(super) made: f64,
}

impl Sums {
    fn count(&mut self, terms: Terms, clip: f32, searched: bool) {
        self.moves += 1.0;
        self.policy += f64::from(terms.policy);
        self.value += f64::from(terms.value);
        self.entropy += f64::from(terms.entropy);
        // (r - 1) - ln r: never negative, and its mean is KL(p_old, p).
        self.divergence += f64::from(terms.ratio - 1.0 - terms.log_ratio);
        self.clipped += f64::from(u8::from((terms.ratio - 1.0).abs() > clip));
        self.search += f64::from(terms.search);
        self.searched += f64::from(u8::from(searched));
    }

    /// Adds those of other moves.
    pub(super) fn add(&mut self, other: &Sums) {
        // All fields by name, so that none is forgotten.
        let Sums { moves, policy, value, entropy, divergence, clipped, search, searched, shares, made } = *other;
        self.moves += moves;
        self.policy += policy;
        self.value += value;
        self.entropy += entropy;
        self.divergence += divergence;
        self.clipped += clipped;
        self.search += search;
        self.searched += searched;
        self.shares += shares;
        self.made += made;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::gradcheck::worst_error;
    use rules::game::replay;
    use rules::tictactoe::TicTacToe;

    #[test]
    fn the_gradient_is_that_of_finite_differences_on_both_sides_of_the_clip() {
        let logits = [0.4, -0.3, 9.0, 0.2];
        let legal: [Action; 3] = [0, 1, 3];
        let loss = Loss { clip: 0.2, value: 0.5, entropy: 0.05, search: 0.0 };
        let mut policy = Policy::default();
        policy.set(&logits, &legal);
        // Ratios of 1, of 1.5 and of 0.5, each with either sign of the advantage: two of the six are clipped.
        for (ratio, advantage) in [(1.0, 1.3), (1.0, -1.3), (1.5, 1.3), (1.5, -1.3), (0.5, 1.3), (0.5, -1.3)] {
            let old = policy.log_p[1] - ln(ratio);
            let given = (old, advantage, -0.4);
            let total = |x: &[f32], d: &mut [f32]| {
                let (terms, d_value) =
                    loss.of((&x[..4], x[4]), (&legal, 1, &[]), given, 1.0, &mut Policy::default(), &mut d[..4]);
                d[4] = d_value;
                f64::from(terms.policy + loss.value * terms.value - loss.entropy * terms.entropy)
            };
            let at = [logits[0], logits[1], logits[2], logits[3], 0.7];
            let mut d = [0.0; 5];
            total(&at, &mut d);
            assert!(worst_error(&at, &d, 1e-2, |x| total(x, &mut [0.0; 5])) < 1e-3, "ratio {ratio}, {advantage}");
            assert_eq!(d[2], 0.0, "an illegal action receives nothing");
            let clipped = (ratio, advantage > 0.0) == (1.5, true) || (ratio, advantage > 0.0) == (0.5, false);
            let without = Loss { entropy: 0.0, ..loss };
            let mut d = [0.0; 4];
            without.of((&logits, 0.0), (&legal, 1, &[]), given, 1.0, &mut Policy::default(), &mut d);
            assert_eq!(d == [0.0; 4], clipped, "ratio {ratio}, advantage {advantage}");
        }
    }

    #[test]
    fn a_move_that_became_endlessly_likelier_has_a_gradient_of_numbers() {
        let loss = Loss { clip: 0.2, value: 0.5, entropy: 0.01, search: 0.0 };
        for advantage in [1.0, -1.0] {
            let mut d = [0.0; 2];
            let given = (-100.0, advantage, 0.0);
            let (terms, _) = loss.of((&[0.0, 0.0], 0.0), (&[0, 1], 0, &[]), given, 1.0, &mut Policy::default(), &mut d);
            assert_eq!(terms.ratio, f32::MAX);
            assert!(d.iter().all(|d| d.is_finite()) && (d[0] > 0.0) == (advantage < 0.0), "{d:?}");
        }
    }

    #[test]
    fn the_gradient_towards_sound_moves_is_that_of_finite_differences() {
        let (logits, legal): (_, [Action; 3]) = ([0.4, -0.3, 9.0, 0.2], [0, 1, 3]);
        let loss = Loss { clip: 0.2, value: 0.0, entropy: 0.0, search: 0.7 };
        for sound in [[true, false, false], [true, false, true]] {
            // Without an advantage nothing else is left.
            let search = |x: &[f32], d: &mut [f32]| {
                let (legal, given) = ((&legal[..], 1, &sound[..]), (-1.0, 0.0, 0.0));
                loss.of((x, 0.0), legal, given, 1.0, &mut Policy::default(), d).0.search
            };
            let mut d = [0.0; 4];
            let found = search(&logits, &mut d);
            let weights = [0, 1, 3].map(|i: usize| exp(logits[i]));
            let share: f32 = weights.iter().zip(sound).filter(|(_, sound)| *sound).map(|(w, _)| w).sum();
            assert!((found + ln(share / weights.iter().sum::<f32>())).abs() < 1e-6, "{found}");
            assert!(worst_error(&logits, &d, 1e-2, |x| f64::from(0.7 * search(x, &mut [0.0; 4]))) < 1e-3);
            assert_eq!(d[2], 0.0, "an illegal action receives nothing");
        }
    }

    #[test]
    fn two_plies_tell_wins_and_blocks_and_are_silent_where_all_or_none_is_sound() {
        let found = |moves: &[Action]| {
            let position = replay(&TicTacToe, moves).unwrap();
            let legal = legal_actions(&TicTacToe, &position).into_iter();
            legal.zip(sound(&TicTacToe, &position)).filter(|(_, sound)| *sound).map(|(a, _)| a).collect::<Vec<_>>()
        };
        // X on 0 and 1, O on 3 and 4, X to move: 2 wins, and 5 would only block.
        assert_eq!(found(&[0, 3, 1, 4]), [2]);
        assert_eq!(found(&[0, 8, 1]), [2]);
        // X threatens 1 and 5; nobody threatens anything.
        assert!(found(&[0, 4, 8, 6, 2]).is_empty());
        assert!(found(&[4]).is_empty());
    }
}
