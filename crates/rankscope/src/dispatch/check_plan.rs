//! `rankscope dispatch check PLAN`: every property that a plan must have, put to the plan itself.
//!
//! A plan file says who computes what; its metadata are derived here, in both orders of tasks, whole and rank by rank. A case
//! that already contains metadata (`fwd` and `rev`, or those of queries and of keys and values) has them checked as they are,
//! whoever computed them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use rankscope_dispatch::Batch;
use rankscope_dispatch::draw::{create_qkv_dispatch, create_qkv_dispatch_2cp};
use rankscope_dispatch::metadata::Metadata;
use rankscope_dispatch::plan::{Index, LogicalPlan, TaskOrder};
use rankscope_dispatch::properties::{Violation, check, check_metadata};
use serde::Serialize;

use super::file;
use super::metadata::{Case, custom, draw};
use crate::output::{self, Format};

/// What was checked, and what is wrong with it.
#[derive(Default, Serialize)]
struct Findings {
    checked: Vec<String>,
    violations: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    property: &'static str,
    of: String,
    rank: u32,
    what: &'static str,
    entry: Option<usize>,
    expected: i64,
    found: i64,
    #[serde(skip)]
    text: String,
}

pub(super) fn run(path: &Path, format: Format) -> Result<ExitCode> {
    let mut findings = Findings::default();
    match case(path) {
        Some(case) => findings.case(&case).with_context(|| path.display().to_string())?,
        None => findings.batch(&file::load(path)?.batch).with_context(|| path.display().to_string())?,
    }
    output::answer(&match format {
        Format::Json => serde_json::to_string(&findings)?,
        Format::Table => findings.table(),
    })?;
    Ok(if findings.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

/// The file as a case, if it is one that a plan file is not: an object of a kind that we answer.
fn case(path: &Path) -> Option<Case> {
    if path.as_os_str() == "-" || path.extension().is_none_or(|suffix| suffix != "json") {
        return None;
    }
    // What is no case at all is refused as the plan that it should be.
    let Ok(case) = Case::read(path) else { return None };
    let is_plan =
        ["documents", "docs", "shards"].iter().any(|key| case.find_list(key).is_some_and(serde_json::Value::is_array));
    let is_case = !is_plan && case.kind().is_ok_and(|kind| kind != file::KIND);
    is_case.then_some(case)
}

impl Findings {
    fn case(&mut self, case: &Case) -> Result<()> {
        for (forward, reverse) in [("fwd", "rev"), ("fwd_q", "rev_q"), ("fwd_kv", "rev_kv")] {
            if let (Some(there), Some(back)) = (case.object(forward)?, case.object(reverse)?) {
                self.add(&format!("{forward} and {reverse}"), check_metadata(&metadata(&there)?, &metadata(&back)?));
            }
        }
        let drawn = match case.kind()? {
            "create_qkv_dispatch" | "create_qkv_dispatch_big" => draw(case, create_qkv_dispatch)?,
            "create_qkv_dispatch_2cp" => draw(case, create_qkv_dispatch_2cp)?,
            "create_qkv_dispatch_with_custom_mapping" => custom(case)?,
            kind if self.checked.is_empty() => {
                anyhow::bail!("nothing to check in a case of kind {kind}: no plan and no metadata")
            }
            _ => return Ok(()),
        };
        self.batch(&drawn.batch)
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        for (order, name) in
            [(TaskOrder::Documents, "tasks in the order of documents"), (TaskOrder::Slots, "tasks in the order of slots")]
        {
            let index = Index::new(batch, order)?;
            let mut plan = LogicalPlan::default();
            plan.refill(&index);
            self.add(name, check(batch, order, &plan));
        }
        Ok(())
    }

    fn add(&mut self, of: &str, violations: Vec<Violation>) {
        self.checked.push(of.into());
        self.violations.extend(violations.into_iter().map(|violation| Found {
            property: violation.property.as_str(),
            of: of.into(),
            rank: violation.rank,
            what: violation.what,
            entry: Some(violation.entry).filter(|&entry| entry != usize::MAX),
            expected: violation.expected,
            found: violation.found,
            text: violation.to_string(),
        }));
    }

    fn table(&self) -> String {
        let mut text = String::new();
        for name in &self.checked {
            let violated = self.violations.iter().filter(|found| found.of == *name);
            let (count, verdict) = (violated.clone().count(), "every property holds");
            let _ = match count {
                0 => writeln!(text, "{name}: {verdict}"),
                _ => writeln!(text, "{name}: {count} violations"),
            };
            for found in violated.take(MOST_LINES) {
                let _ = writeln!(text, "  {}", found.text);
            }
            if count > MOST_LINES {
                let _ = writeln!(text, "  and {} more; --format json lists all", count - MOST_LINES);
            }
        }
        text
    }
}

/// One wrong length moves everything after it; the first lines say it.
const MOST_LINES: usize = 20;

/// Metadata as a case keeps them.
fn metadata(case: &Case) -> Result<Metadata> {
    let num_recv_tokens = case.array("num_recv_tokens")?;
    Ok(Metadata {
        dst_rank: case.array("dst_rank")?,
        dst_offset: case.array("dst_offset")?,
        seq_len: case.array("seq_len")?,
        seq_recv_mask: case.array_if_any("seq_recv_mask")?,
        recv_seq_lens: case.array_if_any("recv_seq_lens")?,
        num_seqs: case.array("num_seqs")?,
        world_size: num_recv_tokens.shape().first().copied().unwrap_or(0),
        num_total_recv_tokens: case.array_if_any("num_total_recv_tokens")?.map(|totals| totals.values().to_vec()),
        num_recv_tokens,
    })
}
