//! What to make of what was seen: a sentence for each thing that rankscope can use, what to do where it is not there, and what it costs.
//!
//! Costs are those of docs/explanation/benchmarks.md, and of the pages that describe each thing.

use rankscope_document::{DoctorDocument, DoctorFinding, DoctorStanding, DoctorTopic};
use rankscope_probe::doctor::Grade;

use crate::devices::{Device, Devices, PJRT_FORWARD};
use crate::look::Examination;

/// All of it.
pub fn document(seen: &Examination) -> DoctorDocument {
    let findings = vec![
        clocks(seen),
        recorder(seen),
        device(seen, DoctorTopic::Cuda),
        device(seen, DoctorTopic::Rocm),
        counters(seen),
        nccl(seen),
        torch(seen),
        jax(seen),
        flight_recorder(seen),
        on_demand(seen),
        stacks(seen),
        launchers(seen),
        sql(seen),
    ];
    DoctorDocument {
        schema: 1,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: seen.kernel.clone(),
        processors: seen.processors as u64,
        findings,
    }
}

fn found(topic: DoctorTopic, standing: DoctorStanding, says: impl Into<String>) -> DoctorFinding {
    DoctorFinding { topic, standing, says: says.into(), remedy: None, cost: None }
}

fn with(finding: DoctorFinding, remedy: &str, cost: &str) -> DoctorFinding {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    DoctorFinding { remedy: text(remedy), cost: text(cost), ..finding }
}

use DoctorStanding::{Absent, Limited, Ready};

/// The worst of what `rankscope clock doctor` says.
fn clocks(seen: &Examination) -> DoctorFinding {
    let Some(worst) = seen.clocks.iter().max_by_key(|advice| advice.grade) else {
        return with(
            found(DoctorTopic::Clocks, Absent, "Nothing is known of this host's clocks."),
            "rankscope clock doctor",
            "",
        );
    };
    let about =
        |grade: Grade| seen.clocks.iter().filter(|advice| advice.grade == grade).map(|advice| advice.topic).collect::<Vec<_>>();
    let cost = "an agent takes 1 to 2 % of a core";
    match worst.grade {
        Grade::Good => {
            with(found(DoctorTopic::Clocks, Ready, "Clocks of nodes can be measured: nothing is in the way."), "", cost)
        }
        Grade::Weak => {
            let says = format!("Clocks of nodes can be measured; {} could be better.", about(Grade::Weak).join(", "));
            with(found(DoctorTopic::Clocks, Limited, says), "rankscope clock doctor says how", cost)
        }
        Grade::Bad => {
            let says = format!("Clocks of nodes cannot be measured well: {}: {}", worst.topic, worst.finding);
            with(found(DoctorTopic::Clocks, Absent, says), worst.remedy.unwrap_or("rankscope clock doctor says more"), "")
        }
    }
}

/// What a ring and a recording need at least.
const SHM_BYTES: u64 = 64 << 20;

fn recorder(seen: &Examination) -> DoctorFinding {
    let topic = DoctorTopic::Recorder;
    let cost = "a span takes about 30 ns, a live page a few hundred nanoseconds a collective";
    if let Some(limit) = seen.file_limit_bytes {
        let says = format!("Recordings end at {} MB: processes may write no larger file here.", limit / 1_000_000);
        return with(found(topic, Limited, says), "ulimit -f unlimited, before the job is started", cost);
    }
    match seen.shm_free_bytes {
        Some(free) if free < SHM_BYTES => {
            let says = format!("/dev/shm has {} MB left, where the rings of NCCL's plugin lie.", free / 1_000_000);
            with(
                found(topic, Limited, says),
                "a larger /dev/shm (docker run --shm-size), or RANKSCOPE_NCCL_RING=a folder",
                cost,
            )
        }
        _ => with(found(topic, Ready, "Programs can record themselves, and be watched while they run."), "", cost),
    }
}

