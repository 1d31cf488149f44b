//! The recorder's benchmark for people: two Markdown tables, as the README shows them.

use std::fmt::Write;

use serde_json::Value;

/// One row per recorder with its ratios, one row per other measure.
pub(crate) fn markdown(document: &Value) -> String {
    let mut text = "| what | ns per span | min | of the floor | of ours |\n|---|--:|--:|--:|--:|\n".to_owned();
    let min = &document["min"];
    let (floor_ns, ours_ns) = (document["floor_ns"].as_f64(), document["span_ns"].as_f64());
    let mut row = |name: &str, median: &Value, min: &Value| {
        let Some(ns) = median.as_f64() else { return };
        let ratio = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |of| format!("{:.1}", ns / of));
        let cells = [name.to_owned(), format!("{ns:.1}"), cell(min), ratio(floor_ns), ratio(ours_ns)];
        push(&mut text, &cells);
    };
    for (key, name) in OURS {
        row(name, &document[key], &min[key]);
    }
    for (name, median) in entries(&document["rivals_span_ns"]) {
        row(name, median, &min["rivals_span_ns"][name]);
    }
    let torch = &document["torch"];
    row("torch _RecordFunctionFast, off", &torch["off_ns"], &torch["min"]["off_ns"]);
    row("torch _RecordFunctionFast", &torch["span_ns"], &torch["min"]["span_ns"]);
    for (threads, median) in entries(&document["threads"]) {
        row(&format!("rankscope, {threads} threads at once"), median, &min["threads"][threads]);
    }
    for (threads, median) in entries(&document["floor_threads"]) {
        row(&format!("floor, {threads} threads at once"), median, &min["floor_threads"][threads]);
    }
    if let Some(why) = torch["skipped"].as_str() {
        push(&mut text, &[format!("torch: skipped, {why}"), "-".into(), "-".into(), "-".into(), "-".into()]);
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

const OURS: [(&str, &str); 4] = [
    ("floor_ns", "floor: two ticks and a store of 24 bytes"),
    ("off_ns", "rankscope, off"),
    ("span_ns", "rankscope"),
    ("span_two_args_ns", "rankscope, two scalar arguments"),
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

fn entries(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
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
    fn a_recorder_stands_beside_the_floor_and_beside_ours() {
        let document = json!({
            "floor_ns": 10.0, "off_ns": 0.5, "span_ns": 20.0, "span_two_args_ns": 40.0,
            "rivals_span_ns": { "puffin": 80.0 }, "min": { "rivals_span_ns": { "puffin": 70.0 } },
            "torch": { "skipped": "python3 has no torch" },
            "stop_ms": { "1e4": 0.25 },
        });
        let text = markdown(&document);
        assert!(text.contains("| puffin | 80.0 | 70 | 8.0 | 4.0 |"), "{text}");
        assert!(text.contains("skipped, python3 has no torch"), "{text}");
        assert!(text.contains("| stop, ms, 1e4 | 0.25 |"), "{text}");
    }

    #[test]
    fn rows_are_as_wide_as_their_head() {
        let document = json!({ "floor_ns": 1.0, "torch": { "off_ns": 500.5, "span_ns": 900.5 }, "threads": { "1": 3.0 } });
        let text = markdown(&document);
        for table in text.split("\n\n") {
            let widths: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
            assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        }
    }
}
