//! Questions to the person at the keyboard, or to whatever is piped in instead.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Result;

/// Longer lines are cut: nothing that can be answered here is longer.
const LONGEST: usize = 1_000;

/// Asks a question and reads one line; `None` at the end of input.
pub(crate) fn ask(question: &str) -> Result<Option<String>> {
    let mut out = anstream::stdout().lock();
    write!(out, "{question}")?;
    out.flush()?;
    let answer = read_line(&mut io::stdin().lock())?;
    // A terminal shows what is typed; a transcript of piped input would lack it.
    if !io::stdin().is_terminal() {
        writeln!(out, "{}", answer.as_deref().unwrap_or_default())?;
    } else if answer.is_none() {
        writeln!(out)?;
    }
    Ok(answer)
}

/// A line without its end, however long it is and whatever its bytes are.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut read = 0;
    loop {
        let available = match input.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if available.is_empty() {
            break;
        }
        let end = available.iter().position(|&byte| byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        line.extend_from_slice(&part[..part.len().min(LONGEST - line.len())]);
        let used = end.map_or(part.len(), |end| end + 1);
        read += used;
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    if read == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut input = bytes;
        std::iter::from_fn(|| read_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_end_with_lf_crlf_or_the_input() {
        assert_eq!(lines(b"4\n 5 \r\n\n6"), ["4", "5", "", "6"]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn endless_lines_are_cut_and_bytes_that_are_no_text_are_replaced() {
        let mut bytes = vec![b'9'; 1_000_000];
        bytes.extend(b"\n4\n");
        let cut = lines(&bytes);
        assert_eq!((cut[0].len(), cut[1].as_str()), (LONGEST, "4"));
        assert_eq!(lines(b"\xff\n"), ["\u{fffd}"]);
    }
}
