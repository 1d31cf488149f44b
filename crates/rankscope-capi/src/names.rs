//! The numbers of categories, scopes, stages and phases that C knows by names. Each is the recorder's own number.

/// What sort of event something is. Trace files and other tools store these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Category {
    /// An operator on the host.
    CpuOp = 0,
    /// A range the program names itself.
    UserAnnotation = 1,
    /// Such a range, as the device work under it.
    GpuUserAnnotation = 2,
    /// A copy on or to a device.
    GpuMemcpy = 3,
    /// A fill on a device.
    GpuMemset = 4,
    /// A kernel.
    Kernel = 5,
    /// A call of the CUDA runtime.
    CudaRuntime = 7,
    /// A call of the CUDA driver.
    CudaDriver = 8,
    /// A moment on the host; allocations are of this category.
    CpuInstantEvent = 9,
    /// A call in Python.
    PythonFunction = 10,
    /// The profiler's own time.
    Overhead = 11,
    /// A synchronisation on a device.
    CudaSync = 15,
    /// An event of a device.
    CudaEvent = 16,
    /// An operator on HPU.
    HpuOp = 20,
    /// A call of the XPU runtime.
    XpuRuntime = 21,
    /// A call of the XPU driver.
    XpuDriver = 22,
    /// A collective.
    CollectiveComm = 23,
    /// A call of a plugged-in device's runtime.
    Privateuse1Runtime = 24,
    /// A call of a plugged-in device's driver.
    Privateuse1Driver = 25,
    /// Counters of the hardware.
    HardwareCounters = 28,
}

/// From which layer of a framework an event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Scope {
    /// An operator.
    Function = 0,
    /// An operator of the backward pass.
    BackwardFunction = 1,
    /// A range the program names itself.
    UserScope = 7,
}

/// Which point of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FlowStage {
    /// Where it starts.
    Start = 0,
    /// Where it passes.
    Step = 1,
    /// Where it ends.
    End = 2,
}

/// What a training job is doing, where that is no ordinary step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Training, of a program that marks everything else.
    Training = 1,
    /// Before it trains: loading a checkpoint, connecting, compiling.
    Initialisation = 2,
    /// Evaluating the model.
    Evaluation = 3,
    /// Saving a checkpoint.
    Checkpoint = 4,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_recorder() {
        use rankscope_record::Category as Recorded;
        let pairs = [
            (Category::CpuOp, Recorded::CPU_OP),
            (Category::UserAnnotation, Recorded::USER_ANNOTATION),
            (Category::GpuUserAnnotation, Recorded::GPU_USER_ANNOTATION),
            (Category::GpuMemcpy, Recorded::GPU_MEMCPY),
            (Category::GpuMemset, Recorded::GPU_MEMSET),
            (Category::Kernel, Recorded::KERNEL),
            (Category::CudaRuntime, Recorded::CUDA_RUNTIME),
            (Category::CudaDriver, Recorded::CUDA_DRIVER),
            (Category::CpuInstantEvent, Recorded::CPU_INSTANT_EVENT),
            (Category::PythonFunction, Recorded::PYTHON_FUNCTION),
            (Category::Overhead, Recorded::OVERHEAD),
            (Category::CudaSync, Recorded::CUDA_SYNC),
            (Category::CudaEvent, Recorded::CUDA_EVENT),
            (Category::HpuOp, Recorded::HPU_OP),
            (Category::XpuRuntime, Recorded::XPU_RUNTIME),
            (Category::XpuDriver, Recorded::XPU_DRIVER),
            (Category::CollectiveComm, Recorded::COLLECTIVE_COMM),
            (Category::Privateuse1Runtime, Recorded::PRIVATEUSE1_RUNTIME),
            (Category::Privateuse1Driver, Recorded::PRIVATEUSE1_DRIVER),
            (Category::HardwareCounters, Recorded::HARDWARE_COUNTERS),
        ];
        for (ours, theirs) in pairs {
            assert_eq!(ours as u32, u32::from(theirs.number()), "{theirs:?}");
        }
        use rankscope_record::live::Phase as Marked;
        let phases = [
            (Phase::Training, Marked::Training),
            (Phase::Initialisation, Marked::Initialisation),
            (Phase::Evaluation, Marked::Evaluation),
            (Phase::Checkpoint, Marked::Checkpoint),
        ];
        for (ours, theirs) in phases {
            assert_eq!(ours as u32, theirs as u32, "{theirs:?}");
        }
        use rankscope_record::Scope as Layer;
        assert_eq!(
            (Scope::BackwardFunction as u32, Scope::UserScope as u32),
            (Layer::BackwardFunction as u32, Layer::UserScope as u32)
        );
    }
}
