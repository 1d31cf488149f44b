//! The screen of `rankscope top`: what is shown of a job at one moment, what keys and the mouse do to it, and how it is drawn.
//!
//! [`Top`] is all there is to know about the screen. It takes documents ([`Top::take`]) and what a user does ([`Top::handle`]), and draws
//! itself on a frame of any size ([`Top::draw`]). There is no terminal here and no time: whoever has a terminal passes on what it says,
//! and tests draw on a buffer. Names that a job gave are drawn without anything that could steer a terminal.
//!
//! ```
//! use rankscope_document::{LiveDocument, LiveRank};
//! use rankscope_top::{Asked, Input, Key, Paint, Top};
//! use ratatui::{Terminal, backend::TestBackend};
//!
//! let late = LiveRank { rank: 2, lateness_ns: Some(11_000_000), clock_error_ns: Some(23_000), ..LiveRank::default() };
//! let mut top = Top::new(Paint { color: false });
//! top.take(LiveDocument { title: "a-run".to_owned(), ranks: vec![late], ..LiveDocument::default() });
//! let mut terminal = Terminal::new(TestBackend::new(80, 24))?;
//! terminal.draw(|frame| top.draw(frame))?;
//! assert!(terminal.backend().to_string().contains("11.0 ms"));
//! assert_eq!(top.handle(Input::Key(Key::Char('q'))), Asked::Quit);
//! # Ok::<(), std::convert::Infallible>(())
//! ```

mod collectives;
mod column;
mod detail;
mod draw;
mod foot;
mod header;
mod help;
mod input;
mod links;
mod nodes;
mod paint;
mod ranks;
mod scene;
mod state;
mod table;
mod trend;
mod update;
mod view;

pub use input::{Asked, Input, Key};
pub use paint::Paint;
pub use state::Top;
pub use view::View;
