//! The picture of a real session for the README: what the program prints, with its colours, as SVG.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What is shown: the arguments, and what the person types.
const SESSION: [(&str, &str); 2] = [("", ""), ("play tictactoe --seat second", "p\nv\nq\n")];

/// Width of a character and height of a line, in pixels.
const CELL: (f32, f32) = (8.4, 17.0);

/// Runs the session and writes `docs/session.svg`.
pub(crate) fn draw(root: &Path) -> Result<()> {
    crate::cargo(&["build", "--release", "--package", "tengen"], &[])?;
    let mut text = String::new();
    for (arguments, input) in SESSION {
        text.push_str(&format!("\u{1b}[1m$ {}\u{1b}[0m\n", format!("tengen {arguments}").trim_end()));
        text.push_str(&said(root, arguments, input)?);
        text.push('\n');
    }
    fs::create_dir_all(root.join("docs"))?;
    fs::write(root.join("docs/session.svg"), svg(text.trim_end()))?;
    println!("xtask: docs/session.svg");
    Ok(())
}

/// What the program says on both of its outputs, in the order in which it is said.
fn said(root: &Path, arguments: &str, input: &str) -> Result<String> {
    let folder = std::env::temp_dir().join(format!("tengen-picture-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (mut reader, writer) = std::io::pipe()?;
    let mut command = Command::new(root.join("target/release/tengen"));
    command.args(arguments.split_whitespace()).current_dir(&folder).env("CLICOLOR_FORCE", "1");
    command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().context("target/release/tengen cannot be started")?;
    child.stdin.take().context("its input is piped")?.write_all(input.as_bytes())?;
    // The command holds the writing ends: as long as it lives, the reader would wait for more.
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    if !child.wait()?.success() {
        bail!("tengen {arguments} failed: {text}");
    }
    fs::remove_dir_all(&folder)?;
    Ok(text)
}

/// Text with ANSI styles as a picture.
fn svg(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let longest = lines.iter().map(|line| spans(line).iter().map(|(_, text)| text.chars().count()).sum()).max();
    let width = 32.0 + CELL.0 * longest.unwrap_or(0) as f32;
    let height = 32.0 + CELL.1 * lines.len() as f32;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         font-family=\"ui-monospace, 'Cascadia Mono', Menlo, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"#11151c\"/>\n"
    );
    for (i, line) in lines.iter().enumerate() {
        let mut column = 0;
        for (style, text) in spans(line) {
            let length = text.chars().count();
            if !text.trim().is_empty() {
                let (x, y) = (16.0 + CELL.0 * column as f32, 30.0 + CELL.1 * i as f32);
                svg.push_str(&format!(
                    "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{:.1}\" xml:space=\"preserve\" {style}>{}</text>\n",
                    CELL.0 * length as f32,
                    text.replace('&', "&amp;").replace('<', "&lt;")
                ));
            }
            column += length;
        }
    }
    svg + "</svg>\n"
}

/// A line as parts of one style each: attributes of SVG, and the text.
fn spans(line: &str) -> Vec<(String, String)> {
    let (mut colour, mut bold) = ("#c9d1d9", false);
    let mut spans = Vec::new();
    for (i, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if i > 0 => {
                for code in codes.split(';') {
                    match code {
                        "1" => bold = true,
                        "2" => colour = "#6e7681",
                        "91" => colour = "#ff7b72",
                        "92" => colour = "#7ee787",
                        "93" => colour = "#e3b341",
                        "96" => colour = "#79c0ff",
                        _ => (colour, bold) = ("#c9d1d9", false),
                    }
                }
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            let weight = if bold { " font-weight=\"bold\"" } else { "" };
            spans.push((format!("fill=\"{colour}\"{weight}"), text.to_owned()));
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_become_attributes_and_text_is_escaped() {
        let line = "a \u{1b}[1m\u{1b}[96mX\u{1b}[0m <b";
        let expected =
            [("fill=\"#c9d1d9\"", "a "), ("fill=\"#79c0ff\" font-weight=\"bold\"", "X"), ("fill=\"#c9d1d9\"", " <b")];
        assert_eq!(spans(line), expected.map(|(style, text)| (style.to_owned(), text.to_owned())));
        assert!(svg(line).contains("> &lt;b</text>"));
    }
}
