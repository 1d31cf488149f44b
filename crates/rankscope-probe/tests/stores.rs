//! One set of laws for every store: the hosted one, a shared directory, and etcd where it is installed.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rankscope_clock::NodeId;
use rankscope_probe::key::SharedKey;
use rankscope_probe::rendezvous::{
    DirectoryStore, KeyValueStore, Refusal, Scoped, StoreError, StoreServer, TcpStore, TorchStore, gather_addresses,
    publish_address, publish_book, read_book,
};

const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);

type Store = Box<dyn KeyValueStore>;
type Open = Arc<dyn Fn() -> Store + Send + Sync>;

fn obeys_the_laws(open: Open) {
    texts_are_seen_by_all(&open);
    texts_written_together_are_all_there(&open);
    counters_lose_nothing(&open);
    a_wait_ends_when_the_key_comes_or_time_is_over(&open);
    a_barrier_holds_until_all_are_there(&open);
    scopes_do_not_meet(&open);
    addresses_are_gathered_and_the_missing_are_named(&open);
    strange_keys_and_texts_are_kept_or_refused(&open);
}

fn texts_are_seen_by_all(open: &Open) {
    let (mut one, mut other) = (open(), open());
    assert_eq!(other.get("text").unwrap(), None);
    one.set("text", "first").unwrap();
    assert_eq!(other.get("text").unwrap().as_deref(), Some("first"));
    other.set("text", "second").unwrap();
    assert_eq!(one.wait("text", PATIENCE).unwrap(), "second");
    one.set("empty", "").unwrap();
    assert_eq!(other.get("empty").unwrap().as_deref(), Some(""));
}

fn texts_written_together_are_all_there(open: &Open) {
    let (mut one, mut other) = (open(), open());
    let text = |number: u32| (format!("together:{number}"), format!("{number}-{}", "x".repeat(number as usize * 20)));
    let mut texts: Vec<_> = (0..300).map(text).collect();
    // The last of two texts under one key holds.
    texts.insert(10, ("together:7".to_owned(), "before".to_owned()));
    texts.push(("together:8".to_owned(), "after".to_owned()));
    one.set_all(&texts).unwrap();
    for number in [0, 9, 63, 64, 127, 128, 129, 299] {
        assert_eq!(other.get(&text(number).0).unwrap(), Some(text(number).1), "{number}");
    }
    assert_eq!(other.get("together:7").unwrap().as_deref(), Some("before"));
    assert_eq!(other.get("together:8").unwrap().as_deref(), Some("after"));
    one.set("together:9", "alone").unwrap();
    assert_eq!(other.get("together:9").unwrap().as_deref(), Some("alone"), "what follows is not mixed up with it");
    one.set_all(&[]).unwrap();
    let refused = one.set_all(&[("fine".to_owned(), String::new()), (String::new(), "x".to_owned())]);
    assert!(matches!(refused, Err(StoreError::BadKey { .. })));
}

fn counters_lose_nothing(open: &Open) {
    let adders = (0..8i64).map(|i| {
        let open = Arc::clone(open);
        thread::spawn(move || {
            let mut store = open();
            (0..10).map(|_| store.add("count", i + 1).unwrap()).collect::<Vec<_>>()
        })
    });
    let adders: Vec<_> = adders.collect();
    let mut seen: Vec<i64> = adders.into_iter().flat_map(|adder| adder.join().unwrap()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 80, "two additions came to the same");
    assert_eq!(open().add("count", 0).unwrap(), 360);
    assert_eq!(open().add("count", -361).unwrap(), -1);
}

fn a_wait_ends_when_the_key_comes_or_time_is_over(open: &Open) {
    let waiter = {
        let open = Arc::clone(open);
        thread::spawn(move || open().wait("late", PATIENCE))
    };
    let error = open().wait("never", SHORT).unwrap_err();
    assert!(matches!(&error, StoreError::TimedOut { key, after, .. } if key.ends_with("never") && *after == SHORT), "{error}");
    assert!(error.to_string().contains("no node wrote"), "{error}");
    open().set("late", "here").unwrap();
    assert_eq!(waiter.join().unwrap().unwrap(), "here");
}

