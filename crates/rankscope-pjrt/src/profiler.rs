//! [`Profiler`]: what a host makes, starts, stops and collects: a session of ours, and the vendor's beside it, if there is one.
//!
//! Ours begins first and ends last, so that its anchors are around all that the vendor records. Whatever the vendor does, the answer is
//! that of ours.

use std::sync::Arc;

use crate::failure::Failure;
use crate::forwarded::Forwarded;
use crate::session::Session;

/// A profiler of a host.
#[derive(Debug)]
pub(crate) struct Profiler {
    own: Arc<Session>,
    vendors: Option<Forwarded>,
}

impl Profiler {
    pub(crate) fn new(vendors: Option<Forwarded>) -> Self {
        Self { own: Arc::default(), vendors }
    }

    pub(crate) fn start(&self) -> Result<(), Failure> {
        self.own.start()?;
        if let Some(vendors) = &self.vendors {
            vendors.start();
        }
        Ok(())
    }

    pub(crate) fn stop(&self) -> Result<(), Failure> {
        if let Some(vendors) = &self.vendors {
            vendors.stop();
        }
        self.own.stop()
    }

    /// One XSpace of both: fields of messages that follow each other are those of one message.
    pub(crate) fn collect(&self) -> Result<Arc<[u8]>, Failure> {
        self.own.collect(|| self.vendors.as_ref().map(Forwarded::collect).unwrap_or_default())
    }
}
