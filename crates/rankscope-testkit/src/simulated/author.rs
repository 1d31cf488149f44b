//! Writes one rank's program, a step at a time, in the small patterns that every operator and every exchange is made of.
//!
//! Each duration is drawn around its mean. What a cause adds is drawn from numbers of its own, so that everything else takes
//! exactly as long as it does without the cause.

use std::collections::HashMap;

use crate::Rng;

use super::Job;
use super::cause::Cause;
use super::layout::Dimension;
use super::model::Described;
use super::program::{Exchange, Instruction, Label, Launch, Operation, Stream, Thread, Work};

/// Where a rank's program is being written.
pub(super) struct Author<'a> {
    pub(super) job: &'a Job,
    pub(super) rank: u32,
    pub(super) step: u32,
    /// Of the step.
    pub(super) program: Vec<Instruction>,
    /// Whether what is written now is there because of the cause.
    pub(super) adding: bool,
    usual: Rng,
    added: Rng,
    thread: Thread,
    events: u32,
    sequence: u64,
    /// Exchanges so far, by group or pair.
    ordinals: HashMap<(Dimension, Option<u32>, bool), u32>,
}

impl<'a> Author<'a> {
    pub(super) fn new(job: &'a Job, rank: u32) -> Self {
        Self {
            job,
            rank,
            step: 0,
            program: Vec::new(),
            adding: false,
            usual: Rng::new(0),
            added: Rng::new(0),
            thread: Thread::Main,
            events: 0,
            sequence: 0,
            ordinals: HashMap::new(),
        }
    }

    /// Turns to `step`: the numbers of a step depend on it and on the rank alone.
    pub(super) fn turn_to(&mut self, step: u32) {
        let lane = u64::from(self.rank) << 32 | u64::from(step) << 1;
        self.step = step;
        self.usual = Rng::lane(self.job.seed, lane);
        self.added = Rng::lane(self.job.seed, lane | 1);
    }

    pub(super) fn is_slow(&self, rank: u32) -> bool {
        self.rank == rank
    }

    pub(super) fn put(&mut self, instruction: Instruction) {
        self.program.push(instruction);
    }

