//! A plan for people: the figures that matter, and every rank's load before and after as bars.

use std::fmt::Write;

use rankscope_cli::output;
use rankscope_dispatch::Pass;
use rankscope_plan_files::planned::{Answer, Move, Placement};
use rankscope_report::{bytes, duration, paragraph};

/// Ranks drawn; of more, only the heaviest and the lightest of the layout.
const RANKS_DRAWN: usize = 32;
/// Characters of the longest bar.
const BAR_WIDTH: usize = 40;

pub(super) fn table(answer: &Answer) -> String {
    let mut text = format!(
        "{} {} of {} tokens over {} ranks, planned in {:.2} ms by the {} planner\n\n",
        answer.documents,
        if answer.documents == 1 { "document" } else { "documents" },
        answer.tokens,
        answer.world_size,
        answer.elapsed_us / 1e3,
        answer.planner.as_str()
    );
    let mut line = |name: &str, value: String| {
        // Writing into a string does not fail.
        let _ = writeln!(text, "{name:<22}{value}");
    };
    line("heaviest over mean", format!("{:.4}, was {:.4}", answer.max_over_mean, answer.max_over_mean_before));
    let of_pass = match answer.pass {
        Pass::Forward => "",
        Pass::Backward => ", by a backward pass that sends everything again",
    };
    line("moved", format!("{} in {} shards{of_pass}", bytes(answer.bytes), answer.n));
    if let Placement::Chosen { given_bytes: Some(given) } = answer.placement {
        // For the shortest time a layout can move more.
        let less = match answer.bytes < given {
            true => format!(", so {:.0} % less with the chosen layout", 100.0 - answer.bytes as f64 / given as f64 * 100.0),
            false => String::new(),
        };
        line("documents as given", bytes(given) + &less);
    }
    let lies = if answer.layout_bytes <= answer.bytes { "of it by the layout" } else { "computed where it lies" };
    line(lies, bytes(answer.layout_bytes));
    let contexts = if answer.split_kv.is_some() { "with this layout and whole contexts" } else { "with this layout" };
    line("at least needed", needed(answer.lower_bound_bytes, answer.gap, contexts));
    if let Some(ns) = answer.times.takes_ns() {
        let takes = format!("{} a layer, if attention hides nothing of the exchanges", duration(ns as f64));
        line(&format!("a {} pass", answer.pass.as_str()), takes + &at_least(answer.times.least_ns));
    }
    line("per token", format!("{:.0} bytes ({:.0} elements)", answer.bytes_per_token, answer.elems_per_token));
    line("queries away", format!("{} tokens", answer.moved_tokens));
    line("keys and values away", format!("{} tokens", answer.remote_kv_tokens));
    if let Some(groups) = answer.head_groups {
        line("heads", format!("in {groups} groups; shards, and tokens that are away, are of one group"));
    }
    if let Some(split) = &answer.split_kv {
        let less = (1.0 - split.bytes as f64 / answer.bytes.max(1) as f64) * 100.0;
        let less = if split.bytes > answer.bytes { format!("{:.1} % more", -less) } else { format!("{less:.1} % less") };
        let tasks = format!("in {} tasks, heaviest over mean {:.4}", split.tasks.len(), split.max_over_mean);
        line("split keys and values", format!("move {}, {less}, {tasks}", bytes(split.bytes)));
        line("needed if split", needed(split.lower_bound_bytes, split.gap, "with this layout, whoever has which keys"));
        if let Some(ns) = split.times.takes_ns() {
            line("the pass if split", format!("{} a layer{}", duration(ns as f64), at_least(split.times.least_ns)));
        }
    }
    text.push('\n');
    bars(&mut text, answer);
    for why in answer.moves.iter().flatten() {
        explain(&mut text, answer, why);
    }
    text
}

fn at_least(ns: Option<i64>) -> String {
    ns.map_or_else(String::new, |ns| format!("; any plan takes {} at least", duration(ns as f64)))
}

/// What plans of some kind move at least, and how far above it this one can be.
fn needed(least_bytes: u64, gap: Option<f64>, of: &str) -> String {
    let least = bytes(least_bytes);
    match gap {
        Some(gap) if gap < 10.0 => format!("{least} {of}, so at most {:.0} % more than needed", gap * 100.0),
        Some(gap) => format!("{least} {of}, a bound {:.0} times lower", gap + 1.0),
        None => "not known".to_owned(),
    }
}

/// Two lines: what moved and why; what it costs, here and elsewhere.
fn explain(text: &mut String, answer: &Answer, why: &Move) {
    let mean = answer.loads.iter().sum::<u64>() as f64 / answer.loads.len() as f64;
    let share = |load: u64| load as f64 / mean.max(1.0);
    text.push('\n');
    let style = output::style();
    *text += &paragraph(
        &format!(
            "document {}, tokens {} to {}: rank {} had {:.3} of the mean and may have {:.3}; without this it would have {:.3}",
            why.document,
            why.start,
            why.end,
            why.from,
            share(why.load_before),
            share(why.limit),
            share(why.load_without)
        ),
        style,
    );
    let cost = |cost: i64| match cost < 0 {
        true => format!("saves {}", bytes(cost.unsigned_abs())),
        false => format!("costs {}", bytes(cost.unsigned_abs())),
    };
    let others: Vec<String> =
        why.alternatives.iter().map(|(rank, other)| format!("on rank {rank} it {}", cost(*other))).collect();
    let others = if others.is_empty() { "no other rank has room".to_owned() } else { others.join(", ") };
    let here = format!("on rank {} it takes {:.3} away and {}; {others}", why.to, share(why.freed), cost(why.cost_bytes));
    *text += &paragraph(&here, style);
}

fn bars(text: &mut String, answer: &Answer) {
    let heaviest = answer.loads.iter().chain(&answer.loads_before).copied().max().unwrap_or(0).max(1);
    let mean = answer.loads.iter().sum::<u64>() as f64 / answer.loads.len() as f64;
    let cells = |load: u64| (load as f64 / heaviest as f64 * BAR_WIDTH as f64).round() as usize;
    let mut ranks: Vec<usize> = (0..answer.loads.len()).collect();
    let left_out = ranks.len().saturating_sub(RANKS_DRAWN);
    if left_out > 0 {
        ranks.sort_by_key(|&rank| std::cmp::Reverse(answer.loads_before[rank]));
        ranks.drain(RANKS_DRAWN / 2..RANKS_DRAWN / 2 + left_out);
    }
    text.push_str("rank   before   after   █ after, ░ given away, ▒ taken in\n");
    for (place, rank) in ranks.into_iter().enumerate() {
        if left_out > 0 && place == RANKS_DRAWN / 2 {
            let _ = writeln!(text, "  ...   {left_out} ranks in between");
        }
        let (before, after) = (answer.loads_before[rank], answer.loads[rank]);
        let kept = cells(before.min(after));
        let changed = cells(before.max(after)) - kept;
        let change = if after < before { "░" } else { "▒" };
        let share = |load: u64| if mean > 0.0 { load as f64 / mean } else { 0.0 };
        let _ = writeln!(
            text,
            "{rank:>4}  {:>7.3} {:>7.3}   {}{}",
            share(before),
            share(after),
            "█".repeat(kept),
            change.repeat(changed)
        );
    }
}
