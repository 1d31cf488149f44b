//! The clocks of the traces to be combined, found before any of them is read whole.
//!
//! Three ways: as recorded; by a file of offsets, the origin's way, with its snapshots and its stamps relative to the start of a
//! collector; or as every other verb finds them, which looks through all traces for their collectives, and keeps them where all fit.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rankscope_align::combine::{NodeOffsets, PlacedBy, PlacedTrace, offsets_by_node};
use rankscope_align::{Method, RankMap, settle_tracers};
use rankscope_cli::job::{Bar, request_by};
use rankscope_clock::files::read_snapshots;
use rankscope_formats::{Scope, snapshot_pairs};
use rankscope_job::{ClockChoice, Evidence};
use rankscope_pipeline::{Held, Judged, Keep, SideReadings, device_clocks, judged_files, offsets, probably_fit};
use rankscope_run::{SideFile, read_side};
use rankscope_trace::{ClockScope, Trace, TracerClock};

use super::inputs::Inputs;
use super::{Args, WHOLE};

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
    /// The traces that were looked through for them and are in memory.
    pub(super) held: Option<Held>,
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

#[derive(Debug)]
struct RankOfJob {
    rank: u32,
    node: Option<u32>,
    map: RankMap,
    method: Method,
    notes: Vec<String>,
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
        Self { method, notes: Vec::new(), missing_ranks: Vec::new(), skipped: Vec::new(), held: None, ways }
    }

    /// What there is to validate, before the first trace.
    pub(super) fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        evidence.clocks = self.method;
        evidence.notes.clone_from(&self.notes);
        evidence.missing_ranks.clone_from(&self.missing_ranks);
        evidence.skipped.clone_from(&self.skipped);
        evidence
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
    pub(super) fn place(&self, number: u32, trace: &mut Trace) -> Result<PlacedTrace> {
        match &self.ways {
            Ways::AsRecorded => Ok(PlacedTrace::by_map(trace, &RankMap::identity(), PlacedBy::Nothing)),
            Ways::Offsets(nodes) => Ok(match nodes.get(&number) {
                Some(node) => node.place(number, trace),
                None => {
                    let why = format!("the offsets file has no node {number}; its trace keeps its recorded timestamps");
                    PlacedTrace::as_it_is(trace, number, why)
                }
            }),
            Ways::Job(ranks, readings) => {
                readings.attach(trace);
                let settled = settle_tracers(trace);
                let Some(RankOfJob { node, map, method, notes, .. }) = ranks.get(&trace.provenance.file) else {
                    bail!("{}: the file did not exist when clocks were read", trace.provenance.file);
                };
                let placed = PlacedTrace::by_map(trace, map, PlacedBy::Job(*method));
                Ok(PlacedTrace { node: *node, settled, notes: notes.clone(), ..placed })
            }
        }
    }
}

fn by_offsets(path: &Path, args: &Args, found: &Inputs) -> Result<Clocks> {
    if !args.snapshots.is_empty() && args.snapshots.len() != found.files.len() {
        bail!("{} files of snapshots for {} traces; give one for each", args.snapshots.len(), found.files.len());
    }
    let read = offsets(&[path.to_owned()])?;
    let mut notes: Vec<String> = read.oddities.iter().map(ToString::to_string).collect();
    let (mut nodes, refused) = offsets_by_node(&read.offsets);
    for (node, error) in refused {
        notes.push(format!("the offsets of node {node} do not form a valid clock: {error}"));
    }
    for (number, path) in (0..).zip(&args.snapshots) {
        nodes.entry(number).or_default().snapshots = snapshots(path)?;
    }
    Ok(Clocks { notes, ..Clocks::new("offsets", Ways::Offsets(nodes)) })
}

/// A file of snapshot pairs, as lines or as protobuf.
fn snapshots(path: &Path) -> Result<Vec<TracerClock>> {
    let bytes = read_side(path, SideFile::Clock)?;
    if bytes.trim_ascii_start().starts_with(b"{") {
        return Ok(device_clocks(read_snapshots(&bytes), |_| true).collect());
    }
    let file = snapshot_pairs::read(&*bytes).with_context(|| path.display().to_string())?;
    Ok(vec![TracerClock { name: "rocprofiler".into(), scope: ClockScope::Devices, pairs: file.pairs }])
}

fn by_job(args: &Args, found: &Inputs, choice: ClockChoice) -> Result<Clocks> {
    let mut request = request_by(&found.paths, args.partial, args.clocks.measured(), choice);
    let memory_bytes = args.memory.bytes();
    if probably_fit(&found.files, memory_bytes) {
        (request.mapping.reading, request.mapping.keep) = (WHOLE, Keep::UpTo(memory_bytes));
    } else {
        request.mapping.reading.scope = Scope::Device;
    }
    request.judging.one_file_a_rank = true;
    let Judged { job, readings, held, .. } = judged_files(&request, &found.files, &Bar::default())?;
    let method = job.clocks.method.name();
    let ranks = job.ranks.iter().zip(job.clocks.ranks).zip(job.nodes).map(|((own, clock), node)| {
        let rank = RankOfJob { rank: own.rank.0, node, map: clock.map, method: clock.method, notes: clock.notes };
        (own.about.file.clone(), rank)
    });
    Ok(Clocks {
        notes: job.notes,
        skipped: job.skipped,
        missing_ranks: job.completeness.missing.iter().map(|rank| rank.0).collect(),
        held: Some(held),
        ..Clocks::new(method, Ways::Job(ranks.collect(), readings))
    })
}
