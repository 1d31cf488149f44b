//! What can go wrong at the rendezvous, by whose fault, and what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rankscope_clock::NodeId;

use super::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// The rendezvous failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nobody wrote a key.
    #[error(
        "no node wrote {key} to {place} within {after:?}. Check the node that should have: it has not started, has failed, or was given another run id or store"
    )]
    TimedOut {
        /// What was waited for.
        key: String,
        /// Where.
        place: String,
        /// How long.
        after: Duration,
    },
    /// Too few came to a barrier.
    #[error(
        "only {arrived} of {count} nodes reached the barrier {name} at {place} within {after:?}. Check the nodes that did not start"
    )]
    BarrierTimedOut {
        /// Which barrier.
        name: String,
        /// How many came.
        arrived: i64,
        /// How many were expected.
        count: i64,
        /// Where.
        place: String,
        /// How long.
        after: Duration,
    },
    /// Some nodes did not say where they are.
    #[error(
        "{} of {num_nodes} nodes did not publish their address at {place} within {after:?}: node {}. Check that the agent runs \
         there, with the same run id and store",
        missing.len(), list(missing)
    )]
    NodesMissing {
        /// Who.
        missing: Vec<NodeId>,
        /// How many there should be.
        num_nodes: u32,
        /// Where.
        place: String,
        /// How long.
        after: Duration,
    },
    /// A node published something that is no address.
    #[error("node {node} published {value:?}, which is not an address of the form ip:port; its agent has another version")]
    BadAddress {
        /// Who.
        node: NodeId,
        /// What it wrote.
        value: String,
    },
    /// The store does not answer.
    #[error(
        "no answer from {place} for {after:?}: {source}. Check that node 0 runs, the address is right and no firewall blocks it"
    )]
    Unreachable {
        /// Where.
        place: String,
        /// How long it was tried.
        after: Duration,
        /// The last failure.
        source: io::Error,
    },
    /// The store answered, and does not want us.
    #[error("{place} refused: {reason}")]
    Refused {
        /// Where.
        place: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The store answered with something else than an answer.
    #[error("{place} answered with {what}; it is not a store of this version")]
    Malformed {
        /// Where.
        place: String,
        /// What came.
        what: String,
    },
    /// The store cannot be hosted here.
    #[error("cannot host the store on port {port}: {source}. Choose another port on all nodes")]
    Host {
        /// The port.
        port: u16,
        /// What the kernel said.
        source: io::Error,
    },
    /// The shared directory cannot be used.
    #[error("{path}: {source}. All nodes must be able to write to this directory, as one user", path = path.display())]
    Directory {
        /// Where.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A key that no store takes.
    #[error("a key of {bytes} bytes ({key}...); keys have 1 to {KEY_BYTES_MAX} bytes")]
    BadKey {
        /// Its start.
        key: String,
        /// Its length.
        bytes: usize,
    },
    /// A text that no store takes.
    #[error("{bytes} bytes under {key} are more than the {VALUE_BYTES_MAX} that a store takes")]
    TooLarge {
        /// Under which key.
        key: String,
        /// How long.
        bytes: usize,
    },
}

/// Nodes named in a message.
const NAMED_MAX: usize = 20;

fn list(nodes: &[NodeId]) -> String {
    let named: Vec<String> = nodes.iter().take(NAMED_MAX).map(NodeId::to_string).collect();
    let more = nodes.len().saturating_sub(NAMED_MAX);
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}
