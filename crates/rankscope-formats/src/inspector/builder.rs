//! The traces of one process, from its lines.
//!
//! Which rank of the job a process is nobody says: a header counts within its communicator. The first of the largest communicators is
//! taken for that of all ranks, which is known only when the file has ended, and may be wrong: whoever has the files of all ranks sees it.
//! So what would be wrong with it is not said at all: which ranks a communicator has, and whom a message is with. A process that drives
//! several GPUs has several ranks, each a trace of its own; which of them took part in its other communicators cannot be told, and those
//! are left out.

use std::collections::BTreeSet;

use rankscope_time::Rank;
use rankscope_trace::{
    ArgValue, CollectiveArgs, ProblemKind, Problems, RankSource, SourceFormat, SpanId, StrId, Trace, TrackId,
};

use super::line::{Header, Line, Metadata, Operation, Times};
use crate::ReadOptions;
use crate::activity::{Activities, Activity, Sort};

/// Collectives, which have sequence numbers of their own within a communicator. Messages are matched by other means.
const FUNCTIONS: [&str; 9] =
    ["AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AlltoAll", "AllToAll", "Gather", "Scatter"];

/// Room for them.
const FUNCTIONS_MAX: u64 = 16;

/// The version whose lines these are, but for its minor number.
const VERSION: &str = "v4";

/// Lines of one process, until all are there.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) problems: Problems,
    header: Option<Header>,
    metadata: Option<Metadata>,
    /// Communicators as this process is in them, each once.
    seats: Vec<Header>,
    operations: Vec<Noted>,
}

/// An operation, and the line that it is of.
#[derive(Debug)]
struct Noted {
    seat: usize,
    written_us: u64,
    offset: u64,
    operation: Operation,
}

impl Builder {
    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Takes in the line that stands at `offset`.
    pub(super) fn line(&mut self, line: Line, offset: u64) {
        let Line { header, metadata, dump_stats, operation, .. } = line;
        if let Some(header) = header {
            self.header = Some(header);
        }
        if let Some(metadata) = metadata {
            let version = &metadata.inspector_output_format_version;
            if !version.is_empty() && version.split('.').next() != Some(VERSION) {
                let detail = format!("lines of Inspector's version {version}");
                self.problems.add_detailed(ProblemKind::Unsupported, offset, 1, detail);
            }
            self.metadata = Some(metadata);
        }
        if let Some(stats) = dump_stats {
            let lost = stats.coll_dropped_since_last_dump.saturating_add(stats.p2p_dropped_since_last_dump);
            if lost > 0 {
                let detail = "operations that Inspector overwrote before it wrote them".to_owned();
                self.problems.add_detailed(ProblemKind::LostPackets, offset, lost, detail);
            }
        }
        let Some(operation) = operation else { return };
        // An operation of nobody: its communicator was lost with another line.
        let Some(header) = self.header.as_ref().filter(|header| !header.id.is_empty()) else {
            return self.problems.add(ProblemKind::MalformedEvent, offset);
        };
        let seat = self.seats.iter().rposition(|known| known == header).unwrap_or_else(|| {
            self.seats.push(header.clone());
            self.seats.len() - 1
        });
        let written_us = self.metadata.as_ref().map_or(0, |metadata| metadata.dump_timestamp_us);
        self.operations.push(Noted { seat, written_us, offset, operation });
    }

    /// A trace for each rank.
    pub(super) fn finish(self, options: &ReadOptions) -> Vec<Trace> {
        let world = self.seats.iter().map(|seat| seat.n_ranks).max().unwrap_or(0);
        let Some(id) = self.seats.iter().find(|seat| seat.n_ranks == world).map(|seat| seat.id.clone()) else {
            return Vec::new();
        };
        let own_ranks: BTreeSet<u32> = self.seats.iter().filter(|seat| seat.id == id).map(|seat| seat.rank).collect();
        let several = own_ranks.len() > 1;
        let mut traces: Vec<Trace> = own_ranks
            .iter()
            .map(|rank| {
                let is_own = |seat: &Header| !several || (seat.id == id && seat.rank == *rank);
                let mut trace = Writer::new(&self, world, options).trace(is_own);
                trace.provenance.rank = Some((Rank(*rank), RankSource::Events));
                if several {
                    trace.provenance.file = format!("{}:rank{rank}", options.label);
                }
                trace
            })
            .collect();
        let left_out = self.operations.iter().filter(|noted| several && self.seats[noted.seat].id != id);
        let first = left_out.clone().map(|noted| noted.offset).min();
        let mut problems = self.problems;
        if let Some(first) = first {
            let detail = "operations of which this file does not tell the rank".to_owned();
            problems.add_detailed(ProblemKind::Unsupported, first, left_out.count() as u64, detail);
        }
        if let Some(trace) = traces.first_mut() {
            trace.provenance.problems.merge(problems);
        }
        traces
    }
}

