//! The port that `dyno` asks: a length of four bytes, as this machine writes it, and JSON, both ways.

use serde::{Deserialize, Serialize};

/// The port that everybody knows.
pub const PORT: u16 = 1778;

/// The longest message.
pub const MESSAGE_MAX: usize = 1 << 20;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fn")]
pub enum Call {
    /// Whether anybody is there.
    #[serde(rename = "getStatus")]
    Status,
    /// Which version.
    #[serde(rename = "getVersion")]
    Version,
    /// Profile. The name is misspelt so on the wire.
    #[serde(rename = "setKinetOnDemandRequest")]
    Profile(Profile),
}

/// What to profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The configuration, as text.
    pub config: String,
    /// The job; 0 takes those without one.
    #[serde(default)]
    pub job_id: i64,
    /// The processes, or those that started them. None, or 0 alone, takes all.
    #[serde(default)]
    pub pids: Vec<i32>,
    /// At most so many.
    #[serde(default = "limit")]
    pub process_limit: usize,
}

const fn limit() -> usize {
    1_000
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profiled {
    /// Processes that it is for.
    pub processes_matched: Vec<i32>,
    /// Of profilers of events, which there are none of.
    pub event_profilers_triggered: Vec<i32>,
    /// Those that get it.
    pub activity_profilers_triggered: Vec<i32>,
    /// As above.
    pub event_profilers_busy: i32,
    /// How many have another one waiting.
    pub activity_profilers_busy: i32,
    /// Why nobody gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `message` with its length before it.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = i32::try_from(message.len()).unwrap_or(i32::MAX);
    [&length.to_ne_bytes()[..], message].concat()
}

/// The length that four bytes say; none for one that is never taken.
pub fn length(head: [u8; 4]) -> Option<usize> {
    usize::try_from(i32::from_ne_bytes(head)).ok().filter(|length| (1..=MESSAGE_MAX).contains(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dyno_asks_is_understood() {
        let asked = r#"{"fn":"setKinetOnDemandRequest","config":"A=1\n","job_id":0,"pids":[0],"process_limit":3}"#;
        let call: Call = serde_json::from_str(asked).expect("a call");
        let profile = Profile { config: "A=1\n".to_owned(), job_id: 0, pids: vec![0], process_limit: 3 };
        assert_eq!(call, Call::Profile(profile));
        assert_eq!(serde_json::from_str::<Call>(r#"{"fn":"getStatus"}"#).expect("a call"), Call::Status);
        assert!(serde_json::from_str::<Call>(r#"{"fn":"rm"}"#).is_err());
        let answer =
            serde_json::to_value(Profiled { activity_profilers_triggered: vec![4], ..Profiled::default() }).expect("JSON");
        assert_eq!(answer["activityProfilersTriggered"], serde_json::json!([4]));
        assert_eq!(answer["eventProfilersBusy"], 0);
    }

    #[test]
    fn lengths_have_bounds() {
        assert_eq!(framed(b"{}"), [2_i32.to_ne_bytes().as_slice(), b"{}"].concat());
        assert_eq!(length(2_i32.to_ne_bytes()), Some(2));
        for length_said in [0, -1, i32::MAX] {
            assert_eq!(length(length_said.to_ne_bytes()), None);
        }
    }
}
