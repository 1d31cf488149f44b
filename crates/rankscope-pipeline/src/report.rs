//! A report, from what a user asks for to its document, and to files: the one way of every face that reports.

use std::path::{Path, PathBuf};

use rankscope_document::Document;
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Analysed, Cards, ChosenTables, JobTable, TableSet, select_rank, select_tables};
use rankscope_run::is_parts_folder;
use rankscope_time::Rank;
use rankscope_xlsx::NoTables;

use crate::artefacts::{Places, committed, texts, timeline};
use crate::held::Keep;
use crate::request::{Judged, Request, judged};
use crate::workbooks::Workbooks;
use crate::{Error, Progress};

/// What is asked of a report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReportRequest {
    /// The job, read by which rules and judged how. What is read of it follows from the rest.
    pub job: Request,
    /// What of it is shown.
    pub shown: Shown,
    /// Tables in the document.
    pub tables: ChosenTables,
    /// The cards that tables go by, where a user has some.
    pub cards: Option<Cards>,
    /// What is read for a timeline, and kept in memory; none where none is written.
    pub timeline: Option<(ArgsPolicy, Keep)>,
    /// Which workbooks are written.
    pub workbooks: Workbooks,
    /// What is read for a dataset, and kept in memory; none where none is written.
    pub dataset: Option<(ArgsPolicy, Keep)>,
}

impl ReportRequest {
    /// A report on `job` with nothing beside it.
    pub fn of(job: Request) -> Self {
        let (shown, tables, workbooks) = (Shown::default(), ChosenTables::default(), Workbooks::default());
        Self { job, shown, tables, cards: None, timeline: None, workbooks, dataset: None }
    }

    /// Why a workbook gets no tables of operators and kernels, if it gets none: they are made of whole traces.
    fn no_tables(&self) -> Option<NoTables> {
        match self.job.paths.as_slice() {
            [folder] if is_parts_folder(folder) => Some(NoTables::Parts),
            _ if self.job.mapping.rules.devices_only => Some(NoTables::DeviceOnly),
            _ if self.shown.step.is_some() => Some(NoTables::OneStep),
            _ => None,
        }
    }

    /// The job, and what of it has to be read for what is asked.
    fn request(&self) -> Result<Request, Error> {
        let mut request = self.job.clone();
        let mapping = &mut request.mapping;
        mapping.reading.scope = if mapping.rules.devices_only { Scope::Device } else { Scope::All };
        if let Some((args, keep)) = self.timeline {
            (mapping.reading.args, mapping.keep) = (args, keep);
        }
        if let Some((args, keep)) = self.dataset {
            mapping.keep = keep;
            if args == ArgsPolicy::All {
                mapping.reading.args = args;
            }
        }
        mapping.rules.tables = !self.tables.of_ranks.is_empty() || (self.workbooks.any() && self.no_tables().is_none());
        if !self.workbooks.any() {
            mapping.tables = TableSet::of(self.tables.of_ranks.iter().copied());
        }
        match &self.cards {
            Some(_) if !mapping.rules.tables => return Err(Error::CardsWithoutTables),
            Some(cards) => mapping.cards = cards.clone(),
            None => {}
        }
        Ok(request)
    }
}

/// What of a job is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Only this step.
    pub step: Option<i64>,
    /// Only this rank.
    pub rank: Option<Rank>,
}

/// What is made of a job beside its document's tables.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Whether a timeline or a dataset is made: collectives are kept for it.
    pub draws: bool,
    /// Whether it is answered why ranks are late and what would help, where the parts hold execution graphs.
    pub answers: bool,
}

/// A report, and the job that it is of.
#[derive(Debug)]
pub struct Reported {
    /// What was found.
    pub document: Document,
    /// The job.
    pub judged: Judged,
    tables: ChosenTables,
    workbooks: Workbooks,
    no_tables: Option<NoTables>,
}

/// Reports on what `request` asks about.
///
/// # Errors
/// [`Error`].
pub fn report(request: &ReportRequest, progress: &dyn Progress) -> Result<Reported, Error> {
    let wanted = request.request()?;
    let of_job = if request.workbooks.any() { &JobTable::ALL[..] } else { &request.tables.of_job };
    let drawn = Drawn { draws: request.timeline.is_some() || request.dataset.is_some(), answers: wanted.mapping.rules.answers };
    let (judged, mut document) = analysed(judged(&wanted, progress)?, request.shown, drawn, of_job, progress)?;
    let is_untabulated = |why: &NoTables| *why != NoTables::Parts || document.ranks.iter().all(|rank| rank.tables.is_none());
    let no_tables = request.no_tables().filter(is_untabulated);
    if !request.workbooks.any() {
        select_tables(&mut document, &request.tables.of_ranks, &request.tables.of_job);
    }
    Ok(Reported { document, judged, tables: request.tables.clone(), workbooks: request.workbooks.clone(), no_tables })
}

impl Reported {
    /// Writes the workbooks that were asked for, of all tables, a tree of them into `folder`, and the report's files to `places`, as
    /// [`write_report`](crate::write_report) does, with a timeline where it `draws`. That is made of the job and all others of the
    /// document, so both are made at the same time. From then on the document holds the tables that were asked for. Returns what was
    /// written, the workbooks last, and what a tree has no place to say.
    ///
    /// # Errors
    /// [`Error::Workbook`] for what cannot be written, and those of [`write_report`](crate::write_report).
    pub fn write(
        &mut self,
        places: Option<&Places>,
        folder: &Path,
        draws: bool,
        progress: &dyn Progress,
    ) -> Result<(Vec<PathBuf>, Option<String>), Error> {
        let Self { document, judged, tables, workbooks, no_tables } = self;
        let judged = &*judged;
        let drawn = Some(judged).filter(|judged| draws && judged.parts.is_none());
        let of_document = || {
            let mut written = Vec::new();
            if workbooks.any() {
                written = workbooks.write(document, *no_tables, folder)?;
                select_tables(document, &tables.of_ranks, &tables.of_job);
            }
            Ok::<_, Error>((written, places.map(|places| texts(places, document)).transpose()?))
        };
        let of_job = || places.map(|places| timeline(places, drawn, progress)).transpose();
        let (of_document, of_job) = rayon::join(of_document, of_job);
        let (books, texts) = of_document?;
        let mut written =
            texts.zip(of_job?).map(|(texts, timeline)| committed(texts, timeline)).transpose()?.unwrap_or_default();
        written.extend(books);
        Ok((written, self.no_tables.filter(|_| self.workbooks.aorta).map(|why| why.to_string())))
    }
}

/// The document of what was `judged`, narrowed to what is to be `shown`, with the job's `tables`.
///
/// # Errors
/// [`Error::Job`] for a step or a rank that is not there.
pub fn analysed(
    judged: Judged,
    shown: Shown,
    drawn: Drawn,
    tables: &[JobTable],
    progress: &dyn Progress,
) -> Result<(Judged, Document), Error> {
    let Judged { job, title, parts, held, readings, counters } = judged;
    progress.let_go();
    let mut analysed = Analysed::of(job, shown.step)?;
    let collective_tables = analysed.collective_tables(tables);
    if drawn.answers {
        analysed.answer();
    }
    if !drawn.draws {
        analysed.forget_collectives();
        progress.let_go();
    }
    let mut document = analysed.document(&title);
    document.collective_tables = collective_tables;
    if let Some(rank) = shown.rank {
        select_rank(&mut document, rank)?;
    }
    Ok((Judged { job: analysed.job, title, parts, held, readings, counters }, document))
}
