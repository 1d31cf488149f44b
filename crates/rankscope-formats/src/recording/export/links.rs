//! From an operator to the one that computes its gradient, as torch ties them: by the thread and the sequence number of the
//! forward one.
//!
//! Several spans may share a number, an operator and those it calls. The forward span that starts last is meant, and the
//! backward span that ends first. Recordings that draw these arrows themselves are left alone. Memory is bounded: pairs beyond
//! [`LINKS_MAX`] get no arrow.

use rustc_hash::FxHashMap;

use crate::recording::export::names::Names;
use crate::recording::{ArgView, Args, Chunks, Cut, Recording, What, take_out};

/// What the arrows are called.
pub(super) const FWDBWD: &str = "fwdbwd";

/// Pairs that are followed at most, in about 64 MiB.
const LINKS_MAX: usize = 1 << 20;

/// A span, by its thread's number and its first tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) tid: u64,
    pub(super) tick: u64,
}

/// A forward span and the backward one that belongs to it, each with when it counts.
#[derive(Default)]
struct Pair {
    forward: Option<Spot>,
    /// With the tick of its end.
    backward: Option<(Spot, u64)>,
}

/// The keys these links are made of.
struct Keys {
    sequence: u32,
    forward_thread: u32,
}

/// What the arguments of a span say about its place in the graph.
#[derive(Clone, Copy, Default)]
struct Place {
    sequence: Option<u64>,
    /// Not zero on backward spans.
    forward_thread: u64,
}

/// All links in `cut`, by forward thread and sequence number.
pub(super) fn links<C: Chunks>(recording: &Recording<C>, cut: &Cut, names: &Names<'_>) -> Vec<(Spot, Spot)> {
    let (Some(sequence), Some(forward_thread)) = (names.find("Sequence number"), names.find("Fwd thread id")) else {
        return Vec::new();
    };
    if names.find(FWDBWD).is_some() {
        return Vec::new();
    }
    let keys = Keys { sequence, forward_thread };
    let mut pairs: FxHashMap<(u64, u64), Pair> = FxHashMap::default();
    let mut open: Vec<(u64, Place)> = Vec::new();
    for thread in recording.threads() {
        let mut events = recording.replay(thread, cut);
        while let Some((event, args)) = events.next() {
            match event.what {
                What::Begin { .. } => open.push((event.tick, keys.place(Place::default(), args, names))),
                What::End { above, .. } => {
                    let Some((tick, place)) = take_out(&mut open, above) else { continue };
                    enter(&mut pairs, Spot { tid: thread.tid, tick }, event.tick, keys.place(place, args, names));
                }
                _ => {}
            }
        }
    }
    let mut links: Vec<_> = pairs.into_iter().filter_map(|(key, pair)| Some((key, pair.forward?, pair.backward?.0))).collect();
    links.sort_unstable_by_key(|(key, ..)| *key);
    links.into_iter().map(|(_, forward, backward)| (forward, backward)).collect()
}

impl Keys {
    /// `place`, with what `args` add to it.
    fn place(&self, mut place: Place, args: Args<'_>, names: &Names<'_>) -> Place {
        for (key, value) in args.iter() {
            let number = match value {
                ArgView::I64(number) => u64::try_from(number).ok(),
                ArgView::U64(number) => Some(number),
                _ => continue,
            };
            match names.same(key) {
                same if same == self.sequence => place.sequence = number,
                same if same == self.forward_thread => place.forward_thread = number.unwrap_or(0),
                _ => {}
            }
        }
        place
    }
}

fn enter(pairs: &mut FxHashMap<(u64, u64), Pair>, spot: Spot, end_tick: u64, place: Place) {
    let Some(sequence) = place.sequence else { return };
    let is_backward = place.forward_thread != 0;
    let key = (if is_backward { place.forward_thread } else { spot.tid }, sequence);
    if pairs.len() >= LINKS_MAX && !pairs.contains_key(&key) {
        return;
    }
    let pair = pairs.entry(key).or_default();
    if is_backward {
        if pair.backward.is_none_or(|(_, first)| end_tick < first) {
            pair.backward = Some((spot, end_tick));
        }
    } else if pair.forward.is_none_or(|last| spot.tick > last.tick) {
        pair.forward = Some(spot);
    }
}
