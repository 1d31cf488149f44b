//! The tables that every document of a training job has: time by class, steps, collectives, and who waited for whom.

use rankscope_document::{CollectiveGroup, Document, Rank, RankArrivals, Step, spelling};

use crate::Error;
use crate::book::{Book, Sheet};
use crate::column::{Cell, Column, Kind, TIMES, TimeOf};

/// Adds these sheets for what `document` has.
pub(crate) fn add(book: &mut Book, document: &Document) -> Result<(), Error> {
    book.add(&gpu_timeline(document))?;
    book.add(&gpu_timeline_ranks(document))?;
    book.add(&collectives(document))?;
    book.add(&stragglers(document))?;
    book.add(&steps(document))
}

fn gpu_timeline(document: &Document) -> Sheet<(&Rank, TimeOf)> {
    Sheet {
        name: "gpu_timeline",
        about: "Time of each rank by class, a row a class",
        columns: vec![
            Column::new("rank", Kind::Id, |(rank, _): &(&Rank, TimeOf)| Cell::count(rank.rank)),
            Column::new("type", Kind::Text(22), |(_, (name, _))| Cell::text(*name)),
            Column::new("time ms", Kind::Ms, |(rank, (_, of))| Cell::ns(of(&rank.time_ns))),
            Column::new("percent", Kind::Percent, |(rank, (_, of))| Cell::percent(of(&rank.time_ns), rank.time_ns.total)),
        ],
        rows: document.ranks.iter().flat_map(|rank| TIMES.map(|time| (rank, time))).collect(),
    }
}

