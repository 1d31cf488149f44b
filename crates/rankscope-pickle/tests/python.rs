//! Pickles that Python wrote, and pickles that nobody should.

use std::path::Path;

use proptest::prelude::*;
use rankscope_pickle::{Error, Kind, Value, read};
use rankscope_testkit::{Need, given};

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pickle");
    std::fs::read(folder.join(name)).expect("the fixture is there")
}

/// A value as Python's `repr` writes it, but for sets, whose order is their own.
fn repr(value: Value<'_>, depth: usize) -> String {
    assert!(depth < 50, "no fixture is as deep");
    let list = |open: &str, close: &str| {
        let items: Vec<String> = value.items().map(|item| repr(item, depth + 1)).collect();
        let comma = if open == "(" && items.len() == 1 { "," } else { "" };
        format!("{open}{}{comma}{close}", items.join(", "))
    };
    match value.container() {
        Some((_, Kind::List)) => list("[", "]"),
        Some((_, Kind::Tuple)) => list("(", ")"),
        Some((_, Kind::Dict)) => {
            let entry = |(key, value)| format!("{}: {}", repr(key, depth + 1), repr(value, depth + 1));
            format!("{{{}}}", value.entries().map(entry).collect::<Vec<_>>().join(", "))
        }
        Some(_) => {
            let mut items: Vec<String> = value.items().map(|item| repr(item, depth + 1)).collect();
            items.sort();
            format!("set({})", items.join(", "))
        }
        None if value.is_none() => "None".to_owned(),
        None => match (value.as_bool(), value.as_i64(), value.as_u64(), value.as_f64(), value.as_str()) {
            (Some(value), ..) => if value { "True" } else { "False" }.to_owned(),
            (_, Some(value), ..) => value.to_string(),
            (_, _, Some(value), ..) => value.to_string(),
            (_, _, _, Some(value), _) => format!("{value:?}"),
            (.., Some(text)) => format!("'{text}'"),
            _ => format!("bytes {:?}", value.as_bytes()),
        },
    }
}

#[test]
fn every_protocol_says_the_same() {
    let plain = "{'rank': 3, 'none': None, 'flags': [True, False], 'small': [0, 1, 255, 256, 65535, 65536, -1, -129], \
        'wide': [2147483647, -2147483648, 2147483648, 9223372036854775807, -9223372036854775808, 18446744073709551615], \
        'floats': [0.0, -1.5, 1e+300, inf], 'text': 'größe 时间 \u{1f680}', 'empty': [[], (), {}], \
        'tuples': [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], 'twice': [['shared'], ['shared']], 7: 'seven', (1, 2): 'pair'}";
    for protocol in 2..=5 {
        let bytes = fixture(&format!("plain.p{protocol}.pickle"));
        let pickle = read(&bytes).unwrap_or_else(|error| panic!("protocol {protocol}: {error}"));
        let text = repr(pickle.root(), 0).replace(&format!("{:?}", 1e300), "1e+300");
        assert_eq!(text, plain, "protocol {protocol}");
        let twice: Vec<_> = pickle.root().get("twice").unwrap().items().map(|item| item.container()).collect();
        assert_eq!(twice[0], twice[1], "one list, referred to twice");
        let long = pickle.root().get("twice").unwrap();
        assert_eq!((long.items().len(), long.entries().len(), long.get("x").is_none()), (2, 0, true));
    }
    for protocol in 4..=5 {
        let bytes = fixture(&format!("bytes.p{protocol}.pickle"));
        let text = repr(read(&bytes).unwrap().root(), 0);
        assert_eq!(text, "[bytes Some([0, 255]), set(1, 2), set('a')]", "protocol {protocol}");
    }
}

#[test]
fn long_lists_come_in_batches_and_stay_in_order() {
    for protocol in 2..=5 {
        let bytes = fixture(&format!("long.p{protocol}.pickle"));
        let pickle = read(&bytes).unwrap();
        assert!(pickle.root().items().map(|item| item.as_i64()).eq((0..2_500).map(Some)), "protocol {protocol}");
    }
}

#[test]
fn whatever_would_run_something_is_refused_by_name_and_place() {
    let refused = |bytes: &[u8]| match read(bytes) {
        Err(Error::Refused { name, at }) => (name, at),
        other => panic!("{other:?}"),
    };
    // What Python writes for an object, a function, and `collections.OrderedDict`.
    for protocol in 2..=5 {
        let name = if protocol < 4 { "GLOBAL" } else { "STACK_GLOBAL" };
        assert_eq!(refused(&fixture(&format!("evil.p{protocol}.pickle"))).0, name, "protocol {protocol}");
    }
    let codes = [
        (b'c', "GLOBAL"),
        (b'R', "REDUCE"),
        (b'b', "BUILD"),
        (b'i', "INST"),
        (b'o', "OBJ"),
        (0x81, "NEWOBJ"),
        (0x92, "NEWOBJ_EX"),
        (0x93, "STACK_GLOBAL"),
        (b'P', "PERSID"),
        (b'Q', "BINPERSID"),
        (0x82, "EXT1"),
        (0x83, "EXT2"),
        (0x84, "EXT4"),
        (0x97, "NEXT_BUFFER"),
        (0x98, "READONLY_BUFFER"),
        (b'S', "STRING"),
        (b'g', "GET"),
    ];
    for (code, name) in codes {
        assert_eq!(refused(&[0x80, 4, b'N', code, b'.']), (name, 3));
    }
    assert_eq!(read(&[0x80, 4, 0xff]).unwrap_err(), Error::Unknown { code: 0xff, at: 2 });
}

