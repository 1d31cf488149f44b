//! Reading the documents to plan: lengths, and where they lie if the file says so.
//!
//! A file is a list of lengths, a list of such lists (one per rank), an object that has either under one of [`KEYS`], an object
//! with `cases` of such objects, or text with a length on each line. A document is its length or an object with `len`.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::file;

/// The documents of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Documents {
    /// Lengths; one list per rank when the file says which rank holds what.
    pub(crate) lengths: Lengths,
    /// What the file says about ranks, if anything.
    pub(crate) tokens_per_rank: Option<u64>,
    pub(crate) world_size: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    InOrder(Vec<u32>),
    PerRank(Vec<Vec<u32>>),
}

/// Names under which an object may hold its documents.
const KEYS: [&str; 5] = ["doc_lens", "documents", "lengths", "batches", "seq_lens"];

/// Reads `path`, or the standard input for `-`; `case` chooses one of several by number or name.
pub(crate) fn read(path: &Path, case: Option<&str>) -> anyhow::Result<Documents> {
    let place = || path.display().to_string();
    let text = String::from_utf8(file::bytes(path)?).context("not text (not UTF-8)").with_context(place)?;
    // Editors of some systems begin a text with a mark.
    let text = text.trim_start_matches('\u{feff}');
    let documents = match text.trim_start().starts_with(['[', '{']) {
        true => serde_json::from_str(text).map_err(anyhow::Error::from).and_then(|value| of_json(&value, case)),
        false => of_lines(text),
    };
    documents.with_context(place)
}

fn of_lines(text: &str) -> anyhow::Result<Documents> {
    let mut lengths = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if !line.is_empty() && !line.starts_with('#') {
            lengths.push(line.parse().with_context(|| format!("line {number}: `{line}` is not a length"))?);
        }
    }
    ensure!(!lengths.is_empty(), "no document: expected a list of lengths, or a length on each line");
    Ok(Documents { lengths: Lengths::InOrder(lengths), tokens_per_rank: None, world_size: None })
}

fn of_json(value: &Value, case: Option<&str>) -> anyhow::Result<Documents> {
    let value = match (value.get("cases"), case) {
        (Some(cases), _) => choose(cases, case)?,
        (None, Some(case)) => bail!("there are no `cases` to choose {case} from"),
        (None, None) => value,
    };
    // The golden files keep what they were made from under `inputs`.
    let value = value.get("inputs").filter(|inputs| KEYS.iter().any(|key| inputs.get(key).is_some())).unwrap_or(value);
    let Some(object) = value.as_object() else {
        return Ok(Documents { lengths: lengths(value, "the list")?, tokens_per_rank: None, world_size: None });
    };
    ensure!(
        object.get("kind").is_none_or(|kind| kind != file::KIND),
        "this is a plan already; `rankscope dispatch check` and `predict` take it, `plan` takes lengths of documents"
    );
    let Some(key) = KEYS.into_iter().find(|key| object.contains_key(*key)) else {
        bail!("no documents: expected a list of lengths, or an object with one of {}", KEYS.join(", "));
    };
    let number = |key: &str| match object.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => value.as_u64().map(Some).with_context(|| format!("{key}: {value} is not a number of tokens or ranks")),
    };
    Ok(Documents {
        lengths: lengths(&object[key], key)?,
        tokens_per_rank: number("tokens_per_rank")?,
        world_size: number("world_size")?.map(u32::try_from).transpose().context("world_size")?,
    })
}

fn choose<'a>(cases: &'a Value, case: Option<&str>) -> anyhow::Result<&'a Value> {
    let cases = cases.as_array().context("cases: not a list")?;
    let name = |case: &Value| case.get("name").and_then(Value::as_str).map(str::to_owned);
    match case {
        None if cases.len() == 1 => Ok(&cases[0]),
        None => bail!("{} cases: choose one with --case NUMBER or --case NAME", cases.len()),
        Some(wanted) => {
            let named = cases.iter().find(|case| name(case).as_deref() == Some(wanted));
            let numbered = || wanted.parse::<usize>().ok().and_then(|index| cases.get(index));
            named.or_else(numbered).with_context(|| {
                let names: Vec<String> =
                    cases.iter().zip(0..).map(|(case, index)| name(case).unwrap_or_else(|| format!("{index}"))).collect();
                format!("no case {wanted}; there are: {}", names.join("; "))
            })
        }
    }
}

fn lengths(value: &Value, place: &str) -> anyhow::Result<Lengths> {
    let list = value.as_array().with_context(|| format!("{place}: not a list"))?;
    let flat = |list: &[Value], place: &str| -> anyhow::Result<Vec<u32>> {
        list.iter().enumerate().map(|(index, value)| length(value).with_context(|| format!("{place}[{index}]"))).collect()
    };
    match !list.is_empty() && list.iter().all(Value::is_array) {
        false => Ok(Lengths::InOrder(flat(list, place)?)),
        true => {
            let rank =
                |(rank, list): (usize, &Value)| flat(list.as_array().map_or(&[], Vec::as_slice), &format!("{place}[{rank}]"));
            Ok(Lengths::PerRank(list.iter().enumerate().map(rank).collect::<anyhow::Result<_>>()?))
        }
    }
}

fn length(value: &Value) -> anyhow::Result<u32> {
    let number = value.get("len").unwrap_or(value);
    let length = number.as_u64().with_context(|| format!("{number} is not a length in tokens"))?;
    u32::try_from(length).ok().with_context(|| format!("{length} tokens are more than {}", u32::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_objects_and_cases_are_read() {
        let flat = Lengths::InOrder(vec![5, 7]);
        for value in [json!([5, 7]), json!({"doc_lens": [5, {"len": 7}]}), json!({"cases": [{"name": "a", "lengths": [5, 7]}]})]
        {
            assert_eq!(of_json(&value, None).unwrap().lengths, flat, "{value}");
        }
        let batches = of_json(&json!({"batches": [[5], [], [7, 1]], "tokens_per_rank": 8, "world_size": 3}), None).unwrap();
        assert_eq!(batches.lengths, Lengths::PerRank(vec![vec![5], vec![], vec![7, 1]]));
        assert_eq!((batches.tokens_per_rank, batches.world_size), (Some(8), Some(3)));
        let cases = json!({"cases": [{"name": "a", "lengths": [1]}, {"name": "b", "lengths": [5, 7]}]});
        assert_eq!(of_json(&cases, Some("b")).unwrap().lengths, flat);
        assert_eq!(of_json(&cases, Some("1")).unwrap().lengths, flat);
        assert_eq!(of_lines("# lengths\n5\n\n 7\n").unwrap().lengths, flat);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        let error = |value: Value| format!("{:#}", of_json(&value, None).unwrap_err());
        assert_eq!(error(json!([5, -7])), "the list[1]: -7 is not a length in tokens");
        assert_eq!(error(json!({"doc_lens": [[5], [1, "x"]]})), "doc_lens[1][1]: \"x\" is not a length in tokens");
        assert_eq!(error(json!({"lengths": [1_u64 << 32]})), "lengths[0]: 4294967296 tokens are more than 4294967295");
        assert!(error(json!({"lens": []})).contains("doc_lens"));
        assert!(error(json!({"cases": [{}, {}]})).contains("--case"));
        assert!(format!("{:#}", of_lines("# nothing\n").unwrap_err()).contains("no document"));
        assert!(error(json!({"kind": file::KIND, "documents": [[[0, 0, 5]]]})).contains("a plan already"));
        assert!(format!("{:#}", of_lines("5\nseven\n").unwrap_err()).contains("line 2: `seven` is not a length"));
    }
}
