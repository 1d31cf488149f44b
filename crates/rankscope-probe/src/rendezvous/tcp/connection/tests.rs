use proptest::prelude::*;

use super::super::frame::{Answer, Request};
use super::*;

const CLIENT: Identity = [1; 16];

/// A store of the key `k`, and the hello of the connection.
struct Host {
    key: Option<SharedKey>,
    hello: [u8; HELLO],
    board: Board,
}

impl Host {
    fn new() -> Self {
        Self { key: SharedKey::new("k"), hello: frame::hello(&[9; 16], &[8; 16]), board: Board::default() }
    }

    fn hear(&mut self, connection: &mut Connection, bytes: &[u8]) -> Result<(), Refusal> {
        connection.feed(bytes);
        connection.advance(&mut self.board, &Store { key: self.key.as_ref(), hello: &self.hello })
    }

    /// What a client with `key` says first, and its session.
    fn greeting(&self, key: &str) -> (Vec<u8>, Session) {
        let ours = frame::hello(&CLIENT, &[7; 16]);
        let session = Session::new(SharedKey::new(key).as_ref(), &ours, &self.hello);
        ([&ours[..], &session.proof(Direction::ToServer)].concat(), session)
    }

    /// A connection that is open, and the client's session.
    fn opened(&mut self) -> (Connection, Session) {
        let (greeting, session) = self.greeting("k");
        let mut connection = Connection::new();
        self.hear(&mut connection, &greeting).unwrap();
        assert!(connection.is_open());
        connection.output.clear();
        (connection, session)
    }
}

fn answers(session: &mut Session, mut bytes: &[u8]) -> Vec<(u32, Answer)> {
    let mut found = Vec::new();
    while let Front::Whole { body, frame } = frame::front(session, Direction::ToClient, bytes) {
        found.extend(frame::decode_answer(&bytes[body]));
        bytes = &bytes[frame..];
    }
    found
}

#[test]
fn a_wait_is_answered_when_the_key_is_set_and_taken_back_by_the_next_request() {
    let mut host = Host::new();
    let (mut connection, mut session) = host.opened();
    let wait = frame::encode_request(&mut session, 1, "k", Request::Wait);
    host.hear(&mut connection, &wait).unwrap();
    assert_eq!((connection.waits_for(), connection.output.len()), (Some("k"), 0));
    host.board.answer(&[3; 16], 1, "k", Request::Set("v"));
    connection.wake("other", &host.board);
    connection.wake("k", &host.board);
    connection.wake("k", &host.board);
    assert_eq!(answers(&mut session, &connection.output), [(1, Answer::Text("v".to_owned()))]);
    let again =
        [frame::encode_request(&mut session, 2, "x", Request::Wait), frame::encode_request(&mut session, 3, "y", Request::Get)];
    host.hear(&mut connection, &again.concat()).unwrap();
    assert_eq!(connection.waits_for(), None);
}

#[test]
fn every_refusal_has_its_reason_and_tells_nothing_more() {
    let version = |version: u8| {
        let mut hello = frame::hello(&CLIENT, &[7; 16]);
        hello[4] = version;
        hello.to_vec()
    };
    let guessed = Host::new().greeting("guess").0;
    let table = [
        (b"GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n".to_vec(), Refusal::Foreign, &[][..]),
        (version(2), Refusal::Version, &[]),
        (guessed, Refusal::Key, &[1]),
        (Host::new().greeting("").0, Refusal::Key, &[1]),
    ];
    for (bytes, refusal, answer) in table {
        let (mut host, mut connection) = (Host::new(), Connection::new());
        assert_eq!(host.hear(&mut connection, &bytes), Err(refusal));
        assert_eq!(connection.output[HELLO..], *answer, "{refusal:?}: our hello, and no more than a no");
    }
    let frames = |host: &mut Host, bytes: &dyn Fn(&mut Session) -> Vec<u8>| {
        let (mut connection, mut session) = host.opened();
        let bytes = bytes(&mut session);
        (host.hear(&mut connection, &bytes), connection.output.len())
    };
    let mut host = Host::new();
    assert_eq!(frames(&mut host, &|_| vec![255; 4]), (Err(Refusal::Length), 0));
    assert_eq!(frames(&mut host, &|_| vec![0; 20]), (Err(Refusal::Tag), 0));
    let empty = |session: &mut Session| [&[0; 4][..], &session.tag(Direction::ToServer, &[])].concat();
    assert_eq!(frames(&mut host, &empty), (Err(Refusal::Request), 0));
}

#[test]
fn answers_are_made_no_faster_than_they_are_taken() {
    const GETS: u32 = 1_000;
    let mut host = Host::new();
    let text = "v".repeat(crate::rendezvous::VALUE_BYTES_MAX);
    host.board.answer(&CLIENT, 1, "big", Request::Set(&text));
    let (mut connection, mut session) = host.opened();
    let asked: Vec<u8> =
        (0..GETS).flat_map(|number| frame::encode_request(&mut session, number, "big", Request::Get)).collect();
    host.hear(&mut connection, &asked).unwrap();
    let mut numbers = Vec::new();
    while !connection.is_settled() {
        assert!(!connection.has_room() && connection.held_bytes() < 5 << 20, "{} bytes", connection.held_bytes());
        numbers.extend(answers(&mut session, &connection.output).iter().map(|(number, _)| *number));
        connection.output.clear();
        connection.release();
        assert!(connection.can_go_on(), "what was read waits for its turn");
        host.hear(&mut connection, &[]).unwrap();
    }
    assert_eq!(numbers, (0..GETS).collect::<Vec<_>>());
    connection.release();
    assert!(connection.held_bytes() <= 2 * SPARE_MAX, "what was large is given back");
}

proptest! {
    #[test]
    fn no_bytes_in_no_pieces_make_it_panic_or_open(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6)) {
        let (mut host, mut connection) = (Host::new(), Connection::new());
        for piece in pieces {
            if host.hear(&mut connection, &piece).is_err() {
                break;
            }
        }
        prop_assert!(!connection.is_open());
    }
}
