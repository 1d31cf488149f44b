//! The tables of one plane on their way out: ids for the names of events and statistics, given as the names come up.

use rankscope_trace::{ArgValue, StrId, Trace};
use rustc_hash::FxHashMap;

use super::schema::{entry, event_metadata, plane, stat, stat_metadata};
use crate::wire::Encoder;

/// The statistics' names, and those used so far.
#[derive(Debug)]
pub(super) struct StatTable<'t> {
    trace: &'t Trace,
    /// Keys of ours that the trace does not hold; their ids follow those of its strings.
    own: Vec<&'static str>,
    ids: FxHashMap<StrId, u64>,
    used: Vec<StrId>,
}

impl<'t> StatTable<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        Self { trace, own: Vec::new(), ids: FxHashMap::default(), used: Vec::new() }
    }

    /// The id of a key of ours.
    pub(super) fn key(&mut self, text: &'static str) -> StrId {
        self.trace.strings.find(text).unwrap_or_else(|| {
            let at = self.own.iter().position(|own| *own == text).unwrap_or_else(|| {
                self.own.push(text);
                self.own.len() - 1
            });
            StrId((self.trace.strings.len() + at) as u32)
        })
    }

    /// Encodes a statistic as `field` of the message under construction.
    pub(super) fn stat(&mut self, out: &mut Encoder, field: u32, key: StrId, value: ArgValue) {
        let id = self.id(key);
        let refers_to = if let ArgValue::Ref(name) = value { self.id(name) } else { 0 };
        out.message(field, |out| {
            out.varint(stat::METADATA_ID, id);
            match value {
                ArgValue::Null => out,
                ArgValue::Bool(value) => out.varint(stat::UINT64, value.into()),
                ArgValue::I64(value) => out.varint(stat::INT64, value as u64),
                ArgValue::U64(value) => out.varint(stat::UINT64, value),
                ArgValue::F64(value) => out.double(stat::DOUBLE, value),
                ArgValue::Text(text) | ArgValue::Json(text) => out.string(stat::STR, self.trace.strings.text(text)),
                ArgValue::Blob(at) => out.bytes_field(stat::BYTES, self.trace.blobs.get(at as usize).map_or(&[], |blob| blob)),
                ArgValue::Ref(_) => out.varint(stat::REF, refers_to),
            };
        });
    }

    /// Encodes a statistic whose text the trace does not hold.
    pub(super) fn text_stat(&mut self, out: &mut Encoder, field: u32, key: StrId, text: &str) {
        let id = self.id(key);
        out.message(field, |out| {
            out.varint(stat::METADATA_ID, id).string(stat::STR, text);
        });
    }

    /// Encodes the table, with what `describe` says about a name.
    pub(super) fn encode<'d>(&self, out: &mut Encoder, describe: impl Fn(&str) -> Option<&'d str>) {
        for (id, name) in (1..).zip(&self.used) {
            let own = (name.0 as usize).checked_sub(self.trace.strings.len()).and_then(|at| self.own.get(at));
            let name = own.copied().unwrap_or_else(|| self.trace.strings.text(*name));
            out.message(plane::STAT_METADATA, |out| {
                out.varint(entry::KEY, id).message(entry::VALUE, |out| {
                    out.varint(stat_metadata::ID, id).string(stat_metadata::NAME, name);
                    if let Some(description) = describe(name) {
                        out.string(stat_metadata::DESCRIPTION, description);
                    }
                });
            });
        }
    }

    fn id(&mut self, name: StrId) -> u64 {
        *self.ids.entry(name).or_insert_with(|| {
            self.used.push(name);
            self.used.len() as u64
        })
    }
}

/// The events' names: the trace's descriptions under their own ids, other names under ids behind those.
#[derive(Debug)]
pub(super) struct SortTable<'t> {
    trace: &'t Trace,
    /// Indexes into the trace's descriptions.
    described: Vec<u32>,
    last_id: i64,
    named: FxHashMap<StrId, i64>,
    order: Vec<StrId>,
}

impl<'t> SortTable<'t> {
    pub(super) fn new(trace: &'t Trace, owner: rankscope_trace::TrackId) -> Self {
        let of_owner = (0..).zip(&trace.descriptions).filter(|(_, description)| description.owner == owner);
        let described: Vec<u32> = of_owner.map(|(at, _)| at).collect();
        let ids = described.iter().map(|at| trace.descriptions[*at as usize].id);
        // Ids beyond half the range would leave no room behind them; names then go before the lowest.
        let last_id = ids.max().unwrap_or(0).max(0);
        let names = described.iter().rev().map(|at| &trace.descriptions[*at as usize]);
        let named = names.map(|description| (description.name, description.id)).collect();
        Self { trace, described, last_id, named, order: Vec::new() }
    }

    /// The id of a sort by its description.
    pub(super) fn described(&self, at: u32, owner: rankscope_trace::TrackId) -> Option<i64> {
        let description = self.trace.descriptions.get(at as usize)?;
        (description.owner == owner).then_some(description.id)
    }

    /// The id of a sort by its name.
    pub(super) fn named(&mut self, name: StrId) -> i64 {
        let next = self.last_id.wrapping_add(1 + self.order.len() as i64);
        *self.named.entry(name).or_insert_with(|| {
            self.order.push(name);
            next
        })
    }

    /// Encodes the table.
    pub(super) fn encode(&self, out: &mut Encoder, stats: &mut StatTable<'_>) {
        for at in &self.described {
            let sort = &self.trace.descriptions[*at as usize];
            let name = self.trace.strings.text(sort.name);
            sort_entry(out, sort.id, name, |out| {
                if let Some(blob) = sort.blob.and_then(|at| self.trace.blobs.get(at as usize)) {
                    out.bytes_field(event_metadata::METADATA, blob);
                }
                if !sort.label.is_empty() {
                    out.string(event_metadata::DISPLAY_NAME, self.trace.strings.text(sort.label));
                }
                for (key, value) in self.trace.description_args.row(*at as usize) {
                    stats.stat(out, event_metadata::STATS, key, value);
                }
                for child in &sort.children {
                    out.varint(event_metadata::CHILD_ID, *child as u64);
                }
            });
        }
        for name in &self.order {
            sort_entry(out, self.named[name], self.trace.strings.text(*name), |_| {});
        }
    }
}

/// Encodes an entry of the events' names, `rest` being what follows the name.
pub(super) fn sort_entry(out: &mut Encoder, id: i64, name: &str, rest: impl FnOnce(&mut Encoder)) {
    out.message(plane::EVENT_METADATA, |out| {
        out.varint(entry::KEY, id as u64).message(entry::VALUE, |out| {
            out.varint(event_metadata::ID, id as u64).string(event_metadata::NAME, name);
            rest(out);
        });
    });
}
