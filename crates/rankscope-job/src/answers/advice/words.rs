//! What each rule found, in sentences: the answer, what it rests on, how to check it, and what to try.

use rankscope_answers::advice::{Advice, Figures, HOST, Rule, UNRECORDED, Whom};
use rankscope_collectives::Parallelism;
use rankscope_time::Rank;

use crate::words::{list, percent, time};

/// The sentences of one piece of advice.
pub(super) struct Words {
    pub(super) title: String,
    pub(super) evidence: Vec<String>,
    pub(super) check: String,
    pub(super) remedy: String,
}

/// What figures are of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    /// How long it takes.
    pub(super) ns: i64,
    /// Whether it is a step, and not the whole recording.
    pub(super) is_step: bool,
}

impl Whole {
    /// What follows an amount of time or a number.
    fn per(self) -> &'static str {
        if self.is_step { "a step" } else { "in all" }
    }

    fn name(self) -> &'static str {
        if self.is_step { "a step" } else { "a recording" }
    }
}

/// The sentences of `advice` about the ranks numbered `ranks`, with figures of `whole`.
pub(super) fn words(advice: &Advice, ranks: &[u32], whole: Whole) -> Words {
    let mut evidence = vec![worth(advice, whole)];
    evidence.extend(figures(advice, whole));
    evidence.extend((!advice.place.is_empty()).then(|| place(advice)));
    Words {
        title: title(advice, &who(advice, ranks), whole.per()),
        evidence,
        check: check(advice, ranks),
        remedy: remedy(advice).to_owned(),
    }
}

fn place(advice: &Advice) -> String {
    match advice.rule {
        Rule::ExposedCommunication => format!("In process group {}.", advice.place),
        Rule::SlowLink if advice.whom == Whom::Receiver => format!("In process group {}.", advice.place),
        _ => format!("Where: {}.", advice.place),
    }
}

/// Whom it is about, as the start of a sentence.
fn who(advice: &Advice, ranks: &[u32]) -> String {
    let ranks: Vec<Rank> = ranks.iter().copied().map(Rank).collect();
    let listed = if ranks.len() == 1 { format!("rank {}", list(&ranks)) } else { format!("ranks {}", list(&ranks)) };
    match advice.whom {
        Whom::All => "all ranks".to_owned(),
        Whom::Ranks | Whom::Receiver => listed,
        Whom::Node(node) => format!("node {node} ({listed})"),
        Whom::Stage(stage) => format!("pipeline stage {stage} ({listed})"),
        Whom::Link(one, other) => format!("nodes {one} and {other} ({listed})"),
    }
}

