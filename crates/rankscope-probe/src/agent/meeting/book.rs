//! Where all nodes are: node 0 asks for each and writes it down, the others read that.
//!
//! Where nobody writes it down, whoever waits looks for itself who is missing.

use std::net::SocketAddr;
use std::time::Duration;

use super::{MeetError, MeetingOptions, SESSION};
use crate::rendezvous::{KeyValueStore, StoreError, gather_addresses, publish_book, read_book};

/// Where all nodes are, as node 0 finds it and writes it down.
pub(super) fn written(store: &mut dyn KeyValueStore, options: &MeetingOptions) -> Result<Vec<SocketAddr>, MeetError> {
    let addresses = gather_addresses(store, options.num_nodes, options.timeout)?;
    publish_book(store, &addresses)?;
    Ok(addresses)
}

/// The same, as any other node is told; and where nobody tells it, who is missing.
pub(super) fn read(store: &mut dyn KeyValueStore, options: &MeetingOptions) -> Result<Vec<SocketAddr>, MeetError> {
    // It is written after the book.
    match store.wait(SESSION, options.timeout) {
        Ok(_) => {}
        Err(StoreError::TimedOut { after, .. }) => {
            return match gather_addresses(store, options.num_nodes, Duration::ZERO) {
                Err(StoreError::NodesMissing { missing, num_nodes, place, .. }) => {
                    Err(StoreError::NodesMissing { missing, num_nodes, place, after }.into())
                }
                // Everybody came, and it was node 0 that did not get on.
                Ok(_) => Err(StoreError::TimedOut { key: SESSION.to_owned(), place: store.place().to_owned(), after }.into()),
                Err(other) => Err(other.into()),
            };
        }
        Err(other) => return Err(other.into()),
    }
    match read_book(store, options.num_nodes)? {
        Some(addresses) => Ok(addresses),
        // Node 0 is of a version that writes none.
        None => Ok(gather_addresses(store, options.num_nodes, options.timeout)?),
    }
}
