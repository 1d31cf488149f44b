//! The program that has the verbs: agents, reports and ties to this process are processes of its own. The one place that knows how
//! its command line is written.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::error::Error;
use crate::watcher::Watching;

/// The `rankscope` program: the words that start it, of which the first is a path.
#[derive(Clone, Debug)]
pub struct Executable(Vec<OsString>);

/// How this process says that it is started, where its executable does not.
static SAID: OnceLock<Vec<OsString>> = OnceLock::new();

impl Executable {
    /// From now on this process's own is what `words` start, because its executable is another program that carries this one: Python, of
    /// which the command is a script. What is said first, holds; no words say nothing.
    pub fn is_started_by(words: Vec<OsString>) {
        if !words.is_empty() {
            SAID.get_or_init(|| words);
        }
    }

    /// This process's own.
    ///
    /// # Errors
    /// [`Error::NoExecutable`] where the system does not tell.
    pub fn own() -> Result<Self, Error> {
        match SAID.get() {
            Some(words) => Ok(Self(words.clone())),
            None => std::env::current_exe().map(|path| Self(vec![path.into()])).map_err(Error::NoExecutable),
        }
    }

    /// Where what is executed lies.
    pub fn path(&self) -> &Path {
        Path::new(&self.0[0])
    }

    /// A process of it, whose words follow.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]);
        command
    }

    /// A process of it that becomes the command whose words follow, and ends with this process however that ends.
    pub fn tied(&self) -> Command {
        let mut command = self.command();
        command.args(tie_words());
        command
    }

    /// The same of this program itself, which `program` starts elsewhere, as `ip netns exec` does: it ends with [`path`](Self::path). Its own
    /// words follow.
    pub fn tied_by(&self, mut program: Command) -> Command {
        program.args(&self.0[1..]).args(tie_words()).args(&self.0);
        program
    }

    /// The words of a process that reports on the run directory `run`, into it.
    pub(crate) fn report(&self, run: &Path) -> Vec<OsString> {
        self.with(["report".into(), run.into(), "--partial".into()])
    }

    /// The words of a process that judges a job that stands still, by what `evidence` names.
    pub(crate) fn hang(&self, evidence: &[OsString]) -> Vec<OsString> {
        self.with(std::iter::once("hang".into()).chain(evidence.iter().cloned()))
    }

    /// The words of a process that says what NCCL's RAS service at `address` tells of a job, and judges it once a process was given up.
    pub(crate) fn follow(&self, address: &str) -> Vec<OsString> {
        let ras = format!("--ras={address}");
        self.with(["hang", &ras, "--follow", "--ask-later", "--format", "json"].map(OsString::from))
    }

    /// The words of a process that watches the job in the run directory `run` until it is ended, as `watching` says.
    pub(crate) fn watch(&self, run: &Path, watching: &Watching) -> Vec<OsString> {
        let told = [("--exec", &watching.exec), ("--metrics-otlp", &watching.metrics_otlp)];
        let told = told.into_iter().filter_map(|(option, value)| Some([option.into(), value.as_ref()?.into()])).flatten();
        self.with(["watch".into(), run.into(), "--wait".into(), "10years".into()].into_iter().chain(told))
    }

    /// The words of a process that keeps the last `last` of the run directory `run`, reports on it, and says so in JSON.
    pub(crate) fn keep_last(&self, run: &Path, last: Duration, because: &str) -> Vec<OsString> {
        let last = format!("{}ms", last.as_millis());
        let options = ["--last", &last, "--because", because, "--format", "json"].map(OsString::from);
        self.with(["trigger".into(), run.into()].into_iter().chain(options))
    }

    /// The words of one that keeps as much and does not report on it yet.
    pub(crate) fn keep_only(&self, run: &Path, last: Duration, because: &str) -> Vec<OsString> {
        self.keep_last(run, last, because).into_iter().chain(["--only".into(), "keep".into()]).collect()
    }

    /// The same of a node in whose directory `run` no manifest is.
    pub(crate) fn keep_of_node(&self, run: &Path, last: Duration, because: &str) -> Vec<OsString> {
        self.keep_last(run, last, because).into_iter().chain(["--only".into(), "keep-of-node".into()]).collect()
    }

    /// The words of a process that reports on an incident that was kept in `folder`, and says so in JSON.
    pub(crate) fn report_incident(&self, folder: &Path) -> Vec<OsString> {
        // How much was kept is over and done with.
        self.keep_last(folder, Duration::ZERO, "").into_iter().chain(["--only".into(), "report".into()]).collect()
    }

    /// The words of a process that samples its node's counters into `folder`.
    pub(crate) fn counters(&self, folder: &Path, hz: u32) -> Vec<OsString> {
        self.with(["counters".into(), folder.into(), "--hz".into(), hz.to_string().into()])
    }

    /// The words of a process that is an agent.
    pub(crate) fn agent(&self) -> Vec<OsString> {
        self.with(["agent".into()])
    }

    fn with(&self, words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        self.0.iter().cloned().chain(words).collect()
    }
}

/// The last line of what a process of it `said`, without its name; none where it said nothing.
pub(crate) fn last_said(said: &str) -> Option<&str> {
    let line = said.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.strip_prefix("rankscope: ").unwrap_or(line))
}

fn tie_words() -> [String; 4] {
    ["run".to_owned(), "--tied".to_owned(), std::process::id().to_string(), "--".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_script_is_in_what_starts_it() {
        let script = Executable(["/bin/python", "start.py"].map(OsString::from).into());
        let words = |command: &Command| command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
        assert_eq!(script.tied().get_program(), "/bin/python");
        assert_eq!(
            (script.command().get_program(), words(&script.command())),
            ("/bin/python".as_ref(), vec!["start.py".to_owned()])
        );
        assert_eq!(words(&script.tied())[..3], ["start.py", "run", "--tied"]);
        let elsewhere = words(&script.tied_by(Command::new(script.path())));
        assert_eq!(elsewhere[0], "start.py");
        assert_eq!(elsewhere[elsewhere.len() - 2..], ["/bin/python", "start.py"]);
        assert_eq!(script.agent(), ["/bin/python", "start.py", "agent"]);
        let watching = Watching { exec: None, metrics_otlp: Some("http://c:4318".to_owned()) };
        let watch = script.watch("a-run".as_ref(), &watching);
        assert_eq!(watch[2..], ["watch", "a-run", "--wait", "10years", "--metrics-otlp", "http://c:4318"]);
    }
}