fn a_barrier_holds_until_all_are_there(open: &Open) {
    for round in 1..=2i64 {
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let open = Arc::clone(open);
                thread::spawn(move || {
                    let mut store = open();
                    store.add("before", 1).unwrap();
                    store.barrier("all", 8, PATIENCE).unwrap();
                    assert!(store.add("before", 0).unwrap() >= 8 * round, "somebody passed too early");
                })
            })
            .collect();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
    }
    let error = open().barrier("lonely", 3, SHORT).unwrap_err();
    assert!(matches!(&error, StoreError::BarrierTimedOut { arrived: 1, count: 3, .. }), "{error}");
}

fn scopes_do_not_meet(open: &Open) {
    let scope = |run, restart| Scoped::new(open(), run, restart);
    scope("a", 0).set("k", "v").unwrap();
    assert_eq!(scope("a", 1).get("k").unwrap(), None);
    assert_eq!(scope("b", 0).get("k").unwrap(), None);
    assert_eq!(scope("a", 0).get("k").unwrap().as_deref(), Some("v"));
}

fn addresses_are_gathered_and_the_missing_are_named(open: &Open) {
    let mut store = open();
    let at = |node: u32| format!("10.0.0.{node}:{}", 20_000 + 100 * node).parse().unwrap();
    for node in [0, 2] {
        publish_address(&mut *store, NodeId(node), at(node)).unwrap();
    }
    let error = gather_addresses(&mut *store, 4, SHORT).unwrap_err();
    assert!(matches!(&error, StoreError::NodesMissing { missing, .. } if *missing == [NodeId(1), NodeId(3)]), "{error}");
    let all = {
        let open = Arc::clone(open);
        thread::spawn(move || gather_addresses(&mut *open(), 4, PATIENCE))
    };
    for node in [1, 3] {
        publish_address(&mut *store, NodeId(node), at(node)).unwrap();
    }
    assert_eq!(all.join().unwrap().unwrap(), (0..4).map(at).collect::<Vec<_>>());
    let at_all: Vec<_> =
        (0..2_500).map(|node| SocketAddr::from(([10, 0, (node >> 8) as u8, node as u8], 20_000 + node))).collect();
    assert_eq!(read_book(&mut *store, 2_500).unwrap(), None);
    publish_book(&mut *store, &at_all).unwrap();
    assert_eq!(read_book(&mut *store, 2_500).unwrap().as_ref(), Some(&at_all));
    assert_eq!(read_book(&mut *store, 2_501).unwrap(), None, "it is of another number of nodes");
    publish_book(&mut *store, &["[fd00::1]:9".parse().unwrap()]).unwrap();
    assert_eq!(read_book(&mut *store, 1).unwrap(), Some(vec!["[fd00::1]:9".parse().unwrap()]));
    store.set("address_book:0", "10.0.0.1:7 eth0").unwrap();
    let error = read_book(&mut *store, 2).unwrap_err();
    assert!(matches!(error, StoreError::BadAddress { node: NodeId(1), .. }), "{error}");
    store.set("node_addresses:1", "eth0").unwrap();
    let error = gather_addresses(&mut *store, 2, PATIENCE).unwrap_err();
    assert!(matches!(error, StoreError::BadAddress { node: NodeId(1), .. }), "{error}");
}

fn strange_keys_and_texts_are_kept_or_refused(open: &Open) {
    let mut store = open();
    let long = "k".repeat(400);
    for key in ["a/../b", "probe_edge:3->17", "ключ", ".", &long] {
        let value = format!("{key}\n\0\u{1f980}");
        store.set(key, &value).unwrap();
        assert_eq!(store.get(key).unwrap(), Some(value));
    }
    assert!(matches!(store.set("", "x"), Err(StoreError::BadKey { .. })));
    assert!(matches!(store.get(&"k".repeat(513)), Err(StoreError::BadKey { .. })));
    let big = "x".repeat(1 << 20);
    store.set("big", &big).unwrap();
    assert_eq!(store.get("big").unwrap(), Some(big));
    assert!(matches!(store.set("bigger", &"x".repeat((1 << 20) + 1)), Err(StoreError::TooLarge { .. })));
}

fn tcp(port: u16, key: &str) -> TcpStore {
    TcpStore::new("localhost", port, SharedKey::new(key), PATIENCE).unwrap()
}

#[test]
fn the_hosted_store_obeys() {
    for key in ["", "a secret"] {
        let server = StoreServer::start("localhost", 0, SharedKey::new(key)).unwrap();
        let port = server.address().port();
        obeys_the_laws(Arc::new(move || Box::new(tcp(port, key))));
    }
}

