//! Where combined traces go, one after the other.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use rankscope_align::{RankMap, apply};
use rankscope_formats::archive::{Archive, ArchiveMember};
use rankscope_formats::json::{base_ns, runs};
use rankscope_formats::perfetto::{RankView, Timeline};
use rankscope_formats::xspace::{PlaneNames, Space};
use rankscope_formats::{Error, Format};
use rankscope_time::{Rank, Span};
use rankscope_trace::Trace;

type Result<T> = std::result::Result<T, Error>;

/// What a combined file is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CombinedFormat {
    /// One XSpace, with planes of these names.
    XSpace(PlaneNames),
    /// Chrome JSON.
    Json,
    /// A Perfetto trace.
    Perfetto,
    /// A tar archive with a Perfetto trace of each rank.
    Archive,
}

impl CombinedFormat {
    /// The format that each trace is written in.
    pub fn format(self) -> Format {
        match self {
            Self::XSpace(_) => Format::XSpace,
            Self::Json => Format::Json,
            Self::Perfetto | Self::Archive => Format::Perfetto,
        }
    }
}

/// One trace on its way out, on the common clock.
#[derive(Debug)]
pub struct CombinedPart {
    /// Its number in the file.
    pub number: u32,
    /// Its events.
    pub trace: Trace,
    /// Its own clock minus the common one, in its middle.
    pub ahead_ns: i64,
    /// What a metadata plane says about it.
    pub facts: Vec<(&'static str, i64)>,
}

/// A combined file under construction.
pub struct CombinedFile<'a>(Sink<'a>);

