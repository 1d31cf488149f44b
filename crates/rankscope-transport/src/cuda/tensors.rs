//! A whole exchange on the card: sums of copies, packing, putting, waiting, unpacking, sums of planes, one kernel after the
//! other. What the rank keeps goes from tensor to tensor and through no buffer. In training the tensors would lie on the card already;
//! here they are brought there and back, so that they can be compared with the simulator's.

use std::time::{Duration, Instant};

use rankscope_dispatch::movement::{ElementType, Kept};
use rankscope_dispatch::{RankExchange, RowSum, TensorRows};

use super::card::{Card, Grid};
use super::error::CudaError;
use super::kernels::Kernel;
use super::rank::{CudaRank, reserve};
use super::sums;
use super::tables::{Runs, Table, Tables};
use crate::TransportError;
use crate::execute::Timing;
use crate::messages::index;

impl<C: Card> CudaRank<C> {
    /// All of it, with the times at which the card had packed, delivered and unpacked.
    pub(super) fn exchange_tensors(
        &mut self,
        exchange: &RankExchange,
        tensors: &[TensorRows],
        element: ElementType,
        inputs: &[Vec<u8>],
    ) -> Result<(Vec<Vec<u8>>, Timing), TransportError> {
        self.check_tensors(exchange, tensors, element, inputs)?;
        self.run(exchange, tensors, element, inputs).inspect_err(|_| self.leave())
    }

