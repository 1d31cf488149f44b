//! Reading the documents to plan: lengths, and where they lie if the file says so.
//!
//! A file is a list of lengths, a list of such lists (one per rank), an object that has either under one of `KEYS`, an object
//! with `cases` of such objects, or text with a length on each line. A document is its length or an object with `len`.
//!
//! Attention kernels take cumulative lengths, from 0 up to the end of each document. Under `cu_seqlens` they are read as such.
//! A list without a name that begins with 0 and only grows is refused, as it would be another batch if read as lengths.

use std::fmt;
use std::num::{ParseIntError, TryFromIntError};
use std::string::FromUtf8Error;

use serde_json::Value;
use thiserror::Error;

use crate::{MOST_BYTES, plan};

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
    /// In one list, rank by rank.
    #[must_use]
    pub fn in_order(&self) -> Vec<u32> {
        self.lists().concat()
    }

    fn lists(&self) -> &[Vec<u32>] {
        match self {
            Self::InOrder(list) => std::slice::from_ref(list),
            Self::PerRank(lists) => lists,
        }
    }

    /// Fails where every list looks like cumulative lengths.
    fn ensure_not_cumulative(&self) -> Result<(), DocumentsError> {
        let cumulative = |list: &Vec<u32>| list.len() > 1 && list[0] == 0 && list.is_sorted_by(|a, b| a < b);
        match !self.lists().is_empty() && self.lists().iter().all(cumulative) {
            true => Err(DocumentsError::LooksCumulative),
            false => Ok(()),
        }
    }

    /// The lengths of which these are the sums, each list from 0.
    fn of_cumulative(&self) -> Result<Self, DocumentsError> {
        let list = |list: &Vec<u32>| -> Result<Vec<u32>, DocumentsError> {
            if let Some(&first) = list.first().filter(|first| **first != 0) {
                return Err(DocumentsError::CumulativeStart { first });
            }
            let length = |(place, pair): (usize, &[u32])| {
                let falls = DocumentsError::CumulativeFalls { before: pair[0], after: pair[1], place: place + 1 };
                pair[1].checked_sub(pair[0]).ok_or(falls)
            };
            list.windows(2).enumerate().map(length).collect()
        };
        let mut lists = self.lists().iter().map(list).collect::<Result<Vec<_>, _>>()?;
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

/// Where an entry is: in the list under a name, or in the list of one rank there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name, or what stands for one.
    key: &'static str,
    rank: Option<usize>,
    index: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)?;
        [self.rank, self.index].iter().flatten().try_for_each(|at| write!(f, "[{at}]"))
    }
}

