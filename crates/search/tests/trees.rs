//! Tree search on answers that are known: by hand, by closed form, by minimax.

use rules::connect4::Connect4;
use rules::game::{legal_actions, replay};
use rules::player::Choice;
use rules::tictactoe::{self, TicTacToe};
use rules::tiny::Tiny;
use rules::{Action, Evaluations, Evaluator, Game, Player, Rng, Wdl};
use search::mcts::playout;
use search::noise::add_root_noise;
use search::tree::{Gathered, Proof};
use search::{Mcts, Minimax, Rule, Searched, Tree};

/// Judges every position by a function of it.
#[derive(Clone)]
struct Judge<F>(F);

impl<G: Game, F: FnMut(&G, &G::Position) -> (Vec<f32>, Option<f32>) + Send> Evaluator<G> for Judge<F> {
    fn evaluate(&mut self, game: &G, positions: &[G::Position], out: &mut Evaluations) {
        assert!(positions.iter().all(|position| !game.outcome(position).is_over()));
        out.policies.clear();
        out.values.clear();
        for position in positions {
            let (policy, value) = (self.0)(game, position);
            out.policies.extend(policy);
            out.values.extend(value);
        }
    }
}

/// All moves equal, every position even.
fn flat<G: Game>(_: &G, _: &G::Position) -> (Vec<f32>, Option<f32>) {
    (Vec::new(), Some(0.0))
}

fn searched<G: Game, F: FnMut(&G, &G::Position) -> (Vec<f32>, Option<f32>) + Send>(
    game: &G,
    judge: F,
    simulations: u32,
) -> Searched<G, Judge<F>> {
    Searched::new(game, "judge", Judge(judge), simulations, 1)
}

fn only_choice<G: Game>(player: &mut impl Player<G>, game: &G, position: &G::Position) -> Action {
    let mut choices = Vec::new();
    player.distribution(game, position, &mut choices).unwrap();
    assert_eq!(choices.len(), 1);
    assert_eq!(choices[0], Choice { action: choices[0].action, probability: 1.0 });
    choices[0].action
}

fn exact<G: Game>(game: &G, position: &G::Position) -> search::minimax::Found {
    Minimax::default().search(game, position, 42, &mut |_, _| 0.0, &mut || false).unwrap()
}

/// Positions of random games that are not over, with at least `stones` stones.
fn random_positions<G: Game>(game: &G, stones: usize, seed: u64) -> impl Iterator<Item = G::Position> + '_ {
    (0..).flat_map(move |number| {
        let mut rng = Rng::new(seed, number);
        let mut position = game.start();
        let mut found = Vec::new();
        while !game.outcome(&position).is_over() {
            if game.ply(&position) >= stones {
                found.push(position);
            }
            let action = game.random_legal(&position, &mut rng);
            game.play(&mut position, action);
        }
        found
    })
}

