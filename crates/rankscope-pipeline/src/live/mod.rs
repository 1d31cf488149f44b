//! A running job from its run directory: the pages of ranks, and where the clocks of their nodes stand.
//!
//! A page that cannot be read, is another rank's or whose process is gone is left out, with a sentence that says so. Clocks are those that
//! agents last wrote; without any, ranks of one node share its clock, and others are not compared. One look tells where ranks are; alarms
//! need many, so a job that is watched is a [`LiveJob`].

mod alarms;
mod clocks;
mod pages;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rankscope_document::{LiveAlarm, LiveCollective, LiveDocument, LiveRank};
use rankscope_live::{Compared, Following, Found, Look, Seen};
use rankscope_recording::LivePage;
use rankscope_run::RunDirectory;

use crate::Error;
pub use alarms::AlarmLog;
use clocks::Clocks;
use pages::pages;
pub(crate) use pages::{PageFile, Writer, page_files};

/// Where the job in the run directory `run` is now. Alarms are those that a watcher wrote down and that are not over.
///
/// # Errors
/// [`Error::Run`] where there is no run, [`Error::NoPages`] where no rank of it tells of itself.
pub fn live(run: &Path) -> Result<LiveDocument, Error> {
    let pages = Pages::of(run)?;
    let look = Compared::of(&pages.seen).look();
    Ok(pages.document(&look, now_ns(), alarms::raised(run)))
}

/// A running job that is looked at time and again.
#[derive(Debug)]
pub struct LiveJob {
    run: PathBuf,
    following: Following,
}

/// One look at it.
#[derive(Debug)]
pub struct LiveLook {
    /// Where the job is.
    pub document: LiveDocument,
    /// Alarms that were raised or are over since the look before.
    pub news: Vec<LiveAlarm>,
}

impl LiveJob {
    /// The job in the run directory `run`.
    pub fn new(run: &Path) -> Self {
        Self { run: run.to_owned(), following: Following::default() }
    }

    /// Looks at it now.
    ///
    /// # Errors
    /// As [`live`].
    pub fn look(&mut self) -> Result<LiveLook, Error> {
        let pages = Pages::of(&self.run)?;
        let now_ns = now_ns();
        let compared = Compared::of(&pages.seen);
        let news = self.following.look(now_ns, &compared).iter().map(alarms::told).collect();
        let raised = self.following.raised().iter().map(alarms::told).collect();
        let look = compared.look();
        Ok(LiveLook { document: pages.document(&look, now_ns, raised), news })
    }
}

/// What a run directory tells at one moment.
struct Pages {
    title: String,
    seen: Vec<Seen>,
    problems: Vec<String>,
}

impl Pages {
    fn of(run: &Path) -> Result<Self, Error> {
        let directory = RunDirectory::open(run)?;
        let mut problems = Vec::new();
        let mut pages = pages(run, &mut problems);
        if pages.is_empty() && problems.is_empty() {
            return Err(Error::NoPages { path: run.to_owned() });
        }
        pages.sort_by_key(|page| page.head.rank);
        if let Some(world_size) = directory.manifest().world_size {
            problems.extend(missing(&pages, world_size));
        }
        let clocks = Clocks::of(&directory);
        let one_node = pages.windows(2).all(|pair| pair[0].head.boot == pair[1].head.boot);
        let seen = |page: LivePage| Seen { clock: clocks.of_rank(page.head.rank, one_node), page };
        let seen: Vec<Seen> = pages.into_iter().map(seen).collect();
        problems.extend(without_clock(&seen));
        Ok(Self { title: directory.name(), seen, problems })
    }

    fn document(self, look: &Look, now_ns: i64, alarms: Vec<LiveAlarm>) -> LiveDocument {
        let mut ranks: Vec<LiveRank> =
            self.seen.iter().zip(&look.ranks).map(|(seen, found)| rank(seen, found, now_ns)).collect();
        ranks.sort_by_key(|rank| (std::cmp::Reverse(rank.lateness_ns), rank.rank));
        let states = || self.seen.iter().map(|seen| seen.page.state);
        let mut took: Vec<i64> = states().map(|state| state.step_took_ns).filter(|ns| *ns > 0).collect();
        took.sort_unstable();
        LiveDocument {
            schema: 1,
            rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
            step: states().map(|state| state.step).max().filter(|step| *step >= 0),
            title: self.title,
            step_ns: took.get(took.len() / 2).copied(),
            compared_steps: look.steps,
            ranks,
            alarms,
            problems: self.problems,
        }
    }
}

pub(crate) fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i64)
}

fn rank(seen: &Seen, found: &Found, now_ns: i64) -> LiveRank {
    let page = &seen.page;
    let age_ns = |raw_ns: i64| now_ns.saturating_sub(page.state.wall_ns(raw_ns)).max(0);
    LiveRank {
        rank: page.head.rank,
        step: Some(page.state.step).filter(|step| *step >= 0),
        lateness_ns: found.lateness_ns,
        clock_error_ns: found.clock_error_ns,
        caused_wait_ns: found.caused_wait_ns,
        progress_age_ns: age_ns(page.state.progress_ns),
        open: page.open().map(|open| LiveCollective {
            group: page.groups[open.group].name.clone(),
            seq: open.sequence,
            op: open.op.name().to_owned(),
            bytes: open.bytes,
            age_ns: age_ns(open.arrived_ns),
        }),
    }
}

fn missing(pages: &[LivePage], world_size: u32) -> Option<String> {
    let told = pages.len() as u32;
    (told < world_size).then(|| format!("{told} of {world_size} ranks tell of themselves."))
}

fn without_clock(seen: &[Seen]) -> Option<String> {
    let count = seen.iter().filter(|seen| seen.clock.is_none()).count();
    (count > 0).then(|| {
        format!("The clocks of the nodes of {count} ranks are not known yet, so lateness is not known where they take part.")
    })
}
