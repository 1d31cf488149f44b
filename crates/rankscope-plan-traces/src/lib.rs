//! What traces tell of plans. Of a job that ran one: which recorded all-to-all is which exchange, what each took beside the prediction,
//! and where a trace contradicts the plan ([`exchanges`], [`document`]). Of any job: what its collectives tell of the network
//! ([`samples`]).
//!
//! Works on jobs that are judged and on traces in memory; opens nothing. Refuses to guess: an all-to-all that fits no exchange is a
//! contradiction, unless the caller says that others may be there.

mod document;
mod error;
mod exchanges;
mod samples;

pub use document::document;
pub use error::{ExchangesError, NothingMeasured};
pub use exchanges::{Met, MetExchange, exchanges};
pub use samples::samples;
