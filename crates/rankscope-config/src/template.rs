//! A file to start from: every setting as a comment, at its default.

use std::fmt::Write;

use crate::value::allowed;
use crate::{Kind, SETTINGS, Setting};

/// A TOML file that says nothing and shows everything.
pub fn template() -> String {
    let mut text =
        String::from("# Settings of rankscope. A variable named below overrides this file, a flag overrides both.\n");
    for section in sections() {
        let settings = SETTINGS.iter().filter(|setting| setting.section == section);
        write!(text, "\n[{section}]\n").expect(STRING);
        settings.for_each(|setting| describe(&mut text, setting));
    }
    text
}

/// Every section of a file, in the order of the table.
pub fn sections() -> Vec<&'static str> {
    let mut sections = Vec::new();
    for setting in SETTINGS {
        if !sections.contains(&setting.section) {
            sections.push(setting.section);
        }
    }
    sections
}

fn describe(text: &mut String, setting: &Setting) {
    let value = match (setting.default, setting.kind) {
        (Some(default), Kind::Text | Kind::Choice(_)) => format!("{default:?}"),
        (Some(default), _) => default.to_owned(),
        (None, Kind::Integer { min, .. }) => min.to_string(),
        (None, _) => "\"\"".to_owned(),
    };
    let (doc, allowed, variable, name) = (setting.doc, allowed(&setting.kind), setting.variable(), setting.name);
    write!(text, "\n# {doc}\n# {allowed}; {variable}\n# {name} = {value}\n").expect(STRING);
}

const STRING: &str = "a String takes any write";