fn device(seen: &Examination, topic: DoctorTopic) -> DoctorFinding {
    let (vendor, profiler) = match topic {
        DoctorTopic::Rocm => ("AMD", "rocprofiler-sdk"),
        _ => ("NVIDIA", "CUPTI"),
    };
    let devices = match &seen.devices {
        Ok(devices) => devices,
        Err(why) => return found(topic, Absent, format!("{vendor}'s libraries could not be asked: {why}.")),
    };
    let Device { devices, profiler: opened } = if topic == DoctorTopic::Rocm { &devices.rocm } else { &devices.cuda };
    match (devices, opened) {
        (Err(why), _) => found(topic, Absent, format!("No driver of {vendor}'s devices: {why}.")),
        (Ok(0), _) => found(topic, Absent, format!("The driver of {vendor}'s devices has no device.")),
        (Ok(count), Ok(())) => {
            let says = format!("{count} {vendor} {}, and {profiler} is there.", plural(*count, "device"));
            if topic == DoctorTopic::Rocm { rocm(seen, says) } else { found(topic, Ready, says) }
        }
        (Ok(count), Err(why)) => {
            let says = format!("{count} {vendor} {}, and {profiler} cannot be loaded: {why}.", plural(*count, "device"));
            let remedy = match topic {
                DoctorTopic::Rocm => "install rocprofiler-sdk of ROCm 7, or name its file in RANKSCOPE_ROCPROFILER_LIBRARY",
                _ => "pip install nvidia-cuda-cupti, or add CUDA's extras/CUPTI/lib64 to LD_LIBRARY_PATH",
            };
            with(found(topic, Limited, says), remedy, "")
        }
    }
}

/// rocprofiler is there, which is to be configured before HIP is up: by the program that records itself, or by a tool that ROCm loads.
fn rocm(seen: &Examination, mut says: String) -> DoctorFinding {
    if seen.devices.as_ref().is_ok_and(|devices| devices.rocm_memory == Some(false)) {
        says += " This version of it does not tell of memory that is allocated.";
    }
    if let Some(tools) = seen.variables.get("ROCP_TOOL_LIBRARIES") {
        says += &format!(" ROCP_TOOL_LIBRARIES names {tools}.");
    }
    let remedy = match &seen.rocm_tool {
        Some(_) => "rankscope run --rocm -- CMD, for programs that call HIP before they record themselves",
        None => {
            says += " The tool for programs that call HIP before they record themselves does not lie beside this program.";
            "cargo build --release -p rankscope-rocprofiler, and copy librankscope_rocprofiler.so beside it"
        }
    };
    with(found(DoctorTopic::Rocm, Ready, says), remedy, "")
}

/// What `rankscope run --counters` can sample.
fn counters(seen: &Examination) -> DoctorFinding {
    let sensors = match seen.sensors {
        0 => "no sensor of the board".to_owned(),
        count => format!("{count} {} of the board", plural(count as u128, "sensor")),
    };
    let cost = "a thousandth of a core at most, and half a per cent of one for each GPU";
    let cycles = match &seen.cycles {
        Ok(()) => "programs can count their cycles".to_owned(),
        Err(why) => format!("programs cannot count their cycles: {why}"),
    };
    let of = |standing, gpus: String, remedy| {
        let says = format!("Processors, memory, pressure and network can be sampled, {sensors}, and {gpus}; {cycles}.");
        with(found(DoctorTopic::Counters, standing, says), remedy, cost)
    };
    let (gpus, remedy) = seen.devices.as_ref().map_or_else(|_| (Vec::new(), None), gpus_counted);
    let gpus = if gpus.is_empty() { "no GPU".to_owned() } else { gpus.join(", ") };
    match remedy {
        None => of(Ready, gpus, "rankscope run --counters -- CMD"),
        Some(remedy) => of(Limited, gpus, remedy),
    }
}

