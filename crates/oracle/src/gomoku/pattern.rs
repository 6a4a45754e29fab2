//! What a stone on an empty point would make of one line: a table over the stones around the point.
//!
//! A line is seen from a point as the `reach` points on either side of it, each a digit: 0 empty, 1 own, 2 blocked (the
//! opponent's or outside the board). The number made of these digits, base 3, is the key of a table of [`Shape`]s.
//! With five or more to win, four points on either side decide everything; where six are no five, a fifth is needed.

/// What one stone more makes of a line, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Shape {
    /// Nothing that three more stones could complete.
    Nothing,
    /// One more makes a closed three.
    ClosedTwo,
    /// One more makes an open three.
    OpenTwo,
    /// One more makes a four.
    ClosedThree,
    /// One more makes an open four.
    OpenThree,
    /// One point completes a five.
    Four,
    /// Two points complete a five, by different fours; where that is forbidden. Elsewhere it is an open four.
    TwoFours,
    /// Two points complete a five, so no single stone meets it.
    OpenFour,
    /// A row that wins.
    Five,
    /// Six or more where that is forbidden.
    Overline,
}

/// Which rows win, and whether the colour is bound by Renju's prohibitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wins {
    /// Five or more win.
    FiveOrMore,
    /// Exactly five win.
    ExactlyFive,
    /// Exactly five win; six or more, and two fours at once, are forbidden.
    Bound,
}

/// The shapes of all keys for lines seen up to `reach` points to either side.
///
/// A key is larger than that of the same line with one own stone less, so entries are made from the last to the first,
/// each from those of the lines with one stone more.
pub(crate) fn shapes(wins: Wins, reach: usize) -> Vec<Shape> {
    assert!(reach >= if wins == Wins::FiveOrMore { 4 } else { 5 });
    let powers: Vec<usize> = (0..2 * reach as u32).map(|i| 3usize.pow(i)).collect();
    let (below, above) = powers.split_at(reach);
    let mut table = vec![Shape::Nothing; 3usize.pow(2 * reach as u32)];
    for key in (0..table.len()).rev() {
        let digit = |power: &&usize| key / **power % 3;
        // An overline is no step towards anything.
        let after = powers.iter().filter(|power| digit(power) == 0).map(|power| table[key + power]);
        let after = after.filter(|&shape| shape != Shape::Overline);
        // The unbroken row through the point: own digits next to it on both sides.
        let below = below.iter().rev().take_while(|power| digit(power) == 1).count();
        let above = above.iter().take_while(|power| digit(power) == 1).count();
        let shape = match (below + 1 + above, wins) {
            (5, _) | (6.., Wins::FiveOrMore) => Shape::Five,
            (6.., Wins::ExactlyFive) => Shape::Nothing,
            (6.., Wins::Bound) => Shape::Overline,
            (length, _) => match after.clone().filter(|&shape| shape == Shape::Five).count() {
                0 => match after.max().unwrap_or(Shape::Nothing) {
                    Shape::OpenFour => Shape::OpenThree,
                    Shape::Four | Shape::TwoFours => Shape::ClosedThree,
                    Shape::OpenThree => Shape::OpenTwo,
                    Shape::ClosedThree => Shape::ClosedTwo,
                    _ => Shape::Nothing,
                },
                1 => Shape::Four,
                // Only an unbroken four is completed at both its ends: it is one four, others are two.
                _ if wins == Wins::Bound && length != 4 => Shape::TwoFours,
                _ => Shape::OpenFour,
            },
        };
        table[key] = shape;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape that `*` makes of a line where `x` is own, `.` empty, anything else blocked, as is all beyond.
    fn shape(table: &[Shape], line: &str) -> Shape {
        let reach = 5;
        let centre = line.find('*').unwrap() as isize;
        let digit = |offset: isize| match usize::try_from(centre + offset).ok().and_then(|i| line.as_bytes().get(i)) {
            Some(b'.') => 0,
            Some(b'x') => 1,
            _ => 2,
        };
        let offsets = (-reach..=reach).filter(|&offset| offset != 0);
        let key = offsets.enumerate().map(|(i, offset)| digit(offset) * 3usize.pow(i as u32)).sum::<usize>();
        table[key]
    }

    #[test]
    fn lines_have_the_shapes_that_players_name() {
        use Shape::*;
        // Line, then what it is with five or more, with exactly five, and for Renju's Black.
        let cases = [
            ("xx*xx", [Five, Five, Five]),
            ("xx*xxx", [Five, Nothing, Overline]),
            ("xxx.*x", [Four, Nothing, Nothing]),
            ("xxx.*", [Four, Four, Four]),
            ("xx*x", [Nothing, Nothing, Nothing]),
            (".xx*x", [Four, Four, Four]),
            (".xx*x.", [OpenFour, OpenFour, OpenFour]),
            ("x.xx*x.", [OpenFour, Four, Four]),
            ("x.xx*x.x", [OpenFour, Nothing, Nothing]),
            ("x.x*x.x", [OpenFour, OpenFour, TwoFours]),
            ("xx.*x.xx", [OpenFour, OpenFour, TwoFours]),
            (".x*x.", [ClosedThree, ClosedThree, ClosedThree]),
            ("..x*x.", [OpenThree, OpenThree, OpenThree]),
            (".x.x*.", [OpenThree, OpenThree, OpenThree]),
            // An open three needs a fourth stone whose both ends make exactly five.
            ("x..x*x.", [OpenThree, ClosedThree, ClosedThree]),
            ("x..x*x..", [OpenThree, OpenThree, OpenThree]),
            ("x..x*x..x", [OpenThree, ClosedThree, ClosedThree]),
            ("..*xx.xxx", [Four, ClosedThree, ClosedThree]),
            ("x.x*..", [ClosedThree, ClosedThree, ClosedThree]),
            ("...x*...", [OpenTwo, OpenTwo, OpenTwo]),
            (".x*..", [ClosedTwo, ClosedTwo, ClosedTwo]),
            (".x*.", [Nothing, Nothing, Nothing]),
        ];
        let tables = [Wins::FiveOrMore, Wins::ExactlyFive, Wins::Bound].map(|wins| (wins, shapes(wins, 5)));
        for (line, expected) in cases {
            let mirrored: String = line.chars().rev().collect();
            for ((wins, table), expected) in tables.iter().zip(expected) {
                assert_eq!(shape(table, line), expected, "{line} {wins:?}");
                assert_eq!(shape(table, &mirrored), expected, "{mirrored} {wins:?}");
            }
        }
    }

    #[test]
    fn a_fifth_point_on_either_side_changes_nothing_where_five_or_more_win() {
        let (near, far) = (shapes(Wins::FiveOrMore, 4), shapes(Wins::FiveOrMore, 5));
        for (key, &shape) in far.iter().enumerate() {
            assert_eq!(shape, near[key / 3 % near.len()], "{key}");
        }
    }
}
