//! What a recording says beside its events: names, threads, sessions, losses, metadata, anchors.

use std::collections::BTreeMap;

use super::event::{ClockId, DropReason, Remark};
use super::records::{Record, record};
use super::session::SessionMark;
use super::word::{Kind, NameId};

/// A text of the table of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The text.
    pub text: Box<str>,
    /// The category of what is called so, by libkineto's number.
    pub category: u8,
    /// The scope of what is called so, by torch's number.
    pub scope: u8,
}

/// Ticks and another clock, read at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Which clock.
    pub clock: ClockId,
    /// The tick in the middle of the bracket.
    pub tick: u64,
    /// What the clock said, in nanoseconds.
    pub ns: i64,
    /// Ticks between the readings before and after.
    pub width_ticks: u64,
}

/// Everything the system chunks say.
#[derive(Debug, Default)]
pub(super) struct System {
    pub(super) names: Vec<Name>,
    /// Thread number and name, by stream.
    pub(super) threads: BTreeMap<u32, (u64, String)>,
    pub(super) meta: BTreeMap<NameId, String>,
    pub(super) sessions: BTreeMap<u64, SessionMark>,
    pub(super) drops: BTreeMap<(u32, DropReason), u64>,
    pub(super) remarks: BTreeMap<(u32, Remark), u64>,
    pub(super) anchors: Vec<Anchor>,
}

impl System {
    /// Takes in the records of one system or anchor chunk, from `at` on. Whether all of them could be read.
    pub(super) fn read(&mut self, words: &[u64], mut at: usize) -> bool {
        loop {
            match record(words, at) {
                Ok((record, next)) => {
                    self.take(&record);
                    at = next;
                }
                Err(stop) => return stop == super::records::Stop::End,
            }
        }
    }

    /// Takes in one record; those of other chunks mean nothing here.
    fn take(&mut self, record: &Record<'_>) {
        let (head, payload) = (record.head, record.payload);
        match record.kind {
            Kind::Name => {
                let text = String::from_utf8_lossy(bytes(record, 1)).into();
                self.name(head.name(), Name { text, category: payload[0] as u8, scope: (payload[0] >> 8) as u8 });
            }
            Kind::Thread => {
                let name = String::from_utf8_lossy(bytes(record, 2)).into_owned();
                self.threads.insert(payload[0] as u32, (payload[1], name));
            }
            Kind::Meta => {
                self.meta.insert(head.name(), String::from_utf8_lossy(bytes(record, 0)).into_owned());
            }
            Kind::SessionStart => self.start(payload[0], payload[1], payload[2] as u32),
            Kind::SessionStop => {
                if let Some(session) = self.sessions.get_mut(&payload[0]) {
                    session.stop_tick = Some(payload[1]);
                }
            }
            Kind::Drops => {
                let (stream, number) = (payload[0] as u32, head.name().0);
                if let Some(reason) = DropReason::of(number) {
                    self.drops.insert((stream, reason), payload[1]);
                } else if let Some(remark) = Remark::of(number) {
                    self.remarks.insert((stream, remark), payload[1]);
                }
            }
            Kind::Anchor => self.anchors.push(Anchor {
                clock: ClockId(head.name().0),
                tick: payload[0],
                ns: payload[1] as i64,
                width_ticks: payload[2],
            }),
            _ => {}
        }
    }

    fn name(&mut self, id: NameId, name: Name) {
        let at = id.0 as usize;
        // At most a quarter of a million: ids have eighteen bits.
        if at >= self.names.len() {
            self.names.resize_with(at + 1, Name::default);
        }
        self.names[at] = name;
    }

    /// A session begins, or one that has begun changes its categories.
    fn start(&mut self, id: u64, tick: u64, categories: u32) {
        let fresh = || SessionMark { id, start_tick: tick, stop_tick: None, changes: Vec::new() };
        self.sessions.entry(id).or_insert_with(fresh).changes.push((tick, categories));
    }
}

/// The bytes of a record behind `skip` words of its payload.
fn bytes<'a>(record: &Record<'a>, skip: usize) -> &'a [u8] {
    &bytemuck::cast_slice(&record.payload[skip..])[..record.head.value() as usize]
}
