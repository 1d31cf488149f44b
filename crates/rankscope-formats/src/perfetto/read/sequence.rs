//! What a packet sequence has said once: names by number, defaults, and whether any of it still holds.

use std::ops::{Index, IndexMut};

use rankscope_trace::{StrId, Strings};
use rustc_hash::FxHashMap;

use super::event::extra_tracks;
use crate::perfetto::schema::{entry, event, interned, packet};
use crate::wire::{Fields, Malformed};

/// The sequences of a file, in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    list: Vec<Sequence>,
    index: FxHashMap<u32, usize>,
    /// The id and place of the one asked for last: packets of a sequence come in runs.
    last: Option<(u32, usize)>,
}

impl Sequences {
    /// The place of sequence `id`, new or known.
    pub(super) fn place(&mut self, id: u32) -> usize {
        match self.last {
            Some((last, at)) if last == id => at,
            _ => {
                let next = self.list.len();
                let at = *self.index.entry(id).or_insert(next);
                if at == next {
                    self.list.push(Sequence::default());
                }
                self.last = Some((id, at));
                at
            }
        }
    }
}

impl Index<usize> for Sequences {
    type Output = Sequence;

    fn index(&self, at: usize) -> &Sequence {
        &self.list[at]
    }
}

impl IndexMut<usize> for Sequences {
    fn index_mut(&mut self, at: usize) -> &mut Sequence {
        &mut self.list[at]
    }
}

/// The state of one sequence.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// Whether the sequence has begun, as opposed to being cut off by a ring buffer.
    pub(super) valid: bool,
    /// Whether a packet of it has been seen.
    pub(super) seen: bool,
    /// The trace that its strings belong to, once there are any; none of a track that only shows what follows from others.
    pub(super) builder: Option<Option<usize>>,
    pub(super) clock: Option<u64>,
    pub(super) track: Option<u64>,
    /// Tracks of the further counters in events that do not name them.
    pub(super) extra_tracks: Vec<u64>,
    pub(super) extra_double_tracks: Vec<u64>,
    /// The thread an old-style sequence belongs to, pid and tid.
    pub(super) thread: Option<(i64, i64)>,
    /// The time old-style deltas count from.
    pub(super) reference_us: i64,
    pub(super) names: Table,
    pub(super) categories: Table,
    pub(super) keys: Table,
    pub(super) texts: Table,
    pub(super) stages: Table,
    pub(super) kernels: Table,
    pub(super) kernel_args: Table,
    /// Names of GPU counters, by descriptor and counter.
    pub(super) gpu_counters: FxHashMap<(u64, u64), StrId>,
}

impl Sequence {
    /// Forgets everything: the sequence starts over.
    pub(super) fn clear(&mut self) {
        let (thread, reference_us) = (self.thread, self.reference_us);
        *self = Self { valid: true, seen: true, thread, reference_us, ..Self::default() };
    }

    /// Takes `TracePacketDefaults` in.
    pub(super) fn defaults(&mut self, message: &[u8]) -> Result<(), Malformed> {
        for field in Fields::of(message) {
            match field? {
                (packet::TIMESTAMP_CLOCK_ID, value) => self.clock = Some(value.u64()),
                (packet::TRACK_EVENT, value) => {
                    self.extra_tracks = extra_tracks(value.bytes(), false).collect();
                    self.extra_double_tracks = extra_tracks(value.bytes(), true).collect();
                    for field in Fields::of(value.bytes()) {
                        if let (event::TRACK_UUID, value) = field? {
                            self.track = Some(value.u64());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes `InternedData` in. Returns whether it was well formed.
    pub(super) fn intern(&mut self, message: &[u8], strings: &mut Strings) -> bool {
        for field in Fields::of(message) {
            let Ok((number, value)) = field else { return false };
            let table = match number {
                interned::EVENT_NAMES => &mut self.names,
                interned::EVENT_CATEGORIES => &mut self.categories,
                interned::ANNOTATION_NAMES => &mut self.keys,
                interned::ANNOTATION_STRINGS => &mut self.texts,
                interned::GPU_SPECIFICATIONS => &mut self.stages,
                interned::COMPUTE_KERNELS => &mut self.kernels,
                interned::COMPUTE_ARG_NAMES => &mut self.kernel_args,
                interned::GPU_COUNTER_DESCRIPTORS => {
                    self.intern_counters(value.bytes(), strings);
                    continue;
                }
                _ => continue,
            };
            let (mut iid, mut text, mut better): (u64, &[u8], &[u8]) = (0, &[], &[]);
            for field in Fields::of(value.bytes()) {
                match field {
                    Ok((entry::IID, value)) => iid = value.u64(),
                    Ok((entry::TEXT, value)) => text = value.bytes(),
                    // A kernel's readable name; elsewhere the field is a description.
                    Ok((entry::DEMANGLED, value)) if number == interned::COMPUTE_KERNELS => better = value.bytes(),
                    Ok(_) => {}
                    Err(_) => return false,
                }
            }
            let text = if better.is_empty() { text } else { better };
            table.set(iid, strings.intern(&String::from_utf8_lossy(text)));
        }
        true
    }

    fn intern_counters(&mut self, message: &[u8], strings: &mut Strings) {
        let mut fields = Fields::of(message).flatten();
        let Some((entry::IID, iid)) = fields.next() else { return };
        for (_, descriptor) in fields.filter(|(number, _)| *number == entry::COUNTER_DESCRIPTOR) {
            for (id, name) in counter_specs(descriptor.bytes()) {
                self.gpu_counters.insert((iid.u64(), id), strings.intern(&String::from_utf8_lossy(name)));
            }
        }
    }
}

/// Ids and names of the counters a `GpuCounterDescriptor` lists.
pub(super) fn counter_specs(descriptor: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let specs = Fields::of(descriptor).flatten().filter(|(number, _)| *number == 1);
    specs.map(|(_, spec)| {
        let (mut id, mut name): (u64, &[u8]) = (0, &[]);
        for (number, value) in Fields::of(spec.bytes()).flatten() {
            match number {
                1 => id = value.u64(),
                2 => name = value.bytes(),
                _ => {}
            }
        }
        (id, name)
    })
}

/// Strings by interning id. Ids count up from one as a rule; the few that do not are kept apart.
#[derive(Debug, Default)]
pub(super) struct Table {
    dense: Vec<StrId>,
    sparse: FxHashMap<u64, StrId>,
}

/// How far past the end of the dense part an id may lie and still extend it.
const GAP_MAX: usize = 64;
const ABSENT: StrId = StrId(u32::MAX);

impl Table {
    /// The string behind `iid`, if the sequence has sent it.
    pub(super) fn get(&self, iid: u64) -> Option<StrId> {
        let dense = usize::try_from(iid).ok().and_then(|at| self.dense.get(at)).copied();
        dense.filter(|text| *text != ABSENT).or_else(|| self.sparse.get(&iid).copied())
    }

    fn set(&mut self, iid: u64, text: StrId) {
        match usize::try_from(iid) {
            Ok(at) if at < self.dense.len() => self.dense[at] = text,
            Ok(at) if at < self.dense.len() + GAP_MAX => {
                self.dense.resize(at, ABSENT);
                self.dense.push(text);
            }
            _ => {
                self.sparse.insert(iid, text);
            }
        }
    }
}
