//! An etcd cluster, through the JSON gateway of its version 3 interface: keys and values in base64, numbers as strings.
//!
//! Texts lie under `t/<key>`, counters under `c/<key>`. A counter is changed by a transaction that holds only if nobody changed
//! it meanwhile. Plain HTTP; clusters that want certificates need a gateway in front.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{KeyValueStore, StoreError, check_size, poll_for};

/// A store in an etcd cluster.
#[derive(Debug)]
pub struct EtcdStore {
    members: Vec<String>,
    /// The member that answered last.
    current: usize,
    place: String,
    agent: ureq::Agent,
    patience: Duration,
}

/// Between two looks at a key.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// Between two tries of members that do not answer.
const RETRY: Duration = Duration::from_millis(100);

/// For one answer of one member.
const ANSWER_MAX: Duration = Duration::from_secs(5);

impl EtcdStore {
    /// A store in the cluster of `members`, each `host:port`. Each call tries them for `patience` at most; none is made yet.
    pub fn new(members: Vec<String>, patience: Duration) -> Self {
        let place = format!("etcd://{}", members.join(","));
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(ANSWER_MAX.min(patience)))
            .http_status_as_error(false)
            .max_redirects(0)
            .build();
        Self { members, current: 0, place, agent: config.new_agent(), patience }
    }

    /// Asks members until one answers. `again` says whether a question that may have been heard may be asked again.
    fn ask(&mut self, path: &str, question: &Value, again: bool) -> Result<Value, StoreError> {
        let start = Instant::now();
        loop {
            let error = match self.ask_once(path, question) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Answer(error)) => return Err(error),
                Err(Failure::Silence { error, unheard }) => {
                    let after = start.elapsed();
                    if after + RETRY > self.patience || !(again || unheard) {
                        return Err(StoreError::Unreachable { place: self.place.clone(), after, source: error });
                    }
                    error
                }
            };
            drop(error);
            self.current = (self.current + 1) % self.members.len().max(1);
            std::thread::sleep(RETRY);
        }
    }

    fn ask_once(&self, path: &str, question: &Value) -> Result<Value, Failure> {
        let Some(member) = self.members.get(self.current) else {
            let reason = "no member of the cluster was named".to_owned();
            return Err(Failure::Answer(StoreError::Refused { place: self.place.clone(), reason }));
        };
        let sent = self.agent.post(format!("http://{member}/v3/kv/{path}")).send(question.to_string());
        let mut answer = sent.map_err(Failure::of)?;
        let status = answer.status();
        let text = answer.body_mut().read_to_string().map_err(Failure::of)?;
        if !status.is_success() {
            let reason = format!("status {status}: {}", text.trim());
            return Err(Failure::Answer(StoreError::Refused { place: self.place.clone(), reason }));
        }
        serde_json::from_str(&text).map_err(|_| Failure::Answer(self.malformed("something that is not JSON")))
    }

    /// The text under a key of etcd, and the revision that changed it last.
    fn read(&mut self, key: &str) -> Result<Option<(String, i64)>, StoreError> {
        let answer = self.ask("range", &json!({ "key": STANDARD.encode(key) }), true)?;
        let Some(found) = answer["kvs"].get(0) else { return Ok(None) };
        // The gateway leaves out what is empty.
        let value = STANDARD.decode(found["value"].as_str().unwrap_or_default()).ok();
        let value = value.and_then(|bytes| String::from_utf8(bytes).ok());
        let revision = found["mod_revision"].as_str().and_then(|revision| revision.parse().ok());
        value.zip(revision).map(Some).ok_or_else(|| self.malformed("a key without text and revision"))
    }

    fn malformed(&self, what: &str) -> StoreError {
        StoreError::Malformed { place: self.place.clone(), what: what.to_owned() }
    }
}

impl KeyValueStore for EtcdStore {
    fn place(&self) -> &str {
        &self.place
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        check_size(key, value)?;
        self.ask("put", &put(key, value), true).map(|_| ())
    }

    fn set_all(&mut self, texts: &[(String, String)]) -> Result<(), StoreError> {
        texts.iter().try_for_each(|(key, value)| check_size(key, value))?;
        let mut left = texts;
        while !left.is_empty() {
            let (some, rest) = left.split_at(at_once(left));
            let puts: Vec<Value> = some.iter().map(|(key, value)| json!({ "request_put": put(key, value) })).collect();
            self.ask("txn", &json!({ "success": puts }), true)?;
            left = rest;
        }
        Ok(())
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        check_size(key, "")?;
        Ok(self.read(&format!("t/{key}"))?.map(|(value, _)| value))
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        poll_for(self, key, timeout, PAUSES)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        check_size(key, "")?;
        let key = format!("c/{key}");
        let name = STANDARD.encode(&key);
        loop {
            let (value, revision) = match self.read(&key)? {
                Some((text, revision)) => {
                    (text.parse::<i64>().map_err(|_| self.malformed("a counter that is no number"))?, revision)
                }
                // A key that was never written has revision 0.
                None => (0, 0),
            };
            if delta == 0 {
                return Ok(value);
            }
            let total = value.saturating_add(delta);
            let question = json!({
                "compare": [{ "key": name, "target": "MOD", "result": "EQUAL", "mod_revision": revision.to_string() }],
                "success": [{ "request_put": { "key": name, "value": STANDARD.encode(total.to_string()) } }],
            });
            // Whether an unanswered transaction was carried out cannot be told, so it is not tried again.
            if self.ask("txn", &question, false)?["succeeded"].as_bool() == Some(true) {
                return Ok(total);
            }
        }
    }
}

/// What etcd takes in one transaction: 128 changes and 1.5 MiB, unless it is told otherwise.
const PUTS_MAX: usize = 128;
const PUT_BYTES_MAX: usize = 1 << 19;

/// How many of `texts` go into one transaction, which writes no key twice.
fn at_once(texts: &[(String, String)]) -> usize {
    let (mut keys, mut bytes) = (BTreeSet::new(), 0);
    for (key, value) in texts {
        bytes += key.len() + value.len();
        let is_full = keys.len() == PUTS_MAX || bytes > PUT_BYTES_MAX && !keys.is_empty();
        if is_full || !keys.insert(key) {
            break;
        }
    }
    keys.len()
}

/// The text `value` under `key`, as etcd is told.
fn put(key: &str, value: &str) -> Value {
    json!({ "key": STANDARD.encode(format!("t/{key}")), "value": STANDARD.encode(value) })
}

/// Why a question has no answer.
enum Failure {
    /// It has one, which is an error.
    Answer(StoreError),
    /// Nobody answered; `unheard` where nobody can have heard it.
    Silence { error: io::Error, unheard: bool },
}

impl Failure {
    fn of(error: ureq::Error) -> Self {
        let unheard = match &error {
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
            ureq::Error::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
            _ => false,
        };
        let error = match error {
            ureq::Error::Io(error) => error,
            other => io::Error::other(other),
        };
        Self::Silence { error, unheard }
    }
}
