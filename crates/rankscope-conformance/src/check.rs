//! The check of an answer to a case: every value that stands in it.
//!
//! The inputs that the answer carries are answered a second time, by the rules of the specification where there are rules, and
//! everything is compared. Where inputs are missing, metadata are held against each other.

mod arrays;
mod compare;
mod findings;
mod plan;
mod table;

use std::borrow::Cow;

use rankscope_dispatch::metadata::Metadata;
use rankscope_dispatch::properties::{Pairs, Property, Tensors, check_attention, check_mapping, check_metadata, check_pairs};
use serde_json::Value;

use self::compare::Comparison;
use crate::answered;
use crate::case::Case;
use crate::error::{At, Error, Place, Result, because};
use crate::kinds::Kind;
use crate::logical::{attention_of, metadata_of, raw_of};
use crate::way::{Revision, Source, Way};
use crate::whole::planned;

pub use self::findings::{CONSISTENCY, Checked, Findings, Found};
pub use self::plan::check as check_plan;
pub use self::table::table;

/// Metadata and their reverse, by their names in a case.
const PAIRS: [(&str, &str, Tensors); 3] =
    [("fwd", "rev", Tensors::Queries), ("fwd_q", "rev_q", Tensors::Queries), ("fwd_kv", "rev_kv", Tensors::KeysAndValues)];

/// Whether this is an answer, or a case, and not a plan.
#[must_use]
pub fn is_case(value: &Value) -> bool {
    let kind = value.get("kind").and_then(Value::as_str);
    value.is_object()
        && kind != Some(rankscope_plan_files::plan::KIND)
        && (kind.is_some() || PAIRS.iter().any(|pair| value.get(pair.0).is_some()))
}

/// Everything about the answer in `case`.
///
/// # Errors
/// Where nothing can be checked: a kind that there is not, arrays that are none, files that cannot be read. What is wrong with an
/// answer is in the findings.
pub fn check(case: &Case) -> Result<Findings> {
    let Some(name) = case.value().get("kind") else { return pairs(case, None) };
    let kind = Kind::named(name.as_str().ok_or(Error::KindIsNoText)?)?;
    if !has_answer(kind, case.value()) {
        return without_answer(case, kind);
    }
    let is_documented = case.value().as_object().is_some_and(|all| all.keys().any(|key| key.starts_with("documented")));
    let revision = if is_documented { Revision::Documented } else { Revision::Exact };
    let expected = match answered(case, Way { revision, source: Source::Rules }) {
        Ok(expected) => serde_json::to_value(&expected)?,
        Err(error) => {
            return match error.cause() {
                Error::MissingInput { name } => pairs(case, Some(name)),
                Error::WrongFile { file, at } => Ok(wrong_file(file, *at)),
                _ => contradictory("the inputs in the file", error),
            };
        }
    };
    let mut findings = compared(kind, case, &expected);
    let (raw, of) = match kind.name {
        "compute_metadata_kv" => (Some(Cow::Borrowed(case)), "the inputs"),
        _ => (case.object("raw")?.map(Cow::Owned), "raw"),
    };
    if let Some(raw) = raw {
        let named = |what: &str| if of == "raw" { format!("raw.{what}") } else { what.to_owned() };
        let found = match raw_of(&raw).and_then(|raw| Ok(check_mapping(&raw.key_value_mapping())?)) {
            Ok(found) => found.iter().map(|found| Found::of(found, named)).collect(),
            Err(error) => vec![contradiction(of, error)?],
        };
        findings.add(&format!("{of} among themselves"), None, found);
    }
    findings.against = Some(format!("what {} gives for the inputs in the file", kind.name));
    Ok(findings)
}

/// Arrays of which nothing follows, because they contradict each other; an error where they are not even arrays.
fn contradictory(of: &str, error: Error) -> Result<Findings> {
    let mut findings = Findings::default();
    findings.add(&format!("{of} among themselves"), None, vec![contradiction(of, error)?]);
    Ok(findings)
}

fn contradiction(of: &str, error: Error) -> Result<Found> {
    let Error::Plan(refused) = error.cause() else { return Err(error).at(|| Place::Named(of.to_owned())) };
    Ok(Found {
        property: CONSISTENCY,
        array: of.to_owned(),
        index: Vec::new(),
        place: String::new(),
        expected: "consistent".into(),
        found: "contradictory".into(),
        meaning: refused.to_string(),
    })
}

/// The file that an answer says it has written holds something else.
fn wrong_file(file: &str, at: usize) -> Findings {
    let found = Found {
        property: Property::Packing.as_str(),
        array: file.to_owned(),
        index: Vec::new(),
        place: format!("byte {at}"),
        expected: "as the metadata move the input".into(),
        found: "another byte".into(),
        meaning: "not what the metadata and the input make it".to_owned(),
    };
    let mut findings = Findings::default();
    findings.add("output", None, vec![found]);
    findings
}

/// Whether there is anything beside inputs; in a list of cases, in any of them.
fn has_answer(kind: &Kind, case: &Value) -> bool {
    let cases = case.get("cases").and_then(Value::as_array).into_iter().flatten();
    let mut entries = case.as_object().into_iter().flatten();
    entries.any(|(key, value)| !is_input(kind, key) && (value.is_object() || value.is_array()))
        || cases.into_iter().any(|case| has_answer(kind, case))
}