#[test]
fn a_shared_directory_obeys() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().to_owned();
    obeys_the_laws(Arc::new(move || Box::new(DirectoryStore::open(&path).unwrap())));
}

/// The part of torch's store that is used, by its description; a thread a connection, and one map for all.
mod torch {
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};
    use std::sync::Mutex;

    use rankscope_testkit::{Need, given};

    use super::*;

    type Map = Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>;

    fn serve(mut link: TcpStream, map: &Map) -> std::io::Result<()> {
        fn bytes<const N: usize>(link: &mut TcpStream) -> std::io::Result<[u8; N]> {
            let mut bytes = [0; N];
            link.read_exact(&mut bytes).map(|()| bytes)
        }
        fn string(link: &mut TcpStream) -> std::io::Result<Vec<u8>> {
            let mut text = vec![0; u64::from_le_bytes(bytes(link)?) as usize];
            link.read_exact(&mut text).map(|()| text)
        }
        assert_eq!(bytes::<5>(&mut link)?, [0, 0xCE, 0xF7, 0x85, 0x3C]);
        loop {
            match bytes::<1>(&mut link)?[0] {
                1 => {
                    let (key, value) = (string(&mut link)?, string(&mut link)?);
                    map.lock().unwrap().insert(key, value);
                }
                3 => {
                    let key = string(&mut link)?;
                    let value = map.lock().unwrap()[&key].clone();
                    link.write_all(&(value.len() as u64).to_le_bytes())?;
                    link.write_all(&value)?;
                }
                4 => {
                    let (key, delta) = (string(&mut link)?, i64::from_le_bytes(bytes(&mut link)?));
                    let mut map = map.lock().unwrap();
                    let before = map.get(&key).map_or(0, |text| String::from_utf8_lossy(text).parse().unwrap());
                    map.insert(key, (before + delta).to_string().into_bytes());
                    link.write_all(&(before + delta).to_le_bytes())?;
                }
                5 => {
                    assert_eq!(u64::from_le_bytes(bytes(&mut link)?), 1);
                    let key = string(&mut link)?;
                    link.write_all(&[u8::from(!map.lock().unwrap().contains_key(&key))])?;
                }
                13 => {
                    let number: [u8; 4] = bytes(&mut link)?;
                    link.write_all(&number)?;
                }
                other => panic!("request {other} is not one that a guest may make"),
            }
        }
    }

    #[test]
    fn a_store_by_the_description_of_torchs_obeys() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let map = Map::default();
        thread::spawn(move || {
            for link in listener.incoming() {
                let map = Arc::clone(&map);
                // A client that goes ends it.
                thread::spawn(move || serve(link.unwrap(), &map).unwrap_err());
            }
        });
        obeys_the_laws(Arc::new(move || Box::new(TorchStore::new("127.0.0.1", port, PATIENCE))));
    }

    #[test]
    fn what_is_no_store_of_torchs_is_told_from_one_that_is_not_there() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let other = thread::spawn(move || listener.accept().unwrap().0.write_all(b"HTTP/1.1 400"));
        let error = TorchStore::new("127.0.0.1", port, SHORT).get("key").unwrap_err();
        assert!(matches!(error, StoreError::Malformed { .. }), "{error}");
        other.join().unwrap().unwrap();
        let error = TorchStore::new("127.0.0.1", free_port(), SHORT).add("key", 1).unwrap_err();
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    }

    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn torchs_store_obeys() {
        let Some(python) = given(Need::Torch) else { return };
        for libuv in ["True", "False"] {
            let script = format!(
                "import sys, torch.distributed as d\ns = d.TCPStore('127.0.0.1', 0, is_master=True, wait_for_workers=False, use_libuv={libuv})\n\
                 print(s.port, flush=True)\nsys.stdin.read()"
            );
            let mut command = Command::new(&python);
            let child = command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut host = Killed(child);
            let mut line = String::new();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(host.0.stdout.take().unwrap()), &mut line).unwrap();
            let port = line.trim().parse().unwrap_or_else(|_| panic!("{line:?}"));
            obeys_the_laws(Arc::new(move || Box::new(TorchStore::new("127.0.0.1", port, PATIENCE))));
        }
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

#[cfg(feature = "etcd")]
mod etcd {
    use std::process::{Child, Command, Stdio};

