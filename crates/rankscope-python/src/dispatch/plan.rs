//! A plan as an object: what was planned, its figures, its files, and what each rank needs of it.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rankscope_conformance::check::check_plan;
use rankscope_dispatch::cost::Work;
use rankscope_dispatch::events::Machine;
use rankscope_dispatch::planner::bounded::{Caps, Options, explain};
use rankscope_dispatch::planner::split::SplitPlan;
use rankscope_dispatch::planner::{Goal, Pace, Prices, greedy, not_worse};
use rankscope_dispatch::{Assignment, Batch, Direction, Error, HeadGroups, Pass, Rows, SplitBatch, SplitTask, binary};
use rankscope_plan_files::exported::{self, Form};
use rankscope_plan_files::plan::{self as file};
use rankscope_plan_files::planned::{Answer, PassTime, Placement, Planned, Planner, SplitKv, exact};
use rankscope_time::Rank;

use super::array::Array;
use super::errors::{PlanError, export, plan, plan_file};
use super::{network, rank};

/// Who computes what.
#[pyclass(frozen, module = "rankscope._native.dispatch")]
pub(crate) struct Plan {
    pub(super) file: file::Plan,
    /// Tokens that a rank has room for, as far as documents say.
    room: Option<u64>,
    made: Option<Made>,
}

/// How a plan came about.
struct Made {
    layout: Batch,
    options: Options,
    planner: Planner,
    elapsed: Duration,
    placement: Placement,
    /// Which pass it is for, and what a layer's takes, where that was the goal.
    pass: Pass,
    takes: Option<PassTime>,
    /// The plan with whole contexts, the one that it became, and what its pass takes.
    split: Option<(Batch, SplitPlan, Option<PassTime>)>,
}

impl Made {
    /// By the bounded planner in no time, from documents where they lie.
    fn at_home(batch: &Batch, prices: Prices) -> Self {
        Self {
            layout: batch.at_home(),
            options: Options::new(0.0, prices),
            planner: Planner::Bounded,
            elapsed: Duration::ZERO,
            placement: Placement::Given,
            pass: Pass::Forward,
            takes: None,
            split: None,
        }
    }
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
    /// Where documents lie is open.
    choose: bool,
    tokens_per_rank: Option<u64>,
    /// The shortest time on the network of this name, or the one in these bytes of a file, is the goal.
    network: Option<(String, Option<Vec<u8>>)>,
    attention_tflops: f64,
    head_groups: u32,
    /// Keys may be split.
    split_kv: bool,
    /// Heads of a query row, of all groups.
    heads: Option<u32>,
    /// The plan is for a backward pass.
    backward: bool,
}

impl Plan {
    /// A plan that was not made here.
    pub(super) fn given(file: file::Plan) -> Self {
        Self { file, room: None, made: None }
    }

    /// The same on ranks that have room for so many tokens.
    pub(super) fn with_room(self, tokens_per_rank: Option<u64>) -> Self {
        Self { room: tokens_per_rank, ..self }
    }

    /// Its figures; of a plan that was not made here, beside the same documents computed where they lie.
    fn json(&self, explained: bool) -> Result<String, Error> {
        let rows = &self.file.rows;
        let split = self.made.as_ref().and_then(|made| made.split.as_ref());
        let batch = split.map(|split| &split.0).or(self.file.assignment.whole()).ok_or(Error::Options {
            what: "these figures are of plans with whole contexts; `tasks`, `predict` and `export` tell of one that splits keys",
        })?;
        let given;
        let made = match &self.made {
            Some(made) => made,
            None => {
                given = Made::at_home(batch, Prices::of(rows));
                &given
            }
        };
        let (layout, options) = (&made.layout, &made.options);
        let moves = if explained { Some(explain(layout, batch, options)?) } else { None };
        let answer = Answer::new(layout, batch, options, rows.element_bytes, made.planner, made.elapsed)?
            .placed(made.placement)
            .of_heads(self.file.assignment.head_groups())
            .of_pass(made.pass, made.takes)
            .explained(moves)
            .splitting(
                split
                    .map(|split| Ok(SplitKv::new(&split.1, layout, batch, options)?.of_pass(made.pass, split.2)))
                    .transpose()?,
            );
        Ok(serde_json::to_string(&answer).expect("numbers, texts and lists of them are JSON"))
    }
}

