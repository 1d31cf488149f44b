//! Windows and estimates as bytes: little-endian, in the order of their fields, floats as their bits.
//!
//! Reading is total and takes nothing on trust: lengths are bounded by what is left, floats are numbers, spans of time run
//! forward, and nothing may follow the end.

use rankscope_time::Span;

use crate::nodes::NodeEstimate;
use crate::{
    ClockEvent, Edge, EdgeFit, EdgeRecord, HostInstant, Interval, LinkCounts, NoFit, NodeId, NodeWindow, StampSource, Transport,
};

/// Bytes to read from.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn span(&mut self) -> Option<Span> {
        self.bytes().map(i64::from_le_bytes).map(Span::from_nanos)
    }

    fn instant(&mut self) -> Option<HostInstant> {
        self.bytes().map(i64::from_le_bytes).map(HostInstant::from_nanos_since_epoch)
    }

    fn float(&mut self) -> Option<f64> {
        self.bytes().map(f64::from_le_bytes).filter(|number| number.is_finite())
    }

    fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn interval(&mut self) -> Option<Interval> {
        let interval = Interval { lo: self.span()?, hi: self.span()? };
        (interval.lo <= interval.hi).then_some(interval)
    }

    /// A counted list, of which every element takes at least `least` bytes.
    fn list<T>(&mut self, least: usize, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()? as usize;
        if count > self.0.len() / least {
            return None;
        }
        (0..count).map(|_| read(self)).collect()
    }

    /// All has been read.
    pub(super) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// Writes `window`, leaving out the edges that do not fit into `room` bytes; says how many those are.
pub(super) fn write_window(out: &mut Vec<u8>, window: &NodeWindow, room: usize) -> usize {
    put_u32(out, window.node.0);
    put_u64(out, window.window_id);
    put_u64(out, window.round.unwrap_or(u64::MAX));
    put_instant(out, window.start);
    put_instant(out, window.end);
    let count_at = out.len();
    put_u32(out, 0);
    let mut written = 0;
    for edge in &window.edges {
        let before = out.len();
        write_edge(out, edge);
        if out.len() > room {
            out.truncate(before);
            break;
        }
        written += 1;
    }
    out[count_at..count_at + 4].copy_from_slice(&(written as u32).to_le_bytes());
    window.edges.len() - written
}

/// Reads what [`write_window`] wrote.
pub(super) fn read_window(bytes: &[u8]) -> Option<NodeWindow> {
    let mut reader = Reader(bytes);
    let window = NodeWindow {
        node: NodeId(reader.u32()?),
        window_id: reader.u64()?,
        round: Some(reader.u64()?).filter(|round| *round != u64::MAX),
        start: reader.instant()?,
        end: reader.instant()?,
        edges: reader.list(EDGE_LEAST, read_edge)?,
    };
    reader.end()?;
    (window.start <= window.end).then_some(window)
}

fn write_edge(out: &mut Vec<u8>, record: &EdgeRecord) {
    put_u32(out, record.edge.src.0);
    put_u32(out, record.edge.dst.0);
    out.push(record.stamps as u8 | (record.transport as u8) << TRANSPORT_BIT);
    let LinkCounts { complete, lost_forward, lost_reverse, reordered, duplicated, unstamped, filtered } = record.counts;
    for count in [complete, lost_forward, lost_reverse, reordered, duplicated, unstamped, filtered] {
        put_u32(out, count);
    }
    put_u32(out, record.fits.len() as u32);
    for fit in &record.fits {
        write_fit(out, fit);
    }
    put_u32(out, record.events.len() as u32);
    for event in &record.events {
        let (kind, at, value) = match *event {
            ClockEvent::Step { at, size } => (0, at, size.as_nanos().to_le_bytes()),
            ClockEvent::RateChange { at, by_ppb } => (1, at, by_ppb.to_le_bytes()),
        };
        out.push(kind);
        put_instant(out, at);
        out.extend_from_slice(&value);
    }
}

const EDGE_LEAST: usize = 9 + 7 * 4 + 8;
const EVENT_LEN: usize = 17;

/// Stamps and transport share a byte.
const TRANSPORT_BIT: u8 = 2;

