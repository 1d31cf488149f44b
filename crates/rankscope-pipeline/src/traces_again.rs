//! Traces for a second map: those of a rank as one, read again by whoever comes to it, on the rank's own clock.
//!
//! Each is read as it was for its part. One that is not what the plan says any more is an error, and is not told of by halves.

use std::collections::BTreeMap;

use rankscope_align::settle_tracers;
use rankscope_formats::ArgsPolicy;
use rankscope_run::InputFile;
use rankscope_trace::Trace;

use crate::Error;
use crate::facts::{Clues, SideReadings};
use crate::job_clocks::{FrozenRank, FrozenTrace};
use crate::plan::Plan;
use crate::read::{Reading, read_members};

/// Where the traces of a plan are, and how they are read.
pub(crate) struct TracesAgain<'a> {
    plan: &'a Plan,
    readings: SideReadings,
    reading: Reading,
}

impl<'a> TracesAgain<'a> {
    /// Those of `plan`, with arguments of events by `args`.
    pub(crate) fn of(plan: &'a Plan, args: ArgsPolicy) -> Result<Self, Error> {
        let readings = SideReadings::of(&Clues { run: None, clocks: plan.clock_folder() })?;
        Ok(Self { plan, readings, reading: Reading { args, ..plan.reading() } })
    }

    /// All traces of `rank` as one.
    pub(crate) fn of_rank(&self, rank: &FrozenRank) -> Result<Trace, Error> {
        let mut found: BTreeMap<(u32, u32), Trace> = BTreeMap::new();
        let mut files: Vec<u32> = rank.traces.iter().map(|trace| trace.file).collect();
        files.sort_unstable();
        files.dedup();
        for number in files {
            self.read(number, &rank.traces, &mut found);
        }
        let mut whole: Option<Trace> = None;
        for FrozenTrace { file, member, label } in &rank.traces {
            let trace = found.remove(&(*file, *member)).ok_or_else(|| Error::Changed { file: label.clone() })?;
            match &mut whole {
                Some(whole) => whole.join_export(trace),
                None => whole = Some(trace),
            }
        }
        Ok(whole.unwrap_or_default())
    }

    /// Reads those of `wanted` that lie in the file of this number, unless it is another file by now.
    fn read(&self, number: u32, wanted: &[FrozenTrace], found: &mut BTreeMap<(u32, u32), Trace>) {
        let Some(input) = self.plan.inputs.get(number as usize).filter(|input| input.is_unchanged()) else { return };
        let file: InputFile = input.file();
        let mut member = 0;
        read_members(&file, self.reading, |read| {
            let place = (number, member);
            member += 1;
            let is_wanted = wanted.iter().any(|trace| (trace.file, trace.member) == place);
            let (true, Ok(mut trace)) = (is_wanted, read.trace) else { return };
            self.readings.attach(&mut trace);
            settle_tracers(&mut trace);
            found.insert(place, trace);
        });
    }
}