fn is_input(kind: &Kind, key: &str) -> bool {
    ["kind", "inputs"].contains(&key) || kind.has_input(key)
}

/// Every key of the answer against what it must be.
fn compared(kind: &Kind, case: &Case, expected: &Value) -> Findings {
    let mut findings = Findings::default();
    let empty = serde_json::Map::new();
    let expected = expected.as_object().unwrap_or(&empty);
    let given = case.value().as_object().unwrap_or(&empty);
    for (key, right) in expected.iter().filter(|(key, _)| !["kind", "inputs"].contains(&key.as_str())) {
        match given.get(key) {
            Some(found) => {
                let comparison = Comparison::of(key, right, found, case);
                findings.not_in_the_file.extend(comparison.absent);
                if comparison.values > 0 || !comparison.found.is_empty() {
                    findings.add(key, Some(comparison.values), comparison.found);
                }
            }
            None if right.is_array() || right.is_object() => findings.not_in_the_file.push(key.clone()),
            None => {}
        }
    }
    let beside = given.iter().filter(|(key, _)| !is_input(kind, key) && !expected.contains_key(*key));
    let inputs = given.get("inputs").and_then(Value::as_object).unwrap_or(&empty).iter();
    let inputs = inputs.filter(|(key, _)| !kind.has_input(key)).map(|(key, value)| (format!("inputs.{key}"), value));
    let unknown: Vec<Found> = beside
        .map(|(key, value)| (key.clone(), value))
        .chain(inputs)
        // Texts are notes.
        .filter(|(_, value)| !value.is_string() && !value.is_null())
        .map(|(key, value)| Found {
            property: "unknown",
            array: key,
            index: Vec::new(),
            place: String::new(),
            expected: Value::Null,
            found: value.clone(),
            meaning: format!("{} has no such input and gives no such array", kind.name),
        })
        .collect();
    if !unknown.is_empty() {
        findings.add("other entries", None, unknown);
    }
    findings
}

/// Metadata against their reverse, and the layout of attention against both.
fn pairs(case: &Case, missing: Option<&str>) -> Result<Findings> {
    let mut findings = Findings::default();
    let mut whole: Vec<(Metadata, Metadata)> = Vec::new();
    for (forward, reverse, of) in PAIRS {
        let (Some(there), Some(back)) = (case.object(forward)?, case.object(reverse)?) else { continue };
        let there = metadata_of(&there).at(|| Place::Named(forward.to_owned()))?;
        let back = metadata_of(&back).at(|| Place::Named(reverse.to_owned()))?;
        let named = |what: &str| match what.split_once('.') {
            Some(("fwd", array)) => format!("{forward}.{array}"),
            Some((_, array)) => format!("{reverse}.{array}"),
            None => what.to_owned(),
        };
        let found: Vec<Found> = check_metadata(of, &there, &back).iter().map(|violation| Found::of(violation, named)).collect();
        if found.is_empty() && forward != "fwd" {
            whole.push((there, back));
        }
        findings.add(&format!("{forward} and {reverse}"), None, found);
    }
    matrices(case, &mut findings)?;
    if findings.is_empty() {
        return Err(Error::NothingToCheck { missing: missing.map(str::to_owned) });
    }
    // The layout can only be held against metadata that hold.
    if let ([(fwd_q, rev_q), (fwd_kv, _)], Some(attention)) = (&whole[..], case.object("attn")?) {
        let attention = attention_of(&attention).at(|| Place::Named("attn".to_owned()))?;
        let found = check_attention(fwd_q, rev_q, fwd_kv, &attention);
        findings.add("attn", None, found.iter().map(|violation| Found::of(violation, str::to_owned)).collect());
    }
    findings.against = Some(format!("each other{}", because(missing)));
    Ok(findings)
}

/// Matrices of fused all-to-alls against each other.
fn matrices(case: &Case, findings: &mut Findings) -> Result<()> {
    let all = case.value().as_object().into_iter().flatten();
    for (name, _) in all.filter(|(_, value)| value.get("sender_transfer_sz").is_some()) {
        let Some(inner) = case.object(name)? else { continue };
        let matrix = |key: &str| inner.rows(key).at(|| Place::Named(name.clone()));
        let pairs = Pairs {
            sender_send_disp: matrix("sender_send_disp")?,
            sender_transfer_sz: matrix("sender_transfer_sz")?,
            sender_recv_disp: matrix("sender_recv_disp")?,
            recver_transfer_sz: matrix("recver_transfer_sz")?,
        };
        let found = check_pairs(&pairs);
        findings.add(name, None, found.iter().map(|found| Found::of(found, |what| format!("{name}.{what}"))).collect());
    }
    Ok(())
}

/// A case that nobody has answered: what it says who computes what is a plan.
fn without_answer(case: &Case, kind: &Kind) -> Result<Findings> {
    let Some(batch) = planned(case, kind.name)? else {
        return Err(Error::NoAnswer { kind: kind.name });
    };
    let mut findings = check_plan(&batch)?;
    findings.against = Some(format!("the inputs of {} alone: the file has no answer", kind.name));
    Ok(findings)
}
