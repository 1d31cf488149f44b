//! What a recording says about its process, and what the program wants said.

use rankscope_formats::recording::NameId;

use crate::lane::registry;
use crate::store::Storage;
use crate::ticks::tick_source;
use crate::{control, names};

/// Says what the process is.
pub(crate) fn write(storage: &Storage) {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok().map(|number| number.to_string());
    let command: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let program = command.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let storage = if *storage == Storage::Memory { "memory" } else { "file" };
    let facts = [
        ("process_name", Some(text(program))),
        ("pid", Some(std::process::id().to_string())),
        ("host_name", host.map(|host| text(host.trim()))),
        ("command", Some(serde_json::Value::from(command.clone()).to_string())),
        ("rank", number("RANK")),
        ("world_size", number("WORLD_SIZE")),
        ("tick_source", Some(text(tick_source().name()))),
        ("storage", Some(text(storage))),
        ("recorder", Some(text(concat!("rankscope ", env!("CARGO_PKG_VERSION"))))),
    ];
    for (key, value) in facts {
        if let Some(value) = value {
            put(key, &value);
        }
    }
}

/// Adds something to know about the recording that runs: `json` is JSON text; what is not is kept as a text. Without a recording
/// nothing happens.
pub fn set_metadata(key: &str, json: &str) {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok();
    let value = if is_json { json.to_owned() } else { serde_json::Value::from(json).to_string() };
    put(&format!("user.{key}"), &value);
}

/// Calls the process something in the recording that runs.
pub fn set_process_name(name: &str) {
    put("process_name", &serde_json::Value::from(name).to_string());
}

/// Calls the host something in the recording that runs, for a process that knows better than the kernel whose host it is.
pub fn set_host_name(name: &str) {
    put("host_name", &serde_json::Value::from(name).to_string());
}

/// Says which rank of how many the process is, in the recording that runs.
pub(crate) fn set_rank(rank: u32, world_size: Option<u32>) {
    put("rank", &rank.to_string());
    if let Some(world_size) = world_size {
        put("world_size", &world_size.to_string());
    }
}

/// Calls the calling thread something, in the recording that runs and in those to come.
pub fn set_thread_name(name: &str) {
    let thread = registry::rename(name);
    if let Some(store) = control::any_store() {
        store.system(|system| system.thread(thread.stream, thread.tid, &thread.name));
    }
}

fn put(key: &str, json: &str) {
    let id: NameId = names::intern_key(key);
    if let Some(store) = control::any_store() {
        store.system(|system| system.meta(id, json));
    }
}
