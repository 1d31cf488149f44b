//! `rankscope agent`: the clock agent of one node, when something else starts the job.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rankscope_clock::NodeId;
use rankscope_config::ClockSettings;
use rankscope_probe::agent::{Agent, Agreement, MeetingOptions, Minutes, PortMode, alone, meet, reopen};
use rankscope_probe::clocks::phc::Phc;
use rankscope_probe::interfaces::{Interface, Preference};
use rankscope_probe::key::SharedKey;
use rankscope_probe::launch::{Launch, launch};
use rankscope_probe::rendezvous::{self, Meeting, Place, StoreServer};

use crate::clock::{key, setup, watch};
use crate::{config, output};

/// Measure this node's clock while a job runs (one agent per node).
///
/// Runs until a signal stops it. The number of this node, the number of nodes and the rendezvous come from flags, settings or the
/// launcher (torchrun, srun, mpirun, a Kubernetes job). Windows are appended to windows-nodeK.jsonl as they close; the leading
/// node also appends the clocks of all nodes to offsets.jsonl.
///
/// Nodes on different hosts need a shared key, in RANKSCOPE_KEY or in the file that the setting key-file names.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of this node, from 0
    #[arg(long, alias = "node-id", alias = "node_id")]
    rank: Option<u32>,
    /// Number of nodes
    #[arg(long, alias = "num_nodes")]
    num_nodes: Option<u32>,
    /// Rendezvous of the nodes: tcp://HOST:PORT (node 0 hosts it), file:///SHARED/FOLDER or etcd://HOST:PORT
    #[arg(long, value_name = "PLACE")]
    rendezvous: Option<String>,
    /// Folder for windows and offsets
    #[arg(long, short, value_name = "DIR")]
    out: Option<String>,
    /// Stop after this many seconds
    #[arg(long, alias = "duration_sec", value_name = "SECONDS")]
    duration_sec: Option<u64>,
    /// Run without a key even though other hosts can reach this node
    #[arg(long)]
    insecure: bool,
    /// Leave minutes-nodeK.json behind also after a clean end: whoever started this agent removes it
    #[arg(long, hide = true)]
    keep_minutes: bool,
    #[command(flatten)]
    from: config::From,
}

/// Nodes may start minutes apart; the origin waits two.
const MEET_WITHIN: Duration = Duration::from_secs(120);

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let flags = [
        ("rank", args.rank.map(|rank| rank.to_string())),
        ("num-nodes", args.num_nodes.map(|nodes| nodes.to_string())),
        ("output-dir", args.out),
        ("insecure", args.insecure.then(|| "true".to_owned())),
    ];
    let settings = setup::settings(args.from, flags)?;
    let who = identity(&settings, args.rendezvous.as_deref())?;
    if who.local_rank != 0 {
        output::remark("one agent per node is enough: the one of local rank 0 runs, this one exits");
        return Ok(ExitCode::SUCCESS);
    }
    let Met { agreement, card, server, minutes } = if who.num_nodes == 1 { Met::nobody()? } else { Met::all(&settings, &who)? };
    // Until here there is nothing to bring to disk: a signal ends this process at once, as it does any other.
    let stop = watch::stop_signals()?;
    let session = setup::session(&settings, who.node, &agreement.minutes);
    let mut options = setup::agent(&settings, &stop)?;
    options.run_id = Some(who.run_id.clone());
    options.card = card;
    output::remark(&format!(
        "node {} of {}: {} outgoing and {} incoming edges; windows of {:.1} s",
        who.node,
        who.num_nodes,
        agreement.minutes.edges.out.len(),
        agreement.minutes.edges.back.len(),
        settings.probe_window.as_secs_f64()
    ));
    let agent = Agent::start(session, agreement.endpoints, options)?;
    watch::until_stopped(agent, &stop, args.duration_sec.map(Duration::from_secs), watch::Tell::Lines)?;
    if let Some(said) = server.as_ref().and_then(turned_away) {
        output::remark(&said);
    }
    if let Some(minutes) = minutes.filter(|_| !args.keep_minutes) {
        // Who ends on purpose does not come again, and a secret is not left lying.
        let _gone = std::fs::remove_file(minutes);
    }
    Ok(ExitCode::SUCCESS)
}

