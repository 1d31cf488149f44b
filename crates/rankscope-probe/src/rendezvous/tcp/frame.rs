//! Hellos, requests and answers as bytes.

use super::auth::{Direction, Session, TAG_BYTES};
use super::refusal::Refusal;
use crate::rendezvous::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Version of everything on the wire.
pub(super) const VERSION: u8 = 1;

/// Bytes of a hello: magic, version, three spare, identity, nonce.
pub(super) const HELLO: usize = 8 + 2 * 16;

const MAGIC: [u8; 4] = *b"RSkv";

/// The longest body: a text, its key, and what is around them.
const BODY_MAX: usize = VALUE_BYTES_MAX + KEY_BYTES_MAX + 64;

/// Who a client or a store is: random, new with each process.
pub(super) type Identity = [u8; 16];

/// The first bytes either way.
pub(super) fn hello(identity: &Identity, nonce: &[u8; 16]) -> [u8; HELLO] {
    let mut bytes = [0; HELLO];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4] = VERSION;
    bytes[8..24].copy_from_slice(identity);
    bytes[24..].copy_from_slice(nonce);
    bytes
}

/// What is wrong with a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadHello {
    Foreign,
    Version(u8),
}

/// Who says hello.
pub(super) fn identity(hello: &[u8; HELLO]) -> Result<Identity, BadHello> {
    if hello[..4] != MAGIC {
        return Err(BadHello::Foreign);
    }
    if hello[4] != VERSION {
        return Err(BadHello::Version(hello[4]));
    }
    let mut identity = [0; 16];
    identity.copy_from_slice(&hello[8..24]);
    Ok(identity)
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request<'a> {
    Set(&'a str),
    Get,
    Wait,
    Add(i64),
    /// As `Set`, if there is nothing: said again to a store that forgot.
    Restore(&'a str),
    /// What this client's additions to a counter come to: said again to a store that forgot.
    Contribute(i64),
}

/// What the store says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    Text(String),
    Absent,
    Number(i64),
    Full,
}

/// A frame around a request.
pub(super) fn encode_request(session: &mut Session, number: u32, key: &str, request: Request<'_>) -> Vec<u8> {
    let (op, payload): (u8, &[u8]) = match &request {
        Request::Set(value) => (1, value.as_bytes()),
        Request::Get => (2, &[]),
        Request::Wait => (3, &[]),
        Request::Add(delta) => (4, &delta.to_le_bytes()),
        Request::Restore(value) => (5, value.as_bytes()),
        Request::Contribute(sum) => (6, &sum.to_le_bytes()),
    };
    let head = [&[op][..], &number.to_le_bytes(), &(key.len() as u16).to_le_bytes(), key.as_bytes()].concat();
    framed(session, Direction::ToServer, &[&head, payload].concat())
}

/// The number, the key and the request in a body.
pub(super) fn decode_request(body: &[u8]) -> Option<(u32, &str, Request<'_>)> {
    let (op, rest) = body.split_first()?;
    let (number, rest) = rest.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (key, payload) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let request = match op {
        1 => Request::Set(str::from_utf8(payload).ok()?),
        2 => Request::Get,
        3 => Request::Wait,
        4 => Request::Add(i64::from_le_bytes(payload.try_into().ok()?)),
        5 => Request::Restore(str::from_utf8(payload).ok()?),
        6 => Request::Contribute(i64::from_le_bytes(payload.try_into().ok()?)),
        _ => return None,
    };
    let key = str::from_utf8(key).ok().filter(|key| (1..=KEY_BYTES_MAX).contains(&key.len()))?;
    Some((u32::from_le_bytes(*number), key, request))
}

/// A frame around an answer.
pub(super) fn encode_answer(session: &mut Session, number: u32, answer: &Answer) -> Vec<u8> {
    let (kind, payload): (u8, &[u8]) = match answer {
        Answer::Done => (0, &[]),
        Answer::Text(text) => (1, text.as_bytes()),
        Answer::Absent => (2, &[]),
        Answer::Number(value) => (3, &value.to_le_bytes()),
        Answer::Full => (4, &[]),
    };
    framed(session, Direction::ToClient, &[&[kind][..], &number.to_le_bytes(), payload].concat())
}

/// The number and the answer in a body.
pub(super) fn decode_answer(body: &[u8]) -> Option<(u32, Answer)> {
    let (kind, rest) = body.split_first()?;
    let (number, payload) = rest.split_first_chunk::<4>()?;
    let answer = match kind {
        0 => Answer::Done,
        1 => Answer::Text(str::from_utf8(payload).ok()?.to_owned()),
        2 => Answer::Absent,
        3 => Answer::Number(i64::from_le_bytes(payload.try_into().ok()?)),
        4 => Answer::Full,
        _ => return None,
    };
    Some((u32::from_le_bytes(*number), answer))
}

fn framed(session: &mut Session, direction: Direction, body: &[u8]) -> Vec<u8> {
    let tag = session.tag(direction, body);
    [&(body.len() as u32).to_le_bytes()[..], body, &tag].concat()
}

/// What is at the front of a stream of frames.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Front {
    /// Not yet a whole frame.
    Partial,
    /// A body, and how many bytes its frame takes.
    Whole { body: std::ops::Range<usize>, frame: usize },
    /// Not a frame of ours, and why not.
    Bad(Refusal),
}

