//! The house rules that a program can check. Each rule appends what breaks it; nothing is repaired.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::docs;
use crate::tree::{self, Text};

/// Which crates of the workspace a crate may depend on; with `dev`, also in its tests and benches. A crate that is
/// not listed, like `tengen` itself, may depend on all.
const EDGES: [(&str, &[&str], &[&str]); 6] = [
    ("rules", &[], &[]),
    ("net", &[], &[]),
    ("search", &["rules"], &[]),
    ("oracle", &["rules"], &[]),
    ("arena", &["rules"], &["search"]),
    ("methods", &["rules", "net", "search"], &["oracle"]),
];

/// Crates without clock, files, printing or hidden randomness.
const PURE: [&str; 5] = ["rules", "net", "search", "oracle", "methods"];

/// What these crates may not use.
const IMPURE: [&str; 12] = [
    "std::time",
    "std::fs",
    "std::process",
    "Instant::",
    "SystemTime",
    "File::",
    "println!",
    "print!(",
    "eprint",
    "available_parallelism",
    "getrandom",
    "thread_rng",
];

/// The longest file, in lines.
const LONGEST: usize = 900;

/// The longest method before its tests, in lines.
const LONGEST_METHOD: usize = 500;

/// Files of `methods` that are not methods.
const NOT_METHODS: [&str; 2] = ["lib.rs", "learner.rs"];

/// Checks all rules.
///
/// # Errors
/// The number of broken rules, each of which has been printed.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut broken = Vec::new();
    let sources = tree::texts(root, "rs")?;
    edges(root, &mut broken)?;
    for source in &sources {
        length(source, &mut broken);
        words(source, &mut broken);
        purity(source, &mut broken);
    }
    methods(&sources, &mut broken);
    links(root, &mut broken)?;
    results(root, &mut broken)?;
    for (path, _) in docs::stale(root)? {
        broken.push(format!("{path}: a block included from results/ is out of date: run cargo xtask docs"));
    }
    for rule in &broken {
        eprintln!("tidy: {rule}");
    }
    if !broken.is_empty() {
        bail!("{} house rules are broken", broken.len());
    }
    println!("xtask: tidy");
    Ok(())
}

/// Crates depend only on the crates below them.
fn edges(root: &Path, broken: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root.join("crates"))? {
        let path = entry?.path().join("Cargo.toml");
        if !path.is_file() {
            continue;
        }
        let manifest: toml::Table =
            toml::from_str(&fs::read_to_string(&path)?).with_context(|| format!("{}", path.display()))?;
        let name = manifest["package"]["name"].as_str().unwrap_or_default().to_owned();
        let Some((_, allowed, dev)) = EDGES.iter().find(|(krate, ..)| *krate == name) else { continue };
        for (table, allowed) in [("dependencies", allowed.to_vec()), ("dev-dependencies", [*allowed, *dev].concat())] {
            let Some(dependencies) = manifest.get(table).and_then(toml::Value::as_table) else { continue };
            let ours = |name: &&String| EDGES.iter().any(|(krate, ..)| krate == name) || *name == "tengen";
            for dependency in dependencies.keys().filter(ours).filter(|name| !allowed.contains(&name.as_str())) {
                broken.push(format!("{name} may not depend on {dependency}"));
            }
        }
    }
    Ok(())
}

/// No file is too long for one room.
fn length(source: &Text, broken: &mut Vec<String>) {
    let lines = source.text.lines().count();
    if lines > LONGEST {
        broken.push(format!("{}: {lines} lines, at most {LONGEST}", source.path));
    }
}

/// Written in two parts, so that this file passes.
const SLEEP: &str = concat!("thread::", "sleep");

/// Nothing is left undone or switched off, and no test sleeps and hopes.
fn words(source: &Text, broken: &mut Vec<String>) {
    let forbidden =
        [["#[ign", "ore"], ["tod", "o!("], ["unimple", "mented!("], ["FIX", "ME"], ["XX", "X"], ["dbg", "!("]];
    for word in forbidden.map(|parts| parts.concat()) {
        find(source, &source.text, &word, broken);
    }
    let in_tests = if source.path.contains("/tests/") { &source.text } else { after_tests(&source.text) };
    find(source, in_tests, SLEEP, broken);
}

/// The part of a file that starts with its tests.
fn after_tests(text: &str) -> &str {
    text.find("#[cfg(test)]").map_or("", |at| &text[at..])
}

fn find(source: &Text, within: &str, word: &str, broken: &mut Vec<String>) {
    if let Some(at) = within.find(word) {
        let offset = source.text.len() - within.len();
        let line = source.text[..offset + at].matches('\n').count() + 1;
        broken.push(format!("{}:{line}: {word} has no place here", source.path));
    }
}

/// As [`find`], but comments may speak of anything.
fn find_in_code(source: &Text, word: &str, broken: &mut Vec<String>) {
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    if let Some(i) = source.text.lines().position(|line| is_code(line) && line.contains(word)) {
        broken.push(format!("{}:{}: {word} has no place here", source.path, i + 1));
    }
}

