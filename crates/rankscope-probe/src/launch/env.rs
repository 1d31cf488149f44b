//! Variables as texts and numbers. An empty variable counts as none, as shells make it hard to tell.

use super::LaunchError;

/// The environment of a process.
pub(super) struct Env<'a>(&'a dyn Fn(&str) -> Option<String>);

impl<'a> Env<'a> {
    pub(super) fn new(get: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self(get)
    }

    pub(super) fn text(&self, variable: &'static str) -> Option<String> {
        (self.0)(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    pub(super) fn number(&self, variable: &'static str) -> Result<Option<u32>, LaunchError> {
        let Some(value) = self.text(variable) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| LaunchError::NotANumber { variable, value })
    }

    pub(super) fn port(&self, variable: &'static str) -> Result<Option<u16>, LaunchError> {
        let Some(value) = self.text(variable) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| LaunchError::NotANumber { variable, value })
    }

    /// A number that must be there because `beside` is.
    pub(super) fn required(&self, variable: &'static str, beside: &'static str) -> Result<u32, LaunchError> {
        self.number(variable)?.ok_or(LaunchError::Missing { variable, beside })
    }

    /// An index and the count it is below. None where there is no index.
    pub(super) fn place_among(&self, index: &'static str, count: &'static str) -> Result<Option<(u32, u32)>, LaunchError> {
        let Some(at) = self.number(index)? else { return Ok(None) };
        let of = self.required(count, index)?;
        if at >= of {
            return Err(self.conflict(index, count, "the first is numbered from 0 and must be less than the second"));
        }
        Ok(Some((at, of)))
    }

    /// The node of a process, and how many nodes there are, where all nodes have as many processes.
    pub(super) fn node_of(
        &self,
        (rank, world): (&'static str, &'static str),
        local_world: &'static str,
    ) -> Result<Option<(u32, u32)>, LaunchError> {
        let Some((at, of)) = self.place_among(rank, world)? else { return Ok(None) };
        let each = self.number(local_world)?.unwrap_or(1);
        if each == 0 || of % each != 0 {
            return Err(self.conflict(world, local_world, "the first is not a multiple of the second"));
        }
        Ok(Some((at / each, of / each)))
    }

    pub(super) fn conflict(&self, variable: &'static str, other: &'static str, why: &'static str) -> LaunchError {
        let value = |name| self.text(name).unwrap_or_default();
        LaunchError::Conflict { variable, value: value(variable), other, other_value: value(other), why }
    }
}
