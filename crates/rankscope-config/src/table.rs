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
    row(Key::Enabled, "enabled", "probe", Kind::Switch, Some("false"), "Whether to synchronise clocks at all.")
        .also(&["XLA_ENABLE_DISTRIBUTED_PROFILING"]),
    row(
        Key::Preset,
        "preset",
        "probe",
        Kind::Choice(PRESETS),
        None,
        "Cadence, window, spacing and snapshot period in one word.",
    ),
    row(
        Key::ProbeCadence,
        "probe-cadence-us",
        "probe",
        time(Unit::Microseconds, 100 * US, 1_000_000 * US),
        Some("800"),
        "From one probe of an edge to the next (recommended: 400 to 2000).",
    )
    .also(&["XLA_PROBE_CADENCE_US"]),
    row(
        Key::ProbeWindow,
        "probe-window-s",
        "probe",
        time(Unit::Seconds, 500 * MS, 60 * S),
        Some("4"),
        "Over how long a line is fitted (recommended: 2 to 10).",
    )
    .also(&["XLA_PROBE_WINDOW_S"]),
    row(
        Key::PacketSpacing,
        "packet-spacing-us",
        "probe",
        time(Unit::Microseconds, 5 * US, 10_000 * US),
        Some("100"),
        "Between the packets of one coded probe (recommended: 50 to 200).",
    )
    .also(&["XLA_PACKET_SPACING_US"]),
    row(
        Key::JitterPercent,
        "jitter-percent",
        "probe",
        number("%", 0, 50),
        Some("10"),
        "How far cadence and spacing vary at random, so that probing falls into step with nothing.",
    ),
    row(Key::TrainLength, "train-length", "probe", number("probes", 1, 1_024), Some("16"), "Probes sent back to back at most."),
    row(
        Key::BudgetBitsPerS,
        "budget-bits-per-s",
        "probe",
        number("bit/s", 10_000, 10_000_000_000),
        None,
        "What one node may send; not set, 110 kbit/s and 37 more for each edge, 1 Mbit/s at most. Trains rest to keep to it.",
    ),
    row(
        Key::SnapshotPeriod,
        "snapshot-period-ms",
        "probe",
        time(Unit::Milliseconds, 10 * MS, 10_000 * MS),
        Some("100"),
        "From one reading of a host's clocks against each other to the next (recommended: 50 to 200).",
    )
    .also(&["XLA_SNAPSHOT_PERIOD_MS", "XLA_ROCM_SNAPSHOT_PERIOD_MS"])
    .spelt(&["snapshot-pair-period-ms"]),
    row(
        Key::ClockSnapshots,
        "clock-snapshots",
        "files",
        Kind::Switch,
        Some("false"),
        "Whether to write those readings to a file.",
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
    row(Key::Edges, "edges", "graph", Kind::Edges, None, "The edges of the explicit topology, as in 0-1,1-2,2-0."),
    row(
        Key::Interfaces,
        "interfaces",
        "network",
        Kind::List,
        None,
        "Network interfaces to use: prefixes, = before an exact name, ^ before all to leave out.",
    )
    .borrowing(&["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"]),
    row(Key::Port, "port", "network", number("", 0, PORT_MAX), Some("0"), "UDP port of the single-port mode; 0 takes any."),
    row(
        Key::PortMode,
        "port-mode",
        "network",
        Kind::Choice(&[("single", &[]), ("per-edge", &[])]),
        Some("single"),
        "One port for all edges of a node, or one for each edge.",
    ),
    row(Key::PortBase, "port-base", "network", number("", 1_024, PORT_MAX), Some("20000"), "First port of the per-edge mode."),
    row(
        Key::ControlPort,
        "control-port",
        "network",
        number("", 0, PORT_MAX),
        Some("36000"),
        "UDP port of control messages, counted up by the node's number; 0 takes any.",
    )
    .spelt(&["master-control-port"]),
    row(
        Key::HandshakeTimeout,
        "handshake-timeout-s",
        "network",
        time(Unit::Seconds, S, 600 * S),
        Some("30"),
        "How long to knock before an edge is reported as failed.",
    ),
    row(
        Key::Rendezvous,
        "rendezvous",
        "job",
        Kind::Rendezvous,
        None,
        "Where nodes find each other: tcp://host:port (served by rank 0), file:///path or etcd://host:port.",
    )
    .also(&["RANKSCOPE_RDZV"]),
    row(Key::Rank, "rank", "job", number("", 0, 1_000_000), None, "This node's number."),
    row(Key::NumNodes, "num-nodes", "job", number("", 1, 1_000_000), None, "How many nodes take part.")
        .also(&["RANKSCOPE_WORLD_SIZE"]),
    row(Key::RunId, "run-id", "job", Kind::Text, None, "What tells this run from another on the same hosts."),
    row(
        Key::SharedKey,
        "key",
        "job",
        Kind::Secret,
        None,
        "Secret that all nodes share; who does not have it is turned away. Best given as a variable: everybody sees command lines.",
    ),
    row(
        Key::KeyFile,
        "key-file",
        "job",
        Kind::Text,
        None,
        "File with that secret in its first line, for its owner alone (mode 600); it is waited for.",
    ),
    row(
        Key::Insecure,
        "insecure",
        "job",
        Kind::Switch,
        Some("false"),
        "Whether nodes on several hosts may go without a key, so that anybody who reaches them can mislead them.",
    ),
    row(
        Key::ReferenceNode,
        "reference-node",
        "estimate",
        number("", 0, 1_000_000),
        Some("0"),
        "Whose clock the others are told in.",
    )
    .spelt(&["master-node-id"]),
    row(
        Key::Estimator,
        "estimator",
        "estimate",
        Kind::Choice(&[("band", &[]), ("robust", &[]), ("svm", &[])]),
        Some("band"),
        "How the line of an edge is found.",
    ),
    row(
        Key::SkewChange,
        "skew-change-ppb-per-s",
        "estimate",
        number("ppb/s", 0, 1_000_000),
        Some("100"),
        "How fast a clock's rate is assumed to change at most; the bounds rest on it.",
    ),
    row(
        Key::SkewMax,
        "skew-max-ppm",
        "estimate",
        number("ppm", 1, 100_000),
        Some("500"),
        "The greatest difference of two clocks' rates that is believed.",
    ),
    row(
        Key::BusyPoll,
        "busy-poll-us",
        "process",
        time(Unit::Microseconds, 0, 1_000 * US),
        Some("0"),
        "How long the kernel spins on a socket before it sleeps; 0 leaves it alone.",
    ),
    row(Key::Cpu, "cpu", "process", number("", 0, 65_535), None, "The processor that the probing thread is pinned to."),
    row(
        Key::Scheduling,
        "scheduling",
        "process",
        Kind::Choice(&[("normal", &[]), ("fifo", &[])]),
        Some("normal"),
        "How the probing thread is scheduled.",
    ),
    row(Key::TestClock, "test-clock", "process", Kind::Text, None, "Errors put into this node's stamps on purpose, for tests."),
    row(
        Key::TestClockShift,
        "test-clock-shift-ns",
        "process",
        number("ns", 0, i64::MAX as u64),
        None,
        "What is added to CLOCK_MONOTONIC_RAW to make the host clock, for tests; not set, what makes it the time of day.",
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
