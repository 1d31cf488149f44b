//! The clock agent of one node, in this process: who the node is, how it meets the others, and the loop that runs until somebody
//! stops it. `rankscope-probe` measures; here settings, flags and launchers come together.

mod identity;
pub(crate) mod key;
mod setup;
mod standalone;
mod watch;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rankscope_clock::NodeId;
use rankscope_config::ClockSettings;
use rankscope_probe::agent::{Agent, Agreement, Event, HostConstant, MeetingOptions, Minutes, Summary, alone, meet, reopen};
use rankscope_probe::clocks::phc::Phc;
use rankscope_probe::key::SharedKey;
use rankscope_probe::launch::Launch;
use rankscope_probe::rendezvous::{self, KeyValueStore, Meeting, Place, Scoped, StoreServer};

use crate::error::Error;
use crate::pages::Pages;
use crate::signals::stop_switch;
use crate::together::{OnCall, TogetherError};
pub use standalone::{Measured, MeasuredEdge, Neighbours, standalone};

/// What an agent is to do.
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// How clocks are measured, and where to.
    pub settings: ClockSettings,
    /// The rendezvous, before that of the settings: any way to write a place.
    pub rendezvous: Option<String>,
    /// Stop after this long.
    pub duration: Option<Duration>,
    /// Leave the file behind by which a node that is started again finds the others: whoever started this agent removes it.
    pub keep_minutes: bool,
    /// Be the daemon that torch's processes on this host ask whether to profile.
    pub on_demand: bool,
    /// Say in the run directory which of its ranks are on this host while they run.
    pub tell_ranks: bool,
}

/// What is worth a line while an agent runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// This process is not the one of its node that measures, and ends.
    OnePerNode,
    /// A key is waited for in this file.
    WaitingForKey(&'a Path),
    /// This node was there before, and goes on.
    Rejoined,
    /// What the nodes agreed on could not be kept.
    NotResumable {
        /// The file it would have been kept in.
        path: &'a Path,
        /// What the system says.
        reason: &'a std::io::Error,
    },
    /// The store listens elsewhere than it was told to, because that is no address of this host.
    ListensElsewhere {
        /// Where it was told to.
        place: &'a Place,
        /// Where it listens.
        address: SocketAddr,
    },
    /// It begins to measure.
    Measuring {
        /// This node.
        node: NodeId,
        /// How many there are.
        num_nodes: u32,
        /// Edges that begin here.
        outgoing: usize,
        /// Edges that end here.
        incoming: usize,
        /// The length of a window.
        window: Duration,
    },
    /// What the agent tells.
    Event(&'a Event),
    /// Torch's processes cannot ask this agent.
    NotOnCall(&'a TogetherError),
    /// It is over.
    Stopped {
        /// What it did.
        summary: &'a Summary,
        /// How long it ran.
        ran: Duration,
    },
    /// Who came to the store of this node and was not let in.
    TurnedAway(&'a TurnedAway),
}

/// Connections that a store closed, by the reason: as text, `2 wrong key, 1 foreign version`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnedAway(Vec<String>);

impl TurnedAway {
    /// None where there was nobody.
    fn by(server: &StoreServer) -> Option<Self> {
        let refused: Vec<String> = server.refusals().iter().map(|(refusal, count)| format!("{count} {refusal}")).collect();
        (!refused.is_empty()).then_some(Self(refused))
    }

    /// ` (…)`, or nothing where there was nobody.
    pub(crate) fn in_brackets(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!(" ({self})") }
    }
}

impl fmt::Display for TurnedAway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connections that the store of node 0 closed: {}", self.0.join(", "))
    }
}

/// Nodes may start minutes apart; the origin waits two.
const MEET_WITHIN: Duration = Duration::from_secs(120);

