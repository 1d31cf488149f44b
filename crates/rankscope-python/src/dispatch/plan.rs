//! A plan as an object: what was planned, its figures, its files, and what each rank needs of it.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rankscope_conformance::check::check_plan;
use rankscope_dispatch::cost::Work;
use rankscope_dispatch::planner::bounded::{Caps, Limits, Options, bounded, explain};
use rankscope_dispatch::planner::{Prices, exact_raising, greedy, not_worse};
use rankscope_dispatch::{Batch, Direction, Error, Shard, binary};
use rankscope_plan_files::exported::{self, Form};
use rankscope_plan_files::plan::{self as file};
use rankscope_plan_files::planned::{Answer, Planner};
use rankscope_time::Rank;

use super::array::Array;
use super::errors::{PlanError, export, plan, plan_file};
use super::{network, rank};

/// Who computes what.
#[pyclass(frozen, module = "rankscope._native.dispatch")]
pub(crate) struct Plan {
    pub(super) file: file::Plan,
    made: Option<Made>,
}

/// How a plan came about.
struct Made {
    layout: Batch,
    options: Options,
    planner: Planner,
    elapsed: Duration,
}

/// What a plan must keep to.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    planner: String,
    eps: f64,
    tolerance: f64,
    weights: Vec<f64>,
    cap_send_bytes: Option<u64>,
    cap_receive_bytes: Option<u64>,
    cap_buffer_bytes: Option<u64>,
    search_steps: Option<u32>,
}

/// Steps of the exact planner before it gives up: some seconds.
const EXACT_STEPS: u64 = 100_000_000;

impl Plan {
    /// A plan that was not made here.
    pub(super) fn given(file: file::Plan) -> Self {
        Self { file, made: None }
    }

    /// Its figures; of a plan that was not made here, beside the same documents computed where they lie.
    fn json(&self, explained: bool) -> Result<String, Error> {
        let (batch, rows) = (&self.file.batch, &self.file.rows);
        let given;
        let Made { layout, options, planner, elapsed } = match &self.made {
            Some(made) => made,
            None => {
                let options = Options::new(0.0, Prices::of(rows));
                given = Made { layout: at_home(batch)?, options, planner: Planner::Bounded, elapsed: Duration::ZERO };
                &given
            }
        };
        let moves = if explained { Some(explain(layout, batch, options)?) } else { None };
        let answer = Answer::new(layout, batch, options, rows.element_bytes, *planner, *elapsed)?.explained(moves);
        Ok(serde_json::to_string(&answer).expect("numbers, texts and lists of them are JSON"))
    }
}

fn at_home(batch: &Batch) -> Result<Batch, Error> {
    let mut home = Batch::new(batch.world_size())?;
    for document in batch.documents() {
        home.push(&document.iter().map(|shard| Shard { attention: shard.linear, ..*shard }).collect::<Vec<_>>())?;
    }
    Ok(home)
}

impl Settings {
    fn options(&self, prices: Prices) -> Options {
        let caps = Caps {
            send_bytes: self.cap_send_bytes,
            receive_bytes: self.cap_receive_bytes,
            buffer_bytes: self.cap_buffer_bytes,
        };
        let (weights, search_steps) = (self.weights.clone(), self.search_steps);
        Options { eps: self.eps, prices, work: Work::Cells, weights, caps, search_steps }
    }

    fn plan(&self, layout: &Batch, options: &Options) -> PyResult<(Planner, Batch)> {
        let kept = |plan| not_worse(layout, plan, &options.work, &options.weights);
        let planned = match self.planner.as_str() {
            "bounded" => bounded(layout, options).map(|batch| (Planner::Bounded, batch)),
            "greedy" => greedy(layout, self.tolerance).and_then(kept).map(|batch| (Planner::Greedy, batch)),
            "exact" => Limits::new(layout, &options.work, options.eps, &options.weights)
                .and_then(|limits| exact_raising(layout, options.prices, &limits, EXACT_STEPS))
                .map(|batch| (Planner::Exact, batch)),
            other => {
                return Err(PlanError::new_err(format!("no planner is called {other}; there are bounded, greedy and exact")));
            }
        };
        planned.map_err(plan)
    }
}

/// The plan in a file's bytes: JSON, or the compact form.
#[pyfunction]
pub(crate) fn read_plan(py: Python<'_>, bytes: &[u8]) -> PyResult<Plan> {
    py.detach(|| file::read(bytes)).map(Plan::given).map_err(plan_file)
}

