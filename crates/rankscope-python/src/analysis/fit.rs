//! `rankscope.clock.fit`: a raw probe log to offsets, window by window.

use std::path::PathBuf;

use pyo3::prelude::*;
use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_pipeline::{fit_probe_log, window_length};

use super::answer::{Answer, Found};
use super::failure::Failure;
use super::options::natural;
use super::work::work;

/// Fits the log; also answers what is wrong with its damaged lines.
#[pyfunction]
pub(crate) fn clock_fit(
    py: Python<'_>,
    log: PathBuf,
    window: String,
    estimator: String,
    skew_change_ppb: Option<i64>,
) -> PyResult<(Answer, Vec<String>)> {
    let (found, problems) = work(py, None, move |_| {
        let estimator = match estimator.as_str() {
            "band" => Estimator::Band,
            "robust" => Estimator::Robust,
            "svm" => Estimator::Svm,
            other => return Err(Failure::usage(format!("--estimator {other}: the estimators are band, robust and svm"))),
        };
        let mut options = FitOptions::usual(estimator);
        if let Some(ppb) = skew_change_ppb {
            options = options.with_skew_change_ppb_per_s(natural("--skew-change-ppb", ppb)?);
        }
        let length = window_length(&window).map_err(|why| Failure::usage(format!("--window {window}: {why}")))?;
        let fitted = fit_probe_log(&log, length, &options)?;
        let problems = fitted.problems.iter().map(ToString::to_string).collect();
        Ok((Found::Fitted(fitted), problems))
    })?;
    Ok((Answer::of(found), problems))
}
