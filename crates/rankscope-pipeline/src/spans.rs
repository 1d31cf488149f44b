//! The spans of traces, read for whoever looks at them by name, and the document of that.

mod document;

use std::path::PathBuf;

use rankscope_analyze::spans::{Nesting, SpansOf, process_names};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_run::discover_all;
use rankscope_trace::Trace;
use rayon::prelude::*;

pub use self::document::spans_document;
use crate::read::Reading;
use crate::read_all::{Loaded, read_all};
use crate::{Error, Progress};

/// Traces with what is known of their spans; lists have one entry a trace.
#[derive(Debug)]
pub struct ReadSpans {
    loaded: Loaded,
    nestings: Vec<Nesting>,
    /// What the processes are called.
    names: Vec<String>,
}

impl ReadSpans {
    /// Reads what `paths` mean. With `partial`, files that cannot be read are passed over.
    ///
    /// # Errors
    /// [`Error::Run`] where nothing is found, and those of [`read_all`].
    pub fn of(paths: &[PathBuf], args: ArgsPolicy, partial: bool, progress: &dyn Progress) -> Result<Self, Error> {
        let files = discover_all(paths)?.files;
        let loaded = read_all(&files, Reading { args, scope: Scope::All }, partial, progress)?;
        let nestings = loaded.traces.par_iter().map(Nesting::of).collect();
        let names = process_names(&loaded.traces, |trace| trace.provenance.own_rank());
        Ok(Self { loaded, nestings, names })
    }

    /// The spans of each trace.
    pub fn spans(&self) -> Vec<SpansOf<'_>> {
        let parts = self.loaded.traces.iter().zip(&self.nestings).zip(&self.names);
        parts.map(|((trace, nesting), process)| SpansOf { process, trace, nesting }).collect()
    }

    /// Files that are no traces, and why they are passed over.
    pub fn skipped(&self) -> &[String] {
        &self.loaded.skipped
    }

    /// The traces.
    pub fn traces(&self) -> &[Trace] {
        &self.loaded.traces
    }
}
