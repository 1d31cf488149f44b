//! What a file says before and after its events.
//!
//! Order is not guaranteed: of the real files seen, half write the base time after the events and some write everything after
//! them. So members are gathered as text, and read when the file has ended.

use rankscope_time::Rank;
use rankscope_trace::{DeviceInfo, ProblemKind, ProcessGroup, Provenance, RankSource};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::scan::{Mode, skip_space, string_end, value_end};
use super::text::decode;

/// Where the members of the top-level object led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// The array of events opens just before this position.
    Events(usize),
    /// The object is closed.
    Closed(usize),
    /// The text ends inside the member that starts here.
    CutShort(usize),
    /// What stands here is no member.
    Malformed(usize),
}

/// Members of the top-level object: key and the value's JSON text.
pub(super) type Members = Vec<(String, String)>;

/// A member's value is kept up to this length; profilers log megabytes of warnings that no one reads back.
const MEMBER_BYTES_MAX: usize = 4 << 20;

/// Gathers members from `at` on, up to the array of events or the end.
pub(super) fn walk(text: &[u8], mut at: usize, members: &mut Members) -> Walk {
    loop {
        at = skip_space(text, at);
        let start = at;
        match text.get(at) {
            None => return Walk::CutShort(start),
            Some(b',') => {
                at += 1;
                continue;
            }
            Some(b'}') => return Walk::Closed(at + 1),
            Some(b'"') => {}
            Some(_) => return Walk::Malformed(at),
        }
        let Some((key_end, _)) = string_end(text, at, Mode::Strict) else { return Walk::CutShort(start) };
        let colon = skip_space(text, key_end + 1);
        match text.get(colon) {
            None => return Walk::CutShort(start),
            Some(b':') => {}
            Some(_) => return Walk::Malformed(colon),
        }
        let value = skip_space(text, colon + 1);
        let key = &text[at + 1..key_end];
        if key == b"traceEvents" && text.get(value) == Some(&b'[') {
            return Walk::Events(value + 1);
        }
        let Some(end) = value_end(text, value, Mode::Strict, &mut 0) else { return Walk::CutShort(start) };
        let len = end - value;
        let kept = if len <= MEMBER_BYTES_MAX {
            String::from_utf8_lossy(&text[value..end]).into_owned()
        } else {
            format!("\"({len} bytes left out)\"")
        };
        members.push((decode(key).into_owned(), kept));
        at = end;
    }
}

#[derive(Deserialize)]
struct DistributedInfo<'a> {
    backend: Option<String>,
    rank: Option<u32>,
    world_size: Option<u32>,
    #[serde(borrow, default)]
    pg_config: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct GroupConfig {
    #[serde(default)]
    pg_name: serde_json::Value,
    #[serde(default)]
    pg_desc: Option<String>,
    #[serde(default)]
    backend_config: Option<String>,
    #[serde(default)]
    pg_size: Option<u32>,
    #[serde(default)]
    ranks: serde_json::Value,
}

#[derive(Deserialize)]
struct Device {
    id: i64,
    #[serde(default)]
    name: String,
}

/// Reads what `members` say about the recording. What is not understood stays in `provenance.header` all the same.
pub(super) fn interpret(members: Members, provenance: &mut Provenance) {
    for (key, value) in &members {
        match key.as_str() {
            "distributedInfo" => distributed_info(value, provenance),
            "baseTimeNanoseconds" => provenance.clock_base_ns = value.trim_matches('"').parse().ok(),
            "host_name" => provenance.host = serde_json::from_str(value).ok(),
            "trace_id" => provenance.trace_id = serde_json::from_str(value).ok(),
            "deviceProperties" => {
                let devices: Vec<Device> = serde_json::from_str(value).unwrap_or_default();
                provenance.devices =
                    devices.into_iter().map(|device| DeviceInfo { index: device.id, name: device.name }).collect();
            }
            _ => {}
        }
    }
    provenance.header = members;
}

fn distributed_info(value: &str, provenance: &mut Provenance) {
    let Ok(info) = serde_json::from_str::<DistributedInfo<'_>>(value) else {
        provenance.problems.add_detailed(ProblemKind::BadNumber, 0, 1, "distributedInfo is not as expected".into());
        return;
    };
    provenance.rank = info.rank.map(|rank| (Rank(rank), RankSource::Header));
    provenance.world_size = info.world_size;
    provenance.backend = info.backend;
    for config in info.pg_config.unwrap_or_default() {
        let Ok(config) = serde_json::from_str::<GroupConfig>(config.get()) else { continue };
        let ranks = group_ranks(&config.ranks);
        let short = config.pg_size.is_some_and(|size| !ranks.is_empty() && ranks.len() < size as usize);
        if short {
            provenance.problems.add_detailed(ProblemKind::TruncatedRankList, 0, 1, "in distributedInfo".into());
        }
        let name = match config.pg_name {
            serde_json::Value::String(name) => name,
            serde_json::Value::Null => String::new(),
            other => other.to_string(),
        };
        provenance.process_groups.push(ProcessGroup {
            name,
            description: config.pg_desc.unwrap_or_default(),
            backend: config.backend_config.unwrap_or_default(),
            size: config.pg_size,
            ranks,
        });
    }
}

/// Ranks as an array, or as a string that holds one and may be cut with `...`.
fn group_ranks(value: &serde_json::Value) -> Vec<Rank> {
    match value {
        serde_json::Value::Array(ranks) => {
            ranks.iter().filter_map(|rank| rank.as_u64().and_then(|rank| u32::try_from(rank).ok()).map(Rank)).collect()
        }
        serde_json::Value::String(text) => text
            .split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .filter_map(|digits| digits.parse().ok().map(Rank))
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_array_or_string() {
        for ranks in ["[0, 1, 3]", "\"[0, 1, 3]\""] {
            let text = format!(
                r#"{{"rank": 1, "world_size": 4, "backend": "nccl", "pg_config": [{{"pg_name": 7, "pg_size": 3, "ranks": {ranks}}}]}}"#
            );
            let mut provenance = Provenance::default();
            interpret(vec![("distributedInfo".into(), text)], &mut provenance);
            assert_eq!(provenance.rank, Some((Rank(1), RankSource::Header)));
            assert_eq!(provenance.process_groups[0].ranks, [Rank(0), Rank(1), Rank(3)]);
            assert_eq!(provenance.process_groups[0].name, "7");
            assert!(provenance.problems.is_empty());
        }
    }

    #[test]
    fn walking_stops_at_the_events() {
        let text = br#""a": {"b": [1]}, "traceEvents": [ {}"#;
        let mut members = Members::new();
        let Walk::Events(at) = walk(text, 0, &mut members) else { panic!("no events") };
        assert_eq!(&text[at - 1..at], b"[");
        assert_eq!(members, [("a".to_owned(), r#"{"b": [1]}"#.to_owned())]);
        assert_eq!(walk(&text[..12], 0, &mut Members::new()), Walk::CutShort(0));
        assert_eq!(walk(b"}", 0, &mut Members::new()), Walk::Closed(1));
        assert_eq!(walk(b"x", 0, &mut Members::new()), Walk::Malformed(0));
    }
}
