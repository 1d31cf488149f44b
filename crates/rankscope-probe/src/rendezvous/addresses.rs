//! Who is where: each node writes its address under its number.

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
