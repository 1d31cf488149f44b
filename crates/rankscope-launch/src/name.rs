//! What a run is called: as its user says, if that names a directory below `runs/`, else by its program and the time.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use rankscope_probe::launch::command::JobCommand;

/// The name that a user gives a run. It names one directory, which lies in `runs/` and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName(String);

/// Why a text names no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// There is nothing.
    #[error("a name must not be empty")]
    Empty,
    /// `.` or `..`.
    #[error("this does not name a directory")]
    NoDirectory,
    /// It leads elsewhere.
    #[error("a name must not contain `/`, because the run is created in runs/; use --out for a path")]
    Slash,
    /// Some of it would steer a terminal.
    #[error("a name must not contain control characters")]
    Control,
    /// It would be hidden.
    #[error("a name must not begin with a dot")]
    Dot,
    /// File systems do not take it.
    #[error("a name must be at most 200 bytes long")]
    TooLong,
}

impl FromStr for RunName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Err(match name {
            "" => NameError::Empty,
            "." | ".." => NameError::NoDirectory,
            _ if name.contains('/') => NameError::Slash,
            _ if name.chars().any(char::is_control) => NameError::Control,
            _ if name.starts_with('.') => NameError::Dot,
            _ if name.len() > LENGTH_MAX => NameError::TooLong,
            _ => return Ok(Self(name.to_owned())),
        })
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a file system takes, less what we put before it.
const LENGTH_MAX: usize = 200;

/// The name of a run of `words` that begins now. Nodes of one job have to find the same name, so there its id takes the place of
/// the time.
pub(crate) fn usual(words: &[String], described: &JobCommand, shared: bool) -> String {
    let program = stem(words.get(described.program).or_else(|| words.first()).map_or("run", String::as_str));
    match &described.job {
        Some(job) if shared => format!("{program}-{}", plain(job)),
        _ => format!("{program}-{}", stamp_now()),
    }
}

/// The time, as it stands in names.
pub(crate) fn stamp_now() -> String {
    stamp(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

fn stem(program: &str) -> String {
    let name = program.rsplit('/').find(|part| !part.is_empty()).unwrap_or("run");
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let stem = plain(if stem.is_empty() { "run" } else { stem });
    if stem.trim_matches('-').is_empty() { "run".to_owned() } else { stem }
}

/// Nothing that a shell or a path would take for something else.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect()
}

/// Year to second in UTC, as `20260131-235959`.
fn stamp(unix_s: u64) -> String {
    let (day, second) = (unix_s / 86_400, unix_s % 86_400);
    // Days counted from 1 March of the year 0, so that the day that comes and goes is the last of its year.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}-{:02}{:02}{:02}", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        let table = [
            (0, "19700101-000000"),
            (951_782_399, "20000228-235959"),
            (951_782_400, "20000229-000000"),
            (1_709_164_800, "20240229-000000"),
            (4_107_542_400, "21000301-000000"),
            (1_798_761_599, "20261231-235959"),
        ];
        for (unix_s, text) in table {
            assert_eq!(stamp(unix_s), text);
        }
    }

    #[test]
    fn a_given_name_leads_nowhere_else() {
        for name in ["train", "a b", "träin-2", "v1.2", "-x", "..."] {
            assert_eq!(name.parse::<RunName>().is_ok(), !name.starts_with('.'), "{name}");
        }
        for name in ["", ".", "..", "../../esc", "/tmp/esc", "a/b", "a/", "a\nb", "\u{1b}[2J", &"x".repeat(201)] {
            assert!(name.parse::<RunName>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn names_are_plain() {
        let table = [
            ("/opt/my tools/train.v2.py", "train"),
            ("a b", "a-b"),
            ("..", "run"),
            ("/", "run"),
            ("./träin", "tr-in"),
            ("--", "run"),
        ];
        for (program, name) in table {
            assert_eq!(stem(program), name, "{program}");
        }
    }
}
