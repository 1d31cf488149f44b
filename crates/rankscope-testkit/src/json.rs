//! Events as text, in any dialect. Field values are rendered into one scratch buffer and put down in the order, and on the
//! lines, the dialect asks for.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;

use crate::dialect::{Categories, Dialect, Ids, KeyOrder, Layout, Stamps, TopLevel};
use crate::event::{Event, Id, Value};
use crate::job::BASE_NS;

/// Writes one file.
pub(crate) struct Document<'a, W> {
    out: &'a mut W,
    dialect: &'a Dialect,
    scratch: String,
    fields: Vec<(&'static str, Range<usize>)>,
    events: u64,
}

impl<'a, W: Write> Document<'a, W> {
    pub(crate) fn new(out: &'a mut W, dialect: &'a Dialect) -> Self {
        Self { out, dialect, scratch: String::new(), fields: Vec::new(), events: 0 }
    }

    pub(crate) fn open(&mut self, header: &[(&'static str, String)]) -> io::Result<()> {
        if self.dialect.top == TopLevel::BareList {
            return self.out.write_all(b"[");
        }
        self.out.write_all(b"{")?;
        for (key, json) in header {
            self.header_line(key, json)?;
            self.out.write_all(b",")?;
        }
        self.header_line("traceEvents", "[")
    }

    /// Ends the list and the file; returns the number of events.
    pub(crate) fn close(mut self, header: &[(&'static str, String)]) -> io::Result<u64> {
        self.break_line(2)?;
        self.out.write_all(b"]")?;
        if self.dialect.top == TopLevel::Object {
            for (key, json) in header {
                self.out.write_all(b",")?;
                self.header_line(key, json)?;
            }
            self.break_line(0)?;
            self.out.write_all(b"}")?;
        }
        self.break_line(0)?;
        Ok(self.events)
    }

    pub(crate) fn event(&mut self, event: &Event) -> io::Result<()> {
        self.render(event);
        if self.events > 0 {
            self.out.write_all(b",")?;
        }
        self.events += 1;
        self.break_line(2)?;
        self.out.write_all(b"{")?;
        self.put_fields(lines(event.phase))?;
        self.break_line(2)?;
        self.out.write_all(b"}")
    }

    fn header_line(&mut self, key: &str, json: &str) -> io::Result<()> {
        self.break_line(2)?;
        let space = if self.dialect.layout == Layout::Compact { "" } else { " " };
        write!(self.out, "\"{key}\":{space}{json}")
    }

    fn break_line(&mut self, indent: usize) -> io::Result<()> {
        match self.dialect.layout {
            Layout::Compact => Ok(()),
            Layout::Kineto | Layout::Indented => write!(self.out, "\n{:indent$}", ""),
        }
    }

    fn put_fields(&mut self, lines: &[&[&str]]) -> io::Result<()> {
        let reversed = self.dialect.keys == KeyOrder::Reversed;
        let mut first = true;
        for line in 0..lines.len() {
            let keys = lines[if reversed { lines.len() - 1 - line } else { line }];
            let mut starts_line = true;
            for key in 0..keys.len() {
                let key = keys[if reversed { keys.len() - 1 - key } else { key }];
                let Some(value) = self.fields.iter().find(|field| field.0 == key).map(|field| field.1.clone()) else {
                    continue;
                };
                if !first {
                    self.out.write_all(b",")?;
                }
                if starts_line || self.dialect.layout == Layout::Indented {
                    self.break_line(4)?;
                } else if self.dialect.layout == Layout::Kineto {
                    self.out.write_all(b" ")?;
                }
                (first, starts_line) = (false, false);
                let space = if self.dialect.layout == Layout::Compact { "" } else { " " };
                write!(self.out, "\"{key}\":{space}{}", &self.scratch[value])?;
            }
        }
        Ok(())
    }

    fn render(&mut self, event: &Event) {
        self.scratch.clear();
        self.fields.clear();
        let dialect = *self.dialect;
        self.field("ph", |text| escape(text, event.phase.encode_utf8(&mut [0; 4])));
        if let Some(category) = event.category {
            self.field("cat", |text| escape(text, dialect.category(category)));
        }
        self.field("name", |text| escape(text, &event.name));
        self.field("pid", |text| id(text, event.pid, &dialect));
        self.field("tid", |text| id(text, event.tid, &dialect));
        self.field("ts", |text| stamp(text, event.at_ns, dialect.stamps));
        if let Some(duration_ns) = event.duration_ns {
            self.field("dur", |text| duration(text, event.at_ns, duration_ns, dialect.stamps));
        }
        if let Some(flow) = event.flow {
            self.field("id", |text| push(text, flow));
        }
        if let Some((key, value)) = event.extra {
            self.field(key, |text| escape(text, value));
        }
        if !event.args.is_empty() {
            self.field("args", |text| args(text, &event.args, &dialect));
        }
    }

    fn field(&mut self, key: &'static str, render: impl FnOnce(&mut String)) {
        let start = self.scratch.len();
        render(&mut self.scratch);
        self.fields.push((key, start..self.scratch.len()));
    }
}

/// Which keys share a line in Kineto's layout, in order.
fn lines(phase: char) -> &'static [&'static [&'static str]] {
    match phase {
        's' | 'f' => &[&["ph", "id", "pid", "tid", "ts"], &["cat", "name", "bp"]],
        'M' => &[&["name", "ph", "ts", "pid", "tid"], &["args"]],
        'i' => &[&["name", "ph", "s"], &["pid", "tid", "ts"]],
        _ => &[&["ph", "cat", "name", "pid", "tid"], &["ts", "dur"], &["args"]],
    }
}

fn args(text: &mut String, args: &[(&'static str, Value)], dialect: &Dialect) {
    let (open, between, close) = match dialect.layout {
        Layout::Kineto => ("{\n      ", ", ", "\n    }"),
        Layout::Indented => ("{\n      ", ",\n      ", "\n    }"),
        Layout::Compact => ("{", ",", "}"),
    };
    let space = if dialect.layout == Layout::Compact { "" } else { " " };
    text.push_str(open);
    for (index, (key, value)) in args.iter().enumerate() {
        if index > 0 {
            text.push_str(between);
        }
        escape(text, dialect.argument(key));
        text.push(':');
        text.push_str(space);
        match value {
            Value::Number(number) => push(text, number),
            Value::Null => text.push_str("null"),
            Value::Text(value) => escape(text, value),
            Value::Raw(json) => text.push_str(json),
        }
    }
    text.push_str(close);
}

fn id(text: &mut String, id: Id, dialect: &Dialect) {
    match (id, dialect.ids) {
        (Id::Stream(number), _) if dialect.categories == Categories::Old => push(text, format_args!("\"stream {number}\"")),
        (Id::Number(number) | Id::Stream(number), Ids::Numbers) => push(text, number),
        (Id::Number(number) | Id::Stream(number), Ids::Strings) => push(text, format_args!("\"{number}\"")),
        (Id::Text(name), _) => escape(text, name),
    }
}

fn stamp(text: &mut String, at_ns: i64, stamps: Stamps) {
    match stamps {
        Stamps::FractionalMicros => micros(text, at_ns - BASE_NS),
        Stamps::WholeMicros => push(text, at_ns.div_euclid(1_000)),
    }
}

fn duration(text: &mut String, at_ns: i64, duration_ns: i64, stamps: Stamps) {
    match stamps {
        Stamps::FractionalMicros => micros(text, duration_ns),
        // Both ends rounded down, not the length: what nests stays nested.
        Stamps::WholeMicros => push(text, (at_ns + duration_ns).div_euclid(1_000) - at_ns.div_euclid(1_000)),
    }
}

fn micros(text: &mut String, ns: i64) {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    push(text, format_args!("{sign}{}.{:03}", ns / 1_000, ns % 1_000));
}

/// Appends `text` as a JSON string (RFC 8259, section 7).
pub(crate) fn escape(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => push(out, format_args!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn push(text: &mut String, value: impl std::fmt::Display) {
    write!(text, "{value}").expect("a string takes everything");
}
