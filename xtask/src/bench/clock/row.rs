//! One line of the table: figures, the goal, and whether the figures reach it.

use std::fmt::Write;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// What was measured for one promise.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    id: &'static str,
    what: String,
    #[serde(serialize_with = "as_object")]
    figures: Vec<(&'static str, Value)>,
    goal: &'static str,
    /// Absent where nothing was measured, or where the row is there to compare with.
    holds: Option<bool>,
    /// Why nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<String>,
}

impl Row {
    /// A row without figures yet.
    pub(crate) fn new(id: &'static str, what: impl Into<String>, goal: &'static str) -> Self {
        Self { id, what: what.into(), figures: Vec::new(), goal, holds: None, skipped: None }
    }

    /// With one figure more; its unit is in its name.
    pub(crate) fn figure(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.figures.push((name, value.into()));
        self
    }

    /// With a verdict.
    pub(crate) fn holds(mut self, holds: bool) -> Self {
        self.holds = Some(holds);
        self
    }

    /// Without figures, for `reason`.
    pub(crate) fn skipped(mut self, reason: impl Into<String>) -> Self {
        self.skipped = Some(reason.into());
        self
    }
}

/// Three decimals: more are noise.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// In the order in which they were measured.
fn as_object<S: Serializer>(figures: &[(&'static str, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(figures.iter().map(|(name, value)| (name, value)))
}

/// The table for people.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = "| id | what | measured | goal | holds |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let figures: Vec<String> = row.figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let measured = row.skipped.as_ref().map_or_else(|| figures.join(", "), |reason| format!("skipped: {reason}"));
        let holds = row.holds.map_or("-", |holds| if holds { "yes" } else { "**no**" });
        writeln!(text, "| {} | {} | {measured} | {} | {holds} |", row.id, row.what, row.goal)
            .expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_the_same_to_people_and_programs() {
        let measured = Row::new("G0", "something", "p50 <= 3").figure("p50", 2).figure("max", rounded(4.00049)).holds(true);
        let skipped = Row::new("G1", "something else", "none").skipped("no corpus");
        let json = serde_json::to_string(&measured).expect("a row is JSON");
        assert_eq!(json, r#"{"id":"G0","what":"something","figures":{"p50":2,"max":4.0},"goal":"p50 <= 3","holds":true}"#);
        let text = markdown(&[measured, skipped]);
        assert!(text.contains("| G0 | something | p50 2, max 4.0 | p50 <= 3 | yes |"), "{text}");
        assert!(text.ends_with("| G1 | something else | skipped: no corpus | none | - |\n"), "{text}");
    }
}