/// Looks at the front of `bytes`.
pub(super) fn front(session: &mut Session, direction: Direction, bytes: &[u8]) -> Front {
    let Some(length) = bytes.first_chunk::<4>() else { return Front::Partial };
    let length = u32::from_le_bytes(*length) as usize;
    if length > BODY_MAX {
        return Front::Bad(Refusal::Length);
    }
    let (body, frame) = (4..4 + length, 4 + length + TAG_BYTES);
    match bytes.get(body.end..frame) {
        None => Front::Partial,
        Some(tag) if session.fits(direction, &bytes[body.clone()], tag) => Front::Whole { body, frame },
        Some(_) => Front::Bad(Refusal::Tag),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::SharedKey;

    fn sessions(a: &str, b: &str) -> (Session, Session) {
        let session = |key: &str| Session::new(SharedKey::new(key).as_ref(), b"c", b"s");
        (session(a), session(b))
    }

    proptest! {
        #[test]
        fn a_request_comes_out_as_it_went_in(key in "[a-z:>-]{1,40}", value in ".{0,40}", delta: i64, number: u32, pick in 0usize..6) {
            let (set, restore) = (Request::Set(&value), Request::Restore(&value));
            let requests = [set, Request::Get, Request::Wait, Request::Add(delta), restore, Request::Contribute(delta)];
            let request = requests[pick];
            let (mut here, mut there) = sessions("k", "k");
            let bytes = encode_request(&mut here, number, &key, request);
            prop_assert_eq!(front(&mut there.clone(), Direction::ToServer, &bytes[..bytes.len() - 1]), Front::Partial);
            let Front::Whole { body, frame } = front(&mut there, Direction::ToServer, &bytes) else { panic!("not whole") };
            prop_assert_eq!(frame, bytes.len());
            prop_assert_eq!(decode_request(&bytes[body]), Some((number, key.as_str(), request)));
        }

        #[test]
        fn a_changed_frame_is_none(index: prop::sample::Index, bit in 0u8..8) {
            let (mut here, mut there) = sessions("k", "k");
            let mut bytes = encode_answer(&mut here, 7, &Answer::Text("text".to_owned()));
            let at = index.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let is_whole = matches!(front(&mut there, Direction::ToClient, &bytes), Front::Whole { .. });
            prop_assert!(!is_whole, "byte {at}");
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = front(&mut sessions("", "").0, Direction::ToServer, &bytes);
            let _ = (decode_request(&bytes), decode_answer(&bytes));
        }
    }

    #[test]
    fn a_frame_counts_once_in_one_direction_under_one_key() {
        let (mut here, mut there) = sessions("k", "k");
        let bytes = encode_answer(&mut here, 1, &Answer::Done);
        assert_eq!(front(&mut there.clone(), Direction::ToServer, &bytes), Front::Bad(Refusal::Tag));
        assert!(matches!(front(&mut there, Direction::ToClient, &bytes), Front::Whole { .. }));
        assert_eq!(front(&mut there, Direction::ToClient, &bytes), Front::Bad(Refusal::Tag), "a replay");
        let (mut here, mut there) = sessions("k", "other");
        let bytes = encode_answer(&mut here, 1, &Answer::Done);
        assert_eq!(front(&mut there, Direction::ToClient, &bytes), Front::Bad(Refusal::Tag));
    }
}