/// What a node knows after it has met the others.
struct Met {
    agreement: Agreement,
    card: Option<Phc>,
    /// The store, where this node hosts it.
    server: Option<StoreServer>,
    /// Where the agreement is kept.
    minutes: Option<PathBuf>,
}

impl Met {
    /// The one node of a job listens nowhere.
    fn nobody() -> Result<Self> {
        Ok(Self { agreement: alone()?, card: None, server: None, minutes: None })
    }

    /// Meets the others, or goes on with what they agreed on when it met them before.
    fn all(settings: &ClockSettings, who: &Launch) -> Result<Self> {
        let place = who.place.clone();
        let place = place.context("no rendezvous is known: give --rendezvous tcp://HOST:PORT, with the host of node 0")?;
        let key = key::given(settings, MEET_WITHIN)?;
        let open = place.is_open_to_others().then(|| place.to_string());
        key::demand(settings, key.as_ref(), open.as_deref())?;
        let (options, card) = meeting(settings, who, &place, key.clone())?;
        let path = Path::new(&settings.output_dir).join(minutes_name(who.node.0));
        let resumable = resumable(settings, who);
        let kept = Minutes::kept(&path, &run_key(who), who.node).filter(|_| resumable);
        let (agreement, server) = match kept {
            Some(minutes) => {
                output::remark("this node already joined this run; it continues with the ports and edges agreed then");
                (reopen(minutes, &options)?, None)
            }
            None => meet_at(&place, &options, store_options(who, key))?,
        };
        let mut minutes = None;
        if resumable && settings.probe_export {
            let folder = std::fs::create_dir_all(&settings.output_dir);
            match folder.and_then(|()| agreement.minutes.keep(&path, &run_key(who), who.node)) {
                Ok(()) => minutes = Some(path),
                Err(error) => {
                    output::remark(&format!("{}: {error}; if this agent is killed, it cannot rejoin", path.display()));
                }
            }
        }
        Ok(Self { agreement, card, server, minutes })
    }
}

fn meet_at(
    place: &Place,
    options: &MeetingOptions,
    store: rendezvous::MeetingOptions,
) -> Result<(Agreement, Option<StoreServer>)> {
    let Meeting { mut store, server } = Meeting::at(place, store)?;
    if let Some(server) = server.as_ref().filter(|server| server.address().ip().is_unspecified()) {
        output::remark(&format!("{place} is not an address of this host, so node 0 listens at {} instead", server.address()));
    }
    let met = meet(store.as_mut(), options).with_context(|| {
        let strangers = server.as_ref().and_then(turned_away);
        strangers.map_or_else(
            || "the rendezvous of the nodes failed".to_owned(),
            |said| format!("the rendezvous of the nodes failed ({said})"),
        )
    })?;
    Ok((met, server))
}

/// Whom the store that node 0 hosts did not let in.
fn turned_away(server: &StoreServer) -> Option<String> {
    let refused = server.refusals();
    let said: Vec<String> = refused.iter().map(|(refusal, count)| format!("{count} {refusal}")).collect();
    (!said.is_empty()).then(|| format!("connections that the store of node 0 closed: {}", said.join(", ")))
}

/// Where the agent of `node` keeps what the nodes agreed on, with their secret.
pub(crate) fn minutes_name(node: u32) -> String {
    format!("{MINUTES}{node}.json")
}

/// What such names begin with.
pub(crate) const MINUTES: &str = "minutes-node";

