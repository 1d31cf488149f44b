//! The dashboard: what was reported on, the answers, where the time goes, who is late, and which collectives cost most.

mod facts;

use rankscope_document::{Document, NoteLevel, Rank};
use rust_xlsxwriter::{Chart, ChartFont, ChartLegendPosition, ChartType, Color, Format, FormatAlign, Url, Worksheet};

use crate::Error;
use crate::book::{Book, SUMMARY, Written, fitting, put};
use crate::column::{Cell, Column, Kind};
use crate::job;
use crate::style::{COMMUNICATION, COMPUTATION, COPIES, IDLE, INK, MUTED, Styles};

/// Columns that a paragraph goes over, the first one being its label's.
const WIDE: u16 = 13;
/// Characters of a line of a paragraph.
const LINE: usize = 150;
/// Height of a line, in points.
const HEIGHT: f64 = 15.0;
/// Ranks that the dashboard shows.
const RANKS: usize = 64;
/// Stragglers and collectives that it shows.
const WORST: usize = 10;

/// Fills the first sheet of `book`.
pub(crate) fn write(book: &mut Book, document: &Document) -> Result<(), Error> {
    let (sheet, styles, written) = book.summary()?;
    sheet.set_screen_gridlines(false).set_landscape().set_print_fit_to_pages(1, 0).set_freeze_panes(1, 0)?;
    sheet.set_column_width(0, 26)?;
    for col in 1..WIDE {
        sheet.set_column_width(col, if col == 1 { 19 } else { 15 })?;
    }
    let mut page = Page { sheet, styles, row: 0 };
    page.title(document)?;
    page.notes(document)?;
    if document.is_training() {
        page.times(document)?;
        page.stragglers(document)?;
        page.collectives(document)?;
    }
    page.sheets(written)
}

/// The dashboard, and the next row of it that is free.
struct Page<'a> {
    sheet: &'a mut Worksheet,
    styles: &'a Styles,
    row: u32,
}

