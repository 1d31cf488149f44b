//! A vendor's plugin behind the library: what it records is in the trace beside our plane, and whatever is wrong with it, ours is there.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::played::{JAX, Played, Stage, about, compile, library, readings};

const CLOCK: &str = "/rankscope:clock";
const FORWARD: &str = "RANKSCOPE_PJRT_FORWARD";

/// A stage with the vendor's plugin.
struct Vendor {
    stage: Stage,
    plugin: PathBuf,
}

impl Vendor {
    fn new() -> Option<Self> {
        let stage = Stage::new()?;
        let plugin = stage.file("vendor.so");
        compile("vendor.c", &plugin, &["-shared", "-fPIC"]);
        Some(Self { stage, plugin })
    }

    /// Plays `scene` with a plugin that is what `who` says; how often it was called, in its own words.
    fn play(&self, scene: &str, who: &str) -> (Played, String) {
        let says = self.stage.file("says");
        let variables = [(FORWARD, self.plugin.as_os_str()), ("VENDOR", OsStr::new(who)), ("VENDOR_SAYS", says.as_os_str())];
        let played = self.stage.play_with(scene, &variables);
        (played, fs::read_to_string(says).unwrap())
    }

    /// What the library says of its vendor in a run of three sessions, all of which have our plane alone.
    fn alone(&self, who: &str) -> (String, String) {
        let (played, says) = self.play("sessions", who);
        assert_eq!(played.spaces.iter().map(|space| planes(space)).collect::<Vec<_>>(), [[CLOCK]; 3], "{who}");
        for space in &played.spaces {
            assert_eq!(readings(&about(&[JAX, space].concat())).len(), 2, "{who}");
        }
        (played.stderr.replace(self.plugin.to_str().unwrap(), "PLUGIN"), says)
    }
}

/// The names of the planes of an XSpace, read as protobuf has it: a field 1 a plane, in it a field 2 the name.
fn planes(space: &[u8]) -> Vec<String> {
    let of = |bytes, field| fields(bytes).into_iter().filter(move |(number, _)| *number == field).map(|(_, bytes)| bytes);
    of(space, 1).flat_map(|plane| of(plane, 2)).map(|name| String::from_utf8(name.to_vec()).unwrap()).collect()
}

/// Fields of a message that have a length, and their numbers.
fn fields(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> usize {
        let end = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let (number, rest) = bytes.split_at(end);
        *bytes = rest;
        number.iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f))
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length_or_value = varint(&mut bytes);
        if tag & 7 == 2 {
            let (field, rest) = bytes.split_at(length_or_value);
            found.push(((tag >> 3) as u8, field));
            bytes = rest;
        }
    }
    found
}

#[test]
fn a_trace_has_the_vendors_planes_and_ours_and_its_back_end_is_handed_on() {
    let Some(vendor) = Vendor::new() else { return };
    let (played, says) = vendor.play("wrapped", "fine");
    assert_eq!(played.stderr, "");
    assert_eq!(says, "2 creates, 2 starts, 2 stops, 2 collects, 2 destroys, 0 of 0 errors freed");
    assert_eq!(played.spaces.len(), 2);
    for space in &played.spaces {
        assert_eq!(planes(space), [CLOCK, "/vendor:0", "/vendor:1"]);
        // And together with a trace of JAX they are one trace.
        let about = about(&[JAX, space].concat());
        assert_eq!((readings(&about).len(), about.rank.map(|(rank, _)| rank.0)), (2, Some(3)));
    }
}

#[test]
fn what_holds_of_our_profiler_holds_with_a_vendors_beside_it() {
    let Some(vendor) = Vendor::new() else { return };
    for (scene, expected) in [
        ("buffers", "2 creates, 102 starts, 102 stops, 102 collects, 2 destroys"),
        // Destroyed while it runs, it is stopped first.
        ("order", "1 creates, 1 starts, 1 stops, 0 collects, 1 destroys"),
        ("nonsense", "1 creates, 1 starts, 1 stops, 1 collects, 1 destroys"),
    ] {
        let (played, says) = vendor.play(scene, "fine");
        assert_eq!((played.stderr.as_str(), says), ("", format!("{expected}, 0 of 0 errors freed")), "{scene}");
    }
    let (played, _) = vendor.play("forked", "fine");
    assert_eq!(played.spaces.iter().map(|space| planes(space).len()).collect::<Vec<_>>(), [3, 3]);
}

