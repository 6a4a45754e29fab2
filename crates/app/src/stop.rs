//! Ctrl-C. Once, in the middle of training: go on to the next pause, save, leave. Twice, or anywhere else: leave at
//! once. Rust's blocking reads cannot be woken, so leaving at a prompt is done from the handler itself.

use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result};

/// The exit code of a program that was interrupted: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// Nothing would be lost: leave at once.
const FREE: u8 = 0;
/// Something is being done that can be saved at the next pause.
const SAVING: u8 = 1;
/// That, and Ctrl-C has been pressed.
const ASKED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(FREE);

/// Takes over Ctrl-C and the polite request to end (SIGTERM).
pub(crate) fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if STATE.compare_exchange(SAVING, ASKED, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            anstream::eprintln!("\nstopping at the next pause; press Ctrl-C again to leave at once");
        } else {
            std::process::exit(i32::from(INTERRUPTED));
        }
    })
    .context("Ctrl-C cannot be caught")
}

/// While it lives, the first Ctrl-C only asks.
pub(crate) struct Saving(());

impl Saving {
    pub(crate) fn begin() -> Saving {
        STATE.store(SAVING, Ordering::SeqCst);
        Saving(())
    }

    /// Whether Ctrl-C has been pressed.
    pub(crate) fn asked(&self) -> bool {
        STATE.load(Ordering::SeqCst) == ASKED
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        STATE.store(FREE, Ordering::SeqCst);
    }
}
