//! The store that node 0 hosts, over TCP.
//!
//! A connection starts with a hello each way (magic, version, who, nonce) and a proof each way that both have the shared key.
//! From then on each frame is `length: u32 | body | tag: 16 bytes`, all integers little-endian, the tag being an HMAC-SHA256
//! over direction, number of the frame and body under a key made of the shared key and both nonces. Without a shared key the
//! empty one is used: the same bytes, with no secret in them.
//!
//! A request is `op: u8 | number: u32 | key length: u16 | key | payload`, an answer `kind: u8 | number: u32 | payload`. The store
//! remembers the last addition of each client by number, so an addition whose answer was lost is not made twice. A client
//! remembers what it wrote, and writes it again to a store that was restarted empty.

mod auth;
mod board;
mod client;
mod connection;
mod frame;
mod server;

pub use auth::SharedKey;
pub use client::TcpStore;
pub use server::StoreServer;
