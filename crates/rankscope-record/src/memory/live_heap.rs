//! [`LiveHeap`]: what is taken and not given back, estimated from the sampled blocks, by where it was taken and by size.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use rankscope_recording::{Chunks, Cut, NameId, Recording, What, take_out};

use super::live_table::Block;
use super::sampler::weight;

/// The heap at one moment, as far as it was taken since sampling began.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct LiveHeap {
    /// Bytes between two samples, on average.
    pub mean_bytes: NonZeroU64,
    /// All of it.
    pub total: Estimate,
    /// By the innermost span that was open on the thread that took the memory, most bytes first.
    pub spans: Vec<SpanHeap>,
    /// By size of the block, smallest first.
    pub sizes: Vec<SizeClass>,
    /// Sampled blocks that found no room in the table; the estimates lack them.
    pub untracked_samples: u64,
}

/// An amount of memory. Bytes and blocks are unbiased: their relative error is about one in the root of `samples`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Estimate {
    /// Blocks that were seen.
    pub samples: u64,
    /// Bytes they stand for.
    pub bytes: f64,
    /// Blocks they stand for.
    pub blocks: f64,
}

/// What was taken in spans of one name.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SpanHeap {
    /// Name of the span; `None` outside of all spans.
    pub span: Option<String>,
    /// How much.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub held: Estimate,
}

/// Blocks of about one size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SizeClass {
    /// No block of the class is larger, and none of half this size or smaller is in it.
    pub up_to_bytes: u64,
    /// How much.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub held: Estimate,
}

/// What is held: the blocks themselves, before anybody asked where they come from.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) blocks: Vec<Block>,
    pub(super) mean_bytes: NonZeroU64,
    pub(super) untracked_samples: u64,
}

impl LiveHeap {
    /// Sums up what is held, by the spans of a recording.
    pub(super) fn of<C: Chunks>(mut held: Held, recording: &Recording<C>, cut: &Cut) -> Self {
        let names = spans_of(&mut held.blocks, recording, cut);
        let text = |name: &NameId| recording.names().get(name.0 as usize).filter(|_| name.0 != 0).map(|name| &*name.text);
        let mut total = Estimate::default();
        let (mut sites, mut sizes) = (BTreeMap::<Option<&str>, Estimate>::new(), BTreeMap::<u64, Estimate>::new());
        for (block, name) in held.blocks.iter().zip(&names) {
            let class = block.bytes.checked_next_power_of_two().unwrap_or(u64::MAX);
            for estimate in [&mut total, sites.entry(text(name)).or_default(), sizes.entry(class).or_default()] {
                estimate.add(block.bytes, held.mean_bytes);
            }
        }
        let site = |(span, held): (Option<&str>, Estimate)| SpanHeap { span: span.map(str::to_owned), held };
        let mut spans: Vec<SpanHeap> = sites.into_iter().map(site).collect();
        spans.sort_by(|a, b| b.held.bytes.total_cmp(&a.held.bytes));
        let sizes = sizes.into_iter().map(|(up_to_bytes, held)| SizeClass { up_to_bytes, held }).collect();
        Self { mean_bytes: held.mean_bytes, total, spans, sizes, untracked_samples: held.untracked_samples }
    }

    /// As JSON.
    ///
    /// # Errors
    /// If the output fails.
    #[cfg(feature = "serde")]
    pub fn write_json(&self, mut output: impl std::io::Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut output, self)?;
        output.write_all(b"\n")
    }
}

