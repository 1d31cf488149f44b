//! How many replays of graphs count for the operators that were captured, and why the others do not.

use serde::{Deserialize, Serialize};

use super::{CaptureFile, Untied};

/// Launches of graphs, and the kernels, copies and fills that they ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct GraphRemarks {
    /// Launches whose work counts for the operators that were captured, and that work.
    pub tied: [u64; 2],
    /// Those before which the trace has no capture. From here on, work counts for the launch.
    pub without_capture: [u64; 2],
    /// Those that ran on several streams, of which the profiler records no node ids.
    pub of_several_streams: [u64; 2],
    /// Those that ran something else than every capture.
    pub unequal: [u64; 2],
    /// Those that fit a capture whose kernels are not known.
    pub unnamed: [u64; 2],
    /// Those that fit several captures.
    pub of_several_captures: [u64; 2],
}

impl GraphRemarks {
    pub(super) fn add(&mut self, untied: Option<Untied>, work: u64) {
        let sums = match untied {
            None => &mut self.tied,
            Some(Untied::NoCapture) => &mut self.without_capture,
            Some(Untied::SeveralStreams) => &mut self.of_several_streams,
            Some(Untied::Unequal) => &mut self.unequal,
            Some(Untied::Unnamed) => &mut self.unnamed,
            Some(Untied::Several) => &mut self.of_several_captures,
        };
        *sums = [sums[0] + 1, sums[1] + work];
    }

    /// Whether work of graphs counts for its launch for want of a capture that another file may have.
    pub fn is_capture_wanted(&self) -> bool {
        [self.without_capture, self.unequal, self.unnamed].iter().any(|[launches, _]| *launches > 0)
    }

    /// Adds those of another stretch of time.
    pub(crate) fn join(&mut self, later: Self) {
        let pairs = [
            (&mut self.tied, later.tied),
            (&mut self.without_capture, later.without_capture),
            (&mut self.of_several_streams, later.of_several_streams),
            (&mut self.unequal, later.unequal),
            (&mut self.unnamed, later.unnamed),
            (&mut self.of_several_captures, later.of_several_captures),
        ];
        for (own, later) in pairs {
            *own = [own[0] + later[0], own[1] + later[1]];
        }
    }

    /// In sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let operators = "their operators are not known, and they count for the launch";
        let why = [
            (self.tied, "They count for the operators that the graphs were captured from.".to_owned()),
            (self.without_capture, format!("The trace has no capture before the launches: {operators}.")),
            (self.of_several_streams, format!("They ran on several streams, and no node ids are recorded: {operators}.")),
            (self.unequal, format!("No capture in the trace has the same kernels in the same order: {operators}.")),
            (
                self.unnamed,
                format!(
                    "A capture has as many launches, but neither they nor the same operators outside of it tell which \
                     kernels they are: {operators}."
                ),
            ),
            (self.of_several_captures, format!("Several captures of other operators or shapes fit: {operators}.")),
        ];
        let sentence = |([launches, work], text): ([u64; 2], String)| {
            (launches > 0).then(|| format!("{launches} graph launches ran {work} kernels, copies and fills. {text}"))
        };
        why.into_iter().filter_map(sentence).collect()
    }
}

impl CaptureFile {
    /// What became of it, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { file, captures, tied: [launches, work] } = self;
        let count = format!("{captures} {}", if *captures == 1 { "capture" } else { "captures" });
        match launches {
            0 => {
                format!("{file}, another file of the rank, holds {count}, of which no graph launch here is certain to run one.")
            }
            _ => format!(
                "{file}, another file of the rank, holds {count}: {launches} of those graph launches, with {work} kernels, copies and \
                 fills, ran one."
            ),
        }
    }
}
