//! Writing an object, so that readers see all of it or nothing: one request, or for large ones parts that are joined at the end.

use std::fs::File;
use std::io::{self, Read};

use bytes::{Bytes, BytesMut};
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload, WriteMultipart};
use rankscope_run::{Put, StoreFault};

use crate::Place;
use crate::faults::fault;

/// What is longer goes in parts.
const ONE_REQUEST_BYTES: u64 = 64 << 20;
const PART_BYTES: usize = 16 << 20;
/// Parts on their way at a time.
const PARTS_AT_ONCE: usize = 4;

/// Writes all that `content` has left to `place`.
pub(crate) async fn put(place: &Place, content: &mut File, put: Put) -> Result<(), StoreFault> {
    let length = content.metadata().map_err(|error| unreadable(&error))?.len();
    let failed = |error: Error| fault(&error, &place.url);
    if length > ONE_REQUEST_BYTES {
        return in_parts(place, content).await;
    }
    let mut bytes = Vec::with_capacity(length as usize);
    content.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let payload = PutPayload::from(bytes);
    if put == Put::Once {
        match place.store.put_opts(&place.path, payload.clone(), PutMode::Create.into()).await {
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => {}
            // Somebody was first, with the same.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => return Ok(()),
            other => return other.map(drop).map_err(failed),
        }
    }
    place.store.put(&place.path, payload).await.map(drop).map_err(failed)
}

async fn in_parts(place: &Place, content: &mut File) -> Result<(), StoreFault> {
    let failed = |error: Error| fault(&error, &place.url);
    let upload = place.store.put_multipart(&place.path).await.map_err(failed)?;
    let mut writer = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
    loop {
        writer.wait_for_capacity(PARTS_AT_ONCE).await.map_err(failed)?;
        let part = match next_part(content) {
            Ok(part) => part,
            Err(error) => {
                // What was sent is of no use; that it could not be taken back either says nothing new.
                let _left = writer.abort().await;
                return Err(unreadable(&error));
            }
        };
        if part.is_empty() {
            return writer.finish().await.map(drop).map_err(failed);
        }
        writer.put(part);
    }
}

fn next_part(content: &mut File) -> io::Result<Bytes> {
    let mut part = BytesMut::zeroed(PART_BYTES);
    let mut length = 0;
    while length < PART_BYTES {
        match content.read(&mut part[length..])? {
            0 => break,
            more => length += more,
        }
    }
    part.truncate(length);
    Ok(part.freeze())
}

/// What is put was written to a temporary file just before.
fn unreadable(error: &io::Error) -> StoreFault {
    StoreFault::Failed { reason: format!("what was to be written cannot be read back here: {error}") }
}