/// Measures the clock of this node until a signal, the duration or an error ends it.
///
/// # Errors
/// Where it is not known which node this is, or the nodes do not meet.
pub fn run(request: AgentRequest, tell: &mut dyn FnMut(Progress<'_>)) -> Result<(), Error> {
    let settings = &request.settings;
    let who = identity::identity(settings, request.rendezvous.as_deref())?;
    if who.local_rank != 0 {
        tell(Progress::OnePerNode);
        return Ok(());
    }
    let met = match who.num_nodes {
        1 => Met::nobody()?,
        _ => {
            let place = who.place.clone().ok_or(Error::NoPlace)?;
            Met::all(settings, &who, Rendezvous::At(place), tell)?
        }
    };
    // Until here there is nothing to bring to disk: a signal ends this process at once, as it does any other.
    measure(&request, &who, met, &stop_switch()?, tell)
}

/// The same over `store`, one that the job has already, which needs neither a place nor a port; until `stop` is set, for a process that
/// has signals of its own. Whoever reaches that store may meet there: it is as open as the job is.
///
/// # Errors
/// As [`run`].
pub fn run_over(
    store: Box<dyn KeyValueStore>,
    request: &AgentRequest,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Error> {
    let settings = &request.settings;
    let who = identity::identity(settings, None)?;
    let met = if who.num_nodes == 1 { Met::nobody()? } else { Met::all(settings, &who, Rendezvous::Over(store), tell)? };
    measure(request, &who, met, stop, tell)
}

fn measure(
    request: &AgentRequest,
    who: &Launch,
    met: Met,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Error> {
    let settings = &request.settings;
    let Met { agreement, card, server, minutes, constant } = met;
    let session = setup::session(settings, who.node, &agreement.minutes);
    let mut options = setup::agent(settings, stop)?;
    options.run_id = Some(who.run_id.clone());
    options.card = card;
    options.host.shift = options.host.shift.or(Some(constant.shift()));
    tell(Progress::Measuring {
        node: who.node,
        num_nodes: who.num_nodes,
        outgoing: agreement.minutes.edges.out.len(),
        incoming: agreement.minutes.edges.back.len(),
        window: settings.probe_window,
    });
    // Until the end of this function.
    let _on_call = request.on_demand.then(|| on_call(settings, who.node, tell));
    let _pages = request.tell_ranks.then(|| Pages::of_machine(run_of(settings)?, who.node.0, who.num_nodes));
    let agent = Agent::start(session, agreement.endpoints, options)?;
    watch::until_stopped(agent, stop, request.duration, tell)?;
    if let Some(turned_away) = server.as_ref().and_then(TurnedAway::by) {
        tell(Progress::TurnedAway(&turned_away));
    }
    if let Some(minutes) = minutes.filter(|_| !request.keep_minutes) {
        // Who ends on purpose does not come again, and a secret is not left lying.
        let _gone = std::fs::remove_file(minutes);
    }
    Ok(())
}

/// Has torch's processes on this host ask; where that cannot be, says why, and measures all the same.
fn on_call(settings: &ClockSettings, node: NodeId, tell: &mut dyn FnMut(Progress<'_>)) -> Option<OnCall> {
    match OnCall::start(run_of(settings)?, node.0) {
        Ok(on_call) => Some(on_call),
        Err(error) => {
            tell(Progress::NotOnCall(&error));
            None
        }
    }
}

/// The run directory, where clocks have a folder of their own.
fn run_of(settings: &ClockSettings) -> Option<&Path> {
    let output = Path::new(&settings.output_dir);
    if output.file_name().is_some_and(|name| name == "clock") { output.parent() } else { Some(output) }
}

/// What a node knows after it has met the others.
struct Met {
    agreement: Agreement,
    card: Option<Phc>,
    /// The store, where this node hosts it.
    server: Option<StoreServer>,
    /// Where the agreement is kept.
    minutes: Option<PathBuf>,
    /// What the host clock adds to the raw clock, also when it is started again.
    constant: HostConstant,
}

impl Met {
    /// The one node of a job listens nowhere.
    fn nobody() -> Result<Self, Error> {
        Ok(Self { agreement: alone()?, card: None, server: None, minutes: None, constant: HostConstant::of_now() })
    }

    /// Meets the others, or goes on with what they agreed on when it met them before.
    fn all(
        settings: &ClockSettings,
        who: &Launch,
        rendezvous: Rendezvous,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, Error> {
        let key = key::given(settings, MEET_WITHIN, tell)?;
        let place = rendezvous.place();
        let open = place.filter(|place| place.is_open_to_others()).map(ToString::to_string);
        key::demand(settings, key.as_ref(), open.as_deref())?;
        let (options, card) = identity::meeting(settings, who, place, key.clone())?;
        let path = Path::new(&settings.output_dir).join(minutes_name(who.node.0));
        let resumable = identity::resumable(settings, who);
        let kept = Minutes::kept(&path, &run_key(who), who.node).filter(|_| resumable);
        let (kept, constant) = kept.map_or((None, None), |(minutes, constant)| (Some(minutes), constant));
        let constant = constant.unwrap_or_else(HostConstant::of_now);
        let (agreement, server) = match kept {
            Some(minutes) => {
                tell(Progress::Rejoined);
                (reopen(minutes, &options)?, None)
            }
            None => match rendezvous {
                Rendezvous::At(place) => meet_at(&place, &options, store_options(who, key), tell)?,
                Rendezvous::Over(store) => {
                    let mut scoped = Scoped::new(store, &who.run_id, who.restart);
                    let met = meet(&mut scoped, &options);
                    (met.map_err(|reason| Error::Rendezvous { turned_away: TurnedAway::default(), reason })?, None)
                }
            },
        };
        let mut minutes = None;
        if resumable && settings.probe_export {
            let folder = std::fs::create_dir_all(&settings.output_dir);
            match folder.and_then(|()| agreement.minutes.keep(&path, &run_key(who), who.node, &constant)) {
                Ok(()) => minutes = Some(path),
                Err(reason) => tell(Progress::NotResumable { path: &path, reason: &reason }),
            }
        }
        Ok(Self { agreement, card, server, minutes, constant })
    }
}

/// Where nodes meet.
enum Rendezvous {
    /// There, in a store of ours.
    At(Place),
    /// In one that the job has.
    Over(Box<dyn KeyValueStore>),
}

impl Rendezvous {
    fn place(&self) -> Option<&Place> {
        if let Self::At(place) = self { Some(place) } else { None }
    }
}

fn meet_at(
    place: &Place,
    options: &MeetingOptions,
    store: rendezvous::MeetingOptions,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(Agreement, Option<StoreServer>), Error> {
    let Meeting { mut store, server } = Meeting::at(place, store)?;
    if let Some(server) = server.as_ref().filter(|server| server.address().ip().is_unspecified()) {
        tell(Progress::ListensElsewhere { place, address: server.address() });
    }
    let met = meet(store.as_mut(), options).map_err(|reason| Error::Rendezvous {
        turned_away: server.as_ref().and_then(TurnedAway::by).unwrap_or_default(),
        reason,
    })?;
    Ok((met, server))
}

/// Where the agent of `node` keeps what the nodes agreed on, with their secret.
pub(crate) fn minutes_name(node: u32) -> String {
    format!("{MINUTES}{node}.json")
}

/// What such names begin with.
pub(crate) const MINUTES: &str = "minutes-node";

fn run_key(who: &Launch) -> String {
    format!("{}/{}", who.run_id, who.restart)
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
