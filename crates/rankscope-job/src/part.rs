//! [`Part`]: one rank by itself, on its own clock, all that a job needs of it.
//!
//! A part holds no event, no path that would have to be opened again, no map to another clock and nothing of another rank. Its
//! size is that of the rank's collectives, steps, kernel names and busy stretches. Making it is the map, judging all of them is
//! the reduce: a report on one machine and one over a thousand machines differ in where the parts were made and in nothing else.

use rankscope_align::validate::RankEvidence;
use rankscope_align::{GpuClock, Settled, settle_tracers};
use rankscope_analyze::spans::is_training;
use rankscope_analyze::{Classes, RankReport, StepWindow};
use rankscope_collectives::{RankCollectives, extract};
use rankscope_execution::Execution;
use rankscope_tables::{Attribution, Captures, Cards, GraphCalls, RankTables, TableSet};
use rankscope_time::Rank;
use rankscope_trace::{ClockReading, Problems, RankSource, SourceFormat, SpanId, Trace, rank_of_name};

use crate::{Fingerprint, OwnGpu, Place};

/// One rank by itself. Stamps are as recorded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// Where it came from, and what its file says of itself.
    pub about: About,
    /// The files it was made of, in order of time: one, unless exports of one rank were joined.
    pub exports: Vec<Export>,
    /// Clocks of tracers that were put on the host's.
    pub tracers: Vec<SettledTracer>,
    /// Its collectives.
    pub collectives: RankCollectives,
    /// Where its time went.
    pub report: RankReport,
    /// What validation found in it and wants of it, where its rules ask for that.
    pub evidence: Option<RankEvidence>,
    /// Its tables of operators and kernels, where its rules ask for them.
    pub tables: Option<Box<RankTables>>,
    /// What ran and what each piece of it waited for, where its rules ask for that.
    pub execution: Option<Box<Execution>>,
}

/// What a file says of itself, and what it is known by.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct About {
    /// The file, as a label.
    pub file: String,
    /// Its format.
    pub format: SourceFormat,
    /// The rank, and what told it.
    pub rank: Option<(Rank, RankSource)>,
    /// Ranks in the job, as the file says.
    pub world_size: Option<u32>,
    /// The host it was recorded on.
    pub host: Option<String>,
    /// Name of its devices.
    pub device: Option<String>,
    /// The GPU that its work ran on, where that is one and is known.
    pub gpu: Option<OwnGpu>,
    /// How the clock of its GPU stands to its own, where times of the GPU's work were told.
    pub gpu_clock: Option<GpuClock>,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Events kept.
    pub events: u64,
    /// What was wrong with the file.
    pub problems: Problems,
    /// Readings of the host's clocks beside the trace's own.
    pub clock_readings: Vec<ClockReading>,
    /// First start and last end of its spans.
    pub bounds_ns: Option<(i64, i64)>,
    /// Steps that it marks, ascending.
    pub marked_steps: Vec<i64>,
    /// Whether anything in it is what a training job leaves.
    pub is_training: bool,
    /// Whether it shows work on devices.
    pub has_device_work: bool,
    /// Whether its run keeps it aside, as the rank's newest trace followed it.
    pub earlier: bool,
    /// How often it captures and launches graphs of its devices.
    pub graphs: GraphCalls,
    /// What copies of it have in common.
    pub fingerprint: Fingerprint,
}

/// One file of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The file, as a label.
    pub file: String,
    /// Where it stands among the inputs.
    pub place: Place,
    /// How many spans it holds.
    pub spans: u32,
    /// What its spans are known by, when it is read again.
    pub fingerprint: Fingerprint,
}

/// A tracer's clock that was put on its host's, and what that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledTracer {
    /// What reads the clock.
    pub clock: String,
    /// Knots of the map.
    pub knots: usize,
    /// Readings that were not used.
    pub passed_over: usize,
    /// Steps of the host's clock among the readings.
    pub steps: usize,
    /// Events that moved.
    pub events: u64,
    /// Those outside the readings.
    pub extrapolated: u64,
}

impl Part {
    /// The part of `trace`, whose tracers' clocks are put on its host's first.
    ///
    /// Its collectives carry the places of their spans in `trace`, which are the same whenever the file is read with the same
    /// scope.
    pub fn of(trace: &mut Trace, classes: &Classes) -> Self {
        Self::with(trace, classes, None, false)
    }

