//! Why a dump could not be read.

/// Why a dump could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing.
    #[error("the file is empty: its rank was killed before it wrote, or while it did")]
    Empty,
    /// It is neither of the two forms.
    #[error("neither a pickle nor JSON, so not a dump of torch's flight recorder")]
    NeitherForm,
    /// It is JSON or a pickle of something else.
    #[error("no dump of torch's flight recorder: it has neither version nor calls")]
    Other,
    /// The pickle cannot be read.
    #[error(transparent)]
    Pickle(#[from] rankscope_pickle::Error),
    /// The pickle holds something else.
    #[error("not a dump of torch's flight recorder: {0}")]
    Pickled(#[from] crate::pickled::Unfit),
    /// The JSON cannot be read, or holds something else.
    #[error("not a dump of torch's flight recorder: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// Whether the file is something else, and not a dump that is damaged.
    pub const fn is_no_dump(&self) -> bool {
        matches!(self, Self::NeitherForm | Self::Other)
    }
}
