//! [`Visitor`]: takes the fields of a span or an event over from `tracing`.

use std::fmt;

use tracing_core::field::{Field, Visit};

use super::callsite::Names;
use crate::kept_args::KeptArgs;
use crate::value::Value;

/// Puts the fields of one call site into a list.
pub(super) struct Visitor<'a> {
    pub(super) args: &'a mut KeptArgs,
    pub(super) names: &'static Names,
}

impl Visitor<'_> {
    fn push(&mut self, field: &Field, value: Value<'_>) {
        if let Some(key) = self.names.keys.get(field.index()) {
            self.args.push(*key, value);
        }
    }

    fn push_text(&mut self, field: &Field, text: fmt::Arguments<'_>) {
        if let Some(key) = self.names.keys.get(field.index()) {
            self.args.push_text(*key, text);
        }
    }
}

impl Visit for Visitor<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, Value::I64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, Value::U64(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, Value::F64(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, Value::Text(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.push_text(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push_text(field, format_args!("{value:?}"));
    }
}
