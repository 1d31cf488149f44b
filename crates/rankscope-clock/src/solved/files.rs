//! Files of several nodes as one: windows on the clock of each node's last start, and offsets.
//!
//! Files arrive as bytes with a name and are read one by one, so that only one need be in memory. The name appears in messages,
//! and its last component says whose windows the file holds where the file does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rankscope_time::Knot;

use super::Oddity;
use crate::files::{
    Damage, DamagedLine, NoWitness, OffsetRow, OffsetsFile, REALTIME, WindowsFile, WindowsHeader, Witness, node_of_name,
    read_offsets, read_snapshots, read_windows,
};
use crate::restarts::{Start, join};
use crate::{NodeId, NodeWindow};

/// Malformed lines of a file that are named one by one.
const DAMAGED_LINES_NAMED: usize = 3;

/// Why a file cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file, as it was called.
    pub file: String,
    /// What was looked for.
    pub sought: Sought,
    /// The first line that is wrong; none where the file has no line at all.
    pub first: Option<DamagedLine>,
}

/// What a file was to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Windows of nodes.
    Windows,
    /// Offsets of all nodes.
    Offsets,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, give) = match self.sought {
            Sought::Windows => ("window", "window files written by clock agents"),
            Sought::Offsets => ("offset", "a file of offsets written by `rankscope clock solve`"),
        };
        let why = self.first.as_ref().map_or_else(|| "it is empty".to_owned(), ToString::to_string);
        write!(f, "{}: no {what} can be read: {why}. Give {give}", self.file)
    }
}

impl std::error::Error for Unreadable {}

/// The windows of all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunWindows {
    /// Of a node in the order they were written in, on the clock of its last start.
    pub windows: Vec<NodeWindow>,
    /// The last header of each file, with the node it is about.
    pub headers: Vec<(NodeId, WindowsHeader)>,
    /// What was odd about the files.
    pub oddities: Vec<Oddity>,
}

impl RunWindows {
    /// Reads `files`, each a name and its bytes.
    ///
    /// # Errors
    /// [`Unreadable`] names the first file that holds neither a window nor a header.
    pub fn read<N: AsRef<str>, B: AsRef<[u8]>>(files: impl IntoIterator<Item = (N, B)>) -> Result<Self, Unreadable> {
        let mut reader = WindowsReader::default();
        for (name, bytes) in files {
            reader.add(name.as_ref(), bytes.as_ref())?;
        }
        Ok(reader.finish())
    }

    /// The header of `node`.
    pub fn header(&self, node: NodeId) -> Option<&WindowsHeader> {
        self.headers.iter().find(|(known, _)| *known == node).map(|(_, header)| header)
    }
}

/// Reads the files of windows of a run one after the other.
#[derive(Debug, Default)]
pub struct WindowsReader {
    read: RunWindows,
    starts: Vec<Start>,
    files: usize,
    unbounded: usize,
}

impl WindowsReader {
    /// Reads the file `name` from its `bytes`.
    ///
    /// # Errors
    /// [`Unreadable`] where it holds neither a window nor a header. What was read before stays.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Unreadable> {
        let WindowsFile { header, windows, constants, foreign, damaged } = read_windows(last_component(name), bytes);
        if windows.is_empty() && header.is_none() {
            let first = damaged.into_iter().next();
            return Err(Unreadable { file: name.to_owned(), sought: Sought::Windows, first });
        }
        self.read.oddities.extend(damage(name, damaged));
        self.files += 1;
        self.unbounded += usize::from(foreign);
        let node = windows.first().map(|window| window.node).or_else(|| node_of_name(last_component(name)));
        if let Some(node) = node {
            let before = self.read.windows.len();
            let start = |(at, host_minus_raw_ns)| Start { node, first_window: before + at, host_minus_raw_ns };
            self.starts.extend(constants.into_iter().map(start));
        }
        self.read.headers.extend(node.zip(header));
        self.read.windows.extend(windows);
        Ok(())
    }

    /// All of them, with every node on one clock.
    pub fn finish(self) -> RunWindows {
        let Self { mut read, starts, files, unbounded } = self;
        join(&mut read.windows, &starts);
        if unbounded > 0 {
            read.oddities.push(Oddity::FilesWithoutBounds { files: unbounded, of: files });
        }
        read.oddities.extend(several_runs(&read.headers));
        read
    }
}

