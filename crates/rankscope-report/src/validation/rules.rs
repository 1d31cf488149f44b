//! What each rule asks of traces, and what to do where it is broken.

use rankscope_document::Rule;

/// A rule in words.
#[derive(Clone, Copy, Debug)]
pub(super) struct InWords {
    /// What holds in traces that keep it.
    pub(super) asks: &'static str,
    /// What to do about a breach, or what follows from it.
    pub(super) remedy: &'static str,
}

/// `rule` in words. One that this version does not know has none.
pub(super) fn in_words(rule: &Rule) -> InWords {
    let (asks, remedy) = match rule {
        Rule::CollectiveOverlap => {
            ("No rank leaves a collective that needs all ranks before every rank has entered it.", CLOCKS_OF_RANKS)
        }
        Rule::RootTakesPart => (
            "No rank leaves a broadcast or scatter before its root has entered, and no root a reduce or gather before every rank has.",
            CLOCKS_OF_RANKS,
        ),
        Rule::ReceiveAfterSend => ("No receive ends before its send starts.", CLOCKS_OF_RANKS),
        Rule::KernelAfterLaunch => ("No kernel starts before the call that launches it.", CLOCK_OF_DEVICE),
        Rule::WaitNamesRecord => (
            "A wait for an event names the call that recorded the event, and that call is in the trace.",
            "Let the profiler warm up for a step before the first one that counts, or update it: older ones do not write which call it was.",
        ),
        Rule::RecordBeforeWait => (
            "The call that recorded an event is no later than the wait for it.",
            "Times of host calls in this trace are wrong. Record again, and update the profiler if it happens again.",
        ),
        Rule::StreamIdleAtSync => ("No kernel is running on a stream once it has been synchronised with.", CLOCK_OF_DEVICE),
        Rule::CollectiveFields => (
            "The operator of a collective has its name, type, sizes and group size.",
            "Update torch: old releases do not write them. Without them, collectives are matched by less, and have no bandwidth.",
        ),
        Rule::BackwardName => (
            "One sequence number belongs to one backward operator.",
            "The job is all right. Of the operators that share the number, a viewer cannot tell which forward one each belongs to.",
        ),
        Rule::Nesting => (
            "Spans of one thread or stream nest or follow each other.",
            "The job is all right, but Perfetto leaves out such spans of JSON files. `rankscope convert` gives each a row in which it is shown.",
        ),
        Rule::FlowId => ("A flow begins once.", ARROW),
        Rule::FlowBegin => (
            "A flow that ends has begun.",
            "This is usual where a recording begins in the middle of work: a viewer leaves out the arrow, and the events are right.",
        ),
        Rule::FlowEnclosed => ("A point of a flow lies within a span.", ARROW),
        Rule::FlowForward => (
            "A flow does not point backward in time.",
            "The two ends of the arrow are on clocks that disagree; what is said above of launches and collectives tells which.",
        ),
        Rule::Damage => (
            "The file can be read as a whole.",
            "The file was cut off or damaged. See that the profiler ends before the program does and that the disk is not full, then record or copy it again.",
        ),
        Rule::Drops => (
            "The profiler lost nothing, and wrote no error or warning into the file.",
            "Profile fewer steps at a time, leave out stacks, shapes or memory, or give the profiler larger buffers.",
        ),
        Rule::Unfinished => (
            "Every span ended before the recording did.",
            "This is usual where a recording stops in the middle of a step. Stop the profiler between two steps.",
        ),
        Rule::Duration => (
            "No duration is negative or too large.",
            "Such spans count as having no length. Update the profiler if there are many.",
        ),
        Rule::Outside => (
            "No event lies far from all others in time.",
            "The times of these events are wrong. Record again without them, or conclude nothing from them.",
        ),
        _ => ("", ""),
    };
    InWords { asks, remedy }
}

const CLOCKS_OF_RANKS: &str = "The clocks of these ranks disagree. Measure them while the job runs, with `rankscope run` or an agent on each node; or try `--align from-traces`. What is broken on those clocks too, no clock explains: one of the traces has wrong times.";
const CLOCK_OF_DEVICE: &str = "The device's clock and the host's disagree in this trace. Do not compare times of the device with those of the host; update the profiler and the driver.";
const ARROW: &str = "A viewer leaves out the arrow or draws it wrongly; the events themselves are right.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_says_what_it_asks_and_what_to_do() {
        for word in Rule::WORDS {
            let InWords { asks, remedy } = in_words(&Rule::from(*word));
            assert!(asks.ends_with('.') && remedy.ends_with('.'), "{word}");
        }
        assert_eq!(in_words(&Rule::from("of_a_later_version")).asks, "");
    }
}