/// One rank's operations on their way into a trace.
struct Writer<'a> {
    lines: &'a Builder,
    activities: Activities,
    track: TrackId,
}

impl<'a> Writer<'a> {
    fn new(lines: &'a Builder, world: u32, options: &ReadOptions) -> Self {
        let mut activities = Activities::new(SourceFormat::Inspector, options);
        let metadata = lines.metadata.clone().unwrap_or_default();
        let track = activities.async_ranges(metadata.pid);
        let about = &mut activities.trace().provenance;
        about.host = Some(metadata.hostname).filter(|host| !host.is_empty());
        about.world_size = Some(world).filter(|world| *world > 0);
        about.backend = Some("nccl".to_owned());
        Self { lines, activities, track }
    }

    fn trace(mut self, is_own: impl Fn(&Header) -> bool) -> Trace {
        let mut untimed = (0, u64::MAX);
        for noted in &self.lines.operations {
            let seat = &self.lines.seats[noted.seat];
            if !is_own(seat) {
                continue;
            }
            match noted.operation.times.as_ref().and_then(|times| bounds_us(times, &noted.operation.timed_by)) {
                Some(bounds) => self.collective(seat, noted, bounds),
                None => {
                    untimed = (untimed.0 + 1, untimed.1.min(noted.offset));
                    self.call(seat, noted);
                }
            }
        }
        if untimed.0 > 0 {
            let detail = "operations without the time they began at: NCCL_INSPECTOR_DUMP_VERBOSE=1 has it written".to_owned();
            let problems = &mut self.activities.trace().provenance.problems;
            problems.add_detailed(ProblemKind::MissingTimestamp, untimed.1, untimed.0, detail);
        }
        self.activities.finish()
    }

    fn collective(&mut self, seat: &Header, noted: &Noted, (start_us, stop_us): (u64, u64)) {
        let operation = &noted.operation;
        let name = self.text(&format!("nccl:{}", said(&operation.function)));
        let Some(span) = self.push(Sort::Collective, name, (nanos(start_us), nanos(stop_us)), seat, noted) else { return };
        let args = self.parameters(span, seat, operation);
        self.activities.trace().collectives.push(args);
    }

    /// What is known of an operation but when it was: it ends when its line was written, which is when it was over at the latest.
    fn call(&mut self, seat: &Header, noted: &Noted) {
        let name = self.text(&format!("{} (no time was told)", said(&noted.operation.function)));
        let stop_ns = nanos(noted.written_us);
        let start_ns = stop_ns.and_then(|stop_ns| stop_ns.checked_sub((noted.operation.took_us.max(0.0) * 1_000.0) as i64));
        self.push(Sort::Call, name, (start_ns, stop_ns), seat, noted);
    }

    fn push(
        &mut self,
        sort: Sort,
        name: StrId,
        (start_ns, end_ns): (Option<i64>, Option<i64>),
        seat: &Header,
        noted: &Noted,
    ) -> Option<SpanId> {
        let args = if self.activities.keeps_args() { self.args(seat, &noted.operation) } else { Vec::new() };
        let activity = Activity {
            sort,
            name,
            track: self.track,
            start_ns,
            end_ns,
            correlation: None,
            external_id: None,
            bytes: None,
            offset: noted.offset,
        };
        self.activities.push(&activity, &args)
    }