#[test]
fn bombs_go_off_in_nothing() {
    // Lengths that are only claimed.
    for length in [
        &b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"[..],
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
        b"B\xff\xff\xff\xff",
        b"X\xf0\xff\xff\x7fabc",
    ] {
        let bytes = [b"\x80\x04", length].concat();
        assert_eq!(read(&bytes).unwrap_err(), Error::Cut { at: bytes.len() });
    }
    // An index of the memo.
    assert!(read(b"\x80\x02Nr\xff\xff\xff\xff0j\xff\xff\xff\xff.").unwrap().root().is_none());
    // Lists in lists, as many as there are bytes; and a billion laughs, which stay fifty lists.
    let deep = |inner: &[u8], count: usize| [&b"\x80\x02"[..], &inner.repeat(count), b"."].concat();
    assert!(matches!(read(&deep(b"]", 3_000_000)).unwrap_err(), Error::TooMuch { .. }));
    assert!(matches!(read(&deep(b"(", 3_000_000)).unwrap_err(), Error::TooMuch { what: "open containers", .. }));
    assert!(matches!(read(&deep(b"N", 3_000_000)).unwrap_err(), Error::TooMuch { .. }));
    let mut laughs = b"\x80\x04]\x94".to_vec();
    (0..50_u8).for_each(|at| laughs.extend([b']', 0x94, b'(', b'h', at, b'h', at, b'h', at, b'e']));
    laughs.push(b'.');
    assert_eq!(read(&laughs).unwrap().containers(), 51);
    // A list that holds itself.
    let itself = read(b"\x80\x02]q\x00h\x00a.").unwrap();
    assert_eq!(itself.root().items().next().unwrap().container(), itself.root().container());
}

#[test]
fn damage_is_named() {
    for bytes in [&b""[..], b"\x80", b"{}", b"\x80\x01N.", b"\x80\x06N."] {
        assert_eq!(read(bytes).unwrap_err(), Error::NotAPickle, "{bytes:?}");
    }
    let damaged = [
        (&b"\x80\x02."[..], "STOP"),
        (b"\x80\x02a.", "APPEND"),
        (b"\x80\x02NNa.", "APPEND"),
        (b"\x80\x02}(Nu.", "SETITEMS"),
        (b"\x80\x02e.", "APPENDS"),
        (b"\x80\x02h\x07.", "BINGET"),
        (b"\x80\x02(Nd.", "DICT"),
        // What lies below a mark is out of reach.
        (b"\x80\x02N(0.", "POP"),
        (b"\x80\x02N(\x85.", "TUPLE1"),
    ];
    for (bytes, expected) in damaged {
        match read(bytes).unwrap_err() {
            Error::Damaged { name, .. } => assert_eq!(name, expected, "{bytes:?}"),
            other => panic!("{bytes:?}: {other}"),
        }
    }
    assert_eq!(read(b"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.").unwrap_err(), Error::TooWide { at: 2 });
}

#[test]
fn a_pickle_that_is_cut_anywhere_is_refused() {
    for name in ["plain.p2.pickle", "plain.p5.pickle", "bytes.p4.pickle"] {
        let bytes = fixture(name);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{name} cut to {length}");
        }
    }
}

/// What a job's ranks left of their collectives: other people's pickles.
#[test]
fn flight_recorders_are_read() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let mut read_ones = 0;
    for folder in ["ok", "hang", "p2p", "size", "type"] {
        let entries = std::fs::read_dir(corpus.join("flight-recorder").join(folder)).expect("the corpus has it");
        for path in entries.map(|entry| entry.expect("it can be listed").path()) {
            let bytes = std::fs::read(&path).expect("it can be read");
            if bytes.first() == Some(&0x80) {
                let pickle = read(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
                // One without collectives has none.
                let Some(entries) = pickle.root().get("entries") else { continue };
                assert!(
                    entries.items().all(|entry| entry.get("state").is_some_and(|state| state.as_str().is_some())),
                    "{path:?}"
                );
                read_ones += entries.items().len().min(1);
            }
        }
    }
    assert!(read_ones > 0);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _either = read(&[&b"\x80\x04"[..], &bytes].concat());
    }

    #[test]
    fn changed_bytes_are_read_or_refused(at in 0usize..600, to in any::<u8>(), protocol in 2..=5) {
        let mut bytes = fixture(&format!("plain.p{protocol}.pickle"));
        let at = at % bytes.len();
        bytes[at] = to;
        let _either = read(&bytes);
    }
}
