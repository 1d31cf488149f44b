//! `rankscope clock standalone`: two or more nodes measure each other's clocks, without a job and without a rendezvous. Its
//! arguments, and what it prints.

use std::time::Duration;

use anyhow::{Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_cli::settings::{SettingsArgs, clock_settings};
use rankscope_clock::Transport;
use rankscope_config::ClockSettings;
use rankscope_launch::Error;
use rankscope_launch::agent::{Measured, Neighbours, Progress, standalone};
use rankscope_report::columns;
use serde_json::{Value, json};

use super::words;

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
    from: SettingsArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let num_nodes = args.addresses.len() as u32;
    if args.num_nodes.is_some_and(|given| given != num_nodes) {
        bail!("--num-nodes is {}, but --addresses lists {num_nodes}", args.num_nodes.unwrap_or_default());
    }
    let duration = Duration::from_secs(args.duration_sec);
    let neighbours = Neighbours { rank: args.rank, addresses: args.addresses, topology: args.topology, duration }.checked()?;
    let window_s = args.probe_window_s.or_else(|| (args.duration_sec < 16).then(|| (args.duration_sec as f64 / 4.0).max(0.5)));
    let probe_export = args.out.is_some();
    let flags = [
        ("probe-cadence-us", args.probe_cadence_us.map(|us| us.to_string())),
        ("probe-window-s", window_s.map(|seconds| seconds.to_string())),
        ("output-dir", args.out),
        ("insecure", args.insecure.then(|| "true".to_owned())),
    ];
    let settings = ClockSettings { probe_export, ..clock_settings(args.from, flags)? };
    let table = args.format == Format::Table;
    let measured = standalone(&settings, &neighbours, &mut |progress| match line(&progress, &neighbours) {
        Some(line) if table => output::remark(&line),
        _ => {}
    })?;
    output::answer(&if table { drawn(&measured) } else { document(&measured).to_string() })?;
    if measured.is_nothing() {
        return Err(Error::NothingMeasured { num_nodes }.into());
    }
    Ok(ExitCode::SUCCESS)
}

fn line(progress: &Progress<'_>, neighbours: &Neighbours) -> Option<String> {
    match progress {
        Progress::Measuring { node, num_nodes, .. } => Some(format!(
            "node {node} of {num_nodes} on {}: measuring for {} s",
            neighbours.addresses[neighbours.rank as usize],
            neighbours.duration.as_secs()
        )),
        other => words::line(other),
    }
}

fn document(measured: &Measured) -> Value {
    let edges = measured.edges.iter().map(|(edge, of)| {
        let (fit, counts) = (&of.fit, &of.record.counts);
        json!({
            "src": edge.src.0, "dst": edge.dst.0, "windows": of.windows,
            "offset_ns": fit.offset.as_nanos(), "at_ns": fit.mid.nanos_since_epoch(), "skew_ppb": fit.skew_ppb,
            "bound_lo_ns": fit.bound.lo.as_nanos(), "bound_hi_ns": fit.bound.hi.as_nanos(),
            "rtt_min_ns": fit.rtt_min.as_nanos(), "pairs": counts.complete,
            "lost": counts.lost_forward + counts.lost_reverse, "degraded": fit.degraded,
            "transport": of.record.transport.to_string().to_lowercase(),
        })
    });
    let nodes = measured.nodes().into_iter().map(|node| {
        json!({
            "node": node.node.0, "offset_ns": node.offset.as_nanos(), "at_ns": node.at.nanos_since_epoch(),
            "skew_ppb": node.skew_ppb, "bound_lo_ns": node.bound.lo.as_nanos(), "bound_hi_ns": node.bound.hi.as_nanos(),
            "degraded": node.degraded,
        })
    });
    let summary = &measured.summary;
    json!({
        "edges": edges.collect::<Vec<_>>(), "nodes": nodes.collect::<Vec<_>>(),
        "windows": summary.session.windows, "rounds": summary.session.rounds_solved,
        "packets_sent": summary.sent_packets, "packets_received": summary.received_packets,
    })
}

fn drawn(measured: &Measured) -> String {
    let edges = measured.edges.iter().map(|(edge, of)| {
        let (fit, counts) = (&of.fit, &of.record.counts);
        let over = if of.record.transport == Transport::Tcp { " (TCP)" } else { "" };
        vec![
            format!("{edge}{over}"),
            of.windows.to_string(),
            fit.offset.as_nanos().to_string(),
            format!("{:+.1}", fit.skew_ppb),
            format!("{:+} .. {:+}", (fit.bound.lo - fit.offset).as_nanos(), (fit.bound.hi - fit.offset).as_nanos()),
            fit.rtt_min.as_nanos().to_string(),
            counts.complete.to_string(),
            (counts.lost_forward + counts.lost_reverse).to_string(),
        ]
    });
    let mut text = String::new();
    if !measured.edges.is_empty() {
        let head = ["edge", "windows", "offset ns", "skew ppb", "guaranteed", "rtt ns", "pairs", "lost"];
        text += &columns(&head, edges.collect(), output::style());
    }
    for node in measured.nodes() {
        text += &format!("{}\n", words::position(node));
    }
    text
}
