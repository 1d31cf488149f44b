//! Output of many ranks on one terminal: every line with its rank before it, as soon as it is complete.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Threads that pass on what ranks say.
pub(super) struct Lines {
    sender: Sender<()>,
    over: Receiver<()>,
    streams: usize,
}

/// A line that is longer than this is passed on in parts.
const LINE_MAX: usize = 1 << 20;

/// How long a pipe may stay open after its rank is gone: something that the rank left behind holds it.
const LINGER: Duration = Duration::from_secs(2);

impl Lines {
    pub(super) fn new() -> Self {
        let (sender, over) = channel();
        Self { sender, over, streams: 0 }
    }

    /// Passes on `from` to `to` with `[rank k] ` before each line.
    pub(super) fn pass_on(&mut self, rank: u32, from: impl Read + Send + 'static, to: impl Write + Send + 'static) {
        let over = self.sender.clone();
        let passing = std::thread::Builder::new().name(format!("rankscope-rank{rank}")).spawn(move || {
            // Whoever reads us has gone: the pipe closes, and the rank learns it as it would without us.
            let _gone = copy(format!("[rank {rank}] ").as_bytes(), from, to);
            let _nobody_waits = over.send(());
        });
        self.streams += usize::from(passing.is_ok());
    }

    /// Returns when everything has been said, or nothing more is to be waited for.
    pub(super) fn end(self) {
        let deadline = Instant::now() + LINGER;
        for _ in 0..self.streams {
            if self.over.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_err() {
                break;
            }
        }
    }
}

fn copy(prefix: &[u8], mut from: impl Read, mut to: impl Write) -> std::io::Result<()> {
    let mut block = vec![0; 1 << 16];
    let mut line = prefix.to_vec();
    loop {
        let read = match from.read(&mut block) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        let mut rest = &block[..read];
        // Bars that are drawn again and again end in a carriage return.
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let end = if rest[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 };
            line.extend_from_slice(&rest[..end]);
            say(&mut to, &line)?;
            line.truncate(prefix.len());
            rest = &rest[end..];
        }
        line.extend_from_slice(rest);
        if line.len() > LINE_MAX {
            line.push(b'\n');
            say(&mut to, &line)?;
            line.truncate(prefix.len());
        }
    }
    if line.len() > prefix.len() {
        line.push(b'\n');
        say(&mut to, &line)?;
    }
    Ok(())
}

/// In one piece: other ranks write to the same place.
fn say(to: &mut impl Write, line: &[u8]) -> std::io::Result<()> {
    to.write_all(line)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(text: &str) -> String {
        let mut out = Vec::new();
        copy(b"[rank 3] ", text.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_gets_its_rank() {
        let table = [
            ("", ""),
            ("a\n", "[rank 3] a\n"),
            ("a\n\nb", "[rank 3] a\n[rank 3] \n[rank 3] b\n"),
            ("50%\r100%\n", "[rank 3] 50%\r[rank 3] 100%\n"),
            ("a\r\nb\n", "[rank 3] a\r\n[rank 3] b\n"),
        ];
        for (text, expected) in table {
            assert_eq!(copied(text), expected);
        }
    }

    #[test]
    fn a_line_without_end_is_not_kept_forever() {
        let text = "x".repeat(3 * LINE_MAX);
        let out = copied(&text);
        assert!(out.lines().count() >= 2);
        assert_eq!(out.replace("[rank 3] ", "").replace('\n', ""), text);
    }
}