    /// Writes what `write` writes as something that the cause adds.
    pub(super) fn add(&mut self, write: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.adding, true);
        write(self);
        self.adding = before;
    }

    /// The host works for about so long.
    pub(super) fn spend(&mut self, mean_ns: i64) {
        let ns = self.of_host(mean_ns);
        self.put(Instruction::Spend(ns));
    }

    pub(super) fn open(&mut self, label: Label) {
        self.put(Instruction::Open(label));
    }

    /// A Python function around what `write` writes; on the main thread only, which is the one that runs Python.
    pub(super) fn frame(&mut self, name: &'static str, number: Option<u32>, write: impl FnOnce(&mut Self)) {
        if self.thread != Thread::Main {
            return write(self);
        }
        self.open(Label::Frame(name, number));
        self.spend(1_500);
        write(self);
        self.spend(700);
        self.put(Instruction::Close);
    }

    pub(super) fn annotation(&mut self, name: &'static str, write: impl FnOnce(&mut Self)) {
        self.within(Label::Annotation(name), write);
    }

    pub(super) fn within(&mut self, label: Label, write: impl FnOnce(&mut Self)) {
        self.open(label);
        self.spend(900);
        write(self);
        self.spend(500);
        self.put(Instruction::Close);
    }

    /// The thread that runs the backward pass does what `write` writes; the main one waits.
    pub(super) fn on_autograd(&mut self, write: impl FnOnce(&mut Self)) {
        self.thread = Thread::Autograd;
        self.put(Instruction::Run(Thread::Autograd));
        write(self);
        self.thread = Thread::Main;
        self.put(Instruction::Run(Thread::Main));
    }

    /// A forward operator with one kernel; returns its number, by which its backward pass finds it.
    pub(super) fn operator(&mut self, described: &Described, kernels: &[i64]) -> u64 {
        let Described { outer, inner, dims, .. } = *described;
        let sequence = self.sequence;
        self.sequence += 1;
        self.frame(described.module, None, |author| {
            author.open(Label::Operator { name: outer, dims, sequence: Some(sequence) });
            author.put(Instruction::Gradient { id: sequence + 1, finishes: false });
            author.spend(5_000);
            for (at, &ns) in kernels.iter().enumerate() {
                let before = author.adding;
                author.adding |= at > 0;
                author.open(Label::Operator { name: inner, dims, sequence: None });
                author.spend(7_000);
                author.kernel(described.kernel, ns);
                author.spend(3_000);
                author.put(Instruction::Close);
                author.adding = before;
            }
            author.spend(3_500);
            author.put(Instruction::Close);
        });
        sequence
    }

    /// The backward pass of the operator numbered `sequence`: of each operator, its name, its kernel and how often it runs.
    pub(super) fn node(&mut self, described: &Described, sequence: u64, run: &[(&'static str, &'static str, Vec<i64>)]) {
        let dims = described.dims;
        self.open(Label::Node { name: described.node, sequence });
        self.put(Instruction::Gradient { id: sequence + 1, finishes: true });
        self.spend(4_000);
        self.open(Label::Operator { name: described.node, dims: "[[8, 512, 1024]]", sequence: None });
        self.spend(4_000);
        for (operator, kernel, lengths) in run {
            for (at, &ns) in lengths.iter().enumerate() {
                let before = self.adding;
                self.adding |= at > 0;
                self.open(Label::Operator { name: operator, dims, sequence: None });
                self.spend(7_000);
                self.kernel(kernel, ns);
                self.spend(2_500);
                self.put(Instruction::Close);
                self.adding = before;
            }
        }
        self.spend(2_000);
        self.put(Instruction::Close);
        self.spend(2_500);
        self.put(Instruction::Close);
    }

    /// A kernel of computation.
    pub(super) fn kernel(&mut self, name: &'static str, mean_ns: i64) {
        let host_ns = self.of_host(5_000);
        let mut device_ns = self.drawn(mean_ns);
        if let Some(&Cause::ThrottledCard { rank, factor }) = self.job.cause.as_ref()
            && self.is_slow(rank)
        {
            device_ns = times(device_ns, factor);
        }
        let (stream, work) = (Stream::Compute, Work::Kernel(name));
        self.put(Instruction::Launch(Launch { stream, work, host_ns, device_ns }));
    }

    /// A copy within `aten::copy_`.
    pub(super) fn copy(&mut self, stream: Stream, to_device: bool, pageable: bool, bytes: u64) {
        let per_ns = if pageable { PAGEABLE_BYTES_PER_NS } else { PINNED_BYTES_PER_NS };
        let (host_ns, device_ns) = (self.of_host(5_500), self.drawn(1_500 + (bytes / per_ns) as i64));
        let work = Work::Copy { to_device, pageable, bytes };
        self.put(Instruction::Launch(Launch { stream, work, host_ns, device_ns }));
    }

    /// An exchange of a group on `stream`, once computation has come so far; returns the event of its end.
    pub(super) fn collective(&mut self, stream: Stream, operation: Operation, dimension: Dimension, elements: u64) -> u32 {
        let exchange = self.exchange(operation, dimension, elements, None);
        self.exchanged(stream, exchange, true)
    }

    /// Sends to, or receives from, `peer`. What is received waits for no computation.
    pub(super) fn message(&mut self, stream: Stream, operation: Operation, peer: u32, elements: u64) -> u32 {
        let exchange = self.exchange(operation, Dimension::Pipeline, elements, Some(peer));
        self.exchanged(stream, exchange, operation == Operation::Send)
    }

    fn exchange(&mut self, operation: Operation, dimension: Dimension, elements: u64, peer: Option<u32>) -> Exchange {
        let next = self.ordinals.entry((dimension, peer, operation == Operation::Send)).or_default();
        let ordinal = *next;
        *next += 1;
        Exchange { operation, dimension, elements, ordinal, peer }
    }

    fn exchanged(&mut self, stream: Stream, exchange: Exchange, after_computation: bool) -> u32 {
        let mut end = 0;
        self.within(Label::Operator { name: exchange.operation.operator(), dims: "[[]]", sequence: None }, |author| {
            author.within(Label::Communication(exchange), |author| {
                author.within(Label::Params(exchange), |author| {
                    author.spend(6_000);
                    if after_computation {
                        author.order(Stream::Compute, stream);
                    }
                    let host_ns = author.of_host(7_000);
                    let work = Work::Exchange(exchange);
                    author.put(Instruction::Launch(Launch { stream, work, host_ns, device_ns: 0 }));
                    end = author.record(stream);
                });
            });
        });
        end
    }

    /// What comes on `second` waits for what is on `first`.
    pub(super) fn order(&mut self, first: Stream, second: Stream) {
        let event = self.record(first);
        self.put(Instruction::Wait { stream: second, event });
    }

    /// Computation goes on after `event`.
    pub(super) fn await_event(&mut self, event: u32) {
        self.put(Instruction::Wait { stream: Stream::Compute, event });
    }

    /// Names what is on `stream` until now. Events are numbered in the order in which they are recorded.
    fn record(&mut self, stream: Stream) -> u32 {
        let event = self.events;
        self.events += 1;
        self.put(Instruction::Record { stream, event });
        event
    }

    fn of_host(&mut self, mean_ns: i64) -> i64 {
        let ns = self.drawn(mean_ns);
        match self.job.cause {
            Some(Cause::SlowHost { rank, factor }) if self.is_slow(rank) => times(ns, factor),
            _ => ns,
        }
    }

    fn drawn(&mut self, mean_ns: i64) -> i64 {
        let rng = if self.adding { &mut self.added } else { &mut self.usual };
        rng.around(mean_ns, NOISE_PERCENT)
    }
}

/// `ns`, `factor` times as long.
pub(super) fn times(ns: i64, factor: f64) -> i64 {
    (ns as f64 * factor) as i64
}

/// Durations reach this far from their means.
const NOISE_PERCENT: u64 = 2;
const PINNED_BYTES_PER_NS: u64 = 25;
const PAGEABLE_BYTES_PER_NS: u64 = 3;
