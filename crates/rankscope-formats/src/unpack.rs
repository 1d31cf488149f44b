//! The members of an archive, one after the other.
//!
//! The stream of a member is tied to the thread that walks the archive, and readers of traces work in a pool. So every archive is
//! walked by a thread of its own, which inflates, hands blocks over and never asks the pool for anything: whoever reads, be it a
//! thread of the pool, waits for bytes alone, as it would for a disk. Archives side by side therefore cannot wait for each other.
//!
//! Members that do not look like traces by their names are passed over. Archives inside archives are refused, and so is what has
//! more members than a job has ranks.

use std::cell::Cell;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::archive::MANIFEST;
use crate::{Error, Foreign, Format, Limit, inspector};

/// Reads every member of the ZIP archive `input` with `read`, which is given its name and its bytes, or why there are none.
pub(crate) fn zip(input: impl Read + Seek + Send, read: impl FnMut(&str, Result<Bytes<'_>, Error>)) -> Result<(), Error> {
    walked(|outlet| walk_zip(input, ZIP_LIST_BYTES_MAX, outlet), read)
}

/// The same for a TAR archive.
pub(crate) fn tar(input: impl Read + Send, read: impl FnMut(&str, Result<Bytes<'_>, Error>)) -> Result<(), Error> {
    walked(|outlet| walk_tar(input, outlet), read)
}

/// Blocks that may lie ready before a reader takes them.
const BLOCKS_AHEAD: usize = 4;

const BLOCK_BYTES: u64 = 128 << 10;

/// Members named like traces that are read of one archive: ten times the ranks of the largest jobs.
const MEMBERS_MAX: usize = 100_000;

/// How much of a ZIP archive is looked through for the list of its members: a good million of them. Every one costs some ten times
/// its bytes in memory while the archive is read.
const ZIP_LIST_BYTES_MAX: u64 = 128 << 20;

fn walked(
    walk: impl FnOnce(Outlet<'_>) -> Result<(), Error> + Send,
    mut read: impl FnMut(&str, Result<Bytes<'_>, Error>),
) -> Result<(), Error> {
    let wanted = AtomicUsize::new(0);
    let (sender, mut parts) = sync_channel(BLOCKS_AHEAD);
    let outlet = Outlet { sender, wanted: &wanted, members: 0 };
    // The receiver goes in, so that whatever happens to the reader, the walker finds that nobody listens.
    let wanted = &wanted;
    thread::scope(move |scope| {
        let walker = thread::Builder::new().name("rankscope-unpack".into()).spawn_scoped(scope, move || walk(outlet))?;
        let mut members = 0;
        while let Ok(part) = parts.recv() {
            match part {
                Part::Member(name) => {
                    members += 1;
                    read(&name, Ok(Bytes { parts: &mut parts, block: io::Cursor::default(), ended: false }));
                    wanted.store(members, Ordering::Relaxed);
                }
                Part::Lost(name, error) => read(&name, Err(error)),
                // Left over from a member whose reader had seen enough.
                Part::Block(_) | Part::End => {}
            }
        }
        walker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What the walking thread says.
enum Part {
    /// A member of this name begins.
    Member(String),
    /// The member has these bytes next, or cannot be read further.
    Block(io::Result<Vec<u8>>),
    /// The member ends.
    End,
    /// A member that there is no reading of.
    Lost(String, Error),
}

/// The walking thread's end.
struct Outlet<'a> {
    sender: SyncSender<Part>,
    /// Readers want members from this number on, counted as they were handed over.
    wanted: &'a AtomicUsize,
    members: usize,
}

/// Whether the walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    On,
    Home,
}

impl Outlet<'_> {
    /// Hands over the member `name`.
    fn member(&mut self, name: String, bytes: &mut impl Read) -> Go {
        if self.members == MEMBERS_MAX {
            let what = Limit::Members { most: MEMBERS_MAX };
            self.say(Part::Lost(name, Error::OverLimit { what }));
            return Go::Home;
        }
        let number = self.members;
        self.members += 1;
        let mut go = self.say(Part::Member(name));
        while go == Go::On && self.wanted.load(Ordering::Relaxed) <= number {
            let mut block = Vec::new();
            go = match bytes.by_ref().take(BLOCK_BYTES).read_to_end(&mut block) {
                Ok(0) => break,
                Ok(_) => self.say(Part::Block(Ok(block))),
                Err(error) => {
                    self.say(Part::Block(Err(error)));
                    break;
                }
            };
        }
        if go == Go::On { self.say(Part::End) } else { go }
    }

    fn lost(&self, name: String, error: &dyn std::error::Error) -> Go {
        self.say(Part::Lost(name, damaged(error)))
    }

    fn say(&self, part: Part) -> Go {
        if self.sender.send(part).is_ok() { Go::On } else { Go::Home }
    }
}

/// The bytes of one member, at the reader's end.
pub(crate) struct Bytes<'a> {
    parts: &'a mut Receiver<Part>,
    block: io::Cursor<Vec<u8>>,
    ended: bool,
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.block.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.ended {
                return Ok(read);
            }
            match self.parts.recv() {
                Ok(Part::Block(block)) => self.block = io::Cursor::new(block?),
                Ok(_) | Err(_) => self.ended = true,
            }
        }
    }
}

fn walk_tar(input: impl Read, mut outlet: Outlet<'_>) -> Result<(), Error> {
    let mut archive = tar::Archive::new(input);
    for (at, entry) in archive.entries()?.enumerate() {
        let go = match entry {
            Ok(mut entry) => {
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                if is_trace(&name) { outlet.member(name, &mut entry) } else { Go::On }
            }
            Err(error) => {
                outlet.lost(format!("member {at}"), &error);
                // Nothing behind a damaged header can be found.
                Go::Home
            }
        };
        if go == Go::Home {
            break;
        }
    }
    Ok(())
}

fn walk_zip(input: impl Read + Seek, list_bytes_max: u64, mut outlet: Outlet<'_>) -> Result<(), Error> {
    let left = Rc::new(Cell::new(list_bytes_max));
    let metered = Metered { input: BufReader::new(input), left: Rc::clone(&left) };
    let mut archive = zip::ZipArchive::new(metered).map_err(|error| match left.get() {
        0 => Error::OverLimit { what: Limit::MemberList { mib: list_bytes_max >> 20 } },
        _ => damaged(&error),
    })?;
    left.set(u64::MAX);
    for at in 0..archive.len() {
        let name =
            archive.name_for_index(at).and_then(Result::ok).map_or_else(|| format!("member {at}"), |name| name.into_owned());
        if !is_trace(&name) {
            continue;
        }
        let go = match archive.by_index(at) {
            Ok(mut file) => outlet.member(name, &mut file),
            Err(error) => outlet.lost(name, &error),
        };
        if go == Go::Home {
            break;
        }
    }
    Ok(())
}

fn is_trace(name: &str) -> bool {
    (Format::of_name(name).is_some() || inspector::is_name(name)) && name != MANIFEST
}

fn damaged(error: &dyn std::error::Error) -> Error {
    Error::NotATrace { found: Foreign::DamagedArchive { reason: error.to_string() } }
}

/// Fails once so many bytes have been read.
struct Metered<R> {
    input: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.left.set(self.left.get().saturating_sub(read as u64));
        if self.left.get() == 0 { Err(io::Error::other("too long")) } else { Ok(read) }
    }
}

