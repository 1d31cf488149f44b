//! The same for people: medians over all repeats of an exchange, then its ranks and links.

use std::fmt::Write as _;

use rankscope_cli::output;
use rankscope_dispatch::network::PredictedExchange;
use rankscope_dispatch::network::measured::Comparison;
use rankscope_job::Job;
use rankscope_plan_files::network::Known;
use rankscope_plan_traces::{Met, MetExchange};
use rankscope_report::{bytes, columns, duration};

/// Rows of a table for people; the JSON has all.
const ROWS_SHOWN: usize = 12;

pub(super) fn drawn(met: &Met, plan: &[PredictedExchange], known: &Known, job: &Job) -> String {
    let style = output::style();
    let mut text = format!("on {}, ranks put on one clock by: {}\n\n", output::one_line(&known.name), job.clocks.method.name());
    let kinds: Vec<(&PredictedExchange, Vec<&MetExchange>)> = (0..plan.len())
        .map(|which| (&plan[which], met.exchanges.iter().filter(|one| one.which == which).collect()))
        .filter(|(_, seen): &(_, Vec<_>)| !seen.is_empty())
        .collect();
    text.push_str(&columns(&EXCHANGE_HEAD, kinds.iter().map(|(plan, seen)| exchange(plan, seen)).collect(), style));
    if let Some((slowest, seen)) = kinds.iter().max_by_key(|(_, seen)| median(seen, |one| one.transfer.as_nanos())) {
        let _ = writeln!(text, "\nranks in {}, medians of {}", slowest.direction.as_str(), seen.len());
        text.push_str(&columns(&["rank", "waited", "transfer", "predicted", "ratio"], ranks(seen), style));
        let _ = writeln!(text, "\nits links, the furthest from the prediction first");
        text.push_str(&columns(&["link", "bytes", "transfer", "predicted", "ratio"], links(seen), style));
    }
    contradictions(&mut text, met, plan);
    text
}

const EXCHANGE_HEAD: [&str; 8] =
    ["exchange", "seen", "transfer", "predicted", "ratio", "arrival skew", "last to come", "slowest pair"];

fn exchange(plan: &PredictedExchange, seen: &[&MetExchange]) -> Vec<String> {
    let transfer = median(seen, |one| one.transfer.as_nanos());
    let predicted = plan.prediction.total.as_nanos();
    let pair = most_common(seen.iter().filter_map(|one| one.comparison.slowest_pair));
    vec![
        plan.direction.as_str().to_owned(),
        seen.len().to_string(),
        duration(transfer as f64),
        duration(predicted as f64),
        ratio(transfer, predicted),
        duration(median(seen, |one| one.arrival_skew.as_nanos()) as f64),
        most_common(seen.iter().map(|one| one.comparison.last)).map_or_else(|| "–".to_owned(), |rank| format!("rank {rank}")),
        pair.map_or_else(|| "–".to_owned(), |(from, to)| format!("{from} to {to}")),
    ]
}

fn ranks(seen: &[&MetExchange]) -> Vec<Vec<String>> {
    let many = seen.iter().map(|one| one.comparison.ranks.len()).min().unwrap_or(0);
    let row = |rank: usize| {
        let transfer = median(seen, |one| one.ranks[rank].transfer.as_nanos());
        let predicted = median(seen, |one| one.ranks[rank].predicted.as_nanos());
        let wait = median(seen, |one| one.ranks[rank].wait.as_nanos());
        vec![
            rank.to_string(),
            duration(wait as f64),
            duration(transfer as f64),
            duration(predicted as f64),
            ratio(transfer, predicted),
        ]
    };
    (0..many.min(ROWS_SHOWN)).map(row).collect()
}

fn links(seen: &[&MetExchange]) -> Vec<Vec<String>> {
    let Some(first) = seen.first() else { return Vec::new() };
    let transfer_of = |at: usize| median(seen, |one| one.links[at].transfer.unwrap_or_default().as_nanos());
    let mut rows: Vec<(i64, i64, usize)> =
        first.comparison.links.iter().enumerate().map(|(at, link)| (transfer_of(at), link.predicted.as_nanos(), at)).collect();
    let off = |row: &(i64, i64, usize)| (row.0 as f64 / row.1.max(1) as f64).ln().abs();
    rows.sort_by(|a, b| off(b).total_cmp(&off(a)));
    let row = |&(transfer, predicted, at): &(i64, i64, usize)| {
        let link = &first.comparison.links[at];
        let times = [duration(transfer as f64), duration(predicted as f64), ratio(transfer, predicted)];
        [link.link.to_string(), bytes(link.bytes)].into_iter().chain(times).collect()
    };
    rows.iter().take(ROWS_SHOWN).map(row).collect()
}

fn contradictions(text: &mut String, met: &Met, plan: &[PredictedExchange]) {
    let contradicted: Vec<&MetExchange> = met.exchanges.iter().filter(|one| !one.contradictions.is_empty()).collect();
    let counted = met.exchanges.iter().filter(|one| one.counted_ranks > 0).count();
    let _ = writeln!(text);
    match contradicted.first() {
        None if counted == 0 => {
            let _ = writeln!(text, "the trace has no counts, so exchanges are matched by order only");
        }
        None => {
            let _ = writeln!(text, "the trace's counts agree with the plan in {counted} of {} exchanges", met.exchanges.len());
        }
        Some(first) => {
            let _ = writeln!(
                text,
                "the trace contradicts the plan in {} of {} exchanges; the first is most like {}:",
                contradicted.len(),
                met.exchanges.len(),
                plan[first.which].direction.as_str()
            );
            for one in first.contradictions.iter().take(ROWS_SHOWN) {
                let _ = writeln!(text, "  {one}");
            }
        }
    }
    if met.others > 0 {
        let _ = writeln!(text, "{} all-to-alls fit no exchange of the plan and were skipped", met.others);
    }
    if met.incomplete > 0 {
        let _ = writeln!(text, "{} all-to-alls were not found on every rank", met.incomplete);
    }
}

fn median(seen: &[&MetExchange], of: impl Fn(&Comparison) -> i64) -> i64 {
    let mut values: Vec<i64> = seen.iter().map(|one| of(&one.comparison)).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn most_common<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts = std::collections::BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0_usize) += 1);
    counts.into_iter().max_by_key(|(value, count)| (*count, std::cmp::Reverse(*value))).map(|(value, _)| value)
}

fn ratio(measured: i64, predicted: i64) -> String {
    if predicted > 0 { format!("{:.2}", measured as f64 / predicted as f64) } else { "–".to_owned() }
}
