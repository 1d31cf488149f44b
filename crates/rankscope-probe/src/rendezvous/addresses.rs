//! Who is where: each node writes its address under its number, and node 0 writes all of them down again for the others.
//!
//! Only node 0 asks for every address by itself: if all did, ten thousand nodes would ask a hundred million times.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rankscope_clock::NodeId;

use super::{KeyValueStore, StoreError};

/// The key of a node's address.
pub fn node_address_key(node: NodeId) -> String {
    format!("node_addresses:{node}")
}

/// Says where `node` is: `ip:port`, the port being the first of those it probes on.
///
/// # Errors
/// [`StoreError`] where the store cannot be reached or refuses.
pub fn publish_address(store: &mut dyn KeyValueStore, node: NodeId, address: SocketAddr) -> Result<(), StoreError> {
    store.set(&node_address_key(node), &address.to_string())
}

/// Where the nodes 0 … `num_nodes` - 1 are, in their order, as soon as all have said.
///
/// # Errors
/// [`StoreError::NodesMissing`] names those that did not say, [`StoreError::BadAddress`] one that said nonsense.
pub fn gather_addresses(
    store: &mut dyn KeyValueStore,
    num_nodes: u32,
    timeout: Duration,
) -> Result<Vec<SocketAddr>, StoreError> {
    let start = Instant::now();
    let (mut addresses, mut missing) = (Vec::new(), Vec::new());
    for node in (0..num_nodes).map(NodeId) {
        // Once somebody is late, the others are looked at but no longer waited for.
        let left = if missing.is_empty() { timeout.saturating_sub(start.elapsed()) } else { Duration::ZERO };
        match store.wait(&node_address_key(node), left) {
            Ok(value) => match value.parse() {
                Ok(address) => addresses.push(address),
                Err(_) => return Err(StoreError::BadAddress { node, value }),
            },
            Err(StoreError::TimedOut { .. }) => missing.push(node),
            Err(other) => return Err(other),
        }
    }
    if missing.is_empty() {
        return Ok(addresses);
    }
    Err(StoreError::NodesMissing { missing, num_nodes, place: store.place().to_owned(), after: timeout })
}

/// Nodes under one key: texts that thousands of nodes read at once are short.
const NODES_A_PAGE: usize = 1_024;

fn book_key(page: usize) -> String {
    format!("address_book:{page}")
}

/// Writes down where all nodes are, in their order.
///
/// # Errors
/// [`StoreError`] where the store cannot be reached or refuses.
pub fn publish_book(store: &mut dyn KeyValueStore, addresses: &[SocketAddr]) -> Result<(), StoreError> {
    let text = |some: &[SocketAddr]| some.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" ");
    let pages = addresses.chunks(NODES_A_PAGE).enumerate();
    let texts: Vec<_> = pages.map(|(page, some)| (book_key(page), text(some))).collect();
    store.set_all(&texts)
}

/// Where the nodes 0 … `num_nodes` - 1 are by what was written down, in their order; none where nothing was, or not of that many.
///
/// # Errors
/// [`StoreError::BadAddress`] names a node that is nowhere.
pub fn read_book(store: &mut dyn KeyValueStore, num_nodes: u32) -> Result<Option<Vec<SocketAddr>>, StoreError> {
    let mut addresses = Vec::new();
    for page in 0..(num_nodes as usize).div_ceil(NODES_A_PAGE) {
        let Some(text) = store.get(&book_key(page))? else { return Ok(None) };
        for value in text.split_ascii_whitespace() {
            let node = NodeId(addresses.len() as u32);
            let bad = |_| StoreError::BadAddress { node, value: value.to_owned() };
            addresses.push(value.parse().map_err(bad)?);
        }
    }
    Ok((addresses.len() == num_nodes as usize).then_some(addresses))
}
