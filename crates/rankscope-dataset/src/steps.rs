//! The table `steps`, and the columns of an account of time, which `ranks` has as well.

use rankscope_document::{Document, Rank, Step, Time};

use crate::{Frame, Table};

/// The rows of `document`.
pub fn steps(document: &Document) -> Frame {
    let all: Vec<(&Rank, &Step)> =
        document.ranks.iter().flat_map(|rank| rank.steps.iter().map(move |step| (rank, step))).collect();
    let times: Vec<&Time> = all.iter().map(|(_, step)| &step.time_ns).collect();
    let frame = Frame::of(Table::Steps)
        .numbers("rank", all.iter().map(|(rank, _)| rank.rank.into()))
        .numbers("step", all.iter().map(|(_, step)| step.step))
        .numbers("start_ns", all.iter().map(|(_, step)| step.window_ns[0]))
        .numbers("end_ns", all.iter().map(|(_, step)| step.window_ns[1]));
    accounted(frame, &times)
}

/// `frame` with the columns of an account.
pub(crate) fn accounted(frame: Frame, times: &[&Time]) -> Frame {
    let column = |frame: Frame, name, of: fn(&Time) -> i64| frame.numbers(name, times.iter().map(|time| of(time)));
    let frame = column(frame, "computation_ns", |time| time.computation);
    let frame = column(frame, "exposed_comm_ns", |time| time.exposed_comm);
    let frame = column(frame, "exposed_memcpy_ns", |time| time.exposed_memcpy);
    let frame = column(frame, "busy_ns", |time| time.busy);
    let frame = column(frame, "idle_ns", |time| time.idle);
    let frame = column(frame, "total_ns", |time| time.total);
    let frame = column(frame, "total_comm_ns", |time| time.total_comm);
    column(frame, "total_memcpy_ns", |time| time.total_memcpy)
}
