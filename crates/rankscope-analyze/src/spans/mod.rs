//! What each name of span costs, of any program: how often, how long in all, how much of that itself.
//!
//! The idea: at any instant a thread's time belongs to the span that began last among those that are open on it. For spans that
//! nest, that is a span's time without that of the spans inside it; for spans that overlap it is still defined, and the self
//! times of a thread always add up to the time that any of its spans covers. An asynchronous span belongs to no thread: it has
//! a length, which includes waiting, and no time of its own.
//!
//! What is not here: steps, collectives and devices, which the rest of the crate is about, and clocks: lengths need none.

mod names;
mod nesting;
mod parts;
mod stacks;
mod table;
mod training;

pub use names::process_names;
pub use nesting::Nesting;
pub use parts::{Selection, thread_label};
pub use stacks::{Stack, Stacks};
pub use table::{By, Order, SpanStats, SpanTable, SpansOf, counts};
pub use training::is_training;
