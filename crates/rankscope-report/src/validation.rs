//! What validation found: in sentences, for the terminal and the page, and the page itself.

mod page;
mod rules;
mod sentence;

pub use page::validation_html;
pub use sentence::validation_sentences;
