//! All settings as one JSON document. Keys are only added. A secret shows that it is set, and nothing of itself.

use serde_json::{Value as Json, json};

use crate::layers::Settings;
use crate::setting::{Kind, Setting};
use crate::value::Value;

/// One entry a setting, in the order of the table: its key, its value in the unit of that key, and where it comes from.
pub fn document(settings: &Settings) -> Vec<Json> {
    settings
        .iter()
        .map(|(setting, resolved)| {
            json!({
                "key": setting.name,
                "section": setting.section,
                "value": resolved.value.as_ref().map(|value| plain(setting, value)),
                "unit": unit(setting),
                "origin": resolved.origin.to_string(),
                "default": setting.default,
                "variable": setting.variable(),
                "aliases": setting.variables.iter().chain(setting.borrowed).collect::<Vec<_>>(),
                "doc": setting.doc,
            })
        })
        .collect()
}

/// The value in the unit of its key.
fn plain(setting: &Setting, value: &Value) -> Json {
    match value {
        Value::Switch(on) => json!(on),
        Value::Integer(number) => json!(number),
        Value::Duration(_) => serde_json::from_str(&setting.written(value)).unwrap_or(Json::Null),
        Value::List(words) => json!(words),
        Value::Edges(edges) => json!(edges),
        Value::Text(_) | Value::Choice(_) | Value::Secret(_) => json!(value.to_string()),
    }
}

fn unit(setting: &Setting) -> Option<&'static str> {
    match setting.kind {
        Kind::Duration { unit, .. } => Some(unit.symbol()),
        Kind::Integer { unit, .. } if !unit.is_empty() => Some(unit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SETTINGS, Sources, resolve};

    #[test]
    fn every_setting_is_there_and_a_secret_stays_one() {
        let flags = [("key".to_owned(), "hush".to_owned()), ("probe-window-s".to_owned(), "2.5".to_owned())];
        let entries = document(&resolve(&Sources { file: None, environment: &[], flags: &flags }));
        assert_eq!(entries.len(), SETTINGS.len());
        let of = |key: &str| entries.iter().find(|entry| entry["key"] == key).unwrap();
        assert_eq!((&of("probe-window-s")["value"], &of("probe-window-s")["unit"]), (&json!(2.5), &json!("s")));
        assert!(of("key")["value"].is_string() && !of("key").to_string().contains("hush"), "{}", of("key"));
    }
}
