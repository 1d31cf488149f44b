//! Splits the spans of one track over lanes, so that the spans of each lane nest.
//!
//! A Perfetto row is a stack: an end closes whatever began last. Spans that overlap without one containing the other would come
//! out with each other's lengths, so the later one moves to the next lane. Every span lands in exactly one lane, a lane keeps
//! its spans by start (longer ones first), and a track that nests already stays on one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lanes searched for a place to nest. Beyond them a lane holds one span at a time, which keeps a hostile staircase of a
/// million overlapping spans at n log n; no profiler's track needs half as many.
const NESTING_LANES: usize = 32;

/// Orders `spans`, indexes into both columns, by start, longer ones first. Ties keep their place.
pub(super) fn sort(spans: &mut [u32], start_ns: &[i64], dur_ns: &[i64]) {
    let key = |span: &u32| (start_ns[*span as usize], Reverse(dur_ns[*span as usize]));
    if !spans.is_sorted_by_key(key) {
        spans.sort_by_key(key);
    }
}

/// Groups sorted `spans` by lane and returns how many each lane got.
pub(super) fn split(spans: &mut [u32], start_ns: &[i64], dur_ns: &[i64]) -> Vec<usize> {
    let mut open = OpenSpans::default();
    let mut lane_of: Vec<u32> = Vec::new();
    for (place, span) in spans.iter().enumerate() {
        let start = start_ns[*span as usize];
        let lane = open.place(start, start.saturating_add(dur_ns[*span as usize]));
        if lane > 0 && lane_of.is_empty() {
            lane_of.reserve(spans.len());
            lane_of.resize(place, 0);
        }
        if !lane_of.is_empty() {
            lane_of.push(lane);
        }
    }
    if lane_of.is_empty() {
        return vec![spans.len()];
    }
    group(spans, &lane_of, open.lanes as usize)
}

/// A counting sort, so that the order within a lane survives.
fn group(spans: &mut [u32], lane_of: &[u32], lanes: usize) -> Vec<usize> {
    let mut sizes = vec![0usize; lanes];
    for lane in lane_of {
        sizes[*lane as usize] += 1;
    }
    let mut next: Vec<usize> = sizes
        .iter()
        .scan(0, |sum, size| {
            let first = *sum;
            *sum += size;
            Some(first)
        })
        .collect();
    let sorted = spans.to_vec();
    for (span, lane) in sorted.into_iter().zip(lane_of) {
        spans[next[*lane as usize]] = span;
        next[*lane as usize] += 1;
    }
    sizes
}

/// The ends of the spans still open in each lane, innermost last.
#[derive(Default)]
struct OpenSpans {
    nesting: Vec<Vec<i64>>,
    /// When each further lane is free again.
    flat: BinaryHeap<Reverse<(i64, u32)>>,
    lanes: u32,
}

impl OpenSpans {
    fn place(&mut self, start: i64, end: i64) -> u32 {
        for (lane, open) in self.nesting.iter_mut().enumerate() {
            while open.last().is_some_and(|last| *last <= start) {
                open.pop();
            }
            if open.last().is_none_or(|last| end <= *last) {
                open.push(end);
                return lane as u32;
            }
        }
        let free = self.flat.peek().filter(|Reverse((free_at, _))| *free_at <= start);
        let lane = free.map_or(self.lanes, |Reverse((_, lane))| *lane);
        if free.is_some() {
            self.flat.pop();
        } else {
            self.lanes += 1;
        }
        if self.nesting.len() < NESTING_LANES {
            self.nesting.push(vec![end]);
        } else {
            self.flat.push(Reverse((end, lane)));
        }
        lane
    }
}
