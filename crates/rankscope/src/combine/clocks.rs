//! The clocks of the traces to be combined, found before any of them is read whole.
//!
//! Three ways: as recorded; by a file of offsets, the origin's way, with its snapshots and its stamps relative to the start of a
//! collector; or as every other verb finds them, which looks through all traces once for their collectives.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rankscope_align::combine::{CollectorStart, OffsetPoint, PointMap, Restored, restore_stamps, through};
use rankscope_align::{Moved, RankMap, Settled, apply, settle_tracers};
use rankscope_clock::files::{OffsetRow, OffsetsFile, read_snapshots};
use rankscope_formats::{Scope, snapshot_pairs};
use rankscope_job::ClockChoice;
use rankscope_pipeline::{Judged, SideReadings, judged_files, pair};
use rankscope_run::{SideFile, read_side};
use rankscope_time::Instant;
use rankscope_trace::{ClockScope, SnapshotPair, Trace, TracerClock};

use super::Args;
use super::inputs::Inputs;
use crate::clock::read;
use crate::job::{Bar, request_by};

/// How traces are put on one clock.
#[derive(Debug)]
pub(super) struct Clocks {
    /// How clocks are known.
    pub(super) method: &'static str,
    /// What is odd about them.
    pub(super) notes: Vec<String>,
    /// Ranks of the job without a trace, where the job was looked through.
    pub(super) missing_ranks: Vec<u32>,
    /// Files that the job goes without, and why.
    pub(super) skipped: Vec<String>,
    ways: Ways,
}

#[derive(Debug)]
enum Ways {
    AsRecorded,
    /// By node.
    Offsets(BTreeMap<u32, NodeOffsets>),
    /// By the label of the trace, and the readings that lie beside.
    Job(BTreeMap<String, RankOfJob>, SideReadings),
}

/// What a file of offsets and its companions say about one node.
#[derive(Debug, Default)]
struct NodeOffsets {
    start: CollectorStart,
    map: Option<PointMap>,
    residual_ns: Option<f64>,
    snapshots: Vec<TracerClock>,
}

#[derive(Debug)]
struct RankOfJob {
    rank: u32,
    node: Option<u32>,
    map: RankMap,
    method: &'static str,
    notes: Vec<String>,
}

/// What was done to one trace.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    pub(super) node: Option<u32>,
    pub(super) method: &'static str,
    pub(super) restored: Restored,
    pub(super) settled: Vec<Settled>,
    pub(super) moved: Moved,
    pub(super) offset_windows: usize,
    pub(super) residual_ns: Option<f64>,
    /// The trace's clock minus the common one, in the middle of the trace.
    pub(super) ahead_ns: i64,
    pub(super) notes: Vec<String>,
}

impl Clocks {
    pub(super) fn find(args: &Args, found: &Inputs) -> Result<Self> {
        if let Some(offsets) = &args.offsets {
            return by_offsets(offsets, args, found);
        }
        let choice = args.clocks.choice();
        if args.no_correction || choice == ClockChoice::AsRecorded {
            return Ok(Self::new("as_recorded", Ways::AsRecorded));
        }
        by_job(args, found, choice)
    }

    fn new(method: &'static str, ways: Ways) -> Self {
        Self { method, notes: Vec::new(), missing_ranks: Vec::new(), skipped: Vec::new(), ways }
    }

    /// Whether the file called `label` is none of the job's: what it holds is no trace, or was read already.
    pub(super) fn leaves_out(&self, label: &str) -> bool {
        matches!(&self.ways, Ways::Job(ranks, _) if !ranks.contains_key(label))
    }

    /// The rank of `trace`, where the job as a whole tells it.
    pub(super) fn rank(&self, trace: &Trace) -> Option<u32> {
        match &self.ways {
            Ways::Job(ranks, _) => ranks.get(&trace.provenance.file).map(|rank| rank.rank),
            _ => None,
        }
    }

