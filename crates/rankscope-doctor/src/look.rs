//! What is looked at, and how. What cannot be looked at is as if it were not there.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rankscope_probe::doctor::{Advice, advise, examine as examine_clocks};
use rankscope_witness::process::{on_path, py_spy};

use crate::devices::{Devices, PJRT_FORWARD};
use crate::python::{self, Python};

/// What was seen.
#[derive(Clone, Debug)]
pub struct Examination {
    /// The kernel's release.
    pub kernel: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// What is said of clocks.
    pub clocks: Vec<Advice>,
    /// Vendors' devices; why their libraries could not be asked.
    pub devices: Result<Devices, String>,
    /// Temperatures and power that sensors of the board tell.
    pub sensors: usize,
    /// Whether programs can count their cycles and instructions; why not.
    pub cycles: Result<(), String>,
    /// The plugin of NCCL, beside the program.
    pub nccl_plugin: Option<PathBuf>,
    /// The profiler that JAX may be handed, beside the program.
    pub pjrt_profiler: Option<PathBuf>,
    /// The tool that ROCm is to load, beside the program.
    pub rocm_tool: Option<PathBuf>,
    /// The engine of `rankscope query`, beside the program or on the path.
    pub sql_engine: Option<PathBuf>,
    /// The Python that `python3` starts; why there is none.
    pub python: Result<Python, String>,
    /// What prints stacks of Python.
    pub py_spy: Option<PathBuf>,
    /// How far processes may look at each other, by the kernel's Yama; none where it does not say.
    pub ptrace_scope: Option<u8>,
    /// Whether this is root's process.
    pub is_root: bool,
    /// Programs that start jobs, by name.
    pub launchers: Vec<String>,
    /// A daemon that torch's processes ask is there already.
    pub daemon: bool,
    /// Variables of the environment that matter, and what they say.
    pub variables: BTreeMap<String, String>,
    /// Bytes free where shared memory lies.
    pub shm_free_bytes: Option<u64>,
    /// The largest file that this process may write, where there is a limit.
    pub file_limit_bytes: Option<u64>,
}

impl Default for Examination {
    /// Of a host of which nothing is known.
    fn default() -> Self {
        let unknown = || "it was not looked for".to_owned();
        Self {
            kernel: String::new(),
            processors: 1,
            clocks: Vec::new(),
            devices: Err(unknown()),
            sensors: 0,
            cycles: Err(unknown()),
            nccl_plugin: None,
            pjrt_profiler: None,
            rocm_tool: None,
            sql_engine: None,
            python: Err(unknown()),
            py_spy: None,
            ptrace_scope: None,
            is_root: false,
            launchers: Vec::new(),
            daemon: false,
            variables: BTreeMap::new(),
            shm_free_bytes: None,
            file_limit_bytes: None,
        }
    }
}

/// Variables that others of a job go by.
pub(crate) const VARIABLES: [&str; 10] = [
    "NCCL_PROFILER_PLUGIN",
    "NCCL_RAS_ENABLE",
    "KINETO_USE_DAEMON",
    "ROCP_TOOL_LIBRARIES",
    "TORCH_FR_BUFFER_SIZE",
    "TORCH_NCCL_TRACE_BUFFER_SIZE",
    "TORCH_FR_DUMP_TEMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "RANKSCOPE_RUN_DIR",
    PJRT_FORWARD,
];

/// Programs that start jobs.
const LAUNCHERS: [&str; 5] = ["torchrun", "srun", "mpirun", "ray", "kubectl"];

/// The plugin's file.
const PLUGIN: &str = "librankscope_nccl.so";

/// The file of JAX's profiler.
const PROFILER: &str = "librankscope_pjrt.so";

/// ROCm's.
const TOOL: &str = "librankscope_rocprofiler.so";

/// The engine's.
const ENGINE: &str = "rankscope-sql";

/// Looks at this host. `devices` starts a process that prints what [`look_at_devices`](crate::look_at_devices) finds, as JSON.
pub fn examine(devices: &mut Command) -> Examination {
    let own = env::current_exe().ok();
    let beside =
        |name: &str| own.as_deref().and_then(Path::parent).map(|folder| folder.join(name)).filter(|path| path.is_file());
    let library = |name: &str| beside(name).or_else(|| beside(&format!("../lib/{name}")));
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let variable = |name: &&str| Some(((*name).to_owned(), env::var(name).ok().filter(|value| !value.is_empty())?));
    Examination {
        kernel: text("/proc/sys/kernel/osrelease"),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        clocks: advise(&examine_clocks()),
        devices: ask_devices(devices),
        sensors: sensors(Path::new("/sys/class/hwmon")),
        cycles: cycles(),
        nccl_plugin: library(PLUGIN),
        pjrt_profiler: library(PROFILER),
        rocm_tool: library(TOOL),
        sql_engine: beside(ENGINE).or_else(|| on_path(ENGINE)),
        python: python::ask(),
        py_spy: py_spy(),
        ptrace_scope: text("/proc/sys/kernel/yama/ptrace_scope").parse().ok(),
        is_root: is_root(),
        launchers: LAUNCHERS.into_iter().filter(|name| on_path(name).is_some()).map(str::to_owned).collect(),
        daemon: text("/proc/net/unix").lines().any(|line| line.ends_with("@dynolog")),
        variables: VARIABLES.iter().filter_map(variable).collect(),
        shm_free_bytes: free_bytes(),
        file_limit_bytes: file_limit(),
    }
}

/// Temperatures and power in `class`, as counters of a node tell them.
fn sensors(class: &Path) -> usize {
    let names = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let is_sensor = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.starts_with("temp") && name.ends_with("_input"))
            || (name.starts_with("power") && (name.ends_with("_input") || name.ends_with("_average")))
    };
    names(class).iter().flat_map(|chip| names(chip)).filter(is_sensor).count()
}

/// Whether the kernel lets a process count its cycles, which needs counters of the processor.
fn cycles() -> Result<(), String> {
    let units = fs::read_dir("/sys/bus/event_source/devices").into_iter().flatten().flatten();
    let names: Vec<String> = units.map(|unit| unit.file_name().to_string_lossy().into_owned()).collect();
    if !names.iter().any(|name| name.starts_with("cpu") || name.starts_with("armv8")) {
        return Err("the processor shows no counters, as in most virtual machines".to_owned());
    }
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match paranoid.trim().parse::<i32>() {
        Ok(level @ 3..) if !is_root() => Err(format!("kernel.perf_event_paranoid is {level}")),
        _ => Ok(()),
    }
}

/// Vendors' libraries have this long: a driver wakes its devices.
const DEVICES_WITHIN: Duration = Duration::from_secs(20);

fn ask_devices(command: &mut Command) -> Result<Devices, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let said = python::answer(command, DEVICES_WITHIN)?;
    serde_json::from_str(&said).map_err(|error| error.to_string())
}

#[expect(unsafe_code, reason = "asked of the system")]
fn is_root() -> bool {
    // SAFETY: it has no precondition.
    unsafe { libc::geteuid() == 0 }
}

#[expect(unsafe_code, reason = "asked of the system")]
fn free_bytes() -> Option<u64> {
    // SAFETY: the path is a string, and the place for the answer is ours.
    unsafe {
        let mut told: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(c"/dev/shm".as_ptr(), &raw mut told) == 0).then(|| told.f_bavail.saturating_mul(told.f_frsize))
    }
}

#[expect(unsafe_code, reason = "asked of the system")]
fn file_limit() -> Option<u64> {
    // SAFETY: the place for the answer is ours.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        let is_told = libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) == 0;
        (is_told && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
    }
}
