//! The history of a job, for a terminal and as a page: each metric over all runs, where its level changed, and the latest run.
//!
//! A terminal shows the metrics of the job, and of ranks and collectives those that changed; the page and `--format json` have all.

mod page;

use rankscope_document::{HistoryDocument, HistoryMetric, HistoryOrder, MetricComparison, Over};

use crate::compare::{interval, signed_percent, value, word};
use crate::terminal::{Sheet, Style, Table, drawn, joined};
use crate::text::{shorten, wrap};
use crate::units::{counted, or_absent};

pub use page::history_html;

/// The history as text of at most `style.width` columns, ending in a line break.
pub fn history(document: &HistoryDocument, style: Style) -> String {
    let sheet = Sheet::of(style);
    joined(vec![heading(document, sheet), notes(document, sheet), levels(document, sheet), changes(document, sheet)])
}

fn heading(document: &HistoryDocument, sheet: Sheet) -> Vec<String> {
    vec![sheet.heading(&format!("rankscope compare --history {}", shorten(&document.title, 60)), &facts(document))]
}

/// What was read, in a few words.
fn facts(document: &HistoryDocument) -> String {
    let order = match document.order {
        HistoryOrder::Start => "in order of their start",
        _ => "in order of their names",
    };
    format!("{} {order}", counted(document.runs.len(), "run"))
}

fn notes(document: &HistoryDocument, sheet: Sheet) -> Vec<String> {
    document.notes.iter().flat_map(|note| wrap(&format!("! {}", note.text), sheet.width())).collect()
}

fn is_of_job(metric: &HistoryMetric) -> bool {
    matches!(metric.over, Over::MaxOfRanks | Over::MedianOfRanks)
}

/// Metrics of ranks and collectives that are shown.
const SHOWN: usize = 10;

/// Runs whose values are drawn.
const DRAWN: usize = 24;

fn levels(document: &HistoryDocument, sheet: Sheet) -> Vec<String> {
    let mut table = Table::new(&["metric", "last runs", "level", "latest", "", "interval", "verdict"], 2);
    let others = document.metrics.iter().filter(|metric| !is_of_job(metric) && !metric.changes.is_empty()).take(SHOWN);
    for metric in document.metrics.iter().filter(|metric| is_of_job(metric)).chain(others) {
        let latest = metric.latest.as_ref();
        let figure = |of: &dyn Fn(&MetricComparison) -> String| or_absent(latest, of);
        let typed = MetricComparison { unit: metric.unit.clone(), ..MetricComparison::default() };
        table.push(vec![
            shorten(&metric.name, 44),
            sparkline(&metric.values[metric.values.len().saturating_sub(DRAWN)..]),
            or_absent(metric.segment.as_ref(), |segment| value(&typed, segment.median)),
            or_absent(metric.values.last().copied().flatten(), |latest| value(&typed, latest)),
            figure(&|latest| signed_percent(latest.ratio)),
            figure(&interval),
            figure(&|latest| word(&latest.verdict)),
        ]);
    }
    let mut lines = vec![sheet.heading("The latest run", "beside the runs since the last change of level")];
    lines.extend(drawn(&table, sheet));
    lines
}

fn changes(document: &HistoryDocument, sheet: Sheet) -> Vec<String> {
    let mut all: Vec<_> =
        document.metrics.iter().flat_map(|metric| metric.changes.iter().map(move |change| (metric, change))).collect();
    // The latest first, and the job before its parts.
    all.sort_by_key(|(metric, change)| (std::cmp::Reverse(change.run), !is_of_job(metric)));
    if all.is_empty() {
        return vec!["No metric has changed its level in these runs.".to_owned()];
    }
    let mut table = Table::new(&["since run", "metric", "before", "after", "", "p", "verdict"], 2);
    for (metric, change) in all.iter().take(2 * SHOWN) {
        let typed = MetricComparison { unit: metric.unit.clone(), ..MetricComparison::default() };
        table.push(vec![
            shorten(document.runs.get(change.run).map_or("", |run| &run.name), 40),
            shorten(&metric.name, 44),
            value(&typed, change.before),
            value(&typed, change.after),
            signed_percent(change.ratio),
            format!("{:.1e}", change.p),
            word(&change.verdict),
        ]);
    }
    let aside = match all.len().saturating_sub(2 * SHOWN) {
        0 => format!("{} in all", all.len()),
        more => format!("{more} more in --format json"),
    };
    let mut lines = vec![sheet.heading("Changes of level", &aside)];
    lines.extend(drawn(&table, sheet));
    lines
}

/// Values as blocks, from the least to the greatest; a gap where there is none.
fn sparkline(values: &[Option<f64>]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let known = || values.iter().flatten();
    let (lo, hi) = known().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(*value), hi.max(*value)));
    let block = |value: f64| match hi > lo {
        true => BLOCKS[(((value - lo) / (hi - lo) * 7.0).round() as usize).min(7)],
        false => BLOCKS[3],
    };
    values.iter().map(|value| value.map_or(' ', block)).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_sparkline_has_a_block_a_run_and_a_gap_where_a_run_lacks_the_metric() {
        assert_eq!(sparkline(&[Some(1.0), Some(2.0), None, Some(8.0)]), "▁▂ █");
        assert_eq!(sparkline(&[Some(5.0), Some(5.0)]), "▄▄");
        assert_eq!(sparkline(&[]), "");
    }
}
