//! The spans of one thread that are open while it is written as JSON, and the arguments they began with.
//!
//! A span goes out when it ends, so what its beginning said waits here, already as JSON. Spans of a thread end innermost first,
//! but for a few: all of it is two stacks, no larger than the recording's open spans are.

use crate::recording::export::names::Names;
use crate::recording::export::text;
use crate::recording::{ArgView, Args, NameId, take_out};

/// Open spans, outermost first.
#[derive(Default)]
pub(super) struct OpenSpans {
    open: Vec<Open>,
    /// Arguments of all of them, `"key": value, `, end to end.
    text: Vec<u8>,
    /// Where each argument of `text` ends, and its key.
    args: Vec<(usize, u32)>,
}

/// A span that has begun.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) start_ns: i64,
    pub(super) name: NameId,
    pub(super) id: u64,
    pub(super) number: Option<i64>,
    /// Where its arguments begin.
    text: usize,
    args: usize,
}

/// A span that has ended.
pub(super) struct Ended {
    pub(super) open: Open,
    /// Where it stood; what is there now was above it.
    at: usize,
    /// Where its arguments end.
    text_end: usize,
    args_end: usize,
}

/// Which keys the event at hand has had, so that none stands twice in an object.
pub(super) struct Seen {
    event: u32,
    by_key: Vec<u32>,
}

impl Seen {
    /// For `names` keys.
    pub(super) fn new(names: usize) -> Self {
        Self { event: 0, by_key: vec![0; names] }
    }

    /// Begins the next event.
    pub(super) fn next_event(&mut self) {
        self.event = self.event.checked_add(1).unwrap_or_else(|| {
            self.by_key.fill(0);
            1
        });
    }

    /// Whether `key` is new to the event, and notes it. Keys the recording does not know are all one.
    pub(super) fn is_new(&mut self, key: u32) -> bool {
        self.by_key.get_mut(key as usize).is_none_or(|last| std::mem::replace(last, self.event) != self.event)
    }
}

impl OpenSpans {
    /// A span begins.
    pub(super) fn begin(&mut self, start_ns: i64, name: NameId, id: u64, number: Option<i64>) {
        self.open.push(Open { start_ns, name, id, number, text: self.text.len(), args: self.args.len() });
    }

    /// The arguments that the span which has just begun did so with.
    pub(super) fn began_with(&mut self, args: Args<'_>, names: &Names<'_>, seen: &mut Seen) {
        let first = self.args.len();
        seen.next_event();
        for (key, value) in args.iter() {
            if !argument(&mut self.text, names, seen, key, &value) {
                continue;
            }
            match self.args[first..].last_mut() {
                // What was cut goes where the argument goes.
                Some((end, _)) if matches!(value, ArgView::Cut { .. }) => *end = self.text.len(),
                _ => self.args.push((self.text.len(), names.same(key))),
            }
        }
    }

    /// The span with so many above it ends: takes it out. Its arguments stay until [`Self::drop_args`].
    pub(super) fn end(&mut self, above: u32) -> Option<Ended> {
        let open = take_out(&mut self.open, above)?;
        let at = self.open.len() - above as usize;
        let (text_end, args_end) = self.open.get(at).map_or((self.text.len(), self.args.len()), |next| (next.text, next.args));
        Some(Ended { open, at, text_end, args_end })
    }

    /// Writes the arguments a span began with, except those with keys the event has had.
    pub(super) fn args(&self, ended: &Ended, output: &mut Vec<u8>, seen: &mut Seen) {
        let mut start = ended.open.text;
        for (end, key) in &self.args[ended.open.args..ended.args_end] {
            if seen.is_new(*key) {
                output.extend_from_slice(&self.text[start..*end]);
            }
            start = *end;
        }
    }

    /// Forgets the arguments of a span that has been taken out.
    pub(super) fn drop_args(&mut self, ended: &Ended) {
        let Ended { open, at, text_end, args_end } = *ended;
        let (text, args) = (text_end - open.text, args_end - open.args);
        self.text.drain(open.text..text_end);
        self.args.drain(open.args..args_end);
        self.args[open.args..].iter_mut().for_each(|(end, _)| *end -= text);
        for above in &mut self.open[at..] {
            above.text -= text;
            above.args -= args;
        }
    }
}

/// Writes `"key": value, `, unless the event has had the key. Says whether it did.
pub(super) fn argument(text: &mut Vec<u8>, names: &Names<'_>, seen: &mut Seen, key: NameId, value: &ArgView<'_>) -> bool {
    let is_cut = matches!(value, ArgView::Cut { .. });
    if !is_cut && !seen.is_new(names.same(key)) {
        return false;
    }
    match is_cut {
        false => text.extend_from_slice(names.quoted(key)),
        true if key == NameId::default() => text.extend_from_slice(b"\"arguments left out\""),
        true => {
            let quoted = names.quoted(key);
            text.extend_from_slice(&quoted[..quoted.len() - 1]);
            text.extend_from_slice(b" was cut from\"");
        }
    }
    text.extend_from_slice(b": ");
    write_value(text, names, value);
    text.extend_from_slice(b", ");
    true
}

fn write_value(output: &mut Vec<u8>, names: &Names<'_>, value: &ArgView<'_>) {
    match value {
        ArgView::I64(value) => text::signed(output, *value),
        ArgView::U64(value) | ArgView::Cut { true_len: value } => text::unsigned(output, *value),
        ArgView::F64(value) => text::real(output, *value),
        ArgView::Bool(value) => output.extend_from_slice(if *value { b"true" } else { b"false" }),
        ArgView::Name(name) => output.extend_from_slice(names.quoted(*name)),
        ArgView::Text(string) => text::quoted(output, string),
        ArgView::Json(json) => text::json(output, json),
        ArgView::Bytes(bytes) => {
            output.push(b'"');
            text::hex(output, bytes);
            output.push(b'"');
        }
        ArgView::I64s(numbers) => {
            output.push(b'[');
            for (at, number) in numbers.clone().enumerate() {
                if at > 0 {
                    output.extend_from_slice(b", ");
                }
                text::signed(output, number);
            }
            output.push(b']');
        }
    }
}
