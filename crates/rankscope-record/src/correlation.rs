//! Which span the work belongs to that a thread has devices do: its innermost open one, unless the program says another, such as
//! that of a thread it works for. Sources of device work ask when work is launched.

use std::cell::Cell;

use rankscope_recording::Category;

use crate::{lane, state};

/// Ids that a thread may have pushed at a time.
const DEPTH_MAX: usize = 64;

/// Pushed ids, and how many there are. Plain memory, which is there until the thread's very end.
struct Pushed {
    ids: [Cell<u64>; DEPTH_MAX],
    depth: Cell<usize>,
}

thread_local! {
    static PUSHED: Pushed = const { Pushed { ids: [const { Cell::new(0) }; DEPTH_MAX], depth: Cell::new(0) } };
}

/// From here on, device work that this thread launches belongs to the span with this correlation id, on whichever thread that is.
/// False where 64 have been pushed already: then nothing changes.
pub fn push_correlation(id: u64) -> bool {
    PUSHED.with(|pushed| {
        let depth = pushed.depth.get();
        let Some(place) = pushed.ids.get(depth) else { return false };
        place.set(id);
        pushed.depth.set(depth + 1);
        true
    })
}

/// Takes back the last push of this thread. False where there is none.
pub fn pop_correlation() -> bool {
    PUSHED.with(|pushed| {
        let less = pushed.depth.get().checked_sub(1);
        less.inspect(|depth| pushed.depth.set(*depth)).is_some()
    })
}

/// The correlation id of the span that device work of this thread belongs to at the moment; none where no span is open that is
/// recorded.
pub fn current_correlation() -> Option<u64> {
    let said = PUSHED.with(|pushed| pushed.depth.get().checked_sub(1).map(|top| pushed.ids[top].get()));
    said.filter(|id| *id != 0).or_else(|| lane::with(|lane| lane.innermost(state::epoch())))
}

/// The correlation id of the innermost range that the program named and that is open on this thread; none where no such is recorded.
/// Device work of this thread can be shown below it also where an operator of a library is open within.
///
/// ```
/// use rankscope_record::{Session, SessionOptions, current_annotation, current_correlation, record_function, record_op};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// let forward = record_function!("forward");
/// let matmul = record_op!("matmul");
/// assert_eq!(current_correlation(), matmul.correlation_id());
/// assert_eq!(current_annotation(), forward.correlation_id());
/// # drop((matmul, forward));
/// # session.stop()?;
/// # Ok(())
/// # }
/// ```
pub fn current_annotation() -> Option<u64> {
    lane::with(|lane| lane.innermost_of(state::epoch(), Category::USER_ANNOTATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_counts_until_it_is_taken_back() {
        assert!(push_correlation(7) && push_correlation(8));
        assert_eq!(current_correlation(), Some(8));
        assert!(pop_correlation());
        assert_eq!(current_correlation(), Some(7));
        assert!(pop_correlation() && !pop_correlation());
    }

    #[test]
    fn pushes_are_bounded() {
        let pushed = (1..=100).filter(|id| push_correlation(*id)).count();
        assert_eq!((pushed, current_correlation()), (DEPTH_MAX, Some(64)));
        assert_eq!((0..100).filter(|_| pop_correlation()).count(), DEPTH_MAX);
    }
}