/// The offsets of all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunOffsets {
    /// The first header, and all rows in the order of the files. Damage is among the oddities.
    pub offsets: OffsetsFile,
    /// What was odd about the files.
    pub oddities: Vec<Oddity>,
}

impl RunOffsets {
    /// Reads `files`, each a name and its bytes.
    ///
    /// # Errors
    /// [`Unreadable`] names the first file that holds neither an offset nor a header.
    pub fn read<N: AsRef<str>, B: AsRef<[u8]>>(files: impl IntoIterator<Item = (N, B)>) -> Result<Self, Unreadable> {
        let mut all = Self::default();
        for (name, bytes) in files {
            all.add(name.as_ref(), bytes.as_ref())?;
        }
        Ok(all)
    }

    /// Reads the file `name` from its `bytes`.
    ///
    /// # Errors
    /// [`Unreadable`] where it holds neither an offset nor a header. What was read before stays.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Unreadable> {
        let OffsetsFile { header, rows, damaged } = read_offsets(bytes);
        if rows.is_empty() && header.is_none() {
            let first = damaged.into_iter().next();
            return Err(Unreadable { file: name.to_owned(), sought: Sought::Offsets, first });
        }
        self.oddities.extend(damage(name, damaged));
        self.oddities.extend(over_tcp(&rows));
        self.offsets.header = self.offsets.header.take().or(header);
        self.offsets.rows.extend(rows);
        Ok(())
    }
}

/// What nodes read of other clocks beside their host clocks.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// Of `CLOCK_REALTIME`, by node.
    pub realtime: BTreeMap<NodeId, Vec<Knot>>,
    /// Of what time daemons say it is, by node.
    pub witnesses: BTreeMap<Witness, BTreeMap<NodeId, Vec<Knot>>>,
}

impl Readings {
    /// Takes up the file called `name`. One whose name does not end in the number of a node is passed over, and so are lines that
    /// cannot be read.
    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        let Some(node) = node_of_name(last_component(name)) else { return };
        for (clock, series) in read_snapshots(bytes).clocks {
            match clock.parse() {
                Ok(witness) => self.witnesses.entry(witness).or_default().insert(node, series.pairs),
                Err(NoWitness) if clock == REALTIME => self.realtime.insert(node, series.pairs),
                Err(NoWitness) => None,
            };
        }
    }
}

fn last_component(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Lines that are malformed, the first of them one by one, then those that were cut off.
fn damage(file: &str, damaged: Vec<DamagedLine>) -> Vec<Oddity> {
    let (cut, malformed): (Vec<_>, Vec<_>) = damaged.into_iter().partition(|line| line.damage == Damage::CutOff);
    let more = malformed.len().saturating_sub(DAMAGED_LINES_NAMED);
    let name = |line| Oddity::DamagedLine { file: file.to_owned(), line };
    let mut oddities: Vec<_> = malformed.into_iter().take(DAMAGED_LINES_NAMED).map(name).collect();
    if more > 0 {
        oddities.push(Oddity::MoreDamagedLines { file: file.to_owned(), lines: more });
    }
    oddities.extend(cut.into_iter().map(name));
    oddities
}

fn over_tcp(rows: &[OffsetRow]) -> Option<Oddity> {
    let over_tcp = || rows.iter().filter(|row| row.over_tcp);
    let nodes: BTreeSet<NodeId> = over_tcp().map(|row| row.node).collect();
    let rounds: BTreeSet<u64> = over_tcp().map(|row| row.round).collect();
    let all: BTreeSet<u64> = rows.iter().map(|row| row.round).collect();
    let (nodes, rounds, of) = (nodes.into_iter().collect(), rounds.len(), all.len());
    (rounds > 0).then_some(Oddity::NodesOverTcp { nodes, rounds, of })
}

fn several_runs(headers: &[(NodeId, WindowsHeader)]) -> Option<Oddity> {
    let runs: BTreeSet<&String> = headers.iter().filter_map(|(_, header)| header.run_id.as_ref()).collect();
    (runs.len() > 1).then(|| Oddity::SeveralRuns { runs: runs.into_iter().cloned().collect() })
}
