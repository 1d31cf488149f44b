//! A demo from its first to its last step: the job runs, the product reads and reports on it, and is held against the truth.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::clocks::Clocks;
use crate::document::DemoDocument;
use crate::error::Error;
use crate::folder::Folder;
use crate::hosts::{Host, hosts};
use crate::job::DemoJob;
use crate::plan::Plan;
use crate::product::Product;
use crate::slow::Because;
use crate::truth::Watch;
use crate::verdict;

/// What is to be demonstrated.
#[derive(Clone, Debug)]
pub struct Request {
    /// Number of ranks, each on a host of its own; 2 to 16.
    pub ranks: u32,
    /// How long they train.
    pub seconds: f64,
    /// Of clocks, work, and the choice of the slow rank.
    pub seed: u64,
    /// The slow rank; drawn where it is not given.
    pub slow_rank: Option<u32>,
    /// Why it is slow; it has more work of every kind where no cause is given.
    pub because: Option<Because>,
    /// Whether ranks keep live pages, by which they can be watched while they train.
    pub live: bool,
    /// Whether the slow rank stands still after a few seconds, until the time is over, and is looked for meanwhile. Ranks keep live pages then.
    pub hangs: bool,
    /// The run directory. An older demo there is replaced.
    pub path: PathBuf,
    /// Where each rank runs, in their order; none means on the loopback.
    pub hosts: Vec<Host>,
    /// The command that the run directory names.
    pub command: Vec<String>,
}

/// Shorter, and no clock is measured twice; longer, and nobody waits for it. A day is for those who look whether something grows.
const SECONDS: std::ops::RangeInclusive<f64> = 2.0..=86_400.0;

/// Shorter, and nobody can tell a job that stands still from one that takes its time.
const SECONDS_TO_HANG: f64 = 16.0;

/// Plays the demo, until `interrupted` is turned on; `begins` is called when nothing is in the way any more.
///
/// # Errors
/// [`Error`] says what failed. Nothing of a demo that failed is left, neither files nor processes.
pub fn run(
    request: &Request,
    product: &dyn Product,
    interrupted: &AtomicBool,
    begins: impl FnOnce(),
) -> Result<DemoDocument, Error> {
    let (seconds, most) = (request.seconds, *SECONDS.end());
    let least = if request.hangs { SECONDS_TO_HANG } else { *SECONDS.start() };
    if !(least..=most).contains(&seconds) {
        return Err(Error::Seconds { seconds, least, most });
    }
    let begun = Instant::now();
    let hosts = hosts(&request.hosts, request.ranks)?;
    let mut plan = Plan::draw(hosts, request.seed, Duration::from_secs_f64(seconds));
    plan.because = request.because;
    plan.live = request.live || request.hangs;
    plan.hangs = request.hangs;
    if let Some(rank) = request.slow_rank {
        plan.slow = Some(rank).filter(|rank| *rank < plan.ranks).ok_or(Error::RankOutOfRange { rank, ranks: plan.ranks })?;
    }
    let mut folder = Folder::create(&request.path, &plan, request.command.clone())?;
    begins();
    let clocks = Clocks::draw(request.ranks, request.seed)?;
    let watch = Watch::start()?;
    let mut blamed = None;
    let judge = |run: &Path| {
        blamed = Some(product.judge(run).map_err(Error::Product)?);
        Ok(())
    };
    let recorded = DemoJob::launch(&folder, &plan, &clocks, interrupted)?.train(&mut folder, &plan, judge)?;
    let truth = watch.end(clocks)?;
    let reported = folder.conclude(product)?;
    let checked = product.read(folder.path()).map_err(Error::Product).and_then(|job| verdict::judge(&job, recorded, truth));
    let verdict = checked.map_err(|error| Error::Unchecked(Box::new(error)))?;
    let document = DemoDocument::new(&plan, verdict, reported, blamed, &folder, begun.elapsed());
    folder.keep(&document)?;
    Ok(document)
}
