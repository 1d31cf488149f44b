//! What did not come back as it was sent, when tensors are moved there and back.

use thiserror::Error;

/// An element of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    rank: usize,
    token: usize,
    element: usize,
}

impl Element {
    /// The one at `at` of the rank's tensor, whose rows have `hidden` elements.
    pub(super) fn new(rank: usize, at: usize, hidden: usize) -> Self {
        Self { rank, token: at / hidden, element: at % hidden }
    }
}

/// The first thing that went wrong.
#[derive(Debug, Error)]
pub(super) enum Mismatch {
    /// Metadata of another job.
    #[error("metadata of {metadata} ranks for {tensors}")]
    Ranks { metadata: usize, tensors: usize },
    /// An offset that no buffer reaches.
    #[error("an offset is beyond every buffer")]
    BeyondBuffers,
    /// The way there cannot be executed.
    #[error("there: {0}")]
    There(#[source] rankscope_dispatch::Error),
    /// The way back cannot be executed.
    #[error("back: {0}")]
    Back(#[source] rankscope_dispatch::Error),
    /// Another value.
    #[error("rank {}, token {}, element {}: {sent} came back as {found}", at.rank, at.token, at.element)]
    Value { at: Element, sent: f32, found: f32 },
    /// Another value in one of the planes.
    #[error("rank {}, token {}, element {}: {sent} came back as {found} in plane {plane}", at.rank, at.token, at.element)]
    Plane { at: Element, sent: f32, found: f32, plane: usize },
    /// Nothing in any plane.
    #[error("rank {}, token {}, element {}: no plane came back", at.rank, at.token, at.element)]
    NoPlane { at: Element },
}