/// Which GPUs can be sampled, and through what; what to do where that is less than there could be.
fn gpus_counted(devices: &Devices) -> (Vec<String>, Option<&'static str>) {
    let (mut gpus, mut remedy) = (Vec::new(), None);
    match &devices.nvml {
        Ok(count @ 1..) => gpus.push(format!("{count} {} through NVML", plural(*count, "GPU"))),
        Err(why) if matches!(devices.cuda.devices, Ok(1..)) => {
            gpus.push(format!("no GPU of NVIDIA's, because NVML does not answer: {why}"));
            remedy = Some("NVML, libnvidia-ml.so.1, comes with the driver");
        }
        _ => {}
    }
    match (devices.amd_cards, &devices.rocm_smi) {
        (0, _) => {}
        (_, Ok(count @ 1..)) => gpus.push(format!("{count} {} through ROCm SMI", plural(*count, "GPU"))),
        (cards, told) => {
            let why = told.as_ref().map_or_else(String::as_str, |_| "it knows no GPU");
            let cards = format!("{cards} {} through files of the kernel", plural(cards, "GPU"));
            gpus.push(format!("{cards}, because ROCm SMI does not answer: {why}"));
            remedy = remedy.or(Some("install rocm-smi-lib, or set ROCM_PATH, for all that AMD's GPUs tell"));
        }
    }
    (gpus, remedy)
}

fn plural(count: impl Into<u128>, noun: &str) -> String {
    if count.into() == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn nccl(seen: &Examination) -> DoctorFinding {
    let cost = "a collective takes 70 to 550 ns longer on the host, and NCCL itself spends more to watch kernels";
    let set = seen.variables.get("NCCL_PROFILER_PLUGIN");
    match (&seen.nccl_plugin, set) {
        (None, _) => with(
            found(DoctorTopic::Nccl, Absent, "The profiler plugin of NCCL and RCCL does not lie beside this program."),
            "cargo build --release -p rankscope-nccl, and copy librankscope_nccl.so beside it",
            "",
        ),
        (Some(plugin), Some(other)) if !other.contains("librankscope_nccl") => {
            let says =
                format!("{} is there. NCCL_PROFILER_PLUGIN names {other}, which is called through it.", plugin.display());
            with(found(DoctorTopic::Nccl, Ready, says), "rankscope run --nccl -- CMD", cost)
        }
        (Some(plugin), _) => {
            let says = format!("{} is there: collectives are recorded without a change to the job.", plugin.display());
            with(found(DoctorTopic::Nccl, Ready, says), "rankscope run --nccl -- CMD", cost)
        }
    }
}

fn package(seen: &Examination, name: &str) -> Option<String> {
    seen.python.as_ref().ok()?.packages.get(name).cloned()
}

fn torch(seen: &Examination) -> DoctorFinding {
    framework(seen, DoctorTopic::Torch, "torch", "rankscope run -- torchrun ... collects what torch.profiler exports")
}

/// JAX, and whether its traces will tell how the host's clocks stood.
fn jax(seen: &Examination) -> DoctorFinding {
    let found = jax_itself(seen);
    let Some(forward) = seen.variables.get(PJRT_FORWARD) else { return found };
    let looked = seen
        .devices
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|devices| devices.pjrt_forward.clone().unwrap_or_else(|| Err("it was not looked at".to_owned())));
    match looked {
        Ok(()) => {
            let says = format!("{} {PJRT_FORWARD} names {forward}, which can be loaded and exports GetPjrtApi.", found.says);
            DoctorFinding { says, ..found }
        }
        Err(why) => {
            let says = format!("{} {PJRT_FORWARD} names {forward}, which cannot be forwarded to: {why}.", found.says);
            let remedy = Some(format!("unset {PJRT_FORWARD}, or name the vendor's plugin by its path"));
            DoctorFinding { says, standing: found.standing.max(Limited), remedy, ..found }
        }
    }
}

