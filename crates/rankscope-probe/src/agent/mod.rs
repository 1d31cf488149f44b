//! The agent of one node: a thread that keeps a node's clock measured while a job runs.
//!
//! It meets the other nodes ([`meet`]), runs a session until it is stopped, and appends what it learns to files. It never
//! harms what runs beside it: whatever fails turns off the part that failed and is said once, as an [`Event::Trouble`].

mod driver;
mod endpoints;
mod files;
mod journal;
mod leaving;
mod meeting;
mod minutes;
mod streams;
mod thread;
mod witnesses;

pub use endpoints::Endpoints;
pub use meeting::{Agreement, MeetError, MeetingOptions, PortMode, alone, meet, reopen};
pub use minutes::{HostConstant, Minutes};
pub use thread::ThreadOptions;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use rankscope_clock::files::WindowsHeader;
use rankscope_clock::nodes::{NodeEstimate, Solution};
use rankscope_clock::session::{Counters, Session, SessionSettings, Transports};
use rankscope_clock::{ClockEvent, Edge, NodeWindow, Transport};

use crate::clocks::phc::{Phc, PhcError};
use crate::clocks::{Clock, HostTime, HostTimeOptions};
use driver::Driver;
use files::{About, Files};

/// What an agent is told beside what its session is told.
#[derive(Debug)]
pub struct AgentOptions {
    /// Where files go; none writes nothing.
    pub folder: Option<PathBuf>,
    /// Whether to write the readings of this host's clocks against each other.
    pub snapshots: bool,
    /// What the headers of files call this run.
    pub run_id: Option<String>,
    /// The clock of the network card, where that stamps the packets.
    pub card: Option<Phc>,
    /// How the host clock is kept.
    pub host: HostTimeOptions,
    /// How the thread runs.
    pub thread: ThreadOptions,
    /// Whether to measure what waking costs here, and to probe no more than a hundredth of a core allows.
    pub thrifty: bool,
    /// Whoever turns this on asks the agent to stop, as a handler of signals can.
    pub stop: Arc<AtomicBool>,
}

/// What an agent has to tell.
#[derive(Clone, Debug)]
pub enum Event {
    /// A window of this node closed.
    Window(NodeWindow),
    /// This node is master and solved a round.
    Solved {
        /// Its number.
        round: u64,
        /// All nodes.
        solution: Solution,
    },
    /// The master told where this node's clock stands.
    Clock {
        /// Number of the round.
        round: u64,
        /// This node.
        estimate: NodeEstimate,
    },
    /// An edge that begins here is measured over another transport from now on.
    Rerouted {
        /// Which edge.
        edge: Edge,
        /// The new one.
        over: Transport,
    },
    /// A time daemon stepped or steered this host's wall clock. The host clock has none of it.
    Steered(ClockEvent),
    /// Something does not work any more, and what that means.
    Trouble(String),
}

/// What an agent did, when it is over.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Packets that left.
    pub sent_packets: u64,
    /// Packets that the kernel refused to send.
    pub unsent_packets: u64,
    /// Packets that came.
    pub received_packets: u64,
    /// Stamps that came and could not be put on the host clock, and packets that came without one.
    pub unusable_stamps: u64,
    /// Failures to read a socket.
    pub socket_errors: u64,
    /// Events that nobody took.
    pub untold_events: u64,
    /// What the session counted.
    pub session: Counters,
}

impl Summary {
    fn finish(&mut self, session: &Session) {
        self.session = session.counters().clone();
    }
}

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its files cannot be opened.
    #[error("cannot write the agent's files below {folder}: {source}")]
    Files {
        /// Where.
        folder: String,
        /// What the system said.
        source: io::Error,
    },
    /// The clock of the network card, which stamps the packets, cannot be read.
    #[error(transparent)]
    Card(#[from] PhcError),
    /// There is no thread for it.
    #[error("cannot start the agent's thread: {0}")]
    Thread(io::Error),
}

/// An agent that runs.
#[derive(Debug)]
pub struct Agent {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Summary>,
    events: Receiver<Event>,
}

/// Events that wait to be taken before more are dropped.
const EVENTS_MAX: usize = 256;

impl Agent {
    /// Starts an agent.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running.
    pub fn start(mut session: SessionSettings, endpoints: Endpoints, options: AgentOptions) -> Result<Self, StartError> {
        let mut host = HostTime::start(options.host);
        if let Some(card) = options.card {
            host.attach(card)?;
        }
        let folder = options.folder.as_ref().map_or_else(String::new, |folder| folder.display().to_string());
        let about = About {
            header: WindowsHeader {
                node: Some(session.node),
                start_walltime_ns: Some(Clock::Realtime.now_ns()),
                run_id: options.run_id.clone(),
                host_minus_raw_ns: Some(host.shift().as_nanos()),
                host: host_name(),
                ..WindowsHeader::default()
            },
            node: session.node,
            nodes: session.participants.iter().map(|node| node.0 + 1).max().unwrap_or(1),
            reference: session.solve_options.reference,
            window: session.window,
        };
        let files = Files::open(options.folder, options.snapshots, about);
        let files = files.map_err(|source| StartError::Files { folder, source })?;
        let stop = options.stop;
        let (sender, events) = sync_channel(EVENTS_MAX);
        let asked = stop.clone();
        let (streams, refused) = match session.transports {
            Transports::Udp => (None, None),
            Transports::UdpThenTcp | Transports::Tcp => endpoints.streams(host.now().monotonic),
        };
        let thread = std::thread::Builder::new().name("rankscope-clock".to_owned()).spawn(move || {
            for text in thread::prepare(options.thread).into_iter().chain(refused) {
                // The channel is empty yet.
                let _ = sender.try_send(Event::Trouble(text));
            }
            if options.thrifty {
                session.wake_cost = thread::wake_cost();
            }
            Driver::new(session, host, (endpoints, streams), files, sender, asked).run()
        });
        Ok(Self { stop, thread: thread.map_err(StartError::Thread)?, events })
    }

    /// What the agent tells, as it happens. What is not taken is dropped and counted.
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Asks it to stop; it takes half a second at most.
    pub fn ask_to_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops it and says what it did; none if it panicked, which is a bug.
    pub fn stop(self) -> Option<Summary> {
        self.ask_to_stop();
        self.thread.join().ok()
    }
}

/// The name that traces of this host carry, too.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