/// The innermost span that was open where and when each block was taken. Blocks are put in order of stream and time.
fn spans_of<C: Chunks>(blocks: &mut [Block], recording: &Recording<C>, cut: &Cut) -> Vec<NameId> {
    blocks.sort_unstable_by_key(|block| (block.stream, block.tick));
    let mut found = Vec::with_capacity(blocks.len());
    for of_stream in blocks.chunk_by(|a, b| a.stream == b.stream) {
        let thread = recording.threads().iter().find(|thread| thread.stream == of_stream[0].stream);
        let mut open: Vec<NameId> = Vec::new();
        let mut left = of_stream.iter();
        let mut replay = thread.map(|thread| recording.replay(thread, cut));
        while let Some((event, _)) = replay.as_mut().and_then(|replay| replay.next()) {
            let before = left.as_slice().partition_point(|block| block.tick < event.tick);
            found.extend(left.by_ref().take(before).map(|_| open.last().copied().unwrap_or_default()));
            match event.what {
                What::Begin { .. } => open.push(event.name),
                What::End { above, .. } => drop(take_out(&mut open, above)),
                _ => {}
            }
        }
        found.extend(left.map(|_| NameId::default()));
    }
    found
}

impl Estimate {
    fn add(&mut self, bytes: u64, mean_bytes: NonZeroU64) {
        let weight = weight(bytes, mean_bytes);
        self.samples += 1;
        self.bytes += weight * bytes as f64;
        self.blocks += weight;
    }
}

#[cfg(test)]
mod tests {
    use rankscope_recording::{LiveAuthor, LiveFile};

    use super::*;

    /// outer(10..100) with inner(20..40) on stream 1, nothing on stream 2.
    fn heap(blocks: &[(u64, u32, u64)]) -> LiveHeap {
        let mut author = LiveAuthor::new();
        author.thread(1, 11, "main");
        let names = ["outer", "inner"].map(|name| author.name(name, 1, 7));
        author.begin(1, 10, names[0]);
        author.begin(1, 20, names[1]);
        author.end(1, 40);
        author.end(1, 100);
        let recording = Recording::open(LiveFile::open(std::io::Cursor::new(author.finish())).unwrap()).unwrap();
        let blocks = blocks.iter().map(|(bytes, stream, tick)| Block { bytes: *bytes, stream: *stream, tick: *tick }).collect();
        let held = Held { blocks, mean_bytes: NonZeroU64::new(4096).unwrap(), untracked_samples: 2 };
        LiveHeap::of(held, &recording, &Cut::everything())
    }

    #[test]
    fn a_block_is_put_down_to_the_innermost_span() {
        let heap =
            heap(&[(1 << 20, 1, 30), (1 << 21, 1, 50), (1, 1, 5), (1, 1, 101), (1, 2, 30), (1, 0, 30), (1 << 22, 1, 20)]);
        let spans: Vec<(Option<&str>, u64)> = heap.spans.iter().map(|span| (span.span.as_deref(), span.held.samples)).collect();
        assert_eq!(spans, [(Some("inner"), 2), (Some("outer"), 1), (None, 4)]);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let heap = heap(&[(1, 1, 30), (2, 1, 30), (3, 1, 50), (4096, 2, 0), (4097, 1, 99), (1 << 30, 1, 0)]);
        let classes: Vec<(u64, u64)> = heap.sizes.iter().map(|size| (size.up_to_bytes, size.held.samples)).collect();
        assert_eq!(classes, [(1, 1), (2, 1), (4, 1), (4096, 1), (8192, 1), (1 << 30, 1)]);
        let by_span: Vec<Estimate> = heap.spans.iter().map(|span| span.held).collect();
        let by_size: Vec<Estimate> = heap.sizes.iter().map(|size| size.held).collect();
        for parts in [by_span, by_size] {
            let bytes: f64 = parts.iter().map(|held| held.bytes).sum();
            assert!((bytes - heap.total.bytes).abs() < 1e-6 * bytes);
            assert_eq!(parts.iter().map(|held| held.samples).sum::<u64>(), heap.total.samples);
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn its_json_names_totals_spans_and_sizes() {
        let mut written = Vec::new();
        heap(&[(1 << 40, 1, 30)]).write_json(&mut written).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&written).unwrap();
        let held = serde_json::json!({ "samples": 1, "bytes": (1_u64 << 40) as f64, "blocks": 1.0 });
        assert_eq!(json["total"], held);
        assert_eq!(json["spans"][0]["span"], "inner");
        assert_eq!(json["sizes"][0]["up_to_bytes"], 1_u64 << 40);
        assert_eq!(json["untracked_samples"], 2);
    }
}
