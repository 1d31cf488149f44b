//! The last moments of a run, of all its nodes, for whoever asks by hand and sees a directory of it: the process of `rankscope run` there is asked,
//! because it alone reaches the others. Where there is none, or it has no nodes to ask, what the directory has is all there is.

use std::path::PathBuf;
use std::time::Duration;

use super::desk::{self, NoAnswer, Request};
use super::post::Answer;
use super::{FOLDER, Incident, IncidentError, IncidentRequest, keep_incident};
use crate::together::milliseconds;

/// Who kept what.
#[derive(Debug)]
pub enum AllKept {
    /// This process, what the directory has.
    OfDirectory {
        /// That.
        incident: Incident,
        /// Why other nodes could not be asked, if there are any.
        others: Option<String>,
    },
    /// `rankscope run`, of all nodes, in this directory.
    OfNodes {
        /// The run directory that it is. It is not reported on yet.
        folder: PathBuf,
        /// What is not in it, a sentence each.
        lacks: Vec<String>,
    },
    /// The same, on another host, where it is reported on.
    OnFirstNode {
        /// That.
        host: String,
        /// The folder there.
        folder: PathBuf,
        /// What its report says first.
        summary: String,
        /// What is not in it.
        lacks: Vec<String>,
    },
}

/// How long `rankscope run` may take to have all nodes keep their ends and send them, and to report.
const ANSWERED_WITHIN: Duration = Duration::from_secs(330);

/// Keeps what `request` says, of all nodes of the run.
///
/// # Errors
/// [`IncidentError`], as [`keep_incident`].
pub fn keep_all(request: &IncidentRequest) -> Result<AllKept, IncidentError> {
    let here = |others| Ok(AllKept::OfDirectory { incident: keep_incident(request)?, others });
    if !desk::who_looks(&request.run).is_some_and(|about| about.asks_nodes) {
        return here(None);
    }
    let asked = Request { because: request.because.clone(), last_ms: Some(milliseconds(request.last)) };
    match desk::ask(&request.run, &asked, ANSWERED_WITHIN) {
        Ok(answer) => understood(answer, request),
        Err(NoAnswer::NobodyLooks) => here(None),
        Err(error) => here(Some(error.to_string())),
    }
}

fn understood(answer: Answer, request: &IncidentRequest) -> Result<AllKept, IncidentError> {
    let run = &request.run;
    let not_kept = |problem: Option<String>| {
        let problem = problem.unwrap_or_else(|| "rankscope run does not say where it kept anything".to_owned());
        IncidentError::NotKept { run: run.clone(), problem }
    };
    let Answer { host, folder, is_elsewhere, summary, lacks, problem } = answer;
    let Some(folder) = folder.filter(|_| problem.is_none()) else { return Err(not_kept(problem)) };
    if is_elsewhere {
        return Ok(AllKept::OnFirstNode { host, folder, summary: summary.unwrap_or_default(), lacks });
    }
    // The directory may have another path here.
    let name = folder.file_name().ok_or_else(|| not_kept(None))?;
    Ok(AllKept::OfNodes { folder: run.join(FOLDER).join(name), lacks })
}

#[cfg(test)]
mod tests {
    use super::super::Whose;
    use super::*;

    fn request() -> IncidentRequest {
        IncidentRequest {
            run: "/mnt/runs/a".into(),
            last: Duration::from_secs(60),
            because: "asked for by hand".to_owned(),
            whose: Whose::Run,
        }
    }

    #[test]
    fn an_incident_lies_where_who_asks_sees_the_run() {
        let answer = Answer::kept("/runs/a/incidents/20261128-101500".as_ref(), vec!["node 3".to_owned()]);
        let kept = understood(answer.clone(), &request()).unwrap();
        let AllKept::OfNodes { folder, lacks } = kept else { panic!("{kept:?}") };
        assert_eq!((folder, lacks), ("/mnt/runs/a/incidents/20261128-101500".into(), vec!["node 3".to_owned()]));
        let there = understood(Answer { is_elsewhere: true, host: "b".to_owned(), ..answer }, &request()).unwrap();
        let AllKept::OnFirstNode { host, folder, .. } = there else { panic!("{there:?}") };
        assert_eq!((host.as_str(), folder), ("b", "/runs/a/incidents/20261128-101500".into()));
    }

    #[test]
    fn what_could_not_be_kept_is_an_error_with_the_reason() {
        let error = understood(Answer::none("the disk is full"), &request()).unwrap_err();
        assert_eq!(error.to_string(), "/mnt/runs/a: the disk is full");
        assert!(understood(Answer::default(), &request()).is_err());
    }
}
