//! Where a running job is in figures, and these as Prometheus reads them: the text format 0.0.4, also for the node exporter's textfile collector.
//!
//! Figures are gauges of the last look, and counters of what its watcher saw since it began. How many series there are is bounded: of more
//! ranks than [`RANKS_MAX`] those that come latest are told, and how many there are is a figure of its own. Nothing of a job's names is in a
//! label. OpenTelemetry is pushed the same figures (`rankscope-otlp`).

use std::fmt::Write as _;

use rankscope_document::{LiveAlarm, LiveAlarmKind, LiveDocument, LiveRank};

/// Ranks with series of their own.
const RANKS_MAX: usize = 2_048;

const KINDS: [LiveAlarmKind; 3] = [LiveAlarmKind::Straggler, LiveAlarmKind::SlowJob, LiveAlarmKind::Hang];

/// A figure of a running job, or one for each of many.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figure {
    /// Its name, the same everywhere.
    pub name: &'static str,
    /// What it says, a sentence.
    pub help: &'static str,
    /// What it is counted in.
    pub unit: FigureUnit,
    /// Whether it only grows.
    pub kind: FigureKind,
    /// Its series.
    pub points: Vec<FigurePoint>,
}

/// One series of a figure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FigurePoint {
    /// Names and values, none of which needs quoting.
    pub labels: Vec<(&'static str, String)>,
    /// In the figure's unit.
    pub value: f64,
}

/// Whether a figure only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FigureKind {
    /// It is what it was at the last look.
    Gauge,
    /// It has only grown since the watcher began.
    Counter,
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FigureUnit {
    /// Time.
    Seconds,
    /// Ranks of the job.
    Ranks,
    /// Steps of training.
    Steps,
    /// Alarms.
    Alarms,
    /// Whatever was to be told to somebody.
    Messages,
}

impl FigureUnit {
    /// As UCUM writes it. Numbers of things have the thing in braces and not the plain `1`, of which Prometheus makes a `_ratio`.
    pub fn ucum(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Ranks => "{rank}",
            Self::Steps => "{step}",
            Self::Alarms => "{alarm}",
            Self::Messages => "{message}",
        }
    }
}

/// What somebody who watches a job has counted since he began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveCounts {
    /// Alarms that were raised, by kind.
    alarms: [u64; KINDS.len()],
    /// Alarms that the user's command was not run for.
    pub commands_left_out: u64,
    /// Looks that a collector of OpenTelemetry should have had and has not.
    pub pushes_lost: u64,
}

impl LiveCounts {
    /// Counts an alarm if it begins.
    pub fn hear(&mut self, alarm: &LiveAlarm) {
        if alarm.cleared_ns.is_none()
            && let Some(at) = KINDS.iter().position(|kind| *kind == alarm.kind)
        {
            self.alarms[at] += 1;
        }
    }
}

