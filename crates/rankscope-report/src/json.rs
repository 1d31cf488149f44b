//! `report.json`: the document as text.

mod indented;

use std::io;

use rankscope_document::{CompareDocument, Document, HistoryDocument};
use serde::Serialize;
use serde_json::Serializer;

use self::indented::Indented;

/// White space of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Indented, for people and for line-wise diffs.
    Pretty,
    /// One line, for programs.
    Compact,
}

/// The document as JSON, schema 1. A rate that is not finite becomes `null`, as absent ones do.
pub fn json(document: &Document, layout: Layout) -> String {
    let text = match layout {
        Layout::Pretty => serde_json::to_string_pretty(document),
        Layout::Compact => serde_json::to_string(document),
    };
    text.expect("every map of a document is keyed by a string or a number, and a String takes any write")
}

/// The same, written to `to` piece by piece: the text of a large job is several times as long as its document.
///
/// # Errors
/// Those of `to`.
pub fn write_json(document: &Document, layout: Layout, to: impl io::Write) -> io::Result<()> {
    let mut pieces = Pieces { to, piece: Vec::with_capacity(2 * PIECE_BYTES) };
    match layout {
        Layout::Pretty => document.serialize(&mut Serializer::with_formatter(&mut pieces, Indented::default()))?,
        Layout::Compact => serde_json::to_writer(&mut pieces, document)?,
    }
    pieces.hand_over()
}

/// Gathers the many small writes of a document to few large ones.
struct Pieces<W> {
    to: W,
    piece: Vec<u8>,
}

const PIECE_BYTES: usize = 1 << 16;

impl<W: io::Write> Pieces<W> {
    fn hand_over(&mut self) -> io::Result<()> {
        self.to.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }
}

impl<W: io::Write> io::Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() < PIECE_BYTES { Ok(()) } else { self.hand_over() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_over()?;
        self.to.flush()
    }
}

/// `compare.json`: the comparison as indented JSON, written to `to`.
///
/// # Errors
/// Those of `to`.
pub fn write_comparison(document: &CompareDocument, to: impl io::Write) -> io::Result<()> {
    Ok(serde_json::to_writer_pretty(to, document)?)
}

/// `history.json`: the history as JSON on one line, as its values are many; written to `to`.
///
/// # Errors
/// Those of `to`.
pub fn write_history(document: &HistoryDocument, to: impl io::Write) -> io::Result<()> {
    Ok(serde_json::to_writer(to, document)?)
}
