//! Phases of a training job that the program marks, for whoever watches it while it runs.

use rankscope_record::live::{Phase as Marked, enter_phase, leave_phase};

use crate::guard::counted;

/// From here on the process is in a phase, a `RANKSCOPE_PHASE_`, in which it may be long before it does anything else, such as saving a
/// checkpoint: whoever watches the job while it runs is as patient as the phase asks for. Phases may lie in one another and end on any thread.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_phase_begin(phase: u32) {
    counted((), || marked(phase).map(enter_phase));
}

/// Ends a phase that was begun. One too many is counted.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_phase_end(phase: u32) {
    counted((), || leave_phase(marked(phase)?).then_some(()));
}

fn marked(phase: u32) -> Option<Marked> {
    Marked::ALL.into_iter().skip(1).find(|marked| *marked as u32 == phase)
}
