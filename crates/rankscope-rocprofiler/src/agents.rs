//! [`Gpus`]: which of rocprofiler's agents are GPUs, by the numbers that AMD's tools have for them, and where they are on the host.
//!
//! A GPU's number is the how many-th of the host it is, whatever `HIP_VISIBLE_DEVICES` and its like show the process: records name agents,
//! and what the process calls them only HIP knows.
#![expect(unsafe_code, reason = "descriptions are read where rocprofiler keeps them")]

use std::collections::{HashMap, HashSet};
use std::ffi::{c_char, c_int, c_void};

use rankscope_devices::text;
use rankscope_record::recording::json::quoted;
use rankscope_record::set_metadata;

use crate::abi::{Agent, AgentUuid, CPU, GPU};

/// How much of a description is asked for, in whole words: all that is read of it, and what versions have that know no UUIDs, which answer
/// to no more.
pub(crate) const AGENT_BYTES: [usize; 2] = [312, 296];

/// More than a host has.
const AGENTS_MAX: usize = 1_024;

/// The GPUs of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gpus {
    /// Agents of any sort.
    pub(crate) agents: usize,
    by_agent: HashMap<u64, Gpu>,
    hosts: HashSet<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Gpu {
    number: u32,
    /// As the kernel writes it: `0000:c3:00.0`.
    place: String,
    name: Option<String>,
    /// As the kernel writes its `unique_id`.
    uuid: Option<String>,
}

impl Gpus {
    /// The number of the GPU that this agent is.
    pub(crate) fn number(&self, agent: u64) -> Option<u32> {
        self.by_agent.get(&agent).map(|gpu| gpu.number)
    }

    /// Whether this agent is the host's.
    pub(crate) fn is_host(&self, agent: u64) -> bool {
        self.hosts.contains(&agent)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_agent.is_empty()
    }

    /// Says them in the recording that runs.
    pub(crate) fn say(&self) {
        for Gpu { number, place, name, uuid } in self.by_agent.values() {
            set_metadata(&format!("device.{number}.pci"), &quoted(place));
            for (what, text) in [("name", name), ("uuid", uuid)] {
                if let Some(text) = text {
                    set_metadata(&format!("device.{number}.{what}"), &quoted(text));
                }
            }
        }
    }

    /// What rocprofiler calls with all agents.
    ///
    /// # Safety
    /// `agents` are so many descriptions, and `gpus` is one of these.
    pub(crate) unsafe extern "C" fn told(_version: c_int, agents: *const *const u8, count: usize, gpus: *mut c_void) -> c_int {
        // SAFETY: the caller says so.
        let (Some(gpus), false) = (unsafe { gpus.cast::<Self>().as_mut() }, agents.is_null()) else { return 0 };
        for at in 0..count.min(AGENTS_MAX) {
            // SAFETY: as above.
            let agent = unsafe { *agents.add(at) };
            if !agent.is_null() {
                gpus.agents += 1;
                // SAFETY: a description begins with its length, and has at least as much as was asked for.
                unsafe { gpus.add(agent) };
            }
        }
        0
    }

    /// # Safety
    /// It is a description.
    unsafe fn add(&mut self, agent: *const u8) {
        // SAFETY: the length is its first word, which is aligned as all of it is.
        let bytes = unsafe { agent.cast::<u64>().read() };
        let bytes = usize::try_from(bytes).unwrap_or(0).min(AGENT_BYTES[0]);
        // SAFETY: so long it says that it is.
        let agent = unsafe { std::slice::from_raw_parts(agent, bytes) };
        let uuid = AgentUuid::read(agent).and_then(|AgentUuid { unique }| uuid(unique));
        let agent = Agent::read(agent);
        self.hosts.extend(agent.filter(|agent| agent.sort == CPU).map(|agent| agent.id));
        let Some(Agent { id, location, domain, product_name, number, .. }) = agent.filter(|agent| agent.sort == GPU) else {
            return;
        };
        let Ok(number) = u32::try_from(number) else { return };
        // SAFETY: a name lasts as long as the process.
        let name = unsafe { text(product_name as usize as *const c_char) }.filter(|name| !name.is_empty());
        self.by_agent.insert(id, Gpu { number, place: place(domain, location), name, uuid });
    }
}

/// As the kernel writes it, of bus, device and function in one number.
fn place(domain: u32, location: u32) -> String {
    let (bus, device, function) = (location >> 8 & 0xff, location >> 3 & 0x1f, location & 0x7);
    format!("{domain:04x}:{bus:02x}:{device:02x}.{function}")
}

/// As the kernel's files and ROCm SMI have it; none where it has none.
fn uuid(unique: u64) -> Option<String> {
    (unique != 0 && unique != u64::MAX).then(|| format!("{unique:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(sort: u32, id: u64, number: i32) -> [u64; 40] {
        let mut words = [0_u64; 40];
        words[0] = 312;
        words[1] = id;
        words[2] = sort.into();
        words[13] = 0xc308 << 32;
        words[14] = 1;
        words[36] = u64::from(number.cast_unsigned());
        words[37] = 0x89ab_cdef_0123;
        words
    }

    fn told(agents: &[[u64; 40]]) -> Gpus {
        let mut gpus = Gpus::default();
        let pointers: Vec<*const u8> = agents.iter().map(|agent| agent.as_ptr().cast()).collect();
        // SAFETY: so many descriptions.
        unsafe { Gpus::told(1, pointers.as_ptr(), pointers.len(), (&raw mut gpus).cast()) };
        gpus
    }

    #[test]
    fn gpus_have_their_numbers_and_others_have_none() {
        let gpus = told(&[agent(1, 5, 0), agent(GPU, 6, 0), agent(GPU, 9, 1), agent(GPU, 10, -1)]);
        assert_eq!([5, 6, 9, 10].map(|id| gpus.number(id)), [None, Some(0), Some(1), None]);
        assert_eq!([5, 6, 11].map(|id| gpus.is_host(id)), [true, false, false]);
        assert_eq!((gpus.agents, gpus.is_empty(), told(&[agent(1, 5, 0)]).is_empty()), (4, false, true));
        assert_eq!(gpus.by_agent[&6].place, "0001:c3:01.0");
        assert_eq!(gpus.by_agent[&6].uuid.as_deref(), Some("000089abcdef0123"));
    }

    #[test]
    fn a_description_that_is_too_short_is_none() {
        let mut short = agent(GPU, 6, 0);
        short[0] = 288;
        assert!(told(&[short]).is_empty());
    }

    #[test]
    fn one_without_a_uuid_is_a_gpu_all_the_same() {
        let (mut older, mut none) = (agent(GPU, 6, 0), agent(GPU, 7, 1));
        older[0] = 296;
        none[37] = 0;
        let gpus = told(&[older, none]);
        assert_eq!([6, 7].map(|id| (gpus.number(id), gpus.by_agent[&id].uuid.clone())), [(Some(0), None), (Some(1), None)]);
    }
}
