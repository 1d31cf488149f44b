//! The store that node 0 hosts, over TCP.
//!
//! A connection starts with a hello each way (magic, version, who, nonce) and a proof each way that both have the shared key.
//! From then on each frame is `length: u32 | body | tag: 16 bytes`, all integers little-endian, the tag being an HMAC-SHA256
//! over direction, number of the frame and body under a key made of the shared key and both nonces. Without a shared key the
//! empty one is used: the same bytes, with no secret in them. Nothing is encrypted: who can listen between the nodes reads all of it.
//!
//! A request is `op: u8 | number: u32 | key length: u16 | key | payload`, an answer `kind: u8 | number: u32 | payload`. The store
//! remembers the last addition of each client by number, so an addition whose answer was lost is not made twice. A client
//! remembers what it wrote, and writes it again to a store that was restarted empty.
//!
//! Everything a client can make a store keep is bounded, with the key or without: what is stored, what waits to be read or sent,
//! how many connections there are, and how long each may leave something half done.

mod auth;
mod board;
mod channel;
mod client;
mod connection;
mod frame;
mod links;
mod listen;
mod refusal;
mod server;

pub use client::TcpStore;
pub(crate) use listen::is_loopback;
pub use refusal::Refusal;
pub use server::StoreServer;
