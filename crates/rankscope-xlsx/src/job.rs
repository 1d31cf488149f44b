//! The tables that every document of a training job has: time by class, steps, collectives, and who waited for whom.

use rankscope_document::{CollectiveGroup, Document, Rank, RankArrivals, Step, Time, spelling};

use crate::Error;
use crate::book::{Book, Sheet};
use crate::column::{Cell, Column, Kind};

/// A row of TraceLens' `gpu_timeline`: its name, and the time.
pub(crate) type TimeOf = (&'static str, fn(&Time) -> i64);

/// The rows of TraceLens' `gpu_timeline`, in its order.
pub(crate) const TIMES: [TimeOf; 8] = [
    ("computation_time", |time| time.computation),
    ("exposed_comm_time", |time| time.exposed_comm),
    ("exposed_memcpy_time", |time| time.exposed_memcpy),
    ("busy_time", |time| time.busy),
    ("idle_time", |time| time.idle),
    ("total_time", |time| time.total),
    ("total_comm_time", |time| time.total_comm),
    ("total_memcpy_time", |time| time.total_memcpy),
];

/// Adds these sheets for what `document` has.
pub(crate) fn add(book: &mut Book, document: &Document) -> Result<(), Error> {
    book.add(gpu_timeline(document.ranks.iter(), true))?;
    book.add(gpu_timeline_ranks(document))?;
    book.add(collectives(document))?;
    book.add(stragglers(document))?;
    book.add(steps(document))
}

/// TraceLens' sheet, of one rank or of several; with `shows_rank`, whose time it is comes first.
pub(crate) fn gpu_timeline<'a>(ranks: impl Iterator<Item = &'a Rank>, shows_rank: bool) -> Sheet<'a, (&'a Rank, TimeOf)> {
    let rank = || Column::<(&Rank, TimeOf)>::new("rank", Kind::Id, |(rank, _)| Cell::count(rank.rank));
    let mut columns: Vec<_> = shows_rank.then(rank).into_iter().collect();
    columns.extend([
        Column::<(&Rank, TimeOf)>::new("type", Kind::Text(22), |(_, (name, _))| Cell::text(*name)),
        Column::<(&Rank, TimeOf)>::new("time ms", Kind::Ms, |(rank, (_, of))| Cell::ns(of(&rank.time_ns))),
        Column::<(&Rank, TimeOf)>::new("percent", Kind::Percent, |(rank, (_, of))| {
            Cell::percent(of(&rank.time_ns), rank.time_ns.total)
        }),
    ]);
    Sheet {
        name: "gpu_timeline".to_owned(),
        about: "Time of each rank by class, a row a class",
        columns,
        rows: ranks.flat_map(|rank| TIMES.map(|time| (rank, time))).collect(),
    }
}

