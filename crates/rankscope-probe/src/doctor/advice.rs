//! What to make of what was seen: per topic a grade, a sentence, and what to do where it is not good; and what accuracy to expect.
//!
//! The figures of the expectation are those of the estimator on recorded probes with kernel stamps (errors below 100 ns at up to
//! 80 % load), of published systems with hardware stamps, and of the floor that was measured here. They are no guarantee: that is
//! what the bound of every estimate is for.

use super::time_of_day::{daemons, steering};
use super::{Examination, InterfaceFacts};
use crate::stamps::{LoopbackReport, Stamping};

/// How good something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Good,
    /// It works, and could be better.
    Weak,
    /// It does not work.
    Bad,
}

impl Grade {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Weak => "weak",
            Self::Bad => "bad",
        }
    }
}

/// A judgement on one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// How good it is.
    pub grade: Grade,
    /// What it is about, in a word or two.
    pub topic: &'static str,
    /// What was found.
    pub finding: String,
    /// What to do about it.
    pub remedy: Option<&'static str>,
}

/// How far a clock difference will likely be off, between this host and one like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What stamps are used.
    pub stamping: Stamping,
    /// On an idle network.
    pub idle_ns: i64,
    /// On a loaded one, with delays that differ between the two directions.
    pub loaded_ns: i64,
    /// Why.
    pub reasons: Vec<String>,
}

/// Clock reads that take longer than this do not come from the processor's counter.
const SLOW_READ_NS: i64 = 500;

/// A floor of stamping above this is no kernel path but something in between.
const HIGH_FLOOR_NS: i64 = 10_000;

/// Judges everything that was seen, in a fixed order of topics.
pub fn advise(seen: &Examination) -> Vec<Advice> {
    let mut advice = vec![stamps(seen)];
    advice.extend(seen.loopback.iter().map(|(ip, result)| loopback(ip.is_ipv6(), result)));
    advice.extend(seen.interfaces.iter().filter_map(card));
    advice.extend([clocksource(seen), reads(seen), steering(seen), daemons(seen), permissions(seen)]);
    advice.extend(seen.virtualisation.as_ref().map(|what| {
        let finding =
            format!("inside a {what}; preemption by the host looks like queueing, and the host's daemons cannot be seen");
        note(Grade::Weak, "virtualisation", finding, Some("pin the virtual CPUs, or probe from the physical machine"))
    }));
    advice
}

/// What accuracy to expect.
pub fn expect(seen: &Examination) -> Expectation {
    let stamping = best_stamping(seen);
    let floor = floor(seen);
    let jitter_ns = floor.and_then(|report| Some(report.percentile_ns(50)? - report.percentile_ns(0)?)).unwrap_or(0);
    let mut reasons = Vec::new();
    let (idle_ns, loaded_ns) = match stamping {
        Stamping::Hardware => {
            reasons.push("the network card timestamps packets at the wire".to_owned());
            (20, 50)
        }
        Stamping::Kernel => {
            let reason = "the kernel timestamps packets; the figures were measured over virtual links, and interrupts of real cards may add microseconds of difference between the two directions";
            reasons.push(reason.to_owned());
            (50 + jitter_ns, 100 + jitter_ns)
        }
        Stamping::User => {
            reasons.push("only the program timestamps packets, so scheduling counts as delay".to_owned());
            (10_000, 50_000)
        }
    };
    if let Some(report) = floor
        && let (Some(min), Some(p99)) = (report.percentile_ns(0), report.percentile_ns(99))
    {
        reasons.push(format!("the kernel's own path takes {min} ns at least and {p99} ns in 99 of 100 cases"));
    }
    reasons.push(
        "half of the difference between the two directions' fastest packets remains as an error with any timestamps; the bound contains it"
            .to_owned(),
    );
    if seen.virtualisation.is_some() {
        reasons.push("a virtual machine's packets pass through its host's kernel, which is not measured".to_owned());
    }
    Expectation { stamping, idle_ns, loaded_ns, reasons }
}

/// The best stamps on the way to other hosts; a host with a loopback alone has only itself.
fn best_stamping(seen: &Examination) -> Stamping {
    if floor(seen).is_none() {
        return Stamping::User;
    }
    let outward = seen.interfaces.iter().filter(|facts| !facts.interface.loopback && !facts.interface.is_virtual());
    let found: Vec<Stamping> = outward.map(InterfaceFacts::stamping).collect();
    let any = |stamping| found.contains(&stamping);
    match () {
        () if any(Stamping::Hardware) => Stamping::Hardware,
        () if any(Stamping::Kernel) || found.is_empty() => Stamping::Kernel,
        () => Stamping::User,
    }
}

/// The first self-test in which stamps came.
fn floor(seen: &Examination) -> Option<&LoopbackReport> {
    seen.loopback.iter().filter_map(|(_, result)| result.as_ref().ok()).find(|report| !report.passages_ns.is_empty())
}

pub(super) fn note(grade: Grade, topic: &'static str, finding: String, remedy: Option<&'static str>) -> Advice {
    Advice { grade, topic, finding, remedy }
}

