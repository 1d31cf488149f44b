//! `rankscope clock standalone`: two or more nodes measure each other's clocks, without a job and without a rendezvous.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rankscope_clock::graph::{PortPlan, Topology, keys};
use rankscope_clock::nodes::Solution;
use rankscope_clock::{Edge, EdgeFit, EdgeRecord, NodeId};
use rankscope_config::ClockSettings;
use rankscope_probe::agent::{Agent, Event, MeetingOptions, Minutes, PortMode, reopen};
use rankscope_probe::key::SharedKey;
use rankscope_probe::stamps::Stamping;
use rankscope_report::columns;
use serde_json::{Value, json};

use super::{key, setup, watch};
use crate::config;
use crate::output::{self, Format};

/// Measure the clocks of two or more nodes against each other, started by hand on each of them with the same addresses.
///
/// In two terminals:
///   rankscope clock standalone --rank 0 --num-nodes 2 --addresses 127.0.0.1:9000,127.0.0.1:9001
///   rankscope clock standalone --rank 1 --num-nodes 2 --addresses 127.0.0.1:9000,127.0.0.1:9001
///
/// Nodes on different hosts need a shared key, in RANKSCOPE_KEY or in the file that the setting key-file names.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Number of this node, from 0
    #[arg(long)]
    rank: u32,
    /// Number of nodes [default: as many as addresses]
    #[arg(long, alias = "num_nodes")]
    num_nodes: Option<u32>,
    /// HOST:PORT of every node, in order
    #[arg(long, value_delimiter = ',', required = true)]
    addresses: Vec<String>,
    /// How long to measure
    #[arg(long, alias = "duration_sec", value_name = "SECONDS", default_value_t = 10)]
    duration_sec: u64,
    /// Who probes whom: random, ring, directed, loop, or edges such as 0-1,1-2,2-0
    #[arg(long, default_value = "random")]
    topology: String,
    /// Microseconds from one exchange to the next
    #[arg(long, alias = "probe_cadence_us", value_name = "MICROSECONDS")]
    probe_cadence_us: Option<u32>,
    /// Seconds of a window [default: as the settings say, but four windows at least fit the duration]
    #[arg(long, alias = "probe_window_s", value_name = "SECONDS")]
    probe_window_s: Option<f64>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Folder for windows and offsets; without it nothing is written
    #[arg(long, short, value_name = "DIR")]
    out: Option<String>,
    /// Run without a key even though not all addresses are on this host
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    from: config::From,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let nodes = args.addresses.len() as u32;
    if args.num_nodes.is_some_and(|num_nodes| num_nodes != nodes) {
        bail!("--num-nodes is {}, but --addresses lists {nodes}", args.num_nodes.unwrap_or_default());
    }
    if args.rank >= nodes || nodes < 2 {
        bail!("node {} of {nodes}: give at least two addresses, and a rank from 0 to one less than their number", args.rank);
    }
    let window_s = args.probe_window_s.or_else(|| (args.duration_sec < 16).then(|| (args.duration_sec as f64 / 4.0).max(0.5)));
    let probe_export = args.out.is_some();
    let flags = [
        ("probe-cadence-us", args.probe_cadence_us.map(|us| us.to_string())),
        ("probe-window-s", window_s.map(|seconds| seconds.to_string())),
        ("output-dir", args.out),
        ("insecure", args.insecure.then(|| "true".to_owned())),
    ];
    let settings = ClockSettings { probe_export, ..setup::settings(args.from, flags)? };
    let stop = watch::stop_signals()?;
    let node = NodeId(args.rank);
    let addresses = args.addresses.iter().map(|text| resolve(text)).collect::<Result<Vec<_>>>()?;
    if let Some((at, address)) = addresses.iter().enumerate().find(|(at, address)| addresses[..*at].contains(address)) {
        bail!("--addresses lists {address} twice, the second time for node {at}: every node needs a port of its own");
    }
    let key = key::given(&settings, Duration::ZERO)?;
    let open = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback()).map(ToString::to_string);
    key::demand(&settings, key.as_ref(), open.as_deref())?;
    let minutes = minutes(&args.addresses, addresses, node, &args.topology, key)?;
    let options = MeetingOptions {
        node,
        num_nodes: nodes,
        ip: minutes.addresses[args.rank as usize].ip(),
        ports: PortMode::Single(0),
        topology: Topology::default(),
        seed: setup::GRAPH_SEED,
        secret: None,
        socket: setup::sockets(&settings, Stamping::Kernel),
        timeout: Duration::ZERO,
    };
    let session = setup::session(&settings, node, &minutes);
    let agreement = reopen(minutes, &options)?;
    let agent = Agent::start(session, agreement.endpoints, setup::agent(&settings, &stop)?)?;
    let table = args.format == Format::Table;
    let tell = if table { watch::Tell::Lines } else { watch::Tell::Nothing };
    if table {
        output::remark(&format!(
            "node {node} of {nodes} on {}: measuring for {} s",
            args.addresses[args.rank as usize], args.duration_sec
        ));
    }
    let (summary, told) = watch::until_stopped(agent, &stop, Some(Duration::from_secs(args.duration_sec)), tell)?;
    let outcome = Outcome::of(&told);
    output::answer(&if table { outcome.drawn() } else { outcome.json(&summary).to_string() })?;
    if outcome.edges.is_empty() && outcome.solution.is_none() && outcome.own.is_none() {
        bail!(
            "nothing was measured: no other node answered. Are all {nodes} running, with the same addresses, and does a firewall block UDP?"
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn resolve(text: &str) -> Result<SocketAddr> {
    let found =
        text.to_socket_addrs().with_context(|| format!("--addresses {text}: not HOST:PORT, or the host cannot be resolved"))?;
    found.into_iter().next().with_context(|| format!("--addresses {text}: this host has no address"))
}

/// What a meeting would have come to, from what all nodes were told alike.
fn minutes(
    texts: &[String],
    addresses: Vec<SocketAddr>,
    node: NodeId,
    topology: &str,
    key: Option<SharedKey>,
) -> Result<Minutes> {
    let graph = topology.parse::<Topology>()?.graph(addresses.len() as u32, setup::GRAPH_SEED)?;
    let plan = PortPlan::single(&graph, |node| addresses[node.0 as usize].port());
    let published: BTreeMap<String, String> = keys::publish(&graph, &plan).into_iter().collect();
    let edges = keys::read(node, |key| published.get(key).cloned())?;
    // Without a key packets are only told from those of other runs.
    let secret = key.or_else(|| SharedKey::new(texts.join(","))).context("--addresses lists none")?;
    // Whoever has the same addresses is in the same run; a number is all that is needed, so a plain sum of powers will do.
    let run = texts.join(",").bytes().fold(0u64, |run, byte| run.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte)));
    Ok(Minutes { run, secret, addresses, edges, per_edge: false })
}

