//! A step played, beside what the same work takes without overlap and without a plan.

use super::{LayerWork, Machine, Microbatch, Outcome, Passes, Step, Transfer, Wire, play};
use crate::network::Network;
use crate::{Assignment, Direction, Error, Rows};

/// How the work of plans makes a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepShape {
    /// Layers of a stage.
    pub layers: u32,
    /// Stages of the pipeline.
    pub stages: u32,
    /// Microbatches, the plans in turn; none is one of each plan.
    pub microbatches: Option<u32>,
    /// Which passes of a layer there are.
    pub passes: Passes,
    /// Whether two nano-batches take turns, one computing while the other exchanges.
    pub overlap: bool,
}

impl Default for StepShape {
    /// One layer forward and backward, one stage, a microbatch of each plan, nothing overlapped.
    fn default() -> Self {
        Self { layers: 1, stages: 1, microbatches: None, passes: Passes::Both, overlap: false }
    }
}

impl Step {
    /// The step of this shape that `plans` make; the first says what a pipeline hands on. There is at least one, and all have as
    /// many ranks.
    ///
    /// # Errors
    /// [`Error::BadStep`] without a plan; [`Error::Overflow`] for work beyond 64 bits.
    pub fn of_plans(plans: &[(Assignment<'_>, &Rows)], shape: &StepShape, machine: &Machine) -> Result<Self, Error> {
        let (plan, rows) = plans.first().ok_or(Error::BadStep { what: "a step has at least one plan" })?;
        let microbatch = |(plan, rows): &(Assignment<'_>, &Rows)| Microbatch::of(plan, rows, machine, shape.passes);
        let distinct = plans.iter().map(microbatch).collect::<Result<Vec<_>, _>>()?;
        let many = shape.microbatches.map_or(plans.len(), |many| many as usize);
        let row_bytes = rows.bytes(u64::from(plan.head_groups().all_rows(rows).hidden_q));
        let activation = |tokens: u64| if shape.stages > 1 { tokens.saturating_mul(row_bytes) } else { 0 };
        Ok(Self {
            microbatches: distinct.iter().cycle().take(many).cloned().collect(),
            layers: shape.layers,
            stages: shape.stages,
            activation_bytes: plan.linear_tokens().into_iter().map(activation).collect(),
            nano_batches: if shape.overlap { 2 } else { 1 },
            overlap: shape.overlap,
        })
    }
}

/// A step, and what the same would be otherwise.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scene {
    /// The step that was played.
    pub step: Step,
    /// Which passes it has.
    pub passes: Passes,
    /// What came of it.
    pub played: Outcome,
    /// Nano-batches one after the other; none where there is one only.
    pub without_overlap: Option<Outcome>,
    /// Every token's attention where the token lives, in as many nano-batches.
    pub undispatched: Outcome,
}

impl Scene {
    /// Plays the step that `plans` make, and the other two.
    ///
    /// # Errors
    /// Those of [`Step::of_plans`] and [`play`].
    pub fn play(
        plans: &[(Assignment<'_>, &Rows)],
        shape: &StepShape,
        machine: &Machine,
        network: &Network,
        wire: Wire,
    ) -> Result<Self, Error> {
        let step = Step::of_plans(plans, shape, machine)?;
        let at_home: Vec<_> = plans.iter().map(|(plan, _)| plan.layout().at_home()).collect();
        let groups = plans.iter().map(|(plan, _)| plan.head_groups());
        let at_home = at_home.iter().zip(groups).map(|(batch, groups)| Assignment::from(batch).of_heads(groups));
        let at_home = at_home.zip(plans).map(|(plan, (_, rows))| Ok((plan?, *rows))).collect::<Result<Vec<_>, Error>>()?;
        let home = Step { overlap: false, ..Step::of_plans(&at_home, shape, machine)? };
        let play = |step: &Step| play(step, machine, network, wire);
        let played = play(&step)?;
        let in_turn = || play(&Step { overlap: false, ..step.clone() });
        let without_overlap = shape.overlap.then(in_turn).transpose()?;
        Ok(Self { passes: shape.passes, played, without_overlap, undispatched: play(&home)?, step })
    }

    /// The exchanges of the step, in the order of a layer, and the bytes that cross between ranks in each: of all layers, stages,
    /// microbatches and nano-batches.
    #[must_use]
    pub fn exchanges(&self) -> Vec<(Direction, u64)> {
        let Self { step, passes, .. } = self;
        let times = [step.layers, step.stages, step.nano_batches].map(u64::from).iter().product();
        let sum = |transfers: &dyn Fn(&Microbatch) -> Option<&Transfer>| {
            let bytes = step.microbatches.iter().filter_map(transfers).map(|transfer| transfer.traffic.remote_bytes());
            bytes.fold(0, u64::saturating_add).saturating_mul(times)
        };
        let of = |exchanges: Option<[Direction; 2]>, pass: fn(&Microbatch) -> Option<&LayerWork>| {
            let [there, back] = exchanges?;
            let there = (there, sum(&|one| pass(one).map(|work| &work.there)));
            Some([there, (back, sum(&|one| pass(one).map(|work| &work.back)))])
        };
        let forward = of(passes.forward(), |one| one.forward.as_ref());
        let backward = of(passes.backward(), |one| one.backward.as_ref());
        forward.into_iter().chain(backward).flatten().collect()
    }
}