fn stamps(seen: &Examination) -> Advice {
    match best_stamping(seen) {
        Stamping::Hardware => note(Grade::Good, "stamps", "by the network card and by the kernel".to_owned(), None),
        Stamping::Kernel => {
            let remedy = "a card with its own clock (ethtool -T names it) would remove interrupts from the figure";
            note(Grade::Good, "stamps", "by the kernel".to_owned(), Some(remedy))
        }
        Stamping::User => {
            let remedy = "use another interface or driver; ethtool -T shows what it can timestamp, and sandboxes may forbid SO_TIMESTAMPING";
            note(
                Grade::Bad,
                "stamps",
                "neither the card nor the kernel timestamps packets in both directions".to_owned(),
                Some(remedy),
            )
        }
    }
}

fn loopback(ipv6: bool, result: &Result<LoopbackReport, String>) -> Advice {
    let topic = if ipv6 { "IPv6 self-test" } else { "IPv4 self-test" };
    let report = match result {
        Ok(report) => report,
        Err(error) if ipv6 => {
            return note(Grade::Weak, topic, error.clone(), Some("only needed where nodes have IPv6 addresses"));
        }
        Err(error) => {
            return note(Grade::Bad, topic, error.clone(), Some("allow UDP sockets and SO_TIMESTAMPING for this process"));
        }
    };
    let LoopbackReport { sent, stamped, received, .. } = report;
    if stamped < sent || received < sent {
        let finding =
            format!("of {sent} packets, {stamped} got a transmit timestamp and {received} came back with a receive timestamp");
        return note(Grade::Bad, topic, finding, Some("look for a firewall on the loopback, or a kernel without timestamping"));
    }
    let at = |percent| report.percentile_ns(percent).unwrap_or(0);
    let finding =
        format!("{sent} packets, all timestamped: transmit to receive min {}, p50 {}, p99 {} ns", at(0), at(50), at(99));
    if at(0) < 0 {
        return note(
            Grade::Bad,
            topic,
            finding,
            Some("packets arrive before they are sent: the kernel's timestamps are useless here"),
        );
    }
    let slow = at(50) > HIGH_FLOOR_NS;
    let remedy = slow.then_some("the host is overloaded, or something inspects packets on the loopback");
    note(if slow { Grade::Weak } else { Grade::Good }, topic, finding, remedy)
}

/// Only what is worth a line: a card's clock, or an interface that cannot be used.
fn card(facts: &InterfaceFacts) -> Option<Advice> {
    let name = &facts.interface.name;
    if let Err(error) = &facts.bound {
        return Some(note(Grade::Weak, "interface", format!("{name} cannot be used: {error}"), None));
    }
    match &facts.phc {
        Some(Ok(())) => Some(note(Grade::Good, "card clock", format!("{name}: readable"), None)),
        Some(Err(error)) => {
            Some(note(Grade::Weak, "card clock", format!("{name}: {error}"), Some("without it kernel timestamps are used")))
        }
        None => None,
    }
}

fn clocksource(seen: &Examination) -> Advice {
    let source = seen.clocksource.as_deref().unwrap_or("unknown");
    let steady = match seen.tsc_invariant {
        Some(true) => ", whose rate is constant",
        Some(false) => ", whose rate follows the CPU frequency",
        None => "",
    };
    match source {
        "tsc" => note(Grade::Good, "clocksource", format!("tsc{steady}"), None),
        "arch_sys_counter" => note(Grade::Good, "clocksource", "the CPU's own counter".to_owned(), None),
        "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen" => {
            let remedy = "if the physical host has a constant TSC, tsc is more stable";
            note(Grade::Weak, "clocksource", format!("{source}, which the hypervisor adjusts"), Some(remedy))
        }
        other => {
            let remedy = "reading it is slow and coarse; the kernel log says why tsc was rejected (tsc=reliable overrides)";
            note(Grade::Weak, "clocksource", other.to_owned(), Some(remedy))
        }
    }
}

fn reads(seen: &Examination) -> Advice {
    let widths = seen.sandwich_ns;
    let finding = format!(
        "two clocks are read together to within {} ns (p99 {}, max {}); CLOCK_REALTIME counts in {} ns",
        widths.p50, widths.p99, widths.max, seen.resolution_ns
    );
    let slow = widths.p50 > SLOW_READ_NS || seen.resolution_ns > 1_000;
    let remedy = slow.then_some("clock reads are system calls; a better clocksource would avoid them through the vDSO");
    note(if slow { Grade::Weak } else { Grade::Good }, "clock reads", finding, remedy)
}