    /// The same with `tables`, as [`tabulate`](Self::tabulate) makes them, and with the execution graph where that is asked for, as
    /// [`add_execution`](Self::add_execution) makes it: at the same time where a thread has nothing else to do.
    pub fn with(trace: &mut Trace, classes: &Classes, tables: Option<(&Cards, TableSet)>, answers: bool) -> Self {
        let tracers = settle_tracers(trace).iter().map(SettledTracer::of).collect();
        let trace = &*trace;
        let rank = trace.provenance.rank.map_or(Rank(0), |(rank, _)| rank);
        let mut collectives = extract(rank, trace, &classes.patterns);
        let about = About::of(trace, &collectives);
        let wants_work = tables.is_some() || answers;
        let (report, work) =
            rayon::join(|| RankReport::of(trace, &collectives, classes), || wants_work.then(|| Attribution::of_work(trace)));
        // A collective is of the step whose work it is among, whenever the host asked for that.
        collectives.steps = report.steps.iter().map(StepWindow::as_step).collect();
        collectives.steps.sort_unstable_by_key(|step| (step.start_ns, step.number));
        let mut part = Self {
            exports: vec![Export {
                file: trace.provenance.file.clone(),
                place: Place::default(),
                spans: trace.spans.len() as u32,
                fingerprint: about.fingerprint,
            }],
            about,
            tracers,
            report,
            collectives,
            evidence: None,
            tables: None,
            execution: None,
        };
        if let Some(work) = work {
            part.look_into(trace, &work, classes, tables, answers);
        }
        part
    }

    /// Adds what validation finds in `trace`, which it was made of.
    pub fn check(&mut self, trace: &Trace) {
        self.evidence = Some(RankEvidence::of(trace, &self.collectives));
    }

    /// Adds the tables of `trace`, which it was made of, as far as they are `wanted`, with rooflines where its devices are among `cards`.
    pub fn tabulate(&mut self, trace: &Trace, classes: &Classes, cards: &Cards, wanted: TableSet) {
        self.look_into(trace, &Attribution::of_work(trace), classes, Some((cards, wanted)), false);
    }

    /// Adds `tables` and the execution graph, as far as they are asked for, out of `work`, the attribution of the work of `trace`.
    fn look_into(
        &mut self,
        trace: &Trace,
        work: &Attribution,
        classes: &Classes,
        tables: Option<(&Cards, TableSet)>,
        answers: bool,
    ) {
        let mut problems = Problems::default();
        let execution = || answers.then(|| Execution::attributed(trace, work, &self.collectives, classes, &mut problems));
        let tables = || tables.map(|(cards, wanted)| RankTables::of_work(trace, work.clone(), classes, cards, wanted));
        let (tables, execution) = rayon::join(tables, execution);
        self.about.problems.merge(problems);
        self.tables = tables.map(Box::new).or_else(|| self.tables.take());
        self.execution = execution.map(Box::new).or_else(|| self.execution.take());
    }

    /// The same with what other files of its rank captured of the graphs that `trace` launches.
    pub fn tabulate_with(&mut self, trace: &Trace, captures: &[Captures], classes: &Classes, cards: &Cards, wanted: TableSet) {
        self.tables = Some(Box::new(RankTables::with_captures(trace, captures, classes, cards, wanted)));
    }

    /// Whether its tables count work for graph launches that a capture in another file may tell more about.
    pub fn wants_captures(&self) -> bool {
        self.tables.as_ref().is_some_and(|tables| tables.remarks.graphs.is_capture_wanted())
    }

    /// Adds the execution graph of `trace`, which it was made of. Arguments are not in it: whether tables are made or a timeline is drawn
    /// must not change what is answered.
    pub fn add_execution(&mut self, trace: &Trace, classes: &Classes) {
        self.look_into(trace, &Attribution::of_work(trace), classes, None, true);
    }

    /// The part that consists of these, as [`of`](Self::of) made them once; nobody has checked it yet.
    pub fn from_pieces(
        about: About,
        exports: Vec<Export>,
        tracers: Vec<SettledTracer>,
        collectives: RankCollectives,
        report: RankReport,
    ) -> Self {
        Self { about, exports, tracers, collectives, report, evidence: None, tables: None, execution: None }
    }

    /// The rank, where it is settled; 0 before.
    pub fn rank(&self) -> Rank {
        self.about.rank.map_or(Rank(0), |(rank, _)| rank)
    }

    /// Settles its rank.
    pub(crate) fn set_rank(&mut self, rank: Rank, source: RankSource) {
        self.about.rank = Some((rank, source));
        self.collectives.rank = rank;
    }

