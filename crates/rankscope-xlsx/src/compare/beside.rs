//! Sheets of figures of two sides, by the names that aorta's columns have.

use rankscope_document::{Beside, CollectiveBeside, RankCollectiveBeside, SideBySide, TimeBeside};

use super::sign;
use crate::book::Sheet;
use crate::column::{Cell, Column, Kind};

/// Reads one figure of a row.
type Of<R> = fn(&R) -> &Beside;

/// `Comparison_By_Rank`.
pub(super) fn by_rank(beside: &SideBySide) -> Sheet<'_, &TimeBeside> {
    let mut columns = vec![Column::<&TimeBeside>::new("rank", Kind::Id, |row| row.rank.map_or(Cell::Empty, Cell::count))];
    columns.extend(times(beside, true));
    Sheet {
        name: String::new(),
        about: "Time of each rank by class on both sides",
        columns,
        rows: beside.ranks.iter().collect(),
    }
}

/// `Summary_Comparison`.
pub(super) fn summary(beside: &SideBySide) -> Sheet<'_, &TimeBeside> {
    let is_aorta = beside.convention == rankscope_document::Convention::Aorta;
    let columns = times(beside, !is_aorta);
    Sheet { name: String::new(), about: "The mean of all ranks by class", columns, rows: beside.summary.iter().collect() }
}

fn times(beside: &SideBySide, has_status: bool) -> Vec<Column<'_, &TimeBeside>> {
    let mut columns = vec![
        Column::<&TimeBeside>::new("type", Kind::Text(22), |row| Cell::text(&row.name)),
        Column::<&TimeBeside>::new(format!("{}_time_ms", beside.base), Kind::Ms, |row| Cell::maybe(row.time.base)),
        Column::<&TimeBeside>::new(format!("{}_time_ms", beside.test), Kind::Ms, |row| Cell::maybe(row.time.test)),
        Column::<&TimeBeside>::new("diff_time_ms", Kind::Ms, |row| Cell::maybe(row.time.diff)),
        Column::<&TimeBeside>::new("percent_change", Kind::Percent, |row| Cell::maybe(row.time.percent_change)),
    ];
    if has_status {
        columns.push(Column::<&TimeBeside>::new("status", Kind::Verdict, |row| Cell::text(row.status.as_str())));
    }
    columns.extend([
        Column::<&TimeBeside>::new("ratio", Kind::Rate, |row| Cell::maybe(row.time.ratio)),
        Column::<&TimeBeside>::new(format!("{}_percent", beside.base), Kind::Percent, |row| Cell::maybe(row.base_percent)),
        Column::<&TimeBeside>::new(format!("{}_percent", beside.test), Kind::Percent, |row| Cell::maybe(row.test_percent)),
        Column::<&TimeBeside>::new("diff_percent", Kind::Percent, |row| Cell::maybe(row.diff_percent)),
    ]);
    columns.push(of_sign(beside));
    columns
}

/// `nccl_implicit_sync_cmp`.
pub(super) fn collectives(beside: &SideBySide) -> Sheet<'_, &CollectiveBeside> {
    let mut columns = vec![
        Column::<&CollectiveBeside>::new("Collective name", Kind::Text(28), |row| Cell::text(&row.name)),
        Column::<&CollectiveBeside>::new("dtype", Kind::Text(12), |row| Cell::text(&row.dtype)),
        Column::<&CollectiveBeside>::new("In msg nelems", Kind::Count, |row| row.in_elements.map_or(Cell::Empty, Cell::count)),
    ];
    const FIGURES: [(&str, Kind, bool, Of<CollectiveBeside>); 5] = [
        ("comm_latency_mean", Kind::Us, true, |row| &row.latency),
        ("algo bw (GB/s)_mean", Kind::Rate, true, |row| &row.algbw),
        ("bus bw (GB/s)_mean", Kind::Rate, true, |row| &row.busbw),
        ("Total comm latency (ms)", Kind::Ms, true, |row| &row.total),
        ("count", Kind::Count, false, |row| &row.count),
    ];
    for (name, kind, has_percent, of) in FIGURES {
        columns.extend(figure(beside, name, kind, has_percent, move |row: &&CollectiveBeside| of(row)));
    }
    columns.push(Column::<&CollectiveBeside>::new("status", Kind::Verdict, |row| Cell::text(row.status.as_str())));
    if beside.collectives.iter().any(|row| row.process_group.is_some()) {
        columns.push(Column::<&CollectiveBeside>::new("Process Group Name", Kind::Text(20), |row| {
            Cell::maybe_text(row.process_group.as_deref())
        }));
    }
    columns.push(of_sign(beside));
    Sheet {
        name: String::new(),
        about: "Collectives by name, type and size: latency in µs once all ranks have come",
        columns,
        rows: beside.collectives.iter().collect(),
    }
}

