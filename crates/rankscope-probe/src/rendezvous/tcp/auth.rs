//! Proof that both ends have the same key, and the tag of each frame.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What all nodes of a job share and nobody else has. Empty means that anybody may come.
#[derive(Clone, Default)]
pub struct SharedKey(Vec<u8>);

impl SharedKey {
    /// A key of any length; 32 random bytes are enough for anyone.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "SharedKey(none)" } else { "SharedKey(secret)" })
    }
}

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToServer,
    ToClient,
}

/// Bytes of a tag.
pub(super) const TAG: usize = 16;

/// Bytes of a proof.
pub(super) const PROOF: usize = 32;

/// The key of one connection, and the frames counted in each direction.
#[derive(Clone)]
pub(super) struct Session {
    key: [u8; 32],
    to_server: u64,
    to_client: u64,
}

impl Session {
    /// The session of two hellos.
    pub(super) fn new(shared: &SharedKey, client_hello: &[u8], server_hello: &[u8]) -> Self {
        let mut mac = keyed(&shared.0);
        mac.update(b"rankscope store session");
        mac.update(client_hello);
        mac.update(server_hello);
        Self { key: mac.finalize().into_bytes().into(), to_server: 0, to_client: 0 }
    }

    /// What only an end with the key can say.
    pub(super) fn proof(&self, direction: Direction) -> [u8; PROOF] {
        self.mac(direction, b"proof", &[]).finalize().into_bytes().into()
    }

    /// Whether the other end proved to have the key.
    pub(super) fn proves(&self, direction: Direction, proof: &[u8]) -> bool {
        self.mac(direction, b"proof", &[]).verify_slice(proof).is_ok()
    }

    /// The tag of the next frame in a direction.
    pub(super) fn tag(&mut self, direction: Direction, body: &[u8]) -> [u8; TAG] {
        let number = self.count(direction);
        let whole = self.mac(direction, &number, body).finalize().into_bytes();
        let mut tag = [0; TAG];
        tag.copy_from_slice(&whole[..TAG]);
        tag
    }

    /// Whether the next frame in a direction has the right tag.
    pub(super) fn fits(&mut self, direction: Direction, body: &[u8], tag: &[u8]) -> bool {
        let number = self.count(direction);
        self.mac(direction, &number, body).verify_truncated_left(tag).is_ok()
    }

    fn count(&mut self, direction: Direction) -> [u8; 8] {
        let count = match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        };
        *count += 1;
        count.to_le_bytes()
    }

    fn mac(&self, direction: Direction, what: &[u8], body: &[u8]) -> Hmac<Sha256> {
        let mut mac = keyed(&self.key);
        mac.update(&[direction as u8]);
        mac.update(what);
        mac.update(body);
        mac
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("an HMAC takes keys of any length")
}
