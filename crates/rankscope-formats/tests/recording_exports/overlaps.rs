//! Spans of one thread that overlap without one lying in the other: every format shows how long each of them was.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;

use proptest::prelude::*;
use rankscope_formats::recording::export::{About, kineto_json, perfetto};
use rankscope_formats::recording::{Cut, LiveFile, Recording, packed, to_trace};
use rankscope_formats::{ArgsPolicy, ReadOptions, json, perfetto as perfetto_format};
use rankscope_trace::{ArgValue, Trace};

use crate::engine::{ask, engine, scratch};
use crate::scene;

/// Spans by name, start and length, and whether they are marked as overlapping.
type Spans = BTreeMap<(String, i64, i64), bool>;

/// What a thread does, and how long after the last.
type Walk = Vec<(u8, u64)>;

/// A recording of one thread that ends spans in any order, and what it holds. Every name is given once.
fn recorded(walk: &[(u8, u64)]) -> (Recording<LiveFile<Cursor<Vec<u8>>>>, Spans) {
    let mut author = scene::process();
    author.thread(1, 4711, "main");
    let (mut open, mut spans, mut tick) = (Vec::<(u64, u64, String)>::new(), Spans::new(), 1_000_u64);
    let key = author.name("rows", 0, 0);
    let mut end =
        |author: &mut rankscope_formats::recording::LiveAuthor, open: &mut Vec<(u64, u64, String)>, at: usize, tick: u64| {
            let (id, begun, name) = open.remove(at);
            if at == open.len() {
                author.end(1, tick)
            } else {
                author.end_of(1, tick, id)
            }
            let ns = scene::EPOCH_NS + begun as i64;
            spans.insert((name, ns, (tick - begun) as i64), at < open.len());
        };
    for (number, (what, after)) in walk.iter().enumerate() {
        tick += 1 + after;
        match what {
            0..3 => {
                let text = format!("span {number}");
                let name = author.name(&text, 4, 7);
                open.push((author.begin(1, tick, name), tick, text));
                author.args(1, &[(key, rankscope_formats::recording::ArgView::I64(number as i64))]);
            }
            _ if open.is_empty() => {}
            3 => {
                let at = number * 7 % open.len();
                end(&mut author, &mut open, at, tick);
            }
            _ => {
                let last = open.len() - 1;
                end(&mut author, &mut open, last, tick);
            }
        }
    }
    while !open.is_empty() {
        tick += 1;
        let at = tick as usize % open.len();
        end(&mut author, &mut open, at, tick);
    }
    (scene::open(author.finish()), spans)
}

fn walk() -> impl Strategy<Value = Walk> {
    proptest::collection::vec((0_u8..6, 0_u64..1_000), 1..60)
}

fn options() -> ReadOptions {
    ReadOptions::default().with_args(ArgsPolicy::All)
}

/// The spans that were recorded, with the number each began with.
fn spans_of(trace: &Trace) -> Spans {
    let text = |row: usize, wanted: &str| {
        trace.spans.args.row(row).find(|(key, _)| trace.strings.text(*key) == wanted).map(|(_, value)| value)
    };
    let ours = trace.spans.ids().filter(|span| trace.strings.text(trace.spans.row(*span).name).starts_with("span "));
    ours.map(|span| {
        let row = trace.spans.row(span);
        let name = trace.strings.text(row.name).to_owned();
        // Our reader of JSON takes no arguments of asynchronous spans.
        if trace.spans.args.row(span.0 as usize).next().is_some() {
            assert_eq!(text(span.0 as usize, "rows"), Some(ArgValue::I64(name[5..].parse().unwrap())), "{name}");
        }
        let marked = text(span.0 as usize, "misnested") == Some(ArgValue::Bool(true));
        ((name, row.start_ns, row.dur_ns), marked)
    })
    .collect()
}

/// The recording in every format, as bytes: streamed, and by way of a trace.
fn exported(recording: &Recording<LiveFile<Cursor<Vec<u8>>>>) -> [(&'static str, Vec<u8>); 4] {
    let everything = Cut::everything();
    let about = About::of(recording);
    let trace = to_trace(recording, &everything, &options());
    let [mut streamed, mut proto, mut by_trace, mut proto_by_trace] = [const { Vec::new() }; 4];
    kineto_json(recording, &everything, &about, &mut streamed).unwrap();
    perfetto(recording, &everything, &about, &mut proto).unwrap();
    json::write(&trace, &mut by_trace).unwrap();
    perfetto_format::write(&trace, &mut proto_by_trace).unwrap();
    [
        ("streamed.json", streamed),
        ("streamed.pftrace", proto),
        ("by trace.json", by_trace),
        ("by trace.pftrace", proto_by_trace),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_format_keeps_the_length_of_every_span(walk in walk()) {
        let (recording, spans) = recorded(&walk);
        prop_assume!(!spans.is_empty());
        prop_assert_eq!(&spans_of(&to_trace(&recording, &Cut::everything(), &options())), &spans);
        let mut packed_bytes = Vec::new();
        packed::write(&recording, &Cut::everything(), &mut packed_bytes).unwrap();
        prop_assert_eq!(&spans_of(&packed::read(&packed_bytes[..], &options()).unwrap()), &spans);
        for (name, bytes) in exported(&recording) {
            if name.ends_with("json") {
                let found = spans_of(&json::read(&bytes[..], &options()).unwrap());
                prop_assert_eq!(found.keys().collect::<Vec<_>>(), spans.keys().collect::<Vec<_>>(), "{}", name);
            } else {
                prop_assert_eq!(&spans_of(&perfetto_format::read(&bytes[..], &options()).unwrap()), &spans, "{}", name);
            }
        }
    }
}

#[test]
fn the_engine_misplaces_no_end() {
    let Some(engine) = engine() else { return };
    let walk: Walk = (0..400_u64).map(|at| ((at * 7 % 11 % 6) as u8, at * 37 % 900)).collect();
    let (recording, spans) = recorded(&walk);
    assert!(spans.values().filter(|marked| **marked).count() > 20);
    for (name, bytes) in exported(&recording) {
        let file = scratch(&format!("overlaps {name}"));
        fs::write(&file, bytes).unwrap();
        let answers = ask(
            &engine,
            &file,
            &[
                "select name, severity, value from stats where value > 0 and
                 (severity in ('error', 'data_loss') or name like '%misplaced%')",
                "select name, dur from slice where name like 'span %' order by name",
                "select count(*) from slice where extract_arg(arg_set_id, 'args.misnested') = 1
                 or extract_arg(arg_set_id, 'debug.misnested') = 1",
            ],
        );
        assert_eq!(answers[0], [[""; 0]; 0], "complaints on {name}");
        let truth: Vec<[String; 2]> = spans.keys().map(|(name, _, dur)| [name.clone(), dur.to_string()]).collect();
        assert_eq!(answers[1], truth, "{name}");
        assert_eq!(answers[2], [[spans.values().filter(|marked| **marked).count().to_string()]], "{name}");
    }
}
