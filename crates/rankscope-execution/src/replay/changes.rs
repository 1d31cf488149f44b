//! [`Changes`]: all that a user wants to be different, of which some may be lists of values to try.

use super::Change;
use super::parse::{ChangeError, parse};

/// Changes that are made together; where one has several values, each of them is tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    given: Vec<String>,
    sets: Vec<Vec<Change>>,
}

/// So many combinations are tried at most.
pub const COMBINATIONS_MOST: usize = 1000;

impl Changes {
    /// Those of `texts`, each as [`parse`] takes it.
    ///
    /// # Errors
    /// [`ChangeError`] for the first text that is no change, or where there are too many combinations of values.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, ChangeError> {
        let sets = texts.iter().map(|text| parse(text.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let combinations = sets.iter().fold(1, |all: usize, set| all.saturating_mul(set.len()));
        if combinations > COMBINATIONS_MOST {
            return Err(ChangeError::TooMany { combinations });
        }
        Ok(Self { given: texts.iter().map(|text| text.as_ref().to_owned()).collect(), sets })
    }

    /// The texts, as they were given.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Whether any has several values.
    pub fn is_sweep(&self) -> bool {
        self.sets.iter().any(|set| set.len() > 1)
    }

    /// Each change by itself, in order.
    pub fn each(&self) -> impl Iterator<Item = &Change> {
        self.sets.iter().flatten()
    }

    /// All changes together, in every combination of their values, the last one's values first through.
    pub fn combinations(&self) -> Vec<Vec<Change>> {
        self.sets.iter().fold(vec![Vec::new()], |begun, set| {
            let with = |begun: &Vec<Change>| {
                let begun = begun.clone();
                set.iter().map(move |change| begun.iter().chain([change]).cloned().collect::<Vec<_>>())
            };
            begun.iter().flat_map(with).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(combinations: &[Vec<Change>]) -> Vec<String> {
        let text = |one: &Vec<Change>| one.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        combinations.iter().map(text).collect()
    }

    #[test]
    fn values_are_tried_in_every_combination() {
        let changes = Changes::parse(&["op:a=0.5x,2x", "overlap=perfect", "rank:1=median,0"]).unwrap();
        assert!(changes.is_sweep());
        assert_eq!(
            texts(&changes.combinations()),
            [
                "op:a=0.5x overlap=perfect rank:1=median",
                "op:a=0.5x overlap=perfect rank:1=0",
                "op:a=2x overlap=perfect rank:1=median",
                "op:a=2x overlap=perfect rank:1=0"
            ]
        );
        assert_eq!(texts(&Changes::parse::<&str>(&[]).unwrap().combinations()), [""]);
    }

    #[test]
    fn a_sweep_that_would_take_all_day_is_refused() {
        let values = format!("op:a={}", vec!["2x"; 40].join(","));
        let texts = [values.clone(), values];
        assert_eq!(Changes::parse(&texts), Err(ChangeError::TooMany { combinations: 1600 }));
    }
}
