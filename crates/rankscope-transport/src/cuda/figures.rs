//! What the kernels cost on a card, beside the driver's own copy of the same bytes: the copy is what a kernel that moves bytes
//! can hope for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rankscope_dispatch::{Join, RowCopy, TensorName, TensorRows};

use super::card::{Card, Grid, Memory};
use super::error::CudaError;
use super::kernels::Kernel;
use super::rank::{count, slices};
use super::tables::{Put, Runs, Table, Tables};

/// What one kernel took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What was done.
    pub name: &'static str,
    /// Bytes that arrived.
    pub bytes: u64,
    /// How long it took, on average of many in a row.
    pub time: Duration,
}

impl Figure {
    /// Bytes in a second.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64()
    }
}

/// Measures on `card` with rows of `row_bytes`, as many as fill `bytes`, `repeats` times each. The first is the driver's copy.
///
/// # Errors
/// [`CudaError`]: three times `bytes` have to fit into the card's memory.
pub fn figures<C: Card>(card: &C, row_bytes: u64, bytes: u64, repeats: u32) -> Result<Vec<Figure>, CudaError> {
    let rows = (bytes / row_bytes.max(1)).next_multiple_of(MESSAGES);
    let bytes = rows * row_bytes;
    let memory = || card.allocate(bytes);
    let (tensor, buffer, other) = (memory()?, memory()?, memory()?);
    let bench = Bench::new(card, row_bytes, rows, [&*tensor, &*buffer, &*other])?;
    let measure = |name, work: &dyn Fn() -> Result<(), CudaError>| -> Result<Figure, CudaError> {
        work()?;
        card.synchronize()?;
        let begun = Instant::now();
        (0..repeats).try_for_each(|_| work())?;
        card.synchronize()?;
        Ok(Figure { name, bytes, time: begun.elapsed() / repeats.max(1) })
    };
    Ok(vec![
        measure("memcpy", &|| card.copy(&*tensor, &*buffer, bytes))?,
        measure("pack", &|| bench.rows(Kernel::Pack, bench.runs.table, &[]))?,
        measure("put", &|| bench.put())?,
        measure("unpack", &|| bench.rows(Kernel::Unpack, bench.runs.table, &[bench.halted()]))?,
        measure("sum bf16", &|| bench.sum(Kernel::SumBf16))?,
        measure("sum f32", &|| bench.sum(Kernel::SumF32))?,
    ])
}

/// Tables on a card for kernels that are launched again and again.
struct Bench<'a, C> {
    card: &'a C,
    tables: Arc<dyn Memory>,
    /// The word to halt on, then a signal and a counter for each message.
    words: Arc<dyn Memory>,
    /// All rows, between a tensor and a buffer.
    runs: Runs,
    /// All rows, with one part each.
    sums: Table,
    parts: Table,
    puts: Table,
    slices: u32,
}

impl<'a, C: Card> Bench<'a, C> {
    fn new(card: &'a C, row_bytes: u64, rows: u64, [tensor, buffer, other]: [&dyn Memory; 3]) -> Result<Self, CudaError> {
        let words = card.allocate(8 * (1 + 2 * MESSAGES))?;
        let share = rows / MESSAGES * row_bytes;
        let put = |message| {
            let at = message * share;
            let signal = words.address() + 8 * (1 + 2 * message);
            Put { from: buffer.address() + at, to: other.address() + at, bytes: share, signal, arrived: signal + 8 }
        };
        let mut list = Tables::default();
        let shape = [TensorRows { name: TensorName::Query, row_bytes, wire_row_bytes: row_bytes, join: Join::Add }];
        let all = [RowCopy { tensor: 0, row: 0, rows, at: 0 }];
        let runs = list.copies(&all, &shape, &[tensor.address()], buffer.address());
        let sums = list.push([[0, tensor.address(), row_bytes, 0, 1]]);
        let parts = list.push([[other.address()]]);
        let puts = list.puts((0..MESSAGES).map(put));
        let bytes = list.bytes();
        let tables = card.allocate(bytes.len() as u64)?;
        card.write(&*tables, 0, &bytes)?;
        Ok(Self { card, tables, runs, sums, parts, puts, slices: slices(MESSAGES, share, card.blocks()), words })
    }

    fn put(&self) -> Result<(), CudaError> {
        let grid = Grid { x: self.slices, y: count(MESSAGES), threads: self.card.threads() };
        self.launch(Kernel::Put, grid, &[self.at(self.puts), 1, self.halted()])
    }

    fn rows(&self, kernel: Kernel, table: Table, further: &[u64]) -> Result<(), CudaError> {
        let arguments = [&[self.at(table), table.entries, self.runs.rows], further].concat();
        self.launch(kernel, Grid::of_rows(self.card, self.runs.rows), &arguments)
    }

    fn sum(&self, kernel: Kernel) -> Result<(), CudaError> {
        self.rows(kernel, self.sums, &[self.at(self.parts), self.halted()])
    }

    fn halted(&self) -> u64 {
        self.words.address()
    }

    fn at(&self, table: Table) -> u64 {
        self.tables.address() + table.at
    }

    fn launch(&self, kernel: Kernel, grid: Grid, arguments: &[u64]) -> Result<(), CudaError> {
        // SAFETY: arguments come in the order of the kernel; all addresses are of memory that is held until the last
        // measurement has waited for the card.
        #[expect(unsafe_code, reason = "kernels take addresses")]
        unsafe {
            self.card.launch(kernel, grid, arguments)
        }
    }
}

/// As many peers as a machine usually has cards.
const MESSAGES: u64 = 8;
