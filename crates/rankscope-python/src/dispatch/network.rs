//! What a plan takes on a network, predicted or played; the documents are those of the command.

use pyo3::prelude::*;
use rankscope_dispatch::events::{Machine, Passes, Scene, StepShape, Wire};
use rankscope_dispatch::network::{PRESETS, Preset};
use rankscope_dispatch::{Direction, Error, Pass};
use rankscope_plan_files::network::{self as file, Known};
use rankscope_plan_files::plan::Plan;
use rankscope_plan_files::{played, predicted};

use super::errors::{NetworkError, PlanError, plan};

/// A network by its name, or the one in the bytes of the file of this name.
pub(super) fn known(name: &str, bytes: Option<&[u8]>) -> PyResult<Known> {
    if let Some(bytes) = bytes {
        let read = file::read(bytes).map_err(|error| NetworkError::new_err(format!("{name}: {error}")))?;
        return Ok(Known { name: name.to_owned(), source: read.1, network: read.0 });
    }
    let preset = Preset::of_name(name).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let names = names.join(", ");
        NetworkError::new_err(format!(
            "{name}: neither a file nor a network known by name. The names are {names}; `rankscope dispatch calibrate` makes a file"
        ))
    })?;
    Ok(Known { name: name.to_owned(), source: preset.source.to_owned(), network: preset.network() })
}

/// The pass of this name.
pub(super) fn pass(name: &str) -> PyResult<Pass> {
    match name {
        "forward" => Ok(Pass::Forward),
        "backward" => Ok(Pass::Backward),
        other => Err(PlanError::new_err(format!("no pass is called {other}; there are forward and backward"))),
    }
}

pub(super) fn predict(plan: &Plan, known: &Known, exchanges: &[Direction]) -> Result<String, Error> {
    let predicted = known.network.predict_exchanges(&plan.assignment, &plan.rows, exchanges)?;
    Ok(predicted::document(known, &predicted).to_string())
}

/// How a step is played.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Step {
    layers: u32,
    stages: u32,
    microbatches: Option<u32>,
    backward: bool,
    only: Option<String>,
    resend: bool,
    overlap: bool,
    flows: bool,
    attention_tflops: f64,
    dense_tflops: f64,
    memory_gb_per_s: f64,
}

/// Layers, stages and microbatches of a step, each.
const PARTS_MAX: u32 = 1 << 12;

impl Step {
    fn shape(&self) -> PyResult<StepShape> {
        for (name, parts) in [("layers", Some(self.layers)), ("stages", Some(self.stages)), ("microbatches", self.microbatches)]
        {
            if parts.is_some_and(|parts| parts == 0 || parts > PARTS_MAX) {
                return Err(PlanError::new_err(format!("{name}: 1 to {PARTS_MAX} are played")));
            }
        }
        let mut shape = StepShape::default();
        (shape.layers, shape.stages, shape.microbatches) = (self.layers, self.stages, self.microbatches);
        (shape.passes, shape.overlap) = (self.passes()?, self.overlap);
        Ok(shape)
    }

    fn passes(&self) -> PyResult<Passes> {
        let only = self.only.as_deref().map(pass).transpose()?;
        match (self.backward, only, self.resend) {
            (true, Some(_), true) => {
                Err(PlanError::new_err("`only` one pass keeps or sends again what it always does; without it, `resend`"))
            }
            (true, only, resend) => Ok(Passes::of(only, resend)),
            (false, None | Some(Pass::Forward), false) => Ok(Passes::Forward),
            (false, _, _) => {
                Err(PlanError::new_err("without a backward pass there is nothing of it to play, or to send again"))
            }
        }
    }

    fn machine(&self) -> PyResult<Machine> {
        let rate = |value: f64, unit: f64, name: &str| {
            let rate = value * unit;
            match rate.is_finite() && rate >= 1.0 && rate < u64::MAX as f64 {
                true => Ok(rate as u64),
                false => Err(PlanError::new_err(format!("{name} {value}: must be greater than zero"))),
            }
        };
        Ok(Machine {
            attention_flops_per_second: rate(self.attention_tflops, 1e12, "attention_tflops")?,
            dense_flops_per_second: rate(self.dense_tflops, 1e12, "dense_tflops")?,
            memory_bytes_per_second: rate(self.memory_gb_per_s, 1e9, "memory_gb_per_s")?,
        })
    }
}

pub(super) fn simulate(plans: &[&Plan], known: &Known, step: &Step) -> PyResult<String> {
    let ranks = |plan: &Plan| plan.assignment.world_size();
    if let Some(other) = plans.iter().find(|plan| ranks(plan) != ranks(plans[0])) {
        return Err(PlanError::new_err(format!(
            "the plans are for {} and for {} ranks; microbatches of one step share their ranks",
            ranks(plans[0]),
            ranks(other)
        )));
    }
    let parts: Vec<_> = plans.iter().map(|plan| ((&plan.assignment).into(), &plan.rows)).collect();
    let wire = if step.flows { Wire::Flows } else { Wire::Model };
    let scene = Scene::play(&parts, &step.shape()?, &step.machine()?, &known.network, wire).map_err(plan)?;
    Ok(played::document(&scene, known).to_string())
}
