//! Lengths of documents, and those that are told as sums from 0.

use super::DocumentsError;

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
    pub(super) fn ensure_not_cumulative(&self) -> Result<(), DocumentsError> {
        let cumulative = |list: &Vec<u32>| list.len() > 1 && list[0] == 0 && list.is_sorted_by(|a, b| a < b);
        match !self.lists().is_empty() && self.lists().iter().all(cumulative) {
            true => Err(DocumentsError::LooksCumulative),
            false => Ok(()),
        }
    }

    /// The lengths of which these are the sums, each list from 0.
    pub(super) fn of_cumulative(&self) -> Result<Self, DocumentsError> {
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
