//! Reading for as long as somebody wants what is read.
//!
//! A reader of traces knows nothing of it: to the reader the file fails. As some read past damage, what comes of a file that failed so must not be
//! used; [`Wanted::goes_on`] says it, and says the same from then on.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that are read between two looks at who waits.
const LOOK_BYTES: usize = 256 << 10;

/// Something that is done for as long as somebody waits for it. Once given up, it is whoever comes.
pub(crate) struct Wanted<'a> {
    is_wanted: &'a (dyn Fn() -> bool + Sync),
    given_up: AtomicBool,
}

impl<'a> Wanted<'a> {
    /// Whatever happens.
    pub(crate) fn always() -> Self {
        Self::while_true(&|| true)
    }

    pub(crate) fn while_true(is_wanted: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { is_wanted, given_up: AtomicBool::new(false) }
    }

    /// Whether to go on.
    pub(crate) fn goes_on(&self) -> bool {
        if !self.given_up.load(Ordering::Relaxed) && !(self.is_wanted)() {
            self.given_up.store(true, Ordering::Relaxed);
        }
        !self.given_up.load(Ordering::Relaxed)
    }

    /// `source`, which fails once nobody wants what is in it.
    pub(crate) fn read<R>(&'a self, source: R) -> WhileWanted<'a, R> {
        WhileWanted { source, wanted: self, since_look: 0 }
    }
}

/// Bytes of a source.
pub(crate) struct WhileWanted<'a, R> {
    source: R,
    wanted: &'a Wanted<'a>,
    since_look: usize,
}

impl<R: Read> Read for WhileWanted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_look >= LOOK_BYTES {
            self.since_look = 0;
            if !self.wanted.goes_on() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
        let bytes = self.source.read(buffer)?;
        self.since_look += bytes;
        Ok(bytes)
    }
}

impl<R: Seek> Seek for WhileWanted<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.source.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Bytes that are read of `length`, and looks, where it is wanted for so many looks.
    fn read_for(looks: usize, length: usize) -> (usize, usize, io::Result<()>) {
        let looked = AtomicUsize::new(0);
        let is_wanted = || looked.fetch_add(1, Ordering::Relaxed) < looks;
        let wanted = Wanted::while_true(&is_wanted);
        let mut source = wanted.read(io::repeat(b' ').take(length as u64));
        let (mut read, mut piece) = (0, vec![0; 10_000]);
        let ended = loop {
            match source.read(&mut piece) {
                Ok(0) => break Ok(()),
                Ok(bytes) => read += bytes,
                Err(error) => break Err(error),
            }
        };
        (read, looked.into_inner(), ended)
    }

    #[test]
    fn what_is_wanted_is_read_to_its_end() {
        let (read, looks, ended) = read_for(usize::MAX, 5_000_000);
        assert!(ended.is_ok() && read == 5_000_000 && looks > 10, "{read} bytes, {looks} looks");
    }

    #[test]
    fn reading_ends_at_the_next_look_once_nobody_wants_it() {
        let (read, looks, ended) = read_for(2, 5_000_000);
        assert!(ended.is_err() && read < 3 * LOOK_BYTES + 30_000 && looks == 3, "{read} bytes, {looks} looks");
    }

    #[test]
    fn what_was_given_up_stays_given_up_whoever_comes() {
        let looks = AtomicUsize::new(0);
        let is_wanted = || looks.fetch_add(1, Ordering::Relaxed) > 0;
        let wanted = Wanted::while_true(&is_wanted);
        assert_eq!([wanted.goes_on(), wanted.goes_on()], [false, false]);
        assert_eq!(looks.into_inner(), 1);
    }
}
