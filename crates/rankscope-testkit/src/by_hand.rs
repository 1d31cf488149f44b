//! [`ByHand`]: a trace of a few calls, kernels and records of waits, each put where a test wants it. A [`Job`](crate::Job) keeps the laws of
//! devices; what is made by hand need not.

/// A trace in the making: its events as Kineto's JSON. Times are microseconds, and the host is process 9 with one thread.
#[derive(Clone, Debug, Default)]
pub struct ByHand {
    events: Vec<String>,
    calls: u64,
}

impl ByHand {
    /// A span in that process and thread, from `at` on for `dur`; `args` are members of a JSON object.
    pub fn event(&mut self, category: &str, name: &str, (pid, tid): (i64, i64), (at, dur): (u64, u64), args: &str) {
        self.events.push(format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":{pid},"tid":{tid},"ts":{at},"dur":{dur},"args":{{{args}}}}}"#
        ));
    }

    /// A call of the host; returns its number.
    pub fn call(&mut self, name: &str, at: u64, dur: u64) -> u64 {
        self.calls += 1;
        self.event("cuda_runtime", name, (9, 9), (at, dur), &format!(r#""correlation":{}"#, self.calls));
        self.calls
    }

    /// The number of the last call.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// A kernel, launched at `launched`.
    pub fn kernel(&mut self, name: &str, stream: i64, launched: u64, during: (u64, u64)) {
        self.kernel_with(name, stream, launched, during, r#""device":0"#);
    }

    /// A kernel with more arguments.
    pub fn kernel_with(&mut self, name: &str, stream: i64, launched: u64, (from, to): (u64, u64), args: &str) {
        let number = self.call("cudaLaunchKernel", launched, 2);
        let args = format!(r#""correlation":{number},"stream":{stream},{args}"#);
        self.event("kernel", name, (0, stream), (from, to - from), &args);
    }

    /// An event recorded at `at`; returns the number of the call.
    pub fn record(&mut self, at: u64) -> u64 {
        self.call("cudaEventRecord", at, 1)
    }

    /// From `at` on, stream `own` waits for the event that call `record` recorded on `stream`.
    pub fn wait(&mut self, at: u64, own: i64, stream: i64, record: u64) {
        let number = self.call("cudaStreamWaitEvent", at, 1);
        self.waits("Stream Wait Event", number, at, own, &Self::awaited(stream, record));
    }

    /// What the profiler records of the wait that call `number` began, of stream `own`; the host's is -1.
    pub fn waits(&mut self, kind: &str, number: u64, at: u64, own: i64, awaited: &str) {
        self.event("cuda_sync", kind, (0, own), (at, 1), &format!(r#""correlation":{number},"stream":{own},{awaited}"#));
    }

    /// The arguments that name the event that call `record` recorded on `stream`.
    pub fn awaited(stream: i64, record: u64) -> String {
        format!(r#""wait_on_stream":{stream},"wait_on_cuda_event_record_corr_id":{record},"wait_on_cuda_event_id":3"#)
    }

    /// The events, as a file has them.
    pub fn events(&self) -> String {
        format!("[{}]", self.events.join(","))
    }
}
