//! What is compared: sides, each of one or several runs.

use std::collections::BTreeSet;

use rankscope_document::{ComparedRun, ComparedSide, Document};

use crate::series::{self, Series};
use crate::steps::Steps;

/// One run: its report's document, the steps that its ranks have in common, and its metrics by these.
#[derive(Clone, Debug)]
pub struct Run {
    path: String,
    pub(crate) document: Document,
    pub(crate) steps: Steps,
    /// All its metrics, the time of a step first.
    pub(crate) series: Vec<Series>,
}

impl Run {
    /// The run whose report is `document`, which was made of what is at `path`.
    pub fn new(path: impl Into<String>, document: Document) -> Self {
        let steps = Steps::of(&document);
        let series = series::of(&document, &steps);
        Self { path: path.into(), document, steps, series }
    }

    /// Where it was read from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// It with `ranks` alone.
    fn of_ranks(&self, ranks: &BTreeSet<u32>) -> Self {
        if self.document.ranks.iter().all(|rank| ranks.contains(&rank.rank)) {
            return self.clone();
        }
        let mut document = self.document.clone();
        document.ranks.retain(|rank| ranks.contains(&rank.rank));
        Self::new(self.path.clone(), document)
    }

    /// Whether it has any rank.
    pub fn has_ranks(&self) -> bool {
        !self.document.ranks.is_empty()
    }

    /// Steps of it that are compared: those left when warm-up is dropped, and the last if it is cut.
    pub(crate) fn kept(&self) -> usize {
        self.steps.len().saturating_sub(self.steps.warm_up())
    }

    fn described(&self) -> ComparedRun {
        ComparedRun {
            path: self.path.clone(),
            ranks: self.document.ranks.len(),
            steps: self.steps.marked(),
            warm_up: self.steps.warm_up(),
            last_is_cut: self.steps.last_is_cut(),
        }
    }
}

/// One configuration.
#[derive(Clone, Debug)]
pub struct Side {
    pub(crate) label: String,
    pub(crate) runs: Vec<Run>,
    pub(crate) unfinished: Vec<String>,
}

impl Side {
    /// The side called `label`, of `runs`.
    pub fn new(label: impl Into<String>, runs: Vec<Run>) -> Self {
        Self { label: label.into(), runs, unfinished: Vec::new() }
    }

    /// The same, beside runs at these paths that are not compared because their job did not finish.
    #[must_use]
    pub fn with_unfinished(mut self, paths: Vec<String>) -> Self {
        self.unfinished = paths;
        self
    }

    /// The same, of `ranks` alone.
    pub(crate) fn of_ranks(&self, ranks: &BTreeSet<u32>) -> Self {
        Self { runs: self.runs.iter().map(|run| run.of_ranks(ranks)).collect(), ..Self::new(self.label.clone(), Vec::new()) }
            .with_unfinished(self.unfinished.clone())
    }

    /// What it is called.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its runs.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The documents of its runs.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.runs.iter().map(|run| &run.document)
    }

    pub(crate) fn described(&self) -> ComparedSide {
        ComparedSide {
            label: self.label.clone(),
            runs: self.runs.iter().map(Run::described).collect(),
            ranks: self.runs.iter().map(|run| run.document.ranks.len()).min().unwrap_or(0),
            steps: self.runs.iter().map(Run::kept).sum(),
        }
    }
}
