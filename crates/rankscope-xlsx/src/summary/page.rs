//! The sheet of the dashboard as a page: paragraphs and blocks under each other, on columns of one width, over several of which a
//! text may go.

use rust_xlsxwriter::{Chart, Color, Format, FormatAlign, FormatBorder, Url, Worksheet};

use crate::Error;
use crate::book::Written;
use crate::column::{Cell, Column, Kind};
use crate::put::{bar, fitting, write};
use crate::style::{HEADER, INK, LINES, MUTED, Styles};

/// Columns of the page.
const COLUMNS: u16 = 13;
/// Characters that the first is wide, and those after it.
const FIRST: u16 = 24;
const WIDE: u16 = 13;
/// Characters of a line of a paragraph.
const LINE: usize = 180;
/// Characters of a title that take no more than the first columns.
const TITLE: usize = 40;
/// Heights in points: a line, a block's header.
const HEIGHT: f64 = 15.0;
const HEADER_HEIGHT: f64 = 32.0;
/// Pixels that a row is high, and a block's header.
const ROW_PIXELS: u32 = 20;
const HEADER_PIXELS: u32 = 43;

/// The page, and the next row of it that is free.
pub(crate) struct Page<'a> {
    sheet: &'a mut Worksheet,
    styles: &'a Styles,
    /// The other sheets.
    pub(crate) written: &'a [Written],
    row: u32,
}

/// Where a block was put: its first and last row of data.
pub(crate) struct Placed {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl<'a> Page<'a> {
    pub(crate) fn begin(sheet: &'a mut Worksheet, styles: &'a Styles, written: &'a [Written]) -> Result<Self, Error> {
        sheet.set_screen_gridlines(false).set_landscape().set_print_fit_to_pages(1, 0).set_freeze_panes(1, 0)?;
        sheet.set_column_width(0, FIRST)?;
        for col in 1..COLUMNS {
            sheet.set_column_width(col, WIDE)?;
        }
        Ok(Self { sheet, styles, written, row: 0 })
    }

    pub(crate) fn title(&mut self, text: &str) -> Result<(), Error> {
        let format = ink().set_bold().set_font_size(18).set_align(FormatAlign::VerticalCenter);
        self.sheet.set_row_height(self.row, 30)?.write_string_with_format(self.row, 0, &*fitting(text), &format)?;
        self.row += 1;
        Ok(())
    }

    /// A heading, what is to be said beside it, and the sheet that has all.
    pub(crate) fn heading(&mut self, title: &str, aside: &str, sheet: Option<&str>) -> Result<(), Error> {
        let bold = ink().set_bold().set_font_size(13).set_align(FormatAlign::Bottom);
        let muted = Format::new().set_font_color(Color::RGB(MUTED)).set_align(FormatAlign::Bottom);
        self.row += 1;
        self.sheet.set_row_height(self.row, 22)?.write_string_with_format(self.row, 0, title, &bold)?;
        if !aside.is_empty() {
            // Clear of a long title.
            let col = if title.chars().count() > TITLE { 7 } else { 3 };
            self.sheet.write_string_with_format(self.row, col, aside, &muted)?;
        }
        if let Some(sheet) = sheet.filter(|sheet| self.written.iter().any(|written| written.sheet == *sheet)) {
            link(self.sheet, (self.row, COLUMNS - 2), sheet, &format!("sheet {sheet}"), 1)?;
        }
        self.row += 1;
        Ok(())
    }

    /// A label and a text beside it, over as many lines as it takes.
    pub(crate) fn paragraph(&mut self, label: &str, text: &str, fill: Option<u32>) -> Result<(), Error> {
        let top = ink().set_align(FormatAlign::Top);
        let tag = match fill {
            Some(fill) => top.clone().set_bold().set_background_color(Color::RGB(fill)),
            None => top.clone().set_font_color(Color::RGB(MUTED)),
        };
        let text = fitting(text);
        let lines: usize = text.split('\n').map(|line| line.chars().count().div_ceil(LINE).max(1)).sum();
        self.sheet.write_string_with_format(self.row, 0, label, &tag)?;
        let body = top.set_text_wrap().set_quote_prefix().set_indent(1);
        self.sheet.merge_range(self.row, 1, self.row, COLUMNS - 1, &text, &body)?;
        // Merged cells do not grow by themselves; no row is higher than 409 points.
        self.sheet.set_row_height(self.row, (HEIGHT * lines as f64 + 1.0).min(409.0))?;
        self.row += 1;
        Ok(())
    }

