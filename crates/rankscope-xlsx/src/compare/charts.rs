//! Native charts of a comparison. They read the cells of a sheet, so they change with them.

use rust_xlsxwriter::{
    Chart, ChartAxisLabelPosition, ChartFont, ChartFormat, ChartLegendPosition, ChartLine, ChartSolidFill, ChartType, Color,
};

use crate::book::chart_width;
use crate::style::{COMMUNICATION, COMPUTATION, IDLE, LINES};

/// Where the cells of a chart are: the sheet, and the first and the last row.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    pub(super) sheet: &'a str,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Base and test side by side for each category in the first column.
pub(super) fn grouped(cells: Cells<'_>, title: &str, axis: &str, [base, test]: [(&str, u16); 2]) -> Chart {
    let mut chart = Chart::new(ChartType::Column);
    for ((name, col), color) in [base, test].into_iter().zip([COMPUTATION, COMMUNICATION]) {
        series(&mut chart, cells, name, col, color);
    }
    chart.legend().set_position(ChartLegendPosition::Bottom);
    finished(chart, title, axis)
}

/// One column for each category.
pub(super) fn single(cells: Cells<'_>, title: &str, axis: &str, (name, col): (&str, u16)) -> Chart {
    let mut chart = Chart::new(ChartType::Column);
    series(&mut chart, cells, name, col, COMPUTATION);
    chart.legend().set_hidden();
    finished(chart, title, axis)
}

/// A waterfall: each part goes on where the one before it ends. `least` is where the axis begins, as a change is small beside the whole.
/// The columns are the level that is not drawn, the whole, what is added and what is taken away.
pub(super) fn waterfall(cells: Cells<'_>, title: &str, first_col: u16, least: f64) -> Chart {
    let mut chart = Chart::new(ChartType::ColumnStacked);
    let parts = [("", None), ("step", Some(IDLE)), ("takes longer", Some(COMMUNICATION)), ("takes less", Some(COMPUTATION))];
    for (col, (name, color)) in (first_col..).zip(parts) {
        let series = chart.add_series().set_name(name).set_gap(30).set_overlap(100);
        series.set_categories((cells.sheet, cells.first, 0, cells.last, 0));
        series.set_values((cells.sheet, cells.first, col, cells.last, col));
        match color {
            Some(color) => series.set_format(&mut filled(color)),
            None => series.set_format(ChartFormat::new().set_no_fill()),
        };
    }
    chart.legend().set_position(ChartLegendPosition::Bottom).delete_entries(&[0]);
    chart.y_axis().set_min(least);
    finished(chart, title, "ms")
}

fn series(chart: &mut Chart, cells: Cells<'_>, name: &str, col: u16, color: u32) {
    let series = chart.add_series().set_name(name).set_gap(60);
    series.set_categories((cells.sheet, cells.first, 0, cells.last, 0));
    series.set_values((cells.sheet, cells.first, col, cells.last, col));
    series.set_format(&mut filled(color));
}

fn filled(color: u32) -> ChartFormat {
    ChartFormat::new().set_solid_fill(ChartSolidFill::new().set_color(Color::RGB(color))).clone()
}

fn finished(mut chart: Chart, title: &str, axis: &str) -> Chart {
    let mut lines = ChartLine::new();
    lines.set_color(Color::RGB(LINES)).set_width(0.75);
    chart.title().set_name(title).set_font(ChartFont::new().set_size(11));
    chart.y_axis().set_name(axis).set_major_gridlines_line(&lines);
    // Below the plot, also where values are negative.
    chart.x_axis().set_label_position(ChartAxisLabelPosition::Low);
    chart.set_width(chart_width()).set_height(340);
    chart
}
