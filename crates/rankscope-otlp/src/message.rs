//! Figures as an `ExportMetricsServiceRequest` of OpenTelemetry, in protobuf. Numbers of fields are those of opentelemetry-proto 1.x, under
//! `opentelemetry/proto/{collector/metrics,metrics,resource,common}/v1`.
//!
//! Gauges are of the moment of the look. Counters are sums that only grow, cumulative since the watcher began, so that nothing is lost
//! with a push that is. Names are those that Prometheus reads.

use rankscope_formats::wire::Encoder;
use rankscope_report::{Figure, FigureKind, FigurePoint};

use crate::exporter::Look;

/// Of what figures are: one watcher of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Names and values; of a name that comes twice the last value holds.
    pub attributes: Vec<(String, String)>,
    /// The version of the program that tells.
    pub version: String,
}

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// The message that tells `look`.
pub fn request(look: &Look) -> Vec<u8> {
    let mut message = Encoder::default();
    message.message(1, |of_run| {
        of_run.message(1, |resource| {
            for (name, value) in last_of_each(&look.resource.attributes) {
                attribute(resource, 1, name, value);
            }
        });
        of_run.message(2, |of_scope| {
            of_scope.message(1, |scope| {
                scope.string(1, "rankscope").string(2, &look.resource.version);
            });
            for figure in look.figures.iter().filter(|figure| !figure.points.is_empty()) {
                of_scope.message(2, |metric| fill(metric, figure, look));
            }
        });
    });
    message.into_bytes()
}

fn fill(metric: &mut Encoder, figure: &Figure, look: &Look) {
    metric.string(1, figure.name).string(2, figure.help).string(3, figure.unit.ucum());
    let points = |data: &mut Encoder, since_ns: Option<u64>| {
        for point in &figure.points {
            data.message(1, |told| number(told, point, since_ns, look.time_ns));
        }
    };
    match figure.kind {
        FigureKind::Counter => metric.message(7, |sum| {
            points(sum, Some(look.since_ns.min(look.time_ns)));
            sum.varint(2, CUMULATIVE).varint(3, 1);
        }),
        _ => metric.message(5, |gauge| points(gauge, None)),
    };
}

fn number(told: &mut Encoder, point: &FigurePoint, since_ns: Option<u64>, time_ns: u64) {
    if let Some(since_ns) = since_ns {
        told.fixed64(2, since_ns);
    }
    told.fixed64(3, time_ns).double(4, point.value);
    for (name, value) in &point.labels {
        attribute(told, 7, name, value);
    }
}

fn attribute(into: &mut Encoder, field: u32, name: &str, value: &str) {
    into.message(field, |pair| {
        pair.string(1, name).message(2, |any| {
            any.string(1, value);
        });
    });
}

fn last_of_each(attributes: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    let is_last = |at: usize, name: &str| attributes[at + 1..].iter().all(|(other, _)| other != name);
    let told = attributes.iter().enumerate().filter(move |(at, (name, _))| is_last(*at, name));
    told.map(|(_, (name, value))| (name.as_str(), value.as_str()))
}
