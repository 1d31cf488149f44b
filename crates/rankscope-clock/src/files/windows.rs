//! `windows-node<k>.jsonl`: what one node measured, a line a window.
//!
//! First a header (`"meta": true`), then windows, each with its edges. A node that was restarted writes a header again. An
//! edge whose clocks stepped has several lines: the origin's fields hold the one with most points, ours all of them under
//! `parts`. An edge without a line says why in `reason`; its `alpha` and `beta` are both 0, which is how the origin says it.

use rankscope_time::Span;
use serde::{Deserialize, Serialize};

use super::events::EventRow;
use super::lines::{DamagedLine, each_line, line};
use super::nanos::Nanos;
use super::parts::{AlphaBeta, PartRow};
use super::{SCHEMA, origin};
use crate::{Edge, EdgeFit, EdgeRecord, HostInstant, LinkCounts, NodeId, NodeWindow, StampSource, Transport};

/// The first line of a file of windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowsHeader {
    /// Whose windows.
    pub node: Option<NodeId>,
    /// When the collector started, on the wall clock.
    pub start_walltime_ns: Option<i64>,
    /// When the collector started, on the accelerator's clock.
    pub start_gpu_ns: Option<i64>,
    /// What tells this run from others.
    pub run_id: Option<String>,
    /// What the host clock adds to `CLOCK_MONOTONIC_RAW`.
    pub host_minus_raw_ns: Option<i64>,
    /// Name of the host.
    pub host: Option<String>,
    /// Name of the clock that stamps are on.
    pub clock: Option<String>,
    /// What stamps are made of.
    pub stamps: Option<StampSource>,
}

/// A file of windows, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowsFile {
    /// The last header.
    pub header: Option<WindowsHeader>,
    /// In the order of the file.
    pub windows: Vec<NodeWindow>,
    /// Every header that says what the host clock adds to `CLOCK_MONOTONIC_RAW`: index of the window it stands before, and that.
    pub constants: Vec<(usize, i64)>,
    /// The origin wrote it: there are no bounds in it.
    pub foreign: bool,
    /// Lines passed over.
    pub damaged: Vec<DamagedLine>,
}

/// The header as a line.
pub fn encode_windows_header(header: &WindowsHeader) -> String {
    line(&HeaderRow {
        meta: true,
        node_id: header.node.map(|node| node.0),
        start_walltime_ns: header.start_walltime_ns.map(Nanos),
        start_gpu_ns: header.start_gpu_ns.map(Nanos),
        schema: Some(SCHEMA),
        run_id: header.run_id.clone(),
        host_minus_raw_ns: header.host_minus_raw_ns.map(Nanos),
        host: header.host.clone(),
        clock: header.clock.clone(),
        ts_source: header.stamps.map(Source::of),
    })
}

/// The window as a line.
pub fn encode_window(window: &NodeWindow) -> String {
    line(&WindowRow {
        window_start_ns: Nanos(window.start.nanos_since_epoch()),
        window_end_ns: Nanos(window.end.nanos_since_epoch()),
        window_id: window.window_id,
        round_id: window.round.unwrap_or(window.window_id),
        unassigned: window.round.is_none(),
        node_id: Some(window.node.0),
        edges: window.edges.iter().map(|record| EdgeRow::of(record, window)).collect(),
    })
}

/// Reads a file of windows called `name`. The node is the one that a line names, or else the header, or else the name.
pub fn read_windows(name: &str, bytes: &[u8]) -> WindowsFile {
    let mut file = WindowsFile { foreign: true, ..WindowsFile::default() };
    let mut starts = Vec::new();
    let named = node_of_name(name);
    let damaged = each_line(bytes, |text| {
        let row = match serde_json::from_slice::<WindowRow>(text) {
            Ok(row) => row,
            Err(not_a_window) => {
                let header = serde_json::from_slice::<HeaderRow>(text).ok().filter(|header| header.meta);
                let header = header.ok_or_else(|| not_a_window.to_string())?;
                file.foreign = header.schema.is_none();
                let header = header.header();
                file.constants.extend(header.host_minus_raw_ns.map(|ns| (file.windows.len(), ns)));
                file.header = Some(header);
                starts.push(file.windows.len());
                return Ok(());
            }
        };
        let in_header = file.header.as_ref().and_then(|header| header.node);
        let node = row.node_id.map(NodeId).or(in_header).or(named);
        // A file whose header was lost is still ours if its edges say what no one else's do.
        file.foreign &= row.edges.iter().all(|edge| edge.ts_source.is_none());
        let node = node.ok_or("the node is given neither in this line, nor in a header, nor in the file name")?;
        file.windows.push(row.window(node)?);
        Ok(())
    });
    file.damaged = damaged;
    if file.foreign {
        origin::settle(&mut file.windows, &starts);
    }
    file
}

/// The digits after the last "node" in the name of a file.
pub fn node_of_name(name: &str) -> Option<NodeId> {
    let (_, rest) = name.rsplit_once("node")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().map(NodeId)
}

#[derive(Serialize, Deserialize)]
struct HeaderRow {
    meta: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_walltime_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_gpu_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_minus_raw_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts_source: Option<Source>,
}