/// `nccl_long_cmp`, which has the metrics that its table has.
pub(super) fn rank_collectives(beside: &SideBySide) -> Sheet<'_, &RankCollectiveBeside> {
    let mut columns = vec![
        Column::<&RankCollectiveBeside>::new("Collective name", Kind::Text(28), |row| Cell::text(&row.name)),
        Column::<&RankCollectiveBeside>::new("dtype", Kind::Text(12), |row| Cell::text(&row.dtype)),
        Column::<&RankCollectiveBeside>::new("In msg nelems", Kind::Count, |row| {
            row.in_elements.map_or(Cell::Empty, Cell::count)
        }),
        Column::<&RankCollectiveBeside>::new("rank", Kind::Id, |row| row.rank.map_or(Cell::Empty, Cell::count)),
    ];
    const FIGURES: [(&str, Kind, bool, Of<RankCollectiveBeside>); 5] = [
        ("dur_sum", Kind::Us, true, |row| &row.sum),
        ("dur_mean", Kind::Us, true, |row| &row.mean),
        ("dur_min", Kind::Us, true, |row| &row.min),
        ("dur_max", Kind::Us, true, |row| &row.max),
        ("operation_count", Kind::Count, false, |row| &row.count),
    ];
    for (name, kind, has_percent, of) in FIGURES {
        columns.extend(figure(beside, name, kind, has_percent, move |row: &&RankCollectiveBeside| of(row)));
    }
    if beside.rank_collectives.iter().any(|row| row.process_group.is_some()) {
        columns.push(Column::<&RankCollectiveBeside>::new("Process Group Name", Kind::Text(20), |row| {
            Cell::maybe_text(row.process_group.as_deref())
        }));
    }
    columns.push(of_sign(beside));
    Sheet {
        name: String::new(),
        about: "Time of each rank in collectives by name, type and size, waiting included, in µs",
        columns,
        rows: beside.rank_collectives.iter().collect(),
    }
}

/// The columns of one figure: of the base, of the test, and what is between them.
fn figure<'a, R: 'a>(
    beside: &SideBySide,
    name: &str,
    kind: Kind,
    has_percent: bool,
    of: impl Fn(&R) -> &Beside + Copy + 'a,
) -> Vec<Column<'a, R>> {
    let mut columns = vec![
        Column::new(format!("{}_{name}", beside.base), kind, move |row: &R| Cell::maybe(of(row).base)),
        Column::new(format!("{}_{name}", beside.test), kind, move |row: &R| Cell::maybe(of(row).test)),
        Column::new(format!("diff_{name}"), kind, move |row: &R| Cell::maybe(of(row).diff)),
    ];
    if has_percent {
        columns.push(Column::new(format!("percent_change_{name}"), Kind::Percent, move |row: &R| {
            Cell::maybe(of(row).percent_change)
        }));
    }
    columns.push(Column::new(format!("ratio_{name}"), Kind::Rate, move |row: &R| Cell::maybe(of(row).ratio)));
    columns
}

fn of_sign<'a, R>(beside: &SideBySide) -> Column<'a, R> {
    let text = sign(&beside.convention);
    Column::new("sign", Kind::Text(34), move |_: &R| Cell::text(text))
}
