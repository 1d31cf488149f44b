//! Where a running job is, for a terminal: a line about the job, and a line a rank, the latest first.

use rankscope_document::{LiveAlarm, LiveAlarmKind, LiveCollective, LiveDocument, LiveRank};

use crate::Style;
use crate::plain::one_line;
use crate::terminal::{Sheet, Table, drawn, joined};
use crate::text::{clean, shorten, width_of, wrap};
use crate::units::{counted, duration, or_absent};

/// Lines of the table, at most.
const LINES_MAX: usize = 32;

/// Alarms that are shown, at most.
const ALARMS_MAX: usize = 8;

/// The document as text.
pub fn live_terminal(document: &LiveDocument, style: Style) -> String {
    let sheet = Sheet::of(style);
    let title = shorten(&clean(&document.title), sheet.width() - 11);
    let heading = vec![format!("{}  {}", sheet.paint().dim("rankscope"), sheet.paint().bold(&title))];
    let step = or_absent(document.step, |step| step.to_string());
    let took = or_absent(document.step_ns, |ns| duration(ns as f64));
    let compared = counted(document.compared_steps as usize, "step");
    let about = format!("step {step}, {took} a step; {} compared over {compared}", counted(document.ranks.len(), "rank"));
    let replay =
        document.replay.map(|replay| format!("REPLAY of a run that has ended: step {} of {}", replay.place, replay.steps));
    let problems = document.problems.iter().take(8).flat_map(|problem| wrap(&format!("! {}", clean(problem)), sheet.width()));
    let alarms = document.alarms.iter().take(ALARMS_MAX).flat_map(|alarm| wrap(&alarm_line(alarm), sheet.width()));
    let alarms = alarms.map(|line| sheet.paint().with("31", &line)).collect();
    joined(vec![heading, replay.into_iter().chain([about]).collect(), alarms, problems.collect(), ranks(document, sheet)])
}

/// What an alarm says, in a sentence, and the command that shows it, where there is one.
pub fn alarm_line(alarm: &LiveAlarm) -> String {
    match &alarm.read {
        Some(command) => format!("{} See: {}", sentence(alarm), one_line(command)),
        None => sentence(alarm),
    }
}

fn sentence(alarm: &LiveAlarm) -> String {
    let time = |ns: i64| duration(ns as f64);
    let (value, threshold) = (time(alarm.value_ns), time(alarm.threshold_ns));
    let whose = alarm.rank.map_or_else(|| "A rank".to_owned(), |rank| format!("Rank {rank}"));
    match (alarm.kind, alarm.cleared_ns.is_some()) {
        (LiveAlarmKind::Straggler, false) => {
            let error = time(alarm.clock_error_ns);
            format!("{whose} comes {value} late a step by its own work, with clocks known to ± {error}.")
        }
        (LiveAlarmKind::Straggler, true) => format!("{whose} is no longer late."),
        (LiveAlarmKind::SlowJob, false) => format!("A step takes {value}, and took no more than {threshold} before."),
        (LiveAlarmKind::SlowJob, true) => "Steps no longer take longer than before.".to_owned(),
        (LiveAlarmKind::Hang, false) => format!("Nothing has moved for {value}; up to {threshold} would be usual."),
        (LiveAlarmKind::Hang, true) => format!("The job moves again after {value}."),
    }
}

fn ranks(document: &LiveDocument, sheet: Sheet) -> Vec<String> {
    let listed = || document.ranks.iter().take(LINES_MAX);
    let mut figures = Table::new(&FIGURES, FIGURES.len());
    listed().for_each(|rank| figures.push(cells(rank)));
    // What a rank is in has the room that is left.
    let room = sheet.width().saturating_sub(figures.width() + 4);
    let mut table = Table::new(&[&FIGURES[..], &["is in"]].concat(), FIGURES.len() + 1);
    for rank in listed() {
        let mut row = cells(rank);
        row.push(is_in(rank, room));
        table.push(row);
    }
    let mut lines = drawn(&table, sheet);
    if let Some(rest) = document.ranks.len().checked_sub(LINES_MAX).filter(|rest| *rest > 0) {
        lines.push(format!("  and {} more", counted(rest, "rank")));
    }
    lines
}

const FIGURES: [&str; 6] = ["rank", "step", "late by", "clock error", "caused", "moved ago"];

