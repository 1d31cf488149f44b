//! What a collector reads is what Prometheus reads, series for series.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, NumberDataPoint};
use proptest::prelude::*;
use prost::Message as _;
use rankscope_document::{LiveAlarm, LiveAlarmKind, LiveDocument, LiveRank};
use rankscope_otlp::{Look, Resource, request};
use rankscope_report::{LiveCounts, live_figures, live_metrics};

pub(crate) const TIME_NS: u64 = 1_795_000_000_000_000_123;
const SINCE_NS: u64 = 1_794_999_000_000_000_001;

pub(crate) fn decoded(body: &[u8]) -> ExportMetricsServiceRequest {
    ExportMetricsServiceRequest::decode(body).unwrap()
}

fn texts(attributes: &[KeyValue]) -> Vec<(String, String)> {
    let text = |attribute: &KeyValue| match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => (attribute.key.clone(), text.clone()),
        other => panic!("{} is {other:?}", attribute.key),
    };
    attributes.iter().map(text).collect()
}

pub(crate) fn resource_of(request: &ExportMetricsServiceRequest) -> BTreeMap<String, String> {
    let [of_run] = &request.resource_metrics[..] else { panic!("{request:?}") };
    let told = texts(&of_run.resource.as_ref().unwrap().attributes);
    let attributes: BTreeMap<String, String> = told.iter().cloned().collect();
    assert_eq!(attributes.len(), told.len(), "a name comes once: {told:?}");
    attributes
}

/// The message in Prometheus' words.
pub(crate) fn lines(request: &ExportMetricsServiceRequest) -> Vec<String> {
    let metrics = request.resource_metrics.iter().flat_map(|of_run| &of_run.scope_metrics).flat_map(|scope| &scope.metrics);
    metrics.flat_map(series).collect()
}

fn series(metric: &Metric) -> Vec<String> {
    let (kind, points) = match metric.data.as_ref().unwrap() {
        Data::Gauge(gauge) => ("gauge", &gauge.data_points),
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == AggregationTemporality::Cumulative as i32);
            ("counter", &sum.data_points)
        }
        other => panic!("{other:?}"),
    };
    let unit = if metric.name.ends_with("_seconds") { metric.unit == "s" } else { metric.unit.starts_with('{') };
    assert!(unit, "{} is in {}", metric.name, metric.unit);
    assert!(points.iter().all(|point| (point.start_time_unix_nano > 0) == (kind == "counter")), "{metric:?}");
    let head = [format!("# HELP {} {}", metric.name, metric.description), format!("# TYPE {} {kind}", metric.name)];
    head.into_iter().chain(points.iter().map(|point| line(&metric.name, point))).collect()
}

fn line(name: &str, point: &NumberDataPoint) -> String {
    let Some(Number::AsDouble(value)) = point.value else { panic!("{point:?}") };
    let labels: Vec<String> = texts(&point.attributes).iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    format!("{name}{labels} {value}")
}

/// Prometheus' text without figures that have no series, which OTLP has no use for.
fn prometheus(document: &LiveDocument, counts: &LiveCounts) -> Vec<String> {
    let text = live_metrics(document, counts);
    let all: Vec<&str> = text.lines().collect();
    let is_kept = |at: usize| {
        let next = |step: usize| all.get(at + step).is_some_and(|line| !line.starts_with('#'));
        !all[at].starts_with('#') || if all[at].starts_with("# HELP") { next(2) } else { next(1) }
    };
    (0..all.len()).filter(|at| is_kept(*at)).map(|at| all[at].to_owned()).collect()
}

pub(crate) fn look(document: &LiveDocument, counts: &LiveCounts) -> Look {
    let attribute = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let attributes = vec![attribute("service.name", "rankscope"), attribute("rankscope.run.id", "run \"7\"\n")];
    let resource = Resource { attributes, version: "1.2.3".to_owned() };
    Look { resource, figures: live_figures(document, counts), time_ns: TIME_NS, since_ns: SINCE_NS }
}

