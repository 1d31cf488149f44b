//! [`Execution::of`]: the execution graph of one trace.
//!
//! Each kernel, copy and fill is a piece of its stream. The time of a thread is cut into pieces wherever something else waits for it
//! or it waits for something else. What is a dependency, and by what evidence:
//!
//! - **Launch.** A piece of the host ends where a call begins that launches device work, or that hands a collective over to threads of a
//!   backend. What was launched depends on it. The call's own time is in the next piece.
//! - **Stream order.** Each piece depends on the one before it in its stream.
//! - **Device to host** ([`calls`]). A call that returns when a device is done waits for what its event stands for, where that is
//!   recorded; else for the last work that was launched before it and ended within it, on its stream where that is recorded. So does a
//!   copy that blocks, for itself. The wait is no piece.
//! - **Stream to stream** ([`streams`]). For what the stream's event stands for, where that is recorded ([`recorded`]). Else where the end
//!   of work on another stream explains why a piece started when it did, where work of one stream never starts before what was launched
//!   earlier on another one has ended, and where the host told a stream to wait ([`orders`]).
//! - **Thread to thread** ([`handoffs`]). Where a thread does nothing that is recorded until just after another one ends what it does.
//!
//! A trace that shows nothing but collectives has no graph. A trace does not say why a thread slept, and no dependency is made of a
//! coincidence that its time could contradict: whatever a piece depends on ended before the piece started.

mod calls;
mod collectives;
mod devices;
mod handoffs;
mod keys;
mod names;
mod orders;
mod pieces;
mod recorded;
mod streams;
mod sweep;
mod threads;

use rankscope_analyze::{Classes, Side};
use rankscope_collectives::RankCollectives;
use rankscope_tables::Attribution;
use rankscope_trace::{Problems, Trace};

use crate::{Builder, Execution};

use self::devices::Devices;
use self::keys::Keys;
use self::names::Names;
use self::recorded::Recorded;
use self::threads::Threads;

impl Execution {
    /// The graph of `trace`, whose collectives are `collectives` and whose work is of `classes`; empty where the trace shows nothing but
    /// collectives. In the time of sorting its spans. What was read of their arguments makes no difference.
    pub fn of(trace: &Trace, collectives: &RankCollectives, classes: &Classes) -> Self {
        Self::attributed(trace, &Attribution::of_work(trace), collectives, classes, &mut Problems::default())
    }

    /// The same, where `attribution` is [`Attribution::of_work`] of `trace`. What is recorded and cannot be true is left out, and added to
    /// `problems`.
    pub fn attributed(
        trace: &Trace,
        attribution: &Attribution,
        collectives: &RankCollectives,
        classes: &Classes,
        problems: &mut Problems,
    ) -> Self {
        let (side, work) = classes.work(trace);
        let names = Names::of(trace, attribution, collectives, side);
        let (mut builder, mut keys) = (Builder::default(), Keys::of(trace));
        let devices = match side {
            Side::Device => Devices::of(&names, &work, &mut keys, &mut builder),
            Side::Host => Devices::default(),
        };
        let mut recorded = Recorded::of(&names, &devices);
        let threads = Threads::of(&names, &devices, &mut recorded);
        if threads.is_empty() && devices.only_communicate() {
            builder = Builder::default();
            builder.collectives(collectives.collectives.len());
            return builder.finish();
        }
        builder.collectives(collectives.collectives.len());
        streams::tie(&names, &devices, &recorded, &mut builder);
        recorded.report(problems);
        threads.cut(&names, &devices, &mut keys, &mut builder);
        builder.finish()
    }
}
