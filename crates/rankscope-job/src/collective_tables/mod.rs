//! Tables of a job's collectives: one pass over all of them, in order of time, of which each table that was asked for takes what it is about.
//!
//! A rank's time in a matched collective is split in two: its *wait* until the last rank has come, on the job's clock and no longer than it
//! stayed, and its *transfer*, the rest. So both together are the time that the rank's own clock measured, to the nanosecond, and what the
//! clocks may be off moves time between the two and nowhere else. What is not matched is neither, and counted by itself.
//!
//! Work grows with the parts that ranks have in collectives. Nothing here matches, aligns or decides who is late.

mod clock_error;
mod groups;
mod instances;
mod long;
mod seen;
mod sizes;
mod spread;
mod stragglers;
mod summary;
mod uneven;

pub(crate) use self::seen::{GroupFacts, groups, whom};

use rankscope_document::CollectiveTables;

use self::groups::Groups;
use self::instances::Instances;
use self::long::Long;
use self::seen::{Scene, Seen, in_order};
use self::sizes::Sizes;
use self::stragglers::Stragglers;
use self::summary::Summary;
use self::uneven::Uneven;
use crate::{Job, JobTable};

/// What a table gathers.
trait Gathers<'a> {
    /// Takes of the next collective what it needs.
    fn add(&mut self, scene: &Scene<'a>, seen: &Seen<'a>);
}

/// Leaves of `tables` those that were `chosen`.
pub(crate) fn select(tables: &mut Option<CollectiveTables>, chosen: &[JobTable]) {
    tables.take_if(|_| chosen.is_empty());
    let Some(tables) = tables else { return };
    let unless = |table: JobTable| !chosen.contains(&table);
    tables.nccl_summary_implicit_sync.take_if(|_| unless(JobTable::CollectiveSummary));
    tables.nccl_summary_long.take_if(|_| unless(JobTable::RankCollectiveSummary));
    tables.nccl_implicit_sync.take_if(|_| unless(JobTable::Collectives));
    tables.nccl_long.take_if(|_| unless(JobTable::RankCollectives));
    tables.straggler_summary.take_if(|_| unless(JobTable::Stragglers));
    tables.nccl_summary_all2allv.take_if(|_| unless(JobTable::UnevenSummary));
    tables.nccl_all2allv.take_if(|_| unless(JobTable::Uneven));
    tables.nccl_all2allv_heatmap.take_if(|_| unless(JobTable::Heatmap));
    tables.by_group.take_if(|_| unless(JobTable::Groups));
    tables.by_parallelism.take_if(|_| unless(JobTable::Parallelism));
    tables.size_classes.take_if(|_| unless(JobTable::SizeClasses));
}

/// The tables of `job`'s collectives that were `chosen`; none where none is.
pub(crate) fn collective_tables(job: &Job, chosen: &[JobTable]) -> Option<CollectiveTables> {
    if chosen.is_empty() {
        return None;
    }
    let order = in_order(job);
    let scene = Scene::of(job, &order);
    let wanted = |table: JobTable| chosen.contains(&table);
    let mut summary = wanted(JobTable::CollectiveSummary).then(Summary::default);
    let mut long = wanted(JobTable::RankCollectiveSummary).then(Long::default);
    let mut instances = Instances::of(wanted(JobTable::Collectives), wanted(JobTable::RankCollectives));
    let mut stragglers = wanted(JobTable::Stragglers).then(|| Stragglers::of(&scene));
    let mut uneven = Uneven::of(wanted(JobTable::UnevenSummary), wanted(JobTable::Uneven), wanted(JobTable::Heatmap));
    let mut groups = (wanted(JobTable::Groups) || wanted(JobTable::Parallelism)).then(|| Groups::of(&scene));
    let mut sizes = wanted(JobTable::SizeClasses).then(Sizes::default);
    scene.each(|seen| {
        let gatherers: [Option<&mut dyn Gathers<'_>>; 7] = [
            summary.as_mut().map(|table| table as _),
            long.as_mut().map(|table| table as _),
            Some(&mut instances),
            stragglers.as_mut().map(|table| table as _),
            Some(&mut uneven),
            groups.as_mut().map(|table| table as _),
            sizes.as_mut().map(|table| table as _),
        ];
        gatherers.into_iter().flatten().for_each(|table| table.add(&scene, seen));
    });
    let (by_group, by_parallelism) = groups.map(|groups| groups.rows(&scene)).unzip();
    let (uneven_summary, uneven_rows, pairs) = uneven.rows(&scene);
    Some(CollectiveTables {
        origin_ns: scene.origin_ns,
        nccl_summary_implicit_sync: summary.map(|table| table.rows(&scene)),
        nccl_summary_long: long.map(|table| table.rows(&scene)),
        nccl_implicit_sync: instances.collectives,
        nccl_long: instances.parts,
        straggler_summary: stragglers.map(|table| table.rows(&scene)),
        nccl_summary_all2allv: uneven_summary,
        nccl_all2allv: uneven_rows,
        nccl_all2allv_heatmap: pairs,
        by_group: by_group.filter(|_| wanted(JobTable::Groups)),
        by_parallelism: by_parallelism.filter(|_| wanted(JobTable::Parallelism)),
        size_classes: sizes.map(|table| table.rows(&scene)),
        nccl_long_left_out: instances.left_out,
    })
}
