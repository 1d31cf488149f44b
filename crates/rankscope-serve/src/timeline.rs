//! Where in a timeline Perfetto's UI is to begin: at a stretch of time, on the rows of one rank.
//!
//! The UI has no argument that selects a row. It selects a slice by its start and duration (`ts`, `dur`), which it scrolls to; it shows a
//! stretch of time (`visStart`, `visEnd`); and it runs commands once the trace is there (`startupCommands`), of which two open and pin rows by
//! their names. An older UI passes over what it does not know. A step that is no slice of the timeline selects nothing, and the rest holds.

use serde_json::json;

/// A stretch of time on one rank, on the timeline's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelinePlace {
    /// The rank.
    pub rank: u32,
    /// Where it begins.
    pub start_ns: i64,
    /// Where it ends.
    pub end_ns: i64,
}

impl TimelinePlace {
    /// The arguments of the UI's address that go there.
    pub fn arguments(&self) -> String {
        let Self { rank, start_ns, end_ns } = self;
        // Numbers of ranks have as many digits as the largest, and the host's name follows.
        let row = format!("^rank 0*{rank}($| )");
        let commands =
            ["Expand", "Pin"].map(|what| json!({ "id": format!("dev.perfetto.{what}TracksByRegex"), "args": [row] }));
        let commands = json!(commands).to_string();
        let commands = percent_encoding::utf8_percent_encode(&commands, percent_encoding::NON_ALPHANUMERIC);
        let length_ns = end_ns.saturating_sub(*start_ns);
        format!("visStart={start_ns}&visEnd={end_ns}&ts={start_ns}&dur={length_ns}&startupCommands={commands}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_has_the_time_the_slice_and_the_rank() {
        let place = TimelinePlace { rank: 5, start_ns: 1_700_000_000_000_000_100, end_ns: 1_700_000_000_000_000_350 };
        let arguments = place.arguments();
        let (times, commands) = arguments.split_once("&startupCommands=").unwrap();
        let start = "1700000000000000100";
        assert_eq!(times, format!("visStart={start}&visEnd=1700000000000000350&ts={start}&dur=250"));
        assert!(!commands.contains(['"', '[', '&', ' ', '^', '|']), "{commands}");
        let commands = percent_encoding::percent_decode_str(commands).decode_utf8().unwrap();
        let commands: serde_json::Value = serde_json::from_str(&commands).unwrap();
        assert_eq!(commands[0]["args"], json!(["^rank 0*5($| )"]));
        assert_eq!(commands[1]["id"], "dev.perfetto.PinTracksByRegex");
    }
}