fn cells(rank: &LiveRank) -> Vec<String> {
    let time = |ns: Option<i64>| or_absent(ns, |ns| duration(ns as f64));
    vec![
        rank.rank.to_string(),
        or_absent(rank.step, |step| step.to_string()),
        time(rank.lateness_ns),
        or_absent(rank.clock_error_ns, |ns| format!("± {}", duration(ns as f64))),
        time(rank.caused_wait_ns),
        duration(rank.progress_age_ns as f64),
    ]
}

/// In so many columns; where they are few, without its age, which is about what the rank last moved.
fn is_in(rank: &LiveRank, room: usize) -> String {
    let Some(LiveCollective { group, seq, op, age_ns, .. }) = &rank.open else { return shorten(&phase(rank), room) };
    let call = format!("{} {seq} of {}", clean(op), shorten(&clean(group), 16));
    let with_age = format!("{call}, {}", duration(*age_ns as f64));
    if width_of(&with_age) <= room { with_age } else { shorten(&call, room) }
}

/// Of a rank outside of collectives, the phase that it marks. That it trains goes without saying.
fn phase(rank: &LiveRank) -> String {
    let age = rank.phase_age_ns.map(|age_ns| duration(age_ns as f64)).unwrap_or_default();
    rank.phase
        .as_deref()
        .filter(|phase| *phase != "training")
        .map(|phase| format!("{}, {age}", clean(phase)))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_and_its_end_are_a_sentence_each() {
        let alarm = LiveAlarm { value_ns: 45_000_000_000, threshold_ns: 30_000_000_000, ..LiveAlarm::default() };
        let said = [LiveAlarmKind::Straggler, LiveAlarmKind::SlowJob, LiveAlarmKind::Hang].map(|kind| {
            [None, Some(1)].map(|cleared_ns| alarm_line(&LiveAlarm { kind, cleared_ns, rank: Some(7), ..alarm.clone() }))
        });
        assert_eq!(said[0][1], "Rank 7 is no longer late.");
        assert_eq!(said[2][0], "Nothing has moved for 45.0 s; up to 30.0 s would be usual.");
        let read = LiveAlarm { read: Some("rankscope hang a-run".to_owned()), kind: LiveAlarmKind::Hang, ..alarm.clone() };
        assert_eq!(alarm_line(&read), format!("{} See: rankscope hang a-run", said[2][0]));
        let all: std::collections::BTreeSet<&String> = said.iter().flatten().collect();
        assert_eq!(all.len(), 6, "{said:?}");
    }

    #[test]
    fn the_latest_rank_stands_first_and_what_is_not_known_is_a_dash() {
        let open = LiveCollective { group: "dp".to_owned(), seq: 9, op: "all_reduce".to_owned(), bytes: 8, age_ns: 2_000_000 };
        let late = LiveRank {
            rank: 2,
            step: Some(40),
            lateness_ns: Some(11_000_000),
            clock_error_ns: Some(23_000),
            caused_wait_ns: Some(30_000_000),
            progress_age_ns: 1_000_000,
            ..LiveRank::default()
        };
        let waits = LiveRank { rank: 0, open: Some(open), ..LiveRank::default() };
        let phase = |rank, phase: &str| LiveRank {
            rank,
            phase: Some(phase.to_owned()),
            phase_age_ns: Some(3_000_000_000),
            ..LiveRank::default()
        };
        let problems = vec!["2 of 4 ranks tell of themselves.".to_owned()];
        let document = LiveDocument {
            title: "demo-1".to_owned(),
            step: Some(40),
            alarms: vec![LiveAlarm { rank: Some(2), value_ns: 11_000_000, clock_error_ns: 23_000, ..LiveAlarm::default() }],
            ranks: vec![late, waits, phase(1, "checkpoint"), phase(3, "training")],
            problems,
            ..LiveDocument::default()
        };
        for columns in [80, 120, 200] {
            let text = live_terminal(&document, Style { color: false, width: columns });
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
            let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in {text}"));
            assert!(at("11.0 ms") < at("all_reduce 9 of dp") && at("± 23.0 us") > 0 && at("2 of 4") > 0);
            assert!(text.contains("checkpoint, 3.00 s") && !text.contains("training"), "{text}");
            assert!(at("Rank 2 comes 11.0 ms late a step") < at("all_reduce 9 of dp"));
        }
    }
}
