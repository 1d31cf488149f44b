//! The keys and the columns, in words.

use crate::draw::Line;
use crate::state::Top;

impl Top {
    pub(crate) fn help_lines(&self) -> Vec<Line> {
        HELP.iter().map(|line| ((*line).to_owned(), self.paint.plain())).collect()
    }
}

/// Fits into 80 columns and 24 lines with what is around it.
const HELP: &[&str] = &[
    "Tab 1-5   another view: ranks, groups, collectives, nodes, links",
    "↑↓ j k    select a row; PgUp PgDn Home End too; or click and turn the wheel",
    "Enter     one rank; of a host its ranks; of a collective who is mostly last",
    "< > r     sort by the column before or behind, in the other order; or click",
    "/         only rows with these words: rank 3, a host, a group, an operation",
    "p         stop and go on; in a replay . and , show the next step and the",
    "          one before, + and - change the speed",
    "",
    "late by   what the rank's own work makes it come later than the middle rank",
    "clocks    how far clocks may put that off: nobody is late by less",
    "caused    what all others together waited for this rank alone",
    "inside    the part of a step that it is in collectives",
    "exposed   the part in communication not overlapped by compute",
    "moved     how long ago it did anything",
    "wait      from the first rank's arrival to the last one's",
];
