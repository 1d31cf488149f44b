//! The in-process recorder.

pub mod schedule;
mod scope;
mod value;

pub use rankscope_formats::recording::{Categories, Category};
pub use scope::Scope;
pub use value::Value;
