//! What sort of thing a span is, by the category its profiler gave it.
//!
//! The text is kept as written; [`CategoryKind`] is what analysis asks. Categories are compared by their exact string, old and
//! new dialects alike: their numbers changed over releases.

use crate::StrId;

/// A category as written in the file, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Category {
    /// The category's text.
    pub name: StrId,
    /// What analysis takes it for.
    pub kind: CategoryKind,
}

/// What a category means to analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CategoryKind {
    /// An operator on the host.
    CpuOp,
    /// A range the user or a library named on the host.
    UserAnnotation,
    /// The device-side shadow of a user annotation.
    GpuUserAnnotation,
    /// A kernel on a device.
    Kernel,
    /// A copy done by a device.
    Memcpy,
    /// A fill done by a device.
    Memset,
    /// A call into the device runtime (CUDA runtime, HIP, SYCL).
    Runtime,
    /// A call into the device driver.
    Driver,
    /// A frame of the Python tracer.
    PythonFunction,
    /// Time the profiler itself took.
    Overhead,
    /// A synchronisation seen by the device profiler.
    Sync,
    /// A collective as some profilers record it beside the kernel.
    CollectiveComm,
    /// Anything else.
    Other,
}

impl CategoryKind {
    /// What Kineto's category `name` means, in any release since 2020.
    pub fn of_kineto(name: &str) -> Self {
        match name {
            "cpu_op" | "Operator" => Self::CpuOp,
            "user_annotation" => Self::UserAnnotation,
            "gpu_user_annotation" => Self::GpuUserAnnotation,
            "kernel" | "Kernel" => Self::Kernel,
            "gpu_memcpy" | "Memcpy" => Self::Memcpy,
            "gpu_memset" | "Memset" => Self::Memset,
            "cuda_runtime" | "Runtime" | "xpu_runtime" | "mtia_runtime" | "glow_runtime" | "privateuse1_runtime" => {
                Self::Runtime
            }
            "cuda_driver" | "xpu_driver" | "privateuse1_driver" => Self::Driver,
            "python_function" => Self::PythonFunction,
            "overhead" => Self::Overhead,
            "cuda_sync" | "xpu_sync" => Self::Sync,
            "mtia_ccp_events" | "hpu_op" => Self::Kernel,
            "collective_comm" => Self::CollectiveComm,
            _ => Self::Other,
        }
    }

    /// Work a device executed: what time accounting counts.
    pub fn is_device_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Memcpy | Self::Memset)
    }

    /// Lives on a device's stream rather than on a host thread.
    pub fn is_on_device(self) -> bool {
        self.is_device_work() || matches!(self, Self::GpuUserAnnotation | Self::Sync)
    }

    /// A host call that starts device work.
    pub fn is_launch(self) -> bool {
        matches!(self, Self::Runtime | Self::Driver)
    }
}