    use rankscope_probe::rendezvous::EtcdStore;

    use super::*;

    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn etcd_obeys() {
        let data = tempfile::tempdir().unwrap();
        let (clients, peers) = (free_port(), free_port());
        let url = |port| format!("http://127.0.0.1:{port}");
        let started = Command::new("etcd")
            .args(["--data-dir", data.path().to_str().unwrap(), "--unsafe-no-fsync", "--log-level", "error"])
            .args(["--listen-client-urls", &url(clients), "--advertise-client-urls", &url(clients)])
            .args(["--listen-peer-urls", &url(peers), "--initial-advertise-peer-urls", &url(peers)])
            .args(["--initial-cluster", &format!("default={}", url(peers))])
            .stderr(Stdio::null())
            .spawn();
        let Ok(etcd) = started else {
            return rankscope_testkit::skip(rankscope_testkit::Need::Etcd, "etcd is not installed (Debian: etcd-server)");
        };
        let _etcd = Killed(etcd);
        // The first call waits for etcd to come up, and a member that is not there is passed over.
        let members = vec![format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{clients}")];
        obeys_the_laws(Arc::new(move || Box::new(EtcdStore::new(members.clone(), PATIENCE))));
    }
}

#[test]
fn clients_may_come_before_the_store_does() {
    let port = free_port();
    let early = thread::spawn(move || tcp(port, "k").wait("key", PATIENCE));
    let server = StoreServer::start("localhost", port, SharedKey::new("k")).unwrap();
    tcp(server.address().port(), "k").set("key", "value").unwrap();
    assert_eq!(early.join().unwrap().unwrap(), "value");
}

#[test]
fn a_store_that_is_restarted_is_told_again_what_it_forgot() {
    let server = StoreServer::start("localhost", 0, None).unwrap();
    let port = server.address().port();
    let (mut one, mut other) = (tcp(port, ""), tcp(port, ""));
    one.set("node_addresses:0", "10.0.0.1:20000").unwrap();
    one.add("count", 5).unwrap();
    other.add("count", 2).unwrap();
    drop(server);
    let _server = StoreServer::start("localhost", port, None).unwrap();
    assert_eq!(one.add("count", 1).unwrap(), 6);
    assert_eq!(other.add("count", 0).unwrap(), 8);
    assert_eq!(other.get("node_addresses:0").unwrap().as_deref(), Some("10.0.0.1:20000"));
}

#[test]
fn a_client_that_dies_in_the_middle_leaves_the_others_alone() {
    let server = StoreServer::start("localhost", 0, SharedKey::new("k")).unwrap();
    let port = server.address().port();
    for _ in 0..20 {
        use std::io::Write;
        let mut dying = TcpStream::connect(("localhost", port)).unwrap();
        dying.write_all(b"RSkv\x01 and no more").unwrap();
    }
    let waiting = thread::spawn(move || tcp(port, "k").wait("key", SHORT));
    let _silent = TcpStream::connect(("localhost", port)).unwrap();
    let _ = waiting.join().unwrap().unwrap_err();
    obeys_the_laws(Arc::new(move || Box::new(tcp(port, "k"))));
}

#[test]
fn who_is_refused_is_told_why_and_at_once() {
    let server = StoreServer::start("localhost", 0, SharedKey::new("right")).unwrap();
    for wrong in ["wrong", ""] {
        let error = tcp(server.address().port(), wrong).get("key").unwrap_err();
        assert!(error.to_string().contains("the shared keys differ"), "{error}");
    }
    assert_eq!(server.refusals(), BTreeMap::from([(Refusal::Key, 2)]), "a refusal is not tried again");
    let error = StoreServer::start("localhost", server.address().port(), None).unwrap_err();
    assert!(matches!(error, StoreError::Host { .. }), "{error}");
}

#[test]
fn a_store_that_is_not_there_is_named() {
    let port = free_port();
    let mut store = TcpStore::new("localhost", port, None, SHORT).unwrap();
    let error = store.set("key", "value").unwrap_err().to_string();
    assert!(error.contains(&format!("tcp://localhost:{port}")) && error.contains("Check that node 0 runs"), "{error}");
    assert!(matches!(store.wait("key", SHORT), Err(StoreError::Unreachable { .. })));
    assert!(DirectoryStore::open(Path::new("/dev/null/x")).is_err());
}
