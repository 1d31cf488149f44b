//! [`Awaited`]: what a synchronisation waits for, in the words of the profiler that saw it.
//!
//! A wait for an event is a wait for whatever a stream had been given when somebody recorded the event. Which work that was is not
//! decided here: it takes the order of calls, and whoever has a use for it looks it up.

/// What a synchronisation waits for, as far as its profiler says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// The stream that the event was recorded on, by its number on the device of the one that waits.
    pub stream: Option<u32>,
    /// The correlation id of the call that recorded the event.
    pub recorded_by: Option<u64>,
}

impl Awaited {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
