//! What can be wrong with a job: each cause with its parameters, and where a trace shows it.

use std::fmt;
use std::str::FromStr;

use super::model::Part;

/// The one thing that is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// One operator takes `factor` times as long on one rank.
    SlowKernel {
        /// Which rank.
        rank: u32,
        /// Which operator, in the forward pass of every layer.
        part: Part,
        /// Times as long.
        factor: f64,
    },
    /// The host of one rank takes `factor` times as long for everything, so that its device waits for launches.
    SlowHost {
        /// Which rank.
        rank: u32,
        /// Times as long.
        factor: f64,
    },
    /// Data between two nodes takes `factor` times as long.
    SlowLink {
        /// Which nodes.
        nodes: (u32, u32),
        /// Times as long.
        factor: f64,
    },
    /// What is sent to one rank reaches it late: once all have come, collectives take it `factor` times as long.
    LateReceiver {
        /// Which rank.
        rank: u32,
        /// Times as long.
        factor: f64,
    },
    /// The documents of one rank are longer: attention takes `factor` times as long, in one kernel or in more.
    UnevenDocuments {
        /// Which rank.
        rank: u32,
        /// Times as long.
        factor: f64,
        /// Whether each document has a kernel of its own.
        more_kernels: bool,
    },
    /// The data loader of one rank takes longer.
    DataLoader {
        /// Which rank.
        rank: u32,
        /// By this.
        ns: i64,
        /// In every so many steps; 1 for all.
        every: u32,
    },
    /// A stage of the pipeline has more layers than the others.
    HeavyStage {
        /// Which stage.
        stage: u32,
        /// So many more.
        layers: u32,
    },
    /// A card runs slowly: all its computation takes `factor` times as long.
    ThrottledCard {
        /// Whose.
        rank: u32,
        /// Times as long.
        factor: f64,
    },
    /// Every rank collects garbage in every so many steps, each in another one.
    GarbageCollection {
        /// For this long.
        ns: i64,
        /// Steps from one time to the next.
        every: u32,
    },
    /// Batches are copied from memory that is not pinned, so that the host waits for the copy.
    PageableCopies,
    /// The host fetches a value after every operator of the forward pass, and waits for the device each time.
    Synchronization,
    /// Every layer has so many operators more, of kernels that are shorter than their launches.
    TinyKernels {
        /// How many.
        count: u32,
    },
    /// Gradients are summed up after the backward pass instead of during it.
    LateReduction,
    /// The forward pass is computed a second time during the backward pass.
    Recompute,
    /// The experts of one rank have more tokens.
    UnevenExperts {
        /// Which rank.
        rank: u32,
        /// Times as many.
        factor: f64,
    },
    /// The host compiles during the first step.
    FirstStep {
        /// For this long.
        ns: i64,
    },
}

/// A cause without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the cause of that name")]
pub enum CauseKind {
    SlowKernel,
    SlowHost,
    SlowLink,
    LateReceiver,
    UnevenDocuments,
    DataLoader,
    PeriodicDataLoader,
    HeavyStage,
    ThrottledCard,
    GarbageCollection,
    PageableCopies,
    Synchronization,
    TinyKernels,
    LateReduction,
    Recompute,
    UnevenExperts,
    FirstStep,
}

impl CauseKind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::SlowKernel,
        Self::SlowHost,
        Self::SlowLink,
        Self::LateReceiver,
        Self::UnevenDocuments,
        Self::DataLoader,
        Self::PeriodicDataLoader,
        Self::HeavyStage,
        Self::ThrottledCard,
        Self::GarbageCollection,
        Self::PageableCopies,
        Self::Synchronization,
        Self::TinyKernels,
        Self::LateReduction,
        Self::Recompute,
        Self::UnevenExperts,
        Self::FirstStep,
    ];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlowKernel => "slow-kernel",
            Self::SlowHost => "slow-host",
            Self::SlowLink => "slow-link",
            Self::LateReceiver => "late-receiver",
            Self::UnevenDocuments => "uneven-documents",
            Self::DataLoader => "data-loader",
            Self::PeriodicDataLoader => "periodic-data-loader",
            Self::HeavyStage => "heavy-stage",
            Self::ThrottledCard => "throttled-card",
            Self::GarbageCollection => "garbage-collection",
            Self::PageableCopies => "pageable-copies",
            Self::Synchronization => "synchronization",
            Self::TinyKernels => "tiny-kernels",
            Self::LateReduction => "late-reduction",
            Self::Recompute => "recompute",
            Self::UnevenExperts => "uneven-experts",
            Self::FirstStep => "first-step",
        }
    }
}

impl Cause {
    /// Which cause it is.
    pub fn kind(&self) -> CauseKind {
        match self {
            Self::SlowKernel { .. } => CauseKind::SlowKernel,
            Self::SlowHost { .. } => CauseKind::SlowHost,
            Self::SlowLink { .. } => CauseKind::SlowLink,
            Self::LateReceiver { .. } => CauseKind::LateReceiver,
            Self::UnevenDocuments { .. } => CauseKind::UnevenDocuments,
            Self::DataLoader { every: 0 | 1, .. } => CauseKind::DataLoader,
            Self::DataLoader { .. } => CauseKind::PeriodicDataLoader,
            Self::HeavyStage { .. } => CauseKind::HeavyStage,
            Self::ThrottledCard { .. } => CauseKind::ThrottledCard,
            Self::GarbageCollection { .. } => CauseKind::GarbageCollection,
            Self::PageableCopies => CauseKind::PageableCopies,
            Self::Synchronization => CauseKind::Synchronization,
            Self::TinyKernels { .. } => CauseKind::TinyKernels,
            Self::LateReduction => CauseKind::LateReduction,
            Self::Recompute => CauseKind::Recompute,
            Self::UnevenExperts { .. } => CauseKind::UnevenExperts,
            Self::FirstStep { .. } => CauseKind::FirstStep,
        }
    }
}

impl fmt::Display for CauseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CauseKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("no cause `{name}`; there are {known}"))
    }
}
