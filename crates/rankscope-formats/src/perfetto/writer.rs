//! [`Timeline`]: ranks into one Perfetto file.

use std::io::{self, Write};

use rankscope_time::{ClockMap, Instant, Rank, RankClock, ReferenceClock};
use rankscope_trace::{SpanId, Trace};
use rayon::prelude::*;

use super::encode::{self, Base};
use super::opening::{HEADER_SEQUENCE, tie_to_real_time};
use super::plan::Plan;
use super::schema::{self, packet, track};
use crate::Error;
use crate::wire::Encoder;

/// One rank on its way into a file.
#[derive(Clone, Copy, Debug)]
pub struct RankView<'a> {
    /// Its events.
    pub trace: &'a Trace,
    /// Its number, which its row is named after.
    pub rank: Option<Rank>,
    /// From its own clock to the file's.
    pub map: &'a ClockMap<RankClock, ReferenceClock>,
}

/// A span of one of several ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanOfRank {
    /// The rank's place in the order ranks are added in, from zero.
    pub rank: usize,
    /// The span.
    pub span: SpanId,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Spans; all of those that were added.
    pub spans: u64,
    /// Instants.
    pub instants: u64,
    /// Counter samples of the traces; how busy a rank is and what memory it holds are drawn beside them.
    pub samples: u64,
    /// How many times a flow or an arrow between ranks touches a span.
    pub flow_points: u64,
    /// Points of flows that no span encloses; they are not in the file.
    pub loose_flow_points: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.spans += other.spans;
        self.instants += other.instants;
        self.samples += other.samples;
        self.flow_points += other.flow_points;
        self.loose_flow_points += other.loose_flow_points;
        self.bytes += other.bytes;
    }
}

/// A Perfetto file under construction. Ranks are added in the order they are to be drawn.
///
/// Memory beside the traces themselves is one index of four bytes a span of the ranks being added; of ranks that are added
/// together, as many as there are threads are also held in encoded form, at a third of their size in memory, and as many again that
/// are written meanwhile.
#[derive(Debug)]
pub struct Timeline<W> {
    output: Counted<W>,
    /// Ranks in encoded form that are to be written while the next are encoded.
    encoded: Vec<Vec<u8>>,
    base: Base,
    ranks: u32,
    digits: usize,
    /// Arrows between ranks, by rank and span: rank, span, arrow.
    arrows: Vec<(usize, u32, u64)>,
    first_ns: Option<i64>,
    real_time: bool,
    tally: Tally,
}

impl<W: Write> Timeline<W> {
    /// An empty file.
    pub fn new(output: W) -> Self {
        let base = Base { sequence: HEADER_SEQUENCE + 1, row: 1 };
        let output = Counted { inner: output, bytes: 0 };
        let (encoded, arrows, tally) = Default::default();
        Self { output, encoded, base, ranks: 0, digits: 1, arrows, first_ns: None, real_time: true, tally }
    }

    /// Says nothing about real time. In an archive the clocks of files are tied to each other, and real time, which is taken to
    /// be one on all machines, would be a second and contradicting tie.
    #[must_use]
    pub fn without_real_time(self) -> Self {
        Self { real_time: false, ..self }
    }

    /// Numbers ranks with as many digits as `highest` has, so that they are in order by name. Ranks that are added together, and
    /// the size of the job that traces state, need no such word.
    #[must_use]
    pub fn ranks_up_to(self, highest: Rank) -> Self {
        Self { digits: self.digits.max(digits(highest)), ..self }
    }

    /// Draws an arrow through the spans of each list, in order of time, as through one collective's part on each rank. Spans of
    /// ranks that have been added already are left out, so this comes first.
    pub fn connect(&mut self, arrows: impl IntoIterator<Item = impl IntoIterator<Item = SpanOfRank>>) {
        let next = self.arrows.iter().map(|(_, _, arrow)| arrow + 1).max().unwrap_or(0);
        for (arrow, spans) in (next..).zip(arrows) {
            self.arrows.extend(spans.into_iter().map(|at| (at.rank, at.span.0, arrow)));
        }
        self.arrows.sort_unstable();
    }

    /// Adds one rank, encoding it as it is written.
    ///
    /// # Errors
    /// What the output fails with.
    pub fn add_rank(&mut self, view: RankView<'_>) -> Result<(), Error> {
        self.widen(&[view]);
        let between = between(&self.arrows, self.ranks as usize, view.trace.spans.len());
        let plan = Plan::new(view, self.ranks, self.digits, &between);
        self.write_encoded()?;
        let base = self.take(&plan)?;
        let tally = encode::encode(&plan, base, &mut self.output)?;
        self.tally.add(tally);
        Ok(())
    }

    /// Draws the spans of `trace` in rows of their own called `name`, beside those of the ranks. Their times are the file's. They
    /// follow from what ranks did, so whoever reads the file back passes over them, and no tally counts them.
    ///
    /// # Errors
    /// What the output fails with.
    pub fn add_derived(&mut self, name: &str, trace: &Trace) -> Result<(), Error> {
        let map = ClockMap::identity();
        let plan = Plan::derived(RankView { trace, rank: None, map: &map }, name);
        self.write_encoded()?;
        let base = self.reserve(&plan)?;
        encode::encode(&plan, base, &mut self.output)?;
        Ok(())
    }

