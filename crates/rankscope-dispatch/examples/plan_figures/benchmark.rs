//! The published mixes, planned here and by the original (golden case g27 has its figures).

use rankscope_dispatch::Error;
use rankscope_dispatch::planner::bounded::{bounded, max_over_mean};
use rankscope_dispatch::planner::{Remote, place_in_order};
use serde_json::{Value, json};

/// One mix, planned.
pub(crate) struct Case {
    name: String,
    world_size: u32,
    elements_per_token: f64,
    original_elements_per_token: f64,
    original_max_over_mean: f64,
    /// Bytes moved over those of the original at the same tolerance.
    pub(crate) bytes_ratio: f64,
    pub(crate) max_over_mean: f64,
}

impl Case {
    fn new(case: &Value) -> Result<Self, Error> {
        let number = |value: &Value| value.as_u64().expect("the fixture has whole numbers here");
        let lengths: Vec<u32> = case["doc_lens"].as_array().into_iter().flatten().map(|length| number(length) as u32).collect();
        let (world_size, options) = (number(&case["world_size"]) as u32, crate::options());
        let layout = place_in_order(&lengths, world_size, number(&case["tokens_per_rank"]))?;
        let plan = bounded(&layout, &options)?;
        let tokens: u64 = plan.linear_tokens().iter().sum();
        let elements_per_token = Remote::of(&plan).bytes(options.prices) as f64 / tokens as f64;
        let original = |figure: &str| case["results"]["original_tol_0.05"][figure].as_f64().unwrap_or(f64::NAN);
        Ok(Self {
            name: case["name"].as_str().unwrap_or_default().to_owned(),
            world_size,
            elements_per_token,
            original_elements_per_token: original("elems_per_tok"),
            original_max_over_mean: original("max"),
            bytes_ratio: elements_per_token / original("elems_per_tok"),
            max_over_mean: max_over_mean(&plan.cells()?, &[]),
        })
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "world_size": self.world_size,
            "elements_per_token": self.elements_per_token,
            "original_elements_per_token": self.original_elements_per_token,
            "max_over_mean": self.max_over_mean,
            "original_max_over_mean": self.original_max_over_mean,
        })
    }
}

pub(crate) fn cases() -> Result<Vec<Case>, Error> {
    let fixture = include_str!("../../../../fixtures/dispatch/g27_planner_benchmark.json");
    let fixture: Value = serde_json::from_str(fixture).expect("the fixture is JSON");
    fixture["cases"].as_array().into_iter().flatten().map(Case::new).collect()
}
