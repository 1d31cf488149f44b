use proptest::prelude::*;

use super::*;
use crate::{Key, SETTINGS};

const SECONDS: Kind = Kind::Duration { unit: Unit::Seconds, min_ns: 1, max_ns: 60_000_000_000 };

#[test]
fn durations_are_exact() {
    for (text, ns) in [
        ("4", Some(4_000_000_000)),
        ("0.5", Some(500_000_000)),
        ("2.50", Some(2_500_000_000)),
        ("250 ms", Some(250_000_000)),
        ("800us", Some(800_000)),
        ("0.000000001", Some(1)),
        ("0.0000000001", None),
        ("-1", None),
        ("4e0", None),
        ("4 min", None),
        (".", None),
        ("", None),
        ("61", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(parse(&SECONDS, text), ns.map(Value::Duration), "{text:?}");
    }
}

#[test]
fn switches_take_the_usual_words() {
    for (text, on) in [("1", Some(true)), ("TRUE", Some(true)), ("off", Some(false)), ("no", Some(false)), ("2", None)] {
        assert_eq!(parse(&Kind::Switch, text), on.map(Value::Switch), "{text:?}");
    }
}

#[test]
fn addresses_need_a_host_and_a_port() {
    for (text, is) in [
        ("node0:29401", Some("tcp://node0:29401")),
        ("tcp://[fe80::1]:29401", Some("tcp://[fe80::1]:29401")),
        ("dir:///shared/run", Some("dir:///shared/run")),
        ("etcd://127.0.0.1:2379", Some("etcd://127.0.0.1:2379")),
        ("torch://node0:29500", Some("torch://node0:29500")),
        ("torch://node0", None),
        ("tcp://fe80::1:29401", None),
        ("tcp://node0", None),
        ("tcp://:1", None),
        ("node0:0", None),
        ("http://node0:80", None),
        ("file:///shared/run", Some("file:///shared/run")),
        ("/shared/run", Some("file:///shared/run")),
        ("etcd://a:1,b:2", Some("etcd://a:1,b:2")),
        ("file://shared", None),
        ("dir://", None),
    ] {
        assert_eq!(parse(&Kind::Rendezvous, text), is.map(|is| Value::Text(is.to_owned())), "{text:?}");
    }
}

#[test]
fn edges_and_lists() {
    assert_eq!(parse(&Kind::Edges, "0-1, 1->2"), Some(Value::Edges(vec![(0, 1), (1, 2)])));
    assert_eq!(parse(&Kind::Edges, "0-0"), None);
    assert_eq!(parse(&Kind::Edges, "0-1,"), None);
    assert_eq!(parse(&Kind::List, "^docker, lo"), Some(Value::List(vec!["^docker".into(), "lo".into()])));
}

#[test]
fn a_secret_is_shown_by_nothing() {
    let value = parse(&Kind::Secret, "hunter2").unwrap();
    let shown =
        format!("{value} {value:?} {} {}", Key::SharedKey.setting().shown(&value), Key::SharedKey.setting().written(&value));
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(matches!(value, Value::Secret(secret) if secret.reveal() == "hunter2"));
}

fn values(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Switch => any::<bool>().prop_map(Value::Switch).boxed(),
        Kind::Integer { min, max, .. } => (min..=max).prop_map(Value::Integer).boxed(),
        Kind::Duration { min_ns, max_ns, .. } => (min_ns..=max_ns).prop_map(Value::Duration).boxed(),
        Kind::Text => "[a-z/]{1,9}".prop_map(Value::Text).boxed(),
        Kind::List => prop::collection::vec("[\\^=a-z]{1,5}", 1..4).prop_map(Value::List).boxed(),
        Kind::Edges => {
            prop::collection::vec((0u32..99, 1u32..9).prop_map(|(a, d)| (a, a + d)), 1..4).prop_map(Value::Edges).boxed()
        }
        Kind::Rendezvous => (1u16..).prop_map(|port| Value::Text(format!("tcp://host:{port}"))).boxed(),
        Kind::Choice(words) => (0..words.len()).prop_map(|at| Value::Choice(words[at].0)).boxed(),
        Kind::Secret => unreachable!("a secret is not written"),
    }
}

fn setting_and_value() -> impl Strategy<Value = (&'static Setting, Value)> {
    let open: Vec<_> = SETTINGS.iter().filter(|setting| setting.kind != Kind::Secret).collect();
    prop::sample::select(open).prop_flat_map(|setting| (Just(setting), values(setting.kind)))
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same((setting, value) in setting_and_value()) {
        prop_assert_eq!(parse(&setting.kind, &setting.written(&value)), Some(value));
    }

    #[test]
    fn no_text_panics(text in ".*") {
        for setting in SETTINGS {
            if let Some(value) = parse(&setting.kind, &text) {
                prop_assert!(!setting.shown(&value).is_empty());
            }
        }
    }
}
