//! [`Running`]: rocprofiler at work for one session, from starting the context of work to the last record.
//!
//! The end stops the context and has rocprofiler hand over what is complete. It does not wait for devices: a program that wants its last
//! kernels waits for them before it ends the session.
#![expect(unsafe_code, reason = "the tool is given functions that stay")]

use rankscope_devices::{Worker, mapped_files};

use crate::abi::Status;
use crate::absent::Absent;
use crate::counts::Counts;
use crate::decode::Decoder;
use crate::edge;
use crate::hub::Hub;
use crate::options::RocprofilerOptions;
use crate::places::has_runtime;
use crate::probe::refusal;
use crate::worker::{Collected, Collector};

/// A session at work.
pub struct Running {
    pub(crate) hub: &'static Hub,
    worker: Worker<Collected>,
}

impl Running {
    /// Begins.
    ///
    /// # Errors
    /// Why there will be nothing. Then nothing was begun.
    pub(crate) fn begin(hub: &'static Hub, options: &RocprofilerOptions) -> Result<Self, Absent> {
        if !hub.switch.begin() {
            return Err(Absent::InUse);
        }
        Self::with_hub(hub, options).inspect_err(|_| hub.switch.end())
    }

    fn with_hub(hub: &'static Hub, options: &RocprofilerOptions) -> Result<Self, Absent> {
        // SAFETY: they are there as long as the process.
        unsafe { (hub.tool.receive)(&raw const edge::RECEIVERS) };
        let decoder = Decoder::new(hub, hub.gpus.clone(), options.calls, hub.streams_status() == 0);
        let worker = Worker::start("rankscope-rocprofiler", Collector::new(hub, decoder), options.flush_every);
        let worker = worker.map_err(|error| Absent::NoRoom { what: "a thread", said: error.to_string() })?;
        let started = Status((hub.tool.start)()).done();
        // Without a context the thread ends with nothing.
        started.map_err(|status| refusal(&hub.library, "rocprofiler_start_context", status))?;
        Ok(Self { hub, worker })
    }

    /// Ends, and returns what came of it.
    pub(crate) fn end(self) -> Ended {
        let Self { hub, worker } = self;
        hub.switch.end();
        // What they return says nothing that the records do not say.
        let _ = (hub.tool.stop)();
        let _ = (hub.tool.flush)();
        let was_late = hub.tool.tells_of_runtimes != 0 && (hub.tool.runtimes)() == 0 && has_runtime(&mapped_files());
        Ended { collected: worker.finish(), refused: Vec::new(), absent: was_late.then_some(Absent::HipWasUp) }
    }
}

/// What came of a session.
pub(crate) type Ended = rankscope_devices::Ended<Absent, Counts>;
