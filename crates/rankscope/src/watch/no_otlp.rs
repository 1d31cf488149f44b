//! A build that pushes no figures, and says so.

use std::convert::Infallible;
use std::path::Path;

use anyhow::{Result, bail};
use rankscope_document::LiveDocument;
use rankscope_report::LiveCounts;

const NONE: &str = "this build pushes no figures; build one that does: cargo install --path crates/rankscope --features otlp";

/// There is none.
pub(super) struct Otlp(Infallible);

/// Refuses any.
pub(crate) fn place(_: &str) -> Result<String, String> {
    Err(NONE.to_owned())
}

impl Otlp {
    pub(super) fn start(_: &str, _: &Path) -> Result<Self> {
        bail!(NONE)
    }

    pub(super) fn lost(&self) -> u64 {
        match self.0 {}
    }

    pub(super) fn take(&mut self, _: LiveDocument, _: &LiveCounts) {
        match self.0 {}
    }

    pub(super) fn end(self, _: &LiveCounts) {
        match self.0 {}
    }
}