/// The document and what was counted beside it as metrics.
pub fn live_metrics(document: &LiveDocument, counts: &LiveCounts) -> String {
    let mut text = String::new();
    for Figure { name, help, kind, points, .. } in live_figures(document, counts) {
        let kind = match kind {
            FigureKind::Gauge => "gauge",
            FigureKind::Counter => "counter",
        };
        // A String takes any write.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for FigurePoint { labels, value } in points {
            let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

/// The document and what was counted beside it in figures. What is not known has no series.
pub fn live_figures(document: &LiveDocument, counts: &LiveCounts) -> Vec<Figure> {
    use FigureUnit::{Alarms, Messages, Ranks, Seconds, Steps};
    let gauge = |name, help, unit, points| Figure { name, help, unit, kind: FigureKind::Gauge, points };
    let counter = |name, help, unit, points| Figure { name, help, unit, kind: FigureKind::Counter, points };
    let ranks = |pick| ranks(document, pick);
    vec![
        gauge("rankscope_ranks", "Ranks that tell of themselves.", Ranks, one(Some(document.ranks.len() as f64))),
        gauge("rankscope_step", "The step that the first ranks are in.", Steps, one(document.step.map(|step| step as f64))),
        gauge(
            "rankscope_step_seconds",
            "How long the last step took, in the middle of the ranks.",
            Seconds,
            one(document.step_ns.map(seconds)),
        ),
        gauge(
            "rankscope_compared_steps",
            "Steps over which ranks were compared.",
            Steps,
            one(Some(f64::from(document.compared_steps))),
        ),
        gauge(
            "rankscope_rank_lateness_seconds",
            "How much later than the rank in the middle a rank's own work lets it come to collectives, a step.",
            Seconds,
            ranks(|rank| rank.lateness_ns),
        ),
        gauge(
            "rankscope_rank_clock_error_seconds",
            "How far clocks may put a rank's lateness off at most.",
            Seconds,
            ranks(|rank| rank.clock_error_ns),
        ),
        gauge(
            "rankscope_rank_caused_wait_seconds",
            "What the others together waited for this rank alone, a step.",
            Seconds,
            ranks(|rank| rank.caused_wait_ns),
        ),
        gauge(
            "rankscope_progress_age_seconds",
            "How long ago a rank did anything.",
            Seconds,
            ranks(|rank| Some(rank.progress_age_ns)),
        ),
        gauge("rankscope_alarm", "1 while an alarm is raised; of the whole job without a rank.", Alarms, raised(document)),
        counter("rankscope_alarms_total", "Alarms that were raised since the job is watched.", Alarms, by_kind(counts)),
        counter("rankscope_dropped_total", "What was to be told to somebody and was not.", Messages, dropped(counts)),
    ]
}

fn one(value: Option<f64>) -> Vec<FigurePoint> {
    value.map(|value| FigurePoint { labels: Vec::new(), value }).into_iter().collect()
}

fn ranks(document: &LiveDocument, pick: fn(&LiveRank) -> Option<i64>) -> Vec<FigurePoint> {
    let told = document.ranks.iter().take(RANKS_MAX);
    let point =
        |rank: &LiveRank| Some(FigurePoint { labels: vec![("rank", rank.rank.to_string())], value: seconds(pick(rank)?) });
    told.filter_map(point).collect()
}

/// Each kind at least once, so that an alarm that was never raised is a figure, too.
fn raised(document: &LiveDocument) -> Vec<FigurePoint> {
    let mut points = Vec::new();
    for kind in KINDS {
        let raised = || document.alarms.iter().filter(|alarm| alarm.kind == kind);
        let of_job = raised().any(|alarm| alarm.rank.is_none());
        points.push(FigurePoint { labels: of_kind(kind), value: f64::from(u8::from(of_job)) });
        let ranks = raised().filter_map(|alarm| alarm.rank).take(RANKS_MAX);
        let of_rank = |rank: u32| [of_kind(kind), vec![("rank", rank.to_string())]].concat();
        points.extend(ranks.map(|rank| FigurePoint { labels: of_rank(rank), value: 1.0 }));
    }
    points
}

fn by_kind(counts: &LiveCounts) -> Vec<FigurePoint> {
    let counted = KINDS.into_iter().zip(counts.alarms);
    counted.map(|(kind, count)| FigurePoint { labels: of_kind(kind), value: count as f64 }).collect()
}

fn dropped(counts: &LiveCounts) -> Vec<FigurePoint> {
    let counted = [("command", counts.commands_left_out), ("push", counts.pushes_lost)];
    let point = |(what, count): (&str, u64)| FigurePoint { labels: vec![("what", what.to_owned())], value: count as f64 };
    counted.map(point).into()
}

fn of_kind(kind: LiveAlarmKind) -> Vec<(&'static str, String)> {
    vec![("kind", kind.name().to_owned())]
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_seconds_and_what_is_not_known_has_no_series() {
        let late = LiveRank { rank: 2, lateness_ns: Some(6_500_000), progress_age_ns: 1_000_000_000, ..LiveRank::default() };
        let document = LiveDocument {
            step: Some(40),
            ranks: vec![late, LiveRank::default()],
            alarms: vec![LiveAlarm { rank: Some(2), ..LiveAlarm::default() }],
            ..LiveDocument::default()
        };
        let text = live_metrics(&document, &LiveCounts::default());
        let has = |line: &str| assert!(text.lines().any(|other| other == line), "{line} in {text}");
        has("rankscope_rank_lateness_seconds{rank=\"2\"} 0.0065");
        has("rankscope_progress_age_seconds{rank=\"2\"} 1");
        has("rankscope_alarm{kind=\"straggler\",rank=\"2\"} 1");
        has("rankscope_alarm{kind=\"hang\"} 0");
        assert!(!text.contains("lateness_seconds{rank=\"0\"}") && !text.contains("\nrankscope_step_seconds "), "{text}");
    }

    #[test]
    fn what_ends_is_no_other_alarm_and_counters_say_that_they_are() {
        let mut counts = LiveCounts { pushes_lost: 3, ..LiveCounts::default() };
        let begins = LiveAlarm { kind: LiveAlarmKind::Hang, ..LiveAlarm::default() };
        counts.hear(&begins);
        counts.hear(&LiveAlarm { cleared_ns: Some(1), ..begins });
        let text = live_metrics(&LiveDocument::default(), &counts);
        let has = |line: &str| assert!(text.lines().any(|other| other == line), "{line} in {text}");
        has("# TYPE rankscope_alarms_total counter");
        has("rankscope_alarms_total{kind=\"hang\"} 1");
        has("rankscope_alarms_total{kind=\"straggler\"} 0");
        has("rankscope_dropped_total{what=\"push\"} 3");
        has("rankscope_dropped_total{what=\"command\"} 0");
        for figure in live_figures(&LiveDocument::default(), &counts) {
            assert_eq!(figure.kind == FigureKind::Counter, figure.name.ends_with("_total"), "{}", figure.name);
            assert_eq!(figure.unit == FigureUnit::Seconds, figure.name.ends_with("_seconds"), "{}", figure.name);
        }
    }

    #[test]
    fn the_dashboard_shows_figures_that_there_are() {
        let told = live_metrics(&LiveDocument::default(), &LiveCounts::default());
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
        let text = live_metrics(&document, &LiveCounts::default());
        assert!(text.lines().count() < 20_000);
        assert!(text.contains("rankscope_ranks 100000\n"));
    }
}
