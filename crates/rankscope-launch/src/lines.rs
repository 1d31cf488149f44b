//! Output of many ranks on one terminal: every line with its rank before it, as soon as it is complete.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::signals::Signals;

/// Threads that pass on what ranks say.
pub(crate) struct Lines {
    sender: Sender<()>,
    over: Receiver<()>,
    streams: usize,
    /// Bytes that ranks have printed.
    printed: Arc<AtomicU64>,
    /// Closed when no more is to be waited for.
    open: PipeWriter,
    closing: Arc<PipeReader>,
}

/// A line that is longer than this is passed on in parts.
const LINE_MAX: usize = 1 << 20;

/// How long a pipe may stay open after its rank is gone: something that the rank left behind holds it.
const LINGER: Duration = Duration::from_secs(2);

/// The most a pipe holds, unless root says otherwise. What comes after that is not the rank's any more.
const PIPE_BYTES: usize = 1 << 20;

/// Between looks at whether somebody has had enough.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Lines {
    pub(crate) fn new() -> io::Result<Self> {
        let (sender, over) = channel();
        let (closing, open) = io::pipe()?;
        Ok(Self { sender, over, streams: 0, printed: Arc::default(), open, closing: Arc::new(closing) })
    }

    /// Counts the bytes that ranks print, as they do.
    pub(crate) fn printed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.printed)
    }

    /// Passes on what `child` says on both of its pipes; `aside` sends all of it to stderr.
    pub(crate) fn pass_on_all(&mut self, rank: u32, child: &mut Child, aside: bool) {
        match child.stdout.take() {
            Some(out) if aside => self.pass_on(rank, out, io::stderr()),
            Some(out) => self.pass_on(rank, out, io::stdout()),
            None => {}
        }
        if let Some(err) = child.stderr.take() {
            self.pass_on(rank, err, io::stderr());
        }
    }

    /// Passes on `from` to `to` with `[rank k] ` before each line.
    fn pass_on(&mut self, rank: u32, from: impl Read + AsFd + Send + 'static, to: impl Write + Send + 'static) {
        let over = self.sender.clone();
        let from = Stream { from, closing: Arc::clone(&self.closing), left: PIPE_BYTES, printed: Arc::clone(&self.printed) };
        let passing = std::thread::Builder::new().name(format!("rankscope-rank{rank}")).spawn(move || {
            // Whoever reads us has gone: the pipe closes, and the rank learns it as it would without us.
            let _gone = copy(format!("[rank {rank}] ").as_bytes(), from, to);
            let _nobody_waits = over.send(());
        });
        self.streams += usize::from(passing.is_ok());
    }

    /// Returns when everything that the ranks said is passed on, however slowly it is read, or somebody has had enough.
    pub(crate) fn end(self, signals: &Signals) {
        let mut open = Some(self.open);
        let deadline = Instant::now() + LINGER;
        let mut left = self.streams;
        while left > 0 {
            match self.over.recv_timeout(LOOK_EVERY) {
                Ok(()) => left -= 1,
                Err(RecvTimeoutError::Timeout) if signals.next(Some(Instant::now())).ends() => break,
                Err(_) if Instant::now() >= deadline => drop(open.take()),
                Err(_) => {}
            }
        }
    }
}

/// What a rank says, until it and all that it left behind have closed it; or, once told to close, until nothing is there.
struct Stream<R> {
    from: R,
    closing: Arc<PipeReader>,
    left: usize,
    printed: Arc<AtomicU64>,
}

impl<R: Read + AsFd> Read for Stream<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut ready = [self.from.as_fd(), self.closing.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        poll(&mut ready, PollTimeout::NONE)?;
        let [said, closing] = ready.map(|fd| fd.any().unwrap_or(true));
        if !closing {
            let read = self.from.read(into)?;
            self.printed.fetch_add(read as u64, Ordering::Relaxed);
            return Ok(read);
        }
        if !said {
            return Ok(0);
        }
        let most = into.len().min(self.left);
        let read = self.from.read(&mut into[..most])?;
        self.left -= read;
        Ok(read)
    }
}

fn copy(prefix: &[u8], mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut block = vec![0; 1 << 16];
    let mut line = prefix.to_vec();
    loop {
        let read = match from.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
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
fn say(to: &mut impl Write, line: &[u8]) -> io::Result<()> {
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
    fn what_was_said_is_read_to_its_end_also_where_the_pipe_stays_open() {
        let (from, mut rank) = io::pipe().unwrap();
        let (closing, open) = io::pipe().unwrap();
        rank.write_all(b"last\nwords").unwrap();
        drop(open);
        let mut out = Vec::new();
        copy(b"[rank 3] ", Stream { from, closing: Arc::new(closing), left: PIPE_BYTES, printed: Arc::default() }, &mut out)
            .unwrap();
        assert_eq!(out, b"[rank 3] last\n[rank 3] words\n");
    }

    #[test]
    fn who_never_falls_silent_is_left_alone_after_a_while() {
        let (closing, open) = io::pipe().unwrap();
        drop(open);
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        let mut out = Vec::new();
        copy(b"", Stream { from: zeros, closing: Arc::new(closing), left: 3 << 20, printed: Arc::default() }, &mut out)
            .unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == 0).count(), 3 << 20);
    }

    #[test]
    fn a_line_without_end_is_not_kept_forever() {
        let text = "x".repeat(3 * LINE_MAX);
        let out = copied(&text);
        assert!(out.lines().count() >= 2);
        assert_eq!(out.replace("[rank 3] ", "").replace('\n', ""), text);
    }
}