fn title(advice: &Advice, who: &str, per: &str) -> String {
    let Advice { name, figures, .. } = advice;
    let (own, others) = (time(figures.own_ns), time(figures.others_ns));
    let name = shortened(name);
    let often = every(figures);
    match advice.rule {
        Rule::DataLoader if advice.whom == Whom::All => format!("Loading batches holds up every rank: {own} {per} in {name}"),
        Rule::DataLoader => {
            format!("{} waits for its data loader: {own} {per} in {name}{often}, the others {others}", upper(who))
        }
        Rule::GarbageCollection => format!("Python's garbage collector holds up the job: {own} {per} in {name}{often}"),
        Rule::StragglerRank if advice.name == HOST => {
            format!("The host of {who} is slower than the others: {own} {per} of host time, the others {others}{often}")
        }
        Rule::StragglerRank if advice.name == UNRECORDED => {
            format!("Nothing is recorded of {who} for {own} {per}{often}, of the others for {others}")
        }
        Rule::StragglerRank => format!("{} spends {own} {per} in {name}{often}, the others {others}", upper(who)),
        Rule::StragglerNode => {
            format!("{} makes the others wait{often}: {own} {per} in {name}, elsewhere {others}", upper(who))
        }
        Rule::HeavyStage => format!("{} is heavier than the others: {own} {per} in {name}, elsewhere {others}", upper(who)),
        Rule::ThrottledDevice => {
            format!("The device of {who} is slow: all its kernels take {:.2} times as long as the others'", figures.ratio)
        }
        Rule::UnevenWork => {
            format!("{} has more work than the others: {own} {per} in {name}{often}, the others {others}", upper(who))
        }
        Rule::HostBound => format!(
            "The host does not keep up with the devices: {} of a step is host time that nothing hides",
            percent(figures.ratio)
        ),
        Rule::SmallKernels => format!(
            "Small kernels: {name} launches {:.0} kernels {per} of {own} each, and launching one takes {others}",
            figures.count
        ),
        Rule::Recompute => format!("Activations are computed again ({name}): {own} of kernels {per}"),
        Rule::ExposedCommunication => {
            // What a group is for helps to know it; its number or its not having a name does not.
            let is_told = advice.place != Parallelism::WORLD && Parallelism::of_name(&advice.place).is_some();
            let of = if is_told { format!(" of {}", shortened(&advice.place)) } else { String::new() };
            format!("{name}{of} is exposed for {own} {per}: no computation hides it")
        }
        Rule::SlowLink if matches!(advice.whom, Whom::Link(..)) => format!(
            "The link between {who} is slow: a transfer of {} takes {own}, between other nodes {others} ({:.1} times)",
            advice.place, figures.ratio
        ),
        Rule::SlowLink if advice.whom == Whom::Receiver => format!(
            "{} receives late: once all have come, {name} takes it {own}, the others {others} ({:.1} times)",
            upper(who),
            figures.ratio
        ),
        Rule::SlowLink => format!(
            "The link of {who} is slow: a transfer of {name} takes {own}, the fastest of its sort {others} ({:.1} times)",
            figures.ratio
        ),
        Rule::PipelineBubble => format!(
            "The pipeline waits for {own} {per}; a schedule of {:.0} microbatches has to wait for {others}",
            figures.count
        ),
        Rule::PageableCopies => format!("Copies from memory that is not pinned ({name}): {own} {per}, and the host waits"),
        Rule::Synchronization => format!("The host waits for its device {:.0} times {per}, in {name}", figures.count),
        Rule::FirstSteps => {
            let first = if figures.count > 1.0 {
                format!("The first {:.0} steps take", figures.count)
            } else {
                "The first step takes".to_owned()
            };
            let on = if name.is_empty() { String::new() } else { format!(", mostly in {name}") };
            format!("{first} {own}, the others {others}{on}")
        }
    }
}

fn every(figures: &Figures) -> String {
    figures.every.map_or_else(String::new, |every| format!(" (every {every} steps)"))
}

