//! Objects of a web server that does what real ones do: cuts connections, replaces objects, ignores what it is asked for.

mod server;

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use proptest::prelude::*;
use rankscope_run::{Location, ObjectUrl, Put, StoreFault, StoredObject, Stores};
use rankscope_store::ObjectStores;
use server::{Habits, Server};

fn url(text: &str) -> ObjectUrl {
    Location::object(Path::new(text)).expect("a URL").expect("one of a store")
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length as u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).take(length).collect()
}

fn open(stores: &ObjectStores, server: &Server) -> Box<dyn StoredObject> {
    stores.open(&url(&server.url("rank0.json.gz"))).expect("it is there")
}

#[test]
fn a_stream_that_breaks_goes_on_where_it_broke() {
    let content = bytes(3_000_000);
    // Without ranges all that was read has to be read again, and is passed over.
    for (habits, ranges) in [
        (Habits { cut_after: Some(700_000), ..Habits::default() }, true),
        (Habits { cut_after: Some(700_000), forgets_etag: true, ..Habits::default() }, true),
    ] {
        let server = Server::start(content.clone(), habits);
        let mut read = Vec::new();
        open(&ObjectStores::default(), &server).read_to_end(&mut read).expect("all of it");
        assert!(read == content);
        let asked = server.asked();
        assert!(asked.len() >= 5 && asked.iter().any(|line| line.contains("range: bytes=")) == ranges, "{asked:?}");
    }
}

#[test]
fn a_server_without_ranges_is_read_again_from_the_start() {
    let content = bytes(3_000_000);
    // One connection is cut, the next is not.
    let habits = Habits { cut_after: Some(1_000_000), cuts: 1, ignores_ranges: true, ..Habits::default() };
    let server = Server::start(content.clone(), habits);
    let mut read = Vec::new();
    open(&ObjectStores::default(), &server).read_to_end(&mut read).expect("all of it");
    assert!(read == content);
}

#[test]
fn an_object_that_was_replaced_is_not_read_on() {
    for forgets_etag in [false, true] {
        let habits = Habits { cut_after: Some(700_000), forgets_etag, ..Habits::default() };
        let server = Server::start(bytes(3_000_000), habits);
        let mut object = open(&ObjectStores::default(), &server);
        let mut head = [0; 10];
        object.read_exact(&mut head).expect("its head");
        // Longer by a byte: without an etag, its length and its time are all that tells.
        server.replace(bytes(3_000_001));
        let failed = object.read_to_end(&mut Vec::new()).expect_err("it is another one");
        assert_eq!(object.fault().left(), Some(&StoreFault::Changed), "{failed}");
    }
}

#[test]
fn pieces_are_of_the_object_that_the_first_was_of() {
    for forgets_etag in [false, true] {
        let server = Server::start(bytes(100_000), Habits { forgets_etag, ..Habits::default() });
        let (stores, url) = (ObjectStores::default(), url(&server.url("rank0.json.gz")));
        let first = stores.piece(&url, 90_000..120_000, None).expect("there");
        assert!(first.bytes == bytes(100_000)[90_000..] && first.of.bytes == 100_000, "as far as it goes");
        assert_eq!(stores.piece(&url, 10..20, Some(&first.of)).expect("the same").bytes, bytes(20)[10..]);
        let asked = server.asked();
        assert!(asked.len() == 2 && asked[1].contains("range: bytes=10-19"), "nothing else is asked for: {asked:?}");
        server.replace(bytes(100_001));
        assert_eq!(stores.piece(&url, 10..20, Some(&first.of)), Err(StoreFault::Changed));
        let beyond = stores.piece(&url, 200_000..200_010, None).expect("there");
        assert!(beyond.bytes.is_empty() && beyond.of.bytes == 100_001);
    }
    let server = Server::start(bytes(10), Habits::default());
    let none = ObjectStores::default().piece(&url(&server.url("none.json")), 0..5, None);
    assert_eq!(none, Err(StoreFault::NoSuchObject));
}

#[test]
fn what_never_goes_on_fails_and_says_where() {
    let habits = Habits { cut_after: Some(0), ..Habits::default() };
    let server = Server::start(bytes(100_000), habits);
    let mut object = open(&ObjectStores::default(), &server);
    let failed = object.read_to_end(&mut Vec::new()).expect_err("nothing comes");
    assert_eq!(failed.kind(), ErrorKind::Other);
    assert!(matches!(object.fault().left(), Some(StoreFault::Unreachable { .. })), "{failed}");
}

