//! Windows and estimates as bytes: little-endian, in the order of their fields, floats as their bits.
//!
//! Reading is total and takes nothing on trust: lengths are bounded by what is left, floats are numbers, spans of time run
//! forward, nothing may follow the end, and of two ways to write the same there is one.

mod varint;
mod window;

use rankscope_time::Span;

use crate::nodes::NodeEstimate;
use crate::{HostInstant, Interval, NodeId};
use varint::Varint;
pub(super) use window::{read_window, write_window};

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

    fn varint(&mut self) -> Option<u64> {
        let (Varint(value), rest) = Varint::read(self.0)?;
        self.0 = rest;
        Some(value)
    }

    /// A number that is mostly near zero.
    fn near(&mut self) -> Option<i64> {
        self.varint().map(varint::unzigzag)
    }

    fn count(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    /// A counted list, of which every element takes at least `least` bytes.
    fn list<T>(&mut self, least: usize, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()? as usize;
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

pub(super) fn write_estimate(out: &mut Vec<u8>, estimate: &NodeEstimate) {
    put_u32(out, estimate.node.0);
    put_instant(out, estimate.at);
    for span in [estimate.offset, estimate.bound.lo, estimate.bound.hi] {
        put_span(out, span);
    }
    let (skew_lo_ppb, skew_hi_ppb) = estimate.skew_bound_ppb;
    for float in [estimate.skew_ppb, skew_lo_ppb, skew_hi_ppb, estimate.sigma_ns, estimate.residual_ns] {
        put_float(out, float);
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

fn put_varint(out: &mut Vec<u8>, value: impl Into<u64>) {
    Varint(value.into()).write(out);
}

fn put_near(out: &mut Vec<u8>, value: i64) {
    put_varint(out, varint::zigzag(value));
}

fn put_float(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_instant(out: &mut Vec<u8>, instant: HostInstant) {
    out.extend_from_slice(&instant.nanos_since_epoch().to_le_bytes());
}

#[cfg(test)]
mod tests;