/// Kernels have names as long as a page.
fn shortened(name: &str) -> String {
    const MOST: usize = 72;
    if name.chars().count() <= MOST { name.to_owned() } else { format!("{}...", name.chars().take(MOST).collect::<String>()) }
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn worth(advice: &Advice, whole: Whole) -> String {
    let worth = advice.worth;
    // Of one step nobody knows how far another would differ.
    let between = match worth.lo_ns == worth.hi_ns {
        true => String::new(),
        false => format!(" ({} to {})", time(worth.lo_ns.max(0)), time(worth.hi_ns)),
    };
    format!(
        "Without it {} of {} would take {} less{between}, {} of it.",
        whole.name(),
        time(whole.ns),
        time(worth.ns),
        percent(worth.ns as f64 / whole.ns.max(1) as f64)
    )
}

fn figures(advice: &Advice, whole: Whole) -> Option<String> {
    let Figures { own_ns, others_ns, ratio, share, .. } = advice.figures;
    let (per, own, others) = (whole.per(), time(own_ns), time(others_ns));
    let beside = || format!("{own} {per} beside {others} on the median of the other ranks.");
    match advice.rule {
        Rule::SlowLink if advice.whom == Whom::Receiver => {
            Some(format!("It leaves {} of them last; who sends to it is not in the traces.", percent(share)))
        }
        Rule::ThrottledDevice => Some(format!("All kernels together: {}", beside())),
        Rule::StragglerRank | Rule::StragglerNode | Rule::HeavyStage | Rule::UnevenWork if ratio > 0.0 => {
            Some(format!("{:.2} times as long: {}", ratio, beside()))
        }
        _ => None,
    }
}

fn check(advice: &Advice, ranks: &[u32]) -> String {
    let ratio = advice.figures.ratio;
    let medians: Vec<String> = ranks.iter().take(4).map(|rank| format!("--set rank:{rank}=median")).collect();
    match advice.rule {
        Rule::ExposedCommunication => {
            let of = if advice.place.is_empty() { String::new() } else { format!("@{}", advice.place) };
            format!("rankscope what-if RUN --set 'collective:{}{of}=0'", advice.name)
        }
        Rule::SmallKernels => format!("rankscope what-if RUN --set 'op:{}=0'", advice.name),
        Rule::DataLoader | Rule::GarbageCollection if advice.whom == Whom::All => {
            format!("rankscope what-if RUN --set 'host:{}=0'", advice.name)
        }
        Rule::HostBound => "rankscope what-if RUN --set 'host:*=0' --set launch=0".to_owned(),
        Rule::Synchronization => "rankscope what-if RUN --set sync=0".to_owned(),
        Rule::PageableCopies => format!("rankscope what-if RUN --set 'kernel:{}=0'", advice.name),
        Rule::Recompute => format!("rankscope what-if RUN --set 'within:{}=0'", advice.name),
        Rule::PipelineBubble => "the messages between stages in timeline.pftrace".to_owned(),
        Rule::FirstSteps => "the first steps in timeline.pftrace; record later ones to compare runs".to_owned(),
        Rule::SlowLink if matches!(advice.whom, Whom::Link(..)) => {
            format!("rankscope what-if RUN --set link:{}={:.2}x", advice.name, ratio)
        }
        Rule::SlowLink if advice.whom == Whom::Receiver => {
            format!("rankscope what-if RUN --set 'collective:{}@{}={:.2}x'", advice.name, advice.place, 1.0 / ratio)
        }
        Rule::SlowLink => {
            "rankscope report RUN --tables pairs, and the links of these ranks by a benchmark of their own".to_owned()
        }
        _ => format!("rankscope what-if RUN {}", medians.join(" ")),
    }
}

fn remedy(advice: &Advice) -> &'static str {
    match advice.rule {
        Rule::StragglerRank if advice.name == UNRECORDED => {
            "Record more of this rank to see what it does there: Python functions (with_stack=True), or annotations around what is not an operator."
        }
        Rule::DataLoader => "More loader workers, prefetching, data on a nearer disk; look at what this rank reads.",
        Rule::GarbageCollection => {
            "gc.freeze() after start, gc.disable() with gc.collect() every so many steps on all ranks at once."
        }
        Rule::StragglerRank => {
            "Look at what this rank does differently: its inputs, its host's other processes, its device's clocks."
        }
        Rule::StragglerNode => "Look at what these ranks share: power, cooling, network card, other jobs on the host.",
        Rule::HeavyStage => "Move layers to other stages, or give the stage more devices.",
        Rule::ThrottledDevice => "Look at the device's clocks, power and temperature, and at who else uses it.",
        Rule::UnevenWork => "Balance what ranks get: pack documents by length, or plan attention and experts across ranks.",
        Rule::HostBound => "Capture the step in a graph or compile it, launch from fewer Python frames, pin threads to cores.",
        Rule::SmallKernels => "Fuse these operators, compile the model, or capture the step in a graph.",
        Rule::Recompute => "Checkpoint fewer layers as far as memory allows.",
        Rule::ExposedCommunication => "Start it earlier: smaller buckets, prefetching, communication on a stream of its own.",
        Rule::SlowLink if advice.whom == Whom::Receiver => {
            "Test the link that it receives over, its cable, card and route; where hosts move the data, see that its host is not busy."
        }
        Rule::SlowLink => "Test this link, its cables, cards and routes; put groups that talk much within a node.",
        Rule::PipelineBubble => "More microbatches, an interleaved schedule, or stages of equal weight.",
        Rule::PageableCopies => "pin_memory=True in the loader and non_blocking=True in the copy.",
        Rule::Synchronization => "Fetch values once a step or later: no .item(), .cpu() or printing of tensors within a step.",
        Rule::FirstSteps => "Leave these steps out when you compare; compile and tune before the loop.",
    }
}
