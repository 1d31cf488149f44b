//! Writing: one walk over the threads, one block of events in memory.

use std::io::Write;

use super::super::export::{ThreadWritten, Written};
use super::super::{Chunks, Cut, DEVICE_STREAM, Recording, Thread};
use super::columns::{Block, Numbering};
use super::frame::{BlockKind, Blocks};
use super::tables;
use crate::Error;

/// Writes the part of `recording` that is in `cut`.
///
/// # Errors
/// What `output` fails with.
pub fn write<C: Chunks>(recording: &Recording<C>, cut: &Cut, output: &mut impl Write) -> Result<Written, Error> {
    let mut blocks = Blocks::new(output)?;
    blocks.write(BlockKind::Meta, &tables::meta(recording.meta()))?;
    blocks.write(BlockKind::Sessions, &tables::sessions(recording.sessions()))?;
    for anchors in recording.anchors().chunks(ANCHORS_A_BLOCK) {
        blocks.write(BlockKind::Anchors, &tables::anchors(anchors))?;
    }
    let mut writer = Writer {
        recording,
        blocks,
        names: Numbering::new(recording.names().len()),
        named: 1,
        events: Block::default(),
        event_blocks: 0,
        bytes: Vec::new(),
    };
    let mut threads = Vec::new();
    // Device work first: whether spans say their own numbers, readers know by a name that it uses.
    let mut kept: Vec<&Thread> = recording.threads().iter().filter(|thread| cut.has_stream(thread.stream)).collect();
    kept.sort_by_key(|thread| thread.stream != DEVICE_STREAM);
    for thread in kept {
        threads.push(writer.thread(thread, cut)?);
    }
    threads.sort_by_key(|thread| thread.stream);
    let events = threads.iter().map(|thread| thread.events).sum();
    let Writer { mut blocks, event_blocks, .. } = writer;
    blocks.write(BlockKind::Drops, &tables::drops(recording.drops(), recording.remarks(), recording.lost_chunks()))?;
    blocks.write(BlockKind::End, &tables::end(events, event_blocks))?;
    blocks.flush()?;
    Ok(Written { events, bytes: blocks.bytes, threads })
}

/// Keeps a block far below its bound.
const ANCHORS_A_BLOCK: usize = 1 << 16;

struct Writer<'a, C, W> {
    recording: &'a Recording<C>,
    blocks: Blocks<'a, W>,
    names: Numbering,
    /// The number of the first name that is not in the file yet.
    named: u32,
    events: Block,
    event_blocks: u64,
    bytes: Vec<u8>,
}

impl<C: Chunks, W: Write> Writer<'_, C, W> {
    fn thread(&mut self, thread: &Thread, cut: &Cut) -> Result<ThreadWritten, Error> {
        self.blocks.write(BlockKind::Thread, &tables::thread(thread))?;
        let mut written = ThreadWritten::of(thread);
        let mut sequence = 0;
        let mut replay = self.recording.replay(thread, cut);
        while let Some((event, args)) = replay.next() {
            written.count(&event.what);
            self.events.push(&event, args, &mut self.names);
            if self.events.is_full() {
                self.close(thread.stream, sequence)?;
                sequence += 1;
            }
        }
        if !self.events.is_empty() {
            self.close(thread.stream, sequence)?;
        }
        Ok(written)
    }

    /// Writes the block of events, and before it the names it is the first to use.
    fn close(&mut self, stream: u32, sequence: u32) -> Result<(), Error> {
        let known = self.recording.names();
        let mut fresh = self.names.from(self.named).iter().map(|id| &known[id.0 as usize]).peekable();
        while fresh.peek().is_some() {
            let mut bytes = 0;
            let mut taken = 0;
            let block = tables::names(
                self.named,
                std::iter::from_fn(|| {
                    let name = fresh.next_if(|_| bytes < NAME_BYTES_A_BLOCK)?;
                    bytes += name.text.len();
                    taken += 1;
                    Some((name.category, name.scope, &*name.text))
                }),
            );
            self.blocks.write(BlockKind::Names, &block)?;
            self.named += taken;
        }
        self.events.close(stream, sequence, &mut self.bytes);
        self.event_blocks += 1;
        self.blocks.write(BlockKind::Events, &self.bytes)
    }
}

/// Keeps a block far below its bound: no name is longer than a chunk.
const NAME_BYTES_A_BLOCK: usize = 1 << 20;