fn permissions(seen: &Examination) -> Advice {
    let Examination { permissions, .. } = seen;
    let missing: Vec<&str> = [
        (permissions.net_admin, "busy polling and hardware timestamps (CAP_NET_ADMIN)"),
        (permissions.realtime, "real-time priority (CAP_SYS_NICE or ulimit -r)"),
    ]
    .iter()
    .filter(|(has, _)| !has)
    .map(|(_, what)| *what)
    .collect();
    if missing.is_empty() {
        return note(
            Grade::Good,
            "permissions",
            "busy polling, hardware timestamps and real-time priority are allowed".to_owned(),
            None,
        );
    }
    let remedy = "kernel timestamps need no permission; these only shorten delays under load";
    note(Grade::Good, "permissions", format!("without {}", missing.join(" and ")), Some(remedy))
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::IpAddr;

    use super::super::{Permissions, Spread, TimeDaemon};
    use super::*;
    use crate::clocks::kernel::Steering;
    use crate::interfaces::Interface;
    use crate::stamps::Capability;

    pub(in super::super) fn healthy() -> Examination {
        let report = LoopbackReport { sent: 3, stamped: 3, received: 3, passages_ns: vec![90, 100, 200] };
        let interface = Interface { name: "eth0".to_owned(), addresses: vec!["10.0.0.1".parse().unwrap()], loopback: false };
        let capability = Capability { transmit_software: true, receive_software: true, ..Capability::default() };
        Examination {
            kernel: "6.18".to_owned(),
            interfaces: vec![InterfaceFacts { interface, capability: Ok(capability), phc: None, bound: Ok(()) }],
            loopback: ["127.0.0.1", "::1"].map(|ip| (ip.parse::<IpAddr>().unwrap(), Ok(report.clone()))).into(),
            permissions: Permissions { net_admin: true, realtime: true, sys_time: false },
            clocksource: Some("tsc".to_owned()),
            clocksources: vec!["tsc".to_owned()],
            tsc_invariant: Some(true),
            sandwich_ns: Spread { min: 30, p50: 32, p99: 36, max: 1_000 },
            resolution_ns: 1,
            steering: Ok(Steering {
                synchronised: true,
                frequency_ppm: 1.5,
                pending_ns: 0,
                estimated_error_us: 1,
                maximum_error_us: 10,
                tick_us: 10_000,
            }),
            chrony: None,
            ptp: None,
            daemons: vec![TimeDaemon { name: "chronyd".to_owned(), pid: 7 }],
            virtualisation: None,
        }
    }

    pub(in super::super) fn about(seen: &Examination, topic: &str) -> Advice {
        advise(seen).into_iter().find(|advice| advice.topic == topic).unwrap()
    }

    #[test]
    fn a_healthy_host_has_nothing_to_do() {
        assert!(advise(&healthy()).iter().all(|advice| advice.grade == Grade::Good), "{:?}", advise(&healthy()));
        let expected = expect(&healthy());
        assert_eq!((expected.stamping, expected.idle_ns, expected.loaded_ns), (Stamping::Kernel, 60, 110));
    }

    #[test]
    fn every_weakness_is_named_with_what_to_do() {
        type Break = fn(&mut Examination);
        let table: [(&str, Grade, Break); 10] = [
            ("stamps", Grade::Bad, |seen| seen.interfaces[0].capability = Err("no".to_owned())),
            ("IPv4 self-test", Grade::Bad, |seen| seen.loopback[0].1 = Err("no sockets".to_owned())),
            ("IPv4 self-test", Grade::Bad, |seen| {
                seen.loopback[0].1 = Ok(LoopbackReport { sent: 3, stamped: 2, received: 3, passages_ns: vec![1, 2] });
            }),
            ("IPv6 self-test", Grade::Weak, |seen| seen.loopback[1].1 = Err("no IPv6".to_owned())),
            ("clocksource", Grade::Weak, |seen| seen.clocksource = Some("hpet".to_owned())),
            ("clock reads", Grade::Weak, |seen| seen.sandwich_ns.p50 = 3_000),
            ("time of day", Grade::Weak, |seen| seen.steering = Err("forbidden".to_owned())),
            ("time daemons", Grade::Weak, |seen| {
                seen.daemons.push(TimeDaemon { name: "ntpd".to_owned(), pid: 8 });
            }),
            ("card clock", Grade::Weak, |seen| seen.interfaces[0].phc = Some(Err("no permission".to_owned()))),
            ("virtualisation", Grade::Weak, |seen| seen.virtualisation = Some("container".to_owned())),
        ];
        for (topic, grade, spoil) in table {
            let mut seen = healthy();
            spoil(&mut seen);
            let advice = about(&seen, topic);
            assert_eq!(advice.grade, grade, "{advice:?}");
            assert!(advice.remedy.is_some(), "{advice:?}");
        }
    }

    #[test]
    fn a_card_clock_that_cannot_be_read_does_not_count() {
        let mut seen = healthy();
        let stamps = |card: &InterfaceFacts| card.stamping();
        let all = Capability {
            transmit_software: true,
            receive_software: true,
            transmit_hardware: true,
            receive_hardware: true,
            phc: Some(0),
        };
        seen.interfaces[0].capability = Ok(all);
        seen.interfaces[0].phc = Some(Err("no permission".to_owned()));
        assert_eq!(stamps(&seen.interfaces[0]), Stamping::Kernel);
        seen.interfaces[0].phc = Some(Ok(()));
        assert_eq!(expect(&seen).stamping, Stamping::Hardware);
        assert!(expect(&seen).loaded_ns < expect(&healthy()).loaded_ns);
    }
}
