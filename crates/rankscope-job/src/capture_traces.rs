//! Capture traces: files that hold the capture of graphs which other files launch.
//!
//! Inference engines profile the capture of their graphs by itself and leave that trace beside the trace of the run. It is neither a rank of
//! its own nor a window to compare: what it captured counts where it runs, for the operators of the tables. A file is one if it captures
//! graphs, launches none and marks at most one step, and any other file launches graphs. Else it is a trace like all others.

use std::fmt;

use crate::Part;

/// A capture trace that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaptureTrace {
    file: String,
}

impl fmt::Display for CaptureTrace {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}, a capture trace: other traces launch the graphs that it captured", self.file)
    }
}

/// Takes the capture traces out of `parts`.
pub(crate) fn set_aside(parts: &mut Vec<Part>) -> Vec<CaptureTrace> {
    let mut aside = Vec::new();
    if parts.iter().any(|part| part.about.graphs.launches > 0) {
        parts.retain(|part| {
            let is_capture_trace =
                part.about.graphs.captures > 0 && part.about.graphs.launches == 0 && part.about.marked_steps.len() < 2;
            if is_capture_trace {
                aside.push(CaptureTrace { file: part.about.file.clone() });
            }
            !is_capture_trace
        });
    }
    aside
}

#[cfg(test)]
mod tests {
    use rankscope_analyze::Classes;
    use rankscope_tables::GraphCalls;
    use rankscope_trace::Trace;

    use super::*;

    fn part(file: &str, captures: u64, launches: u64, steps: usize) -> Part {
        let mut trace = Trace::default();
        trace.provenance.file = file.to_owned();
        let mut part = Part::of(&mut trace, &Classes::default());
        part.about.graphs = GraphCalls::new(captures, launches);
        part.about.marked_steps = (0..steps as i64).collect();
        part
    }

    fn aside(parts: &[(&str, u64, u64, usize)]) -> Vec<String> {
        let mut parts =
            parts.iter().map(|(file, captures, launches, steps)| part(file, *captures, *launches, *steps)).collect();
        set_aside(&mut parts).into_iter().map(|one| one.file).collect()
    }

    #[test]
    fn a_file_that_only_captures_is_set_aside_where_another_launches() {
        assert_eq!(aside(&[("run", 0, 9, 5), ("capture", 3, 0, 1), ("eager", 0, 0, 0)]), ["capture"]);
    }

    #[test]
    fn a_window_of_steps_and_a_lone_capture_are_traces_like_others() {
        assert_eq!(aside(&[("run", 1, 9, 5), ("window", 1, 0, 2)]), [""; 0]);
        assert_eq!(aside(&[("capture", 3, 0, 0), ("eager", 0, 0, 0)]), [""; 0]);
    }
}
