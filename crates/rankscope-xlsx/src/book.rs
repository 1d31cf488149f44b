//! The workbook in the making: sheets that are one table each, and what became of them.
//!
//! A table is a real one (Excel's *Ctrl+T*), with a frozen header and filters. Where it has more rows than a sheet takes it goes on,
//! header and all, on `NAME (2)`; the list of sheets on the dashboard says so.

use std::borrow::Cow;
use std::io::Write;

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Table, TableColumn, TableStyle, Workbook, Worksheet};

use crate::Error;
use crate::column::{Cell, Column};
use crate::style::Styles;

/// The name of the first sheet.
pub(crate) const SUMMARY: &str = "Summary";

/// A table that is to have a sheet.
pub(crate) struct Sheet<R> {
    /// Its name, which is the table's, too: letters and underscores, short enough for a number behind it.
    pub(crate) name: &'static str,
    /// What it holds, in a line.
    pub(crate) about: &'static str,
    pub(crate) columns: Vec<Column<R>>,
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

/// A workbook that sheets are added to.
pub(crate) struct Book {
    pub(crate) workbook: Workbook,
    pub(crate) styles: Styles,
    pub(crate) written: Vec<Written>,
    /// Rows that a sheet takes at most.
    most: usize,
}

impl Book {
    /// A workbook with nothing but an empty dashboard; a sheet takes `most` rows.
    pub(crate) fn begin(most: usize) -> Result<Self, Error> {
        let mut workbook = Workbook::new();
        // A fixed date, so that the same document gives the same bytes.
        let created = ExcelDateTime::from_ymd(2000, 1, 1)?;
        workbook.set_properties(&DocProperties::new().set_title("rankscope report").set_creation_datetime(&created));
        workbook.add_worksheet().set_name(SUMMARY)?;
        Ok(Self { workbook, styles: Styles::new(), written: Vec::new(), most: most.max(1) })
    }

    /// Adds `sheet`, unless it has no rows: a table without any is none in Excel.
    pub(crate) fn add<R>(&mut self, sheet: &Sheet<R>) -> Result<(), Error> {
        let parts = sheet.rows.len().div_ceil(self.most);
        for (i, rows) in sheet.rows.chunks(self.most).enumerate() {
            let (name, table) = match i {
                0 => (sheet.name.to_owned(), sheet.name.to_owned()),
                _ => (format!("{} ({})", sheet.name, i + 1), format!("{}_{}", sheet.name, i + 1)),
            };
            let worksheet = self.workbook.add_worksheet_with_low_memory()?;
            worksheet.set_name(&name)?.set_freeze_panes(1, 0)?;
            worksheet.set_landscape().set_print_fit_to_pages(1, 0).set_repeat_rows(0, 0)?;
            for (col, column) in (0..).zip(&sheet.columns) {
                worksheet.set_column_width(col, column.width())?;
            }
            put(worksheet, &self.styles, (0, 0), &table, &sheet.columns, rows)?;
            self.written.push(Written { sheet: name, about: sheet.about, rows: rows.len(), part: (i + 1, parts) });
        }
        Ok(())
    }

    /// The dashboard, and what is needed to write it.
    pub(crate) fn summary(&mut self) -> Result<(&mut Worksheet, &Styles, &[Written]), Error> {
        Ok((self.workbook.worksheet_from_name(SUMMARY)?, &self.styles, &self.written))
    }

    /// Writes all of it to `out`.
    pub(crate) fn save(mut self, out: impl Write + Send) -> Result<(), Error> {
        Ok(self.workbook.save_to_writer(out)?)
    }
}

/// Puts the table `name` at `row` and `col` of `worksheet`. There must be rows.
pub(crate) fn put<R>(
    worksheet: &mut Worksheet,
    styles: &Styles,
    (row, col): (u32, u16),
    name: &str,
    columns: &[Column<R>],
    rows: &[R],
) -> Result<(), Error> {
    let headers: Vec<TableColumn> = columns
        .iter()
        .map(|column| TableColumn::new().set_header(column.header).set_header_format(styles.header(column.kind)))
        .collect();
    let table = Table::new().set_name(name).set_style(TableStyle::Light1).set_columns(&headers);
    let last = u32::try_from(rows.len()).map_or(u32::MAX, |rows| row.saturating_add(rows));
    worksheet.add_table(row, col, last, col + columns.len() as u16 - 1, &table)?;
    for (row, item) in (row + 1..).zip(rows) {
        for (col, column) in (col..).zip(columns) {
            match (column.of)(item) {
                Cell::Text(text) => {
                    let text = fitting(&text);
                    worksheet.write_string_with_format(row, col, &*text, styles.text(&text))?;
                }
                Cell::Number(number) if number.is_finite() => {
                    let number = number / column.kind.divisor();
                    worksheet.write_number_with_format(row, col, number, styles.number(column.kind))?;
                }
                Cell::Number(_) | Cell::Empty => {}
            }
        }
    }
    Ok(())
}

/// UTF-16 units that a cell takes at most.
const LONGEST: usize = 32_767;

/// As much of `text` as a cell takes; what is cut ends in an ellipsis.
pub(crate) fn fitting(text: &str) -> Cow<'_, str> {
    // No character takes fewer bytes than units.
    if text.len() <= LONGEST || text.encode_utf16().count() <= LONGEST {
        return Cow::Borrowed(text);
    }
    let mut units = 0;
    let kept = text.chars().take_while(|c| {
        units += c.len_utf16();
        units < LONGEST
    });
    Cow::Owned(kept.chain(['…']).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_takes_no_more_than_excel_does() {
        assert_eq!(fitting(&"a".repeat(LONGEST)).len(), LONGEST);
        for long in ["a".repeat(LONGEST + 1), "é".repeat(40_000), "𝄞".repeat(20_000)] {
            let cut = fitting(&long);
            assert!(cut.ends_with('…') && (LONGEST - 1..=LONGEST).contains(&cut.encode_utf16().count()), "{}", cut.len());
        }
    }
}