    /// Completes the file and says what is in it.
    ///
    /// # Errors
    /// What the output fails with.
    pub fn finish(mut self) -> Result<Tally, Error> {
        self.write_encoded()?;
        if self.output.bytes == 0 {
            self.header()?;
        }
        if self.real_time {
            let unix_ns = self.first_ns.unwrap_or(0).max(0) as u64;
            let mut encoder = Encoder::default();
            tie_to_real_time(&mut encoder, unix_ns);
            self.output.write_all(encoder.bytes())?;
        }
        self.output.flush()?;
        Ok(Tally { bytes: self.output.bytes, ..self.tally })
    }

    fn write_encoded(&mut self) -> io::Result<()> {
        write_all(&mut self.output, std::mem::take(&mut self.encoded))
    }

    fn widen(&mut self, ranks: &[RankView<'_>]) {
        let last =
            |view: &RankView<'_>| view.trace.provenance.world_size.map(|size| Rank(size.saturating_sub(1))).max(view.rank);
        let highest = ranks.iter().filter(|view| view.rank.is_some()).filter_map(last).max();
        self.digits = self.digits.max(highest.map_or(1, digits));
    }

    /// Reserves what `plan`, of the next rank, needs of the file's numbers.
    fn take(&mut self, plan: &Plan<'_>) -> Result<Base, Error> {
        let base = self.reserve(plan)?;
        self.ranks += 1;
        Ok(base)
    }

    fn reserve(&mut self, plan: &Plan<'_>) -> Result<Base, Error> {
        if self.output.bytes == 0 {
            self.header()?;
        }
        let base = self.base;
        self.base.sequence += plan.sequences();
        self.base.row += plan.rows.len() as u32;
        let first = plan.first_ns().map(|ns| plan.view.map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch());
        self.first_ns = self.first_ns.into_iter().chain(first).min();
        Ok(base)
    }

    /// The root of all tracks, which only says that they are drawn in their given order. Engines that go by names there have ours.
    fn header(&mut self) -> Result<(), Error> {
        let mut encoder = Encoder::default();
        encoder.message(schema::PACKET, |body| {
            body.varint(packet::SEQUENCE_ID, HEADER_SEQUENCE.into());
            body.message(packet::TRACK_DESCRIPTOR, |descriptor| {
                descriptor.varint(track::UUID, 0).varint(track::CHILD_ORDERING, track::CHILDREN_EXPLICIT);
            });
        });
        Ok(self.output.write_all(encoder.bytes())?)
    }
}

impl<W: Write + Send> Timeline<W> {
    /// Adds several ranks, encoding as many at a time as there are threads, while those before them are written.
    ///
    /// # Errors
    /// What the output fails with.
    pub fn add<'a>(&mut self, ranks: &[RankView<'a>]) -> Result<(), Error> {
        if let [view] = ranks {
            return self.add_rank(*view);
        }
        self.widen(ranks);
        for batch in ranks.chunks(rayon::current_num_threads().max(1)) {
            let (first, arrows, digits) = (self.ranks as usize, &self.arrows, self.digits);
            let plan = |(at, view): (usize, &RankView<'a>)| {
                let group = first + at;
                Plan::new(*view, group as u32, digits, &between(arrows, group, view.trace.spans.len()))
            };
            let plans: Vec<Plan<'a>> = batch.par_iter().enumerate().map(plan).collect();
            let bases = plans.iter().map(|plan| self.take(plan)).collect::<Result<Vec<Base>, Error>>()?;
            let encode = |(plan, base): (Plan<'a>, Base)| {
                let mut bytes = Vec::new();
                encode::encode(&plan, base, &mut bytes).map(|tally| (tally, bytes))
            };
            let (before, output) = (std::mem::take(&mut self.encoded), &mut self.output);
            let encode_all = || plans.into_par_iter().zip(bases).map(encode).collect::<Vec<io::Result<(Tally, Vec<u8>)>>>();
            let (written, encoded) = rayon::join(|| write_all(output, before), encode_all);
            written?;
            for rank in encoded {
                let (tally, bytes) = rank?;
                self.encoded.push(bytes);
                self.tally.add(tally);
            }
        }
        Ok(())
    }
}

/// Writes each of `all`, and lets go of it.
fn write_all(output: &mut impl Write, all: Vec<Vec<u8>>) -> io::Result<()> {
    all.into_iter().try_for_each(|bytes| output.write_all(&bytes))
}

fn digits(rank: Rank) -> usize {
    rank.0.checked_ilog10().map_or(1, |zeros| zeros as usize + 1)
}

/// Spans of `rank` that arrows between ranks touch, with the arrows.
fn between(arrows: &[(usize, u32, u64)], rank: usize, spans: usize) -> Vec<(u32, u64)> {
    let first = arrows.partition_point(|(of, ..)| *of < rank);
    let own = arrows[first..].iter().take_while(|(of, ..)| *of == rank);
    own.map(|(_, span, arrow)| (*span, *arrow)).filter(|(span, _)| (*span as usize) < spans).collect()
}

/// Writes one trace as a Perfetto file, on the clock it was recorded with.
///
/// # Errors
/// What the output fails with.
pub fn write(trace: &Trace, output: &mut impl Write) -> Result<(), Error> {
    let mut timeline = Timeline::new(output);
    let rank = trace.provenance.rank.map(|(rank, _)| rank);
    timeline.add_rank(RankView { trace, rank, map: &ClockMap::identity() })?;
    timeline.finish()?;
    Ok(())
}

/// Counts the bytes on their way out.
#[derive(Debug)]
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