impl<R: Seek> Seek for Metered<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.input.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    fn zipped(names: impl Iterator<Item = String>, bytes: &[u8]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn names(bytes: Vec<u8>, mut read: impl FnMut(Bytes<'_>)) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        zip(Cursor::new(bytes), |name, bytes| {
            names.push(name.to_owned());
            bytes.map_or_else(|error| panic!("{name}: {error}"), &mut read);
        })?;
        Ok(names)
    }

    #[test]
    fn members_come_in_order_however_much_of_them_is_read() {
        let members = || ["a.json", "notes.txt", "b.pftrace", MANIFEST, "c.json"].map(str::to_owned).into_iter();
        let bytes = zipped(members(), &vec![7; 3 << 20]);
        for wanted in [0, 1, BLOCK_BYTES as usize, usize::MAX] {
            let mut got = Vec::new();
            let found = names(bytes.clone(), |bytes| {
                let mut text = Vec::new();
                bytes.take(wanted as u64).read_to_end(&mut text).unwrap();
                got.push(text.len());
            });
            assert_eq!(found.unwrap(), ["a.json", "b.pftrace", "c.json"]);
            assert_eq!(got, [wanted.min(3 << 20); 3]);
        }
    }

    #[test]
    fn a_list_of_members_longer_than_allowed_is_refused() {
        // Long names, so that the list is long and the test is short.
        let bytes = zipped((0..40).map(|at| format!("{at}-{}.txt", "n".repeat(60_000))), b"");
        let walk = |most| walked(|outlet| walk_zip(Cursor::new(&bytes), most, outlet), |name, _| panic!("{name} is no trace"));
        let said = walk(2 << 20).unwrap_err().to_string();
        assert!(said.contains("too large") && said.contains("2 MiB"), "{said}");
        walk(4 << 20).unwrap();
    }

    /// Counts what is asked of a file.
    struct Watched<'a>(Cursor<&'a [u8]>, &'a AtomicUsize);

    impl Read for Watched<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(buffer)?;
            self.1.fetch_add(read, Ordering::Relaxed);
            Ok(read)
        }
    }

    impl Seek for Watched<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.seek(to)
        }
    }

    #[test]
    fn finding_the_traces_among_many_members_reads_the_list_once() {
        let work = |members: usize| {
            let names = (0..members).map(|at| format!("notes/{at:06}.txt")).chain(["rank0.json".to_owned()]);
            let bytes = zipped(names, b"");
            let (asked, mut found) = (AtomicUsize::new(0), Vec::new());
            zip(Watched(Cursor::new(&bytes), &asked), |name, _| found.push(name.to_owned())).unwrap();
            assert_eq!(found, ["rank0.json"]);
            asked.into_inner()
        };
        let (few, many) = (work(1_000), work(20_000));
        // An entry of the list is about 64 bytes long; a buffer's worth of what lies before it may be read as well.
        assert!(many < 20 * few + 65_536 && many < 20_000 * 100, "{few} {many}");
    }

    #[test]
    fn a_reader_that_panics_leaves_no_thread_waiting() {
        let bytes = zipped(["a.json".to_owned()].into_iter(), &vec![7; 8 << 20]);
        let read = || zip(Cursor::new(bytes), |_, _| panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).is_err());
    }
}
