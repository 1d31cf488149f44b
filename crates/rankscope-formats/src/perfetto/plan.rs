//! What goes where in one rank: its spans over rows and lanes, its flows over spans.
//!
//! The plan is made of indexes into the trace, four bytes an event, and is all that is needed to know how many tracks and
//! packet sequences a rank takes; several ranks can then be encoded at once.

use std::ops::Range;

use rankscope_trace::{Category, CategoryKind, StrId, TrackId};

use super::arrows::{Arrows, Binder};
use super::layout::{Content, Layout, Row, Series, Top};
use super::note::{Facts, kind_name};
use super::{RankView, lanes};

/// One rank, laid out.
pub(super) struct Plan<'a> {
    pub(super) view: RankView<'a>,
    /// Parents before their children.
    pub(super) rows: Vec<Row>,
    /// Spans by row, each row's by start.
    pub(super) spans: Vec<u32>,
    /// Instants by row and time.
    pub(super) instants: Vec<u32>,
    /// Counter samples by row and time.
    pub(super) samples: Vec<u32>,
    pub(super) arrows: Arrows,
}

impl<'a> Plan<'a> {
    /// Lays out `view` as trace number `group` of the file, in which ranks have so many `digits`; `between` are its spans that
    /// arrows between ranks touch.
    pub(super) fn new(view: RankView<'a>, group: u32, digits: usize, between: &[(u32, u64)]) -> Self {
        let trace = view.trace;
        let mut binder = Binder::new(trace, group);
        let (mut spans, bounds) = by_track(trace.spans.track.iter().copied(), trace.tracks.len());
        let mut lane_sizes = Vec::with_capacity(bounds.len());
        for (track, range) in bounds.iter().enumerate() {
            let own = &mut spans[range.clone()];
            lanes::sort(own, &trace.spans.start_ns, &trace.spans.dur_ns);
            binder.bind(track as u32, own, &trace.spans);
            lane_sizes.push(if own.is_empty() {
                Vec::new()
            } else {
                lanes::split(own, &trace.spans.start_ns, &trace.spans.dur_ns)
            });
        }
        let (mut instants, instant_bounds) = by_track(trace.instants.iter().map(|mark| mark.track), trace.tracks.len());
        for range in &instant_bounds {
            instants[range.clone()].sort_by_key(|at| trace.instants[*at as usize].time_ns);
        }
        let (samples, series) = by_series(&view);
        let facts = facts(&view, &binder);
        let content = Content { order: &spans, spans: bounds, lanes: lane_sizes, instants: instant_bounds, series };
        let rows = Layout::of(&view, &content).rows(Top { group, digits, facts });
        let arrows = binder.finish(trace.spans.len(), between);
        Self { view, rows, spans, instants, samples, arrows }
    }

    /// Lays out the spans of `view` in rows called `name` that are no rank's, as many as it takes for those of each to nest.
    pub(super) fn derived(view: RankView<'a>, name: &str) -> Self {
        let spans = &view.trace.spans;
        let mut order: Vec<u32> = (0..spans.len() as u32).collect();
        lanes::sort(&mut order, &spans.start_ns, &spans.dur_ns);
        let sizes = lanes::split(&mut order, &spans.start_ns, &spans.dur_ns);
        let mut first = 0;
        let row = |(lane, size): (u32, usize)| {
            let of_row = first..first + size;
            first = of_row.end;
            Row::derived(name, lane, of_row)
        };
        let rows = (0..).zip(sizes).map(row).collect();
        Self { view, rows, spans: order, instants: Vec::new(), samples: Vec::new(), arrows: Arrows::default() }
    }

    /// Packet sequences the rank takes.
    pub(super) fn sequences(&self) -> u32 {
        self.rows.iter().map(Row::sequences).sum()
    }

    /// The first moment of any event, by the rank's own clock.
    pub(super) fn first_ns(&self) -> Option<i64> {
        let trace = self.view.trace;
        let spans = self.rows.iter().filter(|row| !row.spans.is_empty());
        let spans = spans.map(|row| trace.spans.start_ns[self.spans[row.spans.start] as usize]);
        let instants = trace.instants.iter().map(|mark| mark.time_ns);
        spans.chain(instants).chain(trace.counters.iter().map(|sample| sample.time_ns)).min()
    }
}

/// Indexes of events grouped by track, in file order, and where each track's lie.
fn by_track(tracks: impl Iterator<Item = TrackId> + Clone, count: usize) -> (Vec<u32>, Vec<Range<usize>>) {
    let mut sizes = vec![0usize; count];
    let mut total = 0;
    for track in tracks.clone() {
        sizes[track.0 as usize] += 1;
        total += 1;
    }
    let mut bounds = Vec::with_capacity(count);
    let mut first = 0;
    for size in sizes {
        bounds.push(first..first);
        first += size;
    }
    let mut order = vec![0u32; total];
    for (event, track) in tracks.enumerate() {
        let end = &mut bounds[track.0 as usize].end;
        order[*end] = event as u32;
        *end += 1;
    }
    (order, bounds)
}

/// Counter samples by series and time.
fn by_series(view: &RankView<'_>) -> (Vec<u32>, Vec<Series>) {
    let samples = &view.trace.counters;
    let key = |at: &u32| {
        let sample = &samples[*at as usize];
        (sample.track, sample.name, sample.series)
    };
    let mut order: Vec<u32> = (0..samples.len() as u32).collect();
    order.sort_by_key(|at| (key(at), samples[*at as usize].time_ns));
    let mut series = Vec::new();
    let mut first = 0;
    for run in order.chunk_by(|a, b| key(a) == key(b)) {
        let (track, name, of) = key(&run[0]);
        series.push(Series { track, name, series: of, samples: first..first + run.len() });
        first += run.len();
    }
    (order, series)
}

fn facts(view: &RankView<'_>, binder: &Binder<'_>) -> Facts {
    let trace = view.trace;
    let category = |at: u16| trace.categories.get(usize::from(at)).map_or("", |category| trace.strings.text(category.name));
    let text = |id: StrId| trace.strings.text(id).to_owned();
    // Where a name has several meanings, the arguments of each event tell which is meant.
    let means_one = |of: &Category| trace.categories.iter().filter(|other| other.name == of.name).count() == 1;
    let unusual = |of: &&Category| CategoryKind::of_kineto(trace.strings.text(of.name)) != of.kind && means_one(of);
    let kinds = trace.categories.iter().filter(unusual);
    Facts {
        rank: view.rank.map(|rank| rank.0),
        world_size: trace.provenance.world_size,
        host: trace.provenance.host.clone(),
        backend: trace.provenance.backend.clone(),
        trace_id: trace.provenance.trace_id.clone(),
        flows: binder.sorts().iter().map(|(at, name)| (category(*at).to_owned(), text(*name))).collect(),
        kinds: kinds.map(|category| (text(category.name), kind_name(category.kind).to_owned())).collect(),
    }
}
