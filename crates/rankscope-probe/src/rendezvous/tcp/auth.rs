//! Proof that both ends have the same key, and the tag of each frame.
//!
//! Tags show that a frame is whole, in its place, and from an end that has the key. They hide nothing: frames are not encrypted,
//! and whoever can listen between the nodes reads what is in them. Without a key the same bytes are made of the empty one, which
//! proves nothing.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::key::SharedKey;

/// Which way a frame goes. The numbers are part of what is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Direction {
    ToServer = 0,
    ToClient = 1,
}

/// Length of a frame's tag.
pub(super) const TAG_BYTES: usize = 16;

/// Length of a proof.
pub(super) const PROOF_BYTES: usize = 32;

/// The key of one connection, and the frames counted in each direction.
#[derive(Clone)]
pub(super) struct Session {
    key: [u8; 32],
    to_server: u64,
    to_client: u64,
}

impl Session {
    /// The session of two hellos.
    pub(super) fn new(shared: Option<&SharedKey>, client_hello: &[u8], server_hello: &[u8]) -> Self {
        let mut mac = keyed(shared.map_or(&[], SharedKey::reveal));
        mac.update(b"rankscope store session");
        mac.update(client_hello);
        mac.update(server_hello);
        Self { key: mac.finalize().into_bytes().into(), to_server: 0, to_client: 0 }
    }

    /// What only an end with the key can say.
    pub(super) fn proof(&self, direction: Direction) -> [u8; PROOF_BYTES] {
        self.mac(direction, b"proof", &[]).finalize().into_bytes().into()
    }

    /// Whether the other end proved to have the key.
    pub(super) fn proves(&self, direction: Direction, proof: &[u8]) -> bool {
        self.mac(direction, b"proof", &[]).verify_slice(proof).is_ok()
    }

    /// The tag of the next frame in a direction.
    pub(super) fn tag(&mut self, direction: Direction, body: &[u8]) -> [u8; TAG_BYTES] {
        let number = self.count(direction);
        let whole = self.mac(direction, &number, body).finalize().into_bytes();
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&whole[..TAG_BYTES]);
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

#[cfg(test)]
mod tests {
    use super::super::frame::{self, Request};
    use super::*;
    use crate::key::hexadecimal;

    /// Made by another program (Python's hmac) from the description in `tcp/mod.rs`.
    const CONVERSATIONS: [(&str, [&str; 4]); 2] = [
        (
            "",
            [
                "0bc611e4dd6081895a44d2eeaf7a2d8ad6a100e89bebeb66fd8a403d1d2ab9f4",
                "bc44d9b23b98d773a0862f6049cdb899da1fdd01a1c1907e283dae34bb8a5bb8",
                "0f000000010100000003006b657976616c7565c70d3eea7562fb39b6f0c956e3887e1b",
                "050000000001000000b2b2c71ee86fce0d295654166daec4d6",
            ],
        ),
        (
            "k",
            [
                "04a0a409b7f444b4cbbb79bc7f6c713f1fe439702bc1728b7edb5020bb791ce5",
                "d2c67a3896b4255c887b637e60ca4a99e449b97dcf65b4143a21fa48cf73e546",
                "0f000000010100000003006b657976616c756531f73ae4c655bbe0102d9e7334fdd514",
                "050000000001000000c2f97af097d34b12585ed95159226583",
            ],
        ),
    ];

    #[test]
    fn the_bytes_on_the_wire_stay_what_they_are() {
        for (key, expected) in CONVERSATIONS {
            let (client, server) = (frame::hello(&[1; 16], &[2; 16]), frame::hello(&[3; 16], &[4; 16]));
            let mut session = Session::new(SharedKey::new(key).as_ref(), &client, &server);
            let said = [
                session.proof(Direction::ToServer).to_vec(),
                session.proof(Direction::ToClient).to_vec(),
                frame::encode_request(&mut session, 1, "key", Request::Set("value")),
                frame::encode_answer(&mut session, 1, &frame::Answer::Done),
            ];
            assert_eq!(said.map(|bytes| hexadecimal(&bytes)), expected, "with the key {key:?}");
        }
    }

    #[test]
    fn a_proof_holds_one_way_under_one_key() {
        let session = |key: &str| Session::new(SharedKey::new(key).as_ref(), b"c", b"s");
        let proof = session("k").proof(Direction::ToServer);
        assert!(session("k").proves(Direction::ToServer, &proof));
        assert!(!session("k").proves(Direction::ToClient, &proof), "reflected");
        assert!(!session("other").proves(Direction::ToServer, &proof));
        assert!(!session("").proves(Direction::ToServer, &proof));
    }
}
