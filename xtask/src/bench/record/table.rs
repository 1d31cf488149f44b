//! The recorder's benchmark for people: two Markdown tables, as the README shows them.

use std::fmt::Write;

use serde_json::Value;

/// One row per recorder with its ratios, one row per other measure.
pub(crate) fn markdown(document: &Value) -> String {
    let mut text = "| what | ns per span | min | of the floor | CPU ns, all threads |\n|---|--:|--:|--:|--:|\n".to_owned();
    let floor_ns = document["span_ns"]["floor"].as_f64();
    for (key, name) in ROWS {
        let [ns, cpu, min] =
            ["/span_ns", "/cpu_ns", "/min/span_ns"].map(|of| &document.pointer(of).unwrap_or(&Value::Null)[key]);
        let Some(median) = ns.as_f64() else { continue };
        let ratio = floor_ns.map_or_else(|| "-".to_owned(), |floor| format!("{:.1}", median / floor));
        push(&mut text, &[name.to_owned(), short(ns), short(min), ratio, short(cpu)]);
    }
    text.push_str("\n| measure | value |\n|---|--:|\n");
    for (name, pointer) in MEASURES {
        match document.pointer(pointer) {
            Some(Value::Object(values)) => {
                for (key, value) in values {
                    push(&mut text, &[format!("{name}, {key}"), cell(value)]);
                }
            }
            Some(value) if !value.is_null() => push(&mut text, &[name.to_owned(), cell(value)]),
            _ => {}
        }
    }
    text
}

/// By the names the benchmark gives them.
const ROWS: [(&str, &str); 29] = [
    ("floor", "floor: two ticks and a store of 24 bytes"),
    ("floor_ticks", "two ticks alone"),
    ("off", "rankscope, nothing recorded"),
    ("span", "rankscope, memory"),
    ("next", "rankscope, memory, `record_next!`: begins as the one before ends"),
    ("span_file", "rankscope, file"),
    ("span_ring", "rankscope, ring"),
    ("span_two_args", "rankscope, memory, two scalar arguments"),
    ("poll", "rankscope, `in_span!`: a poll, linked to the one before"),
    ("tracing_registry", "`tracing`: its registry alone"),
    ("tracing_alone_off", "`tracing`, `RecordingLayer::alone`, nothing recorded"),
    ("tracing_off", "`tracing`, `RecordingLayer` beside other layers, nothing recorded"),
    ("tracing_on", "`tracing`, `RecordingLayer`, recording"),
    ("perfetto-recorder_warm", "perfetto-recorder, memory touched before"),
    ("perfetto-recorder", "perfetto-recorder, memory new each turn"),
    ("tracy-client", "tracy-client"),
    ("puffin", "puffin, 1,000 spans per frame"),
    ("fastrace", "fastrace, 1,000 spans per root"),
    ("tracing-chrome", "tracing-chrome"),
    ("tracing-perfetto", "tracing-perfetto"),
    ("threads_1", "rankscope, 1 thread"),
    ("threads_2", "rankscope, 2 threads at once"),
    ("threads_4", "rankscope, 4 threads at once"),
    ("ring_threads_1", "rankscope, ring, 1 thread"),
    ("ring_threads_2", "rankscope, ring, 2 threads at once"),
    ("ring_threads_4", "rankscope, ring, 4 threads at once"),
    ("floor_threads_1", "floor, 1 thread"),
    ("floor_threads_2", "floor, 2 threads at once"),
    ("floor_threads_4", "floor, 4 threads at once"),
];

const MEASURES: [(&str, &str); 9] = [
    ("bytes per span while recording", "/bytes_per_span"),
    ("stop, ms", "/stop_ms"),
    ("export, ns per event", "/export_ns_per_event"),
    ("native, bytes per event on disk", "/disk_bytes_per_event"),
    ("peak while exporting ten million, MB", "/export_1e7_peak_mb"),
    ("growth over 1000 sessions, MB", "/sessions_1000_rss_grown_mb"),
    ("a thousand million spans", "/billion"),
    ("machine", "/machine"),
    ("rounds", "/rounds"),
];

/// To the tenth.
fn short(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".to_owned(), |number| format!("{number:.1}"))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(number) if number.fract() != 0.0 => format!("{number:.2}"),
            Some(number) => format!("{number:.0}"),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn push(text: &mut String, cells: &[String]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_recorder_stands_beside_the_floor_and_says_what_all_threads_took() {
        let document = json!({
            "span_ns": { "floor": 10.0, "span": 20.0, "puffin": 80.0 },
            "cpu_ns": { "floor": 10.0, "span": 23.4, "puffin": 99.0 },
            "min": { "span_ns": { "puffin": 70.0 } },
            "stop_ms": { "1e4": 0.25 },
        });
        let text = markdown(&document);
        assert!(text.contains("| puffin, 1,000 spans per frame | 80.0 | 70.0 | 8.0 | 99.0 |"), "{text}");
        assert!(text.contains("| rankscope, memory | 20.0 | - | 2.0 | 23.4 |"), "{text}");
        assert!(text.contains("| stop, ms, 1e4 | 0.25 |"), "{text}");
    }

    #[test]
    fn rows_are_as_wide_as_their_head() {
        let document = json!({ "span_ns": { "floor": 1.0, "off": 0.5, "threads_2": 3.0 }, "rounds": 25 });
        let text = markdown(&document);
        for table in text.split("\n\n") {
            let widths: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
            assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        }
    }
}
