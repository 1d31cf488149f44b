//! Which rows a screen has room for.

/// Rows sorted worst first, cut to the worst and the best when there are many.
pub(super) struct Selection<'a, T> {
    pub(super) worst: &'a [T],
    pub(super) best: &'a [T],
    pub(super) hidden: usize,
}

/// Everything up to [`ALL`] rows; beyond, the worst [`WORST`] and the best [`BEST`].
pub(super) fn select<T>(rows: &[T]) -> Selection<'_, T> {
    if rows.len() <= ALL {
        return Selection { worst: rows, best: &[], hidden: 0 };
    }
    let hidden = rows.len() - WORST - BEST;
    Selection { worst: &rows[..WORST], best: &rows[WORST + hidden..], hidden }
}

/// Two nodes of eight: the largest job whose every rank is worth a line.
pub(super) const ALL: usize = 16;
const WORST: usize = 8;
const BEST: usize = 2;
