//! The first sheet: the answer, what the sides are, verdicts, and the waterfall of what the change is made of.

use rankscope_document::{CompareDocument, ComparedSide, Comparison, Contribution, MetricComparison, NoteLevel, Over};

use super::charts::{self, Cells};
use super::{pairs, signs};
use crate::Error;
use crate::book::{Book, SUMMARY, Summary};
use crate::column::{Cell, Column, Kind};
use crate::style::{CAUTION, FINDING, PROBLEM};
use crate::summary::blocks;
use crate::summary::page::Page;

/// Contributions that the waterfall shows.
const SHOWN: usize = 10;

pub(super) fn write(book: &mut Book, document: &CompareDocument) -> Result<(), Error> {
    let Summary { sheet, styles, written, empty } = book.summary()?;
    let mut page = Page::begin(sheet, styles, written)?;
    page.title("rankscope compare")?;
    page.paragraph("signs", signs(&rankscope_document::Convention::Rankscope), None)?;
    for pair in pairs(document) {
        page.paragraph("answer", &rankscope_report::step_sentence(document, pair), Some(FINDING))?;
    }
    for note in &document.notes {
        let (label, fill) = match note.level {
            NoteLevel::Finding => ("finding", FINDING),
            NoteLevel::Problem => ("problem", PROBLEM),
            _ => ("caution", CAUTION),
        };
        page.paragraph(label, &note.text, Some(fill))?;
    }
    sides(&mut page, document)?;
    for pair in pairs(document) {
        verdicts(&mut page, pair)?;
        waterfall(&mut page, pair)?;
    }
    blocks::sheets(&mut page, empty)
}

fn sides(page: &mut Page<'_>, document: &CompareDocument) -> Result<(), Error> {
    page.heading("Sides", "the first is the base", None)?;
    let columns = [
        Column::<&ComparedSide>::new("side", Kind::Text(36), |side| Cell::text(&side.label)),
        Column::<&ComparedSide>::new("runs", Kind::Count, |side| Cell::count(side.runs.len() as u64)),
        Column::<&ComparedSide>::new("ranks", Kind::Count, |side| Cell::count(side.ranks as u64)),
        Column::<&ComparedSide>::new("steps compared", Kind::Count, |side| Cell::count(side.steps as u64)),
    ];
    page.block(&columns, &document.sides.iter().collect::<Vec<_>>())?;
    Ok(())
}

fn verdicts(page: &mut Page<'_>, pair: &Comparison) -> Result<(), Error> {
    let rows: Vec<&MetricComparison> =
        pair.metrics.iter().filter(|metric| matches!(metric.over, Over::MaxOfRanks | Over::MedianOfRanks)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Time of a step: {}", pair.test), "test minus base: a positive time takes longer", Some("metrics"))?;
    let columns = [
        Column::<&MetricComparison>::new("metric", Kind::Text(24), |metric| Cell::text(&metric.name)),
        Column::<&MetricComparison>::new("base (ms)", Kind::Ms, |metric| Cell::maybe(metric.base)),
        Column::<&MetricComparison>::new("test (ms)", Kind::Ms, |metric| Cell::maybe(metric.test)),
        Column::<&MetricComparison>::new("change (ms)", Kind::Ms, |metric| Cell::maybe(metric.shift)),
        Column::<&MetricComparison>::new("from (ms)", Kind::Ms, |metric| Cell::maybe(metric.lo)),
        Column::<&MetricComparison>::new("to (ms)", Kind::Ms, |metric| Cell::maybe(metric.hi)),
        Column::<&MetricComparison>::new("of the base", Kind::Share, |metric| Cell::maybe(metric.ratio)),
        Column::<&MetricComparison>::new("verdict", Kind::Verdict, |metric| Cell::text(metric.verdict.as_str())),
    ];
    page.block(&columns, &rows)?;
    Ok(())
}

/// A bar of the waterfall, in nanoseconds: what is below it and not drawn, and how high its parts are.
struct Bar<'a> {
    name: String,
    part: Option<&'a Contribution>,
    level: i64,
    whole: i64,
    more: i64,
    less: i64,
}

fn waterfall(page: &mut Page<'_>, pair: &Comparison) -> Result<(), Error> {
    let base = pair.metrics.iter().find(|metric| metric.name == "step_ns").and_then(|step| step.base);
    let Some(base) = base.filter(|_| !pair.contributions.is_empty()) else { return Ok(()) };
    let bars = bars(pair, base as i64);
    let shown = if pair.contributions.len() > SHOWN {
        format!("the largest {SHOWN} of {}", pair.contributions.len())
    } else {
        String::new()
    };
    page.heading(&format!("What the change is made of: {}", pair.test), &shown, Some("contributions"))?;
    let columns = [
        Column::<Bar<'_>>::new("what", Kind::Text(24), |bar| Cell::text(&bar.name)),
        Column::<Bar<'_>>::new("below (ms)", Kind::Ms, |bar| Cell::ns(bar.level)),
        Column::<Bar<'_>>::new("step (ms)", Kind::Ms, |bar| Cell::ns(bar.whole)),
        Column::<Bar<'_>>::new("longer (ms)", Kind::Ms, |bar| Cell::ns(bar.more)),
        Column::<Bar<'_>>::new("less (ms)", Kind::Ms, |bar| Cell::ns(bar.less)),
        Column::<Bar<'_>>::new("from (ms)", Kind::Ms, |bar| bar.part.and_then(|part| part.lo_ns).map_or(Cell::Empty, Cell::ns)),
        Column::<Bar<'_>>::new("to (ms)", Kind::Ms, |bar| bar.part.and_then(|part| part.hi_ns).map_or(Cell::Empty, Cell::ns)),
    ];
    let placed = page.block(&columns, &bars)?;
    let cells = Cells { sheet: SUMMARY, first: placed.first, last: placed.last };
    let chart = charts::waterfall(cells, &format!("{}: a step, ms", pair.test), 1, axis_from(&bars));
    page.beside(&placed, 7, &chart, 340)
}

/// The base, what changed, the rest, and what comes out.
fn bars(pair: &Comparison, base_ns: i64) -> Vec<Bar<'_>> {
    let whole = |name: String, ns: i64| Bar { name, part: None, level: 0, whole: ns, more: 0, less: 0 };
    let mut level = base_ns;
    let mut step = |name: String, part, delta: i64| {
        let from = level;
        level += delta;
        Bar { name, part, level: from.min(level), whole: 0, more: delta.max(0), less: (-delta).max(0) }
    };
    let mut bars = vec![whole(format!("base: {}", pair.base), base_ns)];
    bars.extend(pair.contributions.iter().take(SHOWN).map(|part| step(part.name.clone(), Some(part), part.delta_ns)));
    let rest: i64 = pair.contributions.iter().skip(SHOWN).map(|part| part.delta_ns).sum();
    if pair.contributions.len() > SHOWN {
        bars.push(step(format!("{} more", pair.contributions.len() - SHOWN), None, rest));
    }
    bars.push(whole("base and change".to_owned(), level));
    bars
}

/// Where the axis of the waterfall begins, in milliseconds: a little below the lowest end of a part.
fn axis_from(bars: &[Bar<'_>]) -> f64 {
    let ends = bars.iter().flat_map(|bar| [bar.level + bar.whole, bar.level + bar.whole + bar.more + bar.less]);
    let (low, high) = ends.fold((i64::MAX, i64::MIN), |(low, high), end| (low.min(end), high.max(end)));
    ((low - (high - low)).max(0) as f64 / 1e6 * 100.0).floor() / 100.0
}
