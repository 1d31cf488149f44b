//! How much of an uneven all-to-all goes to and comes from each rank.
//!
//! Profilers record the lists as text, and cut long ones. A list that is cut, or holds what cannot be a number of elements, is as if it were
//! not recorded: a place in it would say nothing about whose it is.

/// Elements to and from each rank of a group, in the group's order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Splits {
    /// To each rank; empty where it is not recorded.
    pub sent: Box<[u32]>,
    /// From each rank; empty where it is not recorded.
    pub received: Box<[u32]>,
}

impl Splits {
    /// Those of two lists; none where both are empty.
    pub fn new(sent: Vec<u32>, received: Vec<u32>) -> Option<Self> {
        let is_any = !sent.is_empty() || !received.is_empty();
        is_any.then(|| Self { sent: sent.into(), received: received.into() })
    }

    /// Those of the texts of two lists, `[16, 0, 48]`.
    pub(crate) fn of(sent: &str, received: &str) -> Option<Self> {
        Self::new(list(sent).unwrap_or_default(), list(received).unwrap_or_default())
    }
}

/// The numbers in the text of a list; none if it is no whole one.
fn list(text: &str) -> Option<Vec<u32>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    if inner.is_empty() {
        return None;
    }
    inner.split(',').map(|number| number.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_whole_or_not_at_all() {
        let splits = Splits::of("[16, 0, 48]", "[1,2,3]").expect("both are there");
        assert_eq!((&*splits.sent, &*splits.received), (&[16, 0, 48][..], &[1, 2, 3][..]));
        assert_eq!(Splits::of("[]", ""), None);
        for cut in ["[1, 2, ..., 9]", "[1, 2", "1, 2", "[1, -2]", "[1, 99999999999]", "[1,, 2]"] {
            assert_eq!(Splits::of(cut, "[]"), None, "{cut}");
            assert!(Splits::of(cut, "[5]").is_some_and(|splits| splits.sent.is_empty()), "{cut}");
        }
    }
}
