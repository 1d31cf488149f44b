//! Whatever a program calls its things, the exports parse and give the texts back.

use std::borrow::Cow;
use std::io::Cursor;

use proptest::prelude::*;
use rankscope_formats::recording::export::{About, kineto_json, perfetto};
use rankscope_formats::recording::{ArgView, Cut, Kind, LiveAuthor, Word};
use rankscope_formats::{ArgsPolicy, ReadOptions};
use serde_json::Value;

use crate::scene;

/// A recording with these texts in every place that takes one: a span's name, a thread's, an argument's key and its value, a
/// key of the metadata and its value.
#[derive(Clone, Debug)]
struct Texts {
    name: String,
    thread: String,
    key: String,
    value: Vec<u8>,
    meta: String,
}

impl Texts {
    fn author(&self) -> LiveAuthor {
        let mut author = scene::process();
        author.thread(1, 10, &self.thread);
        author.meta(&format!("user.{}", self.meta), &Value::from(self.name.as_str()).to_string());
        let [name, key, broken] =
            [&self.name, &self.key, &format!("{}, as bytes", self.key)].map(|text| author.name(text, 1, 7));
        author.begin(1, 10, name);
        author.args(1, &[(key, ArgView::Text(Cow::Borrowed(&self.name)))]);
        author.args(1, &[(broken, ArgView::Bytes(Cow::Borrowed(&self.value)))]);
        author.instant(1, 20, name);
        author.raw(1, &self.raw_text(key.0));
        author.end(1, 30);
        author
    }

    /// An argument that says it is text, whatever its bytes are.
    fn raw_text(&self, key: u32) -> Vec<u64> {
        let words = self.value.chunks(8).map(|part| {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(word)
        });
        std::iter::once(Word::new(Kind::ArgText, key, self.value.len() as u64).0).chain(words).collect()
    }

    fn json(&self) -> Value {
        let recording = scene::open(self.author().finish());
        let mut bytes = Vec::new();
        kineto_json(&recording, &Cut::everything(), &About::of(&recording), &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn check_json(&self) {
        let document = self.json();
        let events = document["traceEvents"].as_array().unwrap();
        let find = |phase: &str| events.iter().find(|event| event["ph"] == phase && event["tid"] == 10).unwrap();
        let thread = events.iter().find(|event| event["name"] == "thread_name").unwrap();
        assert_eq!(thread["args"]["name"], format!("thread 10 ({})", self.thread));
        assert_eq!(find("X")["name"], self.name);
        assert_eq!(find("X")["args"][&self.key], self.name);
        assert_eq!(find("i")["args"][&self.key], *String::from_utf8_lossy(&self.value));
        if !["schemaVersion", "displayTimeUnit", "baseTimeNanoseconds", "traceEvents", "traceName"].contains(&&self.meta[..]) {
            assert_eq!(document[&self.meta], self.name);
        }
    }

    fn check_perfetto(&self) {
        let recording = scene::open(self.author().finish());
        let mut bytes = Vec::new();
        perfetto(&recording, &Cut::everything(), &About::of(&recording), &mut bytes).unwrap();
        let options = ReadOptions::default().with_args(ArgsPolicy::All);
        let trace = rankscope_formats::perfetto::read(Cursor::new(bytes), &options).unwrap();
        assert!(trace.provenance.problems.is_empty(), "{:?}", trace.provenance.problems);
        assert_eq!(trace.strings.text(trace.spans.name[0]), self.name);
        let args: Vec<_> = trace.spans.args.row(0).map(|(key, value)| (trace.strings.text(key), value)).collect();
        let text = args.iter().find(|(key, _)| *key == self.key).unwrap().1;
        let rankscope_trace::ArgValue::Text(text) = text else { panic!("{text:?}") };
        assert_eq!(trace.strings.text(text), self.name);
    }
}

fn any_text() -> impl Strategy<Value = String> {
    // Any Unicode, and what has broken exporters before.
    prop_oneof![any::<String>(), "[\"\\\\/\n\r\t\u{0}-\u{1f}\u{7f}\u{2028}{}:,a]{0,12}", Just(String::new())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn texts_come_back(
        name in any_text(),
        thread in any_text(),
        key in any_text().prop_filter("names a field of ours", |key| !key.contains("External id")),
        value in prop_oneof![any::<Vec<u8>>(), any_text().prop_map(String::into_bytes)],
        meta in any_text(),
    ) {
        // An empty text is the name of nothing, and the key of nothing says that arguments are missing.
        prop_assume!(!key.is_empty());
        // The header's own keys are the header's.
        let meta = format!("{meta}.");
        let texts = Texts { name, thread, key, value, meta };
        texts.check_json();
        texts.check_perfetto();
    }
}

/// Longer than any buffer on the way; a chunk holds 256 KiB, so what a recorder can write ends there, while names do not.
#[test]
fn long_texts_come_back() {
    let long = "\u{1f600}\"\\".repeat(20_000);
    let texts = Texts {
        name: long.clone(),
        thread: long.clone(),
        key: "key".to_owned(),
        value: vec![0xff; 50_000],
        meta: long[..60_000].to_owned(),
    };
    texts.check_json();
    texts.check_perfetto();
}

/// What torch's exporter is known to break (specification of the recorder, section 1.7), whole here.
#[test]
fn what_torch_loses_is_kept() {
    for name in ["say \"hi\"", "a\tb", "\u{e4}\u{4e2d}", "line\nbreak", "back\\slash", "C:\\", "unknown"] {
        let texts = Texts {
            name: name.to_owned(),
            thread: name.to_owned(),
            key: name.to_owned(),
            value: name.as_bytes().to_vec(),
            meta: name.to_owned(),
        };
        texts.check_json();
        texts.check_perfetto();
    }
}
