//! The recording's names, made ready once: quoted for JSON, and numbered so that equal texts are one.
//!
//! A recording may hold one text under several numbers, as a name of two categories or as a name and a key.

use rustc_hash::FxHashMap;

use super::text;
use crate::recording::Category;
use crate::recording::{Name, NameId};

/// All names of a recording.
pub(super) struct Names<'r> {
    list: &'r [Name],
    /// Every text in quotes, end to end; texts that repeat stand there once.
    quoted: Vec<u8>,
    places: Vec<Place>,
}

/// Where a name's text is, and which one it is.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    /// The first number of this text.
    first: u32,
}

impl<'r> Names<'r> {
    /// The names in `list`, by number.
    pub(super) fn new(list: &'r [Name]) -> Self {
        let mut quoted = Vec::new();
        let mut known: FxHashMap<&str, Place> = FxHashMap::default();
        let places = (0..).zip(list).map(|(first, name)| {
            *known.entry(&name.text).or_insert_with(|| {
                let start = quoted.len();
                text::quoted(&mut quoted, &name.text);
                Place { start, end: quoted.len(), first }
            })
        });
        let places = places.collect();
        Self { list, quoted, places }
    }

    /// The text of a name; empty for a number the recording does not know.
    pub(super) fn text(&self, name: NameId) -> &'r str {
        self.list.get(name.0 as usize).map_or("", |name| &name.text)
    }

    /// The text of a name as a JSON string.
    pub(super) fn quoted(&self, name: NameId) -> &[u8] {
        self.places.get(name.0 as usize).map_or(b"\"\"", |place| &self.quoted[place.start..place.end])
    }

    /// The category of a name, by its number; zero for a name the recording does not know.
    pub(super) fn category(&self, name: NameId) -> u8 {
        self.list.get(name.0 as usize).map_or(0, |name| name.category)
    }

    /// The number that all names of this text share.
    pub(super) fn same(&self, name: NameId) -> u32 {
        self.places.get(name.0 as usize).map_or(0, |place| place.first)
    }

    /// The shared number of `text`, if the recording knows it.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.list.iter().position(|name| *name.text == *text).map(|at| at as u32)
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
}

/// The word trace files have for a category.
pub(super) fn category_name(category: u8) -> &'static str {
    Category::of(category).map_or("unknown", Category::name)
}

/// Whether events of this category are linked to others or to none: their own number means nothing to readers.
pub(super) fn needs_link(category: u8) -> bool {
    let of = Category::of(category);
    matches!(of, Some(Category::GPU_MEMCPY | Category::GPU_MEMSET | Category::KERNEL))
        || matches!(of, Some(Category::CUDA_RUNTIME | Category::CUDA_DRIVER | Category::XPU_RUNTIME | Category::XPU_DRIVER))
        || matches!(of, Some(Category::PRIVATEUSE1_RUNTIME | Category::PRIVATEUSE1_DRIVER))
}
