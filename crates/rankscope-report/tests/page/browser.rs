//! A Chromium without a window, asked over its debugging pipe: what a page draws, prints to the console and fetches.
//!
//! No other program is between: the protocol is JSON with a zero byte at the end, on descriptors 3 and 4.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

/// The browser, with one page open.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    calls: u64,
    /// What the page reported since the last visit began.
    events: Vec<Value>,
    profile: PathBuf,
    /// Addresses, and what is there in the place of what they name.
    stand_in: Option<(&'static str, &'static str)>,
}

/// Browsers of this process; no two may share a profile.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// One way of looking at a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) dark: bool,
    /// Whether everything in the page is used, not only looked at.
    pub(crate) used: bool,
}

/// What came of it.
pub(crate) struct Visit {
    /// Errors and warnings of the console, and exceptions nobody caught.
    pub(crate) complaints: Vec<String>,
    /// Addresses asked for, other than the page's own.
    pub(crate) fetched: Vec<String>,
    pub(crate) seen: Seen,
}

/// What the probe returns.
#[derive(Deserialize)]
pub(crate) struct Seen {
    /// Characters in each section.
    pub(crate) sections: BTreeMap<String, usize>,
    pub(crate) banners: Vec<String>,
    pub(crate) canvases: usize,
    /// Canvases of one colour.
    pub(crate) blank: Vec<String>,
    /// Times that the tooltip answered.
    pub(crate) tips: usize,
    /// Pixels that the page is wider than the window.
    pub(crate) overflow: i64,
    /// Colour of the background.
    pub(crate) paper: String,
    /// Texts that may hold figures.
    pub(crate) texts: Vec<String>,
}