fn some_rank() -> impl Strategy<Value = LiveRank> {
    let figure = || prop::option::of(any::<i64>());
    let parts = (0u32..5_000, figure(), figure(), figure(), any::<i64>());
    parts.prop_map(|(rank, lateness_ns, clock_error_ns, caused_wait_ns, progress_age_ns)| LiveRank {
        rank,
        lateness_ns,
        clock_error_ns,
        caused_wait_ns,
        progress_age_ns,
        ..LiveRank::default()
    })
}

fn some_alarm() -> impl Strategy<Value = LiveAlarm> {
    let kind = prop::sample::select(vec![LiveAlarmKind::Straggler, LiveAlarmKind::SlowJob, LiveAlarmKind::Hang]);
    (kind, prop::option::of(0u32..9)).prop_map(|(kind, rank)| LiveAlarm { kind, rank, ..LiveAlarm::default() })
}

proptest! {
    #[test]
    fn a_collector_reads_what_prometheus_reads(
        ranks in prop::collection::vec(some_rank(), 0..40),
        alarms in prop::collection::vec(some_alarm(), 0..5),
        step in prop::option::of(any::<i64>()),
        step_ns in prop::option::of(any::<i64>()),
        lost in any::<u32>(),
    ) {
        let mut counts = LiveCounts::default();
        counts.pushes_lost = lost.into();
        alarms.iter().for_each(|alarm| counts.hear(alarm));
        let document = LiveDocument { ranks, alarms, step, step_ns, ..LiveDocument::default() };
        let request = decoded(&request(&look(&document, &counts)));
        prop_assert_eq!(lines(&request), prometheus(&document, &counts));
        let resource = resource_of(&request);
        prop_assert_eq!(resource["rankscope.run.id"].as_str(), "run \"7\"\n");
    }
}

#[test]
fn moments_are_whole_nanoseconds_and_no_counter_begins_after_it_is_read() {
    let mut look = look(&LiveDocument::default(), &LiveCounts::default());
    for (since_ns, expected) in [(SINCE_NS, SINCE_NS), (TIME_NS + 5, TIME_NS)] {
        look.since_ns = since_ns;
        let request = decoded(&request(&look));
        let scope = &request.resource_metrics[0].scope_metrics[0];
        let named = scope.scope.as_ref().unwrap();
        assert_eq!((named.name.as_str(), named.version.as_str()), ("rankscope", "1.2.3"));
        for metric in &scope.metrics {
            match metric.data.as_ref().unwrap() {
                Data::Gauge(gauge) => assert!(gauge.data_points.iter().all(|point| point.time_unix_nano == TIME_NS)),
                Data::Sum(sum) => {
                    let times = |point: &NumberDataPoint| (point.start_time_unix_nano, point.time_unix_nano);
                    assert!(sum.data_points.iter().all(|point| times(point) == (expected, TIME_NS)), "{metric:?}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn what_the_user_says_of_a_resource_holds() {
    let mut look = look(&LiveDocument::default(), &LiveCounts::default());
    look.resource.attributes.push(("service.name".to_owned(), "my training".to_owned()));
    assert_eq!(resource_of(&decoded(&request(&look)))["service.name"], "my training");
}

#[test]
fn a_hundred_thousand_ranks_are_no_more_than_a_collector_takes() {
    let ranks =
        (0..100_000).map(|rank| LiveRank { rank, lateness_ns: Some(1), clock_error_ns: Some(1), ..LiveRank::default() });
    let document = LiveDocument { ranks: ranks.collect(), ..LiveDocument::default() };
    let body = request(&look(&document, &LiveCounts::default()));
    // Collectors refuse requests of more than 20 MiB unless told otherwise.
    assert!(body.len() < 1 << 20, "{}", body.len());
    assert!(lines(&decoded(&body)).len() < 20_000);
}
