//! What the tables of a rank lack, and why: for whoever wonders where a row or a figure is.

use rankscope_trace::{ProblemKind, Trace};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::rows::join_rows;
use crate::{Attribution, CaptureFile, GraphRemarks, NoFigures, PerformanceRow};

/// What is missing or odd in a trace, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Remarks {
    /// Pieces of device work.
    pub work: u64,
    /// Pieces of work whose launch is not recorded.
    pub without_launch: u64,
    /// Calls that launch kernels and graphs of which no work is recorded.
    pub without_work: u64,
    /// Correlation ids that several calls have which do not lie in each other.
    pub shared_ids: u64,
    /// Spans of threads that outlast one that they began in.
    pub overruns: u64,
    /// What became of the work of graphs.
    #[serde(default)]
    pub graphs: GraphRemarks,
    /// Other files of the rank that its graphs may have been captured in.
    #[serde(default)]
    pub capture_files: Vec<CaptureFile>,
    /// Pieces of work whose length is 0 in a trace with lengths that cannot be read.
    #[serde(default)]
    pub without_length: u64,
}

/// What reading says of a length that nobody can have measured, which then counts as 0.
const UNREADABLE: [ProblemKind; 3] = [ProblemKind::NegativeDuration, ProblemKind::OverflowedDuration, ProblemKind::BadNumber];

impl Remarks {
    pub(crate) fn of(trace: &Trace, attribution: &Attribution) -> Self {
        let launching: FxHashSet<_> = attribution.work.iter().filter_map(|one| one.launch).collect();
        let with_work: FxHashSet<u64> = attribution.work.iter().filter_map(|one| trace.correlations.get(one.work)).collect();
        let is_idle = |(call, id): &(rankscope_trace::SpanId, u64)| {
            trace.kind(*call).is_launch()
                && !launching.contains(call)
                && !with_work.contains(id)
                && !attribution.captured.contains(call)
                && launches(trace.strings.text(trace.spans.name[call.0 as usize]))
        };
        Self {
            work: attribution.work.len() as u64,
            without_launch: attribution.work.iter().filter(|one| one.launch.is_none()).count() as u64,
            without_work: trace.correlations.iter().filter(is_idle).count() as u64,
            shared_ids: attribution.shared_ids,
            overruns: attribution.nesting.overruns(),
            graphs: attribution.graphs,
            capture_files: Vec::new(),
            without_length: without_length(trace, attribution),
        }
    }

    /// Adds those of another stretch of time.
    pub(crate) fn join(&mut self, later: Self) {
        self.work += later.work;
        self.without_launch += later.without_launch;
        self.without_work += later.without_work;
        self.shared_ids += later.shared_ids;
        self.overruns += later.overruns;
        self.without_length += later.without_length;
        self.graphs.join(later.graphs);
        let tied = |file: &mut CaptureFile, more: CaptureFile| {
            file.tied = [file.tied[0] + more.tied[0], file.tied[1] + more.tied[1]];
        };
        join_rows(&mut self.capture_files, later.capture_files, |file| file.file.clone(), tied);
    }