    fn parameters(&mut self, span: SpanId, seat: &Header, operation: &Operation) -> CollectiveArgs {
        let kind = said(&operation.function);
        let mut args = CollectiveArgs::of(span);
        args.name = self.text(&kind);
        // The type is not told; bytes are counted.
        args.dtype = self.text("byte");
        (args.in_elements, args.out_elements) = moved(&kind, operation.bytes, seat.n_ranks);
        args.group_size = Some(seat.n_ranks).filter(|ranks| *ranks > 0);
        args.group_name = self.text(&seat.id);
        args.group_description = self.text(&seat.comm_name);
        args.sequence = sequence(operation);
        args
    }

    fn args(&mut self, seat: &Header, operation: &Operation) -> Vec<(StrId, ArgValue)> {
        let texts = [
            ("Process Group Name", &seat.id),
            ("Process Group Description", &seat.comm_name),
            ("algorithm", &operation.algorithm),
            ("protocol", &operation.protocol),
            ("timed by", &operation.timed_by),
        ];
        let mut args = Vec::new();
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            args.push((self.text(key), ArgValue::Text(self.text(text))));
        }
        let numbers = [
            ("Group size", Some(seat.n_ranks.into())),
            ("NCCL sequence", Some(operation.number)),
            ("message bytes", Some(operation.bytes)),
            ("peer in group", operation.peer.map(u64::from)),
        ];
        for (key, number) in numbers.into_iter().filter_map(|(key, number)| Some((key, number?))) {
            args.push((self.text(key), ArgValue::U64(number)));
        }
        args.push((self.text("took us"), ArgValue::F64(operation.took_us)));
        args
    }

    fn text(&mut self, text: &str) -> StrId {
        self.activities.trace().strings.intern(text)
    }
}

/// When the operation began and ended: its kernel on the device, as the host saw it, or where that was not watched the call.
fn bounds_us(times: &Times, timed_by: &str) -> Option<(u64, u64)> {
    let told = |stamp: &u64| *stamp != 0;
    let start = times.kernel_events.iter().map(|channel| channel.kernel_start_ts).filter(told).min();
    let stop = times.kernel_events.iter().map(|channel| channel.kernel_stop_ts).filter(told).max();
    // Some builds write ticks of the device there, which are no time of the host's.
    let of_host = |stamp: &u64| *stamp >= times.coll_start_ts;
    match (start.filter(of_host), stop.filter(of_host)) {
        (Some(start), Some(stop)) => Some((start, stop)),
        _ if timed_by == "collective_cpu" && told(&times.coll_start_ts) && told(&times.coll_stop_ts) => {
            Some((times.coll_start_ts, times.coll_stop_ts))
        }
        _ => None,
    }
}

/// NCCL counts every function of a communicator by itself; readers want one number that is of one collective. None of a function that is
/// not known: two of these would share numbers.
fn sequence(operation: &Operation) -> Option<u64> {
    let function = FUNCTIONS.iter().position(|name| *name == operation.function)? as u64;
    operation.number.checked_mul(FUNCTIONS_MAX)?.checked_add(function)
}

/// `AllReduce` as other profilers write it: `all_reduce`.
fn said(function: &str) -> String {
    match function {
        "AlltoAll" => "all_to_all".to_owned(),
        "Bcast" => "broadcast".to_owned(),
        _ => {
            let mut said = String::new();
            for (at, letter) in function.char_indices() {
                if at > 0 && letter.is_ascii_uppercase() {
                    said.push('_');
                }
                said.push(letter.to_ascii_lowercase());
            }
            said
        }
    }
}

/// Bytes that a rank puts in and gets out of what NCCL counts as `bytes` among `ranks`.
fn moved(kind: &str, bytes: u64, ranks: u32) -> (Option<u64>, Option<u64>) {
    let (one, all) = (Some(bytes), bytes.checked_mul(ranks.into()).filter(|_| ranks > 0));
    match kind {
        "all_gather" | "gather" => (one, all),
        "reduce_scatter" | "scatter" => (all, one),
        "all_to_all" => (all, all),
        _ => (one, one),
    }
}

/// Microseconds as nanoseconds; 0 is no time.
fn nanos(us: u64) -> Option<i64> {
    i64::try_from(us).ok().filter(|us| *us != 0)?.checked_mul(1_000)
}
