//! Data goes to standard output, talk to standard error; neither ever makes the program panic.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

/// Writes a line for the person who looks on.
pub(crate) fn say(line: impl Display) {
    // If nobody can be told, there is nobody to tell that.
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Writes lines of the answer.
pub(crate) fn data(text: impl Display) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// What may be printed: colours are left to the streams, which drop them where they do not belong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Only the characters of ASCII.
    pub(crate) ascii: bool,
}

/// X and the first player.
pub(crate) const FIRST: Style = AnsiColor::BrightCyan.on_default().bold();
/// O and the second player.
pub(crate) const SECOND: Style = AnsiColor::BrightYellow.on_default().bold();
/// What is good: a win, a proof.
pub(crate) const GOOD: Style = AnsiColor::BrightGreen.on_default().bold();
/// What is bad: a loss.
pub(crate) const BAD: Style = AnsiColor::BrightRed.on_default().bold();
/// Headings.
pub(crate) const HEAD: Style = Style::new().bold();
/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Text in a style.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

impl Look {
    /// Whether this terminal is known to show nothing but ASCII: a dumb one, or one set to another encoding.
    pub(crate) fn detect(ascii: bool) -> Look {
        let get = |name: &str| std::env::var(name).unwrap_or_default();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(get).into_iter().find(|value| !value.is_empty());
        Look { ascii: ascii || get("TERM") == "dumb" || locale.is_some_and(|locale| !has_unicode(&locale)) }
    }
}

fn has_unicode(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_locale_means_ascii() {
        assert!(["C.UTF-8", "en_GB.utf8", "de_DE.UTF-8@euro"].iter().all(|l| has_unicode(l)));
        assert!(["C", "POSIX", "de_DE.ISO-8859-1"].iter().all(|l| !has_unicode(l)));
    }
}
