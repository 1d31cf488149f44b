//! Reading the documents to plan: lengths, and where they lie if the file says so.
//!
//! A file is a list of lengths, a list of such lists (one per rank), an object that has either under one of [`KEYS`], an object
//! with `cases` of such objects, or text with a length on each line. A document is its length or an object with `len`.
//!
//! Attention kernels take cumulative lengths, from 0 up to the end of each document. Under `cu_seqlens` they are read as such.
//! A list without a name that begins with 0 and only grows is refused, as it would be another batch if read as lengths.

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::plan;

/// The documents of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    /// Lengths; one list per rank when the file says which rank holds what.
    pub lengths: Lengths,
    /// What the file says about ranks, if anything.
    pub tokens_per_rank: Option<u64>,
    /// Ranks.
    pub world_size: Option<u32>,
}

/// Lengths of documents in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// In one list.
    InOrder(Vec<u32>),
    /// A list per rank.
    PerRank(Vec<Vec<u32>>),
}

impl Lengths {
    fn lists(&self) -> &[Vec<u32>] {
        match self {
            Self::InOrder(list) => std::slice::from_ref(list),
            Self::PerRank(lists) => lists,
        }
    }

    /// Fails where every list looks like cumulative lengths.
    fn ensure_not_cumulative(&self) -> anyhow::Result<()> {
        let cumulative = |list: &Vec<u32>| list.len() > 1 && list[0] == 0 && list.is_sorted_by(|a, b| a < b);
        let looks_so = !self.lists().is_empty() && self.lists().iter().all(cumulative);
        ensure!(
            !looks_so,
            "starts with 0 and only grows, as cumulative lengths do: if that is what they are, give {{\"{CUMULATIVE}\": [...]}}, and \
             if they are the lengths of documents, {{\"lengths\": [...]}}"
        );
        Ok(())
    }

    /// The lengths of which these are the sums, each list from 0.
    fn of_cumulative(&self) -> anyhow::Result<Self> {
        let list = |list: &Vec<u32>| -> anyhow::Result<Vec<u32>> {
            ensure!(list.first().is_none_or(|first| *first == 0), "{CUMULATIVE}: begins with {}, and must with 0", list[0]);
            let length = |(place, pair): (usize, &[u32])| {
                let length = pair[1].checked_sub(pair[0]);
                length.with_context(|| format!("{CUMULATIVE}: {} after {}, at place {}", pair[1], pair[0], place + 1))
            };
            list.windows(2).enumerate().map(length).collect()
        };
        let mut lists = self.lists().iter().map(list).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(match self {
            Self::InOrder(_) => Self::InOrder(lists.pop().unwrap_or_default()),
            Self::PerRank(_) => Self::PerRank(lists),
        })
    }
}

/// Names under which an object may hold its documents.
const KEYS: [&str; 6] = ["doc_lens", "documents", "lengths", "batches", "seq_lens", CUMULATIVE];
/// The one of them under which lengths are cumulative.
const CUMULATIVE: &str = "cu_seqlens";

/// Reads the bytes of a file; `case` chooses one of several by number or name.
pub fn read(bytes: Vec<u8>, case: Option<&str>) -> anyhow::Result<Documents> {
    let text = String::from_utf8(bytes).context("not text (not UTF-8)")?;
    // Editors of some systems begin a text with a mark.
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().starts_with(['[', '{']) {
        true => serde_json::from_str(text).map_err(anyhow::Error::from).and_then(|value| of_json(&value, case)),
        false => of_lines(text),
    }
}

fn of_lines(text: &str) -> anyhow::Result<Documents> {
    let mut lengths = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if !line.is_empty() && !line.starts_with('#') {
            lengths.push(line.parse().with_context(|| format!("line {number}: `{line}` is not a length"))?);
        }
    }
    ensure!(!lengths.is_empty(), "no document: expected a list of lengths, or a length on each line");
    let lengths = Lengths::InOrder(lengths);
    lengths.ensure_not_cumulative()?;
    Ok(Documents { lengths, tokens_per_rank: None, world_size: None })
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
        let lengths = lengths(value, "the list")?;
        lengths.ensure_not_cumulative()?;
        return Ok(Documents { lengths, tokens_per_rank: None, world_size: None });
    };
    ensure!(
        object.get("kind").is_none_or(|kind| kind != plan::KIND),
        "this is a plan already; `rankscope dispatch check` and `predict` take it, `plan` takes lengths of documents"
    );
    let Some(key) = KEYS.into_iter().find(|key| object.contains_key(*key)) else {
        bail!("no documents: expected a list of lengths, or an object with one of {}", KEYS.join(", "));
    };
    let number = |key: &str| match object.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => value.as_u64().map(Some).with_context(|| format!("{key}: {value} is not a number of tokens or ranks")),
    };
    let lengths = lengths(&object[key], key)?;
    Ok(Documents {
        lengths: if key == CUMULATIVE { lengths.of_cumulative()? } else { lengths },
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
    fn cumulative_lengths_are_read_by_their_name_and_refused_without() {
        let read = |value: Value| of_json(&value, None).map(|documents| documents.lengths);
        assert_eq!(read(json!({"cu_seqlens": [0, 5, 5, 12]})).unwrap(), Lengths::InOrder(vec![5, 0, 7]));
        assert_eq!(read(json!({"cu_seqlens": [[0, 5], [0]]})).unwrap(), Lengths::PerRank(vec![vec![5], vec![]]));
        assert_eq!(read(json!({"lengths": [0, 5, 12]})).unwrap(), Lengths::InOrder(vec![0, 5, 12]));
        for lengths in [json!([0]), json!([0, 5, 3]), json!([0, 5, 5]), json!([[0, 5], []])] {
            assert!(read(lengths.clone()).is_ok(), "{lengths}");
        }
        let error = |value: Value| format!("{:#}", read(value).unwrap_err());
        for cumulative in [json!([0, 1000, 1500]), json!([[0, 5], [0, 7, 9]])] {
            assert!(error(cumulative).contains(r#"give {"cu_seqlens": [...]}"#));
        }
        assert!(format!("{:#}", of_lines("0\n1000\n1500\n").unwrap_err()).contains("cu_seqlens"));
        assert!(error(json!({"cu_seqlens": [5, 7]})).contains("begins with 5"));
        assert!(error(json!({"cu_seqlens": [0, 7, 5]})).contains("5 after 7, at place 2"));
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
        assert!(error(json!({"kind": plan::KIND, "documents": [[[0, 0, 5]]]})).contains("a plan already"));
        assert!(format!("{:#}", of_lines("5\nseven\n").unwrap_err()).contains("line 2: `seven` is not a length"));
    }
}
