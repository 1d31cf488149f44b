//! What was reported on, and what is missing from it.

use rankscope_document::{Classes, Clock, ClockMethod, Document, Window};

use super::Sheet;
use crate::text::{clean, rank_list, shorten, wrap};
use crate::units::{counted, of};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let title = shorten(&clean(&document.title), sheet.width - 11);
    let mut lines = vec![format!("{}  {}", sheet.paint.dim("rankscope"), sheet.paint.bold(&title))];
    lines.extend(wrap(&facts(document).join(" · "), sheet.width));
    if document.ranks.is_empty() {
        lines.extend(["".to_owned(), NO_TRACE.to_owned()]);
    } else if !document.device_activity && document.is_training() {
        lines.push(String::new());
        lines.extend(wrap(HOST_TIMES, sheet.width));
    }
    lines
}

/// What the report rests on, each in a few words.
pub(crate) fn facts(document: &Document) -> Vec<String> {
    let mut facts = vec![match document.world_size {
        Some(world) => format!("ranks {}", of(document.ranks.len() as u64, u64::from(world))),
        None => format!("{}, world size not recorded", counted(document.ranks.len(), "rank")),
    }];
    if !document.missing_ranks.is_empty() {
        facts.push(format!("missing {}", rank_list(&document.missing_ranks, 6)));
    }
    if document.ranks.is_empty() {
        return facts;
    }
    facts.extend(windows(&document.windows));
    facts.push(if document.device_activity { "device times" } else { "host times" }.to_owned());
    facts.push(clocks(&document.clock).to_owned());
    if document.classes != Classes::Default {
        facts.push(format!("classes {}", clean(document.classes.as_str())));
    }
    facts
}

/// How many windows there are and of which steps, where there are several.
pub(crate) fn windows(windows: &[Window]) -> Option<String> {
    const SHOWN: usize = 4;
    if windows.len() < 2 {
        return None;
    }
    let steps = |window: &Window| window.first_step.zip(window.last_step);
    let Some(all) = windows.iter().map(steps).collect::<Option<Vec<_>>>() else {
        return Some(counted(windows.len(), "window"));
    };
    let one = |(first, last): &(i64, i64)| if first == last { first.to_string() } else { format!("{first} to {last}") };
    let shown = all.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", ");
    let more = if all.len() > SHOWN { format!(" and {} more", all.len() - SHOWN) } else { String::new() };
    Some(format!("{}: steps {shown}{more}", counted(windows.len(), "window")))
}

/// What the times between ranks rest on, in two words.
pub(crate) fn clocks(clock: &Clock) -> &'static str {
    match clock.method {
        ClockMethod::Measured => "clocks measured",
        ClockMethod::PartlyMeasured => "clocks partly measured",
        ClockMethod::OneHost => "one clock",
        _ if clock.corrected => "clocks corrected",
        _ => "clocks as recorded",
    }
}

const NO_TRACE: &str = "No trace could be read, so there is nothing to report.";
const HOST_TIMES: &str =
    "No device activity in these traces: all times below are host times of operators and calls on the CPU.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_named_where_there_are_several() {
        let of = |steps: &[(i64, i64)]| {
            let window =
                |(first, last): &(i64, i64)| Window { first_step: Some(*first), last_step: Some(*last), ..Window::default() };
            windows(&steps.iter().map(window).collect::<Vec<_>>())
        };
        assert_eq!(of(&[(2, 5)]), None);
        assert_eq!(of(&[(2, 5), (8, 11)]).as_deref(), Some("2 windows: steps 2 to 5, 8 to 11"));
        let many: Vec<_> = (0..6).map(|number| (number * 10, number * 10)).collect();
        assert_eq!(of(&many).as_deref(), Some("6 windows: steps 0, 10, 20, 30 and 2 more"));
        assert_eq!(windows(&[Window::default(), Window::default()]).as_deref(), Some("2 windows"));
    }
}
