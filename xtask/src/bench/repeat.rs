//! Makes a long trace of a short one by repeating it in time.
//!
//! The file is cut, once, into stretches that stay as they are and values that change: time stamps move by a period a repeat,
//! the ids that tie events together by more than the largest of them, step numbers by the number of steps, and what says who
//! is in the job becomes true for the job asked for. Writing a repeat is then copying and printing numbers. It knows Kineto's
//! own layout and refuses others.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;

/// A trace ready to be repeated.
pub(crate) struct Base {
    /// Up to the value of `distributedInfo`, and from behind it to the first event.
    header: [String; 2],
    text: String,
    pieces: Vec<Piece>,
    /// From the end of the list of events to the end of the file.
    tail: String,
    period_ns: u64,
    /// By how much each kind of id moves per repeat.
    strides: [u64; KINDS],
}

/// A stretch of text, and the value behind it.
struct Piece {
    text: std::ops::Range<usize>,
    value: Value,
    /// A row's name, which needs saying only once: left out of every repeat but the first.
    only_first: bool,
}

#[derive(Clone, Copy)]
enum Value {
    None,
    Stamp(u64),
    Id(Kind, u64),
    Rank,
    GroupSize,
    GroupRanks,
}

/// Ids that live in name spaces of their own.
#[derive(Clone, Copy)]
enum Kind {
    Correlation,
    External,
    Flow,
    Step,
}

const KINDS: usize = 4;

impl Base {
    /// Reads and cuts a gzip-compressed trace.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut text = String::new();
        let open = || format!("failed to read {}", path.display());
        MultiGzDecoder::new(File::open(path).with_context(open)?).read_to_string(&mut text).with_context(open)?;
        Self::of(text).with_context(open)
    }

    fn of(text: String) -> Result<Self> {
        let (Some(first), Some(end)) = (text.find("\"traceEvents\": [\n"), text.rfind("\n  ],")) else {
            bail!("this is not laid out as Kineto writes it");
        };
        let first = first + "\"traceEvents\": [\n".len();
        let header = split_distributed_info(&text[..first])?;
        let mut base = Self {
            header,
            pieces: Vec::new(),
            tail: text[end..].to_owned(),
            period_ns: 0,
            strides: [0; KINDS],
            text: text[first..end].to_owned(),
        };
        base.cut()?;
        Ok(base)
    }

    /// Writes the trace of `rank` among `ranks`, `repeats` times as long.
    pub(crate) fn write(&self, rank: u32, ranks: u32, repeats: u32, out: &mut impl Write) -> io::Result<()> {
        let list = (0..ranks).map(|rank| rank.to_string()).collect::<Vec<_>>().join(", ");
        write!(
            out,
            "{}{{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": {ranks}, \"pg_count\": 1, \"pg_config\": [{{\"pg_name\": \
             \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"pg_size\": {ranks}, \"ranks\": [{list}]}}], \
             \"nccl_version\": \"2.22.3\"}}{}",
            self.header[0], self.header[1]
        )?;
        for repeat in 0..u64::from(repeats) {
            let shift_ns = repeat * self.period_ns + u64::from(rank) * RANK_SHIFT_NS;
            for piece in self.pieces.iter().filter(|piece| repeat == 0 || !piece.only_first) {
                out.write_all(self.text[piece.text.clone()].as_bytes())?;
                match piece.value {
                    Value::None => {}
                    Value::Stamp(ns) => write!(out, "{}.{:03}", (ns + shift_ns) / 1_000, (ns + shift_ns) % 1_000)?,
                    Value::Id(kind, id) => write!(out, "{}", id + repeat * self.strides[kind as usize])?,
                    Value::Rank => write!(out, "{rank}")?,
                    Value::GroupSize => write!(out, "{ranks}")?,
                    Value::GroupRanks => write!(out, "[{list}]")?,
                }
            }
            if repeat + 1 < u64::from(repeats) {
                out.write_all(b",\n")?;
            }
        }
        out.write_all(self.tail.as_bytes())
    }

    /// Finds the values of every event and, from them, the period and the strides.
    fn cut(&mut self) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        let (mut first_ns, mut last_ns) = (u64::MAX, 0);
        let (mut steps, mut largest) = ([u64::MAX, 0], [0; KINDS]);
        let mut at = 0;
        while at < text.len() {
            let end = text[at..].find(BETWEEN).map_or(text.len(), |found| at + found + BETWEEN.len());
            let event = &text[at..end];
            let only_first = event.contains("\"ph\": \"M\"");
            let mut stamp_ns = 0;
            let mut copied = at;
            for (start, len, value) in values(event)? {
                match value {
                    Value::Id(Kind::Step, step) => steps = [steps[0].min(step), steps[1].max(step)],
                    Value::Id(kind, id) => largest[kind as usize] = largest[kind as usize].max(id),
                    Value::Stamp(ns) => stamp_ns = ns,
                    _ => {}
                }
                self.pieces.push(Piece { text: copied..at + start, value, only_first });
                copied = at + start + len;
            }
            if let Some(found) = event.find("\"dur\": ") {
                let (duration_ns, _) = nanos(&event[found + "\"dur\": ".len()..])?;
                (first_ns, last_ns) = (first_ns.min(stamp_ns), last_ns.max(stamp_ns + duration_ns));
            }
            self.pieces.push(Piece { text: copied..end, value: Value::None, only_first });
            at = end;
        }
        self.period_ns = last_ns.saturating_sub(first_ns) + BREATH_NS;
        self.strides = largest.map(|largest| largest + 1);
        self.strides[Kind::Step as usize] = steps[1].saturating_sub(steps[0]).saturating_add(1);
        self.text = text;
        Ok(())
    }
}

