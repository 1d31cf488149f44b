//! The thread that communicates, as training frameworks have one: collectives in the order they are asked for, beside what the
//! training thread computes, each recorded with what is needed to find it again on the other ranks.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use rankscope_record::{Category, NameId, Scope, Site, SpanGuard, Value, begin_with, set_thread_name};

use super::ring::Ring;

/// A collective that is wanted.
pub(super) enum Ask {
    /// The sum of these over all ranks.
    AllReduce(Vec<f32>),
    /// Everybody's bytes.
    AllGather(Vec<u8>),
    /// Nothing but that all have come.
    Barrier,
}

/// What came of it.
pub(super) enum Answer {
    /// The sum.
    Reduced(Vec<f32>),
    /// All bytes, in order of ranks.
    Gathered(Vec<u8>),
    /// All had come.
    Passed,
}

/// The thread, seen from outside.
pub(super) struct Comm {
    asks: Sender<Ask>,
    answers: Receiver<Answer>,
    thread: JoinHandle<Result<()>>,
}

impl Comm {
    /// Starts it.
    pub(super) fn start(ring: Ring, ranks: u32) -> Result<Self> {
        let (asks, asked) = channel();
        let (answered, answers) = channel();
        let communicate = move || {
            set_thread_name("communication");
            communicate(ring, &Group::new(ranks), &asked, &answered)
        };
        let thread = std::thread::Builder::new().name("communication".to_owned()).spawn(communicate);
        Ok(Self { asks, answers, thread: thread.context("there is no thread to communicate")? })
    }

    /// Wants a collective; its answer comes after those of all wanted before.
    pub(super) fn ask(&self, ask: Ask) {
        // A thread that has gone says why when its answer is missed.
        let _gone = self.asks.send(ask);
    }

    /// The next answer.
    pub(super) fn answer(&self) -> Result<Answer> {
        self.answers.recv().map_err(|_| anyhow!("the ring is broken"))
    }

    /// Waits until the thread has gone, and says why it went.
    pub(super) fn finish(self) -> Result<()> {
        drop(self.asks);
        self.thread.join().map_err(|_| anyhow!("the communicating thread panicked"))?
    }
}

fn communicate(mut ring: Ring, group: &Group, asked: &Receiver<Ask>, answered: &Sender<Answer>) -> Result<()> {
    for (sequence, ask) in asked.iter().enumerate() {
        let answer = match ask {
            Ask::AllReduce(mut values) => {
                let _span = group.begin(&ALL_REDUCE, "allreduce", "Float", values.len(), values.len(), sequence);
                ring.all_reduce(&mut values).context("in an all-reduce")?;
                Answer::Reduced(values)
            }
            Ask::AllGather(own) => {
                let all = own.len() * group.ranks as usize;
                let _span = group.begin(&ALL_GATHER, "all_gather", "Byte", own.len(), all, sequence);
                Answer::Gathered(ring.all_gather(&own).context("in an all-gather")?)
            }
            Ask::Barrier => {
                let _span = group.begin(&BARRIER, "barrier", "Byte", 0, 0, sequence);
                ring.barrier().context("in a barrier")?;
                Answer::Passed
            }
        };
        if answered.send(answer).is_err() {
            break;
        }
    }
    Ok(())
}

const fn collective(name: &'static str) -> Site {
    Site::new(name, Category::COLLECTIVE_COMM).with_scope(Scope::UserScope)
}

static ALL_REDUCE: Site = collective("all_reduce");
static ALL_GATHER: Site = collective("all_gather");
static BARRIER: Site = collective("barrier");

/// The keys under which torch's profiler tells the same.
static KEYS: [Site; 9] = [
    Site::key("Collective name"),
    Site::key("dtype"),
    Site::key("In msg nelems"),
    Site::key("Out msg nelems"),
    Site::key("Seq"),
    Site::key("Group size"),
    Site::key("Process Group Name"),
    Site::key("Process Group Description"),
    Site::key("Process Group Ranks"),
];

/// What is the same for all collectives.
struct Group {
    ranks: u32,
    keys: [NameId; 9],
    list: String,
}

impl Group {
    fn new(ranks: u32) -> Self {
        let list: Vec<u32> = (0..ranks).collect();
        Self { ranks, keys: KEYS.each_ref().map(Site::id), list: format!("{list:?}") }
    }

    fn begin(&self, site: &'static Site, name: &str, dtype: &str, put_in: usize, got_out: usize, sequence: usize) -> SpanGuard {
        let values = [
            Value::from(name),
            Value::from(dtype),
            Value::from(put_in as i64),
            Value::from(got_out as i64),
            Value::from(sequence as i64),
            Value::from(self.ranks),
            Value::from("0"),
            Value::from("default_pg"),
            Value::from(&self.list),
        ];
        let args: [_; 9] = std::array::from_fn(|at| (self.keys[at], values[at]));
        begin_with(site, &args)
    }
}
