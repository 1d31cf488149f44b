//! A comparison for a terminal: what changed and whether that is certain, then what it is made of, then what was added or replaced.
//!
//! Ranks and collectives are shown where they stand out; `--format json` has all of them.

mod gate;
mod junit;
mod markdown;
mod page;
mod sentence;
mod shown;
mod structure;

use rankscope_document::{
    ChangeVerdict, CompareDocument, ComparedSide, Comparison, Contribution, MetricComparison, MetricUnit, Over, Ranking,
};

pub use junit::junit;
pub use markdown::markdown;
pub use page::compare_html;
pub use structure::{StructureRow, structure_rows};

pub(crate) use sentence::signed_percent;

use crate::terminal::{Sheet, Style, Table, drawn, joined};
use crate::text::{shorten, wrap};
use crate::units::{ABSENT, duration, or_absent, rate};

/// The comparison as text of at most `style.width` columns, ending in a line break.
pub fn comparison(document: &CompareDocument, style: Style) -> String {
    let sheet = Sheet::of(style);
    let mut parts = vec![heading(document, sheet), notes(document, sheet)];
    parts.extend(document.gate.as_ref().map(|gate| gate::shown(gate, sheet)));
    for pair in pairs(document) {
        parts.push(answer(pair, runs_of(document, pair), sheet));
        parts.push(job(pair, sheet));
        parts.push(contributions(pair, sheet));
        parts.push(standing_out(pair, sheet));
        parts.push(structure_of(pair, sheet));
    }
    parts.push(document.ranking.iter().flat_map(|ranking| ranks(ranking, sheet)).collect());
    joined(parts)
}

fn heading(document: &CompareDocument, sheet: Sheet) -> Vec<String> {
    let mut table = Table::new(&["", "side", "runs", "ranks", "steps compared", "left out"], 2);
    for (index, side) in document.sides.iter().enumerate() {
        let role = if index == 0 { "base" } else { "test" };
        table.push(vec![
            role.to_owned(),
            shorten(&side.label, 40),
            side.runs.len().to_string(),
            side.ranks.to_string(),
            side.steps.to_string(),
            left_out(side),
        ]);
    }
    let mut lines = vec![sheet.heading("rankscope compare", "differences are test minus base: a positive time takes longer")];
    lines.extend(drawn(&table, sheet));
    lines
}

fn left_out(side: &ComparedSide) -> String {
    let warm_up: usize = side.runs.iter().map(|run| run.warm_up).sum();
    let cut = side.runs.iter().filter(|run| run.last_is_cut).count();
    match (warm_up, cut) {
        (0, 0) => "nothing".to_owned(),
        (warm_up, 0) => format!("{warm_up} as warm-up"),
        (0, cut) => format!("{cut} cut off"),
        (warm_up, cut) => format!("{warm_up} as warm-up, {cut} cut off"),
    }
}

fn notes(document: &CompareDocument, sheet: Sheet) -> Vec<String> {
    document.notes.iter().flat_map(|note| wrap(&format!("! {}", note.text), sheet.width())).collect()
}

/// Every test beside the base.
fn pairs(document: &CompareDocument) -> impl Iterator<Item = &Comparison> {
    std::iter::once(&document.first).chain(&document.others)
}

/// The answer in a sentence: what the step time does.
fn answer(pair: &Comparison, runs: [usize; 2], sheet: Sheet) -> Vec<String> {
    let lines = wrap(&sentence::of_pair(pair, runs), sheet.width());
    lines.into_iter().map(|line| sheet.paint().bold(&line)).collect()
}

/// Runs of the base and of the test of `pair`.
/// What `pair`, a comparison of `document`, says of the time of a step, in a sentence.
pub fn step_sentence(document: &CompareDocument, pair: &Comparison) -> String {
    sentence::of_pair(pair, runs_of(document, pair))
}

fn runs_of(document: &CompareDocument, pair: &Comparison) -> [usize; 2] {
    let of = |label: &str| document.sides.iter().find(|side| side.label == label).map_or(0, |side| side.runs.len());
    [of(&pair.base), of(&pair.test)]
}

pub(crate) fn value(metric: &MetricComparison, value: f64) -> String {
    match metric.unit {
        MetricUnit::GigabytesPerSecond => rate(value),
        _ => duration(value),
    }
}

fn signed(metric: &MetricComparison, amount: f64) -> String {
    let sign = if amount < 0.0 { "-" } else { "+" };
    let text = value(metric, amount.abs());
    // What rounds to nothing has no sign.
    if text.contains(|digit| matches!(digit, '1'..='9')) { format!("{sign}{text}") } else { "0".to_owned() }
}

pub(crate) fn interval(metric: &MetricComparison) -> String {
    match (metric.lo, metric.hi) {
        (Some(lo), Some(hi)) => format!("{} .. {}", signed(metric, lo), signed(metric, hi)),
        _ => ABSENT.to_owned(),
    }
}

fn job(pair: &Comparison, sheet: Sheet) -> Vec<String> {
    let rows = pair.metrics.iter().filter(|metric| matches!(metric.over, Over::MaxOfRanks | Over::MedianOfRanks));
    metrics_table("Time of a step", "median of the steps; interval of 95 %", rows, sheet)
}