fn gpu_timeline_ranks(document: &Document) -> Sheet<'_, &Rank> {
    Sheet {
        name: "gpu_timeline_ranks".to_owned(),
        about: "The same, a row a rank; times in ms, % of total_time",
        columns: vec![
            Column::<&Rank>::new("rank", Kind::Id, |rank| Cell::count(rank.rank)),
            Column::<&Rank>::new("host", Kind::Text(16), |rank| Cell::maybe_text(rank.host.as_deref())),
            Column::<&Rank>::new("device", Kind::Text(24), |rank| Cell::maybe_text(rank.device.as_deref())),
            Column::<&Rank>::new("computation_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.computation)),
            Column::<&Rank>::new("exposed_comm_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_comm)),
            Column::<&Rank>::new("exposed_memcpy_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_memcpy)),
            Column::<&Rank>::new("busy_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.busy)),
            Column::<&Rank>::new("idle_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.idle)),
            Column::<&Rank>::new("total_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.total)),
            Column::<&Rank>::new("total_comm_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.total_comm)),
            Column::<&Rank>::new("total_memcpy_time", Kind::Ms, |rank| Cell::ns(rank.time_ns.total_memcpy)),
            percent("computation %", |time| time.computation),
            percent("exposed_comm %", |time| time.exposed_comm),
            percent("exposed_memcpy %", |time| time.exposed_memcpy),
            percent("idle %", |time| time.idle),
        ],
        rows: document.ranks.iter().collect(),
    }
}

fn percent<'a>(header: &'static str, of: fn(&Time) -> i64) -> Column<'a, &'a Rank> {
    Column::new(header, Kind::Percent, move |rank: &&Rank| Cell::percent(of(&rank.time_ns), rank.time_ns.total))
}

fn steps(document: &Document) -> Sheet<'_, (&Rank, &Step)> {
    Sheet {
        name: "steps".to_owned(),
        about: "Time of each step of each rank by class; times in ms",
        columns: vec![
            Column::<(&Rank, &Step)>::new("rank", Kind::Id, |(rank, _)| Cell::count(rank.rank)),
            Column::<(&Rank, &Step)>::new("step", Kind::Id, |(_, step)| Cell::Number(step.step as f64)),
            Column::<(&Rank, &Step)>::new("computation_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.computation)),
            Column::<(&Rank, &Step)>::new("exposed_comm_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.exposed_comm)),
            Column::<(&Rank, &Step)>::new("exposed_memcpy_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.exposed_memcpy)),
            Column::<(&Rank, &Step)>::new("busy_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.busy)),
            Column::<(&Rank, &Step)>::new("idle_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.idle)),
            Column::<(&Rank, &Step)>::new("total_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.total)),
            Column::<(&Rank, &Step)>::new("total_comm_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.total_comm)),
            Column::<(&Rank, &Step)>::new("total_memcpy_time", Kind::Ms, |(_, step)| Cell::ns(step.time_ns.total_memcpy)),
            Column::<(&Rank, &Step)>::new("idle %", Kind::Percent, |(_, step)| {
                Cell::percent(step.time_ns.idle, step.time_ns.total)
            }),
        ],
        rows: document.ranks.iter().flat_map(|rank| rank.steps.iter().map(move |step| (rank, step))).collect(),
    }
}

fn collectives(document: &Document) -> Sheet<'_, &CollectiveGroup> {
    Sheet {
        name: "collectives".to_owned(),
        about: "Collectives by name, type, size and process group; means over the matched ones, exposed summed over ranks",
        columns: vec![
            Column::<&CollectiveGroup>::new("Collective name", Kind::Text(28), |group| Cell::text(&group.name)),
            Column::<&CollectiveGroup>::new("kind", Kind::Text(16), |group| Cell::text(group.kind.as_str())),
            Column::<&CollectiveGroup>::new("dtype", Kind::Text(12), |group| Cell::text(&group.dtype)),
            Column::<&CollectiveGroup>::new("In msg nelems", Kind::Count, |group| {
                Cell::maybe(group.in_elements.map(|count| count as f64))
            }),
            Column::<&CollectiveGroup>::new("bytes", Kind::Count, |group| Cell::maybe(group.bytes.map(|bytes| bytes as f64))),
            Column::<&CollectiveGroup>::new("Group size", Kind::Count, |group| Cell::count(group.ranks)),
            Column::<&CollectiveGroup>::new("Process Group Name", Kind::Text(24), |group| Cell::text(&group.process_group)),
            Column::<&CollectiveGroup>::new("count", Kind::Count, |group| Cell::count(group.count)),
            Column::<&CollectiveGroup>::new("matched", Kind::Count, |group| Cell::count(group.matched)),
            Column::<&CollectiveGroup>::new("transfer mean (µs)", Kind::Us, |group| Cell::maybe(group.transfer_ns_mean)),
            Column::<&CollectiveGroup>::new("wait mean (µs)", Kind::Us, |group| Cell::maybe(group.wait_ns_mean)),
            Column::<&CollectiveGroup>::new("start skew mean (µs)", Kind::Us, |group| Cell::maybe(group.start_skew_ns_mean)),
            Column::<&CollectiveGroup>::new("algorithm bandwidth mean (GB/s)", Kind::Rate, |group| {
                Cell::maybe(group.algbw_gbps_mean)
            }),
            Column::<&CollectiveGroup>::new("bus bandwidth mean (GB/s)", Kind::Rate, |group| {
                Cell::maybe(group.busbw_gbps_mean)
            }),
            Column::<&CollectiveGroup>::new("exposed (ms)", Kind::Ms, |group| Cell::ns(group.exposed_ns)),
        ],
        rows: document.collectives.groups.iter().collect(),
    }
}

/// Whether any rank took part in a collective whose arrivals can be compared.
fn compared(document: &Document) -> bool {
    document.collectives.ranks.iter().any(|rank| rank.matched > 0)
}

fn stragglers(document: &Document) -> Sheet<'_, &RankArrivals> {
    Sheet {
        name: "stragglers".to_owned(),
        about: "How long each rank kept the others waiting, and how often it came last; most delay first",
        columns: straggler_columns(),
        rows: latest(document),
    }
}

/// What a table says of a rank's arrivals.
pub(crate) fn straggler_columns<'a>() -> Vec<Column<'a, &'a RankArrivals>> {
    vec![
        Column::<&RankArrivals>::new("rank", Kind::Id, |rank| Cell::count(rank.rank)),
        Column::<&RankArrivals>::new("delay caused (ms)", Kind::Ms, |rank| Cell::ns(rank.delay_ns)),
        Column::<&RankArrivals>::new("came last", Kind::Count, |rank| Cell::count(rank.last)),
        Column::<&RankArrivals>::new("came first", Kind::Count, |rank| Cell::count(rank.first)),
        Column::<&RankArrivals>::new("collectives", Kind::Count, |rank| Cell::count(rank.matched)),
        Column::<&RankArrivals>::new("waited (ms)", Kind::Ms, |rank| Cell::ns(rank.wait_ns)),
    ]
}

/// The ranks by the delay that they caused, most first; none where nothing can be compared.
pub(crate) fn latest(document: &Document) -> Vec<&RankArrivals> {
    let mut ranks: Vec<&RankArrivals> = document.collectives.ranks.iter().filter(|_| compared(document)).collect();
    ranks.sort_by_key(|rank| (std::cmp::Reverse((rank.delay_ns, rank.last)), rank.rank));
    ranks
}

/// What the dashboard says of a group of collectives.
pub(crate) fn exposed_columns<'a>() -> Vec<Column<'a, &'a CollectiveGroup>> {
    vec![
        Column::<&CollectiveGroup>::new("collective", Kind::Text(24), |group| {
            Cell::text(spelling::collective(&group.name, group.kind.as_str()))
        }),
        Column::<&CollectiveGroup>::new("type", Kind::Text(12), |group| Cell::text(spelling::dtype(&group.dtype))),
        Column::<&CollectiveGroup>::new("bytes", Kind::Count, |group| Cell::maybe(group.bytes.map(|bytes| bytes as f64))),
        Column::<&CollectiveGroup>::new("ranks", Kind::Count, |group| Cell::count(group.ranks)),
        Column::<&CollectiveGroup>::new("count", Kind::Count, |group| Cell::count(group.count)),
        Column::<&CollectiveGroup>::new("exposed (ms)", Kind::Ms, |group| Cell::ns(group.exposed_ns)),
        Column::<&CollectiveGroup>::new("bus bw (GB/s)", Kind::Rate, |group| Cell::maybe(group.busbw_gbps_mean)),
    ]
}

/// The groups of collectives by exposed time, most first.
pub(crate) fn most_exposed(document: &Document) -> Vec<&CollectiveGroup> {
    let mut groups: Vec<&CollectiveGroup> = document.collectives.groups.iter().collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.exposed_ns), std::cmp::Reverse(group.count)));
    groups
}
