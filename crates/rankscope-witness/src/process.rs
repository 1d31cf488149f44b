//! Processes of this host, from outside: what `/proc` tells of them, and py-spy where it is installed.
//!
//! No process is stopped or attached to: py-spy is told not to, and shows what it saw in passing. Of a process's environment nothing is
//! kept but its rank.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Threads that are looked at, at most.
const THREADS_MAX: usize = 4_096;

/// The most of a file, or of what py-spy prints, that is taken.
const BYTES_MAX: u64 = 4 << 20;

/// Variables that tell a rank, by who sets them.
const RANKS: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The letter of its state.
    pub state: Option<char>,
    /// The function of the kernel that it sleeps in.
    pub channel: Option<String>,
}

/// What was seen of a process.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its number.
    pub pid: u32,
    /// Its rank, by its environment.
    pub rank: Option<u32>,
    /// Its name.
    pub name: String,
    /// The letter of its state; none where there is no such process.
    pub state: Option<char>,
    /// Its main thread first.
    pub threads: Vec<Thread>,
    /// Its stack in the kernel, where that may be read.
    pub kernel_stack: Vec<String>,
    /// What py-spy printed.
    pub python: Option<String>,
    /// Why it did not.
    pub no_python: Option<String>,
}

/// py-spy, where it is on the path.
pub fn py_spy() -> Option<PathBuf> {
    on_path("py-spy")
}

/// The program called `name`, where it is on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Looks at process `pid`; with `py_spy` at its Python, for as long as `within`.
pub fn look(pid: u32, py_spy: Option<&Path>, within: Duration) -> Seen {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let Some((name, state)) = named(&folder.join("stat")) else { return Seen { pid, ..Seen::default() } };
    let mut seen = Seen { pid, name, state: Some(state), rank: rank(&folder), ..Seen::default() };
    seen.threads = threads(&folder, pid);
    seen.kernel_stack = kernel_stack(&folder);
    if let Some(py_spy) = py_spy.filter(|_| is_python(&folder)) {
        match dump(py_spy, pid, within) {
            Ok(text) => seen.python = Some(text),
            Err(why) => seen.no_python = Some(why),
        }
    }
    seen
}

impl Seen {
    /// Functions of the kernel that its main thread is in, as far as they are told, the innermost first.
    pub fn kernel(&self) -> Vec<String> {
        let channel = self.threads.first().and_then(|thread| thread.channel.clone());
        if self.kernel_stack.is_empty() { channel.into_iter().collect() } else { self.kernel_stack.clone() }
    }

    /// All of it, for people.
    pub fn text(&self) -> String {
        let mut text = format!("process {} {}\n", self.pid, self.name);
        let rank = self.rank.map_or_else(|| "unknown".to_owned(), |rank| rank.to_string());
        let state = self.state.map_or_else(|| "gone".to_owned(), |state| state.to_string());
        // Writing into a string does not fail.
        let _whole = writeln!(text, "rank {rank}\nstate {state}\n\nthreads:");
        for thread in &self.threads {
            let (state, channel) = (thread.state.unwrap_or('?'), thread.channel.as_deref().unwrap_or("-"));
            let _whole = writeln!(text, "  {} {state} {channel} {}", thread.tid, thread.name);
        }
        if !self.kernel_stack.is_empty() {
            let _whole = writeln!(text, "\nkernel:\n  {}", self.kernel_stack.join("\n  "));
        }
        if let Some(why) = &self.no_python {
            let _whole = writeln!(text, "\npy-spy: {why}");
        }
        if let Some(python) = &self.python {
            let _whole = write!(text, "\n{python}");
        }
        text
    }
}

/// The name of `pid`.
pub(crate) fn name_of(pid: u32) -> Option<String> {
    named(&PathBuf::from(format!("/proc/{pid}/stat"))).map(|(name, _)| name)
}

/// For how long `pid` has been there.
pub(crate) fn age(pid: u32) -> Option<Duration> {
    let stat = read(&PathBuf::from(format!("/proc/{pid}/stat")))?;
    age_of(&stat, &read(Path::new("/proc/uptime"))?)
}

/// The same by the process's `stat` and the machine's `uptime`, both of which count hundredths of a second.
fn age_of(stat: &str, uptime: &str) -> Option<Duration> {
    // Counted from the one behind the name, it is the twentieth.
    let started: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let (seconds, hundredths) = uptime.split_whitespace().next()?.split_once('.')?;
    let up = seconds.parse::<u64>().ok()?.checked_mul(TICKS_PER_S)?.checked_add(hundredths.parse().ok()?)?;
    Some(Duration::from_millis(up.saturating_sub(started).checked_mul(1_000 / TICKS_PER_S)?))
}

/// Of the clock in which Linux tells times to programs.
const TICKS_PER_S: u64 = 100;