fn gpu_timeline_ranks(document: &Document) -> Sheet<&Rank> {
    Sheet {
        name: "gpu_timeline_ranks",
        about: "The same, a row a rank; times in ms, % of total_time",
        columns: vec![
            Column::new("rank", Kind::Id, |rank: &&Rank| Cell::count(rank.rank)),
            Column::new("host", Kind::Text(16), |rank| Cell::maybe_text(rank.host.as_deref())),
            Column::new("device", Kind::Text(24), |rank| Cell::maybe_text(rank.device.as_deref())),
            Column::new("computation_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.computation)),
            Column::new("exposed_comm_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_comm)),
            Column::new("exposed_memcpy_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_memcpy)),
            Column::new("busy_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.busy)),
            Column::new("idle_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.idle)),
            Column::new("total_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.total)),
            Column::new("total_comm_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.total_comm)),
            Column::new("total_memcpy_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.total_memcpy)),
            percent("computation %", |rank| Cell::percent(rank.time_ns.computation, rank.time_ns.total)),
            percent("exposed_comm %", |rank| Cell::percent(rank.time_ns.exposed_comm, rank.time_ns.total)),
            percent("exposed_memcpy %", |rank| Cell::percent(rank.time_ns.exposed_memcpy, rank.time_ns.total)),
            percent("idle %", |rank| Cell::percent(rank.time_ns.idle, rank.time_ns.total)),
        ],
        rows: document.ranks.iter().collect(),
    }
}

fn percent<'a>(header: &'static str, of: for<'r> fn(&'r &'a Rank) -> Cell<'r>) -> Column<&'a Rank> {
    Column::new(header, Kind::Percent, of)
}

fn steps(document: &Document) -> Sheet<(&Rank, &Step)> {
    Sheet {
        name: "steps",
        about: "Time of each step of each rank by class; times in ms",
        columns: vec![
            Column::new("rank", Kind::Id, |(rank, _): &(&Rank, &Step)| Cell::count(rank.rank)),
            Column::new("step", Kind::Id, |(_, step)| Cell::Number(step.step as f64)),
            Column::new("computation_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.computation)),
            Column::new("exposed_comm_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.exposed_comm)),
            Column::new("exposed_memcpy_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.exposed_memcpy)),
            Column::new("busy_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.busy)),
            Column::new("idle_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.idle)),
            Column::new("total_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.total)),
            Column::new("total_comm_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.total_comm)),
            Column::new("total_memcpy_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.total_memcpy)),
            Column::new("idle %", Kind::Percent, |(_, step)| Cell::percent(step.time_ns.idle, step.time_ns.total)),
        ],
        rows: document.ranks.iter().flat_map(|rank| rank.steps.iter().map(move |step| (rank, step))).collect(),
    }
}

fn collectives(document: &Document) -> Sheet<&CollectiveGroup> {
    Sheet {
        name: "collectives",
        about: "Collectives by name, type, size and process group; means over the matched ones, exposed summed over ranks",
        columns: vec![
            Column::new("Collective name", Kind::Text(28), |group: &&CollectiveGroup| Cell::text(&group.name)),
            Column::new("kind", Kind::Text(16), |group| Cell::text(group.kind.as_str())),
            Column::new("dtype", Kind::Text(12), |group| Cell::text(&group.dtype)),
            Column::new("In msg nelems", Kind::Count, |group| Cell::maybe(group.in_elements.map(|count| count as f64))),
            Column::new("bytes", Kind::Count, |group| Cell::maybe(group.bytes.map(|bytes| bytes as f64))),
            Column::new("Group size", Kind::Count, |group| Cell::count(group.ranks)),
            Column::new("Process Group Name", Kind::Text(24), |group| Cell::text(&group.process_group)),
            Column::new("count", Kind::Count, |group| Cell::count(group.count)),
            Column::new("matched", Kind::Count, |group| Cell::count(group.matched)),
            Column::new("transfer mean (µs)", Kind::Us, |group| Cell::maybe(group.transfer_ns_mean)),
            Column::new("wait mean (µs)", Kind::Us, |group| Cell::maybe(group.wait_ns_mean)),
            Column::new("start skew mean (µs)", Kind::Us, |group| Cell::maybe(group.start_skew_ns_mean)),
            Column::new("algorithm bandwidth mean (GB/s)", Kind::Rate, |group| Cell::maybe(group.algbw_gbps_mean)),
            Column::new("bus bandwidth mean (GB/s)", Kind::Rate, |group| Cell::maybe(group.busbw_gbps_mean)),
            Column::new("exposed (ms)", Kind::Ms, |group| Cell::ns(group.exposed_ns)),
        ],
        rows: document.collectives.groups.iter().collect(),
    }
}

/// Whether any rank took part in a collective whose arrivals can be compared.
fn compared(document: &Document) -> bool {
    document.collectives.ranks.iter().any(|rank| rank.matched > 0)
}

fn stragglers(document: &Document) -> Sheet<&RankArrivals> {
    Sheet {
        name: "stragglers",
        about: "How long each rank kept the others waiting, and how often it came last; most delay first",
        columns: straggler_columns(),
        rows: latest(document),
    }
}

/// What a table says of a rank's arrivals.
pub(crate) fn straggler_columns<'a>() -> Vec<Column<&'a RankArrivals>> {
    vec![
        Column::new("rank", Kind::Id, |rank: &&RankArrivals| Cell::count(rank.rank)),
        Column::new("delay caused (ms)", Kind::Ms, |rank| Cell::ns(rank.delay_ns)),
        Column::new("came last", Kind::Count, |rank| Cell::count(rank.last)),
        Column::new("came first", Kind::Count, |rank| Cell::count(rank.first)),
        Column::new("collectives", Kind::Count, |rank| Cell::count(rank.matched)),
        Column::new("waited (ms)", Kind::Ms, |rank| Cell::ns(rank.wait_ns)),
    ]
}

/// The ranks by the delay that they caused, most first; none where nothing can be compared.
pub(crate) fn latest(document: &Document) -> Vec<&RankArrivals> {
    let mut ranks: Vec<&RankArrivals> = document.collectives.ranks.iter().filter(|_| compared(document)).collect();
    ranks.sort_by_key(|rank| (std::cmp::Reverse((rank.delay_ns, rank.last)), rank.rank));
    ranks
}

/// What the dashboard says of a group of collectives.
pub(crate) fn exposed_columns<'a>() -> Vec<Column<&'a CollectiveGroup>> {
    vec![
        Column::new("collective", Kind::Text(24), |group: &&CollectiveGroup| {
            Cell::text(spelling::collective(&group.name, group.kind.as_str()))
        }),
        Column::new("type", Kind::Text(12), |group| Cell::text(spelling::dtype(&group.dtype))),
        Column::new("bytes", Kind::Count, |group| Cell::maybe(group.bytes.map(|bytes| bytes as f64))),
        Column::new("ranks", Kind::Count, |group| Cell::count(group.ranks)),
        Column::new("count", Kind::Count, |group| Cell::count(group.count)),
        Column::new("exposed (ms)", Kind::Ms, |group| Cell::ns(group.exposed_ns)),
        Column::new("bus bw (GB/s)", Kind::Rate, |group| Cell::maybe(group.busbw_gbps_mean)),
    ]
}

/// The groups of collectives by exposed time, most first.
pub(crate) fn most_exposed(document: &Document) -> Vec<&CollectiveGroup> {
    let mut groups: Vec<&CollectiveGroup> = document.collectives.groups.iter().collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.exposed_ns), std::cmp::Reverse(group.count)));
    groups
}
