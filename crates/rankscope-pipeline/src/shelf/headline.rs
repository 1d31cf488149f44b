//! What the report of a run says first: in one line, and where in the timeline. A report is read once, and again where it was written again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rankscope_document::{Note, NoteLevel};
use rankscope_run::open_beneath;
use rankscope_serve::TimelinePlace;
use serde::Deserialize;

use super::written_unix_ns;

/// Bytes of a report.json that is looked into; those of jobs of thousands of ranks with all tables have some hundred megabytes.
const REPORT_BYTES_MAX: u64 = 512 << 20;

/// What the list of runs shows of a report.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) headline: String,
    /// The longest step of the rank that it names first.
    pub(super) place: Option<TimelinePlace>,
    pub(super) ranks: Option<usize>,
    pub(super) written_unix_ns: i64,
    pub(super) problem: Option<String>,
}

/// What is known of reports, by their folders, sizes and times.
#[derive(Debug, Default)]
pub(super) struct Headlines(Mutex<BTreeMap<PathBuf, (u64, i64, Said)>>);

/// As much of a report as is read.
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    advice: Vec<Advice>,
    #[serde(default)]
    notes: Vec<Note>,
    #[serde(default)]
    verdict: Verdict,
    #[serde(default)]
    ranks: Vec<Rank>,
}

#[derive(Deserialize)]
struct Advice {
    title: String,
    #[serde(default)]
    ranks: Vec<u32>,
}

#[derive(Default, Deserialize)]
struct Verdict {
    #[serde(default)]
    late: Vec<LateRank>,
}

#[derive(Deserialize)]
struct LateRank {
    rank: u32,
}

#[derive(Deserialize)]
struct Rank {
    rank: u32,
    #[serde(default)]
    window_ns: [i64; 2],
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    window_ns: [i64; 2],
}

impl Report {
    /// The longest step of the rank that is named first, or else of the first rank; without steps all that it recorded.
    fn place(&self) -> Option<TimelinePlace> {
        let by_advice = self.advice.first().and_then(|advice| advice.ranks.first().copied());
        let named = by_advice.or(self.verdict.late.first().map(|late| late.rank));
        let rank = named.map_or(self.ranks.first(), |named| self.ranks.iter().find(|rank| rank.rank == named))?;
        let length = |[start, end]: &[i64; 2]| end.saturating_sub(*start);
        let [start_ns, end_ns] = rank.steps.iter().map(|step| step.window_ns).max_by_key(length).unwrap_or(rank.window_ns);
        Some(TimelinePlace { rank: rank.rank, start_ns, end_ns })
    }
}

impl Headlines {
    /// What the report in the run at `path` says; nothing where it has none.
    pub(super) fn of(&self, path: &Path) -> Said {
        let report =
            [&["report", "report.json"][..], &["report.json"]].into_iter().find_map(|names| open_beneath(path, names).ok());
        let Some((report, found)) = report.and_then(|report| report.metadata().ok().map(|found| (report, found))) else {
            return Said::default();
        };
        let (bytes, written_unix_ns) = (found.len(), written_unix_ns(&found));
        let known = |reports: &BTreeMap<PathBuf, (u64, i64, Said)>| {
            let (of_bytes, of_time, said) = reports.get(path)?;
            ((*of_bytes, *of_time) == (bytes, written_unix_ns)).then(|| said.clone())
        };
        let known = known(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        known.unwrap_or_else(|| {
            let said = Said { written_unix_ns, ..read(report) };
            let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            reports.insert(path.to_owned(), (bytes, written_unix_ns, said.clone()));
            said
        })
    }
}

fn read(report: File) -> Said {
    match serde_json::from_reader::<_, Report>(BufReader::new(report.take(REPORT_BYTES_MAX))) {
        Ok(report) => {
            let place = report.place();
            let Report { advice, notes, ranks, .. } = report;
            let finding = || notes.into_iter().find(|note| note.level == NoteLevel::Finding).map(|note| note.text);
            let headline = advice.into_iter().next().map(|advice| advice.title).or_else(finding).unwrap_or_default();
            Said { headline, place, ranks: Some(ranks.len()), ..Said::default() }
        }
        Err(error) => Said { problem: Some(format!("report.json cannot be read: {error}")), ..Said::default() },
    }
}
