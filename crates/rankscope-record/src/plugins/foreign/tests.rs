//! Tables as plugins in C would hand them over, good and bad.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;

use rankscope_recording::Category;

use super::*;
use crate::plugins::Registry;
use crate::session::{Session, SessionOptions};

unsafe extern "C" fn create(_: *mut c_void, host: *const Host, about: *const SessionAbout, session: *mut *mut c_void) -> i32 {
    // SAFETY: the recorder passes valid places.
    unsafe {
        assert_eq!((*about).struct_size as usize, size_of::<SessionAbout>());
        assert!((*host).clock_ns.is_some_and(|clock_ns| clock_ns(3) > 0 && clock_ns(99) == 0));
        *session = host.cast_mut().cast();
    }
    0
}

unsafe extern "C" fn fails(_: *mut c_void) -> i32 {
    -7
}

unsafe extern "C" fn why(_: *mut c_void, text: *mut std::ffi::c_char, bytes: usize) -> usize {
    let words = b"no such device";
    assert!(bytes >= words.len());
    // SAFETY: there are so many bytes.
    unsafe { ptr::copy_nonoverlapping(words.as_ptr(), text.cast(), words.len()) };
    words.len()
}

unsafe extern "C" fn nonsense(_: *mut c_void, emit: *const Emit) -> i32 {
    // SAFETY: the recorder passes a table whose functions refuse what cannot be.
    unsafe {
        let emit = &*emit;
        let activity = emit.activity.expect("a function");
        let name = c"a kernel";
        let good = Activity {
            struct_size: size_of::<Activity>() as u32,
            category: u32::from(Category::KERNEL.number()),
            name: name.as_ptr(),
            name_bytes: 8,
            start_ns: 0,
            end_ns: 0,
            ..zeroed()
        };
        assert_eq!(activity(emit.sink, &raw const good), 0);
        let bad = [
            Activity { struct_size: 4, ..good },
            Activity { category: 99, ..good },
            Activity { category: 261, ..good },
            Activity { name: ptr::null(), ..good },
            Activity { name_bytes: usize::MAX, ..good },
        ];
        assert!(bad.iter().all(|bad| activity(emit.sink, ptr::from_ref(bad)) == 1));
        assert_eq!(activity(emit.sink, ptr::null()), 1);
        assert_eq!(activity(ptr::null_mut(), &raw const good), 1);
        assert_eq!(emit.problem.expect("a function")(emit.sink, 9, name.as_ptr(), 8), 1);
        assert_eq!(emit.problem.expect("a function")(emit.sink, 0, name.as_ptr(), 8), 0);
    }
    0
}

fn table() -> Plugin {
    // SAFETY: zeros are a table without functions.
    let empty: Plugin = unsafe { zeroed() };
    Plugin {
        struct_size: size_of::<Plugin>() as u32,
        abi_version: PLUGIN_ABI_VERSION,
        name: c"fake".as_ptr(),
        name_bytes: 4,
        clock: 3,
        create: Some(create),
        ..empty
    }
}

fn plugin(table: &Plugin) -> Result<ForeignPlugin, LoadError> {
    // SAFETY: the functions keep to the contract.
    unsafe { ForeignPlugin::new(table, "a test") }
}

/// Starts and stops a session with the plugin.
fn report(table: &Plugin) -> crate::Stopped {
    let mut plugins = Registry::new();
    plugins.register(plugin(table).expect("a good table"));
    Session::start_with(SessionOptions::default(), plugins).expect("starts").stop().expect("stops")
}

#[test]
fn a_table_that_is_none_is_refused() {
    let good = table();
    let bad = [
        Plugin { struct_size: 8, ..good },
        Plugin { name: ptr::null(), ..good },
        Plugin { name_bytes: 0, ..good },
        Plugin { create: None, ..good },
        Plugin { clock: 0, ..good },
    ];
    for table in &bad {
        assert!(matches!(plugin(table), Err(LoadError::Refused { .. })));
    }
    assert!(matches!(plugin(&Plugin { abi_version: 2, ..good }), Err(LoadError::Version { found: 2, .. })));
    // SAFETY: null may be passed.
    assert!(unsafe { ForeignPlugin::new(ptr::null(), "a test") }.is_err());
}

#[test]
fn a_table_of_an_earlier_version_has_no_functions_beyond_its_end() {
    let earlier = Plugin { struct_size: 64, collect: Some(nonsense), ..table() };
    assert!(plugin(&earlier).is_ok_and(|plugin| format!("{plugin:?}").contains("fake")));
    assert!(report(&earlier).report.plugins.is_empty());
}

#[test]
fn a_plugin_that_fails_is_reported_in_its_own_words() {
    let stopped = report(&Plugin { start: Some(fails), describe_error: Some(why), ..table() });
    let [failure] = &stopped.report.plugins[..] else { panic!("one failure: {:?}", stopped.report.plugins) };
    assert_eq!((&*failure.plugin, failure.hook), ("fake", "on_profiling_start"));
    assert_eq!(failure.reason, "it returned -7: no such device");
}

#[test]
fn what_cannot_be_is_refused_and_counted() {
    let stopped = report(&Plugin { collect: Some(nonsense), ..table() });
    assert!(stopped.report.plugins.is_empty(), "{:?}", stopped.report.plugins);
    let recording = stopped.recorded.open().expect("it can be read");
    let said = |key: &str| recording.meta().iter().rev().find(|(known, _)| known == key).map(|(_, json)| json.clone());
    assert_eq!(said("user.fake.refused").as_deref(), Some("7"));
    assert_eq!(said("user.fake.problems").as_deref(), Some(r#"["warning: a kernel"]"#));
    let work = said("user.fake.device_work").expect("device work was handed over");
    assert!(work.contains(r#""zero_timestamp":1"#), "{work}");
}
