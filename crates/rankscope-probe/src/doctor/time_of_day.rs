//! What is said of the time of day: how `CLOCK_REALTIME` is steered, by whom, and what those daemons vouch for.

use rankscope_time::Span;

use super::Examination;
use super::advice::{Advice, Grade, note};
use crate::clocks::chrony::Tracking;
use crate::clocks::ptp::{Following, Steered};

pub(super) fn steering(seen: &Examination) -> Advice {
    let state = match &seen.steering {
        Ok(state) => state,
        Err(error) => {
            let finding = format!("adjtimex: {error}");
            return note(Grade::Weak, "time of day", finding, Some("steps and slews are still seen in the snapshots"));
        }
    };
    let slewing = if state.pending_ns == 0 { String::new() } else { format!(", {} ns still to be slewed", state.pending_ns) };
    let daemons = [seen.chrony.map(chrony_says), seen.ptp.as_ref().map(ptp_says)].into_iter().flatten().collect::<String>();
    let frequency = format!("frequency {:+.3} ppm{slewing}{daemons}", state.frequency_ppm);
    if state.synchronised {
        return note(Grade::Good, "time of day", format!("synchronised, {frequency}"), None);
    }
    let remedy = "clock offsets do not depend on it; for correct times of day in reports, run chronyd";
    note(Grade::Weak, "time of day", format!("not synchronised, {frequency}"), Some(remedy))
}

/// What chronyd vouches for, with the parts of it.
fn chrony_says(chrony: Tracking) -> String {
    if !chrony.synchronised {
        return "; chronyd follows no source".to_owned();
    }
    let Tracking { stratum, correction, root_delay, root_dispersion, .. } = chrony;
    format!(
        "; chronyd says within {} ns of UTC, as stratum {stratum} has it ({:+} ns to correct, root delay {} ns, dispersion {} ns)",
        chrony.error_max().as_nanos(),
        correction.as_nanos(),
        root_delay.as_nanos(),
        root_dispersion.as_nanos()
    )
}

/// What ptp4l vouches for, with the parts of it.
fn ptp_says(ptp: &Following) -> String {
    let Following { grandmaster, steps_removed, ahead, path_delay, clock, .. } = ptp;
    let clock = match clock {
        Steered::Realtime => "this clock",
        Steered::Card { interface, .. } => &format!("the clock of {interface}"),
    };
    if *steps_removed == 0 {
        return format!("; ptp4l leads its network by {clock} (grandmaster {grandmaster})");
    }
    let hops = if *steps_removed == 1 { "1 step".to_owned() } else { format!("{steps_removed} steps") };
    format!(
        "; ptp4l says {clock} is within {} ns of grandmaster {grandmaster}, {hops} away ({:+} ns ahead, path delay {} ns)",
        ptp.compared_ns.map_or(Span::ZERO, |compared_ns| ptp.error_max(compared_ns)).as_nanos(),
        ahead.as_nanos(),
        path_delay.as_nanos()
    )
}

pub(super) fn daemons(seen: &Examination) -> Advice {
    let names: Vec<&str> = seen.daemons.iter().map(|daemon| daemon.name.as_str()).collect();
    let steers = |name: &&&str| !matches!(**name, "ptp4l" | "ts2phc" | "timemaster");
    match names.as_slice() {
        [] => note(Grade::Good, "time daemons", "none is seen".to_owned(), None),
        several if several.iter().filter(steers).count() > 1 => {
            let remedy = "they adjust CLOCK_REALTIME against each other: stop all but one";
            note(Grade::Weak, "time daemons", several.join(", "), Some(remedy))
        }
        known => note(Grade::Good, "time daemons", known.join(", "), None),
    }
}

#[cfg(test)]
mod tests {
    use rankscope_clock::files::ClockIdentity;

    use super::super::advice::tests::{about, healthy};
    use super::*;
    use crate::doctor::TimeDaemon;

    #[test]
    fn what_chronyd_vouches_for_is_said_with_its_parts() {
        let nanos = Span::from_nanos;
        let tracking = Tracking {
            stratum: 3,
            synchronised: true,
            correction: nanos(-1_000),
            root_delay: nanos(4_000),
            root_dispersion: nanos(500),
        };
        let seen = Examination { chrony: Some(tracking), ..healthy() };
        let finding = about(&seen, "time of day").finding;
        assert!(finding.contains("within 3500 ns of UTC") && finding.contains("stratum 3"), "{finding}");
        let alone = Examination { chrony: Some(Tracking { synchronised: false, ..tracking }), ..healthy() };
        assert!(about(&alone, "time of day").finding.contains("follows no source"));
    }

    #[test]
    fn what_ptp4l_vouches_for_is_said_with_its_parts() {
        let nanos = Span::from_nanos;
        let following = Following {
            grandmaster: ClockIdentity([0x4e, 0x87, 0x9f, 0xff, 0xfe, 0x37, 0x93, 0xff]),
            steps_removed: 1,
            ahead: nanos(-220),
            path_delay: nanos(2_343),
            clock: Steered::Realtime,
            locked: true,
            compared_ns: Some(1_000),
        };
        let said = |ptp: Following| about(&Examination { ptp: Some(ptp), ..healthy() }, "time of day").finding;
        let finding = said(following.clone());
        let expected = "ptp4l says this clock is within 2563 ns of grandmaster 4e879f.fffe.3793ff, 1 step away (-220 ns ahead, path delay 2343 ns)";
        assert!(finding.contains(expected), "{finding}");
        let card = Steered::Card { interface: "eth1".to_owned(), ahead_of_utc: nanos(37_000_000_000) };
        let leads = said(Following { steps_removed: 0, clock: card, compared_ns: None, ..following });
        assert!(leads.contains("ptp4l leads its network by the clock of eth1"), "{leads}");
    }

    #[test]
    fn two_ptp_daemons_work_together() {
        let daemon = |name: &str| TimeDaemon { name: name.to_owned(), pid: 1 };
        let ptp = Examination { daemons: vec![daemon("ptp4l"), daemon("phc2sys")], ..healthy() };
        assert_eq!(about(&ptp, "time daemons").grade, Grade::Good);
    }
}
