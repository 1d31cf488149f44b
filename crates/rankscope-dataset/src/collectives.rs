//! The table `collectives`: every rank's part in every collective, matched or not, on the job's clock.

use std::collections::BTreeMap;

use rankscope_align::RankMap;
use rankscope_analyze::{Arrival, Lineup};
use rankscope_collectives::{CollectiveStay, Group, Instance, Member};
use rankscope_job::Job;
use rankscope_time::Instant;

use crate::clock::err_ns;
use crate::events::step_at;
use crate::groups::{NO_GROUP, bucket};
use crate::{Frame, GROUP_ROWS, Table};

/// One row on its way.
struct Row<'a> {
    number: i64,
    index: usize,
    one: CollectiveStay<'a>,
    group: &'a Group,
    exposed_ns: i64,
    complete: bool,
    /// Wait, lead and transfer, where the collective is complete.
    lined_up: Option<(i64, i64, i64)>,
}

/// The rows of `job`, whose collectives are still there, by the value of `group_hash`; in each by the collective, then by the rank.
/// Never empty.
pub fn collectives(job: &Job) -> BTreeMap<String, Vec<Frame>> {
    let maps: Vec<&RankMap> = job.clocks.ranks.iter().map(|clock| &clock.map).collect();
    let mut buckets: BTreeMap<String, Vec<Row<'_>>> = BTreeMap::new();
    let names: Vec<String> = job.matched.groups.iter().map(bucket).collect();
    let mut number = 0;
    Lineup::of(&job.collectives, &maps).each(&job.matched.instances, |instance, arrival| {
        let arrival = Some(arrival).filter(|_| instance.complete);
        let rows = rows(job, number, instance, arrival.as_ref());
        number += 1;
        match buckets.get_mut(&names[instance.group]) {
            Some(known) => known.extend(rows),
            None => {
                buckets.insert(names[instance.group].clone(), rows);
            }
        }
    });
    if buckets.is_empty() {
        buckets.insert(NO_GROUP.to_owned(), Vec::new());
    }
    let frames = |rows: Vec<Row<'_>>| match rows.is_empty() {
        true => vec![frame(job, &[])],
        false => rows.chunks(GROUP_ROWS).map(|rows| frame(job, rows)).collect(),
    };
    buckets.into_iter().map(|(name, rows)| (name, frames(rows))).collect()
}

fn rows<'a>(job: &'a Job, number: i64, instance: &'a Instance, arrival: Option<&Arrival>) -> Vec<Row<'a>> {
    let row = |member: Member| {
        let index = member.rank();
        let exposed = &job.ranks[index].report.exposed_ns;
        Row {
            number,
            index,
            one: job.collectives[index].collectives.stay(member.collective()),
            group: &job.matched.groups[instance.group],
            exposed_ns: exposed.get(member.collective()).unwrap_or(0),
            complete: instance.complete,
            lined_up: arrival.and_then(|arrival| lined_up(arrival, index)),
        }
    };
    instance.members.iter().map(row).collect()
}

/// Wait, lead and transfer of the rank at `index`.
fn lined_up(arrival: &Arrival, index: usize) -> Option<(i64, i64, i64)> {
    let at = arrival.order.iter().position(|(rank, _)| rank == index)?;
    let is_last = at + 1 == arrival.order.len();
    let before = at.checked_sub(1).filter(|_| is_last).map(|before| arrival.order.wait_ns(before));
    Some((arrival.order.wait_ns(at), before.unwrap_or(0), arrival.transfer_ns))
}

fn frame(job: &Job, rows: &[Row<'_>]) -> Frame {
    let mut cursors: Vec<_> = job.clocks.ranks.iter().map(|clock| clock.map.cursor()).collect();
    let count = |elements: Option<u64>| elements.map(|elements| i64::try_from(elements).unwrap_or(i64::MAX));
    let number = |of: fn(&Row<'_>) -> i64| rows.iter().map(of);
    let lined_up = |of: fn((i64, i64, i64)) -> i64| rows.iter().map(move |row| row.lined_up.map(of));
    let start = |row: &Row<'_>| Instant::from_nanos_since_epoch(row.one.start_ns);
    Frame::of(Table::Collectives)
        .numbers("collective", number(|row| row.number))
        .numbers("rank", rows.iter().map(|row| job.ranks[row.index].rank.0.into()))
        .texts("group_name", rows.iter().map(|row| row.group.name.as_str()))
        .numbers("group_ranks", rows.iter().map(|row| row.group.ranks.len() as i64))
        .maybe_numbers("sequence", rows.iter().map(|row| row.one.sequence.get().map(u64::cast_signed)))
        .texts("name", rows.iter().map(|row| row.one.name.as_str()))
        .texts("kind", rows.iter().map(|row| row.one.kind.name()))
        .texts("dtype", rows.iter().map(|row| row.one.dtype.as_str()))
        .maybe_numbers("in_elements", rows.iter().map(|row| count(row.one.in_elements)))
        .maybe_numbers("out_elements", rows.iter().map(|row| count(row.one.out_elements)))
        .maybe_numbers("payload_bytes", rows.iter().map(|row| count(row.one.bytes(row.group.ranks.len() as u32))))
        .maybe_numbers("peer", rows.iter().map(|row| row.one.peer.map(i64::from)))
        .maybe_numbers("step", rows.iter().map(|row| step_at(&job.ranks[row.index].report.steps, row.one.start_ns)))
        .numbers("ts_ns", rows.iter().map(|row| cursors[row.index].map(start(row)).nanos_since_epoch()))
        .numbers("ts_local_ns", number(|row| row.one.start_ns))
        .numbers("dur_ns", number(|row| row.one.dur_ns()))
        .maybe_numbers("err_ns", rows.iter().map(|row| err_ns(&job.clocks.ranks[row.index], row.one.start_ns)))
        .numbers("exposed_ns", number(|row| row.exposed_ns))
        .with("complete", crate::Values::Flags(rows.iter().map(|row| row.complete).collect()))
        .maybe_numbers("wait_ns", lined_up(|(wait_ns, ..)| wait_ns))
        .maybe_numbers("lead_ns", lined_up(|(_, lead_ns, _)| lead_ns))
        .maybe_numbers("transfer_ns", lined_up(|(.., transfer_ns)| transfer_ns))
}
