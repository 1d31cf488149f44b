//! The workbooks that aorta's scripts make of two configurations, under their names, with their sheets and columns.
//!
//! Numbers are those of the document, so its convention says whose signs they have. What aorta leaves empty or out is there:
//! `nccl_long_cmp` has figures, and under our convention what one side lacks has a row.

use std::io::Write;

use rankscope_document::{Beside, CompareDocument, Convention, Document, SideBySide, TimeBeside};
use serde::Serialize;

use super::charts::{self, Cells};
use super::{add, beside, every, sign, signs};
use crate::book::{Besides, Book, Sheet};
use crate::column::{Cell, Column, Kind};
use crate::{Error, ROWS, tables};

/// One workbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Workbook {
    /// Times of both sides under each other.
    TimelineCombined,
    /// The same, and beside each other.
    TimelineComparison,
    /// Collectives of both sides under each other.
    CollectiveCombined,
    /// The same, and beside each other.
    CollectiveComparison,
    /// All of it, with a dashboard.
    Report,
}

impl Workbook {
    /// Those of a test beside the base.
    pub const ALL: [Self; 5] =
        [Self::TimelineCombined, Self::TimelineComparison, Self::CollectiveCombined, Self::CollectiveComparison, Self::Report];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimelineCombined => "gpu_timeline_combined.xlsx",
            Self::TimelineComparison => "gpu_timeline_comparison.xlsx",
            Self::CollectiveCombined => "collective_combined.xlsx",
            Self::CollectiveComparison => "collective_comparison.xlsx",
            Self::Report => "final_analysis_report.xlsx",
        }
    }

    /// Writes it to `out`: `beside` is of the runs whose documents are `base` and `test`, the first of each side.
    ///
    /// # Errors
    /// What `out` or the temporary files refuse.
    pub fn write(self, beside: &SideBySide, [base, test]: [&Document; 2], out: impl Write + Send) -> Result<(), Error> {
        let mut book = Book::begin("rankscope compare", ROWS)?;
        let raw = Raw { beside, sides: [(&beside.base, base), (&beside.test, test)] };
        match self {
            Self::TimelineCombined => raw.timeline(&mut book, TIMELINE, false)?,
            Self::TimelineComparison => {
                raw.timeline(&mut book, TIMELINE, false)?;
                add(&mut book, "Comparison_By_Rank".to_owned(), beside::by_rank(beside), &beside.convention)?;
                add(&mut book, "Summary_Comparison".to_owned(), beside::summary(beside), &beside.convention)?;
            }
            Self::CollectiveCombined => raw.collectives(&mut book, &COLLECTIVES, false)?,
            Self::CollectiveComparison => {
                raw.collectives(&mut book, &COLLECTIVES_COMPARED, false)?;
                add(&mut book, "nccl_implicit_sync_cmp".to_owned(), beside::collectives(beside), &beside.convention)?;
                add(&mut book, "nccl_long_cmp".to_owned(), beside::rank_collectives(beside), &beside.convention)?;
            }
            Self::Report => {
                dashboard(&mut book, beside)?;
                raw.timeline(&mut book, TIMELINE_RAW, true)?;
                raw.collectives(&mut book, &COLLECTIVES_RAW, true)?;
                add(&mut book, "GPU_ByRank_Cmp".to_owned(), beside::by_rank(beside), &beside.convention)?;
                add(&mut book, "GPU_Summary_Cmp".to_owned(), beside::summary(beside), &beside.convention)?;
                collectives_with_charts(&mut book, beside)?;
                add(&mut book, "NCCL_LongCmp".to_owned(), beside::rank_collectives(beside), &beside.convention)?;
            }
        }
        book.save(out)
    }
}

/// The workbook of all sides.
pub const FOR_ALL: &str = "final_analysis_report_for_all.xlsx";

/// Writes it to `out`.
///
/// # Errors
/// What `out` or the temporary files refuse.
pub fn write_for_all(document: &CompareDocument, out: impl Write + Send) -> Result<(), Error> {
    let mut book = Book::begin("rankscope compare", ROWS)?;
    every::add_all(&mut book, document)?;
    book.save(out)
}

/// Names of the sheets of times: means, rows by rank, ranks as columns in ms and in percent.
const TIMELINE: [&str; 4] = ["Summary", "All_Ranks_Combined", "Per_Rank_Time_ms", "Per_Rank_Percent"];
const TIMELINE_RAW: [&str; 4] = ["GPU_Summary_Raw", "GPU_AllRanks_Raw", "GPU_Time_Raw", "GPU_Pct_Raw"];

/// Tables of collectives, and their sheets.
const COLLECTIVES: [(&str, &str); 4] = [
    ("nccl_summary_implicit_sync", "nccl_summary_implicit_sync"),
    ("nccl_summary_long", "nccl_summary_long"),
    ("nccl_implicit_sync", "nccl_implicit_sync"),
    ("straggler_summary", "straggler_summary"),
];
const COLLECTIVES_COMPARED: [(&str, &str); 3] = [COLLECTIVES[0], COLLECTIVES[1], COLLECTIVES[3]];
const COLLECTIVES_RAW: [(&str, &str); 3] = [
    ("nccl_summary_implicit_sync", "NCCL_ImplSync_Raw"),
    ("nccl_summary_long", "NCCL_Long_Raw"),
    ("straggler_summary", "NCCL_straggler_summary_Raw"),
];