/// What was learnt, as far as this node was told.
struct Outcome<'a> {
    /// The last line of every edge that begins here, and how many windows it had.
    edges: BTreeMap<Edge, (&'a EdgeFit, &'a EdgeRecord, usize)>,
    /// Of this node.
    own: Option<&'a rankscope_clock::nodes::NodeEstimate>,
    /// Of all nodes, where this one led.
    solution: Option<&'a Solution>,
}

impl<'a> Outcome<'a> {
    fn of(told: &'a [Event]) -> Self {
        let mut outcome = Self { edges: BTreeMap::new(), own: None, solution: None };
        for event in told {
            match event {
                Event::Window(window) => {
                    for record in &window.edges {
                        if let Some(fit) = record.fits.iter().flatten().last() {
                            let windows = outcome.edges.get(&record.edge).map_or(0, |(.., windows)| *windows);
                            outcome.edges.insert(record.edge, (fit, record, windows + 1));
                        }
                    }
                }
                Event::Clock { estimate, .. } => outcome.own = Some(estimate),
                Event::Solved { solution, .. } if !solution.nodes.is_empty() => outcome.solution = Some(solution),
                _ => {}
            }
        }
        outcome
    }

    fn nodes(&self) -> Vec<&rankscope_clock::nodes::NodeEstimate> {
        self.solution.map_or_else(|| self.own.into_iter().collect(), |solution| solution.nodes.iter().collect())
    }

    fn json(&self, summary: &rankscope_probe::agent::Summary) -> Value {
        let edges = self.edges.iter().map(|(edge, (fit, record, windows))| {
            json!({
                "src": edge.src.0, "dst": edge.dst.0, "windows": windows,
                "offset_ns": fit.offset.as_nanos(), "at_ns": fit.mid.nanos_since_epoch(), "skew_ppb": fit.skew_ppb,
                "bound_lo_ns": fit.bound.lo.as_nanos(), "bound_hi_ns": fit.bound.hi.as_nanos(),
                "rtt_min_ns": fit.rtt_min.as_nanos(), "pairs": record.counts.complete,
                "lost": record.counts.lost_forward + record.counts.lost_reverse, "degraded": fit.degraded,
            })
        });
        let nodes = self.nodes().into_iter().map(|node| {
            json!({
                "node": node.node.0, "offset_ns": node.offset.as_nanos(), "at_ns": node.at.nanos_since_epoch(),
                "skew_ppb": node.skew_ppb, "bound_lo_ns": node.bound.lo.as_nanos(), "bound_hi_ns": node.bound.hi.as_nanos(),
                "degraded": node.degraded,
            })
        });
        json!({
            "edges": edges.collect::<Vec<_>>(), "nodes": nodes.collect::<Vec<_>>(),
            "windows": summary.session.windows, "rounds": summary.session.rounds_solved,
            "packets_sent": summary.sent_packets, "packets_received": summary.received_packets,
        })
    }

    fn drawn(&self) -> String {
        let style = output::style();
        let edges = self.edges.iter().map(|(edge, (fit, record, windows))| {
            vec![
                edge.to_string(),
                windows.to_string(),
                fit.offset.as_nanos().to_string(),
                format!("{:+.1}", fit.skew_ppb),
                format!("{:+} .. {:+}", (fit.bound.lo - fit.offset).as_nanos(), (fit.bound.hi - fit.offset).as_nanos()),
                fit.rtt_min.as_nanos().to_string(),
                record.counts.complete.to_string(),
                (record.counts.lost_forward + record.counts.lost_reverse).to_string(),
            ]
        });
        let mut text = String::new();
        if !self.edges.is_empty() {
            let head = ["edge", "windows", "offset ns", "skew ppb", "guaranteed", "rtt ns", "pairs", "lost"];
            text += &columns(&head, edges.collect(), style);
        }
        for node in self.nodes() {
            text += &format!("{}\n", watch::position(node));
        }
        text
    }
}