impl Settings {
    fn options(&self, prices: Prices) -> Options {
        let caps = Caps {
            send_bytes: self.cap_send_bytes,
            receive_bytes: self.cap_receive_bytes,
            buffer_bytes: self.cap_buffer_bytes,
        };
        let (weights, search_steps) = (self.weights.clone(), self.search_steps);
        Options { eps: self.eps, prices, pass: self.pass(), work: Work::Cells, weights, caps, search_steps }
    }

    fn pass(&self) -> Pass {
        if self.backward { Pass::Backward } else { Pass::Forward }
    }

    fn planner(&self) -> PyResult<Planner> {
        match self.planner.as_str() {
            "bounded" => Ok(Planner::Bounded),
            "greedy" if self.network.is_none() => Ok(Planner::Greedy),
            "exact" if self.network.is_none() => Ok(Planner::Exact),
            "greedy" | "exact" => {
                Err(PlanError::new_err("`network` is for the bounded planner: the others do not look at time"))
            }
            other => Err(PlanError::new_err(format!("no planner is called {other}; there are bounded, greedy and exact"))),
        }
    }

    /// By the planner that is asked for; the bounded one looks for what is the goal.
    fn plan(&self, planner: Planner, layout: &Batch, options: &Options, goal: Goal<'_>) -> Result<Batch, Error> {
        match planner {
            Planner::Greedy => not_worse(layout, greedy(layout, self.tolerance)?, &options.work, &options.weights),
            Planner::Exact => exact(layout, options),
            _ => goal.plan(layout, options),
        }
    }

    /// Where documents lie in the end, and who computes them.
    fn placed(
        &self,
        planner: Planner,
        given: Batch,
        room: Option<u64>,
        options: &Options,
        goal: Goal<'_>,
    ) -> Result<Planned, Error> {
        let by_planner = |layout: &Batch| self.plan(planner, layout, options, goal);
        if self.choose {
            Planned::chosen(&given, self.tokens_per_rank.or(room), options, goal, planner, by_planner)
        } else {
            Planned::given(given, by_planner)
        }
    }

    /// The plan with keys and values split, if that is wanted, and its rows. All are of one group of heads.
    fn divided(
        &self,
        groups: HeadGroups,
        goal: Goal<'_>,
        [layout, plan]: [&Batch; 2],
        options: &Options,
        rows: &Rows,
    ) -> Result<Option<(SplitPlan, Rows)>, Error> {
        if !self.split_kv {
            return Ok(None);
        }
        let own = groups.heads_of(rows, self.heads)?;
        let lse_bytes = u64::from(own) * u64::from(Rows::lse_bytes(rows.element_bytes));
        let split = goal.split(layout, plan, options, lse_bytes)?;
        let rows = split.rows(rows);
        Ok(Some((split, rows)))
    }

