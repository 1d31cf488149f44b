//! The in-process recorder.

mod category;
pub mod kineto;
mod scope;
mod value;

pub use category::{Categories, Category};
pub use scope::Scope;
pub use value::Value;
