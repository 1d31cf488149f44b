//! The plan of a folder of parts: made once, by whoever comes first, and kept to by everybody after that.
//!
//! Who names traces makes a plan of them, which has to be the one that is there. Who names none goes by the one that is there, or by one that is
//! copied from elsewhere, and lists nothing. Refuses to change a plan: other inputs or rules want another folder.

use std::path::{Path, PathBuf};

use rankscope_job::Rules;
use rankscope_run::{Outputs, PARTS_PLAN, is_file};

use crate::division::Division;
use crate::error::PartsFault;
use crate::parts_folder::{MapRequest, read_plan, read_plan_of, write_json};
use crate::plan::Plan;
use crate::{Error, Mapping};

/// A plan that lies in its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frozen {
    /// Its file.
    pub path: PathBuf,
    /// What it comes to.
    pub division: Division,
    /// Where to stand so that its relative paths lead to the inputs, where that is not here.
    pub elsewhere: Option<PathBuf>,
}

/// Freezes what the paths of `request` mean and its rules as the plan of its folder of parts, or finds the same one there.
///
/// # Errors
/// [`Error::Parts`] where the folder has another plan, and what looking for inputs fails with.
pub fn freeze(request: &MapRequest) -> Result<Frozen, Error> {
    Ok(frozen(planned(request)?, &request.parts))
}

/// The plan of the folder `parts`.
///
/// # Errors
/// [`Error::Parts`] where it has none, none that can be read, or one whose paths start where this machine has nothing.
pub fn frozen_plan(parts: &Path) -> Result<Frozen, Error> {
    let frozen = frozen(plan_there(parts)?, parts);
    match frozen.elsewhere {
        Some(folder) if !folder.is_dir() => {
            Err(Error::Parts { path: parts.to_owned(), fault: PartsFault::Elsewhere { folder } })
        }
        _ => Ok(frozen),
    }
}

/// Freezes the plan in `source`, a file or a folder of parts that may be out of reach for whoever writes, as that of the folder `parts`.
///
/// # Errors
/// [`Error::Parts`] where that has another plan, or `source` none that can be read.
pub fn freeze_again(source: &Path, parts: &Path) -> Result<(), Error> {
    // A web server answers for folders as well as for files, with pages.
    let is_file_name = source.extension().is_some_and(|suffix| suffix == "json");
    let path = if is_file_name { source.to_owned() } else { source.join(PARTS_PLAN) };
    if !is_file(&path)? {
        return Err(Error::Parts { path, fault: PartsFault::NoPlan { folder: parts.to_owned() } });
    }
    freeze_in(parts, &read_plan(&path)?)
}

fn frozen(plan: Plan, parts: &Path) -> Frozen {
    let elsewhere = plan.elsewhere().map(Path::to_owned);
    Frozen { path: parts.join(PARTS_PLAN), division: plan.division(), elsewhere }
}

/// The plan that `request` goes by.
pub(crate) fn planned(request: &MapRequest) -> Result<Plan, Error> {
    let path = request.parts.join(PARTS_PLAN);
    let other = |fault| Error::Parts { path: path.clone(), fault };
    if request.paths.is_empty() {
        let plan = plan_there(&request.parts)?;
        // The usual rules are asked for by whoever asks for none.
        let (wanted, rules) = (&request.mapping.rules, plan.rules());
        if *wanted != rules && *wanted != Rules::default().with_answers(true) {
            return Err(other(PartsFault::OtherPlan));
        }
        let has_clocks = request.clocks.is_none() || request.clocks == plan.clocks;
        return if has_clocks { Ok(plan) } else { Err(other(PartsFault::OtherPlan)) };
    }
    let plan = Plan::of(&request.paths, request.clocks.as_deref(), &request.mapping.rules)?;
    freeze_in(&request.parts, &plan)?;
    Ok(plan)
}

/// Writes `plan` into the folder `parts`, unless it is the one that is there.
fn freeze_in(parts: &Path, plan: &Plan) -> Result<(), Error> {
    let path = parts.join(PARTS_PLAN);
    // Makes the folder, or says what keeps it from being one, before anything is read.
    Outputs::among_many(parts)?;
    if !is_file(&path)? {
        write_json(&path, plan)?;
    }
    // Of two that wrote at the same time one counts; both are held against it.
    let there = read_plan_of(parts)?;
    if there.is_as(plan) { Ok(()) } else { Err(Error::Parts { path, fault: PartsFault::OtherPlan }) }
}

fn plan_there(parts: &Path) -> Result<Plan, Error> {
    if !is_file(&parts.join(PARTS_PLAN))? {
        return Err(Error::Parts { path: parts.to_owned(), fault: PartsFault::NoPlan { folder: parts.to_owned() } });
    }
    read_plan_of(parts)
}

/// How traces become parts by the rules of `plan`, and otherwise as `wanted`.
pub(crate) fn mapping(plan: &Plan, wanted: &Mapping) -> Mapping {
    Mapping { rules: plan.rules(), reading: plan.reading(), ..wanted.clone() }
}
