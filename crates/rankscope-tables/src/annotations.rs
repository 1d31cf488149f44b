//! What the user or a library named: ranges on the host, their shadows on devices, and the device work launched inside them.
//!
//! A range of the host has the work of every call within it on its own thread. Backward passes of PyTorch launch from a thread of
//! their own, so they are in no range around `backward()`.

use rankscope_analyze::Side;
use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::attribution::dur_ns;
use crate::rows::join_rows;
use crate::{Attribution, Spread};

/// All annotations of one name on one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnotationRow {
    /// Where they are.
    #[serde(with = "crate::stored::StoredSide")]
    pub side: Side,
    /// The name.
    pub name: String,
    /// How long they took.
    pub time: Spread,
    /// Sum of the lengths of the device work launched inside them, in nanoseconds; none on devices.
    pub kernel_ns: Option<i64>,
}

/// The annotations of `trace`, those of devices first, those that took longest in all first.
pub fn annotations(trace: &Trace, attribution: &Attribution) -> Vec<AnnotationRow> {
    let mut rows: FxHashMap<(CategoryKind, StrId), AnnotationRow> = FxHashMap::default();
    for span in trace.spans.ids() {
        let kind = trace.kind(span);
        let Some(side) = side(kind) else { continue };
        let name = trace.spans.name[span.0 as usize];
        let row = rows.entry((kind, name)).or_insert_with(|| AnnotationRow {
            side,
            name: trace.strings.text(name).to_owned(),
            time: Spread::default(),
            kernel_ns: (side == Side::Host).then_some(0),
        });
        row.time.add(dur_ns(trace, span));
    }
    let mut names = Vec::new();
    for one in &attribution.work {
        let Some(inside) = one.launch.or(one.owner.span()) else { continue };
        names_around(trace, attribution, inside, &mut names);
        for name in &names {
            if let Some(kernel_ns) = rows.get_mut(&(CategoryKind::UserAnnotation, *name)).and_then(|row| row.kernel_ns.as_mut())
            {
                *kernel_ns = kernel_ns.saturating_add(dur_ns(trace, one.work));
            }
        }
    }
    let mut rows: Vec<AnnotationRow> = rows.into_values().collect();
    sort(&mut rows);
    rows
}

fn side(kind: CategoryKind) -> Option<Side> {
    match kind {
        CategoryKind::UserAnnotation => Some(Side::Host),
        CategoryKind::GpuUserAnnotation => Some(Side::Device),
        _ => None,
    }
}

/// The names of the annotations around `span`, each once: one may lie in another of its name.
fn names_around(trace: &Trace, attribution: &Attribution, span: SpanId, names: &mut Vec<StrId>) {
    names.clear();
    for around in attribution.around(span).filter(|around| trace.kind(*around) == CategoryKind::UserAnnotation) {
        let name = trace.spans.name[around.0 as usize];
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

/// Adds the rows of a later export of the same rank.
pub(crate) fn join(rows: &mut Vec<AnnotationRow>, later: Vec<AnnotationRow>) {
    join_rows(
        rows,
        later,
        |row| (row.side == Side::Device, row.name.clone()),
        |row, more| {
            row.time.join(more.time);
            row.kernel_ns = row.kernel_ns.zip(more.kernel_ns).map(|(own, more)| own.saturating_add(more));
        },
    );
    sort(rows);
}

fn sort(rows: &mut [AnnotationRow]) {
    rows.sort_by(|a, b| (a.side, b.time.sum_ns, &a.name).cmp(&(b.side, a.time.sum_ns, &b.name)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn work_is_of_every_annotation_around_its_launch_once() {
        let mut made = Made::default();
        made.annotation("step", 0, 100);
        made.annotation("forward", 10, 50);
        made.annotation("forward", 20, 20);
        made.operator("aten::mm", 25, 10);
        made.launch("cudaLaunchKernel", 26, 5, 1);
        made.launch("cudaLaunchKernel", 70, 5, 2);
        made.launch("cudaLaunchKernel", 110, 5, 3);
        made.kernel("gemm", 7, 200, 7, 1);
        made.kernel("gemm", 7, 300, 11, 2);
        made.kernel("gemm", 7, 400, 13, 3);
        made.on_device("gpu_user_annotation", "forward", 7, 200, 7, 0);
        let rows = annotations(&made.trace, &Attribution::of(&made.trace));
        let row = |row: &AnnotationRow| (row.side, row.name.clone(), row.time.count, row.time.sum_ns, row.kernel_ns);
        let rows: Vec<_> = rows.iter().map(row).collect();
        assert_eq!(
            rows,
            [
                (Side::Device, "forward".to_owned(), 1, 7_000, None),
                (Side::Host, "step".to_owned(), 1, 100_000, Some(18_000)),
                (Side::Host, "forward".to_owned(), 2, 70_000, Some(7_000)),
            ]
        );
    }
}
