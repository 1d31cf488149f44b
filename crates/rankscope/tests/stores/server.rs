//! `s3s-fs`, which keeps objects as files and checks signatures, and the program set up for it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rankscope_testkit::{Need, skip};

pub(crate) const KEY: &str = "AKIAEXAMPLE";
const SECRET: &str = "example/secret";

/// Runs until it is dropped.
pub(crate) struct Server {
    child: Child,
    root: tempfile::TempDir,
    address: SocketAddr,
}

impl Server {
    /// Starts one of its own; where it is not installed, the test is skipped.
    #[track_caller]
    pub(crate) fn start() -> Option<Self> {
        let program = std::env::var_os("RANKSCOPE_S3_SERVER").unwrap_or_else(|| "s3s-fs".into());
        if Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            skip(Need::S3Server, "s3s-fs is neither on PATH nor named by RANKSCOPE_S3_SERVER");
            return None;
        }
        let root = tempfile::tempdir().expect("a folder");
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let args = ["--host", &host, "--port", &port, "--access-key", KEY, "--secret-key", SECRET];
        let child = Command::new(program).args(args).arg(root.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = Self { child: child.expect("it starts"), root, address };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "s3s-fs does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The folder whose files are the objects of a bucket, which is made if it is not there.
    pub(crate) fn bucket(&self, name: &str) -> PathBuf {
        let folder = self.root.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = program(args);
        command.envs(credentials(&format!("http://{}", self.address))).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("runs")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// The program with an environment that says nothing of stores, in a folder of its own.
pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankscope"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.args(args).env("HOME", "/nonexistent").current_dir(std::env::temp_dir());
    command
}

/// What the environment says of the server at `endpoint`.
pub(crate) fn credentials(endpoint: &str) -> [(&'static str, String); 4] {
    [
        ("AWS_ENDPOINT", endpoint.to_owned()),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
    ]
}
