//! How cells look. Colours are those of report.html, which the colour-blind tell apart; none stands without text.

use rust_xlsxwriter::{Color, Format, FormatAlign, FormatBorder};

use crate::column::Kind;

pub(crate) const COMPUTATION: u32 = 0x00_72B2;
pub(crate) const COMMUNICATION: u32 = 0xE6_9F00;
pub(crate) const COPIES: u32 = 0xC5_66A0;
pub(crate) const IDLE: u32 = 0xD4_D8DD;
pub(crate) const INK: u32 = 0x17_1B21;
pub(crate) const HEADER: u32 = 0xE9_EEF4;
pub(crate) const MUTED: u32 = 0x5B_6470;
/// Lines between rows.
pub(crate) const LINES: u32 = 0xD4_D8DD;
/// Bars behind numbers.
pub(crate) const BAR: u32 = 0x9C_C9E8;

/// Behind the labels of sentences, by how much they matter; the label says it, too.
pub(crate) const FINDING: u32 = 0xD5_E8F4;
pub(crate) const CAUTION: u32 = 0xFB_ECCC;
pub(crate) const PROBLEM: u32 = 0xF3_E0EC;

/// Behind verdicts: blue and orange are told apart by all, and the word says it, too.
const GOOD: u32 = 0xCF_E6_F5;
const BAD: u32 = 0xF9_DC_B0;
const SAME: u32 = 0xE9_EEF4;

/// The colour behind the word of a verdict. It depends on the word alone, never on what else is in the column.
fn behind(verdict: &str) -> Option<u32> {
    match verdict {
        "improved" | "Better" => Some(GOOD),
        "regressed" | "Worse" => Some(BAD),
        "equivalent" | "Similar" => Some(SAME),
        _ => None,
    }
}

/// The formats of cells, made once.
pub(crate) struct Styles {
    text: Format,
    quoted: Format,
    id: Format,
    count: Format,
    time: Format,
    percent: Format,
    share: Format,
    rate: Format,
    /// Headers of what names something, and of text.
    header: Format,
    header_text: Format,
    /// Headers of numbers: over them, and clear of the button that filters.
    header_right: Format,
    /// Verdicts by their words.
    good: Format,
    bad: Format,
    same: Format,
}

impl Styles {
    pub(crate) fn new() -> Self {
        let number = |format: &str| Format::new().set_num_format(format);
        // Not every program that opens workbooks draws the styles of tables.
        let header = Format::new()
            .set_bold()
            .set_font_color(Color::RGB(INK))
            .set_background_color(Color::RGB(HEADER))
            .set_border_bottom(FormatBorder::Thin)
            .set_border_color(Color::RGB(MUTED));
        let text = Format::new().set_align(FormatAlign::Left).set_indent(1);
        let on = |fill: u32| text.clone().set_background_color(Color::RGB(fill));
        Self {
            good: on(GOOD),
            bad: on(BAD).set_bold(),
            same: on(SAME),
            // Clear of the number before it.
            text: Format::new().set_align(FormatAlign::Left).set_indent(1),
            quoted: Format::new().set_align(FormatAlign::Left).set_indent(1).set_quote_prefix(),
            id: number("0").set_align(FormatAlign::Left),
            count: number("#,##0"),
            time: number("#,##0.000"),
            percent: number("0.00"),
            share: number("0.0%"),
            rate: number("#,##0.000"),
            header_right: header.clone().set_align(FormatAlign::Right).set_indent(2),
            header_text: header.clone().set_align(FormatAlign::Left).set_indent(1),
            header: header.set_align(FormatAlign::Left),
        }
    }

    /// The format of the header of a column of this kind.
    pub(crate) fn header(&self, kind: Kind) -> &Format {
        match kind {
            Kind::Id => &self.header,
            Kind::Text(_) | Kind::Verdict => &self.header_text,
            _ => &self.header_right,
        }
    }

    /// The format of a number of this kind.
    pub(crate) fn number(&self, kind: Kind) -> &Format {
        match kind {
            Kind::Text(_) | Kind::Verdict => &self.text,
            Kind::Id => &self.id,
            Kind::Count => &self.count,
            Kind::Ms | Kind::Us => &self.time,
            Kind::Percent | Kind::Bar => &self.percent,
            Kind::Share => &self.share,
            Kind::Rate | Kind::Giga | Kind::MiB => &self.rate,
        }
    }

    /// The format of the word of a verdict.
    pub(crate) fn verdict(&self, word: &str) -> &Format {
        match behind(word) {
            Some(GOOD) => &self.good,
            Some(BAD) => &self.bad,
            Some(_) => &self.same,
            None => &self.text,
        }
    }

    /// The format of `text`. It is text in any case; what Excel would take for a formula once somebody edits the cell is quoted.
    pub(crate) fn text(&self, text: &str) -> &Format {
        if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { &self.quoted } else { &self.text }
    }
}