impl Browser {
    /// The Chromium of this machine, if there is one.
    pub(crate) fn installed() -> Option<PathBuf> {
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|program| program.is_file())
    }

    pub(crate) fn start(program: &Path) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chromium-{}-{number}", std::process::id()));
        // Pages of our own, and CI often runs as root, where Chromium refuses its sandbox.
        let options =
            ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars"];
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(options)
            .args(["--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let input = child.stdin.take().expect("piped");
        let messages = read_messages(child.stdout.take().expect("piped"));
        let mut browser =
            Self { child, input, messages, session: String::new(), calls: 0, events: Vec::new(), profile, stand_in: None };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().expect("a session has an id").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a page by its address and waits until it has loaded.
    pub(crate) fn open(&mut self, address: &str, look: Look) {
        let scheme = if look.dark { "dark" } else { "light" };
        let screen = json!({ "width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", screen);
        self.call("Emulation.setEmulatedMedia", json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }));
        self.events.clear();
        self.call("Page.navigate", json!({ "url": address }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.message();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page that is open.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression} failed: {answer}");
        answer["result"]["value"].clone()
    }

    /// The window as a PNG in base64.
    pub(crate) fn screenshot(&mut self) -> String {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        answer["data"].as_str().expect("a picture has bytes").to_owned()
    }

    /// Presses and releases a key, as a keyboard does: `Tab`, `Escape`, an arrow, or a letter.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = if key == "Enter" {
            "\r"
        } else if key.len() == 1 {
            key
        } else {
            ""
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Has `html` answer for every address like `pattern`, in this window and in those that are opened from it.
    pub(crate) fn stands_in(&mut self, pattern: &'static str, html: &'static str) {
        self.stand_in = Some((pattern, html));
        // A window that is opened waits until it is told to go on, so that nothing it asks for is missed.
        let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        // Windows belong to the browser and not to who opened them.
        self.in_window("", |browser| browser.call("Target.setAutoAttach", attach));
    }

    /// The window that `open` has the page open.
    pub(crate) fn window_of(&mut self, open: impl FnOnce(&mut Self)) -> String {
        open(self);
        let is_window =
            |event: &Value| event["method"] == "Target.attachedToTarget" && event["params"]["targetInfo"]["type"] == "page";
        self.until(is_window);
        let event = self.events.iter().rev().find(|event| is_window(event)).expect("it was opened");
        let window = event["params"]["sessionId"].as_str().expect("a session has an id").to_owned();
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired" && event["sessionId"] == window.as_str();
        self.until(is_loaded);
        window
    }

    /// Does something in another window than the one that was opened first.
    pub(crate) fn in_window<T>(&mut self, window: &str, act: impl FnOnce(&mut Self) -> T) -> T {
        let own = std::mem::replace(&mut self.session, window.to_owned());
        let done = act(self);
        self.session = own;
        done
    }

    /// Errors and warnings of the console, and exceptions nobody caught, since the page was opened.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let of = |method: &'static str| self.events.iter().filter(move |event| event["method"] == method);
        let uncaught = of("Runtime.exceptionThrown").chain(of("Log.entryAdded"));
        let printed = of("Runtime.consoleAPICalled")
            .filter(|event| event["params"]["type"] == "error" || event["params"]["type"] == "warning");
        uncaught.chain(printed).map(|event| event["params"].to_string()).collect()
    }

    /// Opens the page from disk, lets it draw, and runs `probe` in it.
    pub(crate) fn visit(&mut self, page: &Path, look: Look, probe: &str) -> Visit {
        let address = format!("file://{}", page.display());
        self.open(&address, look);
        let value = self.evaluate(&format!("const USED = {}; {probe}", look.used));
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = sent.filter_map(|sent| sent["params"]["request"]["url"].as_str());
        let fetched = urls.filter(|url| *url != address && *url != "data:,").map(str::to_owned).collect();
        let complaints = self.complaints();
        let seen = serde_json::from_value(value).expect("the probe returns what is seen");
        Visit { complaints, fetched, seen }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(&self.session.clone(), method, params);
        loop {
            let message = self.message();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.stand_in_for(&message);
            self.events.push(message);
        }
    }

    fn send(&mut self, session: &str, method: &str, params: Value) -> u64 {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if !session.is_empty() {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        self.calls
    }

    /// Waits for an event, if it has not come yet.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) {
        while !self.events.iter().any(&is_it) {
            let event = self.message();
            self.stand_in_for(&event);
            self.events.push(event);
        }
    }

    /// Has a window that waits go on, and answers requests in the place of whom they are for. What the browser says to that is passed over.
    fn stand_in_for(&mut self, message: &Value) {
        let Some((pattern, html)) = self.stand_in else { return };
        let session = message["sessionId"].as_str().unwrap_or_default();
        if message["method"] == "Fetch.requestPaused" {
            let (request, header) = (&message["params"]["requestId"], json!({ "name": "Content-Type", "value": "text/html" }));
            let body = base64(html.as_bytes());
            let answer = json!({ "requestId": request, "responseCode": 200, "responseHeaders": [header], "body": body });
            self.send(session, "Fetch.fulfillRequest", answer);
        }
        if message["method"] == "Target.attachedToTarget" && message["params"]["waitingForDebugger"] == true {
            let window = message["params"]["sessionId"].as_str().unwrap_or_default();
            self.send(window, "Page.enable", json!({}));
            self.send(window, "Fetch.enable", json!({ "patterns": [{ "urlPattern": pattern }] }));
            self.send(window, "Runtime.runIfWaitingForDebugger", json!({}));
        }
    }

    /// A browser that says nothing for a minute is stuck; waiting longer would hide it.
    fn message(&self) -> Value {
        self.messages.recv_timeout(Duration::from_secs(60)).expect("the browser answers")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// As the protocol wants bytes.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| (bits << 8) | usize::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) & 63];
            text.push(if place > three.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

fn read_messages(output: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for message in BufReader::new(output).split(0).map_while(Result::ok) {
            let message = serde_json::from_slice(&message).expect("the browser speaks JSON");
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    receiver
}
