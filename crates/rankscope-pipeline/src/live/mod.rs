//! A running job from its run directory: the pages of ranks, and where the clocks of their nodes stand.
//!
//! A page that cannot be read, is another rank's or whose process is gone is left out, with a sentence that says so. Clocks are those that
//! agents last wrote; without any, ranks of one node share its clock, and others are not compared. One look tells where ranks are; alarms
//! need many, so a job that is watched is a [`LiveJob`].

mod alarms;
mod clocks;
mod document;
mod links;
mod pages;
mod reading;
mod replay;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rankscope_document::{LiveAlarm, LiveDocument};
use rankscope_live::{Compared, Following, Seen};
use rankscope_recording::LivePage;
use rankscope_run::RunDirectory;

use crate::Error;
pub use alarms::AlarmLog;
use clocks::Clocks;
use document::Beside;
use links::links;
use pages::pages;
pub(crate) use pages::{PageFile, Writer, page_files};
pub use replay::{Replay, has_ended};

/// Where the job in the run directory `run` is now. Alarms are those that a watcher wrote down and that are not over.
///
/// # Errors
/// [`Error::Run`] where there is no run, [`Error::NoPages`] where no rank of it tells of itself.
pub fn live(run: &Path) -> Result<LiveDocument, Error> {
    let pages = Pages::of(run)?;
    let compared = Compared::of(&pages.seen);
    Ok(pages.beside.document(&pages.seen, &compared, now_ns(), alarms::raised(run)))
}

/// A running job that is looked at time and again.
#[derive(Debug)]
pub struct LiveJob {
    run: PathBuf,
    following: Following,
    raised: Vec<LiveAlarm>,
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
        Self { run: run.to_owned(), following: Following::default(), raised: Vec::new() }
    }

    /// Looks at it now.
    ///
    /// # Errors
    /// As [`live`].
    pub fn look(&mut self) -> Result<LiveLook, Error> {
        let pages = Pages::of(&self.run)?;
        let now_ns = now_ns();
        let compared = Compared::of(&pages.seen);
        let news = self.following.look(now_ns, &compared);
        let news: Vec<LiveAlarm> = news.iter().map(|alarm| alarms::told(alarm, Some(&self.run))).collect();
        news.iter().for_each(|alarm| alarms::keep(&mut self.raised, alarm.clone()));
        let document = pages.beside.document(&pages.seen, &compared, now_ns, self.raised.clone());
        Ok(LiveLook { document, news })
    }
}

/// What a run directory tells at one moment.
struct Pages {
    seen: Vec<Seen>,
    beside: Beside,
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
        let world_size = directory.manifest().world_size;
        problems.extend(world_size.and_then(|world_size| missing(&pages, world_size)));
        let clocks = Clocks::of(&directory);
        let one_node = pages.windows(2).all(|pair| pair[0].head.boot == pair[1].head.boot);
        let seen = |page: LivePage| Seen { clock: clocks.of_rank(page.head.rank, one_node), page };
        let seen: Vec<Seen> = pages.into_iter().map(seen).collect();
        problems.extend(without_clock(&seen));
        let beside = Beside {
            title: directory.name(),
            world_size,
            nodes: clocks.nodes(&directory),
            node_of: clocks.ranks(),
            links: links(&directory.clock()),
            problems,
            replay: None,
        };
        Ok(Self { seen, beside })
    }
}

pub(crate) fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i64)
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
