//! The settings there are. Their order is that of [`Key`]; names, defaults and variables are public and stay.

use crate::setting::Word;
use crate::{Key, Kind, Setting, Unit};

const fn row(
    key: Key,
    name: &'static str,
    section: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    doc: &'static str,
) -> Setting {
    Setting { key, name, section, kind, default, variables: &[], borrowed: &[], keys: &[], doc }
}

impl Setting {
    const fn also(self, variables: &'static [&'static str]) -> Self {
        Self { variables, ..self }
    }

    const fn borrowing(self, borrowed: &'static [&'static str]) -> Self {
        Self { borrowed, ..self }
    }

    const fn spelt(self, keys: &'static [&'static str]) -> Self {
        Self { keys, ..self }
    }
}

const fn time(unit: Unit, min_ns: u64, max_ns: u64) -> Kind {
    Kind::Duration { unit, min_ns, max_ns }
}

const fn number(unit: &'static str, min: u64, max: u64) -> Kind {
    Kind::Integer { unit, min, max }
}

const US: u64 = Unit::Microseconds.nanos();
const MS: u64 = Unit::Milliseconds.nanos();
const S: u64 = Unit::Seconds.nanos();
const PORT_MAX: u64 = u16::MAX as u64;

/// Names of [`crate::presets`].
pub(crate) const PRESETS: &[Word] = &[
    ("high-accuracy", &[]),
    ("low-overhead", &[]),
    ("debug", &[]),
    ("sync-debug", &[]),
    ("benchmark", &[]),
    ("jax-training", &[]),
    ("inference", &[]),
];

const TOPOLOGIES: &[Word] =
    &[("random", &["random-graph"]), ("ring", &[]), ("directed", &[]), ("loop", &["loop-2"]), ("explicit", &[])];

