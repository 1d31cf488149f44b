//! The answer in sentences; of what there is none of, none is said.

use rankscope_document::{ClockMethod, ValidationDocument};

use crate::units::{counted, duration};

/// What `document` says, the most important sentence first.
pub fn validation_sentences(document: &ValidationDocument) -> Vec<String> {
    let mut sentences = vec![answer(document)];
    if let (Some(mean), Some(most)) = (document.avg_gap_ns, document.max_gap_ns) {
        sentences.push(format!(
            "From first to last start {} on average and {} at most, over {}.",
            duration(mean.round()),
            duration(most as f64),
            many(document.gap_count, "collective")
        ));
    }
    if document.unmatched > 0 {
        sentences.push(format!("{} matched no other rank's.", many(document.unmatched, "collective")));
    }
    if document.unjudged > 0 {
        sentences
            .push(format!("For {} the trace does not show which rank needs which.", many(document.unjudged, "collective")));
    }
    if !document.missing_ranks.is_empty() {
        sentences.push(format!("{} of the job left no trace.", counted(document.missing_ranks.len(), "rank")));
    }
    sentences.extend(document.notes.iter().map(|note| format!("About the clocks: {note}.")));
    sentences
}

/// What cannot have happened, on which clocks, and what else there is.
fn answer(document: &ValidationDocument) -> String {
    let violations = match document.violations {
        0 => "No violation".to_owned(),
        count => many(count, "violation"),
    };
    let across = match document.matched.saturating_sub(document.unjudged) {
        0 => "no collective could be checked across ranks".to_owned(),
        judged => format!("{} of {} overlap on all ranks", document.overlaps, many(judged, "judged collective")),
    };
    let losses = many(document.losses, "loss");
    format!("{violations} {}: {across}; {losses}, {}.", clocks(&document.clocks), many(document.warnings, "warning"))
}

/// On which clocks.
pub(super) fn clocks(clocks: &ClockMethod) -> &'static str {
    match clocks {
        ClockMethod::AsRecorded => "on the clocks as recorded",
        ClockMethod::OneHost => "on the clock of the ranks' host",
        ClockMethod::Collectives => "on clocks estimated from the collectives themselves",
        ClockMethod::PartlyMeasured => "on partly measured clocks",
        _ => "on measured clocks",
    }
}

fn many(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "loss") => format!("{count} losses"),
        _ => counted(usize::try_from(count).unwrap_or(usize::MAX), noun),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_first_and_what_there_is_none_of_is_not_said() {
        let document = ValidationDocument { clocks: ClockMethod::AsRecorded, ..ValidationDocument::default() };
        let said =
            ["No violation on the clocks as recorded: no collective could be checked across ranks; 0 losses, 0 warnings."];
        assert_eq!(validation_sentences(&document), said);
        let document = ValidationDocument {
            violations: 1,
            losses: 1,
            warnings: 1,
            matched: 5,
            unjudged: 1,
            overlaps: 3,
            missing_ranks: vec![7],
            ..document
        };
        let said = validation_sentences(&document);
        assert_eq!(
            said[0],
            "1 violation on the clocks as recorded: 3 of 4 judged collectives overlap on all ranks; 1 loss, 1 warning."
        );
        assert_eq!(
            said[1..],
            ["For 1 collective the trace does not show which rank needs which.", "1 rank of the job left no trace."]
        );
    }
}