    /// Moves `trace`, which is number `number`, to the common clock.
    pub(super) fn align(&self, number: u32, trace: &mut Trace) -> Result<Aligned> {
        match &self.ways {
            Ways::AsRecorded => {
                Ok(Aligned { method: self.method, moved: apply(trace, &RankMap::identity()), ..Aligned::default() })
            }
            Ways::Offsets(nodes) => Ok(match nodes.get(&number) {
                Some(node) => node.align(number, trace),
                None => as_it_is(
                    trace,
                    number,
                    format!("the offsets file has no node {number}; its trace keeps its recorded timestamps"),
                ),
            }),
            Ways::Job(ranks, readings) => {
                readings.attach(trace);
                let settled = settle_tracers(trace);
                let Some(rank) = ranks.get(&trace.provenance.file) else {
                    bail!("{}: the file did not exist when clocks were read", trace.provenance.file);
                };
                let ahead_ns = ahead_ns(trace, &rank.map);
                let moved = apply(trace, &rank.map);
                let (method, notes) = (rank.method, rank.notes.clone());
                Ok(Aligned { node: rank.node, method, settled, moved, ahead_ns, notes, ..Aligned::default() })
            }
        }
    }
}

impl NodeOffsets {
    fn align(&self, number: u32, trace: &mut Trace) -> Aligned {
        if !self.snapshots.is_empty() {
            trace.provenance.tracer_clocks.clone_from(&self.snapshots);
        }
        let restored = restore_stamps(trace, self.start);
        let settled = settle_tracers(trace);
        let Some(points) = &self.map else {
            let alone = as_it_is(
                trace,
                number,
                format!("the offsets never place node {number}; its trace keeps its recorded timestamps"),
            );
            return Aligned { restored, settled, ..alone };
        };
        let mut notes = Vec::new();
        if points.passed_over > 0 {
            notes.push(format!("{} rows of offsets of node {number} contradict the rows before them", points.passed_over));
        }
        let ahead_ns = ahead_ns(trace, &points.map);
        let moved = apply(trace, &points.map);
        let (offset_windows, residual_ns) = (points.used, self.residual_ns);
        let node = Some(number);
        Aligned { node, method: "offsets", restored, settled, moved, offset_windows, residual_ns, ahead_ns, notes }
    }
}

impl Aligned {
    /// The most that the common time of an event may be off by what clocks claim.
    pub(super) fn uncertainty_ns(&self) -> u64 {
        let moves = self.settled.iter().map(|settled| &settled.moved).chain([&self.moved]);
        moves.map(|moved| moved.uncertainty_max_ns).fold(0, u64::saturating_add)
    }

    /// What the metadata plane says.
    pub(super) fn facts(&self) -> Vec<(&'static str, i64)> {
        let pairs: Vec<&SnapshotPair> = self.settled.iter().flat_map(|settled| &settled.clock.pairs).collect();
        let span_ns = pairs.first().zip(pairs.last()).map_or(0, |(first, last)| last.host_ns.saturating_sub(first.host_ns));
        vec![
            ("snapshots", pairs.len() as i64),
            ("sampling_period_ns", span_ns / (pairs.len() as i64 - 1).max(1)),
            ("offset_windows", self.offset_windows as i64),
            ("offset_ns", self.ahead_ns),
            ("offset_half_width_ns", i64::try_from(self.moved.uncertainty_max_ns).unwrap_or(i64::MAX)),
        ]
    }
}

/// Nothing is known, nothing moves.
fn as_it_is(trace: &mut Trace, number: u32, why: String) -> Aligned {
    let moved = apply(trace, &RankMap::identity());
    Aligned { node: Some(number), method: "as_recorded", moved, notes: vec![why], ..Aligned::default() }
}

/// What the trace's clock is ahead of the common one, in its middle.
fn ahead_ns(trace: &Trace, map: &RankMap) -> i64 {
    let (first, last) = trace.bounds_ns().unwrap_or((0, 0));
    let middle = first.midpoint(last);
    middle.saturating_sub(map.map(Instant::from_nanos_since_epoch(middle)).nanos_since_epoch())
}

fn by_offsets(path: &Path, args: &Args, found: &Inputs) -> Result<Clocks> {
    if !args.snapshots.is_empty() && args.snapshots.len() != found.files.len() {
        bail!("{} files of snapshots for {} traces; give one for each", args.snapshots.len(), found.files.len());
    }
    let (file, notes) = read::offsets(&[path.to_owned()])?;
    let mut notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
    let mut nodes = nodes(&file, &mut notes);
    for (number, path) in (0..).zip(&args.snapshots) {
        nodes.entry(number).or_default().snapshots = snapshots(path)?;
    }
    Ok(Clocks { notes, ..Clocks::new("offsets", Ways::Offsets(nodes)) })
}

