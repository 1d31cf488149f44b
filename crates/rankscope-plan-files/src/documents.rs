//! Reading the documents to plan: lengths, and where they lie if the file says so.
//!
//! A file is a list of lengths, a list of such lists (one per rank), an object that has either under one of `KEYS`, an object
//! with `cases` of such objects, or text with a length on each line. A document is its length or an object with `len`.
//!
//! Attention kernels take cumulative lengths, from 0 up to the end of each document. Under `cu_seqlens` they are read as such.
//! A list without a name that begins with 0 and only grows is refused, as it would be another batch if read as lengths.

mod error;
mod lengths;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::{MOST_BYTES, plan};

pub use self::error::{DocumentsError, Place};
pub use self::lengths::Lengths;

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

/// Names under which an object may hold its documents.
const KEYS: [&str; 6] = ["doc_lens", "documents", "lengths", "batches", "seq_lens", CUMULATIVE];
/// The one of them under which lengths are cumulative.
const CUMULATIVE: &str = "cu_seqlens";

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
