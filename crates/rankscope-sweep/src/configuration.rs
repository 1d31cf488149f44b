//! Configurations: what each sets, what it is called and where its runs lie.
//!
//! Variables and presets multiply: every value of one meets every value of the others, the last varying fastest. An empty base comes
//! before them and cases after them, each as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::definition::Asked;
use crate::error::Error;
use crate::name::directories;
use crate::variables::{Case, refuse_reserved};

/// One of the environments that a sweep compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// What it is called: its assignments, or as the user says.
    pub label: String,
    /// The folder of its runs, within that of the sweep.
    pub directory: String,
    /// What it sets, by variable.
    pub set: BTreeMap<String, String>,
}

const BASE: &str = "base";

/// What `asked` comes down to; `numbered` says that ranks are started here and get variables of their own.
///
/// # Errors
/// [`Error::NothingToVary`], [`Error::SameVariable`], [`Error::SameLabel`], [`Error::Reserved`].
pub fn configurations(asked: &Asked, numbered: bool) -> Result<Vec<Configuration>, Error> {
    let mut cases: Vec<Case> = Vec::new();
    if asked.base {
        cases.push(Case { label: BASE.to_owned(), set: BTreeMap::new() });
    }
    cases.extend(product(asked)?);
    cases.extend(asked.cases.iter().cloned());
    if cases.is_empty() {
        return Err(Error::NothingToVary);
    }
    for (at, case) in cases.iter().enumerate() {
        case.set.keys().try_for_each(|name| refuse_reserved(name, numbered))?;
        if cases[..at].iter().any(|other| other.label == case.label) {
            return Err(Error::SameLabel { label: case.label.clone() });
        }
    }
    let names = directories(cases.iter().map(|case| case.label.as_str()));
    let with_name = |(case, directory): (Case, String)| Configuration { label: case.label, directory, set: case.set };
    Ok(cases.into_iter().zip(names).map(with_name).collect())
}

/// Every value of one factor with every value of the others; nothing where there is no factor.
fn product(asked: &Asked) -> Result<Vec<Case>, Error> {
    let factors = asked.presets.iter().map(|preset| preset.cases.clone()).chain(asked.variables.iter().map(|variable| {
        let one = |value: &String| Case {
            label: format!("{}={value}", variable.name),
            set: [(variable.name.clone(), value.clone())].into(),
        };
        variable.values.iter().map(one).collect()
    }));
    let mut made: Option<Vec<Case>> = None;
    for factor in factors {
        made = Some(match made {
            None => factor,
            Some(before) => multiplied(&before, &factor)?,
        });
    }
    Ok(made.unwrap_or_default())
}

fn multiplied(before: &[Case], factor: &[Case]) -> Result<Vec<Case>, Error> {
    let pairs = before.iter().flat_map(|case| factor.iter().map(move |value| (case, value)));
    pairs.map(|(case, value)| joined(case, value)).collect()
}

fn joined(case: &Case, value: &Case) -> Result<Case, Error> {
    let mut set = case.set.clone();
    for (name, value) in &value.set {
        if set.insert(name.clone(), value.clone()).is_some() {
            return Err(Error::SameVariable { name: name.clone() });
        }
    }
    Ok(Case { label: format!("{},{}", case.label, value.label), set })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(base: bool, variables: &[&str], presets: &[&str], cases: &[&str]) -> Asked {
        Asked {
            base,
            variables: variables.iter().map(|text| text.parse().unwrap()).collect(),
            presets: presets.iter().map(|text| text.parse().unwrap()).collect(),
            cases: cases.iter().map(|text| text.parse().unwrap()).collect(),
        }
    }

    fn labels(asked: &Asked) -> Vec<String> {
        configurations(asked, false).unwrap().into_iter().map(|configuration| configuration.label).collect()
    }

    #[test]
    fn every_value_meets_every_other() {
        assert_eq!(labels(&asked(false, &["A=4,8", "B=x,y"], &[], &[])), ["A=4,B=x", "A=4,B=y", "A=8,B=x", "A=8,B=y"]);
        let all = asked(true, &["A=1,2"], &["rccl-warp-speed:56x256,37x384"], &["odd:B=/x y", "none:"]);
        let expected =
            ["base", "56cu_256threads,A=1", "56cu_256threads,A=2", "37cu_384threads,A=1", "37cu_384threads,A=2", "odd", "none"];
        assert_eq!(labels(&all), expected);
        let made = configurations(&all, false).unwrap();
        assert_eq!((made[0].set.len(), made[1].set.len(), made[5].set.len()), (0, 6, 1));
        assert_eq!(made[1].directory, "56cu_256threads+A-1");
    }

    #[test]
    fn what_means_two_things_is_refused() {
        let of = |asked: &Asked| configurations(asked, true).unwrap_err();
        assert_eq!(of(&asked(false, &[], &[], &[])), Error::NothingToVary);
        assert!(matches!(of(&asked(false, &["A=1", "A=2"], &[], &[])), Error::SameVariable { .. }));
        let twice = asked(false, &["HSA_ENABLE_SDMA=1"], &["rccl-warp-speed:56x256"], &[]);
        assert!(matches!(of(&twice), Error::SameVariable { .. }));
        assert!(matches!(of(&asked(true, &[], &[], &["base:A=1"])), Error::SameLabel { .. }));
        assert!(matches!(of(&asked(false, &["RANKSCOPE_RUN_DIR=x"], &[], &[])), Error::Reserved { .. }));
        assert!(matches!(of(&asked(false, &["WORLD_SIZE=2"], &[], &[])), Error::Reserved { .. }));
        assert!(configurations(&asked(false, &["WORLD_SIZE=2"], &[], &[]), false).is_ok(), "a job of its own may be told so");
    }
}