fn jax_itself(seen: &Examination) -> DoctorFinding {
    let found = framework(seen, DoctorTopic::Jax, "jax", "rankscope run -- CMD collects what jax.profiler exports");
    match &seen.pjrt_profiler {
        _ if found.standing == Absent => found,
        Some(library) => {
            let says = format!("{} {} puts the host's clocks into its traces.", found.says, library.display());
            DoctorFinding { says, cost: Some("16 readings of two clocks each second of a trace".to_owned()), ..found }
        }
        None => {
            let says = format!(
                "{} Its traces come without the host's clocks: no librankscope_pjrt.so beside this program.",
                found.says
            );
            let remedy = "cargo build --release -p rankscope-pjrt, and copy librankscope_pjrt.so beside it";
            DoctorFinding { says, standing: Limited, remedy: Some(remedy.to_owned()), ..found }
        }
    }
}

fn framework(seen: &Examination, topic: DoctorTopic, name: &str, use_it: &str) -> DoctorFinding {
    match (&seen.python, package(seen, name)) {
        (Ok(python), Some(version)) => {
            with(found(topic, Ready, format!("{name} {version} in {} ({}).", python.path, python.version)), use_it, "")
        }
        (Ok(python), None) => found(topic, Absent, format!("{} ({}) has no {name}.", python.path, python.version)),
        (Err(why), _) => found(topic, Absent, format!("python3 cannot be started: {why}.")),
    }
}

/// Whether torch writes what `rankscope hang` reads.
fn flight_recorder(seen: &Examination) -> DoctorFinding {
    let topic = DoctorTopic::FlightRecorder;
    let value = |names: [&str; 2]| names.into_iter().find_map(|name| seen.variables.get(name));
    let is_off = value(["TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"]).is_some_and(|size| size.trim() == "0");
    match (is_off, value(["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"])) {
        (true, _) => with(
            found(topic, Absent, "torch's flight recorder is off: its buffer is set to 0."),
            "unset TORCH_FR_BUFFER_SIZE and TORCH_NCCL_TRACE_BUFFER_SIZE: 2,000 calls are usual",
            "",
        ),
        (false, Some(prefix)) => {
            found(topic, Ready, format!("torch's flight recorder dumps to {prefix}<rank> when a collective times out."))
        }
        (false, None) => with(
            found(
                topic,
                Limited,
                "torch's flight recorder dumps into the user's cache folder on each node when a collective times out.",
            ),
            "export TORCH_FR_DUMP_TEMP_FILE=/shared/folder/rank_ so that rankscope hang finds all dumps in one place",
            "",
        ),
    }
}

fn on_demand(seen: &Examination) -> DoctorFinding {
    let topic = DoctorTopic::OnDemand;
    let asks = seen.variables.get("KINETO_USE_DAEMON").is_some_and(|value| value.trim() != "0");
    match (seen.daemon, asks) {
        (true, _) => with(
            found(topic, Limited, "A daemon that torch's processes ask is there already, such as dynolog."),
            "use its dyno gputrace, or stop it and start rankscope agent --on-demand",
            "",
        ),
        (false, true) => with(
            found(topic, Ready, "torch's processes ask a daemon whether to profile, as KINETO_USE_DAEMON is set."),
            "rankscope agent --on-demand on each node, then rankscope trigger RUN",
            "",
        ),
        (false, false) => with(
            found(topic, Limited, "torch's processes do not ask whether to profile."),
            "export KINETO_USE_DAEMON=1 before the job is started; rankscope agent --on-demand answers",
            "",
        ),
    }
}

fn stacks(seen: &Examination) -> DoctorFinding {
    let topic = DoctorTopic::Stacks;
    let may_look = seen.is_root || seen.ptrace_scope.unwrap_or(0) == 0;
    match (&seen.py_spy, may_look) {
        (None, _) => with(
            found(
                topic,
                Limited,
                "Of a process that hangs its state is seen and, as root, its place in the kernel; py-spy is not on the path.",
            ),
            "pip install py-spy, for stacks of Python",
            "",
        ),
        (Some(path), false) => with(
            found(
                topic,
                Limited,
                format!("{} is there, and the kernel lets only a parent look at a process (ptrace_scope).", path.display()),
            ),
            "sysctl kernel.yama.ptrace_scope=0, or as root",
            "",
        ),
        (Some(path), true) => found(topic, Ready, format!("{} prints stacks of Python for rankscope hang.", path.display())),
    }
}

