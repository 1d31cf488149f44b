//! What changed from one side to another, and how sure that is: documents of runs in, a [`CompareDocument`] out.
//!
//! A *side* is a configuration, of one or several runs; the first side is the base, and every other is compared with it. Evidence is
//! rankscope-stats': what one observation is, what an interval holds and when there is a verdict. What is decided here is which series of
//! values a document has, whether two sides can be compared at all, what a change is made of, and what was
//! added, removed or replaced.
//!
//! Reads no file and draws nothing: a side is made of report documents, wherever they are from.
//!
//! # Example
//!
//! ```
//! use rankscope_compare::{Run, Settings, Side, compare};
//! use rankscope_document::{ChangeVerdict, Document, Rank, Step, Time};
//!
//! let run = |name: &str, step_ns: i64| {
//!     let step = |number| Step { step: number, window_ns: [0, 0], time_ns: Time { total: step_ns + number % 3, ..Time::default() } };
//!     let rank = Rank { steps: (0..40).map(step).collect(), ..Rank::default() };
//!     Run::new(name, Document { ranks: vec![rank], ..Document::default() })
//! };
//! let sides = [Side::new("base", vec![run("base", 1_000)]), Side::new("test", vec![run("test", 1_200)])];
//! let compared = compare(&sides, &Settings::default());
//! let step = &compared.first.metrics[0];
//! assert_eq!((step.name.as_str(), step.shift), ("step_ns", Some(200.0)));
//! // One run a side: these two differ, and whether their configurations do is another question.
//! assert_eq!(step.verdict, ChangeVerdict::Differs);
//! ```

pub mod beside;
mod common;
mod comparable;
mod contributions;
mod evidence;
mod gate;
mod history;
mod iterations;
mod longest;
mod names;
mod pair;
mod plotted;
mod policy;
mod ranking;
mod series;
mod settings;
mod side;
mod steps;
mod strips;
mod structure;
mod work;

pub use gate::gate;
pub use history::{Past, history, run_spreads};
pub use policy::{METRICS_MAX, Policy, PolicyError, draft};
pub use settings::{RunSpread, Settings};
pub use side::{Run, Side};

use rankscope_document::{CompareDocument, Comparison};

/// Layout version of the document.
const SCHEMA: u32 = 1;

/// Every side of `sides` beside the first of them. One side alone is compared with itself.
pub fn compare(sides: &[Side], settings: &Settings) -> CompareDocument {
    let common = comparable::in_common(sides);
    let Some((base, tests)) = common.sides.split_first() else { return CompareDocument::default() };
    let mut pairs = tests.iter().map(|test| pair::compared(base, test, settings));
    let first = pairs.next().unwrap_or_else(|| pair::compared(base, base, settings));
    let others: Vec<Comparison> = pairs.collect();
    let (base, tests) = (&sides[0], &sides[1..]);
    let beside = std::iter::once(&first).chain(&others).zip(tests);
    let side_by_side = beside.map(|(compared, test)| beside::of(base, test, compared, settings)).collect();
    CompareDocument {
        schema: SCHEMA,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        sides: sides.iter().map(Side::described).collect(),
        notes: comparable::notes(&common),
        first,
        others,
        side_by_side,
        series: plotted::series(&common.sides),
        ranking: ranking::of(&common.sides, settings),
        strips: strips::strips(&common.sides),
        gate: None,
    }
}