#[test]
fn visits_follow_the_priors_in_closed_form() {
    // With all values even, PUCT tries the action with the greatest P / (1 + n). Of priors 3 : 1 and six visits
    // below the root, five go to the first: 3/6 = 1/2. Nothing goes to actions without prior.
    let policy =
        |_: &TicTacToe, _: &tictactoe::Position| (vec![0.0, 0.75, 0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0], Some(0.0));
    let mut player = searched(&TicTacToe, policy, 7);
    let tree = player.search(&TicTacToe, &TicTacToe.start(), &mut || false);
    let visits: Vec<u32> = tree.actions().iter().map(|stats| stats.visits).collect();
    assert_eq!(visits, [0, 5, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(tree.visits(), 7);
    assert_eq!(tree.value(), 0.0);
}

#[test]
fn a_small_tree_as_it_grows() {
    // The first side moves to A or B; under A the second may move to A0 or A1, each with one more move to a draw.
    let game = Tiny::new("(((=) (=)) ((=) (=)))");
    // Node numbers in the order of the text; values for the side to move there.
    let judge = |_: &Tiny, position: &rules::tiny::Position| {
        let value = match format!("{position:?}").as_str() {
            "Position(1)" => 0.5,
            "Position(6)" => -0.5,
            _ => 0.25,
        };
        (vec![0.6, 0.4], Some(value))
    };
    let mut player = searched(&game, judge, 4);
    let tree = player.search(&game, &game.start(), &mut || false);
    // 1: the root, 0.25. 2: the likelier A, worth -0.5 to the root's side.
    // 3: A has -0.5 + 1.5 x 0.6 x sqrt(2) / 2 = 0.136, B has the root's mean -0.125 + 1.5 x 0.4 x sqrt(2) = 0.724: B, worth 0.5.
    // 4: B has 0.5 + 1.5 x 0.4 x sqrt(3) / 2 = 1.020, A has 0.279: B again, and its likelier
    // child, 0.25 there and for the root, -0.25 for B.
    let expected = "root: 4 visits, value +0.125\n  1: 2 visits, value -0.375\n    0: 1 visits, value +0.250\n  0: 1 visits, value +0.500\n";
    assert_eq!(tree.describe(&game, 9), expected);
    assert_eq!(tree.best(), Some(1));
}

#[test]
fn a_win_is_worth_one_to_its_winner_and_minus_one_to_the_other() {
    let mut player = searched(&TicTacToe, flat, 100);
    let won = replay(&TicTacToe, &[0, 3, 1, 4]).unwrap();
    let tree = player.search(&TicTacToe, &won, &mut || false);
    assert_eq!((tree.value(), tree.proof()), (1.0, Some(Proof { wdl: Wdl::Win, plies: 1 })));
    assert_eq!(tree.best(), Some(2));
    // One move earlier, with O unable to stop both threats.
    let lost = replay(&TicTacToe, &[0, 4, 8, 6, 2]).unwrap();
    let tree = player.search(&TicTacToe, &lost, &mut || false);
    assert_eq!((tree.value(), tree.proof()), (-1.0, Some(Proof { wdl: Wdl::Loss, plies: 2 })));
}

#[test]
fn proofs_agree_with_minimax_wherever_they_are_found() {
    let mut plain = Mcts::new(&TicTacToe, 3_000);
    let mut judged = searched(&TicTacToe, flat, 3_000);
    let mut proved = 0;
    for position in random_positions(&TicTacToe, 2, 1).take(400) {
        let score = exact(&TicTacToe, &position).score;
        for tree in [
            plain.search(&TicTacToe, &position, &mut || false).clone(),
            judged.search(&TicTacToe, &position, &mut || false).clone(),
        ] {
            if let Some(proof) = tree.proof() {
                proved += 1;
                assert_eq!(proof.wdl.value(), score.value(), "{}", TicTacToe.write_position(&position));
            } else {
                assert_eq!(tree.visits(), 3_000);
            }
        }
    }
    assert!(proved > 700, "{proved} of 800");
}

#[test]
fn a_proved_win_is_kept_against_any_average() {
    // X wins in three by 6, making two threats; the judge calls everything after 6 lost for X and the rest won.
    let position = TicTacToe.read_position("xo./.x./..o x").unwrap();
    assert_eq!(exact(&TicTacToe, &position).score.proved(), Some((Wdl::Win, 3)));
    let mut misled = searched(
        &TicTacToe,
        |game: &TicTacToe, at: &tictactoe::Position| {
            let x_is_well = game.stone(at, 6).is_none() && game.stone(at, 3).is_none();
            let x_moves = game.ply(at).is_multiple_of(2);
            (Vec::new(), Some(if x_is_well == x_moves { 1.0 } else { -1.0 }))
        },
        2_000,
    );
    let tree = misled.search(&TicTacToe, &position, &mut || false);
    assert_eq!(tree.proof(), Some(Proof { wdl: Wdl::Win, plies: 3 }));
    let best = tree.best().unwrap();
    assert!(exact(&TicTacToe, &position).best.contains(&best));
}

#[test]
fn a_win_in_one_is_taken_whatever_the_network_says() {
    let blind = |game: &Connect4, _: &rules::connect4::Position| (vec![0.0; game.actions()], Some(-1.0));
    let wins = |position: &rules::connect4::Position| {
        let found = Minimax::default().search(&Connect4, position, 1, &mut |_, _| 0.0, &mut || false).unwrap();
        (found.score.proved() == Some((Wdl::Win, 1))).then_some(found.best)
    };
    let mut player = searched(&Connect4, blind, 2);
    let mut plain = Mcts::new(&Connect4, 2);
    let positions = random_positions(&Connect4, 6, 2).filter_map(|position| Some((position, wins(&position)?)));
    for (position, winning) in positions.take(1_000) {
        assert!(winning.contains(&only_choice(&mut player, &Connect4, &position)));
        assert!(winning.contains(&only_choice(&mut plain, &Connect4, &position)));
    }
    let mut player = searched(&TicTacToe, |_: &TicTacToe, _: &tictactoe::Position| (vec![0.0; 9], Some(-1.0)), 2);
    let mut seen = 0;
    for position in random_positions(&TicTacToe, 4, 3).take(2_000) {
        let found = exact(&TicTacToe, &position);
        if found.score.proved() == Some((Wdl::Win, 1)) {
            seen += 1;
            assert!(found.best.contains(&only_choice(&mut player, &TicTacToe, &position)));
        }
    }
    assert!(seen > 300);
}

#[test]
fn when_every_line_loses_the_longest_defence_is_played() {
    let mut player = Mcts::new(&TicTacToe, 20_000);
    let mut seen = 0;
    for position in random_positions(&TicTacToe, 3, 4).take(1_000) {
        let found = exact(&TicTacToe, &position);
        if matches!(found.score.proved(), Some((Wdl::Loss, plies)) if plies > 2) {
            seen += 1;
            let tree = player.search(&TicTacToe, &position, &mut || false);
            assert_eq!(tree.proof().map(|proof| proof.wdl), Some(Wdl::Loss));
            let best = tree.best().unwrap();
            assert!(found.best.contains(&best), "{} {best}", TicTacToe.write_position(&position));
        }
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn the_second_player_keeps_its_best_child() {
    // O to move must take the centre against a corner: everything else loses.
    let position = replay(&TicTacToe, &[0]).unwrap();
    assert_eq!(exact(&TicTacToe, &position).best, [4]);
    assert_eq!(only_choice(&mut Mcts::new(&TicTacToe, 5_000), &TicTacToe, &position), 4);
    assert_eq!(only_choice(&mut searched(&TicTacToe, flat, 5_000), &TicTacToe, &position), 4);
    // And the position in which another program chose a wrong child.
    let position = TicTacToe.read_position("xo./xx./o.o x").unwrap();
    assert_eq!(only_choice(&mut Mcts::new(&TicTacToe, 50), &TicTacToe, &position), 5);
}

#[test]
fn a_policy_without_weight_on_legal_moves_becomes_uniform_and_is_counted() {
    let all_on_taken =
        |_: &TicTacToe, _: &tictactoe::Position| (vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], Some(0.0));
    let position = replay(&TicTacToe, &[0]).unwrap();
    let mut player = searched(&TicTacToe, all_on_taken, 1);
    let tree = player.search(&TicTacToe, &position, &mut || false);
    assert_eq!(tree.repaired(), 1);
    let priors: Vec<(Action, f32)> = tree.actions().iter().map(|stats| (stats.action, stats.prior)).collect();
    assert_eq!(priors, (1..9).map(|cell| (cell, 0.125)).collect::<Vec<_>>());
    // So do numbers that are none, which count as even.
    let nan = |_: &TicTacToe, _: &tictactoe::Position| (vec![f32::NAN; 9], Some(f32::NAN));
    let mut player = searched(&TicTacToe, nan, 50);
    let tree = player.search(&TicTacToe, &position, &mut || false);
    assert_eq!(tree.repaired(), u64::from(tree.visits()) - ended(tree));
    assert!(tree.value().is_finite());
}

/// Simulations that ended in a proved position below the root: those need no judgement.
fn ended(tree: &Tree<TicTacToe>) -> u64 {
    let text = tree.describe(&TicTacToe, 9);
    let proved = text.lines().filter(|line| line.contains(" in ")).map(|line| {
        let visits = line.split(": ").nth(1).unwrap().split(' ').next().unwrap();
        visits.parse::<u64>().unwrap()
    });
    proved.sum()
}

#[test]
fn noise_touches_legal_root_moves_only_and_stays_the_same_through_the_search() {
    let position = replay(&TicTacToe, &[0, 1, 4, 8, 7]).unwrap();
    let legal = legal_actions(&TicTacToe, &position);
    let mut tree = Tree::new(&TicTacToe, Rule::Puct { exploration: 1.5 });
    tree.reset(&TicTacToe, &position, Rng::new(1, 0));
    let Gathered::Leaf(leaf) = tree.gather(&TicTacToe) else { panic!("the root is a leaf") };
    tree.apply(&leaf, &[], 0.0);
    let uniform = 1.0 / legal.len() as f32;
    add_root_noise(&mut tree, 0.25, 1.0, &mut Rng::new(2, 0));
    let priors =
        |tree: &Tree<TicTacToe>| tree.actions().iter().map(|stats| (stats.action, stats.prior)).collect::<Vec<_>>();
    let noisy = priors(&tree);
    assert_eq!(noisy.iter().map(|p| p.0).collect::<Vec<_>>(), legal);
    assert!((noisy.iter().map(|p| p.1).sum::<f32>() - 1.0).abs() < 1e-6);
    assert!(noisy.iter().all(|p| p.1 != uniform && p.1 >= 0.75 * uniform - 1e-6));
    // As many visits as were asked for reach the root, and the priors are read as they were written.
    while tree.visits() < 60 && tree.proof().is_none() {
        if let Gathered::Leaf(leaf) = tree.gather(&TicTacToe) {
            tree.apply(&leaf, &[], 0.0);
        }
        assert_eq!(priors(&tree), noisy);
    }
}

#[test]
fn noise_brings_visits_to_a_move_that_the_policy_rules_out() {
    let mut tree = Tree::new(&Connect4, Rule::Puct { exploration: 1.5 });
    let visits_of_the_last = |tree: &mut Tree<Connect4>, noise: bool| {
        tree.reset(&Connect4, &Connect4.start(), Rng::new(1, 0));
        let policy = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for simulation in 0..100 {
            let Gathered::Leaf(leaf) = tree.gather(&Connect4) else { panic!("nothing is proved so early") };
            tree.apply(&leaf, &policy, 0.0);
            if simulation == 0 && noise {
                tree.change_root_priors(|priors| {
                    for (action, prior) in priors {
                        *prior = 0.75 * *prior + if *action == 6 { 0.25 } else { 0.0 };
                    }
                });
            }
        }
        assert_eq!(tree.visits(), 100);
        tree.actions()[6].visits
    };
    assert_eq!(visits_of_the_last(&mut tree, false), 0);
    // 99 visits in the proportion 3 : 1.
    assert!((23..=26).contains(&visits_of_the_last(&mut tree, true)));
}

#[test]
fn a_finished_game_has_no_move_and_its_tree_prints() {
    let over = replay(&TicTacToe, &[0, 3, 1, 4, 2]).unwrap();
    let mut tree = Tree::new(&TicTacToe, Rule::Uct { exploration: 1.0 });
    tree.reset(&TicTacToe, &over, Rng::new(1, 0));
    assert_eq!(tree.gather(&TicTacToe), Gathered::Ended);
    assert_eq!(tree.describe(&TicTacToe, 3), "root: 1 visits, value -1.000, loss in 0\n");
    assert_eq!(tree.best(), None);
}

#[test]
fn nothing_is_carried_from_one_game_to_the_next() {
    let position = replay(&Connect4, &[3, 3, 2]).unwrap();
    let fresh = Mcts::new(&Connect4, 300).search(&Connect4, &position, &mut || false).describe(&Connect4, 3);
    let mut used = Mcts::new(&Connect4, 300);
    for moves in [&[][..], &[0, 1, 2, 3], &[6, 6, 6]] {
        used.search(&Connect4, &replay(&Connect4, moves).unwrap(), &mut || false);
    }
    assert_eq!(used.search(&Connect4, &position, &mut || false).describe(&Connect4, 3), fresh);
}

#[test]
fn a_search_does_not_touch_the_position_and_stops_when_told() {
    let position = replay(&Connect4, &[3, 3, 2]).unwrap();
    let before = Connect4.write_position(&position);
    let mut polls = 0;
    let mut stop = || {
        polls += 1;
        polls > 40
    };
    let mut player = Mcts::new(&Connect4, 1_000_000);
    assert_eq!(player.search(&Connect4, &position, &mut stop).visits(), 40);
    assert_eq!(Connect4.write_position(&position), before);
}

#[test]
fn batches_make_as_many_simulations_and_find_the_same_tactics() {
    let mut rng = Rng::new(9, 0);
    let mut calls = 0;
    let mut judge = |game: &Connect4, position: &rules::connect4::Position| {
        calls += 1;
        (Vec::new(), Some(playout(game, position, &mut rng)))
    };
    // X to move: 3 stones in a row with one end open, so O's last move lost.
    let position = replay(&Connect4, &[2, 2, 3, 3]).unwrap();
    let mut player = Searched::new(&Connect4, "judge", Judge(&mut judge), 400, 16);
    let tree = player.search(&Connect4, &position, &mut || false);
    assert_eq!(tree.proof(), Some(Proof { wdl: Wdl::Win, plies: 3 }), "{}", tree.describe(&Connect4, 1));
    assert!(tree.visits() <= 400);
    assert_eq!(Player::<Connect4>::name(&player), "judge@400");
    assert!(calls <= 400);
}

#[test]
fn an_evaluator_without_values_is_helped_by_random_games() {
    let policy_only = |_: &Connect4, _: &rules::connect4::Position| (vec![0.1; 7], None);
    let mut player = searched(&Connect4, policy_only, 200);
    let tree = player.search(&Connect4, &Connect4.start(), &mut || false);
    // The first player wins 55.6 % of random games; with search it does better.
    assert!(tree.value() > 0.0 && tree.value() < 0.9, "{}", tree.value());
}
