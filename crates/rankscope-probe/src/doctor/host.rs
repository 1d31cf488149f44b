//! What `/proc` and `/sys` tell about a host. A file that is not there tells nothing.

use std::fs;
use std::path::Path;

/// What this process may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// `CAP_NET_ADMIN`: switch a card's stamping on, poll it busily.
    pub net_admin: bool,
    /// `CAP_SYS_NICE`, or a limit on real-time priority above zero: run before all others.
    pub realtime: bool,
    /// `CAP_SYS_TIME`: set clocks, which rankscope never does.
    pub sys_time: bool,
}

/// A daemon that steers a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeDaemon {
    /// As the kernel knows it, which is 15 bytes of it.
    pub name: String,
    /// Its process.
    pub pid: u32,
}

/// Names of such daemons, cut as the kernel cuts them.
const DAEMONS: [&str; 10] =
    ["chronyd", "ntpd", "ntp-daemon", "ptp4l", "phc2sys", "ts2phc", "timemaster", "statime", "systemd-timesyn", "sfptpd"];

const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_NICE: u32 = 23;
const CAP_SYS_TIME: u32 = 25;

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

pub(super) fn kernel() -> String {
    text("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned())
}

pub(super) fn clocksource() -> Option<String> {
    text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

pub(super) fn clocksources() -> Vec<String> {
    let all = text("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    all.split_whitespace().map(str::to_owned).collect()
}

pub(super) fn tsc_invariant() -> Option<bool> {
    has_flags(&text("/proc/cpuinfo")?, &["constant_tsc", "nonstop_tsc"])
}

/// Whether the first processor has all of `flags`; none where there is no line of flags, as on other architectures.
fn has_flags(cpuinfo: &str, flags: &[&str]) -> Option<bool> {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.trim_start().strip_prefix(':'))?;
    let has: Vec<&str> = line.split_whitespace().collect();
    Some(flags.iter().all(|flag| has.contains(flag)))
}

pub(super) fn permissions() -> Permissions {
    permitted(&text("/proc/self/status").unwrap_or_default(), &text("/proc/self/limits").unwrap_or_default())
}

fn permitted(status: &str, limits: &str) -> Permissions {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let has = |capability: u32| effective >> capability & 1 == 1;
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max realtime priority")?.split_whitespace().next());
    Permissions {
        net_admin: has(CAP_NET_ADMIN),
        realtime: has(CAP_SYS_NICE) || soft.is_some_and(|soft| soft != "0"),
        sys_time: has(CAP_SYS_TIME),
    }
}

pub(super) fn time_daemons() -> Vec<TimeDaemon> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let daemon = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?.trim().to_owned();
        DAEMONS.contains(&name.as_str()).then_some(TimeDaemon { name, pid })
    };
    let mut found: Vec<TimeDaemon> = processes.flatten().filter_map(daemon).collect();
    found.sort_by(|a, b| (&a.name, a.pid).cmp(&(&b.name, b.pid)));
    // A daemon that forks helpers, as chronyd does, is one.
    found.dedup_by(|a, b| a.name == b.name);
    found
}

pub(super) fn virtualisation() -> Option<String> {
    let vendor = text("/sys/class/dmi/id/sys_vendor").or_else(|| text("/sys/hypervisor/type"));
    let inside = has_flags(&text("/proc/cpuinfo").unwrap_or_default(), &["hypervisor"]) == Some(true);
    let kvm = clocksources().iter().any(|source| source == "kvm-clock");
    let machine = match (inside, kvm, vendor) {
        (false, ..) => None,
        (true, true, None) => Some("virtual machine (KVM)".to_owned()),
        (true, _, Some(vendor)) => Some(format!("virtual machine ({vendor})")),
        (true, false, None) => Some("virtual machine".to_owned()),
    };
    let contained = ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists());
    let container = contained.then(|| "container".to_owned());
    let found: Vec<String> = machine.into_iter().chain(container).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_come_from_capabilities_or_limits() {
        let root = "Name:\tx\nCapEff:\t000001ffffffffff\n";
        assert_eq!(permitted(root, ""), Permissions { net_admin: true, realtime: true, sys_time: true });
        let user = "CapEff:\t0000000000000000\n";
        assert_eq!(permitted(user, "Max realtime priority     0                    0   \n"), Permissions::default());
        assert!(permitted(user, "Max realtime priority     10                   99  \n").realtime);
        assert_eq!(permitted("", ""), Permissions::default());
        assert_eq!(permitted("CapEff:\t0000000000001000\n", ""), Permissions { net_admin: true, ..Permissions::default() });
    }

    #[test]
    fn a_processor_without_flags_tells_nothing() {
        let cpuinfo = "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc\n";
        assert_eq!(has_flags(cpuinfo, &["constant_tsc", "nonstop_tsc"]), Some(true));
        assert_eq!(has_flags(cpuinfo, &["hypervisor"]), Some(false));
        assert_eq!(has_flags("processor\t: 0\nFeatures\t: fp asimd\n", &["fpu"]), None);
    }
}
