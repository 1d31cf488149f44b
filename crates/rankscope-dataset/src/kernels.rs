//! The table `kernels`: all names, where the report lists the longest.

use rankscope_analyze::HotName;
use rankscope_job::Job;

use crate::{Frame, Table};

/// The rows of `job`.
pub fn kernels(job: &Job) -> Frame {
    let all: Vec<(i64, &HotName)> =
        job.ranks.iter().flat_map(|rank| rank.report.names.iter().map(move |name| (i64::from(rank.rank.0), name))).collect();
    Frame::of(Table::Kernels)
        .numbers("rank", all.iter().map(|(rank, _)| *rank))
        .texts("name", all.iter().map(|(_, name)| name.name.as_str()))
        .texts("class", all.iter().map(|(_, name)| name.class.name()))
        .numbers("count", all.iter().map(|(_, name)| i64::try_from(name.count).unwrap_or(i64::MAX)))
        .numbers("dur_ns", all.iter().map(|(_, name)| name.total_ns))
}