fn metrics_table<'a>(title: &str, aside: &str, rows: impl Iterator<Item = &'a MetricComparison>, sheet: Sheet) -> Vec<String> {
    let mut table = Table::new(&["metric", "base", "test", "change", "", "interval", "verdict"], 1);
    let mut any = false;
    for metric in rows {
        any = true;
        table.push(vec![
            shorten(&metric.name, 44),
            or_absent(metric.base, |base| value(metric, base)),
            or_absent(metric.test, |test| value(metric, test)),
            or_absent(metric.shift, |shift| signed(metric, shift)),
            signed_percent(metric.ratio),
            interval(metric),
            word(&metric.verdict),
        ]);
    }
    if !any {
        return Vec::new();
    }
    let mut lines = vec![sheet.heading(title, aside)];
    lines.extend(drawn(&table, sheet));
    lines
}

pub(crate) fn word(verdict: &ChangeVerdict) -> String {
    match verdict {
        ChangeVerdict::NoDifferenceSeen => "no difference seen".to_owned(),
        ChangeVerdict::NoEvidence => "no evidence".to_owned(),
        verdict => verdict.to_string(),
    }
}

/// Contributions that are shown.
const SHOWN: usize = 10;

fn contributions(pair: &Comparison, sheet: Sheet) -> Vec<String> {
    if pair.contributions.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["what changed", "kind", "a step", "interval", "why"], 2);
    for part in pair.contributions.iter().take(SHOWN) {
        table.push(vec![
            shorten(&part.name, 44),
            part.kind.to_string().replace('_', " "),
            signed_ns(part.delta_ns),
            of_contribution(part),
            shorten(part.detail.as_deref().unwrap_or(""), 40),
        ]);
    }
    let (rest, more): (i64, usize) =
        pair.contributions.iter().skip(SHOWN).fold((0, 0), |(sum, count), part| (sum + part.delta_ns, count + 1));
    if more > 0 {
        table.push(vec![format!("{more} more"), String::new(), signed_ns(rest), String::new(), String::new()]);
    }
    let whose = pair.paced_by.map_or_else(String::new, |rank| format!("parts of rank {rank}'s step; "));
    let total = format!("{whose}in all {}", signed_ns(pair.step_delta_ns));
    let mut lines = vec![sheet.heading("What the change is made of", &total)];
    lines.extend(drawn(&table, sheet));
    lines
}

fn signed_ns(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    if ns == 0 { "0".to_owned() } else { format!("{sign}{}", duration(ns.unsigned_abs() as f64)) }
}

fn of_contribution(part: &Contribution) -> String {
    match (part.lo_ns, part.hi_ns) {
        (Some(lo), Some(hi)) => format!("{} .. {}", signed_ns(lo), signed_ns(hi)),
        _ => ABSENT.to_owned(),
    }
}

/// Metrics of single ranks and collectives that are certain to differ.
fn standing_out(pair: &Comparison, sheet: Sheet) -> Vec<String> {
    let is_single = |metric: &&MetricComparison| matches!(metric.over, Over::OneRank | Over::MedianOfCollectives);
    let is_certain = |metric: &&MetricComparison| {
        matches!(metric.verdict, ChangeVerdict::Regressed | ChangeVerdict::Improved | ChangeVerdict::Differs)
    };
    let mut rows: Vec<&MetricComparison> = pair.metrics.iter().filter(is_single).filter(is_certain).collect();
    rows.sort_by(|a, b| b.ratio.unwrap_or(0.0).abs().total_cmp(&a.ratio.unwrap_or(0.0).abs()));
    metrics_table(
        "Ranks and collectives that stand out",
        "corrected for how many there are",
        rows.into_iter().take(SHOWN),
        sheet,
    )
}

fn structure_of(pair: &Comparison, sheet: Sheet) -> Vec<String> {
    let rows = structure_rows(&pair.structure);
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["", "kind", "what", "of", "count", "time a step"], 4);
    let time = |ns: [i64; 2]| format!("{} → {}", duration(ns[0] as f64), duration(ns[1] as f64));
    for same in rows.chunk_by(|a, b| a.change == b.change) {
        for row in same.iter().take(SHOWN) {
            table.push(vec![
                row.change.to_owned(),
                row.kind.clone(),
                shorten(&what(row), 60),
                shorten(row.within.as_deref().unwrap_or(""), 24),
                format!("{} → {}", row.counts[0], row.counts[1]),
                row.ns.map_or_else(String::new, time),
            ]);
        }
    }
    let total = rows.len() + pair.structure.left_out;
    let mut lines = vec![sheet.heading("Changes of structure", &format!("{total} in all"))];
    lines.extend(drawn(&table, sheet));
    lines
}

fn what(row: &StructureRow) -> String {
    match &row.replaced_by {
        Some(other) if row.change == "other order" => format!("{} | {other}", shorten(&row.name, 28)),
        Some(other) => format!("{} → {other}", shorten(&row.name, 28)),
        None => row.name.clone(),
    }
}

fn ranks(ranking: &Ranking, sheet: Sheet) -> Vec<String> {
    let mut table = Table::new(&["side", "step", "beside the fastest", "interval", "verdict"], 1);
    for place in &ranking.places {
        let signed = |ns: f64| signed_ns(ns.round() as i64);
        table.push(vec![
            shorten(&place.label, 40),
            or_absent(place.step_ns, duration),
            or_absent(place.shift, signed),
            match (place.lo, place.hi) {
                (Some(lo), Some(hi)) => format!("{} .. {}", signed(lo), signed(hi)),
                _ => ABSENT.to_owned(),
            },
            word(&place.verdict),
        ]);
    }
    let aside = match &ranking.winner {
        Some(winner) => format!("{winner} is faster than every other side"),
        None => "no side is certain to be the fastest".to_owned(),
    };
    let mut lines = vec![sheet.heading("Ranking", &aside)];
    lines.extend(drawn(&table, sheet));
    lines
}
