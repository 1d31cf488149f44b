//! The workbook in the making: sheets that are one table each, and what became of them.
//!
//! A table is a real one (Excel's *Ctrl+T*), with a frozen header and filters. Where it has more rows than a sheet takes it goes on,
//! header and all, on `NAME (2)`; the list of sheets on the dashboard says so.

use std::io::Write;

use rust_xlsxwriter::{Chart, DocProperties, ExcelDateTime, Note, Workbook, Worksheet};

use crate::Error;
use crate::column::{Column, Kind, differ};
use crate::names::Names;
use crate::put::put;
use crate::style::Styles;

/// The name of the first sheet.
pub(crate) const SUMMARY: &str = "Summary";

/// A table that is to have a sheet.
pub(crate) struct Sheet<'a, R> {
    /// Its name, or one that is like it.
    pub(crate) name: String,
    /// What it holds, in a line.
    pub(crate) about: &'static str,
    pub(crate) columns: Vec<Column<'a, R>>,
    pub(crate) rows: Vec<R>,
}

/// A sheet that has been written.
pub(crate) struct Written {
    pub(crate) sheet: String,
    pub(crate) about: &'static str,
    /// Its rows.
    pub(crate) rows: usize,
    /// Which part of how many it is.
    pub(crate) part: (usize, usize),
}

/// The dashboard, which is filled last.
pub(crate) struct Summary<'a> {
    pub(crate) sheet: &'a mut Worksheet,
    pub(crate) styles: &'a Styles,
    pub(crate) written: &'a [Written],
    /// Tables that have no rows, and so no sheets.
    pub(crate) empty: &'a [String],
}

/// What a sheet has besides its table.
#[derive(Default)]
pub(crate) struct Besides {
    /// What its signs mean: a note on the first header, and the header of printed pages.
    pub(crate) signs: Option<&'static str>,
    /// Charts below the table, beside each other.
    pub(crate) charts: Vec<Chart>,
    /// Whether it is there for programs, and not shown.
    pub(crate) is_hidden: bool,
}

/// Pixels that a chart is wide.
pub(crate) const fn chart_width() -> u32 {
    560
}

/// A workbook that sheets are added to.
pub(crate) struct Book {
    workbook: Workbook,
    styles: Styles,
    names: Names,
    written: Vec<Written>,
    empty: Vec<String>,
    /// Rows that a sheet takes at most.
    most: usize,
}

impl Book {
    /// A workbook without a sheet; one takes `most` rows.
    pub(crate) fn begin(title: &str, most: usize) -> Result<Self, Error> {
        let mut workbook = Workbook::new();
        // A fixed date, so that the same document gives the same bytes.
        let created = ExcelDateTime::from_ymd(2000, 1, 1)?;
        workbook.set_properties(&DocProperties::new().set_title(title).set_creation_datetime(&created));
        Ok(Self {
            workbook,
            styles: Styles::new(),
            names: Names::default(),
            written: Vec::new(),
            empty: Vec::new(),
            most: most.max(1),
        })
    }

    /// Adds the dashboard, which is filled when all else is there.
    pub(crate) fn begin_summary(&mut self) -> Result<(), Error> {
        self.workbook.add_worksheet().set_name(self.names.sheet(SUMMARY))?;
        Ok(())
    }