    fn check_tensors(
        &self,
        exchange: &RankExchange,
        tensors: &[TensorRows],
        element: ElementType,
        inputs: &[Vec<u8>],
    ) -> Result<(), TransportError> {
        if exchange.rank != self.rank {
            return Err(TransportError::OtherRank { rank: self.rank, slice: exchange.rank });
        }
        exchange.validate(tensors).map_err(CudaError::from)?;
        let sizes = Layout::new(tensors, &exchange.input_rows).sizes;
        let actual = inputs.iter().map(|input| input.len() as u64);
        if !actual.clone().eq(sizes.iter().copied()) {
            let (expected, actual) = (sizes.into_iter().fold(0, u64::saturating_add), actual.sum());
            return Err(TransportError::BufferSize { rank: self.rank, buffer: "input", expected, actual });
        }
        let element_bytes = element.bytes();
        for sum in exchange.sums_before.iter().chain(&exchange.sums_after) {
            let row_bytes = tensors[sum.tensor as usize].row_bytes;
            if !row_bytes.is_multiple_of(element_bytes) {
                return Err(CudaError::BrokenElements { row_bytes, element_bytes }.into());
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        exchange: &RankExchange,
        tensors: &[TensorRows],
        element: ElementType,
        inputs: &[Vec<u8>],
    ) -> Result<(Vec<Vec<u8>>, Timing), TransportError> {
        let (input, output) = (Layout::new(tensors, &exchange.input_rows), Layout::new(tensors, &exchange.output_rows));
        reserve(&self.card, &mut self.tensors[0], input.bytes)?;
        reserve(&self.card, &mut self.tensors[1], output.bytes)?;
        let [before, after] = [(&input, 0), (&output, 1)].map(|(layout, side)| layout.addresses(self.tensors[side].address()));

        let kept = Kept::of(exchange, tensors);
        let crossing = &kept.crossing;
        let mut tables = Tables::default();
        let round = self.begin(crossing, &mut tables)?;
        let received = self.received(&round).address();
        let sums_before = Sums::new(&exchange.sums_before, tensors, &before, &mut tables)?;
        let packs = tables.copies(&crossing.pack, tensors, &before, self.send.address());
        let unpacks = tables.copies(&crossing.unpack, tensors, &after, received);
        let keeps = tables.kept(&kept.rows, tensors, &before, &after);
        let sums_after = Sums::new(&exchange.sums_after, tensors, &after, &mut tables)?;
        self.upload(&tables)?;

        for (bytes, at) in inputs.iter().zip(&input.starts) {
            self.card.write(&*self.tensors[0], *at, bytes)?;
        }
        self.card.clear(&*self.tensors[1], output.bytes)?;
        self.card.clear(&*self.send, exchange.send_bytes)?;

        let pack = self.timed(|rank| {
            rank.sum(element, &sums_before)?;
            rank.rows(Kernel::Pack, &packs, &[])
        })?;
        self.meet()?;
        let carried = self.timed(|rank| rank.deliver(&round))?;
        // After the waits, so that a rank that waited in vain has nothing of the exchange.
        let keep = self.timed(|rank| rank.rows(Kernel::Unpack, &keeps, &[rank.halted()]))?;
        let unpack = self.timed(|rank| {
            rank.rows(Kernel::Unpack, &unpacks, &[rank.halted()])?;
            rank.finish(&round)?;
            rank.sum(element, &sums_after)
        })?;
        self.check(crossing)?;

        let read = |(&at, &bytes): (&u64, &u64)| {
            let mut tensor = vec![0; index(bytes)];
            self.card.read(&*self.tensors[1], at, &mut tensor)?;
            Ok(tensor)
        };
        let outputs: Result<_, CudaError> = output.starts.iter().zip(&output.sizes).map(read).collect();
        Ok((outputs?, Timing { pack, exchange: carried, unpack, keep }))
    }

    /// How long the card takes over what is asked of it.
    fn timed<E: From<CudaError>>(&self, work: impl FnOnce(&Self) -> Result<(), E>) -> Result<Duration, E> {
        self.card.synchronize()?;
        let begun = Instant::now();
        work(self)?;
        self.card.synchronize()?;
        Ok(begun.elapsed())
    }

    fn sum(&self, element: ElementType, sums: &Sums) -> Result<(), CudaError> {
        self.rows(kernel(element), &sums.runs, &[self.at(sums.parts), self.halted()])
    }

    /// Launches a kernel that goes through rows: a table, its length, the rows, and what else it takes.
    fn rows(&self, kernel: Kernel, runs: &Runs, further: &[u64]) -> Result<(), CudaError> {
        if runs.rows == 0 {
            return Ok(());
        }
        let arguments = [&[self.at(runs.table), runs.table.entries, runs.rows], further].concat();
        self.launch(kernel, Grid::of_rows(&self.card, runs.rows), &arguments)
    }
}

/// Where the tensors of one side lie in one piece of memory.
struct Layout {
    starts: Vec<u64>,
    sizes: Vec<u64>,
    bytes: u64,
}

impl Layout {
    /// Sizes that no memory has stay sizes that no memory has.
    fn new(tensors: &[TensorRows], rows: &[u64]) -> Self {
        let size = |(tensor, rows): (&TensorRows, &u64)| tensor.row_bytes.saturating_mul(*rows);
        let sizes: Vec<u64> = tensors.iter().zip(rows).map(size).collect();
        let mut bytes: u64 = 0;
        let starts = sizes.iter().map(|size| {
            let start = bytes;
            bytes = bytes.saturating_add(size.checked_next_multiple_of(TENSOR_ALIGNMENT_BYTES).unwrap_or(u64::MAX));
            start
        });
        Self { starts: starts.collect(), sizes, bytes }
    }

    fn addresses(&self, memory: u64) -> Vec<u64> {
        self.starts.iter().map(|start| memory + start).collect()
    }
}

/// As the allocator of the card aligns.
const TENSOR_ALIGNMENT_BYTES: u64 = 256;

/// Groups of rows and what is added to them (`SumRun` in `sum.cu`).
struct Sums {
    runs: Runs,
    parts: Table,
}

impl Sums {
    fn new(list: &[RowSum], tensors: &[TensorRows], starts: &[u64], tables: &mut Tables) -> Result<Self, CudaError> {
        let groups = sums::groups(list)?;
        let (mut rows, mut parts) = (0, 0);
        let address = |tensor: u32, row: u64| starts[tensor as usize] + row * tensors[tensor as usize].row_bytes;
        let table = tables.push(groups.iter().map(|group| {
            let (first, part, count) = (rows, parts, group.parts.len() as u64);
            rows += group.rows;
            parts += count;
            [first, address(group.tensor, group.into), tensors[group.tensor as usize].row_bytes, part, count]
        }));
        let added = groups.iter().flat_map(|group| group.parts.iter().map(|&row| [address(group.tensor, row)]));
        Ok(Self { runs: Runs { table, rows }, parts: tables.push(added) })
    }
}

fn kernel(element: ElementType) -> Kernel {
    match element {
        ElementType::F64 => Kernel::SumF64,
        ElementType::F32 => Kernel::SumF32,
        ElementType::F16 => Kernel::SumF16,
        ElementType::Bf16 => Kernel::SumBf16,
        ElementType::I64 => Kernel::SumU64,
        ElementType::I32 => Kernel::SumU32,
        ElementType::I16 => Kernel::SumU16,
        ElementType::I8 | ElementType::U8 => Kernel::SumU8,
    }
}