/// What the kernel calls this start of this machine; empty where it does not say.
pub fn boot_id() -> String {
    read(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default().trim().to_owned()
}

/// The rank that `pid` is, by its environment.
pub fn rank_of(pid: u32) -> Option<u32> {
    rank(&PathBuf::from(format!("/proc/{pid}")))
}

/// A file of `/proc`, as text.
pub(crate) fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Name and state out of a `stat`: the name is in brackets, and may hold any.
fn named(stat: &Path) -> Option<(String, char)> {
    let text = read(stat)?;
    let (head, rest) = text.rsplit_once(')')?;
    Some((head.split_once('(')?.1.to_owned(), rest.trim_start().chars().next()?))
}

fn threads(folder: &Path, pid: u32) -> Vec<Thread> {
    let numbers = fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).take(THREADS_MAX).collect();
    numbers.sort_by_key(|tid| (*tid != pid, *tid));
    let thread = |tid: u32| {
        let own = folder.join("task").join(tid.to_string());
        let (name, state) = named(&own.join("stat"))?;
        let channel = read(&own.join("wchan")).filter(|channel| !channel.is_empty() && channel != "0");
        Some(Thread { tid, name, state: Some(state), channel })
    };
    numbers.into_iter().filter_map(thread).collect()
}

/// `[<0>] futex_wait+0x10/0x20`, without numbers. Only the privileged may read it.
fn kernel_stack(folder: &Path) -> Vec<String> {
    let text = read(&folder.join("stack")).unwrap_or_default();
    let function = |line: &str| {
        let name = line.split_once("] ").map_or(line, |(_, name)| name);
        name.split('+').next().unwrap_or_default().trim().to_owned()
    };
    text.lines().map(function).filter(|function| !function.is_empty()).collect()
}

fn rank(folder: &Path) -> Option<u32> {
    let mut bytes = Vec::new();
    fs::File::open(folder.join("environ")).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let value = |name: &str| {
        let of = |variable: &[u8]| Some(variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
        bytes.split(|byte| *byte == 0).find_map(of)
    };
    RANKS.into_iter().find_map(|name| String::from_utf8(value(name)?).ok()?.parse().ok())
}

fn is_python(folder: &Path) -> bool {
    let is_named = |path: &OsStr| path.as_bytes().windows(6).any(|part| part.eq_ignore_ascii_case(b"python"));
    let executable = fs::read_link(folder.join("exe")).ok();
    executable.is_some_and(|path| path.file_name().is_some_and(is_named))
        || read(&folder.join("maps")).is_some_and(|maps| maps.contains("libpython"))
}

/// What py-spy prints of `pid`; if it takes too long it is ended.
fn dump(py_spy: &Path, pid: u32, within: Duration) -> Result<String, String> {
    let mut asked = Command::new(py_spy);
    asked.args(["dump", "--nonblocking", "--pid", &pid.to_string()]);
    asked.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = asked.spawn().map_err(|error| error.to_string())?;
    let (sender, receiver) = mpsc::channel();
    for (is_error, stream) in [
        (false, child.stdout.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>)),
        (true, child.stderr.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>)),
    ] {
        let Some(stream) = stream else { continue };
        let sender = sender.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _cut = stream.take(BYTES_MAX).read_to_end(&mut bytes);
            // Whoever asked may have given up.
            let _gone = sender.send((is_error, String::from_utf8_lossy(&bytes).into_owned()));
        });
    }
    drop(sender);
    let mut said = [String::new(), String::new()];
    let deadline = std::time::Instant::now() + within;
    for _ in 0..2 {
        match receiver.recv_timeout(deadline.saturating_duration_since(std::time::Instant::now())) {
            Ok((is_error, text)) => said[usize::from(is_error)] = text,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let _gone = child.kill();
                let _reaped = child.wait();
                return Err("took too long".to_owned());
            }
        }
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    let [text, error] = said;
    if ended.success() && !text.is_empty() { Ok(text) } else { Err(error.lines().last().unwrap_or("said nothing").to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_process_is_told_to_a_hundredth_of_a_second() {
        let stat = |started: u64| format!("7 (a) b) {}{started} 0 0", "0 ".repeat(19));
        // Across the end of a second, it is no second old.
        assert_eq!(age_of(&stat(9_998), "100.02 180.11\n"), Some(Duration::from_millis(40)));
        assert_eq!(age_of(&stat(9_900), "100.00 1.00"), Some(Duration::from_secs(1)));
        assert_eq!(age_of(&stat(10_003), "100.02 1.00"), Some(Duration::ZERO), "both are rounded");
        assert_eq!(age_of("7 (a) 0 0", "100.02 1.00"), None);
        assert!(age(std::process::id()).is_some_and(|age| age < Duration::from_secs(3_600)));
    }
}
