//! [`Anchors`]: those of a session, bounded however long it is.

use std::time::Duration;

use crate::Anchor;

/// So many are kept.
const MOST: usize = 4096;
/// How far apart they are at first.
const PERIOD: Duration = Duration::from_secs(1);

/// Anchors in order of time. When they are too many, every second one goes, and from then on they are twice as far apart.
#[derive(Debug)]
pub(crate) struct Anchors {
    kept: Vec<Anchor>,
    period: Duration,
}

impl Default for Anchors {
    fn default() -> Self {
        Self { kept: Vec::new(), period: PERIOD }
    }
}

impl Anchors {
    pub(crate) fn add(&mut self, anchor: Anchor) {
        if self.kept.len() == MOST {
            let mut stays = false;
            self.kept.retain(|_| {
                stays = !stays;
                stays
            });
            self.period *= 2;
        }
        self.kept.push(anchor);
    }

    /// How long to wait for the next.
    pub(crate) fn period(&self) -> Duration {
        self.period
    }

    pub(crate) fn all(&self) -> &[Anchor] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_months_keeps_its_first_and_last() {
        let mut anchors = Anchors::default();
        let at = |raw_ns| Anchor { wall_ns: raw_ns + 7, raw_ns, width_ns: 40 };
        let (mut now_ns, mut taken) = (0_i64, 0);
        while now_ns < 100 * 86_400 * 1_000_000_000 {
            anchors.add(at(now_ns));
            taken += 1;
            now_ns += i64::try_from(anchors.period().as_nanos()).unwrap();
        }
        anchors.add(at(now_ns));
        let all = anchors.all();
        assert!(all.len() <= MOST && taken > MOST, "{} of {taken}", all.len());
        assert_eq!((all[0], all[all.len() - 1]), (at(0), at(now_ns)));
        assert!(all.is_sorted_by(|a, b| a.raw_ns < b.raw_ns));
    }
}
