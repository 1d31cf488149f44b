//! One rank's work in true time: a host that launches ahead, a compute stream, a copy stream and two streams for collectives.
//!
//! The walk says what happens through a [`Sink`]; who only wants the arrivals passes one that does not listen. Its random
//! stream is the rank's own and drawn from in a fixed order, so that two walks over one rank are the same walk.

use crate::Job;
use crate::Rng;
use crate::job::START_NS;
use crate::schedule::{Exchange, Phase, Scope};

/// Hears what happens on one rank.
pub(crate) trait Sink {
    fn host(&mut self, _span: HostSpan) {}
    fn launch(&mut self, _launch: Launch) {}
    fn device(&mut self, _work: DeviceWork) {}
    /// An operator's forward or backward end of the arrow between the two.
    fn gradient(&mut self, _end: GradientEnd) {}
}

/// A host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    Main,
    Autograd,
}

impl Thread {
    /// Its number within the process.
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::Main => 0,
            Self::Autograd => 5,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HostSpan {
    pub(crate) thread: Thread,
    pub(crate) what: HostWork,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Ties device work to the operator that caused it; 0 for none.
    pub(crate) external: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum HostWork {
    Operator { name: &'static str, sequence: Option<u64> },
    Frame { depth: u32, site: u32 },
    Annotation(&'static str),
    Step(u32),
    CollectiveParams { exchange: Exchange, slot: u32 },
    CollectiveAnnotation { exchange: Exchange, slot: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) thread: Thread,
    pub(crate) call: &'static str,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) correlation: u64,
    pub(crate) external: u64,
    /// The collective it starts.
    pub(crate) slot: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceWork {
    pub(crate) what: DeviceKind,
    pub(crate) stream: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) correlation: u64,
    pub(crate) external: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum DeviceKind {
    Kernel(&'static str),
    Copy { to_device: bool, bytes: u64 },
    Fill { bytes: u64 },
    Collective { exchange: Exchange, slot: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct GradientEnd {
    pub(crate) id: u64,
    pub(crate) thread: Thread,
    pub(crate) at_ns: i64,
    pub(crate) finishes: bool,
}

/// Where one rank is.
pub(crate) struct Walk<'a> {
    job: &'a Job,
    rng: Rng,
    slowness: f64,
    host_ns: i64,
    compute_ns: i64,
    copy_ns: i64,
    comm_ns: [i64; 2],
    step: u32,
    step_start_ns: i64,
    correlation: u64,
    external: u64,
    /// Sequence number of each forward operator of the step, popped by the backward pass.
    gradients: Vec<u64>,
    pending: Option<Pending>,
}

/// A collective whose end is not known yet.
#[derive(Clone, Copy)]
struct Pending {
    thread: Thread,
    op_start_ns: i64,
    launch_start_ns: i64,
    launch_end_ns: i64,
    arrival_ns: i64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(job: &'a Job, rank: u32) -> Self {
        let mut rng = Rng::lane(job.seed, u64::from(rank));
        let slowness = job.straggler.filter(|s| s.rank == rank).map_or(1.0, |s| s.factor);
        let start_ns = START_NS + rng.below(START_SPREAD_NS) as i64;
        Self {
            job,
            rng,
            slowness,
            host_ns: start_ns,
            compute_ns: start_ns,
            copy_ns: start_ns,
            comm_ns: [start_ns; 2],
            step: 0,
            step_start_ns: start_ns,
            correlation: 0,
            external: 0,
            gradients: Vec::new(),
            pending: None,
        }
    }

    /// Loads a batch: a copy the step waits for, and one on its own stream that runs beside it.
    pub(crate) fn begin_step(&mut self, step: u32, sink: &mut impl Sink) {
        (self.step, self.step_start_ns) = (step, self.host_ns);
        self.host_ns += 2_000;
        self.compute_ns = self.copy(COMPUTE_STREAM, self.compute_ns, true, 1 << 20, sink);
        self.copy_ns = self.copy(COPY_STREAM, self.copy_ns, true, 4 << 20, sink);
    }

    /// Runs a phase up to its collective and says when this rank enters it, or would.
    pub(crate) fn run(&mut self, phase: Phase, sink: &mut impl Sink) -> i64 {
        let per_layer = (self.job.ops_per_step / (2 * self.job.layers.max(1))).max(1);
        match phase {
            Phase::Forward { layer } => {
                for op in 0..per_layer {
                    self.operator(Thread::Main, layer * per_layer + op, sink);
                }
                self.enter(Thread::Main, Scope::TensorGroup)
            }
            Phase::Backward { layer } => {
                self.fill(sink);
                for op in (0..per_layer).rev() {
                    self.operator(Thread::Autograd, layer * per_layer + op, sink);
                }
                self.enter(Thread::Autograd, Scope::World)
            }
            Phase::Optimizer => {
                // New weights need every gradient: what collectives are still running is exposed from here on.
                self.compute_ns = self.compute_ns.max(self.comm_ns[0]).max(self.comm_ns[1]);
                let start_ns = self.host_ns;
                self.host_ns += 300;
                self.operator(Thread::Main, OPTIMIZER_SITE, sink);
                self.host_ns += 300;
                let what = HostWork::Annotation("Optimizer.step#AdamW.step");
                self.say(Thread::Main, what, start_ns, self.host_ns, 0, sink);
                self.host_ns += 200;
                self.host_ns
            }
        }
    }

    /// Leaves the collective entered last.
    pub(crate) fn leave(&mut self, exchange: &Exchange, slot: u32, end_ns: i64, sink: &mut impl Sink) {
        let Some(pending) = self.pending.take() else { return };
        let exchange = *exchange;
        let stream = COMM_STREAMS[exchange.scope as usize];
        let (correlation, external) = (self.next_correlation(), self.next_external());
        let Pending { thread, op_start_ns, launch_start_ns, launch_end_ns, arrival_ns } = pending;

        let annotation = HostWork::CollectiveAnnotation { exchange, slot };
        let params = HostWork::CollectiveParams { exchange, slot };
        self.say(thread, annotation, op_start_ns, launch_end_ns + 1_000, external, sink);
        self.say(thread, params, op_start_ns + 700, launch_end_ns + 400, external, sink);
        let call = "cudaLaunchKernelExC";
        let (start_ns, end) = (launch_start_ns, launch_end_ns);
        sink.launch(Launch { thread, call, start_ns, end_ns: end, correlation, external, slot: Some(slot) });
        let what = DeviceKind::Collective { exchange, slot };
        sink.device(DeviceWork { what, stream, start_ns: arrival_ns, end_ns, correlation, external });

        // The annotations around two kernels that follow each other reach a nanosecond towards each other, and do not overlap.
        self.comm_ns[exchange.scope as usize] = end_ns + 2;
        if exchange.scope == Scope::TensorGroup {
            // The next layer reads the sum: nothing hides this one.
            self.compute_ns = self.compute_ns.max(end_ns);
        }
    }

    /// Fetches the loss and waits for the device, which keeps the host at most a step ahead.
    pub(crate) fn end_step(&mut self, sink: &mut impl Sink) {
        self.compute_ns = self.copy(COMPUTE_STREAM, self.compute_ns, false, 4, sink);
        let (start_ns, end_ns) = (self.host_ns, self.host_ns.max(self.compute_ns) + 1_500);
        let (correlation, call) = (self.next_correlation(), "cudaStreamSynchronize");
        sink.launch(Launch { thread: Thread::Main, call, start_ns, end_ns, correlation, external: 0, slot: None });
        self.host_ns = end_ns + 800;
        self.say(Thread::Main, HostWork::Step(self.step), self.step_start_ns, self.host_ns, 0, sink);
        self.host_ns += 4_000;
    }

    /// An operator in its Python frames: two nested host spans, a launch, a kernel.
    fn operator(&mut self, thread: Thread, site: u32, sink: &mut impl Sink) {
        let frames = if thread == Thread::Main { self.job.python_frames } else { 0 };
        let frames_start_ns = self.host_ns;
        let outer_ns = self.host_ns + FRAME_NS * i64::from(frames);
        let launch_ns = outer_ns + self.rng.around(1_800, 20);
        let launch_end_ns = launch_ns + self.rng.around(3_600, 20);
        let outer_end_ns = launch_end_ns + 1_200;
        self.host_ns = outer_end_ns + FRAME_NS * i64::from(frames);

        for depth in 0..frames {
            let inset = FRAME_NS * i64::from(depth);
            let what = HostWork::Frame { depth, site };
            self.say(thread, what, frames_start_ns + inset, self.host_ns - inset, 0, sink);
        }
        let sequence = self.sequence(thread, site, outer_ns, sink);
        let (outer, inner, kernel) = self.names(thread, site);
        let external = self.next_external();
        self.say(thread, HostWork::Operator { name: outer, sequence }, outer_ns, outer_end_ns, external, sink);
        let external = self.next_external();
        let what = HostWork::Operator { name: inner, sequence: None };
        self.say(thread, what, outer_ns + 600, launch_end_ns + 400, external, sink);

        let correlation = self.next_correlation();
        let call = "cudaLaunchKernel";
        sink.launch(Launch { thread, call, start_ns: launch_ns, end_ns: launch_end_ns, correlation, external, slot: None });
        let start_ns = self.compute_ns.max(launch_ns + LATENCY_NS);
        let mean_ns = KERNEL_NS[site as usize % KERNEL_NS.len()];
        let end_ns = start_ns + (self.rng.around(mean_ns, 8) as f64 * self.slowness) as i64;
        let what = DeviceKind::Kernel(kernel);
        sink.device(DeviceWork { what, stream: COMPUTE_STREAM, start_ns, end_ns, correlation, external });
        self.compute_ns = end_ns + self.rng.below(900) as i64;
    }

    fn names(&self, thread: Thread, site: u32) -> (&'static str, &'static str, &'static str) {
        let (outer, inner) = match (thread, site) {
            (_, OPTIMIZER_SITE) => ("aten::_fused_adamw_", "aten::_fused_adamw"),
            (Thread::Main, 0) if self.job.odd_names => (ODD_NAME, "aten::addmm"),
            (Thread::Main, _) => FORWARD[site as usize % FORWARD.len()],
            (Thread::Autograd, _) => BACKWARD[site as usize % BACKWARD.len()],
        };
        (outer, inner, KERNELS[site as usize % KERNELS.len()])
    }

    /// Forward operators are numbered; the backward pass meets the numbers in reverse.
    fn sequence(&mut self, thread: Thread, site: u32, at_ns: i64, sink: &mut impl Sink) -> Option<u64> {
        if site == OPTIMIZER_SITE {
            return None;
        }
        let finishes = thread == Thread::Autograd;
        let id = match finishes {
            true => self.gradients.pop()?,
            false => {
                let id = self.external + 1;
                self.gradients.push(id);
                id
            }
        };
        sink.gradient(GradientEnd { id, thread, at_ns, finishes });
        Some(id)
    }

    fn fill(&mut self, sink: &mut impl Sink) {
        let (correlation, external) = (self.next_correlation(), self.next_external());
        let launch = (self.host_ns, self.host_ns + 2_400);
        self.host_ns = launch.1 + 500;
        let name = "aten::zero_";
        let what = HostWork::Operator { name, sequence: None };
        self.say(Thread::Autograd, what, launch.0 - 200, launch.1 + 200, external, sink);
        let call = "cudaMemsetAsync";
        let (thread, slot) = (Thread::Autograd, None);
        sink.launch(Launch { thread, call, start_ns: launch.0, end_ns: launch.1, correlation, external, slot });
        let start_ns = self.compute_ns.max(launch.0 + LATENCY_NS);
        let end_ns = start_ns + self.rng.around(1_900, 10);
        let what = DeviceKind::Fill { bytes: 1 << 18 };
        sink.device(DeviceWork { what, stream: COMPUTE_STREAM, start_ns, end_ns, correlation, external });
        self.compute_ns = end_ns + 300;
    }

    /// Copies on a stream that is free at `free_ns`; returns when it is free again.
    fn copy(&mut self, stream: u32, free_ns: i64, to_device: bool, bytes: u64, sink: &mut impl Sink) -> i64 {
        let (correlation, external) = (self.next_correlation(), self.next_external());
        let launch = (self.host_ns + 900, self.host_ns + 4_700);
        let what = HostWork::Operator { name: "aten::copy_", sequence: None };
        self.say(Thread::Main, what, self.host_ns, launch.1 + 600, external, sink);
        self.host_ns = launch.1 + 1_000;
        let call = "cudaMemcpyAsync";
        let (thread, slot) = (Thread::Main, None);
        sink.launch(Launch { thread, call, start_ns: launch.0, end_ns: launch.1, correlation, external, slot });
        let start_ns = free_ns.max(launch.0 + LATENCY_NS);
        let end_ns = start_ns + self.rng.around(1_200 + (bytes / COPY_BYTES_PER_NS) as i64, 10);
        let what = DeviceKind::Copy { to_device, bytes };
        sink.device(DeviceWork { what, stream, start_ns, end_ns, correlation, external });
        end_ns
    }

    /// Launches a collective: it waits for its stream and for what the compute stream has still to do.
    fn enter(&mut self, thread: Thread, scope: Scope) -> i64 {
        if scope == Scope::TensorGroup && self.job.group_size.is_none() {
            return self.host_ns;
        }
        let op_start_ns = self.host_ns;
        let launch_start_ns = op_start_ns + self.rng.around(4_000, 20);
        let launch_end_ns = launch_start_ns + self.rng.around(5_500, 20);
        self.host_ns = launch_end_ns + 1_600;
        let free_ns = self.comm_ns[scope as usize].max(self.compute_ns);
        let arrival_ns = free_ns.max(launch_start_ns + LATENCY_NS) + self.rng.below(700) as i64;
        self.pending = Some(Pending { thread, op_start_ns, launch_start_ns, launch_end_ns, arrival_ns });
        arrival_ns
    }

    fn say(&self, thread: Thread, what: HostWork, start_ns: i64, end_ns: i64, external: u64, sink: &mut impl Sink) {
        sink.host(HostSpan { thread, what, start_ns, end_ns, external });
    }

    fn next_correlation(&mut self) -> u64 {
        self.correlation += 1;
        self.correlation
    }

    fn next_external(&mut self) -> u64 {
        self.external += 1;
        self.external
    }
}

pub(crate) const COMPUTE_STREAM: u32 = 7;
pub(crate) const COPY_STREAM: u32 = 21;
/// By [`Scope`].
pub(crate) const COMM_STREAMS: [u32; 2] = [13, 17];

/// Ranks do not start at the same moment.
const START_SPREAD_NS: u64 = 60_000;
/// From the start of a launch to the earliest start of its kernel.
const LATENCY_NS: i64 = 5_200;
/// What a Python frame costs on either side.
const FRAME_NS: i64 = 250;
const COPY_BYTES_PER_NS: u64 = 25;
const OPTIMIZER_SITE: u32 = u32::MAX;

const ODD_NAME: &str = "odd \"quoted\" \\slashed\\ \t\n\u{1} caf\u{e9} \u{6f22}\u{5b57} \u{1f680}";

/// Outer and inner operator of a forward site.
const FORWARD: [(&str, &str); 6] = [
    ("aten::linear", "aten::addmm"),
    ("aten::layer_norm", "aten::native_layer_norm"),
    ("aten::matmul", "aten::bmm"),
    ("aten::softmax", "aten::_softmax"),
    ("aten::gelu", "aten::gelu_out"),
    ("aten::dropout", "aten::native_dropout"),
];

const BACKWARD: [(&str, &str); 6] = [
    ("autograd::engine::evaluate_function: AddmmBackward0", "aten::mm"),
    ("autograd::engine::evaluate_function: NativeLayerNormBackward0", "aten::native_layer_norm_backward"),
    ("autograd::engine::evaluate_function: BmmBackward0", "aten::bmm"),
    ("autograd::engine::evaluate_function: SoftmaxBackward0", "aten::_softmax_backward_data"),
    ("autograd::engine::evaluate_function: GeluBackward0", "aten::gelu_backward"),
    ("autograd::engine::evaluate_function: NativeDropoutBackward0", "aten::native_dropout_backward"),
];

const KERNELS: [&str; 6] = [
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)",
    "sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16_kernel",
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>(int, int, int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl, std::array<char*, 2ul> >(int)",
    "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, 1, 4, bool>(float)",
];

/// Mean run time by site; matrix products dominate.
const KERNEL_NS: [i64; 6] = [62_000, 11_000, 38_000, 14_000, 9_000, 7_500];
