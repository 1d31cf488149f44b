//! `rankscope report --markdown`: the report where people talk about it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rankscope_cli::output::{self, Format};
use rankscope_document::Document;
use rankscope_pipeline::Judged;

use super::named::Named;
use super::{say, say_written};
use crate::compare::write_text;

/// Where the Markdown goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Destination<'a> {
    /// To stdout, in place of the summary.
    Stdout,
    /// Into a file, beside what is printed.
    File(&'a Path),
}

/// Stands for stdout.
const STDOUT: &str = "-";

impl<'a> Destination<'a> {
    /// What `--markdown` names, if it was given; else what is wrong with it beside a table that is `named` and the `format`.
    pub(super) fn of(path: Option<&'a Path>, named: Option<Named>, format: Format) -> Result<Option<Self>, &'static str> {
        match path {
            Some(_) if named.is_some() => {
                Err("--markdown is the report on a job, and a TABLE is one table; leave one of them out")
            }
            Some(path) if path == Path::new(STDOUT) && format == Format::Json => {
                Err("--markdown - and JSON both go to stdout; give --markdown a file, or leave one of them out")
            }
            Some(path) if path == Path::new(STDOUT) => Ok(Some(Self::Stdout)),
            path => Ok(path.map(Self::File)),
        }
    }

    /// Writes the Markdown and prints what is printed beside it.
    pub(super) fn say(
        self,
        document: &Document,
        format: Format,
        mut written: Vec<PathBuf>,
        judged: Option<&Judged>,
    ) -> Result<()> {
        let text = rankscope_report::report_markdown(document);
        match self {
            Self::Stdout => {
                output::answer(&text)?;
                if !written.is_empty() {
                    say_written(&written, judged);
                }
                Ok(())
            }
            Self::File(path) => {
                write_text(path, &text)?;
                written.push(path.to_owned());
                say(document, format, written, judged)
            }
        }
    }
}
