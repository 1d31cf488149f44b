//! The blocks of the dashboard: which rows, in which columns.

use rankscope_document::{Document, Rank};

use super::chart;
use super::page::Page;
use super::top::{self, Product, Top};
use crate::Error;
use crate::book::Written;
use crate::column::{Cell, Column, Kind};
use crate::job;

/// Ranks that the dashboard shows.
const RANKS: usize = 64;
/// Rows of every other block.
const WORST: usize = 10;

pub(super) fn times(page: &mut Page<'_>, document: &Document) -> Result<(), Error> {
    let ranks: Vec<&Rank> = document.ranks.iter().take(RANKS).collect();
    if ranks.is_empty() {
        return Ok(());
    }
    page.heading("Where the time goes", &shown(ranks.len(), document.ranks.len(), "ranks"), Some("gpu_timeline_ranks"))?;
    let columns = [
        Column::<&Rank>::new("rank", Kind::Id, |rank| Cell::count(rank.rank)),
        Column::<&Rank>::new("computation (ms)", Kind::Ms, |rank| Cell::ns(rank.time_ns.computation)),
        Column::<&Rank>::new("exposed comm. (ms)", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_comm)),
        Column::<&Rank>::new("exposed copies (ms)", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_memcpy)),
        Column::<&Rank>::new("idle (ms)", Kind::Ms, |rank| Cell::ns(rank.time_ns.idle)),
        Column::<&Rank>::new("total (ms)", Kind::Ms, |rank| Cell::ns(rank.time_ns.total)),
    ];
    let placed = page.block(&columns, &ranks)?;
    let height = 150 + 22 * ranks.len() as u32;
    page.beside(&placed, 6, &chart::stacked(&placed, height), height)
}

pub(super) fn stragglers(page: &mut Page<'_>, document: &Document) -> Result<(), Error> {
    let columns = job::straggler_columns();
    let title = if document.verdict.late.is_empty() { "Arrival at collectives" } else { "Who is late" };
    block(page, title, "ranks", "stragglers", &columns, &job::latest(document))
}

pub(super) fn collectives(page: &mut Page<'_>, document: &Document) -> Result<(), Error> {
    let columns = job::exposed_columns();
    block(page, "Most exposed collectives", "groups", "collectives", &columns, &job::most_exposed(document))
}

pub(super) fn operators(page: &mut Page<'_>, document: &Document) -> Result<(), Error> {
    let columns = top_columns("operator", "category", true);
    block(page, "Operators with most device time", "operators", "ops_summary", &columns, &top::operators(document))
}

pub(super) fn kernels(page: &mut Page<'_>, document: &Document) -> Result<(), Error> {
    let kernels = top::kernels(document);
    // Where there are no tables, there are the document's lists: of the host where no device worked, and not of all that ran.
    let has_tables = kernels.first().is_some_and(|top| top.all_ns > 0);
    let columns = top_columns("name", if has_tables { "for category" } else { "class" }, has_tables);
    let title = if document.device_activity { "Kernels with most time" } else { "Host operators with most time" };
    block(page, title, "names", "kernel_summary", &columns, &kernels)
}

pub(super) fn products(page: &mut Page<'_>, document: &Document) -> Result<(), Error> {
    let mut columns = vec![
        Column::<Product<'_>>::new("operator", Kind::Text(24), |product| Cell::text(&product.of.name)),
        Column::<Product<'_>>::new("M", Kind::Count, |product| Cell::count(product.of.m)),
        Column::<Product<'_>>::new("N", Kind::Count, |product| Cell::count(product.of.n)),
        Column::<Product<'_>>::new("K", Kind::Count, |product| Cell::count(product.of.k)),
        Column::<Product<'_>>::new("batch", Kind::Count, |product| Cell::count(product.of.batch)),
        Column::<Product<'_>>::new("type", Kind::Text(13), |product| Cell::text(&product.of.dtype)),
        Column::<Product<'_>>::new("calls", Kind::Count, |product| Cell::count(product.count)),
        Column::<Product<'_>>::new("time (ms)", Kind::Ms, |product| Cell::ns(product.ns)),
        Column::<Product<'_>>::new("TFLOP/s", Kind::Rate, |product| Cell::maybe(product.tflops())),
    ];
    let products = top::products(document);
    if products.iter().all(|product| product.least_ns.is_none()) {
        let title = "Matrix products with most time; no peak rate is known for them";
        return block(page, title, "sizes", "gemm_summary", &columns, &products);
    }
    columns.extend([
        Column::<Product<'_>>::new("of roofline (%)", Kind::Percent, |product| {
            product.least_ns.map_or(Cell::Empty, |least| Cell::percent_of(least, product.ns as f64))
        }),
        Column::<Product<'_>>::new("could be saved (ms)", Kind::Ms, |product| Cell::maybe(product.saved_ns())),
    ]);
    block(page, "Matrix products by time to save", "sizes", "gemm_summary", &columns, &products)
}

/// What else is in the workbook, with links.
pub(crate) fn sheets(page: &mut Page<'_>, empty: &[String]) -> Result<(), Error> {
    page.heading("Sheets", "", None)?;
    let columns = [
        Column::<&Written>::new("sheet", Kind::Text(24), |sheet| Cell::text(&sheet.sheet)),
        Column::<&Written>::new("rows", Kind::Count, |sheet| Cell::count(sheet.rows as u64)),
        Column::<&Written>::new("what it holds", Kind::Text(130), |sheet| match sheet.part {
            (_, 1) => Cell::text(sheet.about),
            (part, parts) => Cell::text(format!("{} (part {part} of {parts}: a sheet takes no more rows)", sheet.about)),
        }),
    ];
    let written: Vec<&Written> = page.written.iter().collect();
    let placed = page.block(&columns, &written)?;
    page.links(placed.first, written.iter().map(|sheet| sheet.sheet.as_str()))?;
    if !empty.is_empty() {
        page.paragraph("without rows", &empty.join(", "), None)?;
    }
    Ok(())
}

fn top_columns<'a>(what: &'static str, sort: &'static str, of_all: bool) -> Vec<Column<'a, Top<'a>>> {
    let mut columns = vec![
        Column::<Top<'_>>::new(what, Kind::Text(89), |top| Cell::text(top.name)),
        Column::<Top<'_>>::new(sort, Kind::Text(26), |top| Cell::text(top.sort)),
        Column::<Top<'_>>::new("calls", Kind::Count, |top| Cell::count(top.count)),
        Column::<Top<'_>>::new("time, all ranks (ms)", Kind::Ms, |top| Cell::ns(top.ns)),
    ];
    if of_all {
        columns.push(Column::<Top<'_>>::new("% of all", Kind::Bar, |top| Cell::percent(top.ns, top.all_ns)));
    }
    columns
}

/// The first of `rows` under a heading; nothing where there are none.
fn block<R>(
    page: &mut Page<'_>,
    title: &str,
    what: &str,
    sheet: &str,
    columns: &[Column<'_, R>],
    rows: &[R],
) -> Result<(), Error> {
    let worst = &rows[..rows.len().min(WORST)];
    if worst.is_empty() {
        return Ok(());
    }
    page.heading(title, &shown(worst.len(), rows.len(), what), Some(sheet))?;
    page.block(columns, worst)?;
    Ok(())
}

/// What to say where not all rows are shown.
fn shown(shown: usize, all: usize, what: &str) -> String {
    if shown < all { format!("{shown} of {all} {what}") } else { String::new() }
}
