//! From records to operations: when a rank arrived, when its work was done.
//!
//! NCCL calls an operation stopped when it is *enqueued*. A rank arrives when the application calls, and it is done when the last
//! channel of the kernel, or the last proxy, has stopped; these are events of their own, told by other threads in any order. So an
//! operation is held until its children have stopped, and is let go without an end where that is never told: its communicator ends,
//! it is one of too many, or nothing was to be told. No end is ever made up. Pure: time is what records say.

mod gpu;
mod held;
mod queue;

use std::collections::HashMap;

pub(crate) use gpu::GpuTimes;
use held::Held;
use queue::{Place, Queue};

use crate::event::{Operation, Sort};
use crate::record::{Phase, Record};
use crate::words::{Algorithm, Element, Function, Protocol};

/// An operation of a rank, as far as it will ever be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// The number of its handle.
    pub(crate) handle: u32,
    /// The slot of its communicator.
    pub(crate) comm: u16,
    /// Collective, message, or a collective of the copy engine.
    pub(crate) sort: Sort,
    /// What it is.
    pub(crate) operation: Operation,
    /// When the rank arrived: at the application's call, else when it was enqueued.
    pub(crate) arrived_tick: u64,
    /// When the operation was enqueued; when it started to be, where that is all that is known.
    pub(crate) enqueued_tick: u64,
    /// When its last part was done; none where nobody told.
    pub(crate) done_tick: Option<u64>,
    /// When the GPU worked on it, by its own clock, as that was told.
    pub(crate) gpu: Option<GpuTimes>,
    /// It was captured into a graph.
    pub(crate) graph_captured: bool,
}

/// What is held at most. A job that hangs has a few; what is beyond is let go, the oldest first.
const HELD_MAX: usize = 8192;
/// Children and calls that are remembered at most.
const REMEMBERED_MAX: usize = 1 << 16;

/// Puts records together.
#[derive(Debug)]
pub(crate) struct Composer {
    /// Whether ends are told at all.
    ends_are_told: bool,
    calls: Remembered<Call>,
    /// The first launch of each group of calls, by the number of the group's handle.
    launches: Remembered<u64>,
    knows_launches: bool,
    operations: Queue<Held>,
    /// Held operations by their handle's number.
    by_handle: HashMap<u32, Place>,
    children: Remembered<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    tick: u64,
    /// The number of its group's handle; zero for none.
    group: u32,
    graph_captured: bool,
}

impl Composer {
    /// One for records among which are those of channels and proxies, or not.
    pub(crate) fn new(ends_are_told: bool) -> Self {
        Self {
            ends_are_told,
            calls: Remembered::default(),
            launches: Remembered::default(),
            knows_launches: true,
            operations: Queue::default(),
            by_handle: HashMap::new(),
            children: Remembered::default(),
        }
    }

    /// Records were lost. Of a group whose first launch is among them a later one would pass for the first.
    pub(crate) fn lose(&mut self) {
        self.knows_launches = false;
    }

    /// Takes in one record; what is known in full is added to `done`.
    pub(crate) fn take(&mut self, record: &Record, done: &mut Vec<Done>) {
        match (record.phase, record.sort) {
            (Phase::Start, Sort::CollApi | Sort::P2pApi) => {
                let call = Call { tick: record.tick, group: record.link, graph_captured: record.value != 0 };
                self.calls.put(record.handle, call);
            }
            (Phase::Start, Sort::KernelLaunch) if record.link != 0 && self.launches.get(record.link).is_none() => {
                self.launches.put(record.link, record.tick);
            }
            (Phase::Start, Sort::Coll | Sort::P2p | Sort::CeColl) => self.begin(record, done),
            (Phase::More, _) => self.more(record),
            (Phase::Tag, _) => self.of_operation(record.handle, done, |held| held.operation.user_tag = record.value),
            (Phase::Stop, Sort::Coll | Sort::P2p | Sort::CeColl) => {
                self.of_operation(record.handle, done, |held| held.enqueued(record))
            }
            (Phase::Start, Sort::KernelCh | Sort::ProxyOp) => {
                if let Some(operation) = self.by_handle.get(&record.link).and_then(|at| self.operations.get_mut(*at)) {
                    operation.child_started(record);
                    self.children.put(record.handle, record.link);
                }
            }
            (Phase::GpuStop, _) => {
                if let Some(operation) = self.children.get(record.handle) {
                    self.of_operation(operation, done, |held| held.gpu_stopped(record));
                }
            }
            (Phase::Stop, Sort::KernelCh | Sort::ProxyOp) => {
                if let Some(operation) = self.children.remove(record.handle) {
                    self.of_operation(operation, done, |held| held.child_stopped(record));
                }
            }
            (Phase::Finalize, _) => self.let_go(done, |held| held.comm == record.comm),
            _ => {}
        }
    }

