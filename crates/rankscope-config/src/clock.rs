//! The settings of the clock agent, typed.

use std::time::Duration;

use crate::{Key, Secret, Settings, Value};

/// What the clock agent does.
#[derive(Clone, Debug)]
pub struct ClockSettings {
    /// Whether to synchronise clocks.
    pub enabled: bool,
    /// From one probe of an edge to the next.
    pub probe_cadence: Duration,
    /// Over how long a line is fitted.
    pub probe_window: Duration,
    /// Between the packets of one coded probe.
    pub packet_spacing: Duration,
    /// How far cadence and spacing vary at random.
    pub jitter_percent: u32,
    /// Most probes sent back to back.
    pub train_length: u32,
    /// What one node may send; none follows from its edges.
    pub budget_bits_per_s: Option<u64>,
    /// From one reading of the host's clocks against each other to the next.
    pub snapshot_period: Duration,
    /// Whether to write those readings.
    pub clock_snapshots: bool,
    /// Where files go.
    pub output_dir: String,
    /// Whether to write windows.
    pub probe_export: bool,
    /// Which nodes probe which.
    pub topology: Topology,
    /// Interfaces, in the syntax of `NCCL_SOCKET_IFNAME`; empty for any.
    pub interfaces: String,
    /// UDP port of the single-port mode; 0 takes any.
    pub port: u16,
    /// One port, or one for each edge.
    pub port_mode: PortMode,
    /// First port of the per-edge mode.
    pub port_base: u16,
    /// UDP port of node 0's control messages; 0 takes any.
    pub control_port: u16,
    /// How long to try to connect before an edge is reported as failed, and tried over TCP.
    pub handshake_timeout: Duration,
    /// What carries packets.
    pub transport: Transport,
    /// Where nodes find each other, as written.
    pub rendezvous: Option<String>,
    /// This node.
    pub rank: Option<u32>,
    /// Number of nodes.
    pub num_nodes: Option<u32>,
    /// What tells this run from another.
    pub run_id: Option<String>,
    /// Secret that all nodes share.
    pub key: Option<Secret>,
    /// The file it is in.
    pub key_file: Option<String>,
    /// Whether nodes on several hosts may go without.
    pub insecure: bool,
    /// The node in whose clock the others are expressed.
    pub reference_node: u32,
    /// How the line of an edge is fitted.
    pub estimator: Estimator,
    /// How fast a clock's rate is assumed to change at most.
    pub skew_change_ppb_per_s: u32,
    /// The greatest rate difference between two clocks that is accepted.
    pub skew_max_ppm: u32,
    /// How long the kernel spins on a socket.
    pub busy_poll: Duration,
    /// The CPU that the probing thread is pinned to.
    pub cpu: Option<u16>,
    /// How the probing thread is scheduled.
    pub scheduling: Scheduling,
    /// Errors put into this node's stamps on purpose.
    pub test_clock: Option<String>,
    /// What is added to `CLOCK_MONOTONIC_RAW` to make the host clock; none makes it the time of day.
    pub test_clock_shift_ns: Option<i64>,
}

/// Which nodes probe which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A random graph, well connected.
    Random,
    /// Each node its successor, and the last the first.
    Ring,
    /// Node 0 all others.
    Directed,
    /// Node 0 node 1, which probes all others, which probe node 0.
    Loop,
    /// These.
    Explicit(Vec<(u32, u32)>),
}

/// How edges share ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortMode {
    /// One port for all edges of a node.
    Single,
    /// One port for each edge.
    PerEdge,
}

/// What carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP, and TCP where that is not answered.
    Auto,
    /// UDP alone.
    Udp,
    /// TCP alone.
    Tcp,
}

/// How the line of an edge is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// The exact band.
    Band,
    /// Low quantiles instead of extremes.
    Robust,
    /// The soft-margin support vector machine.
    Svm,
}

/// How the probing thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// As any other.
    Normal,
    /// In real time, first in first out.
    Fifo,
}

