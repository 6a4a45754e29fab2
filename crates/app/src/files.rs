//! Files that are written whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rules::Game;

/// How the name of a file ends while it is being written. What a killed process leaves behind ends so too.
const UNFINISHED: &str = ".tmp";

/// Replaces or makes the file so that, after a crash at any moment, it holds either what it held or all of `bytes`.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    persist(path, bytes, |file| Ok(file.persist(path)?)).with_context(|| cannot_write(path))
}

/// As [`write()`], but refuses to replace a file that exists.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.exists() {
        bail!("{} exists already and is left as it is: choose another name", path.display());
    }
    persist(path, bytes, |file| Ok(file.persist_noclobber(path)?)).with_context(|| cannot_write(path))
}

fn cannot_write(path: &Path) -> String {
    format!("{} cannot be written", path.display())
}

fn persist(path: &Path, bytes: &[u8], rename: impl FnOnce(tempfile::NamedTempFile) -> Result<File>) -> Result<()> {
    let folder = folder_of(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(UNFINISHED);
    // Without this, the file would be readable by its owner alone.
    #[cfg(unix)]
    builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    let mut file = builder.tempfile_in(&folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    rename(file)?;
    sync_folder(&folder)
}

/// A rename survives a power cut only once the folder itself is on disk; Windows has no such call and needs none.
fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Removes what a killed process was still writing in this folder.
pub(crate) fn remove_unfinished(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') && name.ends_with(UNFINISHED) {
            fs::remove_file(&path).with_context(|| cannot_write(&path))?;
        }
    }
    Ok(())
}

/// The game's name as a part of file names: some systems do not let them contain a colon.
pub(crate) fn name_of<G: Game>(game: &G) -> String {
    game.name().replace([':', ','], "-")
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Reads a whole file of text.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let bytes = read(path)?;
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{} is not text in UTF-8", path.display()))
}

/// The name of the file by which a process holds a folder.
pub(crate) const LOCK: &str = ".lock";

/// Holds a folder for this process alone, until the file that is returned is dropped. `doing` says what another process
/// is doing there if it holds the folder.
pub(crate) fn lock(folder: &Path, doing: &str) -> Result<File> {
    let path = folder.join(LOCK);
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let lock = lock.with_context(|| cannot_write(&path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => bail!("another process is {doing} in {}", folder.display()),
        Err(TryLockError::Error(e)) => Err(e).with_context(|| format!("{} cannot be locked", path.display())),
    }
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("the folder {} cannot be made", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_new(&path, b"one").unwrap();
        assert!(write_new(&path, b"two").unwrap_err().to_string().contains("left as it is"));
        assert_eq!(read(&path).unwrap(), b"one");
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".abc.tmp", "mine.tmp", "config.toml"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_unfinished(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    #[cfg(unix)]
    fn others_may_read_what_is_written() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let plain = folder.path().join("plain");
        write(&path, b"").unwrap();
        fs::write(&plain, b"").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(path), mode(plain));
    }
}
