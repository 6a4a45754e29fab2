//! Blocks of documents that are copied from results, so that no number is written by hand.
//!
//! `<!-- include results/DATE-TOPIC/FILE.md -->` takes the whole file; with `#some-heading` behind it, the text below
//! that heading. The block ends at `<!-- end include -->`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::tree;

const BEGIN: &str = "<!-- include ";
const END: &str = "<!-- end include -->";

/// Rewrites every document whose blocks are out of date.
pub(crate) fn write(root: &Path) -> Result<()> {
    for (path, text) in stale(root)? {
        fs::write(root.join(&path), text)?;
        println!("xtask: {path} is up to date again");
    }
    Ok(())
}

/// The documents that are out of date, with what should stand in them.
pub(crate) fn stale(root: &Path) -> Result<Vec<(String, String)>> {
    let mut stale = Vec::new();
    for document in tree::texts(root, "md")? {
        let fresh = refresh(root, &document.text).with_context(|| document.path.clone())?;
        if fresh != document.text {
            stale.push((document.path, fresh));
        }
    }
    Ok(stale)
}

fn refresh(root: &Path, text: &str) -> Result<String> {
    let read = |path: &str| {
        let text = fs::read_to_string(root.join(path)).with_context(|| format!("{path} cannot be read"))?;
        Ok(text.replace("\r\n", "\n"))
    };
    expand(text, read)
}

/// The document with every block replaced by what it includes.
fn expand(text: &str, read: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut fresh = String::new();
    let mut lines = text.lines();
    let mut fenced = false;
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        fenced ^= line.trim_start().starts_with("```");
        let Some(source) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->")).filter(|_| !fenced)
        else {
            continue;
        };
        if !lines.by_ref().any(|line| line == END) {
            bail!("the block of {source} has no end: write {END}");
        }
        let (path, heading) = source.split_once('#').map_or((source, None), |(path, heading)| (path, Some(heading)));
        let whole = read(path)?;
        let part = match heading {
            None => whole.trim(),
            Some(heading) => section(&whole, heading).with_context(|| format!("{path} has no heading #{heading}"))?,
        };
        fresh.push_str(&format!("\n{part}\n\n{END}\n"));
    }
    Ok(fresh)
}

/// The text below a heading, up to the next of its own or a higher level.
fn section<'a>(text: &'a str, slug: &str) -> Option<&'a str> {
    let mut at = 0;
    let mut found: Option<(usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        match found {
            Some((start, of)) if level > 0 && level <= of => return Some(text[start..at].trim()),
            None if level > 0 && slug_of(&line[level..]) == slug => found = Some((at + line.len(), level)),
            _ => {}
        }
        at += line.len();
    }
    found.map(|(start, _)| text[start..].trim())
}

/// A heading as links write it.
fn slug_of(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(_: &str) -> Result<String> {
        Ok("# Speed\n\n## Games a second\n\n| 7 |\n\n### More\n\n8\n\n## Machine\n".to_owned())
    }

    #[test]
    fn a_block_is_replaced_and_all_else_is_kept() {
        let text = "a\n<!-- include results/x/README.md#games-a-second -->\nold\n<!-- end include -->\nb\n";
        let fresh = expand(text, source).unwrap();
        let expected = "a\n<!-- include results/x/README.md#games-a-second -->\n\n| 7 |\n\n### More\n\n8\n\n<!-- end include -->\nb\n";
        assert_eq!(fresh, expected);
        assert_eq!(expand(&fresh, source).unwrap(), fresh);
    }

    #[test]
    fn what_cannot_be_included_is_named() {
        assert!(expand("<!-- include x -->\n", source).unwrap_err().to_string().contains("has no end"));
        let missing = "<!-- include x#nowhere -->\n<!-- end include -->\n";
        assert!(expand(missing, source).unwrap_err().to_string().contains("no heading #nowhere"));
    }
}
