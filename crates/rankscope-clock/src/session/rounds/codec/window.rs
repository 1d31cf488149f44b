//! A window as bytes. A master hears one of every node, so they are short: times are told from where one expects them, counts take the
//! bytes they need. Nothing is rounded: what the master solves is what the node has in its file.

use rankscope_time::Span;

use super::{Reader, put_float, put_instant, put_near, put_varint};
use crate::{
    ClockEvent, Edge, EdgeFit, EdgeRecord, HostInstant, Interval, LinkCounts, NoFit, NodeId, NodeWindow, StampSource, Transport,
};

/// Writes `window`, leaving out the edges that do not fit into `room` bytes; says how many those are.
pub(in crate::session::rounds) fn write_window(out: &mut Vec<u8>, window: &NodeWindow, room: usize) -> usize {
    put_varint(out, window.node.0);
    put_varint(out, window.window_id);
    put_varint(out, window.round.map_or(0, |round| round.saturating_add(1)));
    put_instant(out, window.start);
    put_after(out, window.end, window.start);
    // Before it is known how many there is room for.
    let mut edges = Vec::new();
    let mut written: u32 = 0;
    for edge in &window.edges {
        let before = edges.len();
        write_edge(&mut edges, edge, window);
        if out.len() + COUNT_LONGEST + edges.len() > room {
            edges.truncate(before);
            break;
        }
        written += 1;
    }
    put_varint(out, written);
    out.append(&mut edges);
    window.edges.len() - written as usize
}

/// Reads what [`write_window`] wrote.
pub(in crate::session::rounds) fn read_window(bytes: &[u8]) -> Option<NodeWindow> {
    let mut reader = Reader(bytes);
    let (node, window_id, round) = (NodeId(reader.count()?), reader.varint()?, reader.varint()?.checked_sub(1));
    let start = reader.instant()?;
    let end = after(&mut reader, start)?;
    let mut window = NodeWindow { node, window_id, round, start, end, edges: Vec::new() };
    window.edges = reader.list(EDGE_LEAST, |reader| read_edge(reader, &window))?;
    reader.end()?;
    (window.start <= window.end).then_some(window)
}

fn write_edge(out: &mut Vec<u8>, record: &EdgeRecord, of: &NodeWindow) {
    let Edge { src, dst } = record.edge;
    put_near(out, i64::from(src.0) - i64::from(of.node.0));
    put_near(out, i64::from(dst.0) - i64::from(src.0));
    out.push(record.stamps as u8 | (record.transport as u8) << TRANSPORT_BIT);
    let LinkCounts { complete, lost_forward, lost_reverse, reordered, duplicated, unstamped, filtered } = record.counts;
    for count in [complete, lost_forward, lost_reverse, reordered, duplicated, unstamped, filtered] {
        put_varint(out, count);
    }
    put_varint(out, record.fits.len() as u32);
    for fit in &record.fits {
        write_fit(out, fit, of);
    }
    put_varint(out, record.events.len() as u32);
    for event in &record.events {
        match *event {
            ClockEvent::Step { at, size } => {
                out.push(0);
                put_after(out, at, of.start);
                put_near(out, size.as_nanos());
            }
            ClockEvent::RateChange { at, by_ppb } => {
                out.push(1);
                put_after(out, at, of.start);
                put_float(out, by_ppb);
            }
        }
    }
}

/// A byte each of both ends, of stamps and transport, of the counts and of the lengths of the lists.
const EDGE_LEAST: usize = 2 + 1 + 7 + 2;
const EVENT_LEAST: usize = 3;
const COUNT_LONGEST: usize = 5;

/// Stamps and transport share a byte.
const TRANSPORT_BIT: u8 = 2;

