//! Values: from text, whichever source it stood in, and back to text that reads the same.

use std::fmt;

use crate::setting::Word;
use crate::{Kind, Setting, Unit};

/// A value within its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A number.
    Integer(u64),
    /// Nanoseconds.
    Duration(u64),
    /// Text.
    Text(String),
    /// Text that is never shown.
    Secret(Secret),
    /// Words.
    List(Vec<String>),
    /// Pairs of nodes.
    Edges(Vec<(u32, u32)>),
    /// The canonical spelling of one of a few words.
    Choice(&'static str),
}

/// Text that no formatter prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("set")
    }
}

/// `text` as a value of `kind`; none if it is malformed or out of range.
pub(crate) fn parse(kind: &Kind, text: &str) -> Option<Value> {
    let text = text.trim();
    match *kind {
        Kind::Switch => switch(text).map(Value::Switch),
        Kind::Integer { min, max, .. } => text.parse().ok().filter(|value| (min..=max).contains(value)).map(Value::Integer),
        Kind::Duration { unit, min_ns, max_ns } => {
            duration(text, unit).filter(|ns| (min_ns..=max_ns).contains(ns)).map(Value::Duration)
        }
        Kind::Text => filled(text).map(|text| Value::Text(text.to_owned())),
        Kind::Secret => filled(text).map(|text| Value::Secret(Secret(text.to_owned()))),
        Kind::List => list(text).map(|words| Value::List(words.map(str::to_owned).collect())),
        Kind::Edges => list(text)?.map(edge).collect::<Option<_>>().map(Value::Edges),
        Kind::Rendezvous => rendezvous(text).map(Value::Text),
        Kind::Choice(words) => choice(words, text).map(Value::Choice),
    }
}

/// What values of `kind` look like, to stand after "it takes".
pub(crate) fn allowed(kind: &Kind) -> String {
    match *kind {
        Kind::Switch => "true or false".to_owned(),
        Kind::Integer { unit: "", min, max } => format!("a whole number from {min} to {max}"),
        Kind::Integer { unit, min, max } => format!("a whole number from {min} to {max} ({unit})"),
        Kind::Duration { unit, min_ns, max_ns } => {
            let (min, max, symbol) = (decimal(min_ns, unit.nanos()), decimal(max_ns, unit.nanos()), unit.symbol());
            format!("{min} to {max} {symbol}, as a number of {symbol} or with a unit (us, ms or s)")
        }
        Kind::Text | Kind::Secret => "non-empty text".to_owned(),
        Kind::List => "comma-separated words".to_owned(),
        Kind::Edges => "comma-separated pairs of nodes, for example 0-1,1-2".to_owned(),
        Kind::Rendezvous => "tcp://host:port, file:///path, etcd://host:port or torch://host:port".to_owned(),
        Kind::Choice(words) => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("one of {}", words.join(", "))
        }
    }
}

impl Setting {
    /// What values it takes, in words.
    pub fn allowed(&self) -> String {
        allowed(&self.kind)
    }

    /// The value as it would be written in a variable. A secret stays one.
    pub fn written(&self, value: &Value) -> String {
        match (value, self.kind) {
            (Value::Duration(ns), Kind::Duration { unit, .. }) => decimal(*ns, unit.nanos()),
            _ => value.to_string(),
        }
    }

    /// The value for people, with its unit.
    pub fn shown(&self, value: &Value) -> String {
        let written = self.written(value);
        match self.kind {
            Kind::Duration { unit, .. } => format!("{written} {}", unit.symbol()),
            Kind::Integer { unit, .. } if !unit.is_empty() => format!("{written} {unit}"),
            _ => written,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => write!(f, "{on}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Duration(ns) => write!(f, "{} us", decimal(*ns, Unit::Microseconds.nanos())),
            Self::Text(text) => f.write_str(text),
            Self::Secret(_) => f.write_str("set"),
            Self::List(words) => f.write_str(&words.join(",")),
            Self::Edges(edges) => {
                let edges: Vec<_> = edges.iter().map(|(src, dst)| format!("{src}-{dst}")).collect();
                f.write_str(&edges.join(","))
            }
            Self::Choice(word) => f.write_str(word),
        }
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Some(true),
        "0" | "false" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// A decimal number and perhaps a unit, exactly; none if it is finer than a nanosecond.
fn duration(text: &str, unit: Unit) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = (&text[..end], text[end..].trim());
    let scale = match suffix {
        "" => unit.nanos(),
        "ns" => 1,
        "us" | "µs" => Unit::Microseconds.nanos(),
        "ms" => Unit::Milliseconds.nanos(),
        "s" => Unit::Seconds.nanos(),
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let mut digit_ns = scale;
    for digit in fraction.chars() {
        if digit_ns % 10 != 0 {
            return None;
        }
        digit_ns /= 10;
        ns = ns.checked_add(u64::from(digit.to_digit(10)?) * digit_ns)?;
    }
    Some(ns)
}

/// `value / scale` with as many decimals as it takes. `scale` is a power of ten.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = scale.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').to_owned()
}

fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn list(text: &str) -> Option<impl Iterator<Item = &str>> {
    let words = || text.split(',').map(str::trim);
    words().all(|word| !word.is_empty()).then(words)
}

fn edge(text: &str) -> Option<(u32, u32)> {
    let (src, dst) = text.split_once("->").or_else(|| text.split_once('-'))?;
    let (src, dst) = (src.trim().parse().ok()?, dst.trim().parse().ok()?);
    (src != dst).then_some((src, dst))
}

/// An address without a scheme is that of rank 0's server.
fn rendezvous(text: &str) -> Option<String> {
    let Some((scheme, rest)) = text.split_once("://") else {
        if text.starts_with('/') {
            return Some(format!("file://{text}"));
        }
        return host_and_port(text).then(|| format!("tcp://{text}"));
    };
    let right = match scheme {
        "tcp" | "torch" => host_and_port(rest),
        "etcd" => rest.split(',').all(host_and_port),
        "file" | "dir" => rest.starts_with('/'),
        _ => false,
    };
    right.then(|| text.to_owned())
}

fn host_and_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
        !host.is_empty() && !bare_ipv6 && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

fn choice(words: &'static [Word], text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase().replace('_', "-");
    words.iter().find(|(word, also)| *word == text || also.contains(&text.as_str())).map(|(word, _)| *word)
}

#[cfg(test)]
mod tests;