impl Page<'_> {
    fn title(&mut self, document: &Document) -> Result<(), Error> {
        let title = Format::new().set_bold().set_font_size(18).set_font_color(Color::RGB(INK));
        let text = format!("rankscope report: {}", document.title);
        self.sheet.set_row_height(0, 28)?.write_string_with_format(0, 0, &*fitting(&text), &title)?;
        self.row = 1;
        for (label, text) in facts::of(document) {
            self.paragraph(label, &text, None)?;
        }
        Ok(())
    }

    /// What the document says in sentences, most important first.
    fn notes(&mut self, document: &Document) -> Result<(), Error> {
        self.heading("Findings", "")?;
        if document.is_training() {
            self.paragraph("verdict", &facts::verdict(document), Some(0xD5_E8F4))?;
        }
        const LEVELS: [(NoteLevel, &str, u32); 3] = [
            (NoteLevel::Finding, "finding", 0xD5_E8F4),
            (NoteLevel::Caution, "caution", 0xFB_ECCC),
            (NoteLevel::Problem, "problem", 0xF3_E0EC),
        ];
        for (level, label, fill) in LEVELS {
            for note in document.notes.iter().filter(|note| note.level == level) {
                self.paragraph(label, &note.text, Some(fill))?;
            }
        }
        Ok(())
    }

    fn times(&mut self, document: &Document) -> Result<(), Error> {
        let ranks: Vec<&Rank> = document.ranks.iter().take(RANKS).collect();
        if ranks.is_empty() {
            return Ok(());
        }
        self.heading("Where the time goes", &shown(ranks.len(), document.ranks.len(), "gpu_timeline_ranks"))?;
        let first = self.row + 1;
        let columns = [
            Column::new("rank", Kind::Id, |rank: &&Rank| Cell::count(rank.rank)),
            Column::new("computation (ms)", Kind::Ms, |rank| Cell::ns(rank.time_ns.computation)),
            Column::new("exposed comm", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_comm)),
            Column::new("exposed copies", Kind::Ms, |rank| Cell::ns(rank.time_ns.exposed_memcpy)),
            Column::new("idle", Kind::Ms, |rank| Cell::ns(rank.time_ns.idle)),
            Column::new("total", Kind::Ms, |rank| Cell::ns(rank.time_ns.total)),
        ];
        put(self.sheet, self.styles, (self.row, 0), "summary_time", &columns, &ranks)?;
        let height = 130 + 22 * ranks.len() as u32;
        let chart = stacked(first, self.row + ranks.len() as u32, height);
        self.sheet.insert_chart_with_offset(self.row, 6, &chart, 12, 0)?;
        // A row is 20 pixels high; the chart may be longer than the table beside it.
        self.row += (ranks.len() as u32 + 2).max(height.div_ceil(20) + 1);
        Ok(())
    }

    fn stragglers(&mut self, document: &Document) -> Result<(), Error> {
        let ranks = job::latest(document);
        let worst = &ranks[..ranks.len().min(WORST)];
        self.table(
            "Who is late",
            &shown(worst.len(), ranks.len(), "stragglers"),
            "summary_late",
            &job::straggler_columns(),
            worst,
        )
    }

    fn collectives(&mut self, document: &Document) -> Result<(), Error> {
        let groups = job::most_exposed(document);
        let worst = &groups[..groups.len().min(WORST)];
        let aside = shown(worst.len(), groups.len(), "collectives");
        self.table("Most exposed collectives", &aside, "summary_exposed", &job::exposed_columns(), worst)
    }

    /// What else is in the workbook, with links.
    fn sheets(&mut self, written: &[Written]) -> Result<(), Error> {
        let columns = [
            Column::new("sheet", Kind::Text(24), |sheet: &Written| Cell::text(&sheet.sheet)),
            Column::new("rows", Kind::Count, |sheet| Cell::count(sheet.rows as u64)),
            Column::new("what it holds", Kind::Text(60), |sheet| match sheet.part {
                (_, 1) => Cell::text(sheet.about),
                (part, parts) => Cell::text(format!("{} (part {part} of {parts}: a sheet takes no more rows)", sheet.about)),
            }),
        ];
        self.table("Sheets", "", "summary_sheets", &columns, written)?;
        let first = self.row - written.len() as u32;
        for (row, sheet) in (first..).zip(written) {
            let url = Url::new(format!("internal:'{}'!A1", sheet.sheet)).set_text(&sheet.sheet);
            self.sheet.write_url(row, 0, url)?;
        }
        Ok(())
    }

    /// A table under its heading; nothing where there are no rows.
    fn table<R>(&mut self, title: &str, aside: &str, name: &str, columns: &[Column<R>], rows: &[R]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        self.heading(title, aside)?;
        put(self.sheet, self.styles, (self.row, 0), name, columns, rows)?;
        self.row += rows.len() as u32 + 1;
        Ok(())
    }

    fn heading(&mut self, title: &str, aside: &str) -> Result<(), Error> {
        let bold = Format::new().set_bold().set_font_size(13).set_font_color(Color::RGB(INK));
        let muted = Format::new().set_font_color(Color::RGB(MUTED)).set_align(FormatAlign::Bottom);
        self.row += 1;
        self.sheet.set_row_height(self.row, 20)?.write_string_with_format(self.row, 0, title, &bold)?;
        if !aside.is_empty() {
            self.sheet.write_string_with_format(self.row, 2, aside, &muted)?;
        }
        self.row += 1;
        Ok(())
    }

    /// A label and a text beside it, over as many lines as it takes.
    fn paragraph(&mut self, label: &str, text: &str, fill: Option<u32>) -> Result<(), Error> {
        let top = Format::new().set_align(FormatAlign::Top);
        let tag = match fill {
            Some(fill) => top.clone().set_bold().set_background_color(Color::RGB(fill)),
            None => top.clone().set_font_color(Color::RGB(MUTED)),
        };
        let text = fitting(text);
        let lines: usize = text.split('\n').map(|line| line.chars().count().div_ceil(LINE).max(1)).sum();
        self.sheet.write_string_with_format(self.row, 0, label, &tag)?;
        self.sheet.merge_range(self.row, 1, self.row, WIDE - 1, &text, &top.set_text_wrap().set_quote_prefix())?;
        // Merged cells do not grow by themselves; no row is higher than 409 points.
        self.sheet.set_row_height(self.row, (HEIGHT * lines as f64).min(409.0))?;
        self.row += 1;
        Ok(())
    }
}

/// What to say where not all rows are shown.
fn shown(shown: usize, all: usize, sheet: &str) -> String {
    if shown < all { format!("{shown} of {all}; the sheet {sheet} has all") } else { String::new() }
}

/// A bar a rank, of the time in the rows from `first` to `last`; rank 0 on top.
fn stacked(first: u32, last: u32, height: u32) -> Chart {
    const PARTS: [(&str, u32); 4] =
        [("computation", COMPUTATION), ("exposed communication", COMMUNICATION), ("exposed copies", COPIES), ("idle", IDLE)];
    let mut chart = Chart::new(ChartType::BarStacked);
    for (col, (name, color)) in (1..).zip(PARTS) {
        let series = chart.add_series().set_name(name).set_gap(40).set_overlap(100);
        series.set_categories((SUMMARY, first, 0, last, 0)).set_values((SUMMARY, first, col, last, col));
        series.set_format(
            rust_xlsxwriter::ChartFormat::new()
                .set_solid_fill(rust_xlsxwriter::ChartSolidFill::new().set_color(Color::RGB(color))),
        );
    }
    chart.title().set_name("Time by class, ms").set_font(ChartFont::new().set_size(11));
    // Bars lie: the x axis is the one of values.
    chart.x_axis().set_num_format("#,##0");
    chart.y_axis().set_name("rank").set_reverse();
    chart.legend().set_position(ChartLegendPosition::Bottom);
    chart.set_width(760).set_height(height);
    chart
}