#[test]
fn bytes_are_those_that_are_stored_whatever_the_server_calls_them() {
    let content = bytes(10_000);
    let server = Server::start(content.clone(), Habits { content_encoding: Some("gzip"), ..Habits::default() });
    let mut read = Vec::new();
    open(&ObjectStores::default(), &server).read_to_end(&mut read).expect("no one inflates it");
    assert!(read == content);
}

#[test]
fn what_is_wrong_is_told_apart() {
    let stores = ObjectStores::default();
    let server = Server::start(bytes(10), Habits::default());
    assert_eq!(stores.open(&url(&server.url("none.json"))).expect_err("nothing there"), StoreFault::NoSuchObject);
    assert_eq!(stores.about(&url(&server.url("none.json"))), Ok(None));
    assert_eq!(stores.about(&url(&server.url("rank0.json.gz"))).expect("there").expect("there").bytes, 10);
    assert_eq!(stores.list(&url(&server.url(""))).expect_err("a web server"), StoreFault::CannotList);
    let mut file = std::fs::File::open("Cargo.toml").expect("a file");
    assert_eq!(stores.put(&url(&server.url("a")), &mut file, Put::Replace), Err(StoreFault::CannotWrite));
    let refused = Server::start(bytes(10), Habits { refuses: true, ..Habits::default() });
    let fault = stores.open(&url(&refused.url("rank0.json.gz"))).expect_err("refused");
    assert!(matches!(&fault, StoreFault::Refused { code, .. } if code == "SignatureDoesNotMatch"), "{fault:?}");
    assert!(!fault.to_string().contains("AKIAHUSH"), "{fault}");
}

#[test]
fn nobody_there_is_told_without_waiting_long() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let fault = ObjectStores::default().open(&url(&format!("http://{address}/rank0.json"))).expect_err("nobody is there");
    assert!(matches!(&fault, StoreFault::Unreachable { reason } if reason.contains("refused")), "{fault:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// An object reads as its bytes do, wherever one goes in it.
    #[test]
    fn one_goes_anywhere_in_an_object(steps in prop::collection::vec((0..3_u8, 0..4_000_000_u64, 0..600_000_usize), 1..8)) {
        let content = bytes(3_500_000);
        let server = Server::start(content.clone(), Habits { cut_after: Some(900_000), ..Habits::default() });
        let mut object = open(&ObjectStores::default(), &server);
        let mut plain = std::io::Cursor::new(content);
        for (from, by, length) in steps {
            let to = match from {
                0 => SeekFrom::Start(by),
                1 => SeekFrom::Current(by as i64 - 2_000_000),
                _ => SeekFrom::End(-(by as i64)),
            };
            prop_assert_eq!(object.seek(to).ok(), plain.seek(to).ok());
            let (mut read, mut expected) = (Vec::new(), Vec::new());
            (&mut object).take(length as u64).read_to_end(&mut read).expect("it breaks, and goes on");
            (&mut plain).take(length as u64).read_to_end(&mut expected).expect("memory");
            prop_assert!(read == expected);
        }
    }
    /// Pieces are the object's bytes, however the server gives them.
    #[test]
    fn a_piece_is_what_lies_there(
        ranges in prop::collection::vec((0..1_100_000_u64, 1..400_000_u64), 1..4),
        ignores_ranges in any::<bool>(),
        forgets_etag in any::<bool>(),
        cut_after in prop::option::of(150_000..600_000_usize),
    ) {
        let content = bytes(1_000_000);
        // Without parts a connection that is always cut at the same place never leads further.
        let cuts = if ignores_ranges { 2 } else { u32::MAX };
        let habits = Habits { ignores_ranges, forgets_etag, cut_after, cuts, ..Habits::default() };
        let server = Server::start(content.clone(), habits);
        let (stores, url) = (ObjectStores::default(), url(&server.url("rank0.json.gz")));
        let mut of = None;
        for (from, length) in ranges {
            let piece = stores.piece(&url, from..from + length, of.as_ref()).expect("it breaks, and goes on");
            let [start, end] = [from, from + length].map(|at| content.len().min(at as usize));
            prop_assert!(piece.bytes == content[start..end]);
            of = Some(piece.of);
        }
    }
}
