//! Lines of a file that may have been cut short.

use std::fmt;

use serde::Serialize;

/// A line that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLine {
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    pub damage: Damage,
}

/// Why a line was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file ends within it, as it does when its writer is killed. Nothing to worry about.
    CutOff,
    /// It is not what it should be.
    Malformed(String),
}

impl fmt::Display for DamagedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.damage {
            Damage::CutOff => write!(f, "line {}: cut off, as when its writer was killed", self.line),
            Damage::Malformed(reason) => write!(f, "line {}: {reason}", self.line),
        }
    }
}

/// A file with more lines that cannot be read is none of ours.
const DAMAGED_LINES_MAX: usize = 100_000;

/// Gives every line that is not blank to `read`, and lists those that it refuses.
pub(super) fn each_line(bytes: &[u8], mut read: impl FnMut(&[u8]) -> Result<(), String>) -> Vec<DamagedLine> {
    let mut damaged = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = line.trim_ascii();
        let Err(reason) = (if text.is_empty() { Ok(()) } else { read(text) }) else { continue };
        let whole = line.ends_with(b"\n");
        let damage = if whole { Damage::Malformed(reason) } else { Damage::CutOff };
        damaged.push(DamagedLine { line: index + 1, damage });
        if damaged.len() == DAMAGED_LINES_MAX {
            let reason = format!("{DAMAGED_LINES_MAX} lines up to here cannot be read; reading stops here");
            damaged.push(DamagedLine { line: index + 1, damage: Damage::Malformed(reason) });
            break;
        }
    }
    damaged
}

/// `row` as a line.
pub(super) fn line(row: &impl Serialize) -> String {
    let mut text = serde_json::to_string(row).expect("rows have no maps, and a String takes any write");
    text.push('\n');
    text
}