    fn begin(&mut self, record: &Record, done: &mut Vec<Done>) {
        if self.operations.len() >= HELD_MAX
            && let Some(oldest) = self.operations.first().and_then(|oldest| self.operations.take(oldest))
        {
            self.by_handle.remove(&oldest.handle);
            done.push(oldest.done());
        }
        let operation = Operation {
            function: Function::of_record(record.function),
            sequence: if record.sort == Sort::P2p { 0 } else { record.link.into() },
            count: record.value,
            element: Element::of_record(record.element),
            peer: if record.sort == Sort::P2p { record.link.cast_signed() } else { 0 },
            channels: record.channel,
            ..Operation::default()
        };
        if let Some(place) = self.operations.push(Held::new(record, operation)) {
            self.by_handle.insert(record.handle, place);
        }
    }

    /// What did not fit the first record of an operation.
    fn more(&mut self, record: &Record) {
        let call = self.calls.get(record.link);
        // What was launched before the call was launched for another one.
        let launch = |call: Call| self.launches.get(call.group).filter(|tick| self.knows_launches && *tick >= call.tick);
        let launched_tick = call.map(|call| launch(call).unwrap_or(call.tick));
        let Some(held) = self.by_handle.get(&record.handle).and_then(|at| self.operations.get_mut(*at)) else { return };
        held.operation.algorithm = Algorithm::of_record(record.function);
        held.operation.protocol = Protocol::of_record(record.element);
        held.operation.warps = record.channel;
        if held.sort != Sort::P2p {
            held.operation.peer = record.value as u32 as i32;
        }
        if let Some((call, launched_tick)) = call.zip(launched_tick) {
            held.called(call.tick, launched_tick, call.graph_captured);
        }
    }

    /// Changes a held operation, and lets go of it if that was the last there is to know.
    fn of_operation(&mut self, handle: u32, done: &mut Vec<Done>, change: impl FnOnce(&mut Held)) {
        let Some(at) = self.by_handle.get(&handle).copied() else { return };
        let Some(held) = self.operations.get_mut(at) else { return };
        change(held);
        if held.is_complete(self.ends_are_told) {
            done.push(held.done());
            self.operations.take(at);
            self.by_handle.remove(&handle);
        }
    }

    /// Lets go of operations all whose children that started have stopped before `tick`, though NCCL had said that there would be
    /// more: on an abort, and with fewer channels than it thought, they never come.
    pub(crate) fn settle(&mut self, tick: u64, done: &mut Vec<Done>) {
        self.let_go(done, |held| held.has_settled(tick));
    }

    /// Lets go of everything: what has no end by now has none.
    pub(crate) fn finish(&mut self, done: &mut Vec<Done>) {
        self.let_go(done, |_| true);
    }

    fn let_go(&mut self, done: &mut Vec<Done>, wanted: impl Fn(&Held) -> bool) {
        let mut at = self.operations.first();
        while let Some(place) = at {
            at = self.operations.behind(place);
            if self.operations.get(place).is_some_and(&wanted)
                && let Some(held) = self.operations.take(place)
            {
                self.by_handle.remove(&held.handle);
                done.push(held.done());
            }
        }
    }
}

/// The newest of what is looked up by a handle's number.
#[derive(Debug)]
struct Remembered<T> {
    known: HashMap<u32, T>,
    order: std::collections::VecDeque<u32>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), order: std::collections::VecDeque::new() }
    }
}

impl<T: Copy> Remembered<T> {
    fn put(&mut self, number: u32, value: T) {
        if self.order.len() >= REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.known.insert(number, value);
        self.order.push_back(number);
    }

    fn get(&self, number: u32) -> Option<T> {
        self.known.get(&number).copied()
    }

    fn remove(&mut self, number: u32) -> Option<T> {
        self.known.remove(&number)
    }
}

#[cfg(test)]
mod tests;
