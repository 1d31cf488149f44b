//! Why a run or an agent cannot go on. Whoever uses it wrongly is told what to write instead; whatever the system refuses is named
//! with what it was asked for.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use nix::errno::Errno;
use rankscope_clock::NodeId;
use rankscope_clock::graph::TopologyError;
use rankscope_clock::graph::keys::KeyError;
use rankscope_clock::simulate::ClockTextError;
use rankscope_probe::agent::{MeetError, StartError};
use rankscope_probe::interfaces::AddressError;
use rankscope_probe::launch::LaunchError;
use rankscope_probe::rendezvous::{PlaceError, StoreError};

use crate::agent::TurnedAway;

/// Something that a run or an agent cannot do without is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Ranks were asked for of a command that starts its own.
    #[error("{program} starts its own processes; leave out -n, or leave out {program}")]
    StartsItsOwn {
        /// The launcher, as it was called.
        program: String,
    },
    /// The folder in which runs begin was given as a run.
    #[error("{path}: this is the folder of all runs, not a run directory; give a directory in it", path = .path.display())]
    FolderOfRuns {
        /// That folder.
        path: PathBuf,
    },
    /// The file system refuses something.
    #[error("{path}: {reason}", path = .path.display())]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        #[source]
        reason: io::Error,
    },
    /// The system does not say which program this is.
    #[error("rankscope cannot find its own executable: {0}")]
    NoExecutable(#[source] io::Error),
    /// A process of ours cannot be started.
    #[error("its process does not start: {0}")]
    NoProcess(#[source] io::Error),
    /// Whoever judges a job that stands still says nothing.
    #[error("no verdict; {} says why", log.display())]
    NoVerdict {
        /// What it said.
        log: PathBuf,
    },
    /// A stream of such a process cannot be made.
    #[error("{0}")]
    Stream(#[source] io::Error),
    /// A command cannot be executed.
    #[error("{program}: {reason}")]
    Execute {
        /// The command's first word.
        program: String,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// Signals cannot be received.
    #[error("failed to listen for signals: {0}")]
    Signals(#[source] io::Error),
    /// A process cannot be made to end with the one that started it.
    #[error("failed to tie an agent to its run: {0}")]
    Tie(#[source] Errno),
    /// The run directory cannot be made or kept.
    #[error(transparent)]
    Run(#[from] rankscope_run::Error),
    /// The process that makes the report failed, or the report cannot be read.
    #[error("{0}")]
    Report(String),
    /// Agents of several nodes would be without a key.
    #[error("no key could be made for the agents: {0}")]
    NoAgentKey(#[source] Box<Error>),
    /// There are no random numbers for a key.
    #[error("{0}")]
    Random(#[source] io::Error),
    /// The file that was named as the key's is not for this user alone, or cannot be read.
    #[error("the key in {path}: {reason}", path = .path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        reason: io::Error,
    },
    /// Nobody wrote the key in time.
    #[error(
        "no key in {path} after {seconds} s. Node 0 writes it: check that all nodes see the same folder, or give them the same key in \
         RANKSCOPE_KEY",
        path = .path.display()
    )]
    NoKeyInTime {
        /// The file that was waited for.
        path: PathBuf,
        /// For how long.
        seconds: u64,
    },
    /// Strangers could join, and nothing keeps them out.
    #[error(
        "other hosts can reach {address}, and no key is set to keep strangers out. Give all nodes the same key in RANKSCOPE_KEY \
         (`openssl rand -hex 32` makes one), or name a key file with --set key-file=PATH; --insecure runs without a key"
    )]
    NoKey {
        /// What they can reach.
        address: String,
    },
    /// Neither settings nor a launcher say which node this is.
    #[error("the number of this node is not known: give --rank and --num-nodes, or start the agent with a launcher: {0}")]
    NodeUnknown(#[source] LaunchError),
    /// The number of this node is not below that of the nodes.
    #[error("node {node} of {num_nodes}: nodes are numbered from 0")]
    NodeOutOfRange {
        /// As given.
        node: NodeId,
        /// As given.
        num_nodes: u32,
    },
    /// A rendezvous that is no place.
    #[error("rendezvous {text}: {reason}")]
    Place {
        /// As given.
        text: String,
        /// What is wrong with it.
        #[source]
        reason: PlaceError,
    },
    /// Several nodes, and nowhere to meet.
    #[error("no rendezvous is known: give --rendezvous tcp://HOST:PORT, with the host of node 0")]
    NoPlace,
    /// The nodes did not meet.
    #[error("the rendezvous of the nodes failed{}: {reason}", .turned_away.in_brackets())]
    Rendezvous {
        /// Who came and was not let in.
        turned_away: TurnedAway,
        /// What went wrong.
        #[source]
        reason: MeetError,
    },
    /// The rendezvous cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The sockets of an agreement cannot be opened.
    #[error(transparent)]
    Meet(#[from] MeetError),
    /// Every node with ports of its own needs more ports than there are.
    #[error("{num_nodes} nodes with {per_node} ports each do not fit above port {base}; set port-mode=single")]
    PortsDoNotFit {
        /// How many nodes.
        num_nodes: u32,
        /// Ports of each.
        per_node: u16,
        /// The first port.
        base: u16,
    },
    /// The system does not list its network interfaces.
    #[error("failed to list network interfaces: {0}")]
    Interfaces(#[source] io::Error),
    /// No interface fits.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The setting `test-clock` describes no clock.
    #[error("setting test-clock: {0}")]
    TestClock(#[source] ClockTextError),
    /// The agent cannot write or has no thread.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The agent's thread panicked.
    #[error("the agent panicked, which is a bug; everything it wrote until then is intact")]
    AgentPanicked,
    /// Too few addresses, or this node is none of them.
    #[error("node {rank} of {num_nodes}: give at least two addresses, and a rank from 0 to one less than their number")]
    RankOutOfRange {
        /// This node.
        rank: u32,
        /// How many addresses there are.
        num_nodes: u32,
    },
    /// An address is none.
    #[error("--addresses {text}: not HOST:PORT, or the host cannot be resolved: {reason}")]
    Unresolved {
        /// As given.
        text: String,
        /// What the resolver says.
        #[source]
        reason: io::Error,
    },
    /// A host without an address.
    #[error("--addresses {text}: this host has no address")]
    NoAddress {
        /// As given.
        text: String,
    },
    /// Two nodes with one address.
    #[error("--addresses lists {address} twice, the second time for node {node}: every node needs a port of its own")]
    AddressTwice {
        /// The address.
        address: SocketAddr,
        /// The later of the nodes.
        node: usize,
    },
    /// No address at all.
    #[error("--addresses lists none")]
    NoAddresses,
    /// No such probe graph.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A plan that does not read itself: a bug.
    #[error(transparent)]
    Plan(#[from] KeyError),
    /// No other node answered.
    #[error(
        "nothing was measured: no other node answered. Are all {num_nodes} running, with the same addresses, and does a firewall \
         block UDP?"
    )]
    NothingMeasured {
        /// How many nodes there should have been.
        num_nodes: u32,
    },
}

/// What a process that ends with an error tells its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitClass {
    /// Something failed.
    Failed,
    /// Something was asked for that makes no sense.
    UsedWrongly,
}

impl Error {
    /// How a process that ends with this error should end.
    pub fn exit_class(&self) -> ExitClass {
        match self {
            Self::StartsItsOwn { .. } => ExitClass::UsedWrongly,
            _ => ExitClass::Failed,
        }
    }

    /// For `map_err`: what the file system says of `path`.
    pub(crate) fn of(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |reason| Self::Io { path, reason }
    }
}
