//! Who is late, in sentences; or why nobody is named.

use rankscope_analyze::{Because, Confidence, Late, Unnamed};

use crate::document::Source;
use crate::words::{list, percent, time};

/// The answer, in front of all others.
pub(super) fn sentences(source: &Source<'_>) -> Vec<String> {
    let verdict = &source.analysis.verdict;
    let mut sentences: Vec<String> = verdict.late.iter().map(|late| named(source, late)).collect();
    sentences.extend(verdict.unnamed.and_then(|why| unnamed(source, why)));
    sentences
}

fn named(source: &Source<'_>, late: &Late) -> String {
    let rank = source.rank(late.rank);
    let (delay, range) = (time(late.delay_wall_ns), range(late));
    let mut text = match late.because {
        Because::CameLast { last, of } => format!(
            "Rank {rank} is late: the others wait {delay} for it{range}, {} of the time recorded; it arrives last at {last} of {of} collectives.",
            percent(late.share)
        ),
        Because::BusiestStage { busy_ns, next_ns } => format!(
            "Rank {rank} limits the pipeline: it computes {}, the next busiest rank {}; the others wait {delay} for it{range}, {} of the time recorded.",
            time(busy_ns),
            time(next_ns),
            percent(late.share)
        ),
    };
    let missing = &source.job.completeness.missing;
    if !missing.is_empty() {
        text.push_str(&format!(" That is among the ranks that left a trace; rank {} left none.", list(missing)));
    }
    if late.confidence == Confidence::Low {
        text.push_str(" This holds if the clocks are as estimated; their bounds would also allow another answer.");
    }
    text
}

/// What the delay can be, where that is not just what it is.
fn range(late: &Late) -> String {
    let known = late.hi_ns.saturating_sub(late.lo_ns) <= late.delay_wall_ns / 50;
    if known { String::new() } else { format!(" ({} to {})", time(late.lo_ns), time(late.hi_ns)) }
}

fn unnamed(source: &Source<'_>, why: Unnamed) -> Option<String> {
    let verdict = &source.analysis.verdict;
    if source.analysis.ranks.len() < 2 {
        return None;
    }
    let absent = absent(source);
    let so_far = |text: String| match &absent {
        Some(absent) => format!("{text} {absent}"),
        None => text,
    };
    Some(match why {
        // What a job that failed shows of the time before is no all-clear.
        Unnamed::NobodyStandsOut if source.job.failure.is_some() => return None,
        Unnamed::NobodyStandsOut => match &absent {
            None => format!("No rank stands out as late over {} collectives.", verdict.judged),
            Some(absent) => format!("No rank can be ruled out as late. {absent}"),
        },
        Unnamed::NothingToJudge => {
            let why = if verdict.not_judged > 0 {
                "no collective of a group was found on all of its ranks"
            } else {
                "there are no collectives"
            };
            so_far(format!("Which rank is late cannot be said: {why}."))
        }
        Unnamed::TooFewRounds { rounds } => so_far(format!(
            "Which rank is late cannot be said: {}, too few to tell a pattern from chance.",
            if rounds == 1 {
                "there is only one round of collectives".to_owned()
            } else {
                format!("there are only {rounds} rounds of collectives")
            }
        )),
        Unnamed::Irregular { rank, delay_wall_ns, led } => so_far(format!(
            "No rank is consistently late: rank {} made the others wait most, {} in all, but cost most in only {led} of {} rounds, or by very uneven times.",
            source.rank(rank),
            time(delay_wall_ns),
            verdict.rounds
        )),
        Unnamed::WithinClocks { rank, delay_wall_ns, open_ns } => {
            let open = open_ns.map_or_else(
                || "nothing bounds how far apart the ranks' clocks are".to_owned(),
                |open| format!("the ranks' clocks are known only to within {}", time(open)),
            );
            so_far(format!(
                "Which rank is late cannot be said: rank {} seems to cost {}, but {open}. Measured clocks would settle it.",
                source.rank(rank),
                time(delay_wall_ns)
            ))
        }
    })
}

/// Which ranks are not among those judged, so that nobody takes the answer for one about all.
fn absent(source: &Source<'_>) -> Option<String> {
    let (missing, left_out) = (&source.job.completeness.missing, &source.job.compared.absent);
    let (ranks, why) = match (missing.as_slice(), left_out.as_slice()) {
        ([], []) => return None,
        ([], left_out) => (left_out, "recorded none of the windows compared"),
        (missing, _) => (missing, "left no trace"),
    };
    let (noun, it) = if ranks.len() == 1 { ("Rank", "it") } else { ("Ranks", "them") };
    Some(format!("{noun} {} {why}, and the others may be waiting for {it}.", list(ranks)))
}
