//! Analysis from Python: keyword arguments become the requests that the command makes of the same options, the pipeline answers, and
//! documents become Python's dictionaries and Arrow's tables. Nothing is computed here.

mod answer;
mod comparison;
mod failure;
mod fit;
mod job_report;
mod object;
mod options;
mod table;
mod tables;
mod verbs;
mod work;

pub(crate) use answer::Answer;
pub(crate) use comparison::compare;
pub(crate) use fit::clock_fit;
pub(crate) use job_report::report;
pub(crate) use table::Table;
pub(crate) use verbs::{align, validate, what_if};
pub(crate) use work::panic_in_work;
