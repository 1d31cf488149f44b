//! [`Space`]: the traces of several nodes in one `XSpace`.
//!
//! Nodes are added one after the other, each on the file's common clock already, and are not held. Stamps of all planes count
//! from one base, numbers of flows are given anew, and no two planes share an id or a name. What a node said about its own
//! base, and the pairs of its tracers' clocks, hold no longer on the common clock and stay behind.

use std::io::Write;

use rankscope_trace::{ArgValue, Trace};

use super::layout::{Layout, Plane, times};
use super::names::{Place, Places, PlaneNames};
use super::schema;
use super::writer;
use crate::Error;
use crate::wire::Encoder;

/// An `XSpace` of several nodes under construction.
#[derive(Debug)]
pub struct Space<W> {
    output: W,
    places: Places,
    /// What stamps count from, once there was an event.
    base_ns: Option<i64>,
    last_ns: i64,
    flows: u64,
    /// Errors, warnings and host names, with their fields.
    notices: Vec<(u32, String)>,
}

/// Stamps count from so long before the first node's first event, because a node that comes later may have begun earlier and
/// viewers take stamps for unsigned. A `double` resolves a thousandth of a picosecond there.
const ROOM_NS: i64 = 600_000_000_000;

impl<W: Write> Space<W> {
    /// An empty file.
    pub fn new(output: W, names: PlaneNames) -> Self {
        let places = Places::new(names);
        Self { output, places, base_ns: None, last_ns: i64::MIN, flows: 0, notices: Vec::new() }
    }

    /// Adds the planes of one node.
    ///
    /// # Errors
    /// [`Error::Io`] where the output fails.
    pub fn add(&mut self, node: u32, trace: &Trace) -> Result<(), Error> {
        let mut layout = Layout::of(trace);
        layout.planes.retain(|plane| plane.name != schema::ENVIRONMENT_PLANE);
        let (first_ns, last_ns) = layout.bounds_ns;
        self.last_ns = self.last_ns.max(last_ns);
        layout.base_ns = *self.base_ns.get_or_insert(first_ns.saturating_sub(ROOM_NS).max(0));
        for (index, plane) in layout.planes.iter_mut().enumerate() {
            let place = self.places.place(node, index, &plane.name);
            put(trace, plane, place);
        }
        self.flows += writer::planes(trace, &layout, self.flows, &mut self.output)?;
        for notice in writer::notices(trace) {
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
        Ok(())
    }

    /// Adds `/node:<node>/clock_metadata`, a plane without events that says something about the node's clock.
    ///
    /// # Errors
    /// [`Error::Io`] where the output fails.
    pub fn add_clock_metadata(&mut self, node: u32, facts: &[(&'static str, i64)]) -> Result<(), Error> {
        let entries: Vec<_> = facts.iter().map(|(key, value)| (*key, ArgValue::I64(*value))).collect();
        let mut out = Encoder::default();
        let place = self.places.named(&format!("/node:{node}/clock_metadata"));
        writer::facts(place.0, &place.1, &entries, &mut out);
        Ok(self.output.write_all(out.bytes())?)
    }

    /// Completes the file: what its stamps count from, and the names of all hosts.
    ///
    /// # Errors
    /// [`Error::Io`] where the output fails.
    pub fn finish(mut self) -> Result<(), Error> {
        let mut out = Encoder::default();
        let times = writer::profile_times(self.base_ns.unwrap_or(0), self.last_ns);
        if !times.is_empty() {
            writer::facts(0, schema::ENVIRONMENT_PLANE, &times, &mut out);
        }
        self.notices.sort_by_key(|(field, _)| *field);
        for (field, text) in &self.notices {
            out.string(*field, text);
        }
        self.output.write_all(out.bytes())?;
        Ok(self.output.flush()?)
    }
}

/// Moves a plane to its place, its lines counting from their own first events: those have moved, and stamps are unsigned.
fn put(trace: &Trace, plane: &mut Plane, place: Place) {
    (plane.id, plane.name) = (place.id, place.name);
    for line in &mut plane.lines {
        line.name.insert_str(0, &place.line_prefix);
        line.id = line.id.saturating_add(place.line_id_base);
        line.display_id = line.id;
        let first_ns = line.items.iter().map(|item| times(trace, *item).0).min();
        line.origin_ns = first_ns.unwrap_or(line.origin_ns);
    }
}
