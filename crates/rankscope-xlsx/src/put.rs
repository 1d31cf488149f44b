//! Writes a table into a sheet, row by row.

use std::borrow::Cow;

use rust_xlsxwriter::{
    Color, ConditionalFormatDataBar, ConditionalFormatType, Format, Table, TableColumn, TableStyle, Worksheet,
};

use crate::Error;
use crate::column::{Cell, Column, Kind};
use crate::style::{BAR, Styles};

/// Puts the table `name` at the top of `worksheet`. There must be rows.
pub(crate) fn put<R>(
    worksheet: &mut Worksheet,
    styles: &Styles,
    name: &str,
    columns: &[Column<'_, R>],
    rows: &[R],
) -> Result<(), Error> {
    let headers: Vec<TableColumn> = columns
        .iter()
        .map(|column| TableColumn::new().set_header(&*column.header).set_header_format(styles.header(column.kind)))
        .collect();
    let table = Table::new().set_name(name).set_style(TableStyle::Light1).set_columns(&headers);
    let last = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let last_col = u16::try_from(columns.len()).unwrap_or(u16::MAX).saturating_sub(1);
    worksheet.add_table(0, 0, last, last_col, &table)?;
    for (row, item) in (1..).zip(rows) {
        for (col, column) in (0..).zip(columns) {
            let cell = (column.of)(item);
            let format = match &cell {
                Cell::Text(word) if column.kind == Kind::Verdict => styles.verdict(word),
                Cell::Text(text) => styles.text(text),
                _ => styles.number(column.kind),
            };
            write(worksheet, (row, col), column.kind, &cell, format)?;
        }
    }
    for (col, _) in (0..).zip(columns).filter(|(_, column)| column.kind == Kind::Bar) {
        worksheet.add_conditional_format(1, col, last, col, &bar())?;
    }
    Ok(())
}

/// Writes `cell`, which is of a column of `kind`.
pub(crate) fn write(
    worksheet: &mut Worksheet,
    (row, col): (u32, u16),
    kind: Kind,
    cell: &Cell<'_>,
    format: &Format,
) -> Result<(), Error> {
    match cell {
        Cell::Text(text) => worksheet.write_string_with_format(row, col, &*fitting(text), format)?,
        Cell::Number(number) if number.is_finite() => {
            worksheet.write_number_with_format(row, col, number / kind.divisor(), format)?
        }
        Cell::Bool(is) => worksheet.write_boolean_with_format(row, col, *is, format)?,
        Cell::Number(_) | Cell::Empty => worksheet,
    };
    Ok(())
}

/// Bars that begin at 0, so that lengths compare across columns.
pub(crate) fn bar() -> ConditionalFormatDataBar {
    ConditionalFormatDataBar::new()
        .set_minimum(ConditionalFormatType::Number, 0)
        .set_fill_color(Color::RGB(BAR))
        .set_solid_fill(true)
        .set_border_off(true)
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