/// The crates that compute know no clock, no files and no screen.
fn purity(source: &Text, broken: &mut Vec<String>) {
    if PURE.iter().any(|krate| source.path.starts_with(&format!("crates/{krate}/src/"))) {
        for word in IMPURE {
            find_in_code(source, word, broken);
        }
    }
}

/// A method is one chapter: short, and without a look into another.
fn methods(sources: &[Text], broken: &mut Vec<String>) {
    let prefix = "crates/methods/src/";
    let chapters = sources.iter().filter_map(|source| Some((source.path.strip_prefix(prefix)?, source)));
    let chapters: Vec<_> = chapters.filter(|(name, _)| !name.contains('/') && !NOT_METHODS.contains(name)).collect();
    for (name, source) in &chapters {
        let lines = source.text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        if lines > LONGEST_METHOD {
            broken.push(format!("{}: {lines} lines before its tests, at most {LONGEST_METHOD}", source.path));
        }
        for (other, _) in chapters.iter().filter(|(other, _)| other != name) {
            let module = other.trim_end_matches(".rs");
            for import in [format!("crate::{module}"), format!("super::{module}")] {
                find_in_code(source, &import, broken);
            }
        }
    }
}

/// Links inside documents lead somewhere.
fn links(root: &Path, broken: &mut Vec<String>) -> Result<()> {
    for document in tree::texts(root, "md")? {
        let folder = root.join(&document.path).parent().map(Path::to_owned).unwrap_or_default();
        for target in document.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let outside = target.contains("://") || target.starts_with("mailto:");
            if !outside && !path.is_empty() && !folder.join(path).exists() {
                broken.push(format!("{}: the link to {target} leads nowhere", document.path));
            }
        }
    }
    Ok(())
}

/// Every folder of results says how it was made and holds its raw data.
fn results(root: &Path, broken: &mut Vec<String>) -> Result<()> {
    let Ok(folders) = fs::read_dir(root.join("results")) else { return Ok(()) };
    for entry in folders {
        let folder = entry?.path();
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !is_dated(&name) {
            broken.push(format!("results/{name}: the name is not DATE-TOPIC"));
        }
        let text = fs::read_to_string(folder.join("README.md")).unwrap_or_default().to_lowercase();
        let missing: BTreeSet<_> =
            ["command", "commit", "machine"].into_iter().filter(|word| !text.contains(word)).collect();
        if !missing.is_empty() {
            broken.push(format!("results/{name}/README.md does not name {missing:?}"));
        }
        if fs::read_dir(&folder)?.count() < 2 {
            broken.push(format!("results/{name} has no raw data"));
        }
    }
    Ok(())
}

/// Whether a name is like `2026-11-30-topic`.
fn is_dated(name: &str) -> bool {
    let shape: String = name.chars().take(11).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00-" && name.len() > 11
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str, rule: fn(&Text, &mut Vec<String>)) -> Vec<String> {
        let mut broken = Vec::new();
        rule(&Text { path: path.to_owned(), text: text.to_owned() }, &mut broken);
        broken
    }

    #[test]
    fn a_clock_in_a_pure_crate_is_found_with_its_line() {
        let clock = "fn f() {}\nuse std::time::Duration;\n";
        assert_eq!(
            broken("crates/net/src/a.rs", clock, purity),
            ["crates/net/src/a.rs:2: std::time has no place here"]
        );
        assert!(broken("crates/app/src/a.rs", clock, purity).is_empty());
        assert!(broken("crates/net/benches/a.rs", clock, purity).is_empty());
    }

    #[test]
    fn sleeping_is_for_programs_and_not_for_tests() {
        let sleep = format!("{SLEEP}(a);\n");
        assert!(broken("crates/app/src/a.rs", &sleep, words).is_empty());
        assert_eq!(broken("crates/app/tests/a.rs", &sleep, words).len(), 1);
        let tested = format!("#[cfg(test)]\n{sleep}");
        assert_eq!(broken("crates/app/src/a.rs", &tested, words).len(), 1);
    }

    #[test]
    fn a_method_that_is_long_or_looks_into_another_is_found() {
        let file = |name: &str, text: String| Text { path: format!("crates/methods/src/{name}.rs"), text };
        let sources = [
            file("a", "//! See [`crate::c`].\nuse crate::b::Config;\n".to_owned()),
            file("b", format!("{}#[cfg(test)]\n{}", "//\n".repeat(500), "//\n".repeat(300))),
            file("c", "//\n".repeat(501)),
        ];
        let mut broken = Vec::new();
        methods(&sources, &mut broken);
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].contains("a.rs:2: crate::b") && broken[1].contains("501 lines"));
    }

    #[test]
    fn results_are_dated() {
        assert!(is_dated("2026-11-30-speed"));
        assert!(!is_dated("speed") && !is_dated("2026-11-30-") && !is_dated("30-11-2026-speed"));
    }
}
