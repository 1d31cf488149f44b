//! What a recording says about its process, and what the program wants said.

use rankscope_formats::recording::NameId;
use rankscope_formats::recording::keys::API;

use crate::lane::registry;
use crate::names::{self, Site};
use crate::store::Storage;
use crate::ticks::tick_source;
use crate::{control, ranks};

// Keys that a flood of names at run time cannot crowd out.
static PROCESS_NAME: Site = Site::key("process_name");
static PID: Site = Site::key("pid");
static HOST_NAME: Site = Site::key("host_name");
static COMMAND: Site = Site::key("command");
static RANK: Site = Site::key("rank");
static WORLD_SIZE: Site = Site::key("world_size");
static TICK_SOURCE: Site = Site::key("tick_source");
static STORAGE: Site = Site::key("storage");
static RECORDER: Site = Site::key("recorder");

/// Says what the process is.
pub(crate) fn write(storage: &Storage) {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let command: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let program = command.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let storage = if *storage == Storage::Memory { "memory" } else { "file" };
    let place = ranks::own();
    let facts = [
        (&PROCESS_NAME, Some(text(program))),
        (&PID, Some(std::process::id().to_string())),
        (&HOST_NAME, host.map(|host| text(host.trim()))),
        (&COMMAND, Some(serde_json::Value::from(command.clone()).to_string())),
        (&RANK, place.map(|place| place.rank.to_string())),
        (&WORLD_SIZE, place.and_then(|place| place.world_size).map(|size| size.to_string())),
        (&TICK_SOURCE, Some(text(tick_source().name()))),
        (&STORAGE, Some(text(storage))),
        (&RECORDER, Some(text(concat!("rankscope ", env!("CARGO_PKG_VERSION"))))),
    ];
    for (key, value) in facts {
        if let Some(value) = value {
            put(key.id(), &value);
        }
    }
}

/// Adds something to know about the recording that runs: `json` is JSON text; what is not is kept as a text. Without a recording
/// nothing happens.
pub fn set_metadata(key: &str, json: &str) {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok();
    let value = if is_json { json.to_owned() } else { serde_json::Value::from(json).to_string() };
    put(names::intern_key(&format!("user.{key}")), &value);
}

/// Calls the process something in the recording that runs.
pub fn set_process_name(name: &str) {
    put(PROCESS_NAME.id(), &serde_json::Value::from(name).to_string());
}

/// Calls the host something in the recording that runs, for a process that knows better than the kernel whose host it is.
pub fn set_host_name(name: &str) {
    put(HOST_NAME.id(), &serde_json::Value::from(name).to_string());
}

/// Says through which API the recording that runs is made, where that is not the recorder's own.
pub(crate) fn set_api(name: &str) {
    static KEY: Site = Site::key(API);
    put(KEY.id(), &serde_json::Value::from(name).to_string());
}

/// Calls the calling thread something, in the recording that runs and in those to come.
pub fn set_thread_name(name: &str) {
    let thread = registry::rename(name);
    if let Some(store) = control::any_store() {
        store.system(|system| system.thread(thread.stream, thread.tid, &thread.name));
    }
}

fn put(key: NameId, json: &str) {
    if let Some(store) = control::any_store() {
        store.system(|system| system.meta(key, json));
    }
}
