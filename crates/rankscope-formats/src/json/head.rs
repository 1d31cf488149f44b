//! What a file says before and after its events.
//!
//! Order is not guaranteed: of the real files seen, half write the base time after the events and some write everything after
//! them. So members are gathered as text, and read when the file has ended.

use rankscope_time::Rank;
use rankscope_trace::{DeviceInfo, ProblemKind, ProcessGroup, Provenance, RankSource};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ranks::ranks;
use super::scan::{self, Items, Mode, skip_space, string_end, value_end};
use super::text::{decode, lossy};

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
        let kept =
            if len <= MEMBER_BYTES_MAX { lossy(&text[value..end]).into_owned() } else { format!("\"({len} bytes left out)\"") };
        members.push((decode(key).into_owned(), kept));
        at = end;
    }
}

/// What `distributedInfo` says. Its members are looked at where they stand: they list all ranks of all groups in every rank's file.
#[derive(Default)]
struct DistributedInfo<'a> {
    backend: Option<String>,
    rank: Option<u32>,
    world_size: Option<u32>,
    /// The text of each.
    groups: Vec<&'a [u8]>,
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
    let Some(info) = DistributedInfo::of(value.as_bytes()) else {
        provenance.problems.add_detailed(ProblemKind::BadNumber, 0, 1, "distributedInfo is not as expected".into());
        return;
    };
    provenance.rank = info.rank.map(|rank| (Rank(rank), RankSource::Header));
    provenance.world_size = info.world_size;
    provenance.backend = info.backend;
    for group in info.groups.into_iter().filter_map(process_group) {
        let short = group.size.is_some_and(|size| !group.ranks.is_empty() && group.ranks.len() < size as usize);
        if short {
            provenance.problems.add_detailed(ProblemKind::TruncatedRankList, 0, 1, "in distributedInfo".into());
        }
        provenance.process_groups.push(group);
    }
}

impl<'a> DistributedInfo<'a> {
    fn of(object: &'a [u8]) -> Option<Self> {
        let mut info = Self::default();
        for (key, value) in members(object)? {
            match key {
                b"backend" => info.backend = typed(value)?,
                b"rank" => info.rank = typed(value)?,
                b"world_size" => info.world_size = typed(value)?,
                b"pg_config" if value != b"null" => info.groups = items(value)?,
                _ => {}
            }
        }
        Some(info)
    }
}

/// A group from an item of `pg_config`; `None` if it is none.
fn process_group(object: &[u8]) -> Option<ProcessGroup> {
    let mut group = ProcessGroup::default();
    for (key, value) in members(object)? {
        match key {
            b"pg_name" => group.name = name(typed(value)?),
            b"pg_desc" => group.description = typed::<Option<String>>(value)?.unwrap_or_default(),
            b"backend_config" => group.backend = typed::<Option<String>>(value)?.unwrap_or_default(),
            b"pg_size" => group.size = typed(value)?,
            b"ranks" => group.ranks = ranks(value),
            _ => {}
        }
    }
    Some(group)
}

/// A name, which some write as a number.
fn name(value: Value) -> String {
    match value {
        Value::String(name) => name,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A value of a type of serde's, if it is one.
fn typed<T: DeserializeOwned>(value: &[u8]) -> Option<T> {
    serde_json::from_slice(value).ok()
}

/// The members of an object; `None` unless all of them can be told apart.
fn members(object: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut members = scan::Members::of(object, 0, Mode::Strict);
    let all = object.starts_with(b"{").then(|| members.by_ref().collect())?;
    members.at_end().then_some(all)
}

/// The items of an array; `None` unless all of them can be told apart.
fn items(array: &[u8]) -> Option<Vec<&[u8]>> {
    let mut items = Items::of(array, 0, Mode::Strict);
    let all = array.starts_with(b"[").then(|| items.by_ref().collect())?;
    items.at_end().then_some(all)
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
    fn what_is_of_another_type_is_a_problem_and_a_group_that_is_none_is_left_out() {
        let read = |text: &str| {
            let mut provenance = Provenance::default();
            interpret(vec![("distributedInfo".into(), text.into())], &mut provenance);
            provenance
        };
        for text in ["[]", "7", r#"{"rank": "1"}"#, r#"{"world_size": -4}"#, r#"{"pg_config": {}}"#, r#"{"rank": 1, 2}"#] {
            assert_eq!(read(text).problems.count(ProblemKind::BadNumber), 1, "{text}");
        }
        let some =
            read(r#"{"rank": 2, "backend": null, "pg_config": [5, {"pg_size": "x"}, {"pg_name": "tp", "ranks": null}, {}]}"#);
        assert_eq!((some.rank, some.backend), (Some((Rank(2), RankSource::Header)), None));
        assert_eq!(some.process_groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["tp", ""]);
        assert!(read(r#"{"pg_config": null}"#).problems.is_empty());
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