    /// In sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut say = |count: u64, text: String| all.extend((count > 0).then_some(text));
        say(
            u64::from(self.work == 0),
            "No device work is recorded: tables of operators and kernels are empty, and idle time and overlap, which are those of \
             devices, are 0."
                .to_owned(),
        );
        let Self { work, without_launch, without_work, shared_ids, overruns, graphs, capture_files, without_length } = self;
        say(
            *without_launch,
            format!("The trace does not say what launched {without_launch} of its {work} kernels, copies and fills."),
        );
        say(
            *without_work,
            format!("{without_work} calls launched kernels that the trace does not have; they are in no table."),
        );
        say(
            *shared_ids,
            format!(
                "{shared_ids} correlation ids belong to several calls; work counts for the last of them that began before it."
            ),
        );
        say(*overruns, format!("{overruns} spans end after the span that they began in; they do not count as called by it."));
        say(
            *without_length,
            format!(
                "{without_length} kernels, copies and fills count with a length of 0, as the trace has lengths that are negative or \
                 that nobody can have measured: sums, means and least values are too small where they are."
            ),
        );
        all.extend(graphs.sentences());
        all.extend(capture_files.iter().map(CaptureFile::sentence));
        all
    }

    /// Why there are no rooflines on a card of this name.
    pub fn of_card(device: &str) -> String {
        format!("The card {device:?} is not among those that are known, so there are no rooflines; --cards adds it.")
    }

    /// Why operators in `rows` that have a model have no figures, in sentences.
    pub fn of_figures(rows: &[PerformanceRow]) -> Vec<String> {
        let why = [
            (NoFigures::NotRecorded, "shapes are not recorded (record_shapes=True)"),
            (NoFigures::Cut, "the profiler cut a list of inputs"),
            (NoFigures::UnknownType, "the type of an input is not known"),
            (NoFigures::Unfit, "inputs are not as the model expects them, or a count does not fit 64 bits"),
        ];
        let sentence = |(why, text): (NoFigures, &str)| {
            let rows = rows.iter().filter(|row| row.why_none == Some(why));
            let count: u64 = rows.map(|row| row.operator.time.spread.count).sum();
            (count > 0).then(|| format!("{count} operators that have a model have no figures: {text}."))
        };
        why.into_iter().filter_map(sentence).collect()
    }
}

/// Work without a length, where the trace has lengths that cannot be read.
fn without_length(trace: &Trace, attribution: &Attribution) -> u64 {
    let problems = &trace.provenance.problems;
    if UNREADABLE.iter().all(|kind| problems.count(*kind) == 0) {
        return 0;
    }
    attribution.work.iter().filter(|one| trace.spans.dur_ns[one.work.0 as usize] == 0).count() as u64
}

/// Whether calls of this name launch kernels.
fn launches(call: &str) -> bool {
    call.contains("LaunchKernel") || call.contains("GraphLaunch") || call.contains("LaunchCooperative")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RankTables;
    use crate::made::Made;

    #[test]
    fn what_is_missing_is_said() {
        let mut made = Made::default();
        made.operator("aten::mm", 0, 20);
        made.operator("aten::late", 15, 30);
        made.launch("cudaLaunchKernel", 2, 2, 1);
        made.launch("cudaLaunchKernel", 5, 2, 2);
        made.launch("cudaStreamSynchronize", 8, 2, 3);
        made.launch("cudaLaunchKernel", 11, 2, 9);
        made.kernel("k", 7, 300, 5, 9);
        made.launch("cudaLaunchKernel", 60, 2, 1);
        made.kernel("k", 7, 100, 5, 1);
        made.kernel("k", 7, 200, 5, 77);
        let tables = RankTables::of(&made.trace);
        let expected =
            Remarks { work: 3, without_launch: 1, without_work: 1, shared_ids: 1, overruns: 1, ..Remarks::default() };
        assert_eq!(tables.remarks, expected);
        assert_eq!(tables.remarks.sentences().len(), 4);
        let figures = Remarks::of_figures(&tables.performance);
        assert_eq!(figures, ["1 operators that have a model have no figures: shapes are not recorded (record_shapes=True)."]);
        assert_eq!(tables.remarks.without_length, 0);
        assert!(RankTables::of(&Trace::default()).remarks.sentences()[0].starts_with("No device work"));
    }
    #[test]
    fn lengths_that_cannot_be_read_are_said_where_they_count() {
        let mut made = Made::default();
        made.launch("cudaLaunchKernel", 2, 2, 1);
        made.kernel("k", 7, 10, 0, 1);
        made.kernel("k", 7, 20, 5, 1);
        assert_eq!(RankTables::of(&made.trace).remarks.without_length, 0, "it may have been as short");
        made.trace.provenance.problems.add(ProblemKind::OverflowedDuration, 618);
        let remarks = RankTables::of(&made.trace).remarks;
        assert_eq!(remarks.without_length, 1);
        assert!(
            remarks.sentences().iter().any(|text| text.starts_with("1 kernels, copies and fills count with a length of 0"))
        );
    }
}
