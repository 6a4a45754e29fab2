//! What a proof keeps of its work, so that it can be stopped and gone on with: for each level the positions, the
//! player's moves and what they are worth, and one small record of how far it is.

use std::collections::HashMap;
use std::fmt;

use crate::audit::Lines;
use crate::proof::Mistakes;

/// Where the work is kept, by names such as `04.moves`. The state is always put last, so whoever keeps each text whole
/// keeps the work whole.
pub trait Store {
    /// What was put under this name.
    ///
    /// # Errors
    /// If it cannot be read.
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Replaces what is kept under this name, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    fn put(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError>;
}

/// Why a store failed, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// Keeps everything in memory, up to a limit.
#[derive(Debug, Default)]
pub struct InMemory {
    kept: HashMap<String, Vec<u8>>,
    limit: usize,
}

impl InMemory {
    /// A store of at most `limit` bytes.
    pub fn new(limit: usize) -> InMemory {
        InMemory { kept: HashMap::new(), limit }
    }
}

impl Store for InMemory {
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.kept.get(name).cloned())
    }

    fn put(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.kept.insert(name.to_owned(), bytes);
        let size: usize = self.kept.values().map(Vec::len).sum();
        if size > self.limit {
            return Err(StoreError(format!("the positions take more than {} MiB of memory", self.limit >> 20)));
        }
        Ok(())
    }
}

/// What every stored text begins with: its kind and the version of the format.
const MAGIC: [u8; 8] = *b"TGPROOF\x01";

/// Numbers as stored.
pub(super) trait Word: Copy + Default {
    const BYTES: usize;
    fn widen(self) -> u64;
    fn narrow(word: u64) -> Self;
}

macro_rules! words {
    ($($type:ty),*) => {
        $(impl Word for $type {
            const BYTES: usize = size_of::<$type>();
            fn widen(self) -> u64 {
                u64::from(self)
            }
            fn narrow(word: u64) -> Self {
                word as $type
            }
        })*
    };
}

words!(u8, u16, u64);

/// Puts numbers under a name.
pub(super) fn put<W: Word>(store: &mut dyn Store, name: &str, words: &[W]) -> Result<(), StoreError> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + words.len() * W::BYTES + 8);
    bytes.extend_from_slice(&MAGIC);
    for word in words {
        bytes.extend_from_slice(&word.widen().to_le_bytes()[..W::BYTES]);
    }
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    store.put(name, bytes)
}

/// The numbers that were put under a name; none if nothing was.
pub(super) fn get<W: Word>(store: &mut dyn Store, name: &str) -> Result<Vec<W>, StoreError> {
    let Some(bytes) = store.get(name)? else { return Ok(Vec::new()) };
    let damaged = || StoreError(format!("{name} is damaged"));
    let rest = bytes.strip_prefix(&MAGIC);
    let rest = rest.ok_or_else(|| StoreError(format!("{name} is not a part of a proof in this version's format")))?;
    let (payload, sum) = rest.split_last_chunk::<8>().ok_or_else(damaged)?;
    if checksum(&bytes[..bytes.len() - 8]) != u64::from_le_bytes(*sum) || payload.len() % W::BYTES != 0 {
        return Err(damaged());
    }
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..W::BYTES].copy_from_slice(chunk);
        W::narrow(u64::from_le_bytes(word))
    };
    Ok(payload.chunks_exact(W::BYTES).map(word).collect())
}

/// FNV-1a over words of 8 bytes: finds damage, not malice.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| step(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, &byte| step(sum, u64::from(byte)))
}

/// How far the work is: everything is as it was when the level at hand was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) symmetric: bool,
    /// 0 before the second pass, 1 in it, 2 after it.
    pub(super) stage: u64,
    /// The level at hand, by the number of levels before it.
    pub(super) level: usize,
    /// The number of levels, known when the second pass begins.
    pub(super) levels: usize,
    pub(super) lines: Lines,
    pub(super) positions: u64,
    pub(super) moves: u64,
    pub(super) mistakes: Mistakes,
    pub(super) questions: u64,
    pub(super) first: Option<First>,
}

/// Where the earliest mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) level: usize,
    pub(super) key: u64,
    pub(super) action: u64,
    /// What the position was worth and what the move left, as the judge counts.
    pub(super) had: u64,
    pub(super) left: u64,
}

const STATE: &str = "state";

impl State {
    pub(super) fn new(symmetric: bool) -> State {
        State {
            symmetric,
            stage: 0,
            level: 0,
            levels: 0,
            lines: Lines::default(),
            positions: 0,
            moves: 0,
            mistakes: Mistakes::default(),
            questions: 0,
            first: None,
        }
    }

    pub(super) fn write(&self, store: &mut dyn Store) -> Result<(), StoreError> {
        let State { symmetric, stage, level, levels, lines, positions, moves, mistakes, questions, first } = *self;
        let Mistakes { win_to_draw, win_to_loss, draw_to_loss } = mistakes;
        let mut words = vec![u64::from(symmetric), stage, level as u64, levels as u64];
        words.extend([lines.wins, lines.draws, lines.losses, positions, moves]);
        words.extend([win_to_draw, win_to_loss, draw_to_loss, questions]);
        if let Some(First { level, key, action, had, left }) = first {
            words.extend([level as u64, key, action, had, left]);
        }
        put(store, STATE, &words)
    }

    pub(super) fn read(store: &mut dyn Store) -> Result<Option<State>, StoreError> {
        let words: Vec<u64> = get(store, STATE)?;
        if words.is_empty() {
            return Ok(None);
        }
        let (head, rest) = words.split_first_chunk::<13>().ok_or_else(|| StoreError(format!("{STATE} is damaged")))?;
        let [symmetric, stage, level, levels, wins, draws, losses, positions, moves, d, l, dl, questions] = *head;
        let first = match *rest {
            [level, key, action, had, left] => Some(First { level: level as usize, key, action, had, left }),
            _ => None,
        };
        Ok(Some(State {
            symmetric: symmetric != 0,
            stage,
            level: level as usize,
            levels: levels as usize,
            lines: Lines { wins, draws, losses },
            positions,
            moves,
            mistakes: Mistakes { win_to_draw: d, win_to_loss: l, draw_to_loss: dl },
            questions,
            first,
        }))
    }
}
