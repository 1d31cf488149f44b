//! The arguments of an event: walked once, and kept where the reader was asked for all of them.
//!
//! Events of a sort have the same keys in the same order, and values repeat, so both are looked up by how they stand in the text.
//! Which arguments mean something is not known here.

use rankscope_trace::{ArgColumn, ArgValue, ProblemKind, StrId, Trace};
use rustc_hash::FxHashMap;

use super::builder::Builder;
use super::event::RawEvent;
use super::number::{signed, unquoted, unsigned};
use super::scan::{Lead, Members, Mode};
use super::text::lossy;

/// Key and value of an argument, both as they stand in the text.
pub(super) type Argument<'a> = (&'a [u8], &'a [u8]);

/// What is known of the arguments of earlier events.
#[derive(Debug, Default)]
pub(super) struct Seen<'a> {
    /// The id of every value that is an object or an array.
    nested: FxHashMap<&'a [u8], StrId>,
    /// The last key of each argument, by the argument's place in its event.
    keys: Vec<(&'a [u8], StrId)>,
    /// What stood before the value of each argument of the last event of a category.
    leads: Vec<(&'a [u8], Vec<Lead<'a>>)>,
    /// Memory for the next event's arguments.
    spare: Vec<Argument<'a>>,
}

/// Of so many categories is known how their arguments look.
const CATEGORIES_MAX: usize = 24;

