//! [`Keys`]: what work is known by, each once, by the trace's own strings.

use rankscope_trace::{StrId, Trace};
use rustc_hash::FxHashMap;

use crate::{Activity, Builder, Key, KeyId};

/// After so many keys, new ones are without a place: a trace in which no two operators are alike would need one for each.
const DETAILED: usize = 1 << 15;

/// A [`Key`] in strings of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TraceKey {
    pub(super) activity: Activity,
    pub(super) name: StrId,
    pub(super) operator: StrId,
    pub(super) place: StrId,
}

impl TraceKey {
    /// One of which nothing but the name is known.
    pub(super) fn new(activity: Activity, name: StrId) -> Self {
        Self { activity, name, operator: StrId::EMPTY, place: StrId::EMPTY }
    }
}

/// All keys of a trace so far.
pub(super) struct Keys<'a> {
    trace: &'a Trace,
    known: FxHashMap<TraceKey, KeyId>,
}

impl<'a> Keys<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        Self { trace, known: FxHashMap::default() }
    }

    /// The place of `key`.
    pub(super) fn place(&mut self, mut key: TraceKey, builder: &mut Builder) -> KeyId {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        if self.known.len() >= DETAILED {
            key.place = StrId::EMPTY;
        }
        let text = |id: StrId| self.trace.strings.text(id);
        *self.known.entry(key).or_insert_with(|| {
            builder.key(Key {
                activity: key.activity,
                name: text(key.name).to_owned(),
                operator: text(key.operator).to_owned(),
                place: text(key.place).to_owned(),
            })
        })
    }
}
