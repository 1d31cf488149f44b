//! A gate as JUnit's XML, which every CI shows: a suite for each test, a case for each metric.
//!
//! What is undecided is a skipped case, as nothing failed and nothing was shown either; where the policy lets it pass, it passes.

use std::collections::BTreeMap;

use minijinja::{Environment, context};
use rankscope_document::{CompareDocument, GateResult, OnInconclusive};

use super::gate;
use crate::Error;
use crate::text::clean;

/// The gate of `document` as one XML document; empty suites where it has none.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn junit(document: &CompareDocument) -> Result<String, Error> {
    let none = GateResult::default();
    let gate = document.gate.as_ref().unwrap_or(&none);
    let mut suites: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (outcome, check) in gate::checks(gate) {
        let passes = outcome == "undecided" && gate.on_inconclusive == OnInconclusive::Pass;
        suites.entry(&check.test).or_default().push(context! {
            name => legal(&check.metric),
            outcome => if passes { "held" } else { outcome },
            verdict => check.verdict.to_string(),
            reason => legal(&check.reason),
        });
    }
    let suites = suites.into_iter().map(|(test, cases)| {
        let count = |wanted: &str| {
            cases.iter().filter(|case| case.get_attr("outcome").is_ok_and(|outcome| outcome.as_str() == Some(wanted))).count()
        };
        let (failures, skipped) = (count("failed"), count("undecided"));
        let name = format!("{} beside {}", clean(test), clean(&document.first.base));
        context! { name => legal(&name), tests => cases.len(), failures, skipped, cases }
    });
    let suites: Vec<_> = suites.collect();
    let mut environment = Environment::new();
    environment.add_template(NAME, TEMPLATE)?;
    let text = environment.get_template(NAME)?.render(context! {
        tests => gate::checks(gate).count(),
        failures => gate.failed.len(),
        suites,
    })?;
    // The engine takes the last line break away.
    Ok(text + "\n")
}

/// Ends in `.xml` so that the engine escapes what it inserts.
const NAME: &str = "junit.xml";

const TEMPLATE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="rankscope gate" tests="{{ tests }}" failures="{{ failures }}" errors="0" time="0">
{%- for suite in suites %}
  <testsuite name="{{ suite.name }}" tests="{{ suite.tests }}" failures="{{ suite.failures }}" errors="0" skipped="{{ suite.skipped }}" time="0">
  {%- for case in suite.cases %}
    <testcase classname="{{ suite.name }}" name="{{ case.name }}" time="0">
    {%- if case.outcome == "failed" %}
      <failure message="{{ case.reason }}" type="{{ case.verdict }}">{{ case.reason }}</failure>
    {%- elif case.outcome == "undecided" %}
      <skipped message="{{ case.reason }}"/>
    {%- endif %}
      <system-out>{{ case.verdict }}: {{ case.reason }}</system-out>
    </testcase>
  {%- endfor %}
  </testsuite>
{%- endfor %}
</testsuites>
"#;

/// The text without what XML cannot hold, escaped or not.
fn legal(text: &str) -> String {
    clean(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use rankscope_document::{ChangeVerdict, GateCheck};

    use super::*;

    fn check(metric: &str, test: &str) -> GateCheck {
        let (metric, test) = (metric.to_owned(), test.to_owned());
        GateCheck { metric, test, verdict: ChangeVerdict::Regressed, reason: "a < b & \"c\" ]]>".to_owned(), figures: None }
    }

    fn written(on_inconclusive: OnInconclusive) -> String {
        let gate = GateResult {
            failed: vec![check("<step>\u{1b}\u{ffff}", "a&b")],
            undecided: vec![check("comm", "a&b")],
            held: vec![check("held", "other")],
            on_inconclusive,
            ..GateResult::default()
        };
        junit(&CompareDocument { gate: Some(gate), ..CompareDocument::default() }).unwrap()
    }

    #[test]
    fn names_are_escaped_and_what_xml_cannot_hold_is_replaced() {
        let text = written(OnInconclusive::Warn);
        assert!(text.contains("name=\"&lt;step&gt;\u{fffd}\u{fffd}\"") && text.contains("a&amp;b beside"), "{text}");
        assert!(text.contains("message=\"a &lt; b &amp; &quot;c&quot; ]]&gt;\""), "{text}");
    }

    #[test]
    fn each_test_is_a_suite_and_what_is_undecided_is_skipped_unless_it_passes() {
        let text = written(OnInconclusive::Warn);
        assert_eq!((text.matches("<testsuite ").count(), text.matches("<testcase ").count()), (2, 3));
        assert_eq!((text.matches("<failure ").count(), text.matches("<skipped ").count()), (1, 1), "{text}");
        assert!(text.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{text}");
        assert_eq!(written(OnInconclusive::Pass).matches("<skipped ").count(), 0);
    }
}
