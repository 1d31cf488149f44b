//! Recording from Python: the recorder's events, sessions and schedules as functions and classes.
//!
//! The hot path is here, because a call from Python costs as much as what it records: spans, what the interpreter says of
//! functions, pauses for collections. What happens once a recording (files, schedules, other processes) is Python's, in
//! `python/rankscope/_recording`. Recording never ends a program: what is called once an event does not raise, but for values
//! of a wrong type.

mod averages;
mod collections;
mod error;
mod events;

mod functions;
mod live;
mod names;
mod open;
mod reused;
mod schedule;
mod session;
mod span;
mod threads;
mod values;
mod work;

pub(crate) use averages::{figures, folded_stacks};
pub(crate) use collections::on_collection;
pub(crate) use events::{counter, flow_point, instant};

pub(crate) use functions::{
    end_frames, functions_off, functions_on, on_begin, on_call, on_end, on_native_end, on_profile, on_throw, on_unwind,
    profile_natives,
};
pub(crate) use live::{InCollective, Phase, enter_collective, has_page, phase};
pub(crate) use schedule::{Plan, moves};
pub(crate) use session::{PySession, Recorded, Step, metadata, own_rank, process_name};
pub(crate) use span::{Span, end_call, record_function};
pub(crate) use threads::look;
pub(crate) use work::Work;
