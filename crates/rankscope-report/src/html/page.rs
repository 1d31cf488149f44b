//! What all pages share: the head, the masthead, what the reader should know first, and the scripts with their document.
//!
//! A page is a template that extends `web/page.html`, and what only it needs to know.

use minijinja::{Environment, Value, context};
use rankscope_document::{Note, NoteLevel};

use crate::Error;
use crate::text::clean;

/// A page about to be rendered.
pub(crate) struct Page<'a> {
    pub(crate) template: &'static str,
    pub(crate) title: &'a str,
    pub(crate) version: &'a str,
    pub(crate) facts: Vec<String>,
    pub(crate) notes: &'a [Note],
    pub(crate) scripts: &'a [&'a str],
    /// What the scripts draw, as JSON that is safe inside a script element.
    pub(crate) document: String,
    /// What was left out of it, likewise.
    pub(crate) cuts: String,
}

impl Page<'_> {
    /// The page, with `own` for the parts of its template that no other page has.
    pub(crate) fn render(self, own: Value) -> Result<String, Error> {
        let mut environment = Environment::new();
        environment.add_template("page.html", include_str!("../../web/page.html"))?;
        environment.add_template(NAME, self.template)?;
        let notes =
            |level| self.notes.iter().filter(|note| note.level == level).map(|note| clean(&note.text)).collect::<Vec<_>>();
        Ok(environment.get_template(NAME)?.render(context! {
            title => clean(self.title),
            version => self.version,
            facts => self.facts,
            findings => notes(NoteLevel::Finding),
            cautions => notes(NoteLevel::Caution),
            problems => notes(NoteLevel::Problem),
            css => Value::from_safe_string(include_str!("../../web/report.css").to_owned()),
            js => Value::from_safe_string(script(self.scripts)),
            document => Value::from_safe_string(self.document),
            cuts => Value::from_safe_string(self.cuts),
            ..own
        })?)
    }
}

/// Ends in `.html` so that the engine escapes what it inserts.
const NAME: &str = "own.html";

/// The scripts as one strict function: they share names with each other and leave none to the page.
fn script(parts: &[&str]) -> String {
    let mut script = String::from("(() => {\n\"use strict\";\n");
    for part in parts {
        script.push_str(part);
    }
    script.push_str("})();\n");
    script
}
