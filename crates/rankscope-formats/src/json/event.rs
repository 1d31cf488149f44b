//! One event of the `traceEvents` array, as slices of its text.

use std::ops::Range;

use super::scan::{Mode, skip_space, string_end, value_end};

/// The fields of an event, raw: strings and numbers as they stand (with their quotes), absent ones empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RawEvent<'a> {
    pub(super) phase: u8,
    pub(super) category: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) pid: &'a [u8],
    pub(super) tid: &'a [u8],
    pub(super) ts: &'a [u8],
    pub(super) dur: &'a [u8],
    pub(super) scope: u8,
    /// What keeps equal ids apart.
    pub(super) id_scope: &'a [u8],
    /// An id that says whether it is the process's own.
    pub(super) id2: &'a [u8],
    /// The first letter of the binding point of a flow's end; zero for none.
    pub(super) binding: u8,
    /// The flow that a span itself is part of, and whether it comes from one or leads to one.
    pub(super) bind_id: &'a [u8],
    pub(super) flow_in: bool,
    pub(super) flow_out: bool,
    pub(super) args: &'a [u8],
    /// Whether it has keys beside these.
    pub(super) has_others: bool,
    /// Raw control characters inside its nested values. Those of its own strings are counted where strings are looked up.
    pub(super) controls: u64,
}

/// Why an event could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The text ends inside it.
    CutShort,
    /// Its text is no object.
    Malformed,
}

/// Reads the event that opens at `at` and returns where it ends.
pub(super) fn parse<'a>(text: &'a [u8], at: usize, mode: Mode) -> Result<(RawEvent<'a>, usize), Broken> {
    let mut event = RawEvent::default();
    let mut at = skip_space(text, at + 1);
    if text.get(at) == Some(&b'}') {
        return Ok((event, at + 1));
    }
    loop {
        let (key, colon) = key(text, at, mode)?;
        let start = skip_space(text, colon + 1);
        text.get(start).ok_or(Broken::CutShort)?;
        let end = value_end(text, start, mode, &mut event.controls).ok_or_else(|| cut_or_malformed(text, start))?;
        event.set(Field::of_key(key), &text[start..end]);
        at = skip_space(text, end);
        match text.get(at).ok_or(Broken::CutShort)? {
            b',' => at = skip_space(text, at + 1),
            b'}' => return Ok((event, at + 1)),
            _ => return Err(Broken::Malformed),
        }
    }
}

/// The key at `at`, without its quotes, and the position of the colon after it.
fn key(text: &[u8], at: usize, mode: Mode) -> Result<(&[u8], usize), Broken> {
    match text.get(at) {
        None => return Err(Broken::CutShort),
        Some(b'"') => {}
        Some(_) => return Err(Broken::Malformed),
    }
    let (end, _) = string_end(text, at, mode).ok_or(Broken::CutShort)?;
    let colon = skip_space(text, end + 1);
    match text.get(colon) {
        None => Err(Broken::CutShort),
        Some(b':') => Ok((&text[at + 1..end], colon)),
        Some(_) => Err(Broken::Malformed),
    }
}

/// A value without an end is cut short if the text ends in it, and malformed if something else stops it.
fn cut_or_malformed(text: &[u8], start: usize) -> Broken {
    match text[start] {
        b'"' | b'{' | b'[' => Broken::CutShort,
        _ if text[start..].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')) => {
            Broken::CutShort
        }
        _ => Broken::Malformed,
    }
}

/// The keys of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Phase,
    Category,
    Name,
    Id,
    Pid,
    Tid,
    Time,
    Duration,
    Scope,
    IdScope,
    Id2,
    Binding,
    BindId,
    FlowIn,
    FlowOut,
    Args,
    Other,
}

impl Field {
    fn of_key(key: &[u8]) -> Self {
        match key {
            b"ts" => Self::Time,
            b"dur" => Self::Duration,
            b"name" => Self::Name,
            b"args" => Self::Args,
            b"cat" => Self::Category,
            b"pid" => Self::Pid,
            b"tid" => Self::Tid,
            b"ph" => Self::Phase,
            b"id" => Self::Id,
            b"s" => Self::Scope,
            b"bp" => Self::Binding,
            b"bind_id" => Self::BindId,
            b"flow_in" => Self::FlowIn,
            b"flow_out" => Self::FlowOut,
            b"scope" => Self::IdScope,
            b"id2" => Self::Id2,
            _ => Self::Other,
        }
    }
}

impl<'a> RawEvent<'a> {
    #[inline]
    pub(super) fn set(&mut self, field: Field, value: &'a [u8]) {
        let letter = || value.get(1).copied().unwrap_or(0);
        match field {
            Field::Phase => self.phase = letter(),
            Field::Category => self.category = value,
            Field::Name => self.name = value,
            Field::Id => self.id = value,
            Field::Pid => self.pid = value,
            Field::Tid => self.tid = value,
            Field::Time => self.ts = value,
            Field::Duration => self.dur = value,
            Field::Scope => self.scope = letter(),
            Field::IdScope => self.id_scope = value,
            Field::Id2 => self.id2 = value,
            Field::Binding => self.binding = letter(),
            Field::BindId => self.bind_id = value,
            Field::FlowIn => self.flow_in = value == b"true",
            Field::FlowOut => self.flow_out = value == b"true",
            Field::Args => self.args = value,
            Field::Other => self.has_others = true,
        }
    }
}

/// The fields of the whole event that opens at `at`, in its order, with where their values lie.
pub(super) fn fields(text: &[u8], at: usize) -> Option<Vec<(Field, Range<usize>)>> {
    let mut fields = Vec::new();
    let mut at = skip_space(text, at + 1);
    while text.get(at) != Some(&b'}') {
        let (key, colon) = key(text, at, Mode::Strict).ok()?;
        let start = skip_space(text, colon + 1);
        let end = value_end(text, start, Mode::Strict, &mut 0)?;
        fields.push((Field::of_key(key), start..end));
        at = skip_space(text, end);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_order() {
        let text = br#" {"args": {"ts": 1}, "dur": 2.5, "ph": "X","tid":"a" , "ts":7, "other": [1,{"ph":"B"}]} ,"#;
        let (event, end) = parse(text, 1, Mode::Strict).unwrap();
        assert_eq!(end, text.len() - 2);
        assert_eq!((event.phase, event.ts, event.dur, event.tid), (b'X', &b"7"[..], &b"2.5"[..], &b"\"a\""[..]));
        assert_eq!(event.args, br#"{"ts": 1}"#);
    }

    #[test]
    fn every_truncation_is_cut_short() {
        let text = br#"{"ph": "X", "name": "a\"b", "ts": -1.5, "args": {"a": [1, "]"]}}"#;
        for len in 1..text.len() {
            assert_eq!(parse(&text[..len], 0, Mode::Strict).unwrap_err(), Broken::CutShort, "at {len}");
        }
    }

    #[test]
    fn a_stray_quote_is_malformed_and_read_leniently() {
        let text = br#"{"name": "operator"" int", "ph": "X", "ts": 1}"#;
        assert_eq!(parse(text, 0, Mode::Strict).unwrap_err(), Broken::Malformed);
        let (event, _) = parse(text, 0, Mode::Lenient).unwrap();
        assert_eq!(event.name, br#""operator"" int""#);
        assert_eq!(event.phase, b'X');
    }
}