fn read_edge(reader: &mut Reader, of: &NodeWindow) -> Option<EdgeRecord> {
    let src = near_to(reader, of.node)?;
    let edge = Edge { src, dst: near_to(reader, src)? };
    let source = reader.u8()?;
    let transport = if source & 1 << TRANSPORT_BIT == 0 { Transport::Udp } else { Transport::Tcp };
    let stamps = match source & !(1 << TRANSPORT_BIT) {
        0 => StampSource::Hardware,
        1 => StampSource::Kernel,
        2 => StampSource::User,
        _ => return None,
    };
    let counts = LinkCounts {
        complete: reader.count()?,
        lost_forward: reader.count()?,
        lost_reverse: reader.count()?,
        reordered: reader.count()?,
        duplicated: reader.count()?,
        unstamped: reader.count()?,
        filtered: reader.count()?,
    };
    let fits = reader.list(1, |reader| read_fit(reader, of))?;
    let events = reader.list(EVENT_LEAST, |reader| match reader.u8()? {
        0 => Some(ClockEvent::Step { at: after(reader, of.start)?, size: Span::from_nanos(reader.near()?) }),
        1 => Some(ClockEvent::RateChange { at: after(reader, of.start)?, by_ppb: reader.float()? }),
        _ => None,
    })?;
    Some(EdgeRecord { edge, fits, events, counts, stamps, transport })
}

fn write_fit(out: &mut Vec<u8>, fit: &Result<EdgeFit, NoFit>, of: &NodeWindow) {
    let fit = match fit {
        Err(NoFit::TooFewExchanges(count)) => {
            out.push(1);
            return put_varint(out, *count);
        }
        Err(NoFit::OneDirection) => return out.push(2),
        Err(NoFit::Contradiction) => return out.push(3),
        Ok(fit) => fit,
    };
    out.push(0);
    put_after(out, fit.start, of.start);
    put_after(out, fit.end, of.end);
    put_after(out, fit.mid, middle(fit.start, fit.end));
    let offset_ns = fit.offset.as_nanos();
    put_near(out, offset_ns);
    put_near(out, offset_ns.wrapping_sub(fit.bound.lo.as_nanos()));
    put_near(out, fit.bound.hi.as_nanos().wrapping_sub(offset_ns));
    put_near(out, fit.rtt_min.as_nanos());
    for float in [fit.skew_ppb, fit.skew_bound_ppb.0, fit.skew_bound_ppb.1, fit.sigma_ns] {
        put_float(out, float);
    }
    put_varint(out, fit.points_forward);
    put_varint(out, fit.points_reverse);
    out.push(fit.degraded.into());
}

fn read_fit(reader: &mut Reader, of: &NodeWindow) -> Option<Result<EdgeFit, NoFit>> {
    match reader.u8()? {
        0 => {}
        1 => return reader.count().map(NoFit::TooFewExchanges).map(Err),
        2 => return Some(Err(NoFit::OneDirection)),
        3 => return Some(Err(NoFit::Contradiction)),
        _ => return None,
    }
    let (start, end) = (after(reader, of.start)?, after(reader, of.end)?);
    let mid = after(reader, middle(start, end))?;
    let offset_ns = reader.near()?;
    let lo = Span::from_nanos(offset_ns.wrapping_sub(reader.near()?));
    let hi = Span::from_nanos(offset_ns.wrapping_add(reader.near()?));
    let rtt_min = Span::from_nanos(reader.near()?);
    let skew_ppb = reader.float()?;
    let skew_bound_ppb = (reader.float()?, reader.float()?);
    let sigma_ns = reader.float()?;
    let (points_forward, points_reverse) = (reader.count()?, reader.count()?);
    let degraded = reader.flag()?;
    (start <= mid && mid <= end && lo <= hi).then_some(Ok(EdgeFit {
        start,
        end,
        mid,
        offset: Span::from_nanos(offset_ns),
        skew_ppb,
        bound: Interval { lo, hi },
        skew_bound_ppb,
        sigma_ns,
        rtt_min,
        points_forward,
        points_reverse,
        degraded,
    }))
}

/// How long after `expected`. Around the ends of what a clock can say the difference wraps, and so does the sum that undoes it.
fn put_after(out: &mut Vec<u8>, instant: HostInstant, expected: HostInstant) {
    put_near(out, instant.nanos_since_epoch().wrapping_sub(expected.nanos_since_epoch()));
}

fn after(reader: &mut Reader, expected: HostInstant) -> Option<HostInstant> {
    Some(HostInstant::from_nanos_since_epoch(expected.nanos_since_epoch().wrapping_add(reader.near()?)))
}

fn near_to(reader: &mut Reader, node: NodeId) -> Option<NodeId> {
    i64::from(node.0).checked_add(reader.near()?)?.try_into().ok().map(NodeId)
}

fn middle(start: HostInstant, end: HostInstant) -> HostInstant {
    HostInstant::from_nanos_since_epoch(start.nanos_since_epoch().midpoint(end.nanos_since_epoch()))
}