fn launchers(seen: &Examination) -> DoctorFinding {
    match seen.launchers[..] {
        [] => with(
            found(DoctorTopic::Launchers, Limited, "None of torchrun, srun, mpirun, ray and kubectl is on the path."),
            "rankscope run -n N -- CMD starts ranks of this host by itself",
            "",
        ),
        _ => found(DoctorTopic::Launchers, Ready, format!("On the path: {}.", seen.launchers.join(", "))),
    }
}

fn sql(seen: &Examination) -> DoctorFinding {
    match &seen.sql_engine {
        Some(path) => found(DoctorTopic::Sql, Ready, format!("{} answers rankscope query.", path.display())),
        None => with(
            found(DoctorTopic::Sql, Absent, "The engine of rankscope query is not installed."),
            "cargo install --path crates/rankscope-sql",
            "",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::Python;

    fn told(seen: &Examination, topic: DoctorTopic) -> DoctorFinding {
        document(seen).findings.into_iter().find(|finding| finding.topic == topic).unwrap()
    }

    fn variable(name: &str, value: &str) -> Examination {
        Examination { variables: [(name.to_owned(), value.to_owned())].into(), ..Examination::default() }
    }

    #[test]
    fn every_topic_is_told_once_and_what_is_not_ready_says_what_to_do_unless_nothing_can_be_done() {
        let document = document(&Examination::default());
        let mut topics: Vec<&str> = document.findings.iter().map(|finding| finding.topic.as_str()).collect();
        topics.sort_unstable();
        topics.dedup();
        assert_eq!(topics.len(), DoctorTopic::WORDS.len());
        let hardware = [DoctorTopic::Cuda, DoctorTopic::Rocm, DoctorTopic::Torch, DoctorTopic::Jax];
        for finding in document.findings.iter().filter(|finding| finding.standing != Ready) {
            assert!(finding.remedy.is_some() || hardware.contains(&finding.topic), "{finding:?}");
            assert!(finding.says.ends_with('.'), "{finding:?}");
        }
    }

    #[test]
    fn devices_are_told_from_drivers_without_one_and_from_profilers_that_cannot_be_loaded() {
        let of = |devices: Result<u32, String>, profiler: Result<(), String>| {
            let cuda = Device { devices, profiler };
            told(
                &Examination { devices: Ok(Devices { cuda, ..Devices::default() }), ..Examination::default() },
                DoctorTopic::Cuda,
            )
        };
        let none = of(Err("libcuda.so.1: cannot open".to_owned()), Ok(()));
        assert_eq!((none.standing, none.says.as_str()), (Absent, "No driver of NVIDIA's devices: libcuda.so.1: cannot open."));
        assert_eq!(of(Ok(0), Ok(())).standing, Absent);
        assert_eq!(
            (of(Ok(1), Ok(())).standing, of(Ok(8), Ok(())).says),
            (Ready, "8 NVIDIA devices, and CUPTI is there.".to_owned())
        );
        let limited = of(Ok(1), Err("no such file".to_owned()));
        assert!(limited.standing == Limited && limited.remedy.unwrap().contains("nvidia-cuda-cupti"));
        // The process that asked was ended by a library.
        let ended = Examination { devices: Err("it ended with signal: 11".to_owned()), ..Examination::default() };
        assert!(told(&ended, DoctorTopic::Rocm).says.contains("signal: 11"));
    }

    #[test]
    fn rocm_is_told_with_the_tool_that_lies_beside_the_program() {
        let of = |rocm_tool: Option<PathBuf>, tools: Option<&str>| {
            let rocm = Device { devices: Ok(8), profiler: Ok(()) };
            let variables = tools.map(|tools| ("ROCP_TOOL_LIBRARIES".to_owned(), tools.to_owned())).into_iter().collect();
            let devices = Ok(Devices { rocm, ..Devices::default() });
            told(&Examination { devices, rocm_tool, variables, ..Examination::default() }, DoctorTopic::Rocm)
        };
        let with_it = of(Some("/opt/librankscope_rocprofiler.so".into()), Some("/a/tool.so"));
        assert_eq!(with_it.says, "8 AMD devices, and rocprofiler-sdk is there. ROCP_TOOL_LIBRARIES names /a/tool.so.");
        assert!(with_it.standing == Ready && with_it.remedy.unwrap().starts_with("rankscope run --rocm"));
        let without = of(None, None);
        assert!(without.standing == Ready && without.says.ends_with("does not lie beside this program."), "{without:?}");
        assert!(without.remedy.unwrap().contains("cargo build --release -p rankscope-rocprofiler"));
    }

    #[test]
    fn a_rocprofiler_that_tells_of_no_memory_is_said_to() {
        let of = |rocm_memory| {
            let rocm = Device { devices: Ok(8), profiler: Ok(()) };
            let devices = Ok(Devices { rocm, rocm_memory, ..Devices::default() });
            told(&Examination { devices, ..Examination::default() }, DoctorTopic::Rocm).says
        };
        let says = "does not tell of memory that is allocated.";
        assert_eq!([None, Some(true), Some(false)].map(|tells| of(tells).contains(says)), [false, false, true]);
    }

    #[test]
    fn counters_are_told_with_the_gpus_that_nvml_knows() {
        let of = |gpus: u32, nvml: Result<u32, String>| {
            let cuda = Device { devices: Ok(gpus), profiler: Ok(()) };
            let devices = Ok(Devices { cuda, nvml, ..Devices::default() });
            told(&Examination { devices, sensors: 1, ..Examination::default() }, DoctorTopic::Counters)
        };
        let known = of(8, Ok(8));
        assert!(known.standing == Ready && known.says.contains("1 sensor of the board, and 8 GPUs through NVML;"), "{known:?}");
        let lacking = of(8, Err("libnvidia-ml.so.1: cannot open".to_owned()));
        assert!(lacking.standing == Limited && lacking.says.contains("cannot open"), "{lacking:?}");
        let without = of(0, Err("libnvidia-ml.so.1: cannot open".to_owned()));
        assert_eq!(without.standing, Ready, "there is nothing to lack");
        assert!(without.says.ends_with("no GPU; programs cannot count their cycles: it was not looked for."), "{without:?}");
    }

    #[test]
    fn counters_of_amds_gpus_come_from_the_library_or_else_from_the_kernel() {
        let of = |amd_cards: u32, rocm_smi: Result<u32, String>| {
            let devices = Ok(Devices { rocm_smi, amd_cards, ..Devices::default() });
            told(&Examination { devices, ..Examination::default() }, DoctorTopic::Counters)
        };
        let library = of(8, Ok(8));
        assert!(library.standing == Ready && library.says.contains("and 8 GPUs through ROCm SMI;"), "{library:?}");
        let kernel = of(2, Err("librocm_smi64.so: cannot open".to_owned()));
        assert_eq!(kernel.standing, Limited);
        assert!(
            kernel.says.contains("2 GPUs through files of the kernel, because ROCm SMI does not answer: librocm"),
            "{kernel:?}"
        );
        assert!(of(1, Ok(0)).says.contains("it knows no GPU"));
        let without = of(0, Err("librocm_smi64.so: cannot open".to_owned()));
        assert!(without.standing == Ready && without.says.contains("no GPU;"), "{without:?}");
    }

    #[test]
    fn a_plugin_that_was_chosen_is_named() {
        let plugin = Some(PathBuf::from("/opt/librankscope_nccl.so"));
        let seen = Examination { nccl_plugin: plugin, ..variable("NCCL_PROFILER_PLUGIN", "inspector") };
        let finding = told(&seen, DoctorTopic::Nccl);
        assert!(finding.standing == Ready && finding.says.contains("inspector") && finding.cost.is_some(), "{finding:?}");
        assert_eq!(told(&variable("NCCL_PROFILER_PLUGIN", "inspector"), DoctorTopic::Nccl).standing, Absent);
    }

    #[test]
    fn variables_of_torch_are_read_as_torch_reads_them() {
        let recorder = |name, value| told(&variable(name, value), DoctorTopic::FlightRecorder).standing;
        assert_eq!(recorder("TORCH_FR_DUMP_TEMP_FILE", "/nfs/rank_"), Ready);
        assert_eq!(recorder("TORCH_NCCL_TRACE_BUFFER_SIZE", "0"), Absent);
        assert_eq!(recorder("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"), Limited);
        let asked = |value| told(&variable("KINETO_USE_DAEMON", value), DoctorTopic::OnDemand).standing;
        assert_eq!((asked("1"), asked("0")), (Ready, Limited));
        let taken = Examination { daemon: true, ..variable("KINETO_USE_DAEMON", "1") };
        assert_eq!(told(&taken, DoctorTopic::OnDemand).standing, Limited);
    }

    #[test]
    fn packages_of_python_and_who_may_look_at_processes_are_told() {
        let packages = [("torch".to_owned(), "2.15.0".to_owned())].into();
        let python = Ok(Python { path: "/usr/bin/python3".to_owned(), version: "3.12.1".to_owned(), packages });
        let seen = Examination { python, py_spy: Some("/bin/py-spy".into()), ptrace_scope: Some(1), ..Examination::default() };
        let with_jax = |pjrt_profiler| {
            let packages = [("jax".to_owned(), "0.10.2".to_owned())].into();
            let python = Ok(Python { path: "/usr/bin/python3".to_owned(), version: "3.12.1".to_owned(), packages });
            told(&Examination { python, pjrt_profiler, ..Examination::default() }, DoctorTopic::Jax)
        };
        assert_eq!(with_jax(None).standing, Limited);
        let ready = with_jax(Some("/opt/librankscope_pjrt.so".into()));
        assert!(ready.standing == Ready && ready.says.contains("/opt/librankscope_pjrt.so"), "{ready:?}");
        let forwarding = |looked: Result<(), String>| {
            let packages = [("jax".to_owned(), "0.10.2".to_owned())].into();
            let python = Ok(Python { path: "/usr/bin/python3".to_owned(), version: "3.12.1".to_owned(), packages });
            let devices = Ok(Devices { pjrt_forward: Some(looked), ..Devices::default() });
            let pjrt_profiler = Some("/opt/librankscope_pjrt.so".into());
            let seen = Examination { python, devices, pjrt_profiler, ..variable("RANKSCOPE_PJRT_FORWARD", "/v/plugin.so") };
            told(&seen, DoctorTopic::Jax)
        };
        let ready = forwarding(Ok(()));
        assert!(ready.standing == Ready && ready.says.contains("names /v/plugin.so, which can be loaded"), "{ready:?}");
        let wrong = forwarding(Err("it has no GetPjrtApi".to_owned()));
        assert!(wrong.standing == Limited && wrong.says.ends_with("forwarded to: it has no GetPjrtApi."), "{wrong:?}");
        assert!(wrong.remedy.unwrap().starts_with("unset RANKSCOPE_PJRT_FORWARD"));
        assert_eq!(told(&seen, DoctorTopic::Torch).says, "torch 2.15.0 in /usr/bin/python3 (3.12.1).");
        assert_eq!((told(&seen, DoctorTopic::Jax).standing, told(&seen, DoctorTopic::Stacks).standing), (Absent, Limited));
        assert_eq!(told(&Examination { is_root: true, ..seen }, DoctorTopic::Stacks).standing, Ready);
    }
}
