//! Asks `rankscope spans` about a recording, as whoever made it would.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What it says, as JSON, after printing what it says to people. None if the variable `RANKSCOPE` does not name the program; then
/// the command is printed for the reader to type.
pub(crate) fn spans(recording: &Path) -> Result<Option<Value>, Box<dyn Error>> {
    let Some(rankscope) = std::env::var_os("RANKSCOPE") else {
        println!("$ rankscope spans {}", recording.display());
        return Ok(None);
    };
    let ask = |format: &str| -> Result<Vec<u8>, Box<dyn Error>> {
        let asked = Command::new(&rankscope).arg("spans").arg(recording).args(["--format", format]).output()?;
        match asked.status.success() {
            true => Ok(asked.stdout),
            false => Err(String::from_utf8_lossy(&asked.stderr).into()),
        }
    };
    println!("{}", String::from_utf8_lossy(&ask("table")?));
    Ok(Some(serde_json::from_slice(&ask("json")?)?))
}

/// The row of `name` in one of its tables, `spans` or `async_spans`.
pub(crate) fn row<'a>(answer: &'a Value, table: &str, name: &str) -> Option<&'a Value> {
    answer[table].as_array()?.iter().find(|row| row["name"] == name)
}
