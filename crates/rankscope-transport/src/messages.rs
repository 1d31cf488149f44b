//! What every backend does with the messages of a rank, whatever carries them.

use rankscope_dispatch::{Message, RankExchange};
use rankscope_time::Rank;

use crate::{Transport, TransportError};

/// Checks that the buffers are those of the exchange and that its messages are inside them and of this job. What the other
/// ranks were handed cannot be seen from here; [`rankscope_dispatch::Exchange::validate`] sees it.
pub(crate) fn check(
    transport: &impl Transport,
    exchange: &RankExchange,
    send: &[u8],
    receive: &[u8],
) -> Result<(), TransportError> {
    let (rank, backend) = (transport.rank(), transport.world_size());
    if exchange.rank != rank {
        return Err(TransportError::OtherRank { rank, slice: exchange.rank });
    }
    let sides = [
        ("send", &exchange.sends, exchange.send_bytes, send.len() as u64),
        ("receive", &exchange.receives, exchange.receive_bytes, receive.len() as u64),
    ];
    for (buffer, messages, expected, actual) in sides {
        if expected != actual {
            return Err(TransportError::BufferSize { rank, buffer, expected, actual });
        }
        for message in messages {
            if message.peer.0 >= backend {
                let advice = "give the backend as many ranks as the plan has";
                return Err(TransportError::WorldSize { plan: message.peer.0 + 1, backend, advice });
            }
            within(rank, message.peer, message.at, message.bytes, actual)?;
        }
    }
    let own_bytes = |messages| own(messages, rank).map_or(0, |message: &Message| message.bytes);
    let (expected, actual) = (own_bytes(&exchange.receives), own_bytes(&exchange.sends));
    if expected != actual {
        return Err(TransportError::SizeMismatch { rank, peer: rank, expected, actual });
    }
    Ok(())
}

/// Whether a message lies inside a buffer of `of` bytes of `rank`.
pub(crate) fn within(rank: Rank, peer: Rank, at: u64, bytes: u64, of: u64) -> Result<(), TransportError> {
    match at.checked_add(bytes) {
        Some(end) if end <= of => Ok(()),
        _ => Err(TransportError::MessageOutOfBounds { rank, peer, at, bytes, of }),
    }
}

/// The messages with others, starting behind `rank`: if all ranks go round so, no two of them begin with the same peer.
pub(crate) fn spread(messages: &[Message], rank: Rank) -> impl Iterator<Item = &Message> {
    let (before, behind) = messages.split_at(messages.partition_point(|message| message.peer <= rank));
    behind.iter().chain(before.iter().filter(move |message| message.peer != rank))
}

/// Copies what the rank sends itself. It needs no backend.
pub(crate) fn keep(exchange: &RankExchange, send: &[u8], receive: &mut [u8]) {
    if let (Some(from), Some(to)) = (own(&exchange.sends, exchange.rank), own(&exchange.receives, exchange.rank)) {
        run_mut(to, receive).copy_from_slice(run(from, send));
    }
}

/// The message of a rank to itself.
pub(crate) fn own(messages: &[Message], rank: Rank) -> Option<&Message> {
    messages.binary_search_by_key(&rank, |message| message.peer).ok().map(|at| &messages[at])
}

/// The bytes of a message.
pub(crate) fn run<'a>(message: &Message, buffer: &'a [u8]) -> &'a [u8] {
    &buffer[index(message.at)..][..index(message.bytes)]
}

/// The place of a message.
pub(crate) fn run_mut<'a>(message: &Message, buffer: &'a mut [u8]) -> &'a mut [u8] {
    &mut buffer[index(message.at)..][..index(message.bytes)]
}

/// A place in memory. Asked only for places inside a buffer that exists.
pub(crate) fn index(at: u64) -> usize {
    usize::try_from(at).expect("it is inside a buffer in memory")
}
