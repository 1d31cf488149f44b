//! A node that does not lead: what it says of its pages, in the place of what it said before.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rankscope_run::NodePart;

use super::packed::packed;
use super::{Store, Told, ToldPage, key};

/// What a node says at once, at most; pages that find no room come with the next word.
const TOLD_BYTES_MAX: usize = 768 << 10;

/// Words until a page goes whole again, for one who began to listen late.
const WHOLE_EVERY: u64 = 16;

pub(super) struct Teller {
    node: u32,
    store: Store,
    telling: Telling,
    /// Whether anything was said that is to be taken back.
    has_told: bool,
}

/// What was said so far.
#[derive(Default)]
pub(super) struct Telling {
    /// Words so far.
    words: u64,
    /// Of each page what it was, the last time but one that it was told. So one word may be missed.
    before: BTreeMap<u32, [Vec<u8>; 2]>,
    /// The rank that finds room first.
    first: u32,
}

impl Teller {
    pub(super) fn new(node: u32, store: Store) -> Self {
        Self { node, store, telling: Telling::default(), has_told: false }
    }

    /// Says which ranks are on this node, and what their pages are.
    pub(super) fn tell(&mut self, part: &NodePart, pages: &BTreeMap<u32, Vec<u8>>) {
        if pages.is_empty() && !self.has_told {
            return;
        }
        let told = self.telling.told(part, pages);
        let Ok(text) = serde_json::to_string(&told) else { return };
        self.has_told = !pages.is_empty();
        // What is not heard is said again, as it is then.
        let _unheard = self.store.ask(|store| store.set(&key(self.node), &text));
    }
}

impl Telling {
    /// The next word.
    pub(super) fn told(&mut self, part: &NodePart, pages: &BTreeMap<u32, Vec<u8>>) -> Told {
        self.told_as(self.words + 1, part, pages)
    }

    /// The next word, with this number.
    pub(super) fn told_as(&mut self, number: u64, part: &NodePart, pages: &BTreeMap<u32, Vec<u8>>) -> Told {
        self.words += 1;
        self.before.retain(|rank, _| pages.contains_key(rank));
        let mut told = Told { number, part: part.clone(), pages: Vec::new() };
        let mut bytes = 0;
        let in_turn = pages.range(self.first..).chain(pages.range(..self.first));
        for (rank, page) in in_turn {
            let is_whole = (self.words + u64::from(*rank)).is_multiple_of(WHOLE_EVERY);
            let before = self.before.get(rank).map(|[oldest, _]| oldest.as_slice()).filter(|_| !is_whole);
            let text = STANDARD.encode(packed(page, before));
            if bytes + text.len() > TOLD_BYTES_MAX && !told.pages.is_empty() {
                self.first = *rank;
                break;
            }
            bytes += text.len();
            told.pages.push(ToldPage { rank: *rank, page: text });
            let last = self.before.remove(rank).map_or_else(Vec::new, |[_, last]| last);
            self.before.insert(*rank, [last, page.clone()]);
        }
        told
    }
}