    /// Adds a later export of the same rank.
    pub(crate) fn join(&mut self, later: Self) {
        let spans: u32 = self.exports.iter().map(|export| export.spans).fold(0, u32::saturating_add);
        self.about.join(later.about);
        self.exports.extend(later.exports);
        self.tracers.extend(later.tracers);
        join_collectives(&mut self.collectives, later.collectives, spans);
        self.report.join(later.report);
        // Half of the evidence would pass for all of it.
        self.evidence = self.evidence.take().zip(later.evidence).map(|(mut own, later)| {
            own.join(later);
            own
        });
        // Nor are tables of some of the exports those of the rank.
        self.tables = self.tables.take().zip(later.tables).map(|(mut own, later)| {
            own.join(*later);
            own
        });
        self.execution = self.execution.take().zip(later.execution).map(|(mut own, later)| {
            own.join(&later);
            own
        });
    }
}

/// The spans of `later` come behind the first `spans` ones.
fn join_collectives(own: &mut RankCollectives, later: RankCollectives, spans: u32) {
    let mut place = |group| {
        own.groups.iter().position(|known| *known == group).unwrap_or_else(|| {
            own.groups.push(group);
            own.groups.len() - 1
        })
    };
    let groups: Vec<usize> = later.groups.into_iter().map(&mut place).collect();
    own.collectives.extend(later.collectives.iter().map(|collective| {
        let mut collective = collective.to_local();
        collective.group = groups.get(collective.group as usize).map_or(collective.group, |group| *group as u32);
        collective.span = SpanId(collective.span.0.saturating_add(spans));
        collective
    }));
    own.steps.extend(later.steps);
}

/// Bytes, events, first start and last end, and a hash over the spans: what copies of one trace agree in.
pub(crate) type Outline = (u64, u64, Option<(i64, i64)>, Fingerprint);

impl About {
    fn of(trace: &Trace, collectives: &RankCollectives) -> Self {
        let about = &trace.provenance;
        let mut marked_steps: Vec<i64> = trace.steps.iter().map(|mark| mark.number).collect();
        marked_steps.sort_unstable();
        marked_steps.dedup();
        // The name of the devices, if all are of one sort, as they are but on odd hosts.
        let device = about.devices.first().map(|first| first.name.clone()).filter(|name| !name.is_empty());
        Self {
            file: about.file.clone(),
            format: about.format,
            rank: about.rank,
            world_size: about.world_size,
            host: about.host.clone(),
            device,
            gpu: OwnGpu::of(trace),
            gpu_clock: GpuClock::of(trace),
            bytes: about.bytes,
            events: trace.events() as u64,
            problems: about.problems.clone(),
            clock_readings: about.clock_readings.clone(),
            bounds_ns: trace.bounds_ns(),
            marked_steps,
            is_training: is_training(trace, collectives),
            has_device_work: trace.categories.iter().any(|category| category.kind.is_device_work()),
            earlier: false,
            graphs: GraphCalls::of(trace),
            fingerprint: Fingerprint::of(trace),
        }
    }

    /// The rank that the file itself tells, else the one that its name does.
    pub fn own_rank(&self) -> Option<Rank> {
        self.rank.map(|(rank, _)| rank).or_else(|| rank_of_name(&self.file))
    }

    /// First and last step that it marks.
    pub fn step_range(&self) -> Option<(i64, i64)> {
        Some((*self.marked_steps.first()?, *self.marked_steps.last()?))
    }

    /// What copies of one trace agree in.
    pub(crate) fn outline(&self) -> Outline {
        (self.bytes, self.events, self.bounds_ns, self.fingerprint)
    }

    fn join(&mut self, later: Self) {
        // A file that was cut before its header says less than the others.
        self.world_size = self.world_size.or(later.world_size);
        self.host = self.host.take().or(later.host);
        self.device = self.device.take().or(later.device);
        // Each file counts from the wall clock as it found it.
        self.gpu = None;
        match (&mut self.gpu_clock, later.gpu_clock) {
            (Some(own), Some(later)) => own.join(later),
            (own, later) => *own = own.take().or(later),
        }
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.events = self.events.saturating_add(later.events);
        self.problems.merge(later.problems);
        self.clock_readings.extend(later.clock_readings);
        let hull = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
        self.bounds_ns = [self.bounds_ns, later.bounds_ns].into_iter().flatten().reduce(hull);
        self.marked_steps.extend(later.marked_steps);
        self.marked_steps.sort_unstable();
        self.marked_steps.dedup();
        self.is_training |= later.is_training;
        self.has_device_work |= later.has_device_work;
        self.graphs.captures += later.graphs.captures;
        self.graphs.launches += later.graphs.launches;
        self.fingerprint = self.fingerprint.and(later.fingerprint);
    }
}

impl SettledTracer {
    fn of(settled: &Settled) -> Self {
        Self {
            clock: settled.clock.name.clone(),
            knots: settled.map.knots,
            passed_over: settled.map.passed_over,
            steps: settled.map.steps,
            events: settled.moved.events,
            extrapolated: settled.moved.extrapolated,
        }
    }
}
