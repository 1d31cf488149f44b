//! Arguments of the event at hand.

use rankscope_trace::{ArgColumn, ArgValue, StrId};

use super::super::super::{ArgView, Args};
use super::Builder;

impl Builder<'_> {
    /// Adds `args` to those collected; the later of equal keys counts.
    pub(super) fn take_args(&mut self, args: Args<'_>) {
        self.take_args_except(&[], args);
    }

    /// Like [`Self::take_args`], but without what has a key among `left_out`; that something with such a key was cut stays.
    pub(super) fn take_args_except(&mut self, left_out: &[StrId], args: Args<'_>) {
        for (key, value) in args {
            let key = self.look_up(key).text;
            if left_out.contains(&key) && !matches!(value, ArgView::Cut { .. }) {
                continue;
            }
            let (key, value) = self.value(key, value);
            put(&mut self.args, key, value);
        }
    }

    fn value(&mut self, key: StrId, value: ArgView<'_>) -> (StrId, ArgValue) {
        let strings = &mut self.trace.strings;
        let value = match value {
            ArgView::I64(value) => ArgValue::I64(value),
            ArgView::U64(value) => i64::try_from(value).map_or(ArgValue::U64(value), ArgValue::I64),
            ArgView::F64(value) => ArgValue::F64(value),
            ArgView::Bool(value) => ArgValue::Bool(value),
            ArgView::Name(name) => ArgValue::Text(self.look_up(name).text),
            ArgView::Text(text) => ArgValue::Text(strings.intern(&text)),
            ArgView::Json(text) => ArgValue::Json(strings.intern(&text)),
            ArgView::I64s(list) => {
                let list: Vec<String> = list.map(|number| number.to_string()).collect();
                ArgValue::Json(strings.intern(&format!("[{}]", list.join(", "))))
            }
            ArgView::Bytes(bytes) => {
                self.trace.blobs.push(bytes.into());
                ArgValue::Blob((self.trace.blobs.len() - 1) as u32)
            }
            ArgView::Cut { true_len } => {
                let of = if key.is_empty() { "arguments left out" } else { strings.text(key) };
                let key = if key.is_empty() { of.to_owned() } else { format!("{of} (true length)") };
                return (strings.intern(&key), ArgValue::I64(i64::try_from(true_len).unwrap_or(i64::MAX)));
            }
        };
        (key, value)
    }
}

/// Adds an argument; the later of equal keys counts.
pub(super) fn put(args: &mut Vec<(StrId, ArgValue)>, key: StrId, value: ArgValue) {
    // No event has more; looking for equal keys among thousands is what a hostile file would want.
    let looked_at = args.len().min(MOST_ARGS);
    match args[..looked_at].iter_mut().find(|(known, _)| *known == key) {
        Some(known) => known.1 = value,
        None => args.push((key, value)),
    }
}

/// Arguments of one event among which equal keys are looked for.
const MOST_ARGS: usize = 64;

/// Puts the arguments of one event into `column`.
pub(super) fn file_args(args: &[(StrId, ArgValue)], column: &mut ArgColumn) {
    for (key, value) in args {
        column.push(*key, *value);
    }
}
