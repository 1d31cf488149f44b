//! [`KeptArgs`]: arguments kept until they are written, for spans whose events come later than their values.

use std::ops::Range;

use rankscope_recording::Remark;

use crate::lane;
use crate::lane::arguments::ARGS_MAX;
use crate::value::Value;
use rankscope_recording::NameId;

/// Values in the order they came; texts lie one behind the other in one buffer.
#[derive(Clone, Debug, Default)]
pub struct KeptArgs {
    values: Vec<(NameId, Stored)>,
    text: String,
}

#[derive(Clone, Debug)]
enum Stored {
    Copied(Value<'static>),
    Text(Range<usize>),
    Json(Range<usize>),
    I64s(Box<[i64]>),
    Bytes(Box<[u8]>),
}

impl KeptArgs {
    /// Those of a list.
    pub fn of(args: &[(NameId, Value<'_>)]) -> Self {
        let mut kept = Self::default();
        args.iter().for_each(|(key, value)| kept.push(*key, *value));
        kept
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Keeps one more.
    pub(crate) fn push(&mut self, key: NameId, value: Value<'_>) {
        let stored = match value {
            Value::Text(text) => Stored::Text(self.keep(text)),
            Value::Json(json) => Stored::Json(self.keep(json)),
            Value::I64s(numbers) => Stored::I64s(numbers.into()),
            Value::Bytes(bytes) => Stored::Bytes(bytes.into()),
            Value::I64(value) => Stored::Copied(Value::I64(value)),
            Value::U64(value) => Stored::Copied(Value::U64(value)),
            Value::F64(value) => Stored::Copied(Value::F64(value)),
            Value::Bool(value) => Stored::Copied(Value::Bool(value)),
            Value::Name(value) => Stored::Copied(Value::Name(value)),
            Value::Short(value) => Stored::Copied(Value::Short(value)),
            Value::Nothing => return,
        };
        self.values.push((key, stored));
    }

    /// Keeps one more, formatted.
    #[cfg(feature = "tracing")]
    pub(crate) fn push_text(&mut self, key: NameId, text: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        let start = self.text.len();
        // A `Debug` that fails leaves what it wrote before.
        let _ = self.text.write_fmt(text);
        self.values.push((key, Stored::Text(start..self.text.len())));
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// Lends the values from the `first` on as arguments. Beyond what an event may have, the latest are lent; the others are
    /// counted.
    pub(crate) fn lend<T>(&self, first: usize, to: impl FnOnce(&[(NameId, Value<'_>)]) -> T) -> T {
        if self.values.len() <= first {
            return to(&[]);
        }
        self.lend_behind(None, first, to)
    }

    /// Lends all of them behind one more.
    pub(crate) fn lend_behind<'a, T>(
        &'a self,
        head: Option<(NameId, Value<'a>)>,
        first: usize,
        to: impl FnOnce(&[(NameId, Value<'_>)]) -> T,
    ) -> T {
        let values = self.values.get(first..).unwrap_or_default();
        let own = head.iter().len();
        let left_out = (own + values.len()).saturating_sub(ARGS_MAX);
        if left_out > 0 {
            lane::with(|lane| lane.remark(Remark::ArgumentsLeftOut, left_out as u64));
        }
        let values = &values[left_out..];
        let mut args = [(NameId::default(), Value::Nothing); ARGS_MAX];
        let lent = head.into_iter().chain(values.iter().map(|(key, value)| (*key, self.value(value))));
        args.iter_mut().zip(lent).for_each(|(arg, value)| *arg = value);
        to(&args[..own + values.len()])
    }

    fn value<'a>(&'a self, stored: &'a Stored) -> Value<'a> {
        match stored {
            Stored::Copied(value) => *value,
            Stored::Text(range) => Value::Text(&self.text[range.clone()]),
            Stored::Json(range) => Value::Json(&self.text[range.clone()]),
            Stored::I64s(numbers) => Value::I64s(numbers),
            Stored::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}
