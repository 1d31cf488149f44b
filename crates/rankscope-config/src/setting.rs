//! What a setting is: a row of the table.

/// A setting's place in the table, and its name in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is documented where users read it: in its row of the table")]
pub enum Key {
    Enabled,
    Preset,
    ProbeCadence,
    ProbeWindow,
    PacketSpacing,
    JitterPercent,
    TrainLength,
    BudgetBitsPerS,
    SnapshotPeriod,
    ClockSnapshots,
    OutputDir,
    ProbeExport,
    Topology,
    Edges,
    Interfaces,
    Port,
    PortMode,
    PortBase,
    ControlPort,
    HandshakeTimeout,
    Transport,
    Rendezvous,
    Rank,
    NumNodes,
    RunId,
    SharedKey,
    KeyFile,
    Insecure,
    ReferenceNode,
    Estimator,
    SkewChange,
    SkewMax,
    BusyPoll,
    Cpu,
    Scheduling,
    TestClock,
    TestClockShift,
}

/// The unit that a key ends in, and that a bare number is read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `-us`
    Microseconds,
    /// `-ms`
    Milliseconds,
    /// `-s`
    Seconds,
}

impl Unit {
    /// How many nanoseconds it has.
    pub const fn nanos(self) -> u64 {
        match self {
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }

    /// As it is written behind a number.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }
}

/// A canonical word and other spellings of it.
pub(crate) type Word = (&'static str, &'static [&'static str]);

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On or off.
    Switch,
    /// A whole number.
    Integer {
        /// For people; empty for a plain number.
        unit: &'static str,
        /// Least.
        min: u64,
        /// Greatest.
        max: u64,
    },
    /// A length of time: a number in `unit`, or one with a unit of its own behind it.
    Duration {
        /// Of a bare number.
        unit: Unit,
        /// Shortest.
        min_ns: u64,
        /// Longest.
        max_ns: u64,
    },
    /// Any text.
    Text,
    /// Text that is never shown.
    Secret,
    /// Words, in a file also as an array, in text parted by commas.
    List,
    /// Pairs of node numbers: `0-1`.
    Edges,
    /// Where nodes find each other: `tcp://host:port`, `file:///path`, `etcd://host:port` or `torch://host:port`.
    Rendezvous,
    /// One of a few words.
    Choice(&'static [Word]),
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in code.
    pub key: Key,
    /// Its name in files: kebab-case, unit last.
    pub name: &'static str,
    /// The section of a file it may stand in; the top level is right, too.
    pub section: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds where nothing else says, as it would be written.
    pub default: Option<&'static str>,
    /// Further variables that mean the same.
    pub variables: &'static [&'static str],
    /// Variables of other programs, a better guess than the default and weaker than a file.
    pub borrowed: &'static [&'static str],
    /// Further names in files.
    pub keys: &'static [&'static str],
    /// What it does, in a line.
    pub doc: &'static str,
}

impl Setting {
    /// Its own environment variable.
    pub fn variable(&self) -> String {
        format!("RANKSCOPE_{}", self.name.to_ascii_uppercase().replace('-', "_"))
    }
}
