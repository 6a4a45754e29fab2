//! An engine of the Gomocup protocol for tests: it plays the first free point from the top left, with chatter between
//! its lines, and misbehaves as its argument says: `crash`, `hang`, `illegal`, `off`, `error`, `mute`, `no-restart`.

use std::io::{BufRead, Write};

fn main() {
    let habit = std::env::args().nth(1).unwrap_or_default();
    let mut out = std::io::stdout();
    let mut say = |line: &str| {
        // Whoever ended us no longer reads.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    };
    let (mut columns, mut rows) = (0, 0);
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut setting_up = false;
    let mut moves = 0;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let numbers: Vec<usize> = rest.split(',').filter_map(|n| n.trim().parse().ok()).collect();
        let mut to_move = false;
        match word {
            "START" if habit == "mute" => {}
            "START" | "RECTSTART" => {
                (columns, rows) = (numbers[0], *numbers.last().expect("a size"));
                taken.clear();
                say("MESSAGE welcome, 0,0\r\n\r\nOK everything is fine\r\n");
            }
            "RESTART" if habit == "no-restart" => say("UNKNOWN what is that?\r\n"),
            "RESTART" => {
                taken.clear();
                say("OK\n");
            }
            "INFO" => {}
            "END" => return,
            "BEGIN" => to_move = true,
            "TURN" => {
                taken.push((numbers[0], numbers[1]));
                to_move = true;
            }
            "BOARD" => {
                taken.clear();
                setting_up = true;
            }
            "DONE" => {
                setting_up = false;
                to_move = true;
            }
            point if setting_up => {
                let numbers: Vec<usize> = point.split(',').filter_map(|n| n.parse().ok()).collect();
                taken.push((numbers[0], numbers[1]));
            }
            _ => say("UNKNOWN command\r\n"),
        }
        if !to_move {
            continue;
        }
        moves += 1;
        let misbehave = moves > 1;
        match habit.as_str() {
            "crash" if misbehave => std::process::exit(3),
            "error" if misbehave => say("ERROR out of ideas\r\n"),
            "illegal" if misbehave => say(&format!("{},{}\r\n", taken[0].0, taken[0].1)),
            "off" if misbehave => say("99,-1\r\n"),
            "hang" if misbehave => {}
            _ => {
                let free = (0..columns * rows).map(|i| (i % columns, i / columns)).find(|point| !taken.contains(point));
                let Some((x, y)) = free else { return };
                taken.push((x, y));
                say(&format!("DEBUG thinking hard\nMESSAGE depth 1\r{x},{y}\r\n"));
            }
        }
    }
}
