//! A snapshot of torch's memory allocator on a terminal: a table for each of its lists.

use rankscope_document::MemorySnapshotDocument;

use crate::Style;
use crate::tables::{TableView, rows};

/// `document` as text, each list with its first `top` rows.
pub fn snapshot_terminal(document: &MemorySnapshotDocument, top: usize, style: Style) -> String {
    let lists: [(&str, Option<TableView>); 5] = [
        (&document.title, rows("devices", &document.devices)),
        ("by the stack that allocated it", rows("allocated", &document.live).map(narrow)),
        ("what held it, within the recorded events", rows("peak", &document.peak).map(narrow)),
        ("of the driver", rows("segments", &document.segments)),
        ("allocations that failed", rows("failed", &document.failed)),
    ];
    let shown = lists.into_iter().filter_map(|(title, view)| view.map(|view| view.text_beside(title, top, style, "--json")));
    shown.collect::<Vec<_>>().join("\n")
}

/// Without whole stacks, which leave no width for the frames that matter.
fn narrow(mut view: TableView) -> TableView {
    if let Some(at) = view.columns.iter().position(|column| column == "stack") {
        view.columns.remove(at);
        view.rows.iter_mut().for_each(|row| drop(row.remove(at)));
    }
    view
}