impl<'a> Seen<'a> {
    /// The leads of `category`, in place of those of another where there are too many.
    fn leads(&mut self, category: &'a [u8]) -> &mut Vec<Lead<'a>> {
        let known = self.leads.iter().position(|(known, _)| *known == category);
        let at = known.unwrap_or_else(|| {
            self.leads.truncate(CATEGORIES_MAX - 1);
            self.leads.push((category, Vec::new()));
            self.leads.len() - 1
        });
        &mut self.leads[at].1
    }
}

impl<'a> Builder<'a> {
    /// The arguments of `event`, key and value as they stand. An even number of stray quotes within them leaves the event's own
    /// structure whole, so they are read leniently, and so is the rest of the event, if they do not hold together.
    pub(super) fn arguments(&mut self, event: &RawEvent<'a>, offset: u64) -> Vec<Argument<'a>> {
        let mut arguments = std::mem::take(&mut self.seen.spare);
        arguments.clear();
        if event.args.first() != Some(&b'{') {
            return arguments;
        }
        let mut members = Members::of(event.args, 0, self.mode);
        if self.mode == Mode::Strict {
            let leads = self.seen.leads(event.category);
            loop {
                if leads.len() == arguments.len() {
                    leads.push(Lead::default());
                }
                let Some(argument) = members.next_led(&mut leads[arguments.len()]) else { break };
                arguments.push(argument);
            }
        } else {
            arguments.extend(members.by_ref());
        }
        if self.mode == Mode::Strict && !members.at_end() {
            self.mode = Mode::Lenient;
            self.piece.trace.provenance.problems.add(ProblemKind::UnescapedQuote, offset);
            arguments.clear();
            arguments.extend(Members::of(event.args, 0, Mode::Lenient));
        }
        arguments
    }

    /// Takes the memory of `arguments` back.
    pub(super) fn done_with(&mut self, arguments: Vec<Argument<'a>>) {
        self.seen.spare = arguments;
    }

    /// Adds `arguments` to a column as a row.
    pub(super) fn keep(&mut self, arguments: &[Argument<'a>], column: fn(&mut Trace) -> &mut ArgColumn) {
        for (at, (key, value)) in arguments.iter().enumerate() {
            let key = self.argument_key(at, key);
            let value = self.value(value);
            column(&mut self.piece.trace).push(key, value);
        }
        column(&mut self.piece.trace).end_row();
    }

    /// The id of the key of argument number `at`. Events of a sort have the same keys in the same order.
    fn argument_key(&mut self, at: usize, raw: &'a [u8]) -> StrId {
        match self.seen.keys.get(at) {
            Some((last, id)) if *last == raw => return *id,
            Some(_) => {}
            None => self.seen.keys.resize(at + 1, (b"", StrId::EMPTY)),
        }
        let controls = self.controls;
        let id = self.string(raw);
        // A key with control characters is looked up each time, as they are counted there.
        if self.controls == controls {
            self.seen.keys[at] = (raw, id);
        }
        id
    }

    fn value(&mut self, raw: &'a [u8]) -> ArgValue {
        match raw.first() {
            Some(b'"') => ArgValue::Text(self.string(unquoted(raw))),
            Some(b'{' | b'[') => ArgValue::Json(self.nested(raw)),
            _ => match raw {
                b"true" => ArgValue::Bool(true),
                b"false" => ArgValue::Bool(false),
                b"null" => ArgValue::Null,
                _ => number(raw).unwrap_or_else(|| ArgValue::Text(self.string(raw))),
            },
        }
    }

    /// The id of a nested value, which stays text: its escapes are part of it.
    fn nested(&mut self, raw: &'a [u8]) -> StrId {
        let strings = &mut self.piece.trace.strings;
        *self.seen.nested.entry(raw).or_insert_with(|| strings.intern(&lossy(raw)))
    }
}

fn number(raw: &[u8]) -> Option<ArgValue> {
    if !raw.contains(&b'.') {
        if let Some(value) = signed(raw) {
            return Some(ArgValue::I64(value));
        }
        if let Some(value) = unsigned(raw) {
            return Some(ArgValue::U64(value));
        }
    }
    let value: f64 = std::str::from_utf8(raw).ok()?.parse().ok()?;
    value.is_finite().then_some(ArgValue::F64(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use crate::{ArgsPolicy, ReadOptions};
    use rankscope_trace::{ArgValue, SpanId, Trace};

    fn said(trace: &Trace, span: u32) -> Vec<(String, Value)> {
        let text = |id| trace.strings.text(id).to_owned();
        let value = |value| match value {
            ArgValue::Null => Value::Null,
            ArgValue::Bool(value) => value.into(),
            ArgValue::I64(value) => value.into(),
            ArgValue::U64(value) => value.into(),
            ArgValue::F64(value) => value.into(),
            ArgValue::Text(id) => text(id).into(),
            ArgValue::Json(id) => serde_json::from_str(&text(id)).expect("it was JSON in the file"),
            ArgValue::Blob(_) | ArgValue::Ref(_) => panic!("no JSON has such a value"),
        };
        trace.spans.args.row(SpanId(span).0 as usize).map(|(key, of)| (text(key), value(of))).collect()
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop::sample::select(vec!["", "a", "[1]", "{\"k\": 2}", "line\nbreak", "\u{e9}"]);
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            prop::sample::select(vec![i64::MIN + 1, -7, 0, 7]).prop_map(Value::from),
            Just(Value::from(u64::MAX)),
            Just(Value::from(0.5)),
            text.prop_map(Value::from),
            Just(serde_json::json!([1])),
            Just(serde_json::json!({"k": 2})),
        ]
    }

    proptest! {
        /// Whatever events before it said, an event's arguments are those it has, in its order: keys at other places and at the same
        /// ones, values that look alike, an array and a text of the same letters.
        #[test]
        fn arguments_are_what_stands_in_the_event(
            events in prop::collection::vec(
                prop::collection::vec((prop::sample::select(vec!["", "a", "b", "tab\tkey", "Input Dims"]), any_value()), 0..5), 1..8),
        ) {
            let object = |arguments: &Vec<(&str, Value)>| {
                let members: Vec<String> = arguments.iter().map(|(key, value)| format!("{}: {value}", Value::from(*key))).collect();
                format!("{{\"ph\": \"X\", \"name\": \"op\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1, \"args\": {{{}}}}}", members.join(", "))
            };
            let text = format!("[{}]", events.iter().map(object).collect::<Vec<_>>().join(",\n"));
            let options = ReadOptions { args: ArgsPolicy::All, ..ReadOptions::default() };
            let trace = super::super::read(text.as_bytes(), &options).expect("it is a trace");
            for (span, expected) in (0..).zip(&events) {
                let expected: Vec<(String, Value)> = expected.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
                prop_assert_eq!(said(&trace, span), expected);
            }
        }
    }
}
