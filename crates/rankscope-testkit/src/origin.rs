//! What the origin's profiler leaves on one node: an XSpace whose host events are on the wall clock and whose kernels are on the
//! accelerator's, a plane of snapshots, and rows of offsets; with the truth of every event.
//!
//! Clocks are straight lines over true time, so the truth is exact and any map through two of its points has to find it.

use crate::Rng;

/// One node's clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginNode {
    /// Wall clock minus true time at the start.
    pub ahead_ns: i64,
    /// What the wall clock gains on true time.
    pub drift_ppb: i64,
    /// What the accelerator's clock shows at the start.
    pub gpu_start_ns: i64,
    /// What the accelerator's clock gains on true time.
    pub gpu_drift_ppb: i64,
}

/// True time of the start, in nanoseconds since the epoch.
pub const START_NS: i64 = 1_790_857_026_000_000_000;

/// How long a node is watched.
pub const LENGTH_NS: i64 = 12_000_000_000;

/// Windows of the probes, and snapshots, lie so far apart.
const WINDOW_NS: i64 = 4_000_000_000;
const SNAPSHOT_NS: i64 = 100_000_000;

/// One event: what it is called, when it truly began and how long it truly lasted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OriginEvent {
    /// Its name, of its own in the job.
    pub name: String,
    /// True start.
    pub start_ns: i64,
    /// True length.
    pub dur_ns: i64,
}

impl OriginNode {
    /// The wall clock at true time `at`.
    pub fn wall_ns(&self, at: i64) -> i64 {
        at + self.ahead_ns + gained(at, self.drift_ppb)
    }

    /// The accelerator's clock at true time `at`.
    pub fn gpu_ns(&self, at: i64) -> i64 {
        self.gpu_start_ns + (at - START_NS) + gained(at, self.gpu_drift_ppb)
    }

    /// The events of node `k`: kernels where the first is true, host events otherwise.
    pub fn events(&self, k: u32, count: u32, rng: &mut Rng) -> Vec<(bool, OriginEvent)> {
        let event = |i: u32| {
            let start_ns = START_NS + rng.below(LENGTH_NS as u64) as i64;
            let dur_ns = 1_000 + rng.below(50_000_000) as i64;
            (i % 2 == 1, OriginEvent { name: format!("node{k}_event{i}"), start_ns, dur_ns })
        };
        (0..count).map(event).collect()
    }

    /// The node's XSpace. Stamps of lines are 0 and events count from the start of the collector, as the origin's tool wants
    /// them, where `relative`; else lines have the stamps of their clocks.
    pub fn xspace(&self, events: &[(bool, OriginEvent)], relative: bool) -> Vec<u8> {
        let mut names: Vec<&str> = events.iter().map(|(_, event)| event.name.as_str()).collect();
        names.push("Snapshot");
        let snapshots: Vec<_> = (-5..LENGTH_NS / SNAPSHOT_NS + 10).map(|i| START_NS + i * SNAPSHOT_NS).collect();
        let mut file = Vec::new();
        for (plane, line, on_gpu) in [("/host:CPU", "main", false), ("/device:GPU:0", "Stream #7", true)] {
            let clock = |at| if on_gpu { self.gpu_ns(at) } else { self.wall_ns(at) };
            let origin = clock(START_NS);
            let mut body = message(&[text(2, line), varint(3, if relative { 0 } else { origin })]);
            for (at, (_, event)) in events.iter().enumerate().filter(|(_, (gpu, _))| *gpu == on_gpu) {
                let (start, end) = (clock(event.start_ns), clock(event.start_ns + event.dur_ns));
                let fields = [varint(1, at as i64 + 1), varint(2, (start - origin) * 1_000), varint(3, (end - start) * 1_000)];
                body.extend(bytes(4, &message(&fields)));
            }
            file.extend(bytes(1, &message(&[text(2, plane), bytes(3, &body), table(4, &names)])));
        }
        let (start, gpu_at) = (self.wall_ns(START_NS), |at| self.gpu_ns(at));
        let mut body = message(&[text(2, "Clock Snapshots"), varint(3, if relative { 0 } else { start })]);
        for at in snapshots {
            let stat = message(&[varint(1, 1), varint(3, gpu_at(at))]);
            let fields = [varint(1, names.len() as i64), varint(2, (self.wall_ns(at) - start) * 1_000), bytes(4, &stat)];
            body.extend(bytes(4, &message(&fields)));
        }
        let plane = [text(2, "/host:snapshots"), bytes(3, &body), table(4, &names), table(5, &["rocm_ns"])];
        file.extend(bytes(1, &message(&plane)));
        file
    }

    /// The node's rows of `round_offsets.jsonl`, against true time.
    pub fn offset_rows(&self, k: u32) -> String {
        let row = |round: i64| {
            let (from, until) = (self.wall_ns(START_NS + round * WINDOW_NS), self.wall_ns(START_NS + (round + 1) * WINDOW_NS));
            let middle = START_NS + round * WINDOW_NS + WINDOW_NS / 2;
            let offset = self.wall_ns(middle) - middle;
            format!(
                "{{\"round_id\":{round},\"window_id\":{round},\"window_start_ns\":{from},\"window_end_ns\":{until},\"node_id\":{k},\
                 \"offset_ns\":{offset},\"drift_ppm\":0,\"residual\":0,\"reachable\":true,\"converged\":true}}\n"
            )
        };
        (0..LENGTH_NS / WINDOW_NS).map(row).collect()
    }

    /// The node's part of the file's header.
    pub fn header(&self, k: u32) -> String {
        let (wall, gpu) = (self.wall_ns(START_NS), self.gpu_ns(START_NS));
        format!("{{\"node_id\":{k},\"start_walltime_ns\":{wall},\"start_gpu_ns\":{gpu}}}")
    }
}

/// `round_offsets.jsonl` of `nodes`.
pub fn round_offsets(nodes: &[OriginNode]) -> String {
    let headers: Vec<_> = (0..).zip(nodes).map(|(k, node)| node.header(k)).collect();
    let mut file = format!("{{\"meta\":true,\"nodes\":[{}]}}\n", headers.join(","));
    (0..).zip(nodes).for_each(|(k, node)| file += &node.offset_rows(k));
    file
}

fn gained(at: i64, drift_ppb: i64) -> i64 {
    (i128::from(at - START_NS) * i128::from(drift_ppb) / 1_000_000_000) as i64
}

/// A table of names with ids from 1, as field `field` of a plane.
fn table(field: u32, names: &[&str]) -> Vec<u8> {
    let entry = |(id, name): (i64, &&str)| {
        bytes(field, &message(&[varint(1, id), bytes(2, &message(&[varint(1, id), text(2, name)]))]))
    };
    (1..).zip(names).flat_map(entry).collect()
}

fn message(fields: &[Vec<u8>]) -> Vec<u8> {
    fields.concat()
}

fn text(field: u32, value: &str) -> Vec<u8> {
    bytes(field, value.as_bytes())
}

fn bytes(field: u32, value: &[u8]) -> Vec<u8> {
    [raw(u64::from(field) << 3 | 2), raw(value.len() as u64), value.to_vec()].concat()
}

fn varint(field: u32, value: i64) -> Vec<u8> {
    [raw(u64::from(field) << 3), raw(value as u64)].concat()
}

fn raw(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
