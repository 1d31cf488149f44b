//! Files from one node to another through the store by which their agents met: piece after piece, each in the place of the one before.
//!
//! The store has to serve the agents as well, and holds one piece of a node at a time, whatever recordings come to. A piece that nobody takes is
//! taken back.

use std::io::{self, Read as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rankscope_probe::rendezvous::KeyValueStore;

use super::post::{PostError, keys};

/// Bytes of a piece. In the store it is a third longer, and still less than a text may be.
const PIECE_BYTES: usize = 512 << 10;

/// Between two looks at a word that changes.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Sends `bytes`, the file number `file` of `node` for the call `number`, a piece after the other as they are taken.
pub(super) fn send(
    store: &mut dyn KeyValueStore,
    (number, node, file): (i64, u32, usize),
    mut bytes: impl io::Read,
    within: Duration,
) -> Result<(), PostError> {
    let mut buffer = Vec::new();
    for piece in 0_u64.. {
        buffer.clear();
        bytes.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut buffer)?;
        if buffer.is_empty() {
            break;
        }
        let name = name(number, node, file, piece);
        store.set(&keys::piece(node), &STANDARD.encode(&buffer))?;
        store.set(&keys::sent(node), &name)?;
        if let Err(error) = until(store, &keys::taken(node), &name, within) {
            // Nobody takes it any more.
            store.set(&keys::piece(node), "")?;
            return Err(error);
        }
    }
    Ok(())
}

/// Takes a file of `len` bytes that [`send`] sends, and gives it to `take` piece by piece.
pub(super) fn receive(
    store: &mut dyn KeyValueStore,
    (number, node, file): (i64, u32, usize),
    len: u64,
    within: Duration,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), PostError> {
    let (mut left, mut piece) = (len, 0);
    while left > 0 {
        let name = name(number, node, file, piece);
        until(store, &keys::sent(node), &name, within)?;
        let text = store.get(&keys::piece(node))?.ok_or(PostError::Foreign)?;
        let bytes = STANDARD.decode(text).map_err(|_| PostError::Foreign)?;
        let expected = left.min(PIECE_BYTES as u64);
        if bytes.len() as u64 != expected {
            return Err(PostError::Foreign);
        }
        take(&bytes)?;
        left -= expected;
        piece += 1;
        // The store keeps no piece that was taken.
        store.set(&keys::piece(node), "")?;
        store.set(&keys::taken(node), &name)?;
    }
    Ok(())
}

fn name(number: i64, node: u32, file: usize, piece: u64) -> String {
    format!("{number} {node} {file} {piece}")
}

/// Returns when `key` says `word`.
fn until(store: &mut dyn KeyValueStore, key: &str, word: &str, within: Duration) -> Result<(), PostError> {
    let deadline = Instant::now() + within;
    while store.get(key)?.as_deref() != Some(word) {
        if Instant::now() > deadline {
            return Err(PostError::TooLate { after: within });
        }
        sleep(LOOK_EVERY);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread;

    use proptest::prelude::*;
    use rankscope_probe::rendezvous::DirectoryStore;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn passed_on(folder: &Path, files: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut from = DirectoryStore::open(folder).unwrap();
        let mut to = DirectoryStore::open(folder).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                for (number, file) in files.iter().enumerate() {
                    send(&mut from, (3, 7, number), &file[..], PATIENCE).unwrap();
                }
            });
            let receive = |(number, file): (usize, &Vec<u8>)| {
                let mut got = Vec::new();
                receive(&mut to, (3, 7, number), file.len() as u64, PATIENCE, |bytes| {
                    got.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
                got
            };
            files.iter().enumerate().map(receive).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        #[test]
        fn what_is_sent_is_received(lengths in prop::collection::vec(prop_oneof![0..9_usize, PIECE_BYTES - 1..PIECE_BYTES + 2, Just(2 * PIECE_BYTES)], 1..4)) {
            let files: Vec<Vec<u8>> = lengths.iter().map(|len| (0..*len).map(|at| (at % 251) as u8).collect()).collect();
            let folder = tempfile::tempdir().unwrap();
            prop_assert!(passed_on(folder.path(), &files) == files);
            let mut store = DirectoryStore::open(folder.path()).unwrap();
            prop_assert!(store.get(&keys::piece(7)).unwrap().unwrap_or_default().is_empty(), "nothing of it is left in the store");
        }
    }

    #[test]
    fn who_sends_to_nobody_does_not_wait_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = DirectoryStore::open(folder.path()).unwrap();
        let sent = send(&mut store, (1, 1, 0), &b"x"[..], Duration::ZERO);
        assert!(matches!(sent, Err(PostError::TooLate { .. })), "{sent:?}");
        assert_eq!(store.get(&keys::piece(1)).unwrap().as_deref(), Some(""), "and leaves nothing");
        store.set(&keys::piece(1), "no base 64").unwrap();
        let mut take = |_: &[u8]| Ok(());
        assert!(matches!(receive(&mut store, (1, 1, 0), 1, Duration::ZERO, &mut take), Err(PostError::Foreign)));
        store.set(&keys::piece(1), &STANDARD.encode("x")).unwrap();
        assert!(
            matches!(receive(&mut store, (1, 1, 0), 9, Duration::ZERO, &mut take), Err(PostError::Foreign)),
            "another length"
        );
    }
}
