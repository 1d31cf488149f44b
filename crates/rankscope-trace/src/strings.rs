//! The string table of a trace: each distinct name is kept once. A trace of a million spans has some hundred names; one made to
//! hurt has as many names as spans, so a name costs its bytes and some twenty more.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// A string of one trace's [`Strings`]. Ids of different traces must not be mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrId(pub u32);

impl StrId {
    /// The empty string, present in every table.
    pub const EMPTY: Self = Self(0);

    /// Whether this is the empty string.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// The table itself. Ids count up from zero in order of first appearance.
#[derive(Clone, Debug)]
pub struct Strings {
    /// Every string, found by its text.
    ids: HashTable<StrId>,
    /// All strings, back to back.
    pub(crate) text: String,
    /// Where each ends; it begins where the one before ends.
    pub(crate) ends: Vec<usize>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { ids: HashTable::new(), text: String::new(), ends: Vec::new() };
        strings.intern("");
        strings
    }
}

impl Strings {
    /// The id of `text`, new or known.
    ///
    /// # Panics
    /// After four billion distinct strings.
    pub fn intern(&mut self, text: &str) -> StrId {
        let hash = hash(text);
        if let Some(id) = self.ids.find(hash, |id| part(&self.text, &self.ends, *id) == text) {
            return *id;
        }
        let id = StrId(u32::try_from(self.ends.len()).expect("memory ends before four billion distinct strings"));
        self.text.push_str(text);
        self.ends.push(self.text.len());
        self.ids.insert_unique(hash, id, |id| self::hash(part(&self.text, &self.ends, *id)));
        id
    }

    /// The id of `text` if the trace holds it anywhere.
    pub fn find(&self, text: &str) -> Option<StrId> {
        self.ids.find(hash(text), |id| part(&self.text, &self.ends, *id) == text).copied()
    }

    /// The text behind `id`; empty for an id of another table.
    pub fn text(&self, id: StrId) -> &str {
        part(&self.text, &self.ends, id)
    }

    /// Every string with its id, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (StrId, &str)> {
        (0..self.ends.len() as u32).map(StrId).map(|id| (id, self.text(id)))
    }

    /// How many distinct strings there are, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether only the empty string is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }
}

fn part<'a>(text: &'a str, ends: &[usize], id: StrId) -> &'a str {
    let at = id.0 as usize;
    let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(at).map_or("", |end| &text[start..*end])
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_an_id() {
        let mut strings = Strings::default();
        let a = strings.intern("aten::mm");
        assert_eq!(strings.intern("aten::mm"), a);
        assert_eq!(strings.text(a), "aten::mm");
        assert_eq!(strings.find("aten::mm"), Some(a));
        assert_eq!(strings.find("aten::add"), None);
        assert_eq!(strings.intern(""), StrId::EMPTY);
        assert_eq!(strings.text(StrId(99)), "");
    }

    #[test]
    fn a_name_costs_little_more_than_its_bytes() {
        let mut strings = Strings::default();
        let names = 100_000;
        for name in 0..names {
            strings.intern(&format!("kernel {name}"));
        }
        assert_eq!(strings.len(), names + 1);
        assert!(strings.iter().skip(1).all(|(id, text)| text == format!("kernel {}", id.0 - 1)));
        let overhead = strings.ends.capacity() * size_of::<usize>() + strings.ids.allocation_size();
        // Vectors that have just grown are half empty.
        assert!(overhead / names < 40, "{} bytes a name", overhead / names);
    }
}
