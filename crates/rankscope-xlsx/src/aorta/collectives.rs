//! The workbook of collectives: the tables of them that the document has, and where it has none, what its collectives tell: a row a
//! group, a row a collective, a row a rank.

use rankscope_document::{CollectiveGroup, CollectiveInstance, Document, RankArrivals};

use crate::book::{Book, Sheet};
use crate::column::{Cell, Column, Kind};
use crate::{Error, tables};

pub(super) fn add(book: &mut Book, document: &Document) -> Result<(), Error> {
    tables::add_of_job(book, document, &[tables::OF_COLLECTIVES])?;
    missing(book, groups(document))?;
    missing(book, instances(document))?;
    missing(book, ranks(document))
}

/// Adds `sheet` if none is called so.
fn missing<R>(book: &mut Book, sheet: Sheet<'_, R>) -> Result<(), Error> {
    if book.has(&sheet.name) { Ok(()) } else { book.add(sheet) }
}

fn groups(document: &Document) -> Sheet<'_, &CollectiveGroup> {
    Sheet {
        name: "nccl_summary_implicit_sync".to_owned(),
        about: "",
        columns: vec![
            Column::<&CollectiveGroup>::new("Collective name", Kind::Text(28), |group| Cell::text(&group.name)),
            Column::<&CollectiveGroup>::new("dtype", Kind::Text(12), |group| Cell::text(&group.dtype)),
            Column::<&CollectiveGroup>::new("In msg nelems", Kind::Count, |group| count(group.in_elements)),
            Column::<&CollectiveGroup>::new("Process Group Name", Kind::Text(20), |group| Cell::text(&group.process_group)),
            Column::<&CollectiveGroup>::new("Group size", Kind::Count, |group| Cell::count(group.ranks)),
            Column::<&CollectiveGroup>::new("Full msg size (MB)", Kind::MiB, |group| count(group.bytes)),
            Column::<&CollectiveGroup>::new("comm_latency_mean", Kind::Us, |group| Cell::maybe(group.transfer_ns_mean)),
            Column::<&CollectiveGroup>::new("skew in start time_mean", Kind::Us, |group| Cell::maybe(group.start_skew_ns_mean)),
            Column::<&CollectiveGroup>::new("skew in end time_max", Kind::Us, |group| {
                group.end_skew_ns_max.map_or(Cell::Empty, Cell::ns)
            }),
            Column::<&CollectiveGroup>::new("algo bw (GB/s)_mean", Kind::Rate, |group| Cell::maybe(group.algbw_gbps_mean)),
            Column::<&CollectiveGroup>::new("bus bw (GB/s)_mean", Kind::Rate, |group| Cell::maybe(group.busbw_gbps_mean)),
            Column::<&CollectiveGroup>::new("count", Kind::Count, |group| Cell::count(group.matched)),
            Column::<&CollectiveGroup>::new("Total comm latency (ms)", Kind::Ms, |group| {
                Cell::maybe(group.transfer_ns_mean.map(|mean| mean * group.matched as f64))
            }),
        ],
        rows: document.collectives.groups.iter().filter(|group| group.matched > 0).collect(),
    }
}

/// A matched collective with its group, and its number among those of its process group.
struct Instance<'a> {
    of: &'a CollectiveInstance,
    group: &'a CollectiveGroup,
    number: usize,
}

fn instances(document: &Document) -> Sheet<'_, Instance<'_>> {
    let collectives = &document.collectives;
    let mut seen = std::collections::HashMap::new();
    let number = |of| -> Option<Instance<'_>> {
        let of: &CollectiveInstance = of;
        let group = collectives.groups.get(of.group)?;
        let next: &mut usize = seen.entry(group.process_group.as_str()).or_default();
        *next += 1;
        Some(Instance { of, group, number: *next - 1 })
    };
    Sheet {
        name: "nccl_implicit_sync".to_owned(),
        about: "",
        columns: vec![
            Column::<Instance<'_>>::new("collective_id", Kind::Text(20), |row| {
                Cell::text(format!("{}_{}", row.group.process_group, row.number))
            }),
            Column::<Instance<'_>>::new("Process Group Name", Kind::Text(20), |row| Cell::text(&row.group.process_group)),
            Column::<Instance<'_>>::new("Collective name", Kind::Text(28), |row| Cell::text(&row.group.name)),
            Column::<Instance<'_>>::new("Group size", Kind::Count, |row| Cell::count(row.group.ranks)),
            Column::<Instance<'_>>::new("dtype", Kind::Text(12), |row| Cell::text(&row.group.dtype)),
            Column::<Instance<'_>>::new("In msg nelems", Kind::Count, |row| count(row.group.in_elements)),
            Column::<Instance<'_>>::new("Full msg size (MB)", Kind::MiB, |row| count(row.group.bytes)),
            Column::<Instance<'_>>::new("comm_latency", Kind::Us, |row| Cell::ns(row.of.transfer_ns)),
            Column::<Instance<'_>>::new("skew in start time", Kind::Us, |row| {
                row.of.wait_ns.iter().max().map_or(Cell::Empty, |most| Cell::ns(*most))
            }),
            Column::<Instance<'_>>::new("earliest arrival rank", Kind::Id, |row| {
                row.of.arrival_order.first().map_or(Cell::Empty, |rank| Cell::count(*rank))
            }),
            Column::<Instance<'_>>::new("skew in end time", Kind::Us, |row| Cell::ns(row.of.end_skew_ns)),
        ],
        rows: collectives.instances.iter().filter_map(number).collect(),
    }
}

fn ranks(document: &Document) -> Sheet<'_, &RankArrivals> {
    let mut rows: Vec<&RankArrivals> = document.collectives.ranks.iter().filter(|rank| rank.matched > 0).collect();
    rows.sort_by_key(|rank| (rank.wait_ns, rank.rank));
    Sheet {
        name: "straggler_summary".to_owned(),
        about: "",
        columns: vec![
            Column::<&RankArrivals>::new("rank", Kind::Id, |rank| Cell::count(rank.rank)),
            Column::<&RankArrivals>::new("total_wait_time_us", Kind::Us, |rank| Cell::ns(rank.wait_ns)),
            Column::<&RankArrivals>::new("mean_wait_time_us", Kind::Us, |rank| {
                Cell::Number(rank.wait_ns as f64 / rank.matched as f64)
            }),
            Column::<&RankArrivals>::new("times_arrived_last", Kind::Count, |rank| Cell::count(rank.last)),
            Column::<&RankArrivals>::new("times_arrived_first", Kind::Count, |rank| Cell::count(rank.first)),
            Column::<&RankArrivals>::new("pct_arrived_last", Kind::Percent, |rank| {
                Cell::percent_of(rank.last as f64, rank.matched as f64)
            }),
            Column::<&RankArrivals>::new("num_collectives", Kind::Count, |rank| Cell::count(rank.matched)),
        ],
        rows,
    }
}

fn count<'a>(number: Option<u64>) -> Cell<'a> {
    number.map_or(Cell::Empty, Cell::count)
}
