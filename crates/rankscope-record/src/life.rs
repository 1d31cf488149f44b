//! [`Life`]: one piece of work that a thread may leave and another take up again, such as a future between its polls.
//!
//! Each stay on a thread is a slice of that thread. Whether more will follow is not known while the first is recorded, and a
//! scope that is entered once shall cost nothing beyond it. So the second stay says what went before: it begins an async span
//! that says when the work was created and which slice was its first ([`RESUMED`]). From then on every slice is a step of
//! one flow. Exports put the pieces together: the async span begins where the work was created, the flow at its first slice.

use rankscope_recording::RESUMED;

use crate::events::{AsyncSpan, flow};
use crate::events::{begin_async_as, next_async_id};
use crate::kept_args::KeptArgs;
use crate::names::Site;
use crate::value::Value;
use crate::{lane, names, state};
use rankscope_recording::{FlowStage, NameId};

/// What is known about a piece of work so far.
#[derive(Debug)]
pub(crate) struct Life {
    name: NameId,
    created_tick: u64,
    /// The recording the first slice lies in.
    epoch: u32,
    first: Option<First>,
    /// Since the work was taken up again.
    shown: Option<AsyncSpan>,
    /// How many arguments the async span began with.
    said: usize,
}

#[derive(Clone, Copy, Debug)]
struct First {
    slice: u64,
    stream: u32,
    tick: u64,
}

impl Life {
    /// Work that was created at a tick.
    pub(crate) fn new(name: NameId, created_tick: u64) -> Self {
        Self { name, created_tick, epoch: 0, first: None, shown: None, said: 0 }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> NameId {
        self.name
    }

    /// A slice of it, `slice` by its correlation id, has begun on this thread as the last event so far. `args` are those of the
    /// work.
    pub(crate) fn entered(&mut self, slice: u64, args: &KeptArgs) {
        let Some(epoch) = state::epoch_if_on(names::category_bit(self.name)) else { return };
        if self.epoch != epoch {
            // Slices of an earlier recording cannot be tied to those of this one.
            (self.epoch, self.first, self.shown) = (epoch, None, None);
        }
        if self.first.is_none() {
            let (stream, tick) = lane::with(|lane| (lane.stream(), lane.last_tick()));
            self.first = Some(First { slice, stream, tick });
            return;
        }
        let shown = self.shown.as_ref().map(AsyncSpan::id);
        let id = shown.unwrap_or_else(next_async_id);
        // Right behind the begin of the slice, which exports hang it on.
        flow(self.name, id, FlowStage::Step);
        if shown.is_none() {
            self.show_as(id, args);
        }
    }

    /// Begins its async span, if that has not begun.
    pub(crate) fn show(&mut self, args: &KeptArgs) {
        if self.shown.is_none() {
            self.show_as(next_async_id(), args);
        }
    }

    fn show_as(&mut self, id: u64, args: &KeptArgs) {
        static KEY: Site = Site::key(RESUMED);
        let first = self.first.map_or([0; 3], |first| [first.tick, first.slice, first.stream.into()]);
        let since = [self.created_tick, first[0], first[1], first[2]].map(|number| number as i64);
        let begin = |args: &[(NameId, Value<'_>)]| begin_async_as(id, self.name, args);
        self.said = args.len();
        self.shown = Some(args.lend_behind(Some((KEY.id(), Value::I64s(&since))), 0, begin));
    }

    /// It is over. `outlived` says that it did not end right where its only slice did; arguments that came since are said.
    pub(crate) fn end(mut self, outlived: bool, args: &KeptArgs) {
        if outlived {
            self.show(args);
        }
        if let Some(shown) = self.shown {
            args.lend(self.said, |args| shown.end(args));
        }
    }
}