#[test]
fn a_plugin_that_cannot_be_had_is_named_once_and_ours_goes_on_alone() {
    let Some(vendor) = Vendor::new() else { return };
    for (who, why) in [
        ("no table", "PLUGIN hands out no table; traces have the host's clocks alone"),
        ("old", "PLUGIN is of a PJRT that had no versions yet; traces have the host's clocks alone"),
        ("major", "PLUGIN is of a PJRT that nobody has looked at; traces have the host's clocks alone"),
        ("no profiler", "PLUGIN: it has no profiler; traces have the host's clocks, and nothing of it"),
        ("endless", "PLUGIN: its extensions come to no end; traces have the host's clocks, and nothing of it"),
        (
            "short",
            "PLUGIN: its profiler has a table of 72 bytes, which is of another version; traces have the host's clocks, and nothing of it",
        ),
        ("lacks", "PLUGIN: its profiler lacks stop; traces have the host's clocks, and nothing of it"),
    ] {
        let (stderr, says) = vendor.alone(who);
        assert_eq!(stderr, format!("rankscope: {FORWARD}: {why}\n"), "{who}");
        assert!(says.starts_with("0 creates, 0 starts"), "{who}: {says}");
    }
}

#[test]
fn errors_of_a_vendor_are_said_once_and_freed_by_it() {
    let Some(vendor) = Vendor::new() else { return };
    for (who, calls) in [
        ("refuses create", "3 creates, 0 starts, 0 stops, 0 collects, 0 destroys"),
        ("refuses start", "3 creates, 3 starts, 0 stops, 0 collects, 3 destroys"),
        ("refuses stop", "3 creates, 3 starts, 3 stops, 0 collects, 3 destroys"),
        ("refuses collect", "3 creates, 3 starts, 3 stops, 3 collects, 3 destroys"),
    ] {
        let (stderr, says) = vendor.alone(who);
        let step = who.strip_prefix("refuses ").unwrap();
        let missing = "what it has recorded is missing in such a trace";
        assert_eq!(stderr, format!("rankscope: {FORWARD}: PLUGIN: {step}: {step} is not possible; {missing}\n"));
        assert_eq!(says, format!("{calls}, 3 of 3 errors freed"), "{who}");
    }
    let (stderr, says) = vendor.alone("mute");
    assert!(stderr.contains(": create: an error that says nothing;") && stderr.lines().count() == 1, "{stderr}");
    assert!(says.ends_with("3 of 3 errors freed"), "{says}");
    let (stderr, _) = vendor.alone("nothing");
    assert!(stderr.contains(": create: it made none;") && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn an_error_at_the_end_takes_nothing_away() {
    let Some(vendor) = Vendor::new() else { return };
    let (played, says) = vendor.play("sessions", "refuses destroy");
    assert_eq!(played.spaces.iter().map(|space| planes(space).len()).collect::<Vec<_>>(), [3; 3]);
    assert_eq!(played.stderr.lines().count(), 1, "{}", played.stderr);
    assert!(says.ends_with("3 destroys, 3 of 3 errors freed"), "{says}");
}

#[test]
fn what_a_vendor_hands_over_is_taken_as_far_as_it_makes_sense() {
    let Some(vendor) = Vendor::new() else { return };
    let both = &[CLOCK, "/vendor:0", "/vendor:1"][..];
    for (who, expected, complaint) in [
        ("long", both, None),
        ("sizes", both, None),
        ("zero", both, None),
        ("empty", &both[..1], None),
        ("cut", &both[..2], Some("collect: the last 5 of 51 bytes make no sense;")),
        ("huge", &both[..1], Some("bytes are more than a trace can hold;")),
    ] {
        let (played, _) = vendor.play("sessions", who);
        for space in &played.spaces {
            assert_eq!(planes(space), expected, "{who}");
            about(&[JAX, space].concat());
        }
        let said: Vec<&str> = played.stderr.lines().collect();
        match complaint {
            None => assert!(said.is_empty(), "{who}: {said:?}"),
            Some(complaint) => assert!(said.len() == 1 && said[0].contains(complaint), "{who}: {said:?}"),
        }
    }
}

#[test]
fn a_library_that_is_no_plugin_is_no_vendor() {
    let Some(vendor) = Vendor::new() else { return };
    let play = |plugin: &Path, scene| vendor.stage.play_with(scene, &[(FORWARD, plugin.as_os_str())]).stderr;
    let missing = play(Path::new("/no/such/plugin.so"), "sessions");
    assert!(missing.contains("/no/such/plugin.so: cannot open") && missing.lines().count() == 1, "{missing}");
    let other = vendor.stage.file("other.so");
    compile("vendor.c", &other, &["-shared", "-fPIC", "-DGetPjrtApi=GetAnotherApi"]);
    assert!(play(&other, "sessions").contains("other.so has no GetPjrtApi: it is no library of PJRT;"));
    assert!(play(&library(), "sessions").contains(".so is this library itself;"));
    assert_eq!(play(Path::new(""), "sessions"), "");
    // A host that wants a back end of it is told why there is none.
    let told = play(Path::new("/no/such/plugin.so"), "back_end");
    assert!(
        told.contains("it says: rankscope: there is no back end: RANKSCOPE_PJRT_FORWARD: /no/such/plugin.so: cannot"),
        "{told}"
    );
    let told = play(Path::new(""), "back_end");
    assert!(
        told.contains("there is no back end: name the plugin that is to be forwarded to in RANKSCOPE_PJRT_FORWARD"),
        "{told}"
    );
}
