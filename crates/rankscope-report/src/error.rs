//! What can go wrong while drawing: only our own templates.

/// Why a page could not be drawn. No document causes this; it is a defect of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The page's template does not render.
    #[error("render the html template")]
    Template(#[from] minijinja::Error),
}
