//! Where all nodes are: node 0 asks for each and writes it down, the others read that.
//!
//! Where nobody writes it down, whoever waits looks for itself who is missing.

use std::net::SocketAddr;
use std::time::Duration;

use super::{MeetError, MeetingOptions};
use crate::rendezvous::{KeyValueStore, StoreError, gather_addresses, publish_book, read_book};

/// Where all nodes are, as node 0 finds it and writes it down.
pub(super) fn written(store: &mut dyn KeyValueStore, options: &MeetingOptions) -> Result<Vec<SocketAddr>, MeetError> {
    let addresses = gather_addresses(store, options.num_nodes, options.timeout)?;
    publish_book(store, &addresses)?;
    Ok(addresses)
}

/// The same, as any other node is told.
pub(super) fn read(store: &mut dyn KeyValueStore, options: &MeetingOptions) -> Result<Vec<SocketAddr>, MeetError> {
    match read_book(store, options.num_nodes)? {
        Some(addresses) => Ok(addresses),
        // Node 0 is of a version that writes none.
        None => Ok(gather_addresses(store, options.num_nodes, options.timeout)?),
    }
}

/// What is wrong where node 0 told nothing in time, which is the `error`: somebody else who is missing, if anybody is.
pub(super) fn who_is_missing(store: &mut dyn KeyValueStore, options: &MeetingOptions, error: MeetError) -> MeetError {
    let MeetError::Store(StoreError::TimedOut { after, .. }) = error else { return error };
    match gather_addresses(store, options.num_nodes, Duration::ZERO) {
        // Everybody came, and it was node 0 that did not get on.
        Ok(_) => error,
        Err(StoreError::NodesMissing { missing, num_nodes, place, .. }) => {
            StoreError::NodesMissing { missing, num_nodes, place, after }.into()
        }
        Err(other) => other.into(),
    }
}