    /// Whether a sheet is called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.written.iter().any(|written| written.sheet == name)
    }

    /// Adds `sheet`. A table without rows is none in Excel; it is only remembered.
    pub(crate) fn add<R>(&mut self, sheet: Sheet<'_, R>) -> Result<(), Error> {
        self.add_with(sheet, Besides::default())
    }

    /// Adds `sheet`, and what is to be on it besides its table.
    pub(crate) fn add_with<R>(&mut self, mut sheet: Sheet<'_, R>, besides: Besides) -> Result<(), Error> {
        if sheet.rows.is_empty() {
            self.empty.push(sheet.name);
            return Ok(());
        }
        differ(&mut sheet.columns);
        let parts = sheet.rows.len().div_ceil(self.most);
        for (i, rows) in sheet.rows.chunks(self.most).enumerate() {
            let wanted = if i == 0 { sheet.name.clone() } else { format!("{} ({})", sheet.name, i + 1) };
            let (name, table) = (self.names.sheet(&wanted), self.names.table(&wanted));
            let worksheet = self.workbook.add_worksheet_with_low_memory()?;
            let held = held(&sheet.columns);
            worksheet.set_name(&name)?.set_freeze_panes(1, held)?;
            worksheet.set_landscape().set_print_fit_to_pages(pages_across(&sheet.columns), 0).set_repeat_rows(0, 0)?;
            if held > 0 {
                worksheet.set_repeat_columns(0, held - 1)?;
            }
            for (col, column) in (0..).zip(&sheet.columns) {
                worksheet.set_column_width(col, column.width())?;
            }
            put(worksheet, &self.styles, &table, &sheet.columns, rows)?;
            if let Some(signs) = besides.signs {
                worksheet.set_header(format!("&L{}", signs.replace('&', "&&")));
                worksheet.insert_note(0, 0, &Note::new(signs).set_author("rankscope").add_author_prefix(false))?;
            }
            let below = u32::try_from(rows.len()).unwrap_or(u32::MAX).saturating_add(2);
            for (place, chart) in (0..).zip(&besides.charts) {
                worksheet.insert_chart_with_offset(below, 0, chart, place * (chart_width() + 24), 0)?;
            }
            if besides.is_hidden {
                worksheet.set_hidden(true);
            }
            self.written.push(Written { sheet: name, about: sheet.about, rows: rows.len(), part: (i + 1, parts) });
        }
        Ok(())
    }

    /// Adds a sheet of the name `wanted` that is no table, and gives it to `fill`.
    pub(crate) fn add_plain(
        &mut self,
        wanted: &str,
        is_hidden: bool,
        fill: impl FnOnce(&mut Worksheet, &Styles) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let name = self.names.sheet(wanted);
        let worksheet = self.workbook.add_worksheet();
        worksheet.set_name(&name)?.set_hidden(is_hidden);
        fill(worksheet, &self.styles)
    }

    /// The dashboard, and what is needed to fill it.
    pub(crate) fn summary(&mut self) -> Result<Summary<'_>, Error> {
        let sheet = self.workbook.worksheet_from_name(SUMMARY)?;
        Ok(Summary { sheet, styles: &self.styles, written: &self.written, empty: &self.empty })
    }

    /// Writes all of it to `out`.
    pub(crate) fn save(mut self, out: impl Write + Send) -> Result<(), Error> {
        if self.written.is_empty() && self.names.is_empty() {
            // A workbook has a sheet, or it cannot be opened.
            self.workbook.add_worksheet().set_name("empty")?;
        }
        Ok(self.workbook.save_to_writer(out)?)
    }
}

/// Characters that can still be read of a page's width.
const PAGE: u16 = 240;

/// Characters that columns which stay in sight may take.
const HELD: u16 = 80;

/// Pages side by side that `columns` are printed on.
fn pages_across<R>(columns: &[Column<'_, R>]) -> u16 {
    width(columns).div_ceil(PAGE).max(1)
}

/// How many of `columns` stay in sight when the others are scrolled: up to the first text, in a table that is wider than a page.
fn held<R>(columns: &[Column<'_, R>]) -> u16 {
    let named = columns.iter().position(|column| matches!(column.kind, Kind::Text(_))).map_or(0, |at| at + 1);
    let is_held = pages_across(columns) > 1 && width(&columns[..named]) <= HELD;
    if is_held { named as u16 } else { 0 }
}

fn width<R>(columns: &[Column<'_, R>]) -> u16 {
    columns.iter().map(Column::width).fold(0, u16::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Cell;

    #[test]
    fn names_stay_in_sight_in_wide_tables() {
        let column = |kind| Column::new("x", kind, |_: &()| Cell::Empty);
        let of = |figures: usize| {
            let names = [Kind::Id, Kind::Text(50), Kind::Text(20)].map(column);
            names.into_iter().chain((0..figures).map(|_| column(Kind::Us))).collect::<Vec<_>>()
        };
        assert_eq!((pages_across(&of(5)), held(&of(5))), (1, 0));
        assert_eq!((pages_across(&of(40)), held(&of(40))), (3, 2));
        let wide = [column(Kind::Id), column(Kind::Text(60)), column(Kind::Text(200))];
        assert_eq!(held(&wide), 2);
        assert_eq!(held(&[column(Kind::Text(100)), column(Kind::Text(200))]), 0, "too wide to be held");
    }
}