/// Where the changing values of one event are, how long, and what; in order.
fn values(event: &str) -> Result<Vec<(usize, usize, Value)>> {
    let is_flow = event.contains("\"ph\": \"s\"") || event.contains("\"ph\": \"f\"");
    let mut values = Vec::new();
    for (key, make) in KEYS.iter().filter(|(key, _)| is_flow || *key != FLOW_ID) {
        if let Some(found) = event.find(key) {
            let start = found + key.len();
            let (value, len) = make(&event[start..])?;
            values.push((start, len, value));
        }
    }
    values.sort_unstable_by_key(|value| value.0);
    Ok(values)
}

type Make = fn(&str) -> Result<(Value, usize)>;

const FLOW_ID: &str = "\"id\": ";

const KEYS: [(&str, Make); 8] = [
    (FLOW_ID, |rest| id(rest, Kind::Flow)),
    ("\"name\": \"ProfilerStep#", |rest| id(rest, Kind::Step)),
    ("\"ts\": ", |rest| nanos(rest).map(|(ns, len)| (Value::Stamp(ns), len))),
    ("\"External id\": ", |rest| id(rest, Kind::External)),
    ("\"correlation\": ", |rest| id(rest, Kind::Correlation)),
    ("\"Rank\": ", |rest| number(rest).map(|(_, len)| (Value::Rank, len))),
    ("\"Group size\": ", |rest| number(rest).map(|(_, len)| (Value::GroupSize, len))),
    ("\"Process Group Ranks\": \"", |rest| Ok((Value::GroupRanks, rest.find('"').unwrap_or(0)))),
];

fn id(rest: &str, kind: Kind) -> Result<(Value, usize)> {
    number(rest).map(|(number, len)| (Value::Id(kind, number), len))
}

/// A whole number and its length.
fn number(rest: &str) -> Result<(u64, usize)> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..len].parse().with_context(|| format!("no number at {:?}", &rest[..rest.len().min(20)]))?;
    Ok((number, len))
}

