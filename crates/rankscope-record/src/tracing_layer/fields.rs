//! [`Fields`]: values that a span or an event brought, kept until they are written.

use std::fmt::{self, Write};
use std::ops::Range;

use tracing_core::field::{Field, Visit};

use super::callsite::Names;
use crate::{NameId, Value};

/// Values in the order they came; texts lie one behind the other in one buffer.
#[derive(Debug, Default)]
pub(super) struct Fields {
    values: Vec<(NameId, Stored)>,
    text: String,
}

#[derive(Clone, Debug)]
enum Stored {
    I64(i64),
    U64(u64),
    F64(f64),
    Bool(bool),
    Text(Range<usize>),
}

/// `tracing` allows so many fields at a call site.
const FIELDS_MAX: usize = 32;

impl Fields {
    /// No fields, to be lent where a span has none.
    pub(super) const NONE: &'static Self = &Self { values: Vec::new(), text: String::new() };

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn visitor<'a>(&'a mut self, names: &'static Names) -> Visitor<'a> {
        Visitor { fields: self, names }
    }

    pub(super) fn append(&mut self, later: &Self) {
        let offset = self.text.len();
        self.text.push_str(&later.text);
        self.values.extend(later.values.iter().map(|(key, value)| match value {
            Stored::Text(range) => (*key, Stored::Text(range.start + offset..range.end + offset)),
            other => (*key, other.clone()),
        }));
    }

    /// Lends the values from the `first` on as arguments. Beyond what a call site may have, the latest are lent.
    pub(super) fn lend<T>(&self, first: usize, to: impl FnOnce(&[(NameId, Value<'_>)]) -> T) -> T {
        let values = self.values.get(first..).unwrap_or_default();
        if values.is_empty() {
            return to(&[]);
        }
        let values = &values[values.len().saturating_sub(FIELDS_MAX)..];
        let mut args = [(NameId::default(), Value::Bool(false)); FIELDS_MAX];
        for (arg, (key, value)) in args.iter_mut().zip(values) {
            let value = match value {
                Stored::I64(value) => Value::I64(*value),
                Stored::U64(value) => Value::U64(*value),
                Stored::F64(value) => Value::F64(*value),
                Stored::Bool(value) => Value::Bool(*value),
                Stored::Text(range) => Value::Text(&self.text[range.clone()]),
            };
            *arg = (*key, value);
        }
        to(&args[..values.len()])
    }
}

/// Takes values over from `tracing`.
pub(super) struct Visitor<'a> {
    fields: &'a mut Fields,
    names: &'static Names,
}

impl Visitor<'_> {
    fn push(&mut self, field: &Field, value: Stored) {
        if let Some(key) = self.names.keys.get(field.index()) {
            self.fields.values.push((*key, value));
        }
    }

    fn push_text(&mut self, field: &Field, text: fmt::Arguments<'_>) {
        let start = self.fields.text.len();
        // A `Debug` that fails leaves what it wrote before.
        let _ = self.fields.text.write_fmt(text);
        self.push(field, Stored::Text(start..self.fields.text.len()));
    }
}

impl Visit for Visitor<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, Stored::I64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, Stored::U64(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, Stored::F64(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, Stored::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push_text(field, format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.push_text(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push_text(field, format_args!("{value:?}"));
    }
}
