//! In which order a rank's collectives of several process groups were: which group came how many times, one after the other.

use crate::Columns;
use crate::columns::ColumnsWriter;
use crate::error::Error;

/// Writes the process group of each collective.
pub(super) fn write_order(columns: &mut ColumnsWriter, order: impl Iterator<Item = u64>) {
    let (mut groups, mut counts) = (Vec::new(), Vec::<u64>::new());
    for group in order {
        match (groups.last() == Some(&group), counts.last_mut()) {
            (true, Some(count)) => *count += 1,
            _ => {
                groups.push(group);
                counts.push(1);
            }
        }
    }
    columns.unsigned(&groups);
    columns.unsigned(&counts);
}

/// The process group of each of at most `most` collectives.
pub(super) fn read_order(columns: &mut Columns<'_>, most: u64) -> Result<Vec<usize>, Error> {
    let (groups, counts) = (columns.narrow::<usize>()?, columns.unsigned()?);
    columns.fit(groups.len(), &[counts.len()])?;
    let all = counts.iter().try_fold(0u64, |all, count| all.checked_add(*count).filter(|all| *all <= most));
    if all.is_none() {
        return Err(columns.misfit("it has more collectives than the file has room for"));
    }
    if counts.contains(&0) {
        return Err(columns.misfit("a process group came no times"));
    }
    let runs = groups.into_iter().zip(counts);
    // Each is a number of collectives, and all of them are in the file.
    Ok(runs.flat_map(|(group, count)| std::iter::repeat_n(group, count as usize)).collect())
}