impl HeaderRow {
    fn header(self) -> WindowsHeader {
        WindowsHeader {
            node: self.node_id.map(NodeId),
            start_walltime_ns: self.start_walltime_ns.map(|ns| ns.0),
            start_gpu_ns: self.start_gpu_ns.map(|ns| ns.0),
            run_id: self.run_id,
            host_minus_raw_ns: self.host_minus_raw_ns.map(|ns| ns.0),
            host: self.host,
            clock: self.clock,
            stamps: self.ts_source.map(Source::stamps),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct WindowRow {
    window_start_ns: Nanos,
    window_end_ns: Nanos,
    #[serde(default)]
    window_id: u64,
    #[serde(default)]
    round_id: u64,
    /// The node closed the window on its own, and `round_id` only counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unassigned: bool,
    node_id: Option<u32>,
    edges: Vec<EdgeRow>,
}

impl WindowRow {
    fn window(self, node: NodeId) -> Result<NodeWindow, String> {
        let start = HostInstant::from_nanos_since_epoch(self.window_start_ns.0);
        let end = HostInstant::from_nanos_since_epoch(self.window_end_ns.0);
        if end < start {
            return Err("the window ends before it starts".to_owned());
        }
        let edges = self.edges.into_iter().map(|row| row.record(node, start, end)).collect::<Result<_, _>>()?;
        let round = (!self.unassigned).then_some(self.round_id);
        Ok(NodeWindow { node, window_id: self.window_id, round, start, end, edges })
    }
}

#[derive(Serialize, Deserialize)]
struct EdgeRow {
    dst: u32,
    alpha: f64,
    beta: Nanos,
    pairs: u32,
    #[serde(default)]
    lost: u32,
    #[serde(flatten)]
    only: PartRow,
    /// All lines, where there is not exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<PartRow>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<EventRow>,
    #[serde(default, skip_serializing_if = "is_zero")]
    filtered: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost_fwd: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost_rev: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    reordered: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    duplicated: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    unstamped: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts_source: Option<Source>,
    /// Only where it is not UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transport: Option<Carrier>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl EdgeRow {
    fn of(record: &EdgeRecord, window: &NodeWindow) -> Self {
        let lines = record.fits.iter().flatten();
        let best = lines.max_by_key(|fit| u64::from(fit.points_forward) + u64::from(fit.points_reverse));
        let (only, parts) = match record.fits.as_slice() {
            [fit] => (PartRow::of(fit), None),
            several => (PartRow::default(), Some(several.iter().map(PartRow::of).collect())),
        };
        let counts = &record.counts;
        Self {
            dst: record.edge.dst.0,
            alpha: best.map_or(0.0, |fit| fit.skew_ppb / 1e9),
            beta: Nanos(best.map_or(Span::ZERO, |fit| offset_at(fit, window.start)).as_nanos()),
            pairs: counts.complete,
            lost: counts.lost_forward.saturating_add(counts.lost_reverse),
            only,
            parts,
            events: record.events.iter().map(EventRow::of).collect(),
            filtered: counts.filtered,
            lost_fwd: counts.lost_forward,
            lost_rev: counts.lost_reverse,
            reordered: counts.reordered,
            duplicated: counts.duplicated,
            unstamped: counts.unstamped,
            ts_source: Some(Source::of(record.stamps)),
            transport: Carrier::of(record.transport),
        }
    }

    fn record(self, src: NodeId, start: HostInstant, end: HostInstant) -> Result<EdgeRecord, String> {
        let beta = Span::from_nanos(self.beta.0);
        let origin = AlphaBeta { start, end, alpha: self.alpha, beta, pairs: self.pairs };
        let parts = self.parts.as_deref().unwrap_or(std::slice::from_ref(&self.only));
        let fits = parts.iter().map(|part| part.fit(&origin)).collect::<Result<_, _>>()?;
        let ours = self.lost_fwd > 0 || self.lost_rev > 0;
        Ok(EdgeRecord {
            edge: Edge { src, dst: NodeId(self.dst) },
            fits,
            events: self.events.iter().map(EventRow::event).collect(),
            counts: LinkCounts {
                complete: self.pairs,
                lost_forward: if ours { self.lost_fwd } else { self.lost },
                lost_reverse: self.lost_rev,
                reordered: self.reordered,
                duplicated: self.duplicated,
                unstamped: self.unstamped,
                filtered: self.filtered,
            },
            stamps: self.ts_source.map_or_else(StampSource::default, Source::stamps),
            transport: self.transport.map_or(Transport::Udp, |Carrier::Tcp| Transport::Tcp),
        })
    }
}

/// The line of `fit` at `at`. The time between is small, so that a float holds what the skew makes of it.
pub(super) fn offset_at(fit: &EdgeFit, at: HostInstant) -> Span {
    let gained_ns = fit.skew_ppb / 1e9 * (at - fit.mid).as_nanos() as f64;
    fit.offset + Span::from_nanos(gained_ns.round() as i64)
}

/// What stamps are made of, as files say it.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Hw,
    Sw,
    User,
}

impl Source {
    fn of(stamps: StampSource) -> Self {
        match stamps {
            StampSource::Hardware => Self::Hw,
            StampSource::Kernel => Self::Sw,
            StampSource::User => Self::User,
        }
    }

    fn stamps(self) -> StampSource {
        match self {
            Self::Hw => StampSource::Hardware,
            Self::Sw => StampSource::Kernel,
            Self::User => StampSource::User,
        }
    }
}

/// What carried packets, as files say it where it was not UDP.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Carrier {
    Tcp,
}

impl Carrier {
    fn of(transport: Transport) -> Option<Self> {
        match transport {
            Transport::Udp => None,
            Transport::Tcp => Some(Self::Tcp),
        }
    }
}

#[cfg(test)]
mod tests;
