//! The ranks of a process group in a file's head.
//!
//! Every rank's file lists the whole group, so that a job of thousands reads millions of numbers here: each is read where it stands.
//! What is no rank is passed over and never makes the rest unreadable.

use rankscope_time::Rank;

use super::scan::{Items, Mode};

/// Ranks from the text of an array, or of a string that holds one and may be cut with `...`; none if it is neither.
pub(super) fn ranks(value: &[u8]) -> Vec<Rank> {
    match value.first() {
        Some(b'[') => plain(value).unwrap_or_else(|| Items::of(value, 0, Mode::Strict).filter_map(rank).collect()),
        Some(b'"') => value.split(|byte| !byte.is_ascii_digit()).filter_map(rank).collect(),
        _ => Vec::new(),
    }
}

/// The ranks of an array of nothing but digits between commas and blanks, which is how writers have it.
fn plain(array: &[u8]) -> Option<Vec<Rank>> {
    let inner = array.strip_prefix(b"[")?.strip_suffix(b"]")?;
    // A rank of four digits, a comma and a blank.
    let mut ranks = Vec::with_capacity(inner.len() / 6 + 1);
    let mut open: Option<u32> = None;
    for byte in inner {
        match byte {
            b'0'..=b'9' => open = Some(open.unwrap_or(0).checked_mul(10)?.checked_add(u32::from(byte - b'0'))?),
            b',' | b' ' => ranks.extend(open.take().map(Rank)),
            _ => return None,
        }
    }
    ranks.extend(open.map(Rank));
    Some(ranks)
}

/// A rank from its digits, if it is nothing but those.
fn rank(digits: &[u8]) -> Option<Rank> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    let add = |rank: u32, byte: &u8| rank.checked_mul(10)?.checked_add(digit(byte)?);
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add).map(Rank) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Ranks of an array, by way of a tree of values.
    fn in_tree(items: &[Value]) -> Vec<Rank> {
        items.iter().filter_map(|item| item.as_u64().and_then(|rank| u32::try_from(rank).ok()).map(Rank)).collect()
    }

    fn item() -> impl Strategy<Value = Value> {
        let others = vec![json!(null), json!(true), json!(1.5), json!("3"), json!([4, [5]]), json!({"6": 7})];
        prop_oneof![
            8 => any::<u32>().prop_map(Value::from),
            2 => any::<i64>().prop_map(Value::from),
            1 => proptest::sample::select(others)
        ]
    }

    proptest! {
        #[test]
        fn what_is_no_rank_is_passed_over(items in proptest::collection::vec(item(), 0..20), pretty: bool) {
            let array = Value::from(items.clone());
            let text = if pretty { serde_json::to_string_pretty(&array).unwrap() } else { array.to_string() };
            prop_assert_eq!(ranks(text.as_bytes()), in_tree(&items));
        }
    }

    #[test]
    fn a_string_holds_a_list_that_may_be_cut() {
        for (text, expected) in [(r#""[0, 1, 3]""#, vec![0, 1, 3]), (r#""[7, 8, ...]""#, vec![7, 8]), (r#""""#, vec![])] {
            assert_eq!(ranks(text.as_bytes()), expected.into_iter().map(Rank).collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn other_values_hold_none() {
        for text in ["", "null", "true", "-1", "5", "1.5", r#"{"a": [1, 2]}"#] {
            assert!(ranks(text.as_bytes()).is_empty(), "{text}");
        }
    }
}
