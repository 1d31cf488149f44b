//! Figures for a collector of OpenTelemetry. `rankscope-otlp` pushes them, from a thread of its own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use rankscope_cli::output;
use rankscope_document::LiveDocument;
use rankscope_otlp::{Exporter, Look, Resource, Target};
use rankscope_report::{LiveCounts, live_figures};
use rankscope_run::{RunDirectory, host};

/// For what waits when the job is over. Whoever ends a watcher gives it little more.
const LAST: Duration = Duration::from_secs(2);

/// Where figures are pushed to, and what is known of where they come from.
pub(super) struct Otlp {
    exporter: Exporter,
    place: String,
    run: PathBuf,
    /// Made at the first look: a run may begin after its watcher.
    resource: Option<Resource>,
    /// What the user says of it.
    attributes: Vec<(String, String)>,
    since_ns: u64,
    /// A look since the last that was taken.
    last: Option<LiveDocument>,
}

/// A collector as a command line gives it, if it is one.
pub(crate) fn place(text: &str) -> Result<String, String> {
    target(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn target(place: &str) -> Result<Target, rankscope_otlp::Error> {
    Target::new(place, |name| std::env::var(name).ok())
}

impl Otlp {
    /// Pushes figures of the run in `run` to `place` from now on.
    pub(super) fn start(place: &str, run: &Path) -> Result<Self> {
        let target = target(place)?;
        let (place, attributes) = (target.to_string(), target.attributes.clone());
        let said = format!("rankscope: {place}");
        let exporter = Exporter::start(target, move |trouble| output::remark(&format!("{said} {trouble}")));
        let exporter = exporter.context("a thread cannot be started")?;
        Ok(Self { exporter, place, run: run.to_owned(), resource: None, attributes, since_ns: now_ns(), last: None })
    }

    /// Looks that the collector has not got and will not get.
    pub(super) fn lost(&self) -> u64 {
        self.exporter.tally().lost
    }

    /// Takes a look, and pushes it if it is time for one.
    pub(super) fn take(&mut self, document: LiveDocument, counts: &LiveCounts) {
        let now = Instant::now();
        if self.exporter.is_due(now) {
            self.last = None;
            self.push(&document, counts, now);
        } else {
            self.last = Some(document);
        }
    }

    /// The job is over: what came last is pushed, if that takes no time.
    pub(super) fn end(mut self, counts: &LiveCounts) {
        if let Some(document) = self.last.take() {
            self.push(&document, counts, Instant::now());
        }
        let tally = self.exporter.end(LAST);
        if tally.lost > 0 {
            let all = tally.lost + tally.accepted;
            output::remark(&format!("rankscope: {}: {} of {all} looks at the job did not get there", self.place, tally.lost));
        }
    }

    fn push(&mut self, document: &LiveDocument, counts: &LiveCounts, now: Instant) {
        let resource = self.resource.get_or_insert_with(|| resource(&self.run, document, &self.attributes)).clone();
        let time_ns = document.time_ns.max(0).unsigned_abs();
        let look = Look { resource, figures: live_figures(document, counts), time_ns, since_ns: self.since_ns };
        self.exporter.take(look, now);
    }
}

/// By OpenTelemetry's conventions; what the user says comes last and holds.
fn resource(run: &Path, document: &LiveDocument, said: &[(String, String)]) -> Resource {
    // A look was had, so the run is there; if it went meanwhile, its name is all that is known.
    let id = RunDirectory::open(run).map_or_else(|_| document.title.clone(), |run| run.manifest().run_id.clone());
    let own = [
        ("service.name", "rankscope".to_owned()),
        ("service.version", document.rankscope_version.clone()),
        // Watchers of several jobs on one host are several instances.
        ("service.instance.id", id.clone()),
        ("host.name", host()),
        ("rankscope.run.id", id),
        ("rankscope.run.name", document.title.clone()),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    Resource { attributes: own.into_iter().chain(said.iter().cloned()).collect(), version: document.rankscope_version.clone() }
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
