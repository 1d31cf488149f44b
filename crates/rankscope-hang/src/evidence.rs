//! Everything that is known of a job that stands still, and the one verdict over it.
//!
//! Dumps of flight recorders come first: they tell most. Where there are none, the ranks' live pages are judged; where there are both, pages
//! are a witness beside. NCCL's service and what processes are doing are heard after that.

use std::collections::BTreeSet;

use rankscope_document::HangDocument;

use crate::dump::Dump;
use crate::pages::{self, FoundPages};
use crate::ras::RasAnswer;
use crate::stack::{self, Observed};
use crate::told::{Form, Told};
use crate::witness;

/// What is known of a job that stands still.
#[derive(Debug)]
pub struct Evidence {
    dumps: Told,
    pages: Option<FoundPages>,
    ras: Vec<RasAnswer>,
    observed: Vec<Observed>,
    problems: Vec<String>,
}

impl Default for Evidence {
    fn default() -> Self {
        let dumps = Told::new(Form::Dumps, BTreeSet::new());
        Self { dumps, pages: None, ras: Vec::new(), observed: Vec::new(), problems: Vec::new() }
    }
}

impl Evidence {
    /// Adds what `rank` dumped into `file`. A rank may have several, of several recorders or in both forms.
    pub fn add(&mut self, rank: u32, file: &str, dump: Dump) {
        self.dumps.add(rank, file, dump);
    }

    /// Adds the live pages of the job's run.
    pub fn add_pages(&mut self, pages: FoundPages) {
        self.pages = Some(pages);
    }

    /// Adds what NCCL's service says.
    pub fn add_ras(&mut self, answer: RasAnswer) {
        self.ras.push(answer);
    }

    /// Adds what a process was seen doing.
    pub fn add_observed(&mut self, observed: Observed) {
        self.observed.push(observed);
    }

    /// Adds what could not be used, in words for people.
    pub fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Whether there is nothing to judge by.
    pub fn is_empty(&self) -> bool {
        self.dumps.is_empty() && self.pages.is_none() && self.ras.is_empty() && self.observed.is_empty()
    }

    /// Who waits for whom, and who waits for nobody. `title` is what the evidence was found in.
    pub fn verdict(&self, title: &str) -> HangDocument {
        let mut document = match &self.pages {
            Some(pages) if self.dumps.is_empty() => pages::document(pages, &self.problems, title),
            _ => crate::verdict::document(&self.dumps.scene(), &self.problems, title),
        };
        if let Some(pages) = self.pages.as_ref().filter(|_| !self.dumps.is_empty()) {
            pages::hear(&mut document, pages);
        }
        self.ras.iter().for_each(|answer| witness::hear_ras(&mut document, answer));
        stack::hear(&mut document, &self.observed);
        witness::weigh(&mut document.verdict);
        document
    }
}
