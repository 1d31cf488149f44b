//! Stacks as py-spy and Python's `faulthandler` print them.

use super::Frame;

/// Lines of a thread that are taken: deeper is recursion.
const DEPTH_MAX: usize = 256;

struct Thread {
    is_main: bool,
    frames: Vec<Frame>,
}

/// The main thread's frames, the innermost first; empty where there is none.
pub(super) fn main_thread(text: &str) -> Vec<Frame> {
    let mut threads: Vec<Thread> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Thread ") || line.starts_with("Current thread ") {
            threads.push(Thread { is_main: line.contains("\"MainThread\""), frames: Vec::new() });
        } else if let (Some(thread), Some(frame)) = (threads.last_mut(), frame(line))
            && thread.frames.len() < DEPTH_MAX
        {
            thread.frames.push(frame);
        }
    }
    let is_program = |thread: &&Thread| thread.frames.last().is_some_and(|frame| &*frame.function == "<module>");
    let main = threads.iter().find(|thread| thread.is_main).or_else(|| threads.iter().find(is_program));
    let main = main.or_else(|| threads.iter().max_by_key(|thread| thread.frames.len()));
    main.map(|thread| thread.frames.clone()).unwrap_or_default()
}

/// `  File "gen.py", line 31 in worker`, or `    worker (gen.py:31)`.
fn frame(line: &str) -> Option<Frame> {
    let inner = line.strip_prefix("  ")?.trim();
    let (function, file) = match inner.strip_prefix("File \"") {
        Some(rest) => {
            let (file, rest) = rest.split_once('"')?;
            (rest.rsplit_once(" in ")?.1, file)
        }
        None => {
            let (function, rest) = inner.split_once(" (")?;
            let place = rest.strip_suffix(')')?;
            let file = place.rsplit_once(':').filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
            (function, file.map_or(place, |(file, _)| file))
        }
    };
    Some(Frame { function: function.into(), file: file.into() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PY_SPY: &str = "Process 4711: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 0x7F1A (idle): \"pin\"
    wait (threading.py:320)
    run (threading.py:982)
Thread 4711 (idle): \"MainThread\"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
    worker (gen.py:38)
    <module> (gen.py:60)
";

    const FAULTHANDLER: &str = "Thread 0x00007f1a2b3c4d5e (most recent call first):
  File \"/usr/lib/python3.11/threading.py\", line 320 in wait
  File \"/usr/lib/python3.11/threading.py\", line 1002 in _bootstrap

Thread 0x00007f1a2b3c0000 (most recent call first):
  File \"/usr/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py\", line 2501 in all_reduce
  File \"/job/gen.py\", line 38 in worker
  File \"/job/gen.py\", line 60 in <module>
";

    fn functions(text: &str) -> Vec<String> {
        main_thread(text).iter().map(|frame| frame.function.to_string()).collect()
    }

    #[test]
    fn both_printers_tell_where_the_main_thread_is() {
        assert_eq!(functions(PY_SPY), ["all_reduce", "worker", "<module>"]);
        assert_eq!(functions(FAULTHANDLER), ["all_reduce", "worker", "<module>"]);
        assert_eq!(&*main_thread(PY_SPY)[1].file, "gen.py");
        assert_eq!(&*main_thread(FAULTHANDLER)[1].file, "/job/gen.py");
        assert!(functions("Error: Permission denied\n").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(Thread [ -~]{0,20}\n|  File \"[ -~]{0,30}\n|    [ -~]{0,30}\n|[ -~\n]{0,40}){0,12}") {
            let _frames = main_thread(&text);
        }
    }
}