/// What it is made of.
enum Sink<'a> {
    XSpace(Space<&'a mut dyn Write>, PlaneNames),
    Perfetto(Timeline<BufWriter<&'a mut (dyn Write + Send)>>),
    Json(Spool, &'a mut dyn Write),
    Archive(Members<'a>),
}

/// Ranks with a file each.
struct Members<'a> {
    archive: Archive<&'a mut dyn Write>,
    /// Where each is written before its length is known.
    spool: File,
    first_ahead_ns: Option<i64>,
}

/// Ranks put aside in order of time, behind each other in one file that has no name.
struct Spool {
    file: BufWriter<File>,
    /// Where each rank ends.
    ends: Vec<u64>,
    numbers: runs::Numbers,
    base_ns: Option<i64>,
}

/// Read ahead of each rank while merging: a thousand ranks take 32 MB.
const BUFFER_BYTES: usize = 32 << 10;

impl<'a> CombinedFile<'a> {
    /// A file written into `output`, of ranks up to `highest` as far as is known; what has to be put aside meanwhile goes into the
    /// file that `spool` opens.
    ///
    /// # Errors
    /// What `spool` fails with.
    pub fn new<E>(
        format: CombinedFormat,
        output: &'a mut (dyn Write + Send),
        highest: Rank,
        spool: impl FnOnce() -> std::result::Result<File, E>,
    ) -> std::result::Result<Self, E> {
        Ok(Self(match format {
            CombinedFormat::XSpace(names) => Sink::XSpace(Space::new(output, names), names),
            CombinedFormat::Perfetto => Sink::Perfetto(Timeline::new(BufWriter::new(output)).ranks_up_to(highest)),
            CombinedFormat::Json => Sink::Json(Spool::new(spool()?), output),
            CombinedFormat::Archive => {
                Sink::Archive(Members { archive: Archive::new(output), spool: spool()?, first_ahead_ns: None })
            }
        }))
    }

    /// Adds some traces, one behind the other; where a format lets them, all are encoded at the same time.
    ///
    /// # Errors
    /// Those of writing.
    pub fn add(&mut self, parts: Vec<CombinedPart>) -> Result<()> {
        self.0.add(parts)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

impl Sink<'_> {
    fn add(&mut self, parts: Vec<CombinedPart>) -> Result<()> {
        match self {
            Self::XSpace(space, names) => parts.iter().try_for_each(|part| add_planes(space, *names, part)),
            Self::Perfetto(timeline) => {
                let map = RankMap::identity();
                let views = parts.iter().map(|part| RankView { trace: &part.trace, rank: Some(Rank(part.number)), map: &map });
                timeline.add(&views.collect::<Vec<_>>())
            }
            Self::Json(spool, _) => parts.iter().try_for_each(|part| spool.add(Rank(part.number), &part.trace)),
            Self::Archive(members) => parts.into_iter().try_for_each(|part| members.add(part)),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::XSpace(space, _) => space.finish()?,
            Self::Perfetto(timeline) => {
                timeline.finish()?;
            }
            Self::Json(spool, output) => spool.merge(output)?,
            Self::Archive(members) => members.archive.finish()?,
        }
        Ok(())
    }
}

/// Adds the planes of a trace.
fn add_planes(space: &mut Space<&mut dyn Write>, names: PlaneNames, part: &CombinedPart) -> Result<()> {
    space.add(part.number, &part.trace)?;
    if names == PlaneNames::Readable {
        space.add_clock_metadata(part.number, &part.facts)?;
    }
    Ok(())
}

impl Members<'_> {
    fn add(&mut self, part: CombinedPart) -> Result<()> {
        let CombinedPart { number, mut trace, ahead_ns, .. } = part;
        let rank = Rank(number);
        let first_ahead_ns = *self.first_ahead_ns.get_or_insert(ahead_ns);
        // A manifest knows no drift, so the trace goes back by what its clock is ahead at one moment.
        apply(&mut trace, &RankMap::from_offset(Span::from_nanos(ahead_ns), 0));
        let len = alone(&trace, rank, &mut self.spool)?;
        let host = trace.provenance.host.as_deref().map_or_else(String::new, |host| format!(" on {host}"));
        let to_first_ns = first_ahead_ns.saturating_sub(ahead_ns);
        let member = ArchiveMember { path: format!("rank-{rank}.pftrace"), machine: format!("rank {rank}{host}"), to_first_ns };
        self.archive.add(member, len, &mut self.spool)
    }
}

/// Writes `trace` as a file of its own into `spool`, and returns its length.
fn alone(trace: &Trace, rank: Rank, spool: &mut File) -> Result<u64> {
    spool.set_len(0)?;
    spool.rewind()?;
    let mut timeline = Timeline::new(BufWriter::new(&mut *spool)).without_real_time();
    timeline.add_rank(RankView { trace, rank: Some(rank), map: &RankMap::identity() })?;
    let len = timeline.finish()?.bytes;
    spool.seek(SeekFrom::Start(0))?;
    Ok(len)
}

impl Spool {
    fn new(file: File) -> Self {
        Self { file: BufWriter::new(file), ends: Vec::new(), numbers: runs::Numbers::default(), base_ns: None }
    }

    fn add(&mut self, rank: Rank, trace: &Trace) -> Result<()> {
        let start_ns = trace.bounds_ns().map_or(0, |(start_ns, _)| start_ns);
        let base_ns = *self.base_ns.get_or_insert_with(|| base_ns(start_ns));
        runs::write_run(trace, rank, base_ns, &mut self.numbers, &mut self.file)?;
        self.ends.push(self.file.stream_position()?);
        Ok(())
    }

    fn merge(self, output: &mut dyn Write) -> Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let stretch = |(at, end)| BufReader::with_capacity(BUFFER_BYTES, Stretch { file: &file, at, end });
        let mut stretches: Vec<_> = starts.zip(self.ends.iter().copied()).map(stretch).collect();
        runs::merge(&[], self.base_ns.unwrap_or(0), &mut stretches, &mut BufWriter::new(output))?;
        Ok(())
    }
}

/// A part of a file that many read at once.
struct Stretch<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Stretch<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..left], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
