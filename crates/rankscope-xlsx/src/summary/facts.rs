//! What was reported on and who is late, in words.

use rankscope_document::{Because, Classes, ClockMethod, Confidence, Document, LateRank, Unnamed};

/// Facts of the job, with their labels.
pub(super) fn of(document: &Document) -> Vec<(&'static str, String)> {
    let mut facts = vec![("ranks", ranks(document))];
    if !document.missing_ranks.is_empty() {
        facts.push(("missing ranks", list(&document.missing_ranks)));
    }
    if document.windows.len() > 1 {
        facts.push(("windows", document.windows.len().to_string()));
    }
    let times = if document.device_activity { "of devices" } else { "of the host: the traces show no device work" };
    facts.push(("times", times.to_owned()));
    facts.push(("clocks", clocks(document).to_owned()));
    if document.classes != Classes::Default {
        facts.push(("classes", document.classes.to_string()));
    }
    facts.push(("written by", format!("rankscope {}", document.rankscope_version)));
    facts
}

fn ranks(document: &Document) -> String {
    match document.world_size {
        Some(world) => format!("{} of {world}", document.ranks.len()),
        None => format!("{}; the traces do not say how many the job has", document.ranks.len()),
    }
}

/// `ranks`, the first of them.
fn list(ranks: &[u32]) -> String {
    const SHOWN: usize = 32;
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn clocks(document: &Document) -> &'static str {
    match document.clock.method {
        ClockMethod::Measured => "measured",
        ClockMethod::PartlyMeasured => "partly measured",
        ClockMethod::OneHost => "all ranks on the clock of one host",
        _ if document.clock.corrected => "corrected",
        _ => "as recorded",
    }
}

/// Who is late, or why nobody is named.
pub(super) fn verdict(document: &Document) -> String {
    let verdict = &document.verdict;
    if !verdict.late.is_empty() {
        return verdict.late.iter().map(late).collect::<Vec<_>>().join("\n");
    }
    match verdict.reason {
        Some(Unnamed::NobodyStandsOut) => "No rank stands out as late.",
        Some(Unnamed::NothingToJudge) => "No rank can be named: no collective of more than one rank could be judged.",
        Some(Unnamed::TooFewRounds) => "No rank can be named: there are too few rounds to tell a rule from an accident.",
        Some(Unnamed::Irregular) => "No rank is late from round to round.",
        Some(Unnamed::WithinClocks) => "No rank can be named: the clocks are not known well enough.",
        Some(Unnamed::NotComparable) => "No rank can be named: the traces contradict each other.",
        Some(_) | None => "No rank is named as late.",
    }
    .to_owned()
}

fn late(late: &LateRank) -> String {
    let ms = |ns: i64| ns as f64 / 1e6;
    let confidence = match late.confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    };
    let because = match late.because {
        Because::CameLast => "; it came last to collectives",
        Because::BusiestStage => "; it is the busiest stage of the pipeline",
        _ => "",
    };
    format!(
        "Rank {} is late: it held the others up for {:.3} ms ({:.3} to {:.3} ms), {:.1} % of what was recorded; confidence {confidence}{because}.",
        late.rank,
        ms(late.delay_wall_ns),
        ms(late.lo_ns),
        ms(late.hi_ns),
        late.share * 100.0
    )
}
