//! What the collectives of a run tell of its network.
//!
//! Of a collective over all its ranks the shortest stay is what remained once everybody had come; nobody's clock but the rank's own
//! is in it. Collectives of one sort and size are one row, their median.

use std::collections::BTreeMap;

use rankscope_collectives::{Instance, Kind};
use rankscope_dispatch::network::calibrate::{Operation, Samples};
use rankscope_job::Job;
use rankscope_time::Span;

use crate::NothingMeasured;

/// What was measured in `job`, by operation and number of ranks.
///
/// # Errors
/// Where no collective was found on every rank with its size.
pub fn samples(job: &Job) -> Result<Vec<Samples>, NothingMeasured> {
    let mut stays: BTreeMap<(u32, &str, u64), (Operation, Vec<i64>)> = BTreeMap::new();
    for instance in job.matched.instances.iter().filter(|instance| instance.complete) {
        if let Some((operation, ranks, bytes, stay_ns)) = measured(job, instance) {
            stays.entry((ranks, operation.as_str(), bytes)).or_insert_with(|| (operation, Vec::new())).1.push(stay_ns);
        }
    }
    let hosts = hosts(job);
    let mut found: Vec<Samples> = Vec::new();
    for (place, ((ranks, _, bytes), (operation, mut times))) in stays.into_iter().enumerate() {
        times.sort_unstable();
        let row = operation.sample(place + 1, ranks, bytes, Span::from_nanos(times[times.len() / 2]));
        match found.last_mut().filter(|last| last.operation == operation && last.ranks == ranks) {
            Some(last) => last.rows.push(row),
            None => found.push(Samples { operation, ranks, hosts, rows: vec![row] }),
        }
    }
    match found.is_empty() {
        true => Err(NothingMeasured),
        false => Ok(found),
    }
}

/// Operation, ranks, bytes of the buffer and shortest stay.
fn measured(job: &Job, instance: &Instance) -> Option<(Operation, u32, u64, i64)> {
    let members = || instance.members.iter().map(|member| job.collectives[member.rank()].collectives.stay(member.collective()));
    let operation = match members().next()?.kind {
        Kind::AllReduce => Operation::AllReduce,
        Kind::AllGather => Operation::AllGather,
        Kind::ReduceScatter => Operation::ReduceScatter,
        Kind::AllToAll => Operation::AllToAll,
        _ => return None,
    };
    let ranks = u32::try_from(instance.members.len()).ok().filter(|ranks| *ranks > 1)?;
    // Of an uneven exchange the fullest port counts.
    let bytes = members().filter_map(|collective| collective.bytes(ranks)).max().filter(|bytes| *bytes > 0)?;
    let stay_ns = members().map(|collective| collective.dur_ns()).min().filter(|stay_ns| *stay_ns > 0)?;
    Some((operation, ranks, bytes, stay_ns))
}

/// Hosts of the run, where every trace names its own.
fn hosts(job: &Job) -> Option<u32> {
    let names: Option<Vec<&str>> = job.ranks.iter().map(|rank| rank.about.host.as_deref()).collect();
    let mut names = names?;
    names.sort_unstable();
    names.dedup();
    u32::try_from(names.len()).ok()
}
