//! What the time daemons of this host say, beside the host clock: chronyd and ptp4l, where they answer.
//!
//! They are asked between packets, so nobody is waited for: a daemon of this host answers within a tenth of what it is given, and one
//! that did not answer is left in peace for a while.

use std::time::Duration;

use rankscope_clock::files::Witness;
use rankscope_time::{Knot, Span};

use crate::clocks::HostTime;
use crate::clocks::chrony::Tracking;
use crate::clocks::phc::Phc;
use crate::clocks::ptp::{Following, Steered};
use crate::stamps::Capability;

const PATIENCE: Duration = Duration::from_millis(2);

/// Windows that one which did not answer is left in peace.
const RESTS: u32 = 15;

/// Who is asked.
#[derive(Debug, Default)]
pub(super) struct Witnesses {
    chrony_rests: u32,
    ptp_rests: u32,
    /// The clock of the network card that ptp4l steers, and the interface it was opened for.
    card: Option<(String, Phc)>,
}

impl Witnesses {
    /// Once a window: what each says it is, beside the host clock. What it may be wrong by is the uncertainty.
    pub(super) fn hear(&mut self, host: &mut HostTime) -> Vec<(Witness, Knot)> {
        let chrony = asked(&mut self.chrony_rests, || Tracking::now(PATIENCE).ok());
        let chrony = chrony.filter(|tracking| tracking.synchronised).map(|tracking| {
            let says = Says { correction: tracking.correction, error_max: tracking.error_max() };
            (Witness::Chrony, says.of(host.beside_realtime()))
        });
        let ptp = asked(&mut self.ptp_rests, || Following::now(PATIENCE).ok());
        let ptp = ptp.and_then(|following| {
            let shows = self.shown(&following.clock, host)?;
            let says = Says { correction: -following.ahead, error_max: following.error_max(shows.from_ns) };
            let ahead_of_utc = following.clock.ahead_of_utc().as_nanos();
            let on_utc = Knot { from_ns: shows.from_ns.saturating_sub(ahead_of_utc), ..shows };
            Some((Witness::Ptp { grandmaster: following.grandmaster }, says.of(on_utc)))
        });
        chrony.into_iter().chain(ptp).collect()
    }

    /// The clock that is steered, beside the host clock.
    fn shown(&mut self, clock: &Steered, host: &mut HostTime) -> Option<Knot> {
        let Steered::Card { interface, .. } = clock else { return Some(host.beside_realtime()) };
        if self.card.as_ref().is_none_or(|(known, _)| known != interface) {
            let index = Capability::of(interface).ok()?.phc?;
            self.card = Some((interface.clone(), Phc::open(index).ok()?));
        }
        let (_, card) = self.card.as_mut()?;
        host.beside_card(card).ok().flatten()
    }
}

/// What a daemon says of the clock that it steers.
struct Says {
    /// What is to be added to it.
    correction: Span,
    error_max: Span,
}

impl Says {
    fn of(self, shows: Knot) -> Knot {
        let error_ns = self.error_max.as_nanos().unsigned_abs();
        let from_ns = shows.from_ns.saturating_add(self.correction.as_nanos());
        Knot { from_ns, uncertainty_ns: shows.uncertainty_ns.saturating_add(error_ns), ..shows }
    }
}

/// What is said, unless nobody answered a short while ago.
fn asked<T>(rests: &mut u32, ask: impl FnOnce() -> Option<T>) -> Option<T> {
    *rests = rests.saturating_sub(1);
    if *rests > 0 {
        return None;
    }
    let said = ask();
    if said.is_none() {
        *rests = RESTS;
    }
    said
}
