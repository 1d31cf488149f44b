//! The extension module `rankscope._native`: what Python cannot say by itself. It translates, and decides nothing; the names that users see
//! are in `python/rankscope`, with their documentation.

mod analysis;
mod clock_agent;
mod command;
mod dispatch;
mod job_store;
mod recording;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::analysis::{Answer, Table, align, clock_fit, compare, panic_in_work, report, validate, what_if};
    #[pymodule_export]
    use super::clock_agent::ClockAgent;
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::dispatch::dispatch;
    #[pymodule_export]
    use super::recording::{
        InCollective, Phase, Plan, PySession, Recorded, Span, Step, Work, counter, end_call, end_frames, enter_collective,
        figures, flow_point, folded_stacks, functions_off, functions_on, has_page, instant, metadata, moves, on_begin, on_call,
        on_collection, on_end, on_native_end, on_profile, on_throw, on_unwind, own_rank, phase, process_name, profile_natives,
        record_function,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::recording::look(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
