//! The Python that `python3` starts, and what of it matters here. Nothing is imported, so that no GPU is touched and nothing takes long.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;

/// A Python.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Python {
    /// Its path.
    pub path: String,
    /// Its version.
    pub version: String,
    /// Versions of packages that are installed, of those that were asked for.
    pub packages: BTreeMap<String, String>,
}

const SCRIPT: &str = r#"
import importlib.metadata as m, json, platform, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = m.version(name)
    except Exception:
        pass
print(json.dumps({"path": sys.executable, "version": platform.python_version(), "packages": found}))
"#;

/// What is asked for.
const PACKAGES: [&str; 6] = ["torch", "jax", "rankscope", "ray", "nvidia-nccl-cu13", "nvidia-nccl-cu12"];

/// How long it may take.
const WITHIN: Duration = Duration::from_secs(10);

/// Asks `python3`; why not, where there is none.
pub(crate) fn ask() -> Result<Python, String> {
    let mut command = Command::new("python3");
    command.args(["-I", "-c", SCRIPT]).args(PACKAGES).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let said = answer(&mut command, WITHIN)?;
    serde_json::from_str(&said).map_err(|error| format!("it does not answer: {error}"))
}

/// What a process prints, that has so long for it.
pub(crate) fn answer(command: &mut Command, within: Duration) -> Result<String, String> {
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + within;
    // What is printed fits into a pipe, so that the process does not wait for us to read it.
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _gone = child.kill().and_then(|()| child.wait());
                return Err(format!("no answer within {} s", within.as_secs()));
            }
            None => sleep(Duration::from_millis(5)),
        }
    };
    let mut said = String::new();
    let mut printed = child.stdout.take().into_iter();
    printed.try_for_each(|mut out| out.read_to_string(&mut said).map(|_| ())).map_err(|error| error.to_string())?;
    if status.success() { Ok(said) } else { Err(format!("it ended with {status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_killed_or_takes_too_long_is_told_from_one_that_answers() {
        let sh = |script: &str, within: u64| {
            let mut command = Command::new("sh");
            answer(command.args(["-c", script]).stdout(Stdio::piped()), Duration::from_millis(within))
        };
        assert_eq!(sh("echo yes", 10_000), Ok("yes\n".to_owned()));
        assert!(sh("kill -SEGV $$", 10_000).unwrap_err().contains("signal: 11"));
        assert!(sh("exec sleep 60", 1).unwrap_err().contains("no answer"));
    }
}