fn read_edge(reader: &mut Reader) -> Option<EdgeRecord> {
    let edge = Edge { src: NodeId(reader.u32()?), dst: NodeId(reader.u32()?) };
    let source = reader.u8()?;
    let transport = if source & 1 << TRANSPORT_BIT == 0 { Transport::Udp } else { Transport::Tcp };
    let stamps = match source & !(1 << TRANSPORT_BIT) {
        0 => StampSource::Hardware,
        1 => StampSource::Kernel,
        2 => StampSource::User,
        _ => return None,
    };
    let counts = LinkCounts {
        complete: reader.u32()?,
        lost_forward: reader.u32()?,
        lost_reverse: reader.u32()?,
        reordered: reader.u32()?,
        duplicated: reader.u32()?,
        unstamped: reader.u32()?,
        filtered: reader.u32()?,
    };
    let fits = reader.list(1, read_fit)?;
    let events = reader.list(EVENT_LEN, |reader| match reader.u8()? {
        0 => Some(ClockEvent::Step { at: reader.instant()?, size: reader.span()? }),
        1 => Some(ClockEvent::RateChange { at: reader.instant()?, by_ppb: reader.float()? }),
        _ => None,
    })?;
    Some(EdgeRecord { edge, fits, events, counts, stamps, transport })
}

fn write_fit(out: &mut Vec<u8>, fit: &Result<EdgeFit, NoFit>) {
    let fit = match fit {
        Err(NoFit::TooFewExchanges(count)) => {
            out.push(1);
            return put_u32(out, *count);
        }
        Err(NoFit::OneDirection) => return out.push(2),
        Err(NoFit::Contradiction) => return out.push(3),
        Ok(fit) => fit,
    };
    out.push(0);
    for instant in [fit.start, fit.end, fit.mid] {
        put_instant(out, instant);
    }
    for span in [fit.offset, fit.bound.lo, fit.bound.hi, fit.rtt_min] {
        put_span(out, span);
    }
    for float in [fit.skew_ppb, fit.skew_bound_ppb.0, fit.skew_bound_ppb.1, fit.sigma_ns] {
        out.extend_from_slice(&float.to_le_bytes());
    }
    put_u32(out, fit.points_forward);
    put_u32(out, fit.points_reverse);
    out.push(fit.degraded.into());
}

fn read_fit(reader: &mut Reader) -> Option<Result<EdgeFit, NoFit>> {
    match reader.u8()? {
        0 => {}
        1 => return reader.u32().map(NoFit::TooFewExchanges).map(Err),
        2 => return Some(Err(NoFit::OneDirection)),
        3 => return Some(Err(NoFit::Contradiction)),
        _ => return None,
    }
    let (start, end, mid) = (reader.instant()?, reader.instant()?, reader.instant()?);
    let offset = reader.span()?;
    let bound = reader.interval()?;
    let rtt_min = reader.span()?;
    let skew_ppb = reader.float()?;
    let skew_bound_ppb = (reader.float()?, reader.float()?);
    let sigma_ns = reader.float()?;
    let (points_forward, points_reverse) = (reader.u32()?, reader.u32()?);
    let degraded = reader.flag()?;
    (start <= mid && mid <= end).then_some(Ok(EdgeFit {
        start,
        end,
        mid,
        offset,
        skew_ppb,
        bound,
        skew_bound_ppb,
        sigma_ns,
        rtt_min,
        points_forward,
        points_reverse,
        degraded,
    }))
}

pub(super) fn write_estimate(out: &mut Vec<u8>, estimate: &NodeEstimate) {
    put_u32(out, estimate.node.0);
    put_instant(out, estimate.at);
    for span in [estimate.offset, estimate.bound.lo, estimate.bound.hi] {
        put_span(out, span);
    }
    let (skew_lo_ppb, skew_hi_ppb) = estimate.skew_bound_ppb;
    for float in [estimate.skew_ppb, skew_lo_ppb, skew_hi_ppb, estimate.sigma_ns, estimate.residual_ns] {
        out.extend_from_slice(&float.to_le_bytes());
    }
    out.push(estimate.degraded.into());
}

pub(super) fn read_estimate(reader: &mut Reader) -> Option<NodeEstimate> {
    let (node, at, offset) = (NodeId(reader.u32()?), reader.instant()?, reader.span()?);
    let bound = reader.interval()?;
    let skew_ppb = reader.float()?;
    let skew_bound_ppb = (reader.float()?, reader.float()?);
    let (sigma_ns, residual_ns) = (reader.float()?, reader.float()?);
    let degraded = reader.flag()?;
    Some(NodeEstimate { node, at, offset, skew_ppb, bound, skew_bound_ppb, sigma_ns, residual_ns, degraded })
}

pub(super) fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_span(out: &mut Vec<u8>, span: Span) {
    out.extend_from_slice(&span.as_nanos().to_le_bytes());
}

fn put_instant(out: &mut Vec<u8>, instant: HostInstant) {
    out.extend_from_slice(&instant.nanos_since_epoch().to_le_bytes());
}

#[cfg(test)]
mod tests;