#[pymethods]
impl Plan {
    /// The same documents, computed where the settings allow.
    fn planned(&self, py: Python<'_>, settings: Settings) -> PyResult<Self> {
        py.detach(|| {
            let (layout, rows) = (self.file.batch.clone(), self.file.rows);
            let options = settings.options(Prices::of(&rows));
            let started = Instant::now();
            let (planner, batch) = settings.plan(&layout, &options)?;
            let elapsed = started.elapsed();
            Ok(Self { file: file::Plan { batch, rows }, made: Some(Made { layout, options, planner, elapsed }) })
        })
    }

    #[getter]
    fn world_size(&self) -> u32 {
        self.file.batch.world_size()
    }

    #[getter]
    fn documents(&self) -> usize {
        self.file.batch.len()
    }

    #[getter]
    fn rows(&self) -> (u32, u32, u32, u32) {
        let rows = &self.file.rows;
        (rows.hidden_q, rows.hidden_kv, rows.lse, rows.element_bytes)
    }

    /// What the planning alone took, in seconds.
    #[getter]
    fn seconds(&self) -> Option<f64> {
        self.made.as_ref().map(|made| made.elapsed.as_secs_f64())
    }

    /// The hash that names the plan, in hexadecimal.
    #[getter]
    fn hash(&self) -> String {
        file::hash(&self.file.batch, &self.file.rows)
    }

    /// A row per shard: document, linear rank, attention rank, tokens.
    fn shards(&self) -> Array {
        let batch = &self.file.batch;
        let documents = (0_i64..).zip(batch.documents());
        let rows = documents.flat_map(|(document, shards)| {
            shards
                .iter()
                .flat_map(move |shard| [document, shard.linear.0.into(), shard.attention.0.into(), shard.tokens.into()])
        });
        Array::int64(&[batch.shards().len(), 4], rows)
    }

    /// The document of `rankscope dispatch plan --format json`.
    fn answer(&self, py: Python<'_>, explained: bool) -> PyResult<String> {
        py.detach(|| self.json(explained)).map_err(plan)
    }

    /// The plan as a file: JSON, or compact.
    fn content<'py>(&self, py: Python<'py>, compact: bool) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| match compact {
            true => binary::encode(&self.file.batch, &self.file.rows),
            false => file::json(&self.file.batch, &self.file.rows).into_bytes(),
        });
        PyBytes::new(py, &bytes)
    }

    /// What one rank needs to execute the plan.
    fn rank<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyDict>> {
        rank::fields(py, &self.file.batch, Rank(number))
    }

    /// The document of `rankscope dispatch export`.
    #[pyo3(signature = (form, direction, rank=None, unit_bytes=None))]
    fn export(
        &self,
        py: Python<'_>,
        form: &str,
        direction: &str,
        rank: Option<u32>,
        unit_bytes: Option<u64>,
    ) -> PyResult<String> {
        let forms = [Form::Alltoallv { unit_bytes }, Form::Nccl, Form::Puts, Form::CuSeqlens];
        let unknown = |what: &str, given: &str, names: Vec<&str>| {
            PlanError::new_err(format!("no {what} is called {given}; there are {}", names.join(", ")))
        };
        let known = forms.into_iter().find(|known| known.as_str() == form);
        let form = known.ok_or_else(|| unknown("form", form, forms.map(Form::as_str).into()))?;
        let known = Direction::ALL.into_iter().find(|known| known.as_str() == direction);
        let direction = known.ok_or_else(|| unknown("direction", direction, Direction::ALL.map(Direction::as_str).into()))?;
        let arguments = py.detach(|| exported::arguments(&self.file, form, direction, rank.map(Rank)));
        Ok(arguments.map_err(export)?.to_string())
    }

    /// The document of `rankscope dispatch check`.
    fn check(&self, py: Python<'_>) -> PyResult<String> {
        let findings = py.detach(|| check_plan(&self.file.batch)).map_err(plan)?;
        Ok(serde_json::to_string(&findings).expect("numbers, texts and lists of them are JSON"))
    }

    /// The document of `rankscope dispatch predict`, on a network of this name, or the one in these bytes of a file.
    #[pyo3(signature = (name, bytes=None))]
    fn predict(&self, py: Python<'_>, name: &str, bytes: Option<&[u8]>) -> PyResult<String> {
        let known = network::known(name, bytes)?;
        py.detach(|| network::predict(&self.file, &known)).map_err(plan)
    }

    /// The document of `rankscope dispatch simulate --events`.
    #[pyo3(signature = (name, bytes, further, settings))]
    fn simulate(
        &self,
        py: Python<'_>,
        name: &str,
        bytes: Option<&[u8]>,
        further: Vec<Bound<'_, Self>>,
        settings: network::Step,
    ) -> PyResult<String> {
        let known = network::known(name, bytes)?;
        let plans: Vec<&file::Plan> = std::iter::once(&self.file).chain(further.iter().map(|plan| &plan.get().file)).collect();
        py.detach(|| network::simulate(&plans, &known, &settings))
    }
}
