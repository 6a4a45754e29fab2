//! Line plots with bands as SVG: text that any browser shows, without a library.

use std::fmt::Write;

/// One line of a plot.
pub(crate) struct Series {
    /// Stands in the legend.
    pub(crate) name: String,
    /// The points: x, y, and the lower and upper edge of the band.
    pub(crate) points: Vec<[f64; 4]>,
}

/// What a plot is called and how its axes run.
pub(crate) struct Axes<'a> {
    /// Above the plot.
    pub(crate) title: &'a str,
    /// Below the x axis.
    pub(crate) x: &'a str,
    /// The ends of the y axis; `None`: as the data need, from 0.
    pub(crate) y: Option<(f64, f64)>,
    /// Whether y is shown as the logarithm of 1 + y.
    pub(crate) log: bool,
}

/// Colours that colour-blind people can tell apart (Okabe and Ito), then dashes.
/// The last is the text's, which is dark on light and light on dark.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "currentColor"];

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;

/// The plot as an `<svg>` element. The x axis is logarithmic: what is compared differs by factors.
pub(crate) fn plot(axes: &Axes<'_>, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|s| &s.points);
    let x_start = all().map(|p| p[0]).filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
    // Without points any axis will do.
    let x_start = if x_start.is_finite() { x_start } else { 1.0 };
    let x_end = all().map(|p| p[0]).fold(1.000_001 * x_start, f64::max);
    let (y_start, y_end) = axes.y.unwrap_or_else(|| (0.0, all().map(|p| p[3].max(p[1])).fold(0.0, f64::max).max(1.0)));
    let shape = |y: f64| if axes.log { (1.0 + y.max(0.0)).ln() } else { y };
    let x_at = |x: f64| LEFT + (WIDTH - LEFT - RIGHT) * (x.max(x_start) / x_start).ln() / (x_end / x_start).ln();
    let y_at = |y: f64| {
        let share = (shape(y.clamp(y_start, y_end)) - shape(y_start)) / (shape(y_end) - shape(y_start));
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><text class=\"title\" x=\"{LEFT}\" y=\"18\">{0}</text>",
        escape(axes.title)
    );
    let (right, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for y in ticks(y_start, y_end, axes.log) {
        let at = y_at(y);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            number(y)
        );
    }
    for x in decades(x_start, x_end) {
        let at = x_at(x);
        let text = number(x);
        let _ = write!(
            svg,
            "<text class=\"tick\" text-anchor=\"middle\" x=\"{at:.1}\" y=\"{:.1}\">{text}</text>",
            floor + 18.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 8.0,
        escape(axes.x)
    );
    for (i, Series { name, points }) in series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let dash = if i >= COLOURS.len() { " stroke-dasharray=\"5 3\"" } else { "" };
        let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
            points.map(|(x, y)| format!("{:.1},{:.1}", x_at(x), y_at(y))).collect::<Vec<_>>().join(" ")
        };
        let above = points.iter().map(|p| (p[0], p[3]));
        let band = path(&mut above.chain(points.iter().rev().map(|p| (p[0], p[2]))));
        let line = path(&mut points.iter().map(|p| (p[0], p[1])));
        let _ = write!(
            svg,
            "<polygon points=\"{band}\" fill=\"{colour}\" fill-opacity=\"0.13\"/>\
             <polyline points=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"
        );
        let at = TOP + 8.0 + 18.0 * i as f64;
        let _ = write!(
            svg,
            "<line x1=\"{}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"{colour}\" stroke-width=\"3\"{dash}/>\
             <text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>",
            right + 10.0,
            right + 28.0,
            right + 34.0,
            at + 4.0,
            escape(name)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// A value with the interval around it.
pub(crate) struct Bar {
    /// Stands beside it.
    pub(crate) name: String,
    pub(crate) value: f64,
    /// The ends of the interval; infinite where it is open.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Values below each other, each with its interval; an open end is an arrow to the edge of the plot.
pub(crate) fn bars(title: &str, bars: &[Bar]) -> String {
    const ROW: f64 = 26.0;
    const NAMES: f64 = 220.0;
    let finite = || bars.iter().flat_map(|bar| [bar.value, bar.low, bar.high]).filter(|x| x.is_finite());
    let (low, high) = (finite().fold(0.0, f64::min), finite().fold(0.0, f64::max));
    let margin = 0.08 * (high - low).max(1.0);
    let (low, high) = (low - margin, high + margin);
    let (left, right) = (NAMES, WIDTH - 24.0);
    let height = TOP + ROW * bars.len() as f64 + BOTTOM;
    let at = |x: f64| left + (right - left) * (x.clamp(low, high) - low) / (high - low);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{0}\"><text class=\"title\" x=\"8\" y=\"18\">{0}</text>",
        escape(title)
    );
    for x in ticks(low, high, false) {
        let (x, text, floor) = (at(x), number(x), height - BOTTOM);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{floor}\"/>\
             <text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{}\">{text}</text>",
            floor + 18.0
        );
    }
    for (i, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * (i as f64 + 0.5);
        let colour = COLOURS[i % COLOURS.len()];
        let _ = write!(
            svg,
            "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{}</text>\
             <line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            NAMES - 10.0,
            y + 4.0,
            escape(&bar.name),
            at(bar.low),
            at(bar.high)
        );
        for (end, tip) in [(bar.low, -8.0), (bar.high, 8.0)] {
            let x = at(end);
            // A stroke across a closed end, an arrow on an open one.
            let back = if end.is_finite() { 0.0 } else { -tip };
            let _ = write!(
                svg,
                "<path d=\"M{:.1} {} L{x:.1} {y} L{:.1} {}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                x + back,
                y - 5.0,
                x + back,
                y + 5.0
            );
        }
        if bar.value.is_finite() {
            let _ = write!(svg, "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"4\" fill=\"{colour}\"/>", at(bar.value));
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Round numbers from `start` to `end`: about five, or powers of ten.
fn ticks(start: f64, end: f64, log: bool) -> Vec<f64> {
    if log {
        let powers = std::iter::successors(Some(1.0), |x| Some(x * 10.0)).take_while(|x| *x <= end);
        return std::iter::once(0.0).chain(powers).collect();
    }
    let rough = (end - start) / 5.0;
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let first = (start / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|x| *x <= end + step * 1e-9).collect()
}

/// 1, 2 and 5 times powers of ten from `start` to `end`, at most about ten: if there are more, powers of ten alone.
fn decades(start: f64, end: f64) -> Vec<f64> {
    let powers = start.log10().floor() as i32..=end.log10().ceil() as i32;
    let steps: &[f64] = if powers.clone().count() > 5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10.0_f64.powi(power)));
    all.filter(|x| (start..=end).contains(x)).collect()
}

/// A number as short as can be.
fn number(x: f64) -> String {
    if x.abs() >= 1_000_000.0 && x % 100_000.0 == 0.0 {
        return format!("{}M", x / 1_000_000.0);
    }
    if x.abs() >= 1_000.0 && x % 100.0 == 0.0 {
        return format!("{}k", x / 1_000.0);
    }
    let text = format!("{x:.5}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text inside an element or attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 30_000.0, false), [0.0, 10_000.0, 20_000.0, 30_000.0]);
        assert_eq!(ticks(0.0, 700.0, true), [0.0, 1.0, 10.0, 100.0]);
        assert_eq!(ticks(-1.0, 1.0, false), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        let numbers = [2_000_000.0, 30_000.0, 0.05, 12.0, 0.0005, -1.0];
        assert_eq!(numbers.map(number), ["2M", "30k", "0.05", "12", "0.0005", "-1"]);
        assert_eq!(decades(900.0, 30_000.0), [1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0]);
        assert_eq!(decades(1.0, 2_000_000.0), [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]);
    }

    #[test]
    fn a_plot_has_a_line_and_a_band_for_each_series_and_escapes_its_words() {
        let series =
            |name: &str| Series { name: name.to_owned(), points: vec![[1.0, 5.0, 1.0, 9.0], [10.0, 0.0, 0.0, 2.0]] };
        let axes = Axes { title: "a < b", x: "games", y: None, log: true };
        let svg = plot(&axes, &[series("one"), series("two & three")]);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<polygon").count()), (2, 2));
        assert!(svg.contains("a &lt; b") && svg.contains("two &amp; three") && !svg.contains("NaN"));
        // The line begins at the left end of the plot, and ends at its right end on the floor.
        assert!(svg.contains("points=\"64.0,") && svg.contains("490.0,314.0"), "{svg}");
        assert!(!plot(&axes, &[]).contains("NaN"));
    }
}
