//! The times of all ranks: their mean, all of them under each other, and classes beside ranks.
//!
//! Ranks head columns as numbers, as they do there, which the header of an Excel table cannot: these sheets are plain ranges.

use std::io::Write;

use rankscope_document::{Document, Rank, Time};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet};

use crate::Error;
use crate::column::Cell;
use crate::job::{TIMES, TimeOf};
use crate::put::write as write_cell;
use crate::style::Styles;

/// How ranks are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mean {
    /// Their sum by their number.
    Arithmetic,
    /// The root of their product, where zero counts as 1e-10.
    Geometric,
}

impl Mean {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Arithmetic => "mean",
            Self::Geometric => "geomean",
        }
    }

    fn of(self, values: &[f64]) -> f64 {
        let count = values.len().max(1) as f64;
        match self {
            Self::Arithmetic => values.iter().sum::<f64>() / count,
            Self::Geometric => {
                let log = |value: &f64| if *value == 0.0 { 1e-10_f64 } else { *value }.ln();
                (values.iter().map(log).sum::<f64>() / count).exp()
            }
        }
    }
}

/// Writes the workbook of `document` with the `mean` of its ranks.
pub(super) fn write(document: &Document, mean: Mean, out: impl Write + Send) -> Result<(), Error> {
    let mut workbook = Workbook::new();
    let created = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook.set_properties(&DocProperties::new().set_title("rankscope report").set_creation_datetime(&created));
    let sheets = Sheets { ranks: &document.ranks, times: by_name(), styles: Styles::new() };
    sheets.summary(workbook.add_worksheet().set_name("Summary")?, mean)?;
    sheets.combined(workbook.add_worksheet().set_name("All_Ranks_Combined")?)?;
    sheets.beside(workbook.add_worksheet().set_name("Per_Rank_Time_ms")?, ms)?;
    sheets.beside(workbook.add_worksheet().set_name("Per_Rank_Percent")?, percent)?;
    Ok(workbook.save_to_writer(out)?)
}

/// The rows of `gpu_timeline` by their names.
fn by_name() -> [TimeOf; 8] {
    let mut times = TIMES;
    times.sort_by_key(|(name, _)| *name);
    times
}

/// A figure of one class of one rank.
type FigureOf = fn(&Time, TimeOf) -> f64;

fn ms(time: &Time, (_, of): TimeOf) -> f64 {
    of(time) as f64 / 1e6
}

fn percent(time: &Time, (_, of): TimeOf) -> f64 {
    if time.total > 0 { of(time) as f64 / time.total as f64 * 100.0 } else { 0.0 }
}

struct Sheets<'a> {
    ranks: &'a [Rank],
    times: [TimeOf; 8],
    styles: Styles,
}

impl Sheets<'_> {
    fn summary(&self, sheet: &mut Worksheet, mean: Mean) -> Result<(), Error> {
        self.header(sheet, ["type", "time ms", "percent", "num_ranks"].map(Cell::text))?;
        for (row, time) in (1..).zip(self.times) {
            let of = |figure: FigureOf| self.ranks.iter().map(|rank| figure(&rank.time_ns, time)).collect::<Vec<_>>();
            let ranks = self.ranks.len() as f64;
            self.row(sheet, row, time.0, &[mean.of(&of(ms)), mean.of(&of(percent))], Some(ranks))?;
        }
        Ok(())
    }

    fn combined(&self, sheet: &mut Worksheet) -> Result<(), Error> {
        self.header(sheet, ["type", "time ms", "percent", "rank"].map(Cell::text))?;
        let rows = self.ranks.iter().flat_map(|rank| self.times.map(|time| (rank, time)));
        for (row, (rank, time)) in (1..).zip(rows) {
            let figures = [ms(&rank.time_ns, time), percent(&rank.time_ns, time)];
            self.row(sheet, row, time.0, &figures, Some(f64::from(rank.rank)))?;
        }
        Ok(())
    }

    fn beside(&self, sheet: &mut Worksheet, figure: FigureOf) -> Result<(), Error> {
        // A sheet has 16,384 columns.
        let ranks = &self.ranks[..self.ranks.len().min(16_383)];
        let numbers = ranks.iter().map(|rank| Cell::count(rank.rank));
        self.header(sheet, std::iter::once(Cell::text("type")).chain(numbers))?;
        for (row, time) in (1..).zip(self.times) {
            let figures: Vec<f64> = ranks.iter().map(|rank| figure(&rank.time_ns, time)).collect();
            self.row(sheet, row, time.0, &figures, None)?;
        }
        Ok(())
    }

    fn header<'c>(&self, sheet: &mut Worksheet, cells: impl IntoIterator<Item = Cell<'c>>) -> Result<(), Error> {
        use crate::column::Kind;
        sheet.set_freeze_panes(1, 1)?.set_column_width(0, 22)?;
        for (col, cell) in (0..).zip(cells) {
            let kind = if col == 0 { Kind::Text(22) } else { Kind::Id };
            if col > 0 {
                sheet.set_column_width(col, 13)?;
            }
            let right = Format::clone(self.styles.header(Kind::Ms)).set_indent(0);
            write_cell(sheet, (0, col), kind, &cell, if col == 0 { self.styles.header(kind) } else { &right })?;
        }
        Ok(())
    }

    /// A class, its `figures`, and a `number` that counts or names something.
    fn row(&self, sheet: &mut Worksheet, row: u32, class: &str, figures: &[f64], number: Option<f64>) -> Result<(), Error> {
        use crate::column::Kind;
        sheet.write_string(row, 0, class)?;
        for (col, figure) in (1..).zip(figures) {
            sheet.write_number_with_format(row, col, *figure, self.styles.number(Kind::Rate))?;
        }
        if let Some(number) = number {
            let col = u16::try_from(figures.len() + 1).unwrap_or(u16::MAX);
            sheet.write_number_with_format(row, col, number, self.styles.number(Kind::Count))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_what_their_names_say() {
        assert_eq!(Mean::Arithmetic.of(&[2.0, 8.0]), 5.0);
        assert!((Mean::Geometric.of(&[2.0, 8.0]) - 4.0).abs() < 1e-12);
        assert!((Mean::Geometric.of(&[0.0, 1.0]) - 1e-5).abs() < 1e-12, "zero is a little");
    }
}
