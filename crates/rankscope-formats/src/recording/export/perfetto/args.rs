//! Arguments as debug annotations, and the texts a sequence says once.

use crate::perfetto::interning::Interned;
use crate::perfetto::schema::{annotation, entry, event, interned, packet};
use crate::recording::export::names::{Names, category_name};
use crate::recording::export::text;
use crate::recording::{ArgView, NameId};
use crate::wire::Encoder;

/// A text: of the recording's table or, behind it, one of [`OWN`].
#[derive(Clone, Copy)]
pub(super) struct TextId(usize);

/// Texts a recording need not hold.
const OWN: [&str; 14] = [
    "External id",
    "finished",
    "misnested",
    "device",
    "stream",
    "correlation",
    "Addr",
    "Bytes",
    "Device Type",
    "Device Id",
    "[memory]",
    "[OutOfMemory]",
    "cpu_instant_event",
    "arguments left out",
];

/// What the running sequence has said, and what its next packet has to say.
pub(super) struct Dictionary<'r> {
    pub(super) names: Names<'r>,
    /// By table: event names, keys, strings.
    tables: [Interned; 3],
    categories: Interned,
    fresh: Vec<(Table, u64, usize)>,
    json: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Table {
    Names,
    Keys,
    Strings,
    Categories,
}

impl<'r> Dictionary<'r> {
    pub(super) fn new(names: Names<'r>) -> Self {
        let texts = names.len() + OWN.len();
        let tables = std::array::from_fn(|_| Interned::new(texts));
        Self { names, tables, categories: Interned::new(1 << 8), fresh: Vec::new(), json: Vec::new() }
    }

    /// Starts the next sequence, which has said nothing.
    pub(super) fn forget(&mut self) {
        self.tables.iter_mut().for_each(Interned::forget);
        self.categories.forget();
    }

    /// The number of a text of [`OWN`].
    pub(super) fn own(&self, text: &str) -> TextId {
        TextId(self.names.len() + OWN.iter().position(|own| *own == text).unwrap_or_default())
    }

    pub(super) fn name(&mut self, name: NameId) -> u64 {
        let text = self.known(name);
        self.iid(Table::Names, text)
    }

    pub(super) fn own_name(&mut self, text: TextId) -> u64 {
        self.iid(Table::Names, text)
    }

    pub(super) fn category(&mut self, category: u8) -> u64 {
        let (iid, new) = self.categories.iid(category.into());
        if new {
            self.fresh.push((Table::Categories, iid, category.into()));
        }
        iid
    }

    /// Equal texts are one.
    fn known(&self, name: NameId) -> TextId {
        TextId(self.names.same(name) as usize)
    }

    fn iid(&mut self, table: Table, text: TextId) -> u64 {
        let (iid, new) = self.tables[table as usize].iid(text.0);
        if new {
            self.fresh.push((table, iid, text.0));
        }
        iid
    }

    /// The interned data a packet needs beside its event.
    pub(super) fn introduce(&mut self, body: &mut Encoder) {
        if self.fresh.is_empty() {
            return;
        }
        let Self { names, fresh, .. } = self;
        body.message(packet::INTERNED_DATA, |body| {
            for (table, iid, at) in fresh.drain(..) {
                let (field, text) = match table {
                    Table::Names => (interned::EVENT_NAMES, text_of(names, at)),
                    Table::Keys => (interned::ANNOTATION_NAMES, text_of(names, at)),
                    Table::Strings => (interned::ANNOTATION_STRINGS, text_of(names, at)),
                    Table::Categories => (interned::EVENT_CATEGORIES, category_name(at as u8)),
                };
                body.message(field, |body| {
                    body.varint(entry::IID, iid).string(entry::TEXT, text);
                });
            }
        });
    }

    /// An argument of the recording.
    pub(super) fn argument(&mut self, body: &mut Encoder, key: NameId, value: &ArgView<'_>) {
        if matches!(value, ArgView::Cut { .. }) && key != NameId::default() {
            let key = format!("{} was cut from", self.names.text(key));
            body.message(event::DEBUG_ANNOTATIONS, |body| {
                body.string(annotation::NAME, &key);
                self.value(body, value);
            });
            return;
        }
        let key = if key == NameId::default() { self.own("arguments left out") } else { self.known(key) };
        self.annotate(body, key, |dictionary, body| dictionary.value(body, value));
    }

    /// An argument of an event by its nature.
    pub(super) fn own_argument(&mut self, body: &mut Encoder, key: &str, value: &ArgView<'_>) {
        let key = self.own(key);
        self.annotate(body, key, |dictionary, body| dictionary.value(body, value));
    }

    fn annotate(&mut self, body: &mut Encoder, key: TextId, value: impl FnOnce(&mut Self, &mut Encoder)) {
        let key = self.iid(Table::Keys, key);
        body.message(event::DEBUG_ANNOTATIONS, |body| {
            body.varint(annotation::NAME_IID, key);
            value(self, body);
        });
    }

    fn value(&mut self, body: &mut Encoder, value: &ArgView<'_>) {
        match value {
            ArgView::I64(value) => body.varint(annotation::INT, *value as u64),
            ArgView::U64(value) | ArgView::Cut { true_len: value } => body.varint(annotation::UINT, *value),
            ArgView::F64(value) => body.double(annotation::DOUBLE, *value),
            ArgView::Bool(value) => body.varint(annotation::BOOL, u64::from(*value)),
            ArgView::Name(name) => {
                let text = self.known(*name);
                body.varint(annotation::STRING_IID, self.iid(Table::Strings, text))
            }
            // The engine shows JSON as the text it is; it has no other place for it.
            ArgView::Text(text) | ArgView::Json(text) => body.string(annotation::STRING, text),
            ArgView::Bytes(bytes) => {
                self.json.clear();
                text::hex(&mut self.json, bytes);
                body.bytes_field(annotation::STRING, &self.json)
            }
            ArgView::I64s(numbers) => {
                let mut some = false;
                for number in numbers.clone() {
                    some = true;
                    body.message(annotation::ARRAY_VALUES, |body| {
                        body.varint(annotation::INT, number as u64);
                    });
                }
                if some { body } else { body.string(annotation::STRING, "[]") }
            }
        };
    }
}

fn text_of<'r>(names: &Names<'r>, at: usize) -> &'r str {
    match at.checked_sub(names.len()) {
        None => names.text(NameId(at as u32)),
        Some(own) => OWN[own],
    }
}
