//! The table `ranks`.

use rankscope_document::{Document, Rank, Time};
use rankscope_job::Job;

use crate::steps::accounted;
use crate::{Frame, Table};

/// The rows of `document`, which is that of `job`.
pub fn ranks(job: &Job, document: &Document) -> Frame {
    let ranks = &document.ranks;
    let node = |rank: &Rank| {
        let at = job.ranks.binary_search_by_key(&rank.rank, |own| own.rank.0).ok()?;
        job.nodes.get(at).copied().flatten().map(i64::from)
    };
    let times: Vec<&Time> = ranks.iter().map(|rank| &rank.time_ns).collect();
    let frame = Frame::of(Table::Ranks)
        .numbers("rank", ranks.iter().map(|rank| rank.rank.into()))
        .maybe_numbers("node", ranks.iter().map(node))
        .maybe_texts("host", ranks.iter().map(|rank| rank.host.as_deref()))
        .maybe_texts("device_name", ranks.iter().map(|rank| rank.device.as_deref()))
        .texts("file", ranks.iter().map(|rank| rank.file.as_str()))
        .texts("format", ranks.iter().map(|rank| rank.format.as_str()))
        .texts("accounting", ranks.iter().map(|rank| rank.accounting.as_str()))
        .numbers("events", ranks.iter().map(|rank| i64::try_from(rank.events).unwrap_or(i64::MAX)))
        .numbers("start_ns", ranks.iter().map(|rank| rank.window_ns[0]))
        .numbers("end_ns", ranks.iter().map(|rank| rank.window_ns[1]));
    accounted(frame, &times)
}