/// Every setting, in the order of [`Key`].
pub const SETTINGS: &[Setting] = &[
    row(Key::Enabled, "enabled", "probe", Kind::Switch, Some("false"), "Whether to synchronise clocks.")
        .also(&["XLA_ENABLE_DISTRIBUTED_PROFILING"]),
    row(
        Key::Preset,
        "preset",
        "probe",
        Kind::Choice(PRESETS),
        None,
        "A named choice of cadence, window, spacing and snapshot period.",
    ),
    row(
        Key::ProbeCadence,
        "probe-cadence-us",
        "probe",
        time(Unit::Microseconds, 100 * US, 1_000_000 * US),
        Some("800"),
        "Time between two probes of an edge (recommended: 400 to 2000).",
    )
    .also(&["XLA_PROBE_CADENCE_US"]),
    row(
        Key::ProbeWindow,
        "probe-window-s",
        "probe",
        time(Unit::Seconds, 500 * MS, 60 * S),
        Some("4"),
        "Length of a window, over which a line is fitted (recommended: 2 to 10).",
    )
    .also(&["XLA_PROBE_WINDOW_S"]),
    row(
        Key::PacketSpacing,
        "packet-spacing-us",
        "probe",
        time(Unit::Microseconds, 5 * US, 10_000 * US),
        Some("5"),
        "Time between the packets of one coded probe (recommended: 5 to 10).",
    )
    .also(&["XLA_PACKET_SPACING_US"]),
    row(
        Key::JitterPercent,
        "jitter-percent",
        "probe",
        number("%", 0, 50),
        Some("10"),
        "Random variation of cadence and spacing, so that probes do not synchronise with other traffic.",
    ),
    row(Key::TrainLength, "train-length", "probe", number("probes", 1, 1_024), Some("16"), "Most probes sent back to back."),
    row(
        Key::BudgetBitsPerS,
        "budget-bits-per-s",
        "probe",
        number("bit/s", 10_000, 10_000_000_000),
        None,
        "Most bits per second that a node sends; by default 110 kbit/s plus 37 kbit/s per edge, at most 1 Mbit/s. Probe trains pause to keep within it.",
    ),
    row(
        Key::SnapshotPeriod,
        "snapshot-period-ms",
        "probe",
        time(Unit::Milliseconds, 10 * MS, 10_000 * MS),
        Some("100"),
        "Time between two snapshots of a host's clocks against each other (recommended: 50 to 200).",
    )
    .also(&["XLA_SNAPSHOT_PERIOD_MS", "XLA_ROCM_SNAPSHOT_PERIOD_MS"])
    .spelt(&["snapshot-pair-period-ms"]),
    row(
        Key::ClockSnapshots,
        "clock-snapshots",
        "files",
        Kind::Switch,
        Some("false"),
        "Whether to write these snapshots to a file.",
    )
    .also(&["XLA_ENABLE_CLOCK_SNAPSHOTS"]),
    row(
        Key::OutputDir,
        "output-dir",
        "files",
        Kind::Text,
        Some("clock"),
        "Directory that windows and offsets are written into.",
    )
    .also(&["XLA_DIST_PROF_OUTPUT_DIR"]),
    row(Key::ProbeExport, "probe-export", "files", Kind::Switch, Some("true"), "Whether to write windows to a file.")
        .also(&["XLA_ENABLE_PROBE_EXPORT"]),
    row(Key::Topology, "topology", "graph", Kind::Choice(TOPOLOGIES), Some("random"), "Which nodes probe which.")
        .also(&["XLA_GRAPH_POLICY"])
        .spelt(&["graph-policy"]),
    row(Key::Edges, "edges", "graph", Kind::Edges, None, "The edges of the explicit topology, for example 0-1,1-2,2-0."),
    row(
        Key::Interfaces,
        "interfaces",
        "network",
        Kind::List,
        None,
        "Network interfaces to use: prefixes; `=` before an exact name, `^` before the list to exclude it.",
    )
    .borrowing(&["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"]),
    row(Key::Port, "port", "network", number("", 0, PORT_MAX), Some("0"), "UDP port of the single-port mode; 0 takes any."),
    row(
        Key::PortMode,
        "port-mode",
        "network",
        Kind::Choice(&[("single", &[]), ("per-edge", &[])]),
        Some("single"),
        "One port for all edges of a node, or one port per edge.",
    ),
    row(Key::PortBase, "port-base", "network", number("", 1_024, PORT_MAX), Some("20000"), "First port of the per-edge mode."),
    row(
        Key::ControlPort,
        "control-port",
        "network",
        number("", 0, PORT_MAX),
        Some("36000"),
        "UDP port of control messages, plus the node's number; 0 takes any.",
    )
    .spelt(&["master-control-port"]),
    row(
        Key::HandshakeTimeout,
        "handshake-timeout-s",
        "network",
        time(Unit::Seconds, S, 600 * S),
        Some("30"),
        "How long to try to connect before an edge is reported as failed, and tried over TCP.",
    ),
    row(
        Key::Transport,
        "transport",
        "network",
        Kind::Choice(&[("auto", &[]), ("udp", &[]), ("tcp", &[])]),
        Some("auto"),
        "What carries packets: UDP, and TCP between nodes whose UDP packets are not answered within handshake-timeout-s; UDP alone; or TCP alone, which is less exact.",
    ),
    row(
        Key::Rendezvous,
        "rendezvous",
        "job",
        Kind::Rendezvous,
        None,
        "Rendezvous of the nodes: tcp://host:port (served by rank 0), file:///path, etcd://host:port or torch://host:port.",
    )
    .also(&["RANKSCOPE_RDZV"]),
    row(Key::Rank, "rank", "job", number("", 0, 1_000_000), None, "This node's number."),
    row(Key::NumNodes, "num-nodes", "job", number("", 1, 1_000_000), None, "Number of nodes.").also(&["RANKSCOPE_WORLD_SIZE"]),
    row(Key::RunId, "run-id", "job", Kind::Text, None, "Identifies this run among others on the same hosts."),
    row(
        Key::SharedKey,
        "key",
        "job",
        Kind::Secret,
        None,
        "Secret that all nodes share; connections without it are refused. Best set in the environment: command lines are visible to everybody.",
    ),
    row(
        Key::KeyFile,
        "key-file",
        "job",
        Kind::Text,
        None,
        "File with that secret in its first line, readable by its owner only (mode 600); agents wait for it to appear.",
    ),
    row(
        Key::Insecure,
        "insecure",
        "job",
        Kind::Switch,
        Some("false"),
        "Whether nodes on several hosts may run without a key; anybody who can reach them can then mislead them.",
    ),
    row(
        Key::ReferenceNode,
        "reference-node",
        "estimate",
        number("", 0, 1_000_000),
        Some("0"),
        "The node in whose clock the others are expressed.",
    )
    .spelt(&["master-node-id"]),
    row(
        Key::Estimator,
        "estimator",
        "estimate",
        Kind::Choice(&[("band", &[]), ("robust", &[]), ("svm", &[])]),
        Some("band"),
        "How the line of an edge is fitted.",
    ),
    row(
        Key::SkewChange,
        "skew-change-ppb-per-s",
        "estimate",
        number("ppb/s", 0, 1_000_000),
        Some("100"),
        "The fastest change of a clock's rate that the bounds assume.",
    ),
    row(
        Key::SkewMax,
        "skew-max-ppm",
        "estimate",
        number("ppm", 1, 100_000),
        Some("500"),
        "The greatest rate difference between two clocks that is accepted.",
    ),
    row(
        Key::BusyPoll,
        "busy-poll-us",
        "process",
        time(Unit::Microseconds, 0, 1_000 * US),
        Some("0"),
        "How long the kernel spins on a socket before it sleeps; 0 leaves the system's value.",
    ),
    row(Key::Cpu, "cpu", "process", number("", 0, 65_535), None, "The CPU that the probing thread is pinned to."),
    row(
        Key::Scheduling,
        "scheduling",
        "process",
        Kind::Choice(&[("normal", &[]), ("fifo", &[])]),
        Some("normal"),
        "How the probing thread is scheduled.",
    ),
    row(
        Key::TestClock,
        "test-clock",
        "process",
        Kind::Text,
        None,
        "Errors added to this node's timestamps on purpose, for tests.",
    ),
    row(
        Key::TestClockShift,
        "test-clock-shift-ns",
        "process",
        number("ns", 0, i64::MAX as u64),
        None,
        "Shift from CLOCK_MONOTONIC_RAW to the host clock, for tests; by default the shift to the time of day.",
    ),
];

impl Key {
    /// The row of this key.
    pub fn setting(self) -> &'static Setting {
        &SETTINGS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::value::parse;

    #[test]
    fn rows_stand_in_the_order_of_keys() {
        for (at, setting) in SETTINGS.iter().enumerate() {
            assert_eq!(setting.key as usize, at, "{}", setting.name);
        }
    }

    #[test]
    fn every_default_is_allowed() {
        for setting in SETTINGS {
            if let Some(default) = setting.default {
                assert!(parse(&setting.kind, default).is_some(), "{} = {default}", setting.name);
            }
        }
    }

    #[test]
    fn no_name_means_two_settings() {
        let mut names = BTreeSet::new();
        let mut variables = BTreeSet::new();
        for setting in SETTINGS {
            assert!(setting.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", setting.name);
            for name in std::iter::once(&setting.name).chain(setting.keys) {
                assert!(names.insert(*name), "{name}");
            }
            let own = setting.variable();
            for variable in std::iter::once(own.as_str()).chain(setting.variables.iter().copied()) {
                assert!(variables.insert(variable.to_owned()), "{variable}");
            }
        }
    }
}
