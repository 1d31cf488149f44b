//! Which events are asked for.
//!
//! The mask is one number for the whole process, which the last communicator to begin sets: so it is decided once, by the first.

use std::sync::OnceLock;

use crate::event::Sort;
use crate::library::Library;

/// The variable by which somebody chooses: `none`, a number as NCCL's own variables take it, or words.
pub(crate) const VARIABLE: &str = "RANKSCOPE_NCCL_EVENTS";

/// Words for [`VARIABLE`], and what each asks for.
const WORDS: [(&str, &[Sort]); 6] = [
    ("operations", &[Sort::Coll, Sort::P2p, Sort::CeColl]),
    ("calls", &[Sort::CollApi, Sort::P2pApi]),
    ("kernels", &[Sort::KernelCh]),
    ("launches", &[Sort::KernelLaunch]),
    ("proxies", &[Sort::ProxyOp]),
    ("groups", &[Sort::GroupApi, Sort::Group]),
];

/// From this version on, watching kernels costs up to a tenth of small collectives.
const KERNELS_COST_FROM: u32 = 23_100;

/// What is known when it is decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    /// The version of the interface that is used.
    pub(crate) interface: u8,
    /// Who calls.
    pub(crate) library: &'a Library,
    /// A recording is wanted, and not only the ring of the last minute.
    pub(crate) is_recording: bool,
}

/// The mask: what `chosen` says, else what shows arrivals and ends at the least cost.
///
/// # Errors
/// The word in `chosen` that means nothing.
pub(crate) fn decide(situation: Situation<'_>, chosen: Option<&str>) -> Result<i32, String> {
    match chosen.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => parse(text),
        None => Ok(usual(situation)),
    }
}

fn usual(Situation { interface, library, is_recording }: Situation<'_>) -> i32 {
    let mut mask = Sort::Coll.bit() | Sort::P2p.bit();
    if interface < 3 {
        // Nothing else tells that something has ended.
        return mask | Sort::ProxyOp.bit();
    }
    if is_recording || library.version < KERNELS_COST_FROM {
        mask |= Sort::KernelCh.bit();
    }
    if interface >= 5 {
        mask |= Sort::CollApi.bit() | Sort::P2pApi.bit() | Sort::KernelLaunch.bit();
    }
    if interface >= 6 {
        mask |= Sort::CeColl.bit();
    }
    mask
}

fn parse(text: &str) -> Result<i32, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(0);
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => i32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    if let Some(number) = number {
        return Ok(number);
    }
    text.split(',').map(str::trim).try_fold(0, |mask, word| {
        let (_, sorts) = WORDS.iter().find(|(known, _)| *known == word).ok_or_else(|| word.to_owned())?;
        Ok(sorts.iter().fold(mask, |mask, sort| mask | sort.bit()))
    })
}

/// Whether events of this mask tell when operations end.
pub(crate) fn tells_ends(mask: i32) -> bool {
    mask & (Sort::KernelCh.bit() | Sort::ProxyOp.bit()) != 0
}

/// What is asked for: what is wanted here, and what the other plugin wanted when it was first asked. All communicators of a process get
/// the same answer.
pub(crate) struct Mask {
    own: i32,
    with_other: OnceLock<i32>,
}

impl Mask {
    pub(crate) fn new(own: i32) -> Self {
        Self { own, with_other: OnceLock::new() }
    }

    /// The answer, where the other plugin wants `other`.
    pub(crate) fn also(&self, other: i32) -> i32 {
        *self.with_other.get_or_init(|| self.own | other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(interface: u8, version: u32, is_recording: bool) -> i32 {
        let library = Library { path: String::new(), version };
        decide(Situation { interface, library: &library, is_recording }, None).unwrap()
    }

    #[test]
    fn kernels_are_watched_where_that_is_cheap_or_wanted() {
        let kernels = Sort::KernelCh.bit();
        assert_ne!(of(6, 23_007, false) & kernels, 0);
        assert_eq!(of(7, 23_102, false) & kernels, 0);
        assert_ne!(of(7, 23_102, true) & kernels, 0);
        assert!(tells_ends(of(1, 22_300, true)) && !tells_ends(of(7, 23_102, false)));
        assert_eq!(of(7, 0, true) & Sort::KernelPhase.bit(), 0);
    }

    #[test]
    fn somebody_may_choose() {
        let library = Library::default();
        let chosen = |text| decide(Situation { interface: 7, library: &library, is_recording: true }, Some(text));
        assert_eq!(chosen("none"), Ok(0));
        assert_eq!((chosen("0x42"), chosen("66")), (Ok(0x42), Ok(66)));
        assert_eq!(chosen("kernels, calls"), Ok(1 << 6 | 1 << 9 | 1 << 10));
        assert_eq!(chosen("kernels,bells"), Err("bells".to_owned()));
    }
}