impl ClockSettings {
    /// The typed form of `settings`.
    pub fn of(settings: &Settings) -> Self {
        Self {
            enabled: switch(settings, Key::Enabled),
            probe_cadence: duration(settings, Key::ProbeCadence),
            probe_window: duration(settings, Key::ProbeWindow),
            packet_spacing: duration(settings, Key::PacketSpacing),
            jitter_percent: required(settings, Key::JitterPercent),
            train_length: required(settings, Key::TrainLength),
            budget_bits_per_s: integer(settings, Key::BudgetBitsPerS),
            snapshot_period: duration(settings, Key::SnapshotPeriod),
            clock_snapshots: switch(settings, Key::ClockSnapshots),
            output_dir: text(settings, Key::OutputDir).unwrap_or_default(),
            probe_export: switch(settings, Key::ProbeExport),
            topology: topology(settings),
            interfaces: list(settings, Key::Interfaces),
            port: required(settings, Key::Port),
            port_mode: if chosen(settings, Key::PortMode) == "per-edge" { PortMode::PerEdge } else { PortMode::Single },
            port_base: required(settings, Key::PortBase),
            control_port: required(settings, Key::ControlPort),
            handshake_timeout: duration(settings, Key::HandshakeTimeout),
            transport: match chosen(settings, Key::Transport) {
                "udp" => Transport::Udp,
                "tcp" => Transport::Tcp,
                _ => Transport::Auto,
            },
            rendezvous: text(settings, Key::Rendezvous),
            rank: integer(settings, Key::Rank),
            num_nodes: integer(settings, Key::NumNodes),
            run_id: text(settings, Key::RunId),
            key: secret(settings, Key::SharedKey),
            key_file: text(settings, Key::KeyFile),
            insecure: switch(settings, Key::Insecure),
            reference_node: required(settings, Key::ReferenceNode),
            estimator: match chosen(settings, Key::Estimator) {
                "robust" => Estimator::Robust,
                "svm" => Estimator::Svm,
                _ => Estimator::Band,
            },
            skew_change_ppb_per_s: required(settings, Key::SkewChange),
            skew_max_ppm: required(settings, Key::SkewMax),
            busy_poll: duration(settings, Key::BusyPoll),
            cpu: integer(settings, Key::Cpu),
            scheduling: if chosen(settings, Key::Scheduling) == "fifo" { Scheduling::Fifo } else { Scheduling::Normal },
            test_clock: text(settings, Key::TestClock),
            test_clock_shift_ns: integer(settings, Key::TestClockShift),
        }
    }
}

/// What is right one by one and wrong together.
pub(crate) fn contradictions(settings: &Settings) -> Vec<String> {
    let clock = ClockSettings::of(settings);
    let said = |key: Key| format!("{} ({})", key.setting().name, settings.of(key).origin);
    let mut found = Vec::new();
    // A probe and its answer are six packets; the next probe may not start among them.
    if clock.packet_spacing * 2 > clock.probe_cadence {
        let (spacing, cadence) = (said(Key::PacketSpacing), said(Key::ProbeCadence));
        found.push(format!("{spacing} must be at most half of {cadence}"));
    }
    if matches!(&clock.topology, Topology::Explicit(edges) if edges.is_empty()) {
        found.push(format!("{} is explicit, which also needs edges", said(Key::Topology)));
    }
    if let (Some(rank), Some(nodes)) = (clock.rank, clock.num_nodes)
        && rank >= nodes
    {
        found.push(format!(
            "{} is {rank}, but {} is {nodes} and ranks are numbered from 0",
            said(Key::Rank),
            said(Key::NumNodes)
        ));
    }
    if clock.key.is_some() && clock.key_file.is_some() {
        found.push(format!("{} and {} are both set; the first is used", said(Key::SharedKey), said(Key::KeyFile)));
    }
    found
}

const TYPED: &str = "the table gives this setting a default of this kind, and sources only change it to the same kind";

fn switch(settings: &Settings, key: Key) -> bool {
    match settings.of(key).value {
        Some(Value::Switch(on)) => on,
        _ => unreachable!("{TYPED}"),
    }
}

fn duration(settings: &Settings, key: Key) -> Duration {
    match settings.of(key).value {
        Some(Value::Duration(ns)) => Duration::from_nanos(ns),
        _ => unreachable!("{TYPED}"),
    }
}

fn chosen(settings: &Settings, key: Key) -> &'static str {
    match settings.of(key).value {
        Some(Value::Choice(word)) => word,
        _ => unreachable!("{TYPED}"),
    }
}

/// The table's range is within that of `T`.
fn integer<T: TryFrom<u64>>(settings: &Settings, key: Key) -> Option<T> {
    match settings.of(key).value {
        Some(Value::Integer(value)) => T::try_from(value).ok(),
        _ => None,
    }
}

fn required<T: TryFrom<u64>>(settings: &Settings, key: Key) -> T {
    integer(settings, key).expect(TYPED)
}

fn text(settings: &Settings, key: Key) -> Option<String> {
    match &settings.of(key).value {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn secret(settings: &Settings, key: Key) -> Option<Secret> {
    match &settings.of(key).value {
        Some(Value::Secret(secret)) => Some(secret.clone()),
        _ => None,
    }
}

fn list(settings: &Settings, key: Key) -> String {
    settings.of(key).value.as_ref().map(Value::to_string).unwrap_or_default()
}

fn topology(settings: &Settings) -> Topology {
    match chosen(settings, Key::Topology) {
        "ring" => Topology::Ring,
        "directed" => Topology::Directed,
        "loop" => Topology::Loop,
        "explicit" => Topology::Explicit(match &settings.of(Key::Edges).value {
            Some(Value::Edges(edges)) => edges.clone(),
            _ => Vec::new(),
        }),
        _ => Topology::Random,
    }
}
