//! The store's end of one connection, as a state machine over bytes.

use super::auth::{Direction, PROOF, Session, SharedKey};
use super::board::Board;
use super::frame::{self, Front, HELLO, Identity, Request};

/// Where a connection stands.
enum State {
    Greeting,
    Proving { client: Identity, session: Session },
    Open { client: Identity, session: Session },
}

/// The store's end of one connection.
pub(super) struct Connection {
    state: State,
    input: Vec<u8>,
    /// What is to be sent.
    pub(super) output: Vec<u8>,
    /// A wait that has no answer yet: its number and key.
    parked: Option<(u32, String)>,
}

/// The other end is none of ours, and the connection is to be closed once the output is sent.
pub(super) struct Refused;

impl Connection {
    pub(super) fn new() -> Self {
        Self { state: State::Greeting, input: Vec::new(), output: Vec::new(), parked: None }
    }

    /// The client has proved to have the key.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    /// The key that the client waits for.
    pub(super) fn waits_for(&self) -> Option<&str> {
        self.parked.as_ref().map(|(_, key)| key.as_str())
    }

    /// Bytes came. Keys that were set are added to `set`.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        board: &mut Board,
        store: &Store<'_>,
        set: &mut Vec<String>,
    ) -> Result<(), Refused> {
        self.input.extend_from_slice(bytes);
        while self.step(board, store, set)? {}
        Ok(())
    }

    /// Answers a wait, if the client still waits for `key`.
    pub(super) fn wake(&mut self, key: &str, board: &Board) {
        let State::Open { session, .. } = &mut self.state else { return };
        if let Some((number, _)) = self.parked.take_if(|(_, parked)| parked == key)
            && let Some(answer) = board.text(key)
        {
            self.output.extend(frame::encode_answer(session, number, &answer));
        }
    }

    /// Does one thing with the input, and says whether it did.
    fn step(&mut self, board: &mut Board, store: &Store<'_>, set: &mut Vec<String>) -> Result<bool, Refused> {
        match &mut self.state {
            State::Greeting => {
                let Some(hello) = self.input.first_chunk::<HELLO>() else { return Ok(false) };
                let client = frame::identity(hello);
                self.output.extend(store.hello);
                // A client of another version sees ours in the hello.
                let client = client.map_err(|_| Refused)?;
                let session = Session::new(store.key, hello, store.hello);
                self.state = State::Proving { client, session };
                self.input.drain(..HELLO);
            }
            State::Proving { client, session } => {
                let Some(proof) = self.input.first_chunk::<PROOF>() else { return Ok(false) };
                let proved = session.proves(Direction::ToServer, proof);
                self.output.push(u8::from(!proved));
                if !proved {
                    return Err(Refused);
                }
                self.output.extend(session.proof(Direction::ToClient));
                self.state = State::Open { client: *client, session: session.clone() };
                self.input.drain(..PROOF);
            }
            State::Open { client, session } => match frame::front(session, Direction::ToServer, &self.input) {
                Front::Partial => return Ok(false),
                Front::Bad => return Err(Refused),
                Front::Whole { body, frame } => {
                    let (number, key, request) = frame::decode_request(&self.input[body]).ok_or(Refused)?;
                    // One thing at a time: a new request takes back the wait before it.
                    self.parked = None;
                    match board.answer(client, number, key, request) {
                        Some(answer) => self.output.extend(frame::encode_answer(session, number, &answer)),
                        None => self.parked = Some((number, key.to_owned())),
                    }
                    if matches!(request, Request::Set(_) | Request::Restore(_)) {
                        set.push(key.to_owned());
                    }
                    self.input.drain(..frame);
                }
            },
        }
        Ok(true)
    }
}

/// What all connections of a store share. The nonce in the hello is one connection's own.
pub(super) struct Store<'a> {
    pub(super) key: &'a SharedKey,
    pub(super) hello: &'a [u8; HELLO],
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::frame::Answer;
    use super::*;

    const CLIENT: [u8; 16] = [1; 16];

    /// A connection that is open, and the client's session.
    fn opened(key: &SharedKey, hello: &[u8; HELLO], board: &mut Board) -> (Connection, Session) {
        let (store, mut set) = (Store { key, hello }, Vec::new());
        let ours = frame::hello(&CLIENT, &[7; 16]);
        let session = Session::new(key, &ours, hello);
        let mut connection = Connection::new();
        assert!(connection.feed(&ours, board, &store, &mut set).is_ok());
        assert!(connection.feed(&session.proof(Direction::ToServer), board, &store, &mut set).is_ok());
        assert!(connection.is_open());
        connection.output.clear();
        (connection, session)
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
        let (key, hello, mut board) = (SharedKey::new("k"), frame::hello(&[9; 16], &[8; 16]), Board::default());
        let store = Store { key: &key, hello: &hello };
        let (mut connection, mut session) = opened(&key, &hello, &mut board);
        let mut set = Vec::new();
        let wait = frame::encode_request(&mut session, 1, "k", Request::Wait);
        assert!(connection.feed(&wait, &mut board, &store, &mut set).is_ok());
        assert_eq!((connection.waits_for(), connection.output.len()), (Some("k"), 0));
        board.answer(&[3; 16], 1, "k", Request::Set("v"));
        connection.wake("other", &board);
        connection.wake("k", &board);
        connection.wake("k", &board);
        assert_eq!(answers(&mut session, &connection.output), [(1, Answer::Text("v".to_owned()))]);
        let again = [
            frame::encode_request(&mut session, 2, "x", Request::Wait),
            frame::encode_request(&mut session, 3, "y", Request::Get),
        ];
        assert!(connection.feed(&again.concat(), &mut board, &store, &mut set).is_ok());
        assert_eq!(connection.waits_for(), None);
    }

    #[test]
    fn who_has_another_key_gets_nothing_but_a_no() {
        let (key, hello, mut board) = (SharedKey::new("k"), frame::hello(&[9; 16], &[8; 16]), Board::default());
        let store = Store { key: &key, hello: &hello };
        let ours = frame::hello(&CLIENT, &[7; 16]);
        let session = Session::new(&SharedKey::new("guess"), &ours, &hello);
        let mut connection = Connection::new();
        let bytes = [&ours[..], &session.proof(Direction::ToServer)].concat();
        assert!(connection.feed(&bytes, &mut board, &store, &mut Vec::new()).is_err());
        assert_eq!(connection.output[HELLO..], [1]);
    }

    proptest! {
        #[test]
        fn no_bytes_in_no_pieces_make_it_panic_or_open(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6)) {
            let (key, hello, mut board) = (SharedKey::new("k"), frame::hello(&[9; 16], &[8; 16]), Board::default());
            let store = Store { key: &key, hello: &hello };
            let mut connection = Connection::new();
            for piece in pieces {
                if connection.feed(&piece, &mut board, &store, &mut Vec::new()).is_err() {
                    break;
                }
            }
            prop_assert!(!connection.is_open());
        }
    }
}
