//! The chart of where the time goes.

use rust_xlsxwriter::{
    Chart, ChartAxisCrossing, ChartFont, ChartFormat, ChartLegendPosition, ChartLine, ChartSolidFill, ChartType, Color,
};

use super::page::Placed;
use crate::book::SUMMARY;
use crate::style::{COMMUNICATION, COMPUTATION, COPIES, IDLE, LINES};

/// A bar a rank, of the times beside each rank in the rows that were `placed`; the first rank on top.
pub(super) fn stacked(placed: &Placed, height: u32) -> Chart {
    const PARTS: [(&str, u32); 4] =
        [("computation", COMPUTATION), ("exposed communication", COMMUNICATION), ("exposed copies", COPIES), ("idle", IDLE)];
    let mut chart = Chart::new(ChartType::BarStacked);
    for (col, (name, color)) in (1..).zip(PARTS) {
        let series = chart.add_series().set_name(name).set_gap(40).set_overlap(100);
        series.set_categories((SUMMARY, placed.first, 0, placed.last, 0));
        series.set_values((SUMMARY, placed.first, col, placed.last, col));
        series.set_format(ChartFormat::new().set_solid_fill(ChartSolidFill::new().set_color(Color::RGB(color))));
    }
    chart.title().set_name("Time by class, ms").set_font(ChartFont::new().set_size(11));
    // Bars lie: the x axis is the one of values. It begins at 0, or lengths would not compare.
    let mut lines = ChartLine::new();
    lines.set_color(Color::RGB(LINES)).set_width(0.75);
    chart.x_axis().set_min(0).set_num_format("#,##0").set_major_gridlines_line(&lines);
    chart.y_axis().set_name("rank").set_reverse().set_crossing(ChartAxisCrossing::Max);
    chart.legend().set_position(ChartLegendPosition::Bottom);
    chart.set_width(660).set_height(height);
    chart
}
