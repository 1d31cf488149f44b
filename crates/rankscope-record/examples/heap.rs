//! Who holds the memory: the live heap by span, estimated from one block in 64 KiB: `cargo run --release --example heap`.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::num::NonZeroU64;

use rankscope_record::memory::RecordingAllocator;
use rankscope_record::{Session, SessionOptions, record_function};

#[global_allocator]
static ALLOCATOR: RecordingAllocator = RecordingAllocator::system();

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = Session::start(SessionOptions::default())?;
    ALLOCATOR.sample(NonZeroU64::new(64 << 10).ok_or("a mean of nothing")?);
    let table = load_table();
    let index = build_index(&table);
    let heap = ALLOCATOR.live_heap(&session.snapshot()?)?.ok_or("not sampling")?;
    ALLOCATOR.stop();
    session.stop()?;

    println!("{:.1} MB are held, estimated from {} blocks", heap.total.bytes / 1e6, heap.total.samples);
    for span in &heap.spans {
        let name = span.span.as_deref().unwrap_or("(outside of all spans)");
        println!("{:>8.1} MB in about {:>7.0} blocks from {name}", span.held.bytes / 1e6, span.held.blocks);
    }
    let truth: usize = table.iter().map(Vec::capacity).sum();
    println!("the table holds {:.1} MB, the index {:.1} MB", truth as f64 / 1e6, index.capacity() as f64 * 8.0 / 1e6);
    Ok(())
}

/// Ten thousand rows of 4 KB that stay, and as many that do not.
fn load_table() -> Vec<Vec<u8>> {
    let _span = record_function!("load table");
    (0..10_000).map(|row| vec![row as u8; 2000].repeat(2)).collect()
}

fn build_index(table: &[Vec<u8>]) -> Vec<usize> {
    let _span = record_function!("build index", rows = table.len());
    let mut index = Vec::with_capacity(1 << 20);
    index.extend(table.iter().map(|row| usize::from(row[0])));
    index
}