fn nodes(file: &OffsetsFile, notes: &mut Vec<String>) -> BTreeMap<u32, NodeOffsets> {
    let mut nodes: BTreeMap<u32, NodeOffsets> = BTreeMap::new();
    for origin in file.header.iter().flat_map(|header| &header.nodes) {
        let start = CollectorStart { walltime_ns: origin.start_walltime_ns, gpu_ns: origin.start_gpu_ns };
        nodes.entry(origin.node.0).or_default().start = start;
    }
    let mut points: BTreeMap<u32, Vec<OffsetPoint>> = BTreeMap::new();
    let mut residuals: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (row, estimate) in file.rows.iter().filter_map(|row| Some((row, row.estimate?))) {
        points.entry(row.node.0).or_default().push(point(row, &estimate));
        residuals.entry(row.node.0).or_default().push(estimate.residual_ns);
    }
    for (number, points) in points {
        let node = nodes.entry(number).or_default();
        match through(&points) {
            Ok(map) => node.map = Some(map),
            Err(error) => notes.push(format!("the offsets of node {number} do not form a valid clock: {error}")),
        }
        let of_node = &residuals[&number];
        let mean = of_node.iter().map(|ns| ns * ns).sum::<f64>() / of_node.len() as f64;
        node.residual_ns = Some(mean.sqrt()).filter(|ns| ns.is_finite());
    }
    // Offsets are against it, so most files have no row for it.
    let reference = file.header.as_ref().and_then(|header| header.reference).map_or(0, |node| node.0);
    let of_reference = nodes.entry(reference).or_default();
    if of_reference.map.is_none() {
        of_reference.map = Some(PointMap { map: RankMap::identity(), used: 0, passed_over: 0 });
    }
    nodes
}

fn point(row: &OffsetRow, estimate: &rankscope_clock::nodes::NodeEstimate) -> OffsetPoint {
    let bound = estimate.bound;
    let half_width = (bound.hi.as_nanos() / 2).saturating_sub(bound.lo.as_nanos() / 2);
    OffsetPoint {
        at_ns: estimate.at.nanos_since_epoch(),
        // Rows without a window are the oldest ones, which give the middle of node 0's.
        at_reference: row.window.as_nanos() == 0,
        offset_ns: estimate.offset.as_nanos(),
        skew_ppb: estimate.skew_ppb as i64,
        half_width_ns: if half_width < UNBOUNDED_NS { half_width.unsigned_abs() } else { estimate.residual_ns.abs() as u64 },
    }
}

/// A bound wider than this (a day) says nothing.
const UNBOUNDED_NS: i64 = 86_400_000_000_000;

/// A file of snapshot pairs, as lines or as protobuf.
fn snapshots(path: &Path) -> Result<Vec<TracerClock>> {
    let bytes = read_side(path, SideFile::Clock)?;
    if bytes.trim_ascii_start().starts_with(b"{") {
        let clock = |(name, series): (String, rankscope_clock::files::SnapshotSeries)| TracerClock {
            name,
            scope: ClockScope::Devices,
            pairs: series.pairs.iter().map(pair).collect(),
        };
        return Ok(read_snapshots(&bytes).clocks.into_iter().map(clock).collect());
    }
    let file = snapshot_pairs::read(&*bytes).with_context(|| path.display().to_string())?;
    Ok(vec![TracerClock { name: "rocprofiler".into(), scope: ClockScope::Devices, pairs: file.pairs }])
}

fn by_job(args: &Args, found: &Inputs, choice: ClockChoice) -> Result<Clocks> {
    let mut request = request_by(&found.paths, args.partial, &args.clocks.measured, choice);
    request.mapping.reading.scope = Scope::Device;
    request.judging.one_file_a_rank = true;
    let Judged { job, readings, .. } = judged_files(&request, &found.files, &Bar::default())?;
    let method = job.clocks.method.name();
    let ranks = job.ranks.iter().zip(job.clocks.ranks).zip(job.nodes).map(|((own, clock), node)| {
        let rank = RankOfJob { rank: own.rank.0, node, map: clock.map, method: clock.method.name(), notes: clock.notes };
        (own.about.file.clone(), rank)
    });
    let ranks = ranks.collect();
    let missing_ranks = job.completeness.missing.iter().map(|rank| rank.0).collect();
    Ok(Clocks { notes: job.notes, skipped: job.skipped, missing_ranks, ..Clocks::new(method, Ways::Job(ranks, readings)) })
}
