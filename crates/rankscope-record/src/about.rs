//! What a recording says about its process, and what the program wants said.

use rankscope_recording::NameId;
use rankscope_recording::json::{is_json, quoted};
use rankscope_recording::keys::API;

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
    let command: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let program = command.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let list = format!("[{}]", command.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(","));
    let storage = if *storage == Storage::Memory { "memory" } else { "file" };
    let place = ranks::own();
    let facts = [
        (&PROCESS_NAME, Some(quoted(program))),
        (&PID, Some(std::process::id().to_string())),
        (&HOST_NAME, host.map(|host| quoted(host.trim()))),
        (&COMMAND, Some(list)),
        (&RANK, place.map(|place| place.rank.to_string())),
        (&WORLD_SIZE, place.and_then(|place| place.world_size).map(|size| size.to_string())),
        (&TICK_SOURCE, Some(quoted(tick_source().name()))),
        (&STORAGE, Some(quoted(storage))),
        (&RECORDER, Some(quoted(concat!("rankscope ", env!("CARGO_PKG_VERSION"))))),
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
    let value = if is_json(json) { json.to_owned() } else { quoted(json) };
    put(names::intern_key(&format!("user.{key}")), &value);
}

/// Calls the process something in the recording that runs.
pub fn set_process_name(name: &str) {
    put(PROCESS_NAME.id(), &quoted(name));
}

/// Calls the host something in the recording that runs, for a process that knows better than the kernel whose host it is.
pub fn set_host_name(name: &str) {
    put(HOST_NAME.id(), &quoted(name));
}

/// Says which rank the process is, of how many, in the recording that runs: for a library that knows where no launcher said so.
pub fn set_rank(rank: u32, world_size: Option<u32>) {
    put(RANK.id(), &rank.to_string());
    if let Some(size) = world_size {
        put(WORLD_SIZE.id(), &size.to_string());
    }
}

/// Says through which API the recording that runs is made, where that is not the recorder's own.
pub(crate) fn set_api(name: &str) {
    static KEY: Site = Site::key(API);
    put(KEY.id(), &quoted(name));
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
