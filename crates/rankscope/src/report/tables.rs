//! `rankscope report --tables`, and one table on the terminal or for a spreadsheet: `rankscope report TABLE TRACES`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use rankscope_align::CsvText;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_document::Document;
use rankscope_job::{AnyTable, Cards, ChosenTables, Table, TableChoice};
use rankscope_report::{Lack, TableView};
use rankscope_run::{SideFile, read_side_text};
use serde_json::{Map, Value};

use crate::report::named::Named;

/// Which tables are made, and what is printed of one.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TableArgs {
    /// Add tables to report.json: all, or names such as ops_summary,kernel_summary,straggler_summary
    #[arg(long, value_name = "all|NAME,...", value_delimiter = ',', conflicts_with_all = ["step", "gpu_only"])]
    tables: Vec<TableChoice>,
    /// TOML table of cards whose figures make rooflines, beside those that are known
    #[arg(long, value_name = "FILE")]
    cards: Option<PathBuf>,
    /// With a TABLE: put the rows with most in this column first [default: as in report.json]
    #[arg(long, value_name = "COLUMN")]
    sort: Option<String>,
    /// With a TABLE: print so many rows [default: 20; with --csv or JSON, all]
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,
    /// With a TABLE: print it as CSV
    #[arg(long)]
    csv: bool,
    /// The same as --format json
    #[arg(long, conflicts_with = "csv")]
    pub(super) json: bool,
}

/// Rows printed of a table.
const TOP_DEFAULT: usize = 20;

impl TableArgs {
    /// The cards of the user's table, before those that are known; none where there is no such table.
    pub(super) fn cards(&self) -> Result<Option<Cards>> {
        let Some(path) = &self.cards else { return Ok(None) };
        let text = read_side_text(path, SideFile::Config)?;
        let cards = Cards::parse(&text).with_context(|| path.display().to_string())?;
        Ok(Some(cards.over(Cards::known())))
    }

    /// The tables to make, beside the one that is `named`.
    pub(super) fn chosen(&self, named: Option<Named>) -> ChosenTables {
        let mut chosen = ChosenTables::of(&self.tables);
        if let Some(named) = named.filter(|_| !self.tables.contains(&TableChoice::All)) {
            named.add_to(&mut chosen);
        }
        chosen
    }

    /// What is wrong with the options where no table is `named` to be printed.
    pub(super) fn misused(&self, named: Option<Named>) -> Option<String> {
        let unused = [("--sort", self.sort.is_some()), ("--top", self.top.is_some()), ("--csv", self.csv)];
        let option = unused.into_iter().find(|(_, given)| *given && named.is_none())?.0;
        Some(format!("{option} is about one table; name it before the traces: rankscope report ops RUN"))
    }

    /// What is wrong with the options for a memory snapshot, which has several lists.
    pub(super) fn misused_for_snapshot(&self) -> Option<String> {
        let unused = [("--sort", self.sort.is_some()), ("--csv", self.csv), ("--tables", !self.tables.is_empty())];
        let option = unused.into_iter().find(|(_, given)| *given)?.0;
        Some(format!("{option} is about one table, and a memory snapshot has several: --json has all of them"))
    }

    /// The table that is `named` with all ranks of `document` side by side, where there are several and it has the column to sort by.
    fn across_ranks(&self, document: &Document, named: Named) -> Option<TableView> {
        let table = named.across_ranks().filter(|_| document.ranks.len() > 1)?;
        let mut view = rankscope_report::table(document, table.name())?;
        let is_sorted = self.sort.as_ref().is_none_or(|column| view.sort_by(sort_word_across(column)));
        is_sorted.then_some(view)
    }

