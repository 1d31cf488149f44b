//! What the change of a step's time is made of, to the nanosecond.
//!
//! A step of the job is as long as on its slowest rank, so the parts are those of one rank's step: the rank that set the pace of the
//! change (`pacing`). Its step is computation, exposed communication, exposed copies and idle time; each of them is split by the
//! tables of that rank, and what the sums of tables are more or less than the class is a part of its own: work that ran side by
//! side, and work outside the marked steps. Each side is split first, into whole nanoseconds that add up; a contribution is the
//! difference of two such parts, so contributions add up whatever was rounded.

mod account;
mod pacing;
mod sorted;
mod split;
mod why;

use rankscope_document::{ClassChange, Contribution, RankChange, StructureChanges};

use crate::Settings;
use crate::side::Side;
use crate::structure;
use crate::work::Class;

use account::{Mode, RankPair, pairs};

/// What is told of the change of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) base_step_ns: i64,
    pub(crate) test_step_ns: i64,
    pub(crate) paced_by: Option<u32>,
    pub(crate) contributions: Vec<Contribution>,
    pub(crate) classes: Vec<ClassChange>,
    pub(crate) ranks: Vec<RankChange>,
    pub(crate) structure: StructureChanges,
}

pub(crate) fn of(base: &Side, test: &Side, settings: &Settings) -> Told {
    let pairs = pairs(base, test);
    let mode = Mode::of(&pairs, base, test);
    let (base_step_ns, test_step_ns) = (account::step_ns(base), account::step_ns(test));
    let step_delta_ns = test_step_ns - base_step_ns;
    let paced = pacing::rank(&pairs, mode, step_delta_ns);
    let split = split::of(paced, &pairs, mode, [base_step_ns, test_step_ns]);
    Told {
        base_step_ns,
        test_step_ns,
        paced_by: paced.map(|pair| pair.number),
        classes: split.classes(),
        contributions: sorted::contributions(&split, paced, settings),
        ranks: pairs.iter().map(|pair| rank(pair, mode)).collect(),
        structure: structure::changes(pairs.iter().map(|pair| &pair.structure)),
    }
}

fn rank(pair: &RankPair<'_>, mode: Mode) -> RankChange {
    let (base, test) = (pair.base_account(mode), pair.test_account(mode));
    let delta = |class: Class| test.of(class) - base.of(class);
    RankChange {
        rank: pair.number,
        base_ns: base.total_ns(),
        test_ns: test.total_ns(),
        delta_ns: test.total_ns() - base.total_ns(),
        computation_delta_ns: delta(Class::Computation),
        exposed_comm_delta_ns: delta(Class::ExposedComm),
        exposed_memcpy_delta_ns: delta(Class::ExposedMemcpy),
        idle_delta_ns: delta(Class::Idle),
        wait_delta_ns: pair.wait_delta_ns(),
    }
}
