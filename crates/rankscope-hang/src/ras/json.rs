//! The answer in JSON. NCCL 2.28.9 leaves out a comma; it is put back wherever one value follows another.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Absent, Communicator, Member, Process, RasAnswer, RasError, Silence};

#[derive(Deserialize)]
struct Raw {
    communicators: Vec<RawCommunicator>,
}

#[derive(Deserialize)]
struct RawCommunicator {
    size: Option<usize>,
    #[serde(default)]
    ranks: Vec<RawRank>,
    #[serde(default)]
    missing_ranks: Vec<RawRank>,
}

#[derive(Deserialize)]
struct RawRank {
    rank: u32,
    #[serde(default)]
    host: String,
    #[serde(default)]
    pid: u64,
    #[serde(default)]
    status: RawStatus,
    #[serde(default)]
    collective_counts: BTreeMap<String, u64>,
}

#[derive(Default, Deserialize)]
struct RawStatus {
    #[serde(default)]
    unresponsive: bool,
    #[serde(default)]
    considered_dead: bool,
}

pub(super) fn read(text: &str) -> Result<RasAnswer, RasError> {
    let raw: Raw = match serde_json::from_str(text) {
        Err(error) if error.is_syntax() => serde_json::from_str(&with_commas(text)),
        read => read,
    }
    .map_err(|error| if error.is_eof() { RasError::Cut { bytes: text.len() } } else { RasError::Json(error) })?;
    Ok(RasAnswer { communicators: raw.communicators.into_iter().map(communicator).collect(), dead: Vec::new() })
}

fn communicator(raw: RawCommunicator) -> Communicator {
    let mut most: BTreeMap<&str, u64> = BTreeMap::new();
    for (operation, count) in raw.ranks.iter().flat_map(|rank| &rank.collective_counts) {
        let most = most.entry(operation).or_default();
        *most = (*most).max(*count);
    }
    let count = |rank: &RawRank, operation: &str| rank.collective_counts.get(operation).copied().unwrap_or(0);
    let member = |rank: &RawRank| Member {
        rank: rank.rank,
        process: process(rank),
        is_behind: most.iter().any(|(operation, most)| count(rank, operation) < *most),
        is_counted: most.values().any(|most| *most > 0),
    };
    let absent = |rank: &RawRank| Absent {
        rank: rank.rank,
        process: Some(process(rank)).filter(|process| process.pid != 0),
        silence: match rank.status {
            RawStatus { considered_dead: true, .. } => Silence::Dead,
            RawStatus { unresponsive: true, .. } => Silence::Unresponsive,
            RawStatus { .. } => Silence::Unsaid,
        },
    };
    Communicator {
        size: raw.size,
        members: raw.ranks.iter().map(member).collect(),
        absent: raw.missing_ranks.iter().map(absent).collect(),
    }
}

fn process(rank: &RawRank) -> Process {
    Process { host: rank.host.as_str().into(), pid: rank.pid }
}

/// `text` with a comma wherever a value or a key follows a value.
fn with_commas(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut copied = 0;
    let (mut in_string, mut escaped) = (false, false);
    // Whether the last thing was the end of a value, and whether a blank came after it.
    let (mut ended, mut blank) = (false, false);
    for (at, letter) in text.char_indices() {
        if in_string {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => (in_string, ended, blank) = (false, true, false),
                _ => {}
            }
            continue;
        }
        let is_word = letter.is_ascii_alphanumeric() || matches!(letter, '-' | '+' | '.');
        if letter.is_whitespace() {
            blank = true;
            continue;
        }
        if ended && (matches!(letter, '"' | '{' | '[') || (is_word && blank)) {
            repaired.push_str(&text[copied..at]);
            repaired.push(',');
            copied = at;
        }
        in_string = letter == '"';
        ended = is_word || matches!(letter, '}' | ']');
        blank = false;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(&text[copied..]);
    Cow::Owned(repaired)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::with_commas;

    #[test]
    fn a_comma_that_is_left_out_is_put_back_wherever_it_was() {
        for (text, whole) in [
            ("{\"a\": 0\n \"b\": {\"c\": true}}", "{\"a\": 0\n ,\"b\": {\"c\": true}}"),
            ("[{} {}]", "[{} ,{}]"),
            ("[\"x\" \"a b\\\" c\"]", "[\"x\" ,\"a b\\\" c\"]"),
            ("[1 2]", "[1 ,2]"),
            ("{\"a\": [1, -2.5e3], \"b\": null}", "{\"a\": [1, -2.5e3], \"b\": null}"),
        ] {
            assert_eq!(with_commas(text), whole);
        }
    }

    proptest! {
        #[test]
        fn what_lacks_nothing_stays_as_it_is(names in proptest::collection::vec("[a-z \\\\\"{},:]{0,8}", 0..6), numbers in proptest::collection::vec(any::<i32>(), 0..6)) {
            let text = serde_json::to_string_pretty(&serde_json::json!({"names": names, "numbers": numbers, "deep": [{"names": names}]}))?;
            prop_assert_eq!(with_commas(&text), text.as_str());
        }
    }
}
