//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders at the root that hold no files of the project.
const SKIPPED: [&str; 3] = ["target", "runs", ".git"];

/// A text file.
pub(crate) struct Text {
    /// From the root, with `/` between names.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

/// All files whose names end so, in order of paths.
pub(crate) fn texts(root: &Path, extension: &str) -> Result<Vec<Text>> {
    let mut paths = Vec::new();
    collect(root, &mut paths)?;
    paths.sort();
    let chosen = paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == extension));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let names: Vec<_> = path.strip_prefix(root)?.iter().map(|name| name.to_string_lossy()).collect();
        Ok(Text { path: names.join("/"), text: text.replace("\r\n", "\n") })
    };
    chosen.map(read).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !SKIPPED.contains(&name.as_ref()) {
            collect(&path, paths)?;
        } else if path.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}
