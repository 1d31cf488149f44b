//! One trace event before it is text: what every dialect has in common.

use std::borrow::Cow;

/// An event with true stamps replaced by shown ones, waiting for a dialect.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) phase: char,
    pub(crate) category: Option<&'static str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) pid: Id,
    pub(crate) tid: Id,
    /// Nanoseconds since the Unix epoch, as the rank's clock shows them.
    pub(crate) at_ns: i64,
    pub(crate) duration_ns: Option<i64>,
    pub(crate) flow: Option<u64>,
    /// Phase-specific keys: `bp` of a flow's end, `s` of an instant.
    pub(crate) extra: Option<(&'static str, &'static str)>,
    pub(crate) args: Vec<(&'static str, Value<'a>)>,
}

/// A process or thread: a number, except for Kineto's own rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Id {
    Number(u32),
    /// A number too, but `"stream 7"` in old files.
    Stream(u32),
    Text(&'static str),
}

/// An argument.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    Number(u64),
    Null,
    Text(Cow<'a, str>),
    /// JSON as it stands.
    Raw(&'static str),
}

impl<'a> Event<'a> {
    /// A span without arguments.
    pub(crate) fn span(category: &'static str, name: impl Into<Cow<'a, str>>, at_ns: i64, duration_ns: i64) -> Self {
        Self { category: Some(category), duration_ns: Some(duration_ns), ..Self::plain('X', name, at_ns) }
    }

    /// An event of `phase` with nothing but a name and a time.
    pub(crate) fn plain(phase: char, name: impl Into<Cow<'a, str>>, at_ns: i64) -> Self {
        let (pid, tid) = (Id::Number(0), Id::Number(0));
        let name = name.into();
        Self { phase, category: None, name, pid, tid, at_ns, duration_ns: None, flow: None, extra: None, args: Vec::new() }
    }

    pub(crate) fn on(self, pid: Id, tid: Id) -> Self {
        Self { pid, tid, ..self }
    }

    pub(crate) fn with(self, args: Vec<(&'static str, Value<'a>)>) -> Self {
        Self { args, ..self }
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}
