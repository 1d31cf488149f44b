//! [`Rules`]: what a part was made by. Parts made by different rules are never judged together.

use rankscope_analyze::{ClassMode, Classes};
use rankscope_collectives::{CommPatterns, PatternError};

/// Version of the accounting. It changes whenever a part of the same trace would come out different.
pub const ACCOUNTING: u32 = 2;

/// How traces are reduced to parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Version of the accounting, [`ACCOUNTING`].
    pub accounting: u32,
    /// Whose classes of work.
    pub classes: ClassMode,
    /// A user's patterns of kernels that communicate.
    pub patterns: Vec<String>,
    /// Whether only device work, launches and annotations were read.
    pub devices_only: bool,
    /// Whether each trace is also checked for what validation asks, which takes reading all of its arguments.
    pub checks: bool,
    /// Whether tables of operators and kernels are made of each trace, which takes reading all of its arguments, too.
    pub tables: bool,
    /// Whether each trace's execution graph is made, out of which is answered why ranks are late and what would help.
    pub answers: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            accounting: ACCOUNTING,
            classes: ClassMode::Default,
            patterns: Vec::new(),
            devices_only: false,
            checks: false,
            tables: false,
            answers: false,
        }
    }
}

impl Rules {
    /// The rules of `classes`, with a user's `patterns`, of traces read whole or of `devices_only`.
    pub fn new(classes: ClassMode, patterns: Vec<String>, devices_only: bool) -> Self {
        Self { classes, patterns, devices_only, ..Self::default() }
    }

    /// The same with the checks of validation.
    pub fn with_checks(self, checks: bool) -> Self {
        Self { checks, ..self }
    }

    /// The same with tables of operators and kernels.
    pub fn with_tables(self, tables: bool) -> Self {
        Self { tables, ..self }
    }

    /// The same with execution graphs.
    pub fn with_answers(self, answers: bool) -> Self {
        Self { answers, ..self }
    }

    /// Whether traces must be read with all their arguments.
    pub fn want_arguments(&self) -> bool {
        self.checks || self.tables
    }

    /// The same, ready to be applied.
    ///
    /// # Errors
    /// Names the first pattern that is no regular expression.
    pub fn compiled(&self) -> Result<Classes, PatternError> {
        let patterns = match self.classes {
            ClassMode::Tracelens => CommPatterns::tracelens(),
            _ => CommPatterns::with_user(&self.patterns)?,
        };
        Ok(Classes { mode: self.classes, patterns })
    }
}
