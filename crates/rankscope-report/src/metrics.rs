//! Where a running job is, as Prometheus reads it: the text format 0.0.4, also for the node exporter's textfile collector.
//!
//! Figures are gauges of the last look. How many series there are is bounded: of more ranks than [`RANKS_MAX`] those that come latest
//! are told, and how many there are is a figure of its own. Nothing of a job's names is in a label.

use std::fmt::Write as _;

use rankscope_document::{LiveAlarmKind, LiveDocument, LiveRank};

/// Ranks with series of their own.
const RANKS_MAX: usize = 2_048;

/// The document as metrics.
pub fn live_metrics(document: &LiveDocument) -> String {
    let mut text = String::new();
    let one = |value: Option<f64>| value.map(|value| (String::new(), value)).into_iter().collect::<Vec<_>>();
    let gauges = [
        ("ranks", "Ranks that tell of themselves.", one(Some(document.ranks.len() as f64))),
        ("step", "The step that the first ranks are in.", one(document.step.map(|step| step as f64))),
        ("step_seconds", "How long the last step took, in the middle of the ranks.", one(document.step_ns.map(seconds))),
        ("compared_steps", "Steps over which ranks were compared.", one(Some(f64::from(document.compared_steps)))),
        (
            "rank_lateness_seconds",
            "How much later than the rank in the middle a rank's own work lets it come to collectives, a step.",
            ranks(document, |rank| rank.lateness_ns),
        ),
        (
            "rank_clock_error_seconds",
            "How far clocks may put a rank's lateness off at most.",
            ranks(document, |rank| rank.clock_error_ns),
        ),
        (
            "rank_caused_wait_seconds",
            "What the others together waited for this rank alone, a step.",
            ranks(document, |rank| rank.caused_wait_ns),
        ),
        ("progress_age_seconds", "How long ago a rank did anything.", ranks(document, |rank| Some(rank.progress_age_ns))),
        ("alarm", "1 while an alarm is raised; of the whole job without a rank.", alarms(document)),
    ];
    for (name, help, series) in gauges {
        // A String takes any write.
        let _ = writeln!(text, "# HELP rankscope_{name} {help}\n# TYPE rankscope_{name} gauge");
        for (labels, value) in series {
            let _ = writeln!(text, "rankscope_{name}{labels} {value}");
        }
    }
    text
}

fn ranks(document: &LiveDocument, pick: fn(&LiveRank) -> Option<i64>) -> Vec<(String, f64)> {
    let told = document.ranks.iter().take(RANKS_MAX);
    let series = told.filter_map(|rank| Some((format!("{{rank=\"{}\"}}", rank.rank), seconds(pick(rank)?))));
    series.collect()
}

/// Each kind at least once, so that an alarm that was never raised is a figure, too.
fn alarms(document: &LiveDocument) -> Vec<(String, f64)> {
    let mut series = Vec::new();
    for kind in [LiveAlarmKind::Straggler, LiveAlarmKind::SlowJob, LiveAlarmKind::Hang] {
        let raised = || document.alarms.iter().filter(|alarm| alarm.kind == kind);
        let of_job = raised().any(|alarm| alarm.rank.is_none());
        series.push((format!("{{kind=\"{}\"}}", kind.name()), f64::from(u8::from(of_job))));
        let ranks = raised().filter_map(|alarm| alarm.rank).take(RANKS_MAX);
        series.extend(ranks.map(|rank| (format!("{{kind=\"{}\",rank=\"{rank}\"}}", kind.name()), 1.0)));
    }
    series
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_document::LiveAlarm;

    #[test]
    fn figures_are_seconds_and_what_is_not_known_has_no_series() {
        let late = LiveRank { rank: 2, lateness_ns: Some(6_500_000), progress_age_ns: 1_000_000_000, ..LiveRank::default() };
        let document = LiveDocument {
            step: Some(40),
            ranks: vec![late, LiveRank::default()],
            alarms: vec![LiveAlarm { rank: Some(2), ..LiveAlarm::default() }],
            ..LiveDocument::default()
        };
        let text = live_metrics(&document);
        let has = |line: &str| assert!(text.lines().any(|other| other == line), "{line} in {text}");
        has("rankscope_rank_lateness_seconds{rank=\"2\"} 0.0065");
        has("rankscope_progress_age_seconds{rank=\"2\"} 1");
        has("rankscope_alarm{kind=\"straggler\",rank=\"2\"} 1");
        has("rankscope_alarm{kind=\"hang\"} 0");
        assert!(!text.contains("lateness_seconds{rank=\"0\"}") && !text.contains("\nrankscope_step_seconds "), "{text}");
    }

    #[test]
    fn the_dashboard_shows_figures_that_there_are() {
        let told = live_metrics(&LiveDocument::default());
        let names: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        let dashboard = include_str!("../../../deploy/grafana.json");
        let panels: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let panels = panels["panels"].as_array().unwrap();
        let mut shown = 0;
        for panel in panels {
            for target in panel["targets"].as_array().unwrap() {
                let expression = target["expr"].as_str().unwrap();
                let at = expression.find("rankscope_").unwrap_or_else(|| panic!("{expression}"));
                let name = expression[at..].split('{').next().unwrap();
                assert!(names.contains(&name), "{name} in {}: there are {names:?}", panel["title"]);
                shown += 1;
            }
        }
        assert_eq!((shown, panels.len()), (12, 12));
    }

    #[test]
    fn a_hundred_thousand_ranks_make_no_more_series_than_a_server_takes() {
        let ranks = (0..100_000).map(|rank| LiveRank { rank, lateness_ns: Some(1), ..LiveRank::default() });
        let document = LiveDocument { ranks: ranks.collect(), ..LiveDocument::default() };
        let text = live_metrics(&document);
        assert!(text.lines().count() < 20_000);
        assert!(text.contains("rankscope_ranks 100000\n"));
    }
}