/// Microseconds with three decimals, as nanoseconds, and their length.
fn nanos(rest: &str) -> Result<(u64, usize)> {
    let (micros, len) = number(rest)?;
    match rest.as_bytes().get(len) {
        Some(b'.') => {
            let (fraction, digits) = number(&rest[len + 1..])?;
            if digits != 3 {
                bail!("{digits} decimals where Kineto writes three");
            }
            Ok((micros * 1_000 + fraction, len + 1 + digits))
        }
        _ => Ok((micros * 1_000, len)),
    }
}

fn split_distributed_info(header: &str) -> Result<[String; 2]> {
    let key = "\"distributedInfo\": ";
    let Some(start) = header.find(key).map(|found| found + key.len()) else { bail!("the header has no distributedInfo") };
    let mut depth = 0;
    for (at, byte) in header[start..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Ok([header[..start].to_owned(), header[start + at + 1..].to_owned()]),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    bail!("distributedInfo does not end");
}

const BETWEEN: &str = "\n  },\n";

/// Between one repeat and the next.
const BREATH_NS: u64 = 200_000;

/// Ranks arrive one after the other by this much: well within the shortest collective, so that causality holds.
const RANK_SHIFT_NS: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_testkit::{Dialect, Job, Metadata};
    use serde_json::Value as Json;

    fn repeated(rank: u32, ranks: u32, repeats: u32) -> (Json, Json) {
        let job = Job { ranks: 2, steps: 2, metadata: Metadata::Args, ..Job::default() };
        let text = String::from_utf8(job.rank_bytes(0, &Dialect::default())).unwrap();
        let before = serde_json::from_str(&text).unwrap();
        let mut out = Vec::new();
        Base::of(text).unwrap().write(rank, ranks, repeats, &mut out).unwrap();
        (before, serde_json::from_slice(&out).unwrap())
    }

    fn spans<'a>(trace: &'a Json, category: &str) -> Vec<&'a Json> {
        let events = trace["traceEvents"].as_array().unwrap();
        events.iter().filter(|event| event["ph"] == "X" && event["cat"] == category).collect()
    }

    #[test]
    fn once_is_the_same_trace() {
        let (before, mut after) = repeated(0, 2, 1);
        after["distributedInfo"] = before["distributedInfo"].clone();
        assert_eq!(before, after);
    }

    #[test]
    fn repeats_follow_each_other_and_share_no_id() {
        let (before, after) = repeated(0, 2, 3);
        let kernels = spans(&before, "kernel").len();
        let mut correlations: Vec<u64> =
            spans(&after, "kernel").iter().map(|kernel| kernel["args"]["correlation"].as_u64().unwrap()).collect();
        assert_eq!(correlations.len(), 3 * kernels);
        correlations.sort_unstable();
        correlations.dedup();
        assert_eq!(correlations.len(), 3 * kernels);
        let steps: Vec<&str> = spans(&after, "user_annotation")
            .iter()
            .filter_map(|step| step["name"].as_str().filter(|name| name.starts_with("ProfilerStep")))
            .collect();
        assert_eq!(steps, (0..6).map(|step| format!("ProfilerStep#{step}")).collect::<Vec<_>>());
        let rows = |trace: &Json| trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "M").count();
        assert_eq!(rows(&after), rows(&before));
    }

    #[test]
    fn the_job_is_the_one_asked_for() {
        let (_, after) = repeated(3, 4, 1);
        assert_eq!(after["distributedInfo"]["rank"], 3);
        assert_eq!(after["distributedInfo"]["pg_config"][0]["ranks"], serde_json::json!([0, 1, 2, 3]));
        let comms = spans(&after, "kernel").into_iter().find(|kernel| kernel["args"]["Group size"].is_u64()).unwrap();
        assert_eq!(comms["args"]["Group size"], 4);
        assert_eq!(comms["args"]["Process Group Ranks"], "[0, 1, 2, 3]");
    }
}
