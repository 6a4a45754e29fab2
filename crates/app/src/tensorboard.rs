//! The metrics of a run once more, in the form that TensorBoard shows: an event file.
//!
//! The file is a list of records (TFRecord): the length of the data as 8 bytes and its checksum as 4, all little-endian, then
//! the data and their checksum. A checksum is CRC-32C (Castagnoli), turned right by 15 bits and moved by a constant, so that
//! one of data that hold a checksum is none of theirs. The data are messages in the encoding of Protocol Buffers:
//!
//! ```text
//! Event   { 1: wall_time double, 2: step int64, 3: file_version string, 5: summary Summary }
//! Summary { 1: value Value, once for each metric }
//! Value   { 1: tag string, 2: simple_value float }
//! ```
//!
//! The first record says the version; each other is a row of metrics, its step the number of games.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// The name of the file: TensorBoard looks for `tfevents` in it.
pub(crate) const EVENTS: &str = "events.out.tfevents.tengen";

/// An event file that grows.
pub(crate) struct EventFile(File);

impl EventFile {
    /// Opens the file, or makes it, so that it holds as many rows as these: what was written of this run is kept, with its
    /// time; the rest is written now.
    pub(crate) fn open(path: &Path, rows: &[serde_json::Value]) -> Result<EventFile> {
        let problem = || format!("{} cannot be written", path.display());
        let held = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(e).with_context(problem),
        };
        let ends: Vec<usize> = records(&held).take(1 + rows.len()).collect();
        let mut bytes = held[..ends.last().copied().unwrap_or(0)].to_vec();
        if ends.is_empty() {
            bytes.extend(record(&event(0, &bytes_field(3, b"brain.Event:2"))));
        }
        for row in &rows[ends.len().saturating_sub(1)..] {
            // What is no number was none when it was measured.
            let metrics = row.as_object().into_iter().flatten().filter(|(name, _)| *name != "games");
            let metrics = metrics.map(|(name, number)| (name.as_str(), number.as_f64().unwrap_or(f64::NAN)));
            bytes.extend(row_record(row["games"].as_u64().unwrap_or_default(), metrics));
        }
        let mut file = File::create(path).with_context(problem)?;
        file.write_all(&bytes).with_context(problem)?;
        Ok(EventFile(file))
    }

    /// Appends a row.
    pub(crate) fn row<'a>(&mut self, games: u64, metrics: impl Iterator<Item = (&'a str, f64)>) -> Result<()> {
        Ok(self.0.write_all(&row_record(games, metrics))?)
    }
}

fn row_record<'a>(games: u64, metrics: impl Iterator<Item = (&'a str, f64)>) -> Vec<u8> {
    let value = |(name, number): (&str, f64)| {
        let mut value = bytes_field(1, name.as_bytes());
        value.push((2 << 3) | FIXED_4);
        value.extend((number as f32).to_le_bytes());
        bytes_field(1, &value)
    };
    record(&event(games, &bytes_field(5, &metrics.flat_map(value).collect::<Vec<u8>>())))
}

/// An event of this moment; `what` is its last field.
fn event(step: u64, what: &[u8]) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let mut event = vec![(1 << 3) | FIXED_8];
    event.extend(now.to_le_bytes());
    event.push((2 << 3) | VARINT);
    event.extend(varint(step));
    event.extend(what);
    event
}

// How a field's value is written (its wire type).
const VARINT: u8 = 0;
const FIXED_8: u8 = 1;
const COUNTED: u8 = 2;
const FIXED_4: u8 = 5;

/// A field that holds bytes: a text or another message.
fn bytes_field(field: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![(field << 3) | COUNTED];
    out.extend(varint(bytes.len() as u64));
    out.extend(bytes);
    out
}

/// Seven bits a byte, the lowest first; the eighth says that more follow.
fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out
}

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &checksum(&length).to_le_bytes(), data, &checksum(data).to_le_bytes()].concat()
}

/// Where each record ends, up to the first that is not whole and sound.
fn records(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let after = move |&begin: &usize| {
        let length = usize::try_from(u64::from_le_bytes(bytes.get(begin..begin + 8)?.try_into().ok()?)).ok()?;
        let end = begin.checked_add(length)?.checked_add(16)?;
        let whole = bytes.get(begin..end)?;
        (whole == record(&whole[12..whole.len() - 4])).then_some(end)
    };
    std::iter::successors(Some(0), after).skip(1)
}

/// The masked CRC-32C.
fn checksum(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(games: u64) -> serde_json::Value {
        serde_json::json!({ "games": games, "entropy": 0.5, "ratio": null })
    }

    #[test]
    fn the_checksum_is_the_published_one() {
        // The check value of CRC-32C, and RFC 3720, B.4: 32 zeros.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn a_row_is_the_message_that_the_format_asks_for() {
        let record = row_record(300, [("a", 1.0)].into_iter());
        let data = &record[12..record.len() - 4];
        // The wall time is the clock's.
        assert_eq!(data[0], 0x09);
        let expected = [0x10, 0xac, 0x02, 0x2a, 0x0a, 0x0a, 0x08, 0x0a, 0x01, b'a', 0x15, 0x00, 0x00, 0x80, 0x3f];
        assert_eq!(data[9..], expected);
        assert_eq!(record[..8], [24, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_was_written_of_the_rows_is_kept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EVENTS);
        let mut file = EventFile::open(&path, &[]).unwrap();
        for games in [100, 200, 300] {
            file.row(games, [("entropy", 0.5), ("ratio", f64::NAN)].into_iter()).unwrap();
        }
        let whole = fs::read(&path).unwrap();
        let ends: Vec<usize> = records(&whole).collect();
        assert_eq!((ends.len(), ends[3]), (4, whole.len()));
        // Cut back to two rows; of a third only a part.
        EventFile::open(&path, &[row(100), row(200)]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole[..ends[2]]);
        fs::write(&path, &whole[..ends[3] - 1]).unwrap();
        EventFile::open(&path, &[row(100), row(200), row(300)]).unwrap();
        let again = fs::read(&path).unwrap();
        assert_eq!(again[..ends[2]], whole[..ends[2]]);
        // But for its time, the third is what it was.
        assert_eq!(again.len(), whole.len());
        assert_eq!(again[ends[2] + 21..ends[3] - 4], whole[ends[2] + 21..ends[3] - 4]);
        assert_eq!(records(&again).count(), 4);
    }
}
