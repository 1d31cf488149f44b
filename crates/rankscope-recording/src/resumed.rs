//! [`Resumed`]: what an async span that began late says about the time before.
//!
//! Whether work will be left and taken up again is known only when it is, and ticks of a thread never fall. So the begin of its
//! async span carries an argument, [`RESUMED`]: a list of the tick at which the work was created, the tick at which its first slice
//! began, which slice that was by its correlation id, and in which stream. The last three are zero where there was no slice. Exports show the span from its creation on, the first slice as the start of the span's flow, and not the argument.

use super::args::Args;
use super::event::Event;
use super::word::NameId;

/// The key of the argument.
pub const RESUMED: &str = "resumed";

/// The time before an async span's begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// When the work was created.
    pub created_tick: u64,
    /// The slice that its flow starts from, if it had one by then.
    pub first: Option<FirstSlice>,
}

/// The slice that a flow starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstSlice {
    /// When it began.
    pub tick: u64,
    /// Its correlation id.
    pub id: u64,
    /// The stream of its thread.
    pub stream: u32,
}

impl Resumed {
    /// What the arguments of `begin` say; `is_key` knows [`RESUMED`] by its number.
    pub fn of(begin: &Event, args: Args<'_>, is_key: impl Fn(NameId) -> bool) -> Option<Self> {
        let mut list = args.lists(is_key).next()?;
        let mut next = || list.next().map(|number| number as u64);
        let before = |tick: u64| tick.min(begin.tick);
        let (created, entered, id, stream) = (next()?, next()?, next()?, next()?);
        let first = (id != 0).then(|| FirstSlice { tick: before(entered), id, stream: stream as u32 });
        Some(Self { created_tick: before(created), first })
    }
}
