//! An operation of which not everything is known yet.

use super::Done;
use super::gpu::Gpu;
use crate::event::{Operation, Sort};
use crate::record::Record;

#[derive(Debug)]
pub(super) struct Held {
    pub(super) handle: u32,
    pub(super) comm: u16,
    pub(super) sort: Sort,
    pub(super) operation: Operation,
    arrived_tick: u64,
    enqueued_tick: u64,
    is_enqueued: bool,
    graph_captured: bool,
    /// Channels and proxies that run, and kernels' channels that have stopped.
    open: u32,
    channels_stopped: u32,
    last_stop_tick: Option<u64>,
    gpu: Gpu,
}

impl Held {
    pub(super) fn new(record: &Record, operation: Operation) -> Self {
        Self {
            handle: record.handle,
            comm: record.comm,
            sort: record.sort,
            operation,
            arrived_tick: record.tick,
            enqueued_tick: record.tick,
            is_enqueued: false,
            graph_captured: false,
            open: 0,
            channels_stopped: 0,
            last_stop_tick: None,
            gpu: Gpu::default(),
        }
    }

    /// The application called at `tick`, and its kernel was launched at `launched_tick` or later. A graph is launched long after the call
    /// that was captured, and arrives anew each time.
    pub(super) fn called(&mut self, tick: u64, launched_tick: u64, graph_captured: bool) {
        self.graph_captured |= graph_captured;
        if !graph_captured {
            self.arrived_tick = self.arrived_tick.min(tick);
            self.gpu.launched(launched_tick);
        }
    }

    pub(super) fn enqueued(&mut self, record: &Record) {
        self.is_enqueued = true;
        self.enqueued_tick = record.tick;
    }

    pub(super) fn child_started(&mut self, record: &Record) {
        self.open += 1;
        if record.sort == Sort::KernelCh {
            self.gpu.started(record.value);
        }
    }

    pub(super) fn gpu_stopped(&mut self, record: &Record) {
        self.gpu.stopped(record.value, record.tick);
    }

    pub(super) fn child_stopped(&mut self, record: &Record) {
        self.open = self.open.saturating_sub(1);
        self.channels_stopped += u32::from(record.sort == Sort::KernelCh);
        self.last_stop_tick = self.last_stop_tick.max(Some(record.tick));
    }

    /// Whether nothing more can come.
    pub(super) fn is_complete(&self, ends_are_told: bool) -> bool {
        if !self.is_enqueued {
            return false;
        }
        let all_channels = self.channels_stopped > 0 && self.channels_stopped >= u32::from(self.operation.channels);
        !ends_are_told || (self.open == 0 && all_channels)
    }

    /// Whether nothing more has come since `tick`.
    pub(super) fn has_settled(&self, tick: u64) -> bool {
        self.is_enqueued && self.open == 0 && self.last_stop_tick.is_some_and(|last| last < tick)
    }

    pub(super) fn done(&self) -> Done {
        // What is still open when it is let go has not been seen to end.
        let done_tick = self.last_stop_tick.filter(|_| self.open == 0).map(|tick| tick.max(self.arrived_tick));
        Done {
            handle: self.handle,
            comm: self.comm,
            sort: self.sort,
            operation: self.operation,
            arrived_tick: self.arrived_tick,
            enqueued_tick: self.enqueued_tick.max(self.arrived_tick),
            done_tick,
            gpu: self.gpu.times(),
            graph_captured: self.graph_captured,
        }
    }
}
