//! The string table of a trace: each distinct name is kept once. A trace of a million spans has some hundred names.

use std::sync::Arc;

use rustc_hash::FxHashMap;

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
    ids: FxHashMap<Arc<str>, StrId>,
    texts: Vec<Arc<str>>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { ids: FxHashMap::default(), texts: Vec::new() };
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
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = StrId(u32::try_from(self.texts.len()).expect("memory ends before four billion distinct strings"));
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    /// The id of `text` if the trace holds it anywhere.
    pub fn find(&self, text: &str) -> Option<StrId> {
        self.ids.get(text).copied()
    }

    /// The text behind `id`; empty for an id of another table.
    pub fn text(&self, id: StrId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |text| text)
    }

    /// Every string with its id, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (StrId, &str)> {
        self.texts.iter().enumerate().map(|(index, text)| (StrId(index as u32), &**text))
    }

    /// How many distinct strings there are, the empty one included.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether only the empty string is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }
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
}