    /// A rank of weight 1.
    fn machine(&self) -> PyResult<Machine> {
        if !(1e-9..1e6).contains(&self.attention_tflops) {
            return Err(PlanError::new_err(format!(
                "attention_tflops {}: a speed is above zero, such as 400",
                self.attention_tflops
            )));
        }
        let attention_flops_per_second = (self.attention_tflops * 1e12) as u64;
        Ok(Machine { attention_flops_per_second, ..Machine::H100 })
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
            let (given, all_rows) = (self.file.assignment.layout().clone(), self.file.rows);
            let groups = HeadGroups::new(settings.head_groups).ok_or_else(|| PlanError::new_err("head_groups: at least 1"))?;
            let rows = groups.rows(&all_rows).map_err(plan)?;
            let pass = settings.pass();
            let (planner, machine) = (settings.planner()?, settings.machine()?);
            let options = settings.options(Prices::of_pass(&rows, pass));
            let known = settings.network.as_ref().map(|(name, bytes)| network::known(name, bytes.as_deref())).transpose()?;
            let pace = known.as_ref().map(|known| Pace { pass, network: &known.network, machine: &machine, rows: &rows });
            let goal = pace.map_or(Goal::FewestBytes, Goal::ShortestTime);
            let started = Instant::now();
            let found = if groups == HeadGroups::ONE {
                settings.placed(planner, given, self.room, &options, goal)
            } else {
                // Where documents lie is a matter of all heads, and caps are of those that compute parts of them.
                let whole = Options { caps: Caps::default(), ..settings.options(Prices::of_pass(&all_rows, pass)) };
                let found = settings.placed(planner, given, self.room, &whole, Goal::FewestBytes).map_err(plan)?;
                found.of_heads(groups, &options, |all| settings.plan(planner, all, &options, goal))
            };
            let Planned { layout, plan: batch, placement, .. } = found.map_err(plan)?;
            let elapsed = started.elapsed();
            let takes = pace.map(|pace| PassTime::of(&pace, &layout, &batch, &options)).transpose().map_err(plan)?;
            let divided = settings.divided(groups, goal, [&layout, &batch], &options, &rows).map_err(plan)?;
            let (assignment, rows, split) = match divided {
                Some((split, split_rows)) => {
                    let time =
                        pace.map(|pace| PassTime::of_split(&pace, &layout, &split, &options)).transpose().map_err(plan)?;
                    (Assignment::from(split.batch.clone()), split_rows, Some((batch, split, time)))
                }
                None => (Assignment::from(batch), rows, None),
            };
            let assignment = assignment.of_heads(groups).map_err(plan)?;
            let made = Made { layout, options, planner, elapsed, placement, pass, takes, split };
            Ok(Self { file: file::Plan { assignment, rows }, room: self.room, made: Some(made) })
        })
    }

    #[getter]
    fn world_size(&self) -> u32 {
        self.file.assignment.world_size()
    }

    #[getter]
    fn documents(&self) -> usize {
        self.file.assignment.layout().len() / self.file.assignment.head_groups().get() as usize
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
        file::hash(&self.file.assignment, &self.file.rows)
    }

    /// A row per shard: document, linear rank, attention rank, tokens. Where keys are split, both ranks are where the tokens live.
    fn shards(&self) -> Array {
        let batch = self.file.assignment.layout();
        let documents = (0_i64..).zip(batch.documents());
        let rows = documents.flat_map(|(document, shards)| {
            shards
                .iter()
                .flat_map(move |shard| [document, shard.linear.0.into(), shard.attention.0.into(), shard.tokens.into()])
        });
        Array::int64(&[batch.shards().len(), 4], rows)
    }

    /// A row per task: document, first query, end of the queries, first key, end of the keys, rank.
    fn tasks(&self) -> Array {
        let whole;
        let batch = match (self.file.assignment.split(), self.file.assignment.layout()) {
            (Some(split), _) => split,
            (None, batch) => {
                whole = SplitBatch::of_whole(batch);
                &whole
            }
        };
        let row = |SplitTask { document, queries, keys, rank }: &SplitTask| {
            let ranges = [queries.start, queries.end, keys.start, keys.end, rank.0].map(i64::from);
            std::iter::once(*document as i64).chain(ranges)
        };
        Array::int64(&[batch.tasks().len(), 6], batch.tasks().iter().flat_map(row))
    }

    /// Groups of heads.
    #[getter]
    fn head_groups(&self) -> u32 {
        self.file.assignment.head_groups().get()
    }

    /// Whether outputs come in parts that have to be merged.
    #[getter]
    fn merges(&self) -> bool {
        self.file.assignment.merges()
    }

    /// The document of `rankscope dispatch plan --format json`.
    fn answer(&self, py: Python<'_>, explained: bool) -> PyResult<String> {
        py.detach(|| self.json(explained)).map_err(plan)
    }

    /// The plan as a file: JSON, or compact.
    fn content<'py>(&self, py: Python<'py>, compact: bool) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| match compact {
            true => binary::encode(&self.file.assignment, &self.file.rows),
            false => file::json(&self.file.assignment, &self.file.rows).into_bytes(),
        });
        PyBytes::new(py, &bytes)
    }

    /// What one rank needs to execute the plan; what it keeps is last in its buffers, or where its own message is.
    fn rank<'py>(&self, py: Python<'py>, number: u32, kept_last: bool) -> PyResult<Bound<'py, PyDict>> {
        rank::fields(py, &self.file.assignment, Rank(number), kept_last)
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
        let findings = py.detach(|| check_plan(&self.file.assignment)).map_err(plan)?;
        Ok(serde_json::to_string(&findings).expect("numbers, texts and lists of them are JSON"))
    }

    /// The document of `rankscope dispatch predict`, on a network of this name, or the one in these bytes of a file.
    #[pyo3(signature = (name, bytes=None, only=None))]
    fn predict(&self, py: Python<'_>, name: &str, bytes: Option<&[u8]>, only: Option<&str>) -> PyResult<String> {
        let known = network::known(name, bytes)?;
        let exchanges = match only.map(network::pass).transpose()? {
            None => Direction::LAYER.to_vec(),
            Some(pass) => pass.exchanges().to_vec(),
        };
        py.detach(|| network::predict(&self.file, &known, &exchanges)).map_err(plan)
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