/// Why bytes are no documents. The fault is the file's, and each message says where.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DocumentsError {
    /// Longer than any list of documents.
    #[error("{bytes} bytes; files of documents have at most {MOST_BYTES}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Bytes that are no text; the source has the first of them.
    #[error("not text (not UTF-8): {0}")]
    NotText(#[source] FromUtf8Error),
    /// It begins like JSON and is none; the source has the line and the column.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A line that is no length.
    #[error("line {line}: `{text}` is not a length: {source}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What it says.
        text: String,
        /// Why it is no length.
        source: ParseIntError,
    },
    /// Nothing but blank lines and remarks.
    #[error("no document: expected a list of lengths, or a length on each line")]
    Empty,
    /// A list without a name that would be another batch if it were cumulative.
    #[error(
        "starts with 0 and only grows, as cumulative lengths do: if that is what they are, give {{\"{CUMULATIVE}\": [...]}}, and \
         if they are the lengths of documents, {{\"lengths\": [...]}}"
    )]
    LooksCumulative,
    /// Cumulative lengths that do not begin with zero.
    #[error("{CUMULATIVE}: begins with {first}, and must with 0")]
    CumulativeStart {
        /// What they begin with.
        first: u32,
    },
    /// Cumulative lengths that fall.
    #[error("{CUMULATIVE}: {after} after {before}, at place {place}")]
    CumulativeFalls {
        /// The entry before.
        before: u32,
        /// The one that is less.
        after: u32,
        /// Its place, from 0.
        place: usize,
    },
    /// A case was asked for in a file without cases.
    #[error("there are no `cases` to choose {wanted} from")]
    NoCases {
        /// Which.
        wanted: String,
    },
    /// `cases` is something else.
    #[error("cases: not a list")]
    CasesAreNoList,
    /// Several cases, and none was asked for.
    #[error("{count} cases: one must be chosen by its number or name")]
    ManyCases {
        /// How many.
        count: usize,
    },
    /// A case that is not there.
    #[error("no case {wanted}; there are: {}", names.join("; "))]
    NoSuchCase {
        /// The one that was asked for.
        wanted: String,
        /// Those that are there.
        names: Vec<String>,
    },
    /// A plan in the place of documents.
    #[error("this is a plan already; `rankscope dispatch check` and `predict` take it, `plan` takes lengths of documents")]
    IsAPlan,
    /// An object with none of the names.
    #[error("no documents: expected a list of lengths, or an object with one of {}", KEYS.join(", "))]
    NoKey,
    /// A number of tokens or ranks that is none.
    #[error("{key}: {value} is not a number of tokens or ranks")]
    Number {
        /// Its name.
        key: &'static str,
        /// What is there.
        value: Value,
    },
    /// More ranks than 32 bits count.
    #[error("world_size: {0}")]
    WorldSize(#[source] TryFromIntError),
    /// Something else where a list must be.
    #[error("{place}: not a list")]
    NotAList {
        /// Where.
        place: Place,
    },
    /// Something else where a length must be.
    #[error("{place}: {value} is not a length in tokens")]
    NotALength {
        /// Where.
        place: Place,
        /// What is there.
        value: Value,
    },
    /// A document longer than positions of 32 bits reach.
    #[error("{place}: {tokens} tokens are more than {}", u32::MAX)]
    LengthTooLarge {
        /// Where.
        place: Place,
        /// How long.
        tokens: u64,
    },
}

/// Reads the bytes of a file; `case` chooses one of several by number or name.
///
/// # Errors
/// [`DocumentsError`], with the place of what cannot be read.
pub fn read(bytes: Vec<u8>, case: Option<&str>) -> Result<Documents, DocumentsError> {
    if bytes.len() > MOST_BYTES {
        return Err(DocumentsError::TooLong { bytes: bytes.len() });
    }
    let text = String::from_utf8(bytes).map_err(DocumentsError::NotText)?;
    // Editors of some systems begin a text with a mark.
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().starts_with(['[', '{']) {
        true => of_json(&serde_json::from_str(text)?, case),
        false => of_lines(text),
    }
}

fn of_lines(text: &str) -> Result<Documents, DocumentsError> {
    let mut lengths = Vec::new();
    for (text, line) in text.lines().map(str::trim).zip(1..) {
        if !text.is_empty() && !text.starts_with('#') {
            let length = text.parse();
            lengths.push(length.map_err(|source| DocumentsError::Line { line, text: text.to_owned(), source })?);
        }
    }
    if lengths.is_empty() {
        return Err(DocumentsError::Empty);
    }
    let lengths = Lengths::InOrder(lengths);
    lengths.ensure_not_cumulative()?;
    Ok(Documents { lengths, tokens_per_rank: None, world_size: None })
}

fn of_json(value: &Value, case: Option<&str>) -> Result<Documents, DocumentsError> {
    let value = match (value.get("cases"), case) {
        (Some(cases), _) => choose(cases, case)?,
        (None, Some(case)) => return Err(DocumentsError::NoCases { wanted: case.to_owned() }),
        (None, None) => value,
    };
    // The golden files keep what they were made from under `inputs`.
    let value = value.get("inputs").filter(|inputs| KEYS.iter().any(|key| inputs.get(key).is_some())).unwrap_or(value);
    let Some(object) = value.as_object() else {
        let lengths = lengths(value, "the list")?;
        lengths.ensure_not_cumulative()?;
        return Ok(Documents { lengths, tokens_per_rank: None, world_size: None });
    };
    if object.get("kind").is_some_and(|kind| kind == plan::KIND) {
        return Err(DocumentsError::IsAPlan);
    }
    let key = KEYS.into_iter().find(|key| object.contains_key(*key)).ok_or(DocumentsError::NoKey)?;
    let number = |key: &'static str| match object.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| DocumentsError::Number { key, value: value.clone() }),
    };
    let lengths = lengths(&object[key], key)?;
    Ok(Documents {
        lengths: if key == CUMULATIVE { lengths.of_cumulative()? } else { lengths },
        tokens_per_rank: number("tokens_per_rank")?,
        world_size: number("world_size")?.map(u32::try_from).transpose().map_err(DocumentsError::WorldSize)?,
    })
}

