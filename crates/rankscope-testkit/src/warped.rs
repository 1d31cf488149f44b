//! [`Warped`]: a job of many ranks out of the trace of one, in which it is planned who comes last in each collective.
//!
//! The collectives of that trace are anchors. Each rank gets its own times for them, and every other stamp lies between two anchors
//! where it lay before, in proportion. So kernels, names, arguments and nesting are real, and only the times are made up. As in every
//! job here, no rank leaves a collective before all have entered it.
//!
//! Frames of the Python tracer are left out: they are most of a file, and nothing that crosses ranks looks at them.

use std::io::Read;

use rankscope_clock::Rng;
use serde_json::{Map, Value, json};

use crate::NodeClock;

/// What is planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warped {
    /// Which rank enters each collective last, and how long after all others, in nanoseconds.
    pub last: Vec<(u32, i64)>,
    /// Ranks of one node, which share a clock.
    pub gpus_per_node: u32,
    /// What each node's clock shows, by node; nodes beyond the end have a true clock.
    pub clocks: Vec<NodeClock>,
    /// Rank and ordinal of a collective that happened but is missing from the rank's file.
    pub missing: Vec<(u32, u32)>,
    /// Where all chance comes from.
    pub seed: u64,
}

/// Ranks are late by less than this where nothing is planned, in nanoseconds.
const EARLY_NS: u64 = 2_000;
/// They leave a collective within this.
const LEAVE_NS: u64 = 1_500;

impl Warped {
    /// How many collectives there are to plan in `base`, a trace as torch writes it, plain or gzipped.
    ///
    /// # Panics
    /// If `base` is not such a trace.
    pub fn collectives(base: &[u8]) -> usize {
        Base::of(base).collectives.len()
    }

    /// The files of all ranks, ascending: as many as `base` says that its job has.
    ///
    /// # Panics
    /// If `base` is not a trace as torch writes it, or has another number of collectives than are planned.
    pub fn traces(&self, base: &[u8]) -> Vec<Vec<u8>> {
        let base = Base::of(base);
        assert_eq!(base.collectives.len(), self.last.len(), "every collective is planned");
        let times = self.times(&base);
        (0..).zip(times).map(|(rank, times)| self.trace(&base, rank, &times)).collect()
    }

    /// For each rank, when it enters and leaves each collective, in true time.
    fn times(&self, base: &Base) -> Vec<Vec<(i64, i64)>> {
        let mut rng = Rng::new(self.seed);
        let mut left = vec![base.start_ns; base.ranks as usize];
        let mut times = vec![Vec::new(); base.ranks as usize];
        let mut base_left = base.start_ns;
        for (collective, (last, lead_ns)) in base.collectives.iter().zip(&self.last) {
            let gap_ns = collective.start_ns - base_left;
            let mut entered: Vec<i64> = left.iter().map(|left| left + gap_ns + rng.below(EARLY_NS) as i64).collect();
            let latest = entered.iter().copied().max().expect("a job has ranks") + lead_ns;
            entered[*last as usize] = latest;
            // The base rank waited in it, too.
            let all_leave = latest + (collective.end_ns - collective.start_ns) * 6 / 10;
            for ((left, times), entered) in left.iter_mut().zip(&mut times).zip(entered) {
                *left = all_leave + rng.below(LEAVE_NS) as i64;
                times.push((entered, *left));
            }
            base_left = collective.end_ns;
        }
        times
    }

    fn trace(&self, base: &Base, rank: u32, times: &[(i64, i64)]) -> Vec<u8> {
        let node = rank / self.gpus_per_node.max(1);
        let clock = self.clocks.get(node as usize).copied().unwrap_or_default();
        let knots = knots(base, times);
        let shown = |base_ns: i64| {
            let true_ns = between(&knots, base_ns);
            let gained = i128::from(true_ns - base.start_ns) * i128::from(clock.drift_ppb) / 1_000_000_000;
            true_ns + clock.offset_ns + gained as i64
        };
        let lost = |at: usize| {
            let ordinal = base.collectives.iter().position(|collective| collective.event == at);
            ordinal.is_some_and(|ordinal| self.missing.contains(&(rank, ordinal as u32)))
        };
        let kept = base.events.iter().enumerate().filter(|(at, _)| !lost(*at));
        let events: Vec<Value> = kept.map(|(_, event)| moved(event, rank, shown)).collect();
        let mut file = base.header.clone();
        file["distributedInfo"]["rank"] = rank.into();
        file.insert("traceEvents".to_owned(), events.into());
        serde_json::to_vec(&file).expect("JSON can be written to memory")
    }
}