/// Who this node is: settings first, then what the launcher left. `place` is the flag, which takes every way to write a place.
fn identity(settings: &ClockSettings, place: Option<&str>) -> Result<Launch> {
    let launched = launch(|name| std::env::var(name).ok());
    let mut who = match (settings.rank, settings.num_nodes, launched) {
        (Some(node), Some(num_nodes), launched) => {
            let (place, run_id, restart) =
                launched.map_or((None, "default".to_owned(), 0), |it| (it.place, it.run_id, it.restart));
            let source = rankscope_probe::launch::Source::Explicit;
            Launch { node: NodeId(node), num_nodes, local_rank: 0, place, run_id, restart, source }
        }
        (rank, num_nodes, Ok(launched)) => {
            Launch { node: rank.map_or(launched.node, NodeId), num_nodes: num_nodes.unwrap_or(launched.num_nodes), ..launched }
        }
        (_, _, Err(error)) => {
            return Err(anyhow!(error).context(
                "the number of this node is not known: give --rank and --num-nodes, or start the agent with a launcher",
            ));
        }
    };
    if who.node.0 >= who.num_nodes {
        bail!("node {} of {}: nodes are numbered from 0", who.node, who.num_nodes);
    }
    if let Some(text) = place.or(settings.rendezvous.as_deref()) {
        who.place = Some(text.parse().with_context(|| format!("rendezvous {text}"))?);
    }
    if let Some(run_id) = &settings.run_id {
        who.run_id = run_id.clone();
    }
    Ok(who)
}

/// Whether minutes can be told from those of another run: only where somebody named the run.
fn resumable(settings: &ClockSettings, who: &Launch) -> bool {
    settings.run_id.is_some() || who.run_id != "default"
}

fn run_key(who: &Launch) -> String {
    format!("{}/{}", who.run_id, who.restart)
}

fn meeting(
    settings: &ClockSettings,
    who: &Launch,
    place: &Place,
    secret: Option<SharedKey>,
) -> Result<(MeetingOptions, Option<Phc>)> {
    let toward = match place {
        Place::Tcp { host, port } => (host.as_str(), *port).to_socket_addrs().ok().and_then(|mut found| found.next()),
        _ => None,
    };
    let (ip, interface) = own_address(settings, toward)?;
    let (stamping, card) = setup::stamping(&interface);
    let options = MeetingOptions {
        node: who.node,
        num_nodes: who.num_nodes,
        ip,
        ports: setup::ports(settings),
        topology: setup::topology(settings),
        seed: setup::GRAPH_SEED,
        secret,
        socket: setup::sockets(settings, stamping),
        timeout: MEET_WITHIN,
    };
    if let PortMode::PerEdge { blocks, .. } = options.ports
        && who.num_nodes > u32::from((u16::MAX - blocks.base) / blocks.per_node)
    {
        bail!(
            "{} nodes with {} ports each do not fit above port {}; set port-mode=single",
            who.num_nodes,
            blocks.per_node,
            blocks.base
        );
    }
    Ok((options, card))
}

fn own_address(settings: &ClockSettings, toward: Option<SocketAddr>) -> Result<(IpAddr, String)> {
    let look_up = |name: &str| match name {
        // The setting already took in the variables of NCCL and Gloo.
        "RANKSCOPE_SOCKET_IFNAME" if !settings.interfaces.is_empty() => Some(settings.interfaces.clone()),
        _ => std::env::var(name).ok(),
    };
    let interfaces = Interface::all().context("failed to list network interfaces")?;
    let (interface, ip) = Preference::of(look_up, toward).choose(&interfaces)?;
    Ok((ip, interface.name.clone()))
}

fn store_options(who: &Launch, key: Option<SharedKey>) -> rendezvous::MeetingOptions {
    rendezvous::MeetingOptions {
        run_id: who.run_id.clone(),
        restart: who.restart,
        key,
        patience: MEET_WITHIN,
        host: who.node == NodeId(0),
    }
}