fn choose<'a>(cases: &'a Value, case: Option<&str>) -> Result<&'a Value, DocumentsError> {
    let cases = cases.as_array().ok_or(DocumentsError::CasesAreNoList)?;
    let name = |case: &Value| case.get("name").and_then(Value::as_str).map(str::to_owned);
    match case {
        None if cases.len() == 1 => Ok(&cases[0]),
        None => Err(DocumentsError::ManyCases { count: cases.len() }),
        Some(wanted) => {
            let named = cases.iter().find(|case| name(case).as_deref() == Some(wanted));
            let numbered = || wanted.parse::<usize>().ok().and_then(|index| cases.get(index));
            named.or_else(numbered).ok_or_else(|| {
                let names = cases.iter().zip(0..).map(|(case, index)| name(case).unwrap_or_else(|| format!("{index}")));
                DocumentsError::NoSuchCase { wanted: wanted.to_owned(), names: names.collect() }
            })
        }
    }
}

fn lengths(value: &Value, key: &'static str) -> Result<Lengths, DocumentsError> {
    let whole = Place { key, rank: None, index: None };
    let list = value.as_array().ok_or(DocumentsError::NotAList { place: whole })?;
    let flat = |list: &[Value], place: Place| -> Result<Vec<u32>, DocumentsError> {
        list.iter().enumerate().map(|(index, value)| length(value, Place { index: Some(index), ..place })).collect()
    };
    match !list.is_empty() && list.iter().all(Value::is_array) {
        false => Ok(Lengths::InOrder(flat(list, whole)?)),
        true => {
            let rank = |(rank, list): (usize, &Value)| {
                flat(list.as_array().map_or(&[], Vec::as_slice), Place { rank: Some(rank), ..whole })
            };
            Ok(Lengths::PerRank(list.iter().enumerate().map(rank).collect::<Result<_, _>>()?))
        }
    }
}

fn length(value: &Value, place: Place) -> Result<u32, DocumentsError> {
    let number = value.get("len").unwrap_or(value);
    let tokens = number.as_u64().ok_or_else(|| DocumentsError::NotALength { place, value: number.clone() })?;
    u32::try_from(tokens).map_err(|_| DocumentsError::LengthTooLarge { place, tokens })
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
        let error = |value: Value| read(value).unwrap_err().to_string();
        for cumulative in [json!([0, 1000, 1500]), json!([[0, 5], [0, 7, 9]])] {
            assert!(error(cumulative).contains(r#"give {"cu_seqlens": [...]}"#));
        }
        assert!(of_lines("0\n1000\n1500\n").unwrap_err().to_string().contains("cu_seqlens"));
        assert!(error(json!({"cu_seqlens": [5, 7]})).contains("begins with 5"));
        assert!(error(json!({"cu_seqlens": [0, 7, 5]})).contains("5 after 7, at place 2"));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        let error = |value: Value| of_json(&value, None).unwrap_err().to_string();
        assert_eq!(error(json!([5, -7])), "the list[1]: -7 is not a length in tokens");
        assert_eq!(error(json!({"doc_lens": [[5], [1, "x"]]})), "doc_lens[1][1]: \"x\" is not a length in tokens");
        assert_eq!(error(json!({"lengths": [1_u64 << 32]})), "lengths[0]: 4294967296 tokens are more than 4294967295");
        assert!(error(json!({"lens": []})).contains("doc_lens"));
        assert!(error(json!({"cases": [{}, {}]})).starts_with("2 cases"));
        assert!(of_lines("# nothing\n").unwrap_err().to_string().contains("no document"));
        assert!(error(json!({"kind": plan::KIND, "documents": [[[0, 0, 5]]]})).contains("a plan already"));
        assert!(of_lines("5\nseven\n").unwrap_err().to_string().contains("line 2: `seven` is not a length"));
    }
}