    /// `rows` under their headers.
    pub(crate) fn block<R>(&mut self, columns: &[Column<'_, R>], rows: &[R]) -> Result<Placed, Error> {
        let places = places(columns);
        self.sheet.set_row_height(self.row, HEADER_HEIGHT)?;
        for (column, place) in columns.iter().zip(&places) {
            self.cell(*place, column.kind, &Cell::text(&*column.header), &header(column.kind, place.0))?;
        }
        self.row += 1;
        let first = self.row;
        for row in rows {
            for (column, place) in columns.iter().zip(&places) {
                let cell = shortened((column.of)(row), *place);
                let format = self.format(column.kind, &cell, place.0);
                self.cell(*place, column.kind, &cell, &format)?;
            }
            self.row += 1;
        }
        let last = self.row.saturating_sub(1);
        for (_, (col, _)) in columns.iter().zip(&places).filter(|(column, _)| column.kind == Kind::Bar) {
            self.sheet.add_conditional_format(first, *col, last, *col, &bar())?;
        }
        Ok(Placed { first, last })
    }

    /// `chart` beside the block that was `placed`, from the column `col` on; what comes next is below both.
    pub(crate) fn beside(&mut self, placed: &Placed, col: u16, chart: &Chart, height: u32) -> Result<(), Error> {
        self.sheet.insert_chart_with_offset(placed.first.saturating_sub(1), col, chart, 12, 0)?;
        self.row = self.row.max(placed.first + height.saturating_sub(HEADER_PIXELS).div_ceil(ROW_PIXELS));
        Ok(())
    }

    /// Turns the first cells from `first` on into links to the `sheets` of these names.
    pub(crate) fn links<'s>(&mut self, first: u32, sheets: impl Iterator<Item = &'s str>) -> Result<(), Error> {
        for (row, sheet) in (first..).zip(sheets) {
            link(self.sheet, (row, 0), sheet, sheet, 0)?;
        }
        Ok(())
    }

    fn cell(&mut self, (col, last): (u16, u16), kind: Kind, cell: &Cell<'_>, format: &Format) -> Result<(), Error> {
        if last > col {
            let text = if let Cell::Text(text) = cell { fitting(text) } else { "".into() };
            self.sheet.merge_range(self.row, col, self.row, last, &text, format)?;
            return Ok(());
        }
        if *cell == Cell::Empty {
            self.sheet.write_blank(self.row, col, format)?;
            return Ok(());
        }
        write(self.sheet, (self.row, col), kind, cell, format)
    }

    fn format(&self, kind: Kind, cell: &Cell<'_>, col: u16) -> Format {
        let format = match cell {
            Cell::Text(word) if kind == Kind::Verdict => self.styles.verdict(word).clone(),
            Cell::Text(text) => self.styles.text(text).clone().set_indent(indent(kind, col)),
            _ => self.styles.number(kind).clone(),
        };
        format.set_border_bottom(FormatBorder::Thin).set_border_bottom_color(Color::RGB(LINES))
    }
}

/// `text` that leads to `sheet`.
fn link(worksheet: &mut Worksheet, (row, col): (u32, u16), sheet: &str, text: &str, indent: u8) -> Result<(), Error> {
    let url = Url::new(format!("internal:'{}'!A1", sheet.replace('\'', "''"))).set_text(text);
    let format = Format::new().set_hyperlink().set_align(FormatAlign::Left).set_indent(indent);
    worksheet.write_url_with_format(row, col, url, &format)?;
    Ok(())
}

fn ink() -> Format {
    Format::new().set_font_color(Color::RGB(INK))
}

/// Text keeps clear of the number before it.
fn indent(kind: Kind, col: u16) -> u8 {
    u8::from(matches!(kind, Kind::Text(_)) && col > 0)
}

fn header(kind: Kind, col: u16) -> Format {
    let format = ink()
        .set_bold()
        .set_background_color(Color::RGB(HEADER))
        .set_border_bottom(FormatBorder::Thin)
        .set_border_bottom_color(Color::RGB(MUTED))
        .set_text_wrap()
        .set_align(FormatAlign::VerticalCenter);
    if matches!(kind, Kind::Text(_) | Kind::Id | Kind::Verdict) {
        format.set_align(FormatAlign::Left).set_indent(indent(kind, col))
    } else {
        format.set_align(FormatAlign::Right)
    }
}

/// The first and the last column of the page that each of `columns` takes.
fn places<R>(columns: &[Column<'_, R>]) -> Vec<(u16, u16)> {
    let mut next = 0;
    let place = |column: &Column<'_, R>| {
        let first = next;
        let mut room = width(first);
        if let Kind::Text(wanted) = column.kind {
            while room < wanted && next + 1 < COLUMNS {
                next += 1;
                room += width(next);
            }
        }
        let last = next;
        next += 1;
        (first, last)
    };
    columns.iter().map(place).collect()
}

fn width(col: u16) -> u16 {
    if col == 0 { FIRST } else { WIDE }
}

/// Text that does not run into the next column.
fn shortened<'a>(cell: Cell<'a>, (first, last): (u16, u16)) -> Cell<'a> {
    let room: usize = (first..=last).map(|col| usize::from(width(col))).sum::<usize>() + usize::from(last - first);
    match cell {
        Cell::Text(text) if text.chars().count() > room => {
            Cell::text(text.chars().take(room.saturating_sub(1)).chain(['…']).collect::<String>())
        }
        cell => cell,
    }
}
