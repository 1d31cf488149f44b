//! Why a job stands still, as `rankscope hang --format json` writes it, schema 1. Keys are only ever added within a schema number.

use serde::{Deserialize, Serialize};

use crate::Confidence;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// What a job that stands still suffers from.
    HangKind {
        /// A rank has not come to a collective that others are in.
        Missing = "missing",
        /// Ranks called different things by one number.
        Mismatch = "mismatch",
        /// Ranks wait for each other in a circle.
        Deadlock = "deadlock",
        /// A message that nobody sends or takes.
        P2p = "p2p",
        /// A rank that others wait for left nothing: it is probably dead.
        Dead = "dead",
        /// A rank is stuck outside of communication.
        Outside = "outside",
        /// All are in the same collective: the library or the network is stuck, or nothing is and the job runs.
        Library = "library",
        /// Nobody is in an unfinished call.
        Healthy = "healthy",
        /// There is not enough to tell.
        Unclear = "unclear",
    }
}

vocabulary! {
    /// Whoever tells of a job that stands still.
    HangSource {
        /// Dumps of torch's flight recorder.
        FlightRecorder = "flight_recorder",
        /// Live pages of our own recorder.
        LivePages = "live_pages",
        /// NCCL's RAS service, of which ranks answer.
        RasState = "ras_state",
        /// NCCL's RAS service, of how many collectives ranks have launched.
        RasCounts = "ras_counts",
        /// What processes are doing: their stacks and their states.
        Stacks = "stacks",
    }
}

/// What NCCL's RAS service told by itself, as `rankscope hang --follow --format json` writes it between documents, schema 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HangEvent {
    /// Version of this layout: 1.
    pub schema: u32,
    /// What has become of a process: `PEER_NEW`, `PEER_DEAD`, or another word of NCCL's.
    pub event: String,
    /// When, as the service's host reads its clock.
    pub said_at: String,
    /// The rank that it is; null where that is not known.
    pub rank: Option<u32>,
    /// The host of the process, as NCCL knows it.
    pub host: Option<String>,
    /// Its number there.
    pub pid: Option<u64>,
    /// What else is said.
    pub details: String,
}

/// Why a job stands still. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HangDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// What the evidence was found in.
    pub title: String,
    /// The answer.
    pub verdict: HangVerdict,
    /// Every rank, in order.
    pub ranks: Vec<HangRank>,
    /// What processes are doing, those in the same place together, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<HangStack>,
    /// What could not be used, and what the answer lacks, a sentence each.
    pub problems: Vec<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HangVerdict {
    /// What it is.
    pub kind: HangKind,
    /// Who is to blame, by rank: nobody where that is not known.
    pub roots: Vec<HangRoot>,
    /// How sure that is.
    pub confidence: Confidence,
    /// Who waits for whom, by rank: those who wait directly.
    pub waiting: Vec<HangWait>,
    /// Whom the answer rests on, first, and who else was heard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<HangWitness>,
    /// All of it in a sentence.
    pub summary: String,
}

/// One source, and what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HangWitness {
    /// What it is.
    pub source: HangSource,
    /// Whether it agrees about who is to blame; absent where it cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agrees: Option<bool>,
    /// What it says, in a sentence.
    pub says: String,
}

impl Default for HangVerdict {
    fn default() -> Self {
        Self {
            kind: HangKind::Unclear,
            roots: Vec::new(),
            confidence: Confidence::Low,
            waiting: Vec::new(),
            witnesses: Vec::new(),
            summary: String::new(),
        }
    }
}

/// Processes in the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HangStack {
    /// Their ranks, as far as they are known.
    pub ranks: Vec<u32>,
    /// Their numbers, as far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// What the system says of them, where that is more than that they live.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Where they are, the innermost function first: of Python, or else of the kernel.
    pub frames: Vec<String>,
    /// Counters of waiting that are active, by torch's names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<String>,
}

/// A rank that is to blame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HangRoot {
    /// The rank.
    pub rank: u32,
    /// What it did or did not do.
    pub why: String,
    /// The name of the process group that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The number of the collective in that group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// A rank that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HangWait {
    /// The rank.
    pub rank: u32,
    /// Those it waits for.
    #[serde(rename = "for")]
    pub awaited: Vec<u32>,
}

/// A rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HangRank {
    /// The rank.
    pub rank: u32,
    /// The files that tell of it; none where nothing does.
    pub files: Vec<String>,
    /// The phase that its program marks on its live page: `initialisation`, `training`, `evaluation` or `checkpoint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The call that it is stuck in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_in: Option<HangCall>,
    /// The last call that it made, where it is stuck in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<HangCall>,
}

/// A call to a communication library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HangCall {
    /// The operation; empty where it was forgotten.
    pub operation: String,
    /// The name of its process group.
    pub group: String,
    /// What the group is called, where that says more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its number in the group, of a collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The other end, of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// When it was made, in nanoseconds since the epoch, by the rank's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_ns: Option<i64>,
    /// Where in the program it was made, where that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}