/// What both sides have, under each other.
struct Raw<'a> {
    beside: &'a SideBySide,
    sides: [(&'a str, &'a Document); 2],
}

/// A row of one side.
type OfSide<'a> = (&'a str, &'a TimeBeside, bool);

impl Raw<'_> {
    fn timeline(&self, book: &mut Book, [means, combined, ms, percent]: [&str; 4], is_hidden: bool) -> Result<(), Error> {
        let besides = || Besides { is_hidden, ..Besides::default() };
        let ranks = self.sides.map(|(_, document)| document.ranks.len());
        let mut columns = time_columns();
        columns.push(Column::new("num_ranks", Kind::Count, move |(_, _, is_test): &OfSide<'_>| {
            Cell::count(ranks[usize::from(*is_test)] as u64)
        }));
        columns.push(source());
        let about = "Mean of all ranks by class";
        book.add_with(Sheet { name: means.to_owned(), about, columns, rows: self.of_sides(&self.beside.summary) }, besides())?;
        let mut columns = time_columns();
        columns.push(Column::new("rank", Kind::Id, |(_, row, _): &OfSide<'_>| row.rank.map_or(Cell::Empty, Cell::count)));
        columns.push(source());
        let about = "Time of each rank by class";
        book.add_with(Sheet { name: combined.to_owned(), about, columns, rows: self.of_sides(&self.beside.ranks) }, besides())?;
        self.ranks_as_columns(book, ms, is_hidden, |row, is_test| {
            (if is_test { row.time.test } else { row.time.base }).map(|ns| ns / 1e6)
        })?;
        self.ranks_as_columns(
            book,
            percent,
            is_hidden,
            |row, is_test| if is_test { row.test_percent } else { row.base_percent },
        )
    }

    /// The rows of the base, then those of the test, each where its side has it.
    fn of_sides<'r>(&'r self, rows: &'r [TimeBeside]) -> Vec<OfSide<'r>> {
        let has = |row: &&TimeBeside, is_test: bool| if is_test { row.time.test.is_some() } else { row.time.base.is_some() };
        let side = |is_test: bool| {
            let label = self.sides[usize::from(is_test)].0;
            rows.iter().filter(move |row| has(row, is_test)).map(move |row| (label, row, is_test))
        };
        side(false).chain(side(true)).collect()
    }

    /// Classes as rows and ranks as columns, which are headed by numbers: no table of Excel's, whose headers are text.
    fn ranks_as_columns(
        &self,
        book: &mut Book,
        name: &str,
        is_hidden: bool,
        of: fn(&TimeBeside, bool) -> Option<f64>,
    ) -> Result<(), Error> {
        let mut ranks: Vec<u32> = self.beside.ranks.iter().filter_map(|row| row.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        // A sheet has 16,384 columns.
        ranks.truncate(16_000);
        let rows = self.of_sides(&self.beside.ranks);
        let last = u16::try_from(ranks.len()).unwrap_or(u16::MAX).saturating_add(1);
        book.add_plain(name, is_hidden, |sheet, styles| {
            sheet.set_freeze_panes(1, 1)?.set_column_width(0, 22)?.set_column_width(last, 24)?;
            sheet.write_string_with_format(0, 0, "type", styles.header(Kind::Text(22)))?;
            sheet.write_string_with_format(0, last, "source", styles.header(Kind::Text(22)))?;
            for (col, rank) in (1..).zip(&ranks) {
                sheet.set_column_width(col, 13)?.write_number_with_format(0, col, f64::from(*rank), styles.header(Kind::Id))?;
            }
            let mut lines: Vec<(&str, &str)> = Vec::new();
            for (label, row, is_test) in &rows {
                let at = lines.iter().position(|line| *line == (*label, row.name.as_str())).unwrap_or_else(|| {
                    lines.push((label, &row.name));
                    lines.len() - 1
                });
                let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
                let col = row.rank.and_then(|rank| ranks.binary_search(&rank).ok()).and_then(|col| u16::try_from(col + 1).ok());
                if let (Some(col), Some(value)) = (col, of(row, *is_test)) {
                    sheet.write_number_with_format(line, col, value, styles.number(Kind::Rate))?;
                }
            }
            for (line, (label, class)) in (1..).zip(&lines) {
                sheet.write_string(line, 0, *class)?;
                sheet.write_string_with_format(line, last, *label, styles.text(label))?;
            }
            Ok(())
        })
    }

    fn collectives(&self, book: &mut Book, sheets: &[(&str, &str)], is_hidden: bool) -> Result<(), Error> {
        #[derive(Serialize)]
        struct Nothing {}
        for names in sheets {
            let tables = self.sides.map(|(label, document)| (label, &document.collective_tables));
            match tables {
                [(base, Some(of_base)), (test, Some(of_test))] => {
                    tables::add_of_sides(book, *names, &[(base, of_base), (test, of_test)], is_hidden)?;
                }
                _ => tables::add_of_sides::<Nothing>(book, *names, &[], is_hidden)?,
            }
        }
        Ok(())
    }
}

fn time_columns<'a>() -> Vec<Column<'a, OfSide<'a>>> {
    vec![
        Column::new("type", Kind::Text(22), |(_, row, _): &OfSide<'_>| Cell::text(row.name.clone())),
        Column::new("time ms", Kind::Ms, |(_, row, is_test): &OfSide<'_>| {
            Cell::maybe(if *is_test { row.time.test } else { row.time.base })
        }),
        Column::new("percent", Kind::Percent, |(_, row, is_test): &OfSide<'_>| {
            Cell::maybe(if *is_test { row.test_percent } else { row.base_percent })
        }),
    ]
}

