//! The meetings as a table for spreadsheets, with the columns the origin's validator writes: one row a collective, two columns
//! a participant, empty where one has no part in it.

use std::io::{self, Write};

use super::{Meeting, Stay};
use crate::csv::CsvText;

/// Writes `meetings` of `participants` many. Column `node_<k>` is the participant of index `k`.
///
/// # Errors
/// Only those of `out`.
pub fn write_csv(out: &mut impl Write, meetings: &[Meeting], participants: usize) -> io::Result<()> {
    write!(out, "event_idx,op_name,occurrence,start_gap_ns")?;
    for node in 0..participants {
        write!(out, ",node_{node}_corr_id,node_{node}_start_ns")?;
    }
    writeln!(out)?;
    for (at, meeting) in meetings.iter().enumerate() {
        write!(out, "{at},{},{},{}", CsvText(&meeting.op), meeting.occurrence, meeting.start_gap_ns())?;
        let mut stays = meeting.stays.iter().peekable();
        for node in 0..participants {
            match stays.next_if(|stay| stay.participant == node) {
                Some(Stay { correlation: Some(id), start_ns, .. }) => write!(out, ",{id},{start_ns}")?,
                Some(Stay { start_ns, .. }) => write!(out, ",,{start_ns}")?,
                None => write!(out, ",,")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;

    #[test]
    fn absent_participants_leave_their_cells_empty() {
        let stay =
            |participant, start_ns, correlation| Stay { participant, start_ns, end_ns: 0, uncertainty_ns: 0, correlation };
        let meeting = Meeting {
            op: "all,reduce".into(),
            group: "0".into(),
            occurrence: 3,
            stays: vec![stay(0, 10, Some(7)), stay(2, 25, None)],
            rule: None,
            verdict: Verdict::Unjudged,
        };
        let mut text = Vec::new();
        write_csv(&mut text, &[meeting], 3).unwrap();
        let text = String::from_utf8(text).unwrap();
        let header = "event_idx,op_name,occurrence,start_gap_ns,node_0_corr_id,node_0_start_ns,\
             node_1_corr_id,node_1_start_ns,node_2_corr_id,node_2_start_ns\n";
        assert_eq!(text, format!("{header}0,\"all,reduce\",3,15,7,10,,,,25\n"));
    }
}
