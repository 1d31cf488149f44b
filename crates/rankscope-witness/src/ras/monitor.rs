//! NCCL's RAS service, followed: it tells when a process joins a job and when one is given up, as long as somebody listens.
//!
//! It can since NCCL 2.29. Each event is one JSON object over several lines, of which the first is `{` and the last `}`; nothing else marks where
//! one ends. There is no sign of life between events, so a connection that is lost without a word looks like a job in which all is well.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::command;
use crate::error::Error;
use crate::wire::Wire;

const MONITOR: &str = "MONITOR lifecycle";

/// How long an event is waited for before whoever follows is asked whether to go on.
const TURN: Duration = Duration::from_millis(250);

/// More than any event takes: NCCL makes them of 2 KiB at most.
const EVENT_MAX: usize = 64 << 10;

/// Follows the service at `address`, which has to be reached and agree `within` that time, until it ends or `hear` breaks off. `hear` gets each
/// event as it was sent, and none several times a second.
///
/// # Errors
/// [`Error`] where there is no such service, it knows no events, or it hangs up in the middle of one.
pub fn follow(address: &str, within: Duration, mut hear: impl FnMut(Option<&[u8]>) -> ControlFlow<()>) -> Result<(), Error> {
    let mut wire = Wire::connect(address, Instant::now() + within)?;
    command(&mut wire, address, "CLIENT PROTOCOL 2", "SERVER PROTOCOL")?;
    command(&mut wire, address, "SET FORMAT json", "OK")?;
    command(&mut wire, address, MONITOR, "OK")?;
    let mut events = Events::default();
    loop {
        wire.wait_until(Instant::now() + TURN);
        match wire.some(MONITOR) {
            Ok(bytes) if bytes.is_empty() => {
                return if events.is_whole() { Ok(()) } else { Err(wire.hung_up(MONITOR, events.left.len())) };
            }
            Ok(bytes) => events.add(&bytes),
            Err(Error::TooLate { .. }) => {}
            // A process that is killed may do that, too.
            Err(Error::HungUp { .. }) if events.is_whole() => return Ok(()),
            Err(error) => return Err(error),
        }
        while let Some(event) = events.next() {
            if hear(Some(&event)).is_break() {
                return Ok(());
            }
        }
        if events.left.len() > EVENT_MAX {
            return Err(wire.too_large(MONITOR, EVENT_MAX));
        }
        if hear(None).is_break() {
            return Ok(());
        }
    }
}

/// What came and is no whole event yet.
#[derive(Default)]
struct Events {
    left: Vec<u8>,
}

impl Events {
    fn add(&mut self, bytes: &[u8]) {
        self.left.extend_from_slice(bytes);
    }

    /// The next whole event, out of what came. A line outside of any is one by itself.
    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let mut ends = self.left.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
            let first = ends.next()?;
            let length = if first.trim_ascii_end() == b"{" {
                let mut length = first.len();
                let closes = ends.find(|line| {
                    length += line.len();
                    line.trim_ascii_end() == b"}"
                });
                closes.map(|_| length)?
            } else {
                first.len()
            };
            let event: Vec<u8> = self.left.drain(..length).collect();
            if !event.trim_ascii().is_empty() {
                return Some(event);
            }
        }
    }

    /// Whether nothing has begun that did not end.
    fn is_whole(&self) -> bool {
        self.left.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] =
        b"{\n  \"event\": \"PEER_NEW\",\n  \"peer\": {\n    \"pid\": 7\n  }\n}\n\n{\n  \"event\": \"PEER_DEAD\"\n}\r\nplain\n";

    #[test]
    fn events_are_the_same_wherever_their_bytes_are_cut() {
        for cut in 0..=TWO.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for piece in [&TWO[..cut], &TWO[cut..]] {
                events.add(piece);
                found.extend(std::iter::from_fn(|| events.next()));
            }
            assert_eq!(found.len(), 3, "cut at {cut}");
            assert!(found[0].starts_with(b"{") && found[0].ends_with(b"}\n"), "cut at {cut}");
            assert_eq!(found[1], b"{\n  \"event\": \"PEER_DEAD\"\n}\r\n");
            assert!(found[2] == b"plain\n" && events.is_whole());
        }
    }

    #[test]
    fn half_an_event_is_none_and_not_whole() {
        let mut events = Events::default();
        events.add(b"{\n  \"event\": \"PEER_DEAD\"\n");
        assert!(events.next().is_none() && !events.is_whole());
    }
}
