//! The in-process recorder.

mod scope;
mod value;

pub use rankscope_formats::recording::{Categories, Category};
pub use scope::Scope;
pub use value::Value;