/// `event` at its new times, on `rank`.
fn moved(event: &Value, rank: u32, shown: impl Fn(i64) -> i64) -> Value {
    let mut event = event.clone();
    if let Some(start_ns) = nanos(&event["ts"]).filter(|_| event["ph"] != "M") {
        let start = shown(start_ns);
        if let Some(dur_ns) = nanos(&event["dur"]) {
            event["dur"] = micros(shown(start_ns + dur_ns) - start);
        }
        event["ts"] = micros(start);
    }
    if let Some(own) = event.pointer_mut("/args/Rank") {
        *own = rank.into();
    }
    event
}

/// The trace that a job is made of.
struct Base {
    header: Map<String, Value>,
    ranks: u32,
    events: Vec<Value>,
    /// When its first span began.
    start_ns: i64,
    /// In order of time; none of them overlap.
    collectives: Vec<Anchor>,
}

/// A collective of the base, and which of its events it is.
struct Anchor {
    start_ns: i64,
    end_ns: i64,
    event: usize,
}

impl Base {
    fn of(bytes: &[u8]) -> Self {
        let mut plain = Vec::new();
        let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
            flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain).expect("gzip");
            &plain
        } else {
            bytes
        };
        let mut header: Map<String, Value> = serde_json::from_slice(bytes).expect("a JSON object");
        let Some(Value::Array(mut events)) = header.remove("traceEvents") else { panic!("a trace without events") };
        events.retain(|event| event["cat"] != "python_function");
        let ranks = header["distributedInfo"]["world_size"].as_u64().expect("a number of ranks") as u32;
        let starts = events.iter().filter(|event| event["ph"] == "X").filter_map(|event| nanos(&event["ts"]));
        let start_ns = starts.min().expect("a trace has spans");
        let mut collectives: Vec<Anchor> = events.iter().enumerate().filter_map(Anchor::of).collect();
        collectives.sort_by_key(|anchor| anchor.start_ns);
        assert!(collectives.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "collectives follow each other");
        Self { header, ranks, events, start_ns, collectives }
    }
}

impl Anchor {
    fn of((event, value): (usize, &Value)) -> Option<Self> {
        let name = value["name"].as_str().filter(|_| value["cat"] == "kernel")?;
        let start_ns = nanos(&value["ts"]).filter(|_| name.starts_with("nccl"))?;
        Some(Self { start_ns, end_ns: start_ns + nanos(&value["dur"])?, event })
    }
}

/// Where times of the base lie in those of a rank, ascending in both.
fn knots(base: &Base, times: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut knots = vec![(base.start_ns, base.start_ns)];
    for (anchor, (entered, left)) in base.collectives.iter().zip(times) {
        knots.extend([(anchor.start_ns, *entered), (anchor.end_ns, *left)]);
    }
    knots.dedup_by_key(|knot| knot.0);
    knots
}

/// On the line through the knots around `base_ns`; outside of them as far from the next as before.
fn between(knots: &[(i64, i64)], base_ns: i64) -> i64 {
    let after = knots.partition_point(|knot| knot.0 <= base_ns);
    let Some((from, to)) = after.checked_sub(1).map(|before| knots[before]) else { return base_ns };
    let Some((next_from, next_to)) = knots.get(after) else { return to + (base_ns - from) };
    to + (i128::from(base_ns - from) * i128::from(next_to - to) / i128::from(next_from - from)) as i64
}

/// Microseconds with three decimals, of which a float at this distance from the epoch of the file still tells each.
fn nanos(micros: &Value) -> Option<i64> {
    micros.as_f64().map(|micros| (micros * 1e3).round() as i64)
}

fn micros(nanos: i64) -> Value {
    json!(nanos as f64 / 1e3)
}
