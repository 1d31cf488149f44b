//! A configuration file, TOML or JSON, as a flat list of what it says.
//!
//! Both languages end up as key, text and origin, so that a value means the same in either and in a variable. The suffix of
//! the name decides, and where there is none the first character does.

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

use crate::Origin;

/// Something a file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The tables around it; none at the top level.
    pub(crate) section: Option<String>,
    /// As written.
    pub(crate) name: String,
    /// As a variable would say it.
    pub(crate) text: String,
    /// Where.
    pub(crate) origin: Origin,
}

/// What the file `name` with content `text` says, or what is wrong with it.
pub(crate) fn entries(name: &str, text: &str) -> Result<Vec<Entry>, String> {
    let json = name.ends_with(".json") || (!name.ends_with(".toml") && text.trim_start().starts_with('{'));
    if json { json_entries(name, text) } else { toml_entries(name, text) }
}

fn toml_entries(name: &str, text: &str) -> Result<Vec<Entry>, String> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| match error.span() {
        Some(span) => format!("line {}: {}", line_of(span.start), error.message()),
        None => error.message().to_owned(),
    })?;
    let mut found = Vec::new();
    walk_toml(None, table.get_ref(), &mut |section, key, at, value| {
        let origin = Origin::Line { file: name.to_owned(), line: line_of(at) };
        found.push(Entry { section, name: key.to_owned(), text: toml_text(value), origin });
    });
    Ok(found)
}

fn walk_toml(section: Option<&str>, table: &DeTable<'_>, visit: &mut impl FnMut(Option<String>, &str, usize, &DeValue<'_>)) {
    for (key, value) in table {
        match value.get_ref() {
            DeValue::Table(inner) => walk_toml(Some(&below(section, key.get_ref())), inner, visit),
            scalar => visit(section.map(str::to_owned), key.get_ref(), key.span().start, scalar),
        }
    }
}

/// The parser bounds how deep tables nest.
fn below(section: Option<&str>, key: &str) -> String {
    section.map_or_else(|| key.to_owned(), |section| format!("{section}.{key}"))
}

fn toml_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or_else(|_| number.as_str().to_owned(), |n| n.to_string())
        }
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(items) => items.iter().map(|item| toml_text(item.get_ref())).collect::<Vec<_>>().join(","),
        DeValue::Table(_) => String::new(),
    }
}

fn json_entries(name: &str, text: &str) -> Result<Vec<Entry>, String> {
    let value: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Json::Object(object) = value else {
        return Err("a configuration is an object".to_owned());
    };
    let mut found = Vec::new();
    walk_json(None, &object, &mut |section, key, value| {
        let path = below(section, key);
        let origin = Origin::Path { file: name.to_owned(), path };
        found.push(Entry { section: section.map(str::to_owned), name: key.to_owned(), text: json_text(value), origin });
    });
    Ok(found)
}

fn walk_json(section: Option<&str>, object: &serde_json::Map<String, Json>, visit: &mut impl FnMut(Option<&str>, &str, &Json)) {
    for (key, value) in object {
        match value {
            Json::Object(inner) => walk_json(Some(&below(section, key)), inner, visit),
            Json::Null => {}
            scalar => visit(section, key, scalar),
        }
    }
}

fn json_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(json_text).collect::<Vec<_>>().join(","),
        scalar => scalar.to_string(),
    }
}
