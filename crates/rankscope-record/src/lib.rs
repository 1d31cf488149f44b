//! The in-process recorder.

mod category;
pub mod schedule;
mod scope;
mod value;

pub use category::{Categories, Category};
pub use scope::Scope;
pub use value::Value;
