//! Strings that a packet sequence says once and then refers to by number, and the arguments made of them.

use rankscope_trace::{ArgColumn, ArgValue, StrId, Trace};

use super::schema::{annotation, entry, event, interned, packet};
use crate::wire::Encoder;

/// A table of [`interned`].
#[derive(Clone, Copy)]
pub(super) enum Table {
    Names,
    Categories,
    Keys,
    Texts,
}

/// An entry that the packet under construction has to introduce; `None` is JSON's null.
pub(super) struct Fresh {
    pub(super) table: Table,
    pub(super) iid: u64,
    pub(super) text: Option<StrId>,
}

/// Which strings a sequence has introduced already.
#[derive(Default)]
pub(crate) struct Interned {
    /// By string: the sequence that introduced it last, counted here, and its iid there.
    slots: Vec<(u32, u32)>,
    sequence: u32,
    last: u32,
}

impl Interned {
    /// A table for `count` strings, none introduced.
    pub(crate) fn new(count: usize) -> Self {
        Self { slots: vec![(0, 0); count], ..Self::default() }
    }

    /// Starts the next sequence.
    pub(crate) fn forget(&mut self) {
        self.sequence += 1;
        self.last = 0;
    }

    /// The iid of entry `at`, counted from one, and whether it is new.
    pub(crate) fn iid(&mut self, at: usize) -> (u64, bool) {
        let slot = &mut self.slots[at];
        let new = slot.0 != self.sequence;
        if new {
            self.last += 1;
            *slot = (self.sequence, self.last);
        }
        (slot.1.into(), new)
    }
}

/// The iid of `text`, which the packet introduces if it is new.
pub(super) fn intern(table: &mut Interned, fresh: &mut Vec<Fresh>, of: Table, text: StrId) -> u64 {
    let (iid, new) = table.iid(text.0 as usize);
    if new {
        fresh.push(Fresh { table: of, iid, text: Some(text) });
    }
    iid
}

/// What arguments are interned in.
pub(super) struct Values<'a> {
    pub(super) keys: &'a mut Interned,
    pub(super) texts: &'a mut Interned,
    pub(super) json: &'a mut Interned,
    pub(super) fresh: &'a mut Vec<Fresh>,
}

/// JSON's null among the interned strings. JSON has odd iids and plain text even ones, which is how they are told apart when
/// read back. Perfetto's own field for JSON is no use: the engine aborts on values it does not expect there.
pub(super) const NULL_IID: u64 = 1;

/// The arguments of one event.
pub(super) fn annotate(body: &mut Encoder, trace: &Trace, args: &ArgColumn, row: usize, values: &mut Values<'_>) {
    for (key, value) in args.row(row) {
        let key = intern(values.keys, values.fresh, Table::Keys, key);
        body.message(event::DEBUG_ANNOTATIONS, |body| {
            body.varint(annotation::NAME_IID, key);
            match value {
                ArgValue::Null => {
                    let (_, new) = values.json.iid(StrId::EMPTY.0 as usize);
                    if new {
                        values.fresh.push(Fresh { table: Table::Texts, iid: NULL_IID, text: None });
                    }
                    body.varint(annotation::STRING_IID, NULL_IID);
                }
                ArgValue::Bool(value) => {
                    body.varint(annotation::BOOL, value.into());
                }
                ArgValue::I64(value) => {
                    body.varint(annotation::INT, value as u64);
                }
                ArgValue::U64(value) => {
                    body.varint(annotation::UINT, value);
                }
                ArgValue::F64(value) => {
                    body.double(annotation::DOUBLE, value);
                }
                ArgValue::Text(text) | ArgValue::Ref(text) => values.text(body, text, false),
                ArgValue::Json(text) => values.text(body, text, true),
                ArgValue::Blob(blob) => {
                    let bytes = trace.blobs.get(blob as usize).map_or(&[][..], |bytes| bytes);
                    body.string(annotation::STRING, &hex(bytes));
                }
            }
        });
    }
}

impl Values<'_> {
    fn text(&mut self, body: &mut Encoder, text: StrId, json: bool) {
        let table = if json { &mut *self.json } else { &mut *self.texts };
        let (number, new) = table.iid(text.0 as usize);
        let iid = 2 * number + u64::from(json);
        if new {
            self.fresh.push(Fresh { table: Table::Texts, iid, text: Some(text) });
        }
        body.varint(annotation::STRING_IID, iid);
    }
}

/// The interned data a packet needs beside its event.
pub(super) fn introduce(body: &mut Encoder, trace: &Trace, fresh: &mut Vec<Fresh>) {
    if fresh.is_empty() {
        return;
    }
    body.message(packet::INTERNED_DATA, |body| {
        for new in fresh.drain(..) {
            let field = match new.table {
                Table::Names => interned::EVENT_NAMES,
                Table::Categories => interned::EVENT_CATEGORIES,
                Table::Keys => interned::ANNOTATION_NAMES,
                Table::Texts => interned::ANNOTATION_STRINGS,
            };
            let text = new.text.map_or("null", |text| trace.strings.text(text));
            body.message(field, |body| {
                body.varint(entry::IID, new.iid).string(entry::TEXT, text);
            });
        }
    });
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
