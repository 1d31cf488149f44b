use std::net::{Ipv4Addr, UdpSocket};

use rankscope_clock::Edge;
use rankscope_clock::graph::EdgePorts;

use super::*;
use crate::rendezvous::DirectoryStore;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const NODES: u32 = 4;

fn options(node: u32, ports: PortMode) -> MeetingOptions {
    MeetingOptions {
        node: NodeId(node),
        num_nodes: NODES,
        ip: HERE,
        ports,
        topology: Topology::Ring,
        seed: 1,
        secret: None,
        socket: SocketOptions::default(),
        timeout: Duration::from_secs(20),
    }
}

/// `nodes` meet, each in a thread of its own, over a store in a folder.
fn meetings(nodes: impl Iterator<Item = MeetingOptions>) -> Vec<Result<Agreement, MeetError>> {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = nodes
            .map(|options| {
                let mut store = DirectoryStore::open(folder.path()).unwrap();
                scope.spawn(move || meet(&mut store, &options))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// What both ends know of an edge must be the same; returns all edges.
fn agreed_edges(met: &[Agreement]) -> Vec<(Edge, EdgePorts)> {
    let sorted = |mut edges: Vec<(Edge, EdgePorts)>| {
        edges.sort_by_key(|(edge, _)| *edge);
        edges
    };
    let out = sorted(met.iter().flat_map(|it| it.minutes.edges.out.clone()).collect());
    assert_eq!(out, sorted(met.iter().flat_map(|it| it.minutes.edges.back.clone()).collect()));
    out
}

/// A block of ports for each node, all of them free.
fn free_blocks() -> PortOptions {
    let per_node = 10;
    let free = |base: &u16| (0..4 * per_node).all(|port| UdpSocket::bind((HERE, base + port)).is_ok());
    let base = (30_000..32_000).step_by(100).find(free).expect("forty free ports in a row");
    PortOptions::new(base, per_node)
}

#[test]
fn four_nodes_agree_on_one_port_each() {
    let met: Vec<Agreement> =
        meetings((0..NODES).map(|node| options(node, PortMode::Single(0)))).into_iter().map(Result::unwrap).collect();
    let first = &met[0].minutes;
    assert!(first.secret.reveal().len() >= 32);
    for (it, node) in met.iter().zip(0..) {
        assert_eq!((it.minutes.run, &it.minutes.secret, &it.minutes.addresses), (first.run, &first.secret, &first.addresses));
        assert_eq!(it.minutes.addresses[node], it.endpoints.sockets[0].socket.local_addr());
        assert_eq!(it.endpoints.sockets.len(), 1);
    }
    for (edge, ports) in agreed_edges(&met) {
        let port = |node: NodeId| first.addresses[node.0 as usize].port();
        assert_eq!(ports, EdgePorts { listen: port(edge.dst), response: port(edge.src) });
    }
}

#[test]
fn a_port_that_is_taken_is_given_to_no_edge() {
    let blocks = free_blocks();
    let mode = PortMode::PerEdge { blocks, control: 0 };
    // The lowest ports of the blocks of nodes 0 and 2 are the first to be given out.
    let busy = [blocks.base, blocks.base + 2 * blocks.per_node];
    let _holders = busy.map(|port| UdpSocket::bind((HERE, port)).unwrap());
    let met: Vec<Agreement> = meetings((0..NODES).map(|node| options(node, mode))).into_iter().map(Result::unwrap).collect();
    let edges = agreed_edges(&met);
    assert!(edges.len() >= NODES as usize);
    for (edge, ports) in edges {
        assert!(!busy.contains(&ports.listen) && !busy.contains(&ports.response), "{edge}: {ports:?}");
        let block = |node: NodeId| blocks.base + node.0 as u16 * blocks.per_node;
        assert!((block(edge.dst)..block(edge.dst) + blocks.per_node).contains(&ports.listen));
        assert!((block(edge.src)..block(edge.src) + blocks.per_node).contains(&ports.response));
    }
    for it in &met {
        assert_eq!(it.endpoints.sockets.len(), 1 + it.minutes.plain_edges().len());
    }
}

#[test]
fn who_does_not_come_is_named() {
    let timeout = Duration::from_millis(300);
    let present = [0, 1, 3].map(|node| MeetingOptions { timeout, ..options(node, PortMode::Single(0)) });
    for result in meetings(present.into_iter()) {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with("1 of 4 nodes did not publish their address") && error.contains(": node 2."), "{error}");
    }
}

/// A store that counts what it is asked.
struct Counted<S> {
    store: S,
    asked: u32,
}

impl<S: KeyValueStore> KeyValueStore for Counted<S> {
    fn place(&self) -> &str {
        self.store.place()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        self.asked += 1;
        self.store.set(key, value)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.asked += 1;
        self.store.get(key)
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        self.asked += 1;
        self.store.wait(key, timeout)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.asked += 1;
        self.store.add(key, delta)
    }
}

/// What each of `nodes` nodes in a ring asks of the store until they have met.
fn asked(nodes: u32, ports: PortMode) -> Vec<u32> {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..nodes)
            .map(|node| {
                let mut store = Counted { store: DirectoryStore::open(folder.path()).unwrap(), asked: 0 };
                let options = MeetingOptions { num_nodes: nodes, ..options(node, ports) };
                scope.spawn(move || meet(&mut store, &options).map(|_| store.asked).unwrap())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn what_a_node_asks_of_the_store_does_not_grow_with_the_job() {
    let (few, many) = (asked(8, PortMode::Single(0)), asked(96, PortMode::Single(0)));
    let most = |asked: &[u32]| *asked[1..].iter().max().unwrap();
    assert_eq!(most(&few), most(&many));
    // Node 0 asks for all, and writes for all.
    assert!(many[0] > 96 && few[0] > 8, "{} and {}", many[0], few[0]);
}

#[test]
fn nodes_meet_where_node_0_writes_no_book() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = DirectoryStore::open(folder.path()).unwrap();
    let at = |node: u32| SocketAddr::from(([10, 0, 0, node as u8], 7));
    for node in 0..NODES {
        publish_address(&mut store, NodeId(node), at(node)).unwrap();
    }
    session(&mut store, &options(0, PortMode::Single(0))).unwrap();
    let told = book::read(&mut store, &options(1, PortMode::Single(0))).unwrap();
    assert_eq!(told, (0..NODES).map(at).collect::<Vec<_>>());
}

#[test]
fn a_node_0_that_does_not_get_on_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = DirectoryStore::open(folder.path()).unwrap();
    for node in 0..NODES {
        publish_address(&mut store, NodeId(node), SocketAddr::new(HERE, 7)).unwrap();
    }
    let options = MeetingOptions { timeout: Duration::from_millis(50), ..options(1, PortMode::Single(0)) };
    let error = meet(&mut store, &options).unwrap_err();
    assert!(matches!(&error, MeetError::Store(StoreError::TimedOut { key, .. }) if key == SESSION), "{error}");
}

#[test]
fn a_secret_that_all_know_is_not_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = DirectoryStore::open(folder.path()).unwrap();
    let secret = SharedKey::new("known to all");
    let options = MeetingOptions { secret: secret.clone(), ..options(0, PortMode::Single(0)) };
    let (run, used) = session(&mut store, &options).unwrap();
    assert_eq!(Some(used), secret);
    assert_eq!(store.get(SESSION).unwrap().unwrap().len(), 16, "the number of the run, and nothing else");
    assert_eq!(session(&mut store, &options).unwrap().0, run, "node 0 in its second life");
    let without = MeetingOptions { secret: None, ..options.clone() };
    assert!(session(&mut store, &without).unwrap_err().to_string().contains("was given a key"));
    store.set(SESSION, "é1").unwrap();
    assert!(matches!(session(&mut store, &options), Err(MeetError::Foreign(_))));
}

#[test]
fn what_was_agreed_opens_the_same_ports_again() {
    let mode = PortMode::PerEdge { blocks: free_blocks(), control: 0 };
    let mut met = meetings((0..NODES).map(|node| options(node, mode)));
    let Agreement { minutes, endpoints } = met.remove(1).unwrap();
    let options = options(1, mode);
    let still_open = reopen(minutes.clone(), &options);
    assert!(matches!(still_open, Err(MeetError::Socket(SocketError::Bind { .. }))), "{still_open:?}");
    let ports = |endpoints: &Endpoints| -> Vec<SocketAddr> {
        endpoints.sockets.iter().map(|endpoint| endpoint.socket.local_addr()).collect()
    };
    let before = ports(&endpoints);
    drop(endpoints);
    let again = reopen(minutes.clone(), &options).unwrap();
    assert_eq!((again.minutes, ports(&again.endpoints)), (minutes, before));
}

#[test]
fn who_is_alone_opens_nothing() {
    let Agreement { minutes, endpoints } = alone().unwrap();
    assert_eq!((endpoints.sockets.len(), minutes.addresses.len(), minutes.plain_edges().len()), (0, 1, 0));
    assert_ne!(alone().unwrap().minutes.secret, minutes.secret);
}