fn source<'a>() -> Column<'a, OfSide<'a>> {
    Column::new("source", Kind::Text(24), |(label, _, _): &OfSide<'_>| Cell::text((*label).to_owned()))
}

/// A line of the dashboard.
struct Line<'a> {
    metric: String,
    unit: &'static str,
    figure: Beside,
    status: &'a str,
}

/// `Summary_Dashboard`: aorta's are times only, rounded; under our convention collectives are there, too.
fn dashboard(book: &mut Book, beside: &SideBySide) -> Result<(), Error> {
    const NAME: &str = "Summary_Dashboard";
    let is_aorta = beside.convention == Convention::Aorta;
    let scaled = |figure: Beside, by: f64| Beside {
        base: figure.base.map(|value| value / by),
        test: figure.test.map(|value| value / by),
        diff: figure.diff.map(|value| value / by),
        ..figure
    };
    let mut rows: Vec<Line<'_>> = beside
        .summary
        .iter()
        .map(|time| Line {
            metric: format!("GPU_{}", time.name),
            unit: "ms",
            figure: scaled(time.time, 1e6),
            status: time.status.as_str(),
        })
        .collect();
    let times = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    if !is_aorta {
        rows.extend(beside.collectives.iter().map(|group| Line {
            metric: format!("NCCL_{}_{}_{}_latency", group.name, group.dtype, group.in_elements.unwrap_or(0)),
            unit: "us",
            figure: scaled(group.latency, 1e3),
            status: group.status.as_str(),
        }));
    }
    let shown = move |value: Option<f64>| {
        Cell::maybe(value.map(|value| if is_aorta { (value * 100.0).round() / 100.0 } else { value }))
    };
    let change = if is_aorta { "Improvement (%)" } else { "Change (%)" };
    let mut columns: Vec<Column<'_, Line<'_>>> = vec![
        Column::new("Metric", Kind::Text(34), |line: &Line<'_>| Cell::text(line.metric.clone())),
        Column::new(beside.base.clone(), Kind::Percent, move |line: &Line<'_>| shown(line.figure.base)),
        Column::new(beside.test.clone(), Kind::Percent, move |line: &Line<'_>| shown(line.figure.test)),
        Column::new(change, Kind::Percent, move |line: &Line<'_>| shown(line.figure.percent_change)),
        Column::new("Status", Kind::Verdict, |line: &Line<'_>| Cell::text(line.status.to_owned())),
    ];
    if !is_aorta {
        columns.push(Column::new("unit", Kind::Text(8), |line: &Line<'_>| Cell::text(line.unit)));
    }
    let text = sign(&beside.convention);
    columns.push(Column::new("sign", Kind::Text(34), move |_: &Line<'_>| Cell::text(text)));
    let cells = Cells { sheet: NAME, first: 1, last: times };
    let mut charts = Vec::new();
    if times > 0 {
        charts.push(charts::grouped(cells, "Mean time of the ranks, ms", "ms", [(&beside.base, 1), (&beside.test, 2)]));
        charts.push(charts::single(cells, change, "%", (change, 3)));
    }
    let sheet = Sheet { name: NAME.to_owned(), about: "", columns, rows };
    book.add_with(sheet, Besides { signs: Some(signs(&beside.convention)), charts, ..Besides::default() })
}

/// `NCCL_ImplicitSyncCmp`, with charts of what it lists.
fn collectives_with_charts(book: &mut Book, beside: &SideBySide) -> Result<(), Error> {
    const NAME: &str = "NCCL_ImplicitSyncCmp";
    let mut sheet = beside::collectives(beside);
    NAME.clone_into(&mut sheet.name);
    let cells = Cells { sheet: NAME, first: 1, last: u32::try_from(sheet.rows.len()).unwrap_or(u32::MAX) };
    let sides = |base: u16| [(beside.base.as_str(), base), (beside.test.as_str(), base + 1)];
    let charts = vec![
        charts::grouped(cells, "Latency of collectives, µs", "µs", sides(3)),
        charts::grouped(cells, "Bus bandwidth of collectives, GB/s", "GB/s", sides(13)),
    ];
    book.add_with(sheet, Besides { signs: Some(signs(&beside.convention)), charts, ..Besides::default() })
}
