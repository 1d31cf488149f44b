//! How a command ended, as the number that a shell sees. Its own type, because the standard one tells nobody its number, and who runs a
//! command inside another program, as Python does, has to pass that on.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitCode(u8);

impl ExitCode {
    /// It did what it was asked for.
    pub const SUCCESS: Self = Self(0);
    /// It failed.
    pub const FAILURE: Self = Self(1);

    /// The number that a shell sees.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl From<u8> for ExitCode {
    fn from(number: u8) -> Self {
        Self(number)
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
