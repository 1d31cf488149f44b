//! [`Counters`]: the plugin that a session gets.

use std::path::PathBuf;

use rankscope_record::plugins::{PluginError, ProfilerPlugin};
use rankscope_record::recording::json::quoted;
use rankscope_record::set_metadata;

use crate::absent::Absent;
use crate::amd;
use crate::host;
use crate::nvml;
use crate::options::{CountersOptions, Scope};
use crate::perf::Hardware;
use crate::process::Process;
use crate::sampler::{Paced, Sampled, Sampler};
use crate::source::{Opened, Source, of};

/// Millionths of a core that all sources of the host may take together with the waking of their thread, and each GPU by itself. With what the
/// recorder's own thread takes, the former make a thousandth.
const HOST_PPM: u32 = 800;
const GPU_PPM: u32 = 5_000;

/// Samples counters while a session records.
#[derive(Debug)]
pub struct Counters {
    options: CountersOptions,
    sampler: Option<Sampler>,
}

impl Counters {
    /// One with these options.
    pub fn new(options: CountersOptions) -> Self {
        Self { options, sampler: None }
    }
}

impl ProfilerPlugin for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        let CountersOptions { hz, scope, nvml, rocm_smi } = &self.options;
        let (host, gpus) = match scope {
            Scope::Process => (process(), Vec::new()),
            Scope::Node => (host::open(), gpus(nvml.clone(), rocm_smi.clone())),
        };
        let mut absent = Vec::new();
        let (host, gpus) = (there(host, &mut absent), there(gpus, &mut absent));
        // Said at once, so that it is known also of a program that is killed.
        say_absent(&absent);
        let host = host.into_iter().map(|source| Paced::sharing(source, *hz));
        let gpus = gpus.into_iter().map(|source| Paced::alone(source, *hz, GPU_PPM));
        let sources: Vec<Paced> = host.chain(gpus).collect();
        if !sources.is_empty() {
            self.sampler = Some(Sampler::start(sources, *hz, HOST_PPM)?);
        }
        Ok(())
    }

    fn on_profiling_stop(&mut self) -> Result<(), PluginError> {
        let Some(sampler) = self.sampler.take() else { return Ok(()) };
        let Sampled { looks, spared, cost, lost } = sampler.end().ok_or("the thread that samples does not answer")?;
        say_absent(&lost);
        let cost_us = cost.as_micros();
        set_metadata("counters.sampled", &format!("{{\"looks\":{looks},\"spared\":{spared},\"cost_us\":{cost_us}}}"));
        Ok(())
    }
}

/// The GPUs of the node: NVIDIA's, and then AMD's.
fn gpus(nvml: Option<PathBuf>, rocm_smi: Option<PathBuf>) -> Vec<Opened> {
    let mut gpus = nvml::open(nvml);
    let known = gpus.iter().filter(|(_, opened)| opened.is_ok()).count();
    gpus.extend(amd::open(rocm_smi, u32::try_from(known).unwrap_or(u32::MAX)));
    gpus
}

/// The counters of this process.
fn process() -> Vec<Opened> {
    vec![of("process", Process::open()), of("perf", Hardware::open())]
}

/// What is there; why the rest is not goes to `absent`.
fn there(opened: Vec<Opened>, absent: &mut Vec<(String, Absent)>) -> Vec<Box<dyn Source>> {
    let mut sources = Vec::new();
    for (name, opened) in opened {
        match opened {
            Ok(source) => sources.push(source),
            Err(why) => absent.push((name.to_owned(), why)),
        }
    }
    sources
}

fn say_absent(absent: &[(String, Absent)]) {
    for (name, why) in absent {
        set_metadata(&format!("counters.absent.{name}"), &quoted(&why.to_string()));
    }
}