    /// Prints the table called `named` of `document`: on the terminal all ranks side by side, where there are several.
    pub(super) fn print(&self, document: &Document, named: Named, format: Format) -> Result<ExitCode> {
        let name = named.name();
        let is_text = !self.csv && format == Format::Table;
        if is_text && let Some(across) = self.across_ranks(document, named) {
            output::answer(&across.text(&document.title, self.top.unwrap_or(TOP_DEFAULT), output::style()))?;
            if !across.rows.is_empty() {
                output::remark(&format!(
                    "all ranks side by side; --rank N shows {name} of one, --csv and --json have all rows"
                ));
            }
            say_notes(document, named);
            return Ok(ExitCode::SUCCESS);
        }
        let Some(mut view) = named.view(document) else {
            bail!("there is no table {name}: {}", named.absence());
        };
        if let Some(column) = &self.sort {
            let column = sort_word(column);
            if !view.sort_by(column) && !view.rows.is_empty() {
                let why = format!("table {name} has no column {column:?}; its columns are {}", view.columns.join(", "));
                return Ok(output::misused(&why));
            }
        } else if document.ranks.len() > 1 && (is_text || self.top.is_some()) {
            // Whoever gets some of the rows gets those with most, whatever the rank.
            view.mix_ranks();
        }
        if self.csv || format == Format::Json {
            view.rows.truncate(self.top.unwrap_or(usize::MAX));
        }
        match format {
            _ if self.csv => output::answer_by(|to| csv(&view, to))?,
            Format::Json => output::answer(&serde_json::to_string_pretty(&json(&view))?)?,
            Format::Table => output::answer(&view.text(&document.title, self.top.unwrap_or(TOP_DEFAULT), output::style()))?,
        }
        if view.rows.iter().any(|row| view.waits_at_most(row)) {
            output::remark(AT_MOST);
        }
        say_notes(document, named);
        Ok(ExitCode::SUCCESS)
    }
}

/// What waits in a table are where not every rank waits for the last.
const AT_MOST: &str = "waits in broadcasts, reduces, gathers and scatters, and in collectives whose operation is not known, are at most what is shown: a rank may have left before the others came";

/// What a column of a rank's table is called where ranks are side by side.
fn sort_word_across(column: &str) -> &str {
    match sort_word(column) {
        "direct_kernel_ns" => "sum_ns",
        other => other,
    }
}

/// Says what the tables lack, as far as it concerns the one that is `named`.
fn say_notes(document: &Document, named: Named) {
    let has_figures = matches!(named.table(), AnyTable::OfRanks(Table::UnifiedPerfSummary | Table::Gemm));
    if !named.is_of_launches() {
        return;
    }
    let concerns = |lack: &Lack| has_figures || lack.about != "figures";
    let lacks: Vec<Lack> = rankscope_report::lacks(document).into_iter().filter(concerns).collect();
    for Lack { whose, text, .. } in lacks.iter().take(NOTES_MAX) {
        output::remark(&if document.ranks.len() == 1 { text.clone() } else { format!("{whose}: {text}") });
    }
    if lacks.len() > NOTES_MAX {
        output::remark(&format!("and {} more notes in report.json (--format json --tables all)", lacks.len() - NOTES_MAX));
    }
}

/// So many notes are printed below a table.
const NOTES_MAX: usize = 8;

/// The columns asked for most have short words, too.
fn sort_word(column: &str) -> &str {
    match column {
        "self" => "direct_kernel_ns",
        "subtree" => "subtree_kernel_ns",
        "sum" => "sum_ns",
        "wait" => "total_wait_ns",
        "transfer" => "total_transfer_ns",
        other => other,
    }
}

fn csv(view: &TableView, to: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<String> = view.columns.iter().map(|column| CsvText(column).to_string()).collect();
    write!(to, "{}", columns.join(","))?;
    for row in &view.rows {
        writeln!(to)?;
        for (at, value) in row.iter().enumerate() {
            let gap = if at == 0 { "" } else { "," };
            match value {
                Value::Null => write!(to, "{gap}")?,
                Value::String(text) => write!(to, "{gap}{}", CsvText(text))?,
                Value::Array(_) => write!(to, "{gap}{}", CsvText(&value.to_string()))?,
                other => write!(to, "{gap}{other}")?,
            }
        }
    }
    Ok(())
}

/// The rows as objects.
fn json(view: &TableView) -> Vec<Map<String, Value>> {
    view.rows.iter().map(|row| view.columns.iter().cloned().zip(row.iter().cloned()).collect()).collect()
}
