//! Collectives, recorded: each as a span that says all that is needed to find it again on the other ranks.

use rankscope_record::live::{self, InCollective, PageOp};
use rankscope_record::{Category, NameId, Scope, Site, SpanGuard, Value, begin_with};

use crate::error::Error;
use crate::ring::Ring;

/// A ring whose every use is recorded.
pub(crate) struct Comm {
    ring: Ring,
    keys: [NameId; 9],
    ranks: u32,
    /// All ranks, as a list.
    members: String,
    sequence: i64,
}

impl Comm {
    pub(crate) fn new(ring: Ring, ranks: u32) -> Self {
        let members: Vec<u32> = (0..ranks).collect();
        Self { ring, keys: KEYS.each_ref().map(Site::id), ranks, members: format!("{members:?}"), sequence: 0 }
    }

    pub(crate) fn all_reduce(&mut self, values: &mut [f32]) -> Result<(), Error> {
        let _span = self.begin(&ALL_REDUCE, "Float", values.len(), values.len());
        self.ring.all_reduce(values).map_err(broken("an all-reduce"))
    }

    pub(crate) fn all_gather(&mut self, own: &[u8]) -> Result<Vec<u8>, Error> {
        let _span = self.begin(&ALL_GATHER, "Byte", own.len(), own.len() * self.ranks as usize);
        self.ring.all_gather(own).map_err(broken("an all-gather"))
    }

    pub(crate) fn barrier(&mut self) -> Result<(), Error> {
        let _span = self.begin(&BARRIER, "Byte", 0, 0);
        self.ring.barrier().map_err(broken("a barrier"))
    }

    fn begin(
        &mut self,
        collective: &'static Collective,
        dtype: &str,
        put_in: usize,
        got_out: usize,
    ) -> (SpanGuard, InCollective) {
        let values = [
            Value::from(collective.name),
            Value::from(dtype),
            Value::from(put_in as i64),
            Value::from(got_out as i64),
            Value::from(self.sequence),
            Value::from(self.ranks),
            Value::from("0"),
            Value::from("default_pg"),
            Value::from(&self.members),
        ];
        let args: [_; 9] = std::array::from_fn(|at| (self.keys[at], values[at]));
        let inside = live::collective(&live::Collective {
            group: "default_pg",
            members: self.ranks,
            sequence: self.sequence as u64,
            op: PageOp::named(collective.name),
            bytes: put_in as u64,
        });
        self.sequence += 1;
        (begin_with(&collective.site, &args), inside)
    }
}

fn broken(collective: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |reason| Error::Collective { collective, reason }
}

struct Collective {
    name: &'static str,
    site: Site,
}

impl Collective {
    const fn new(name: &'static str) -> Self {
        Self { name, site: Site::new(name, Category::COLLECTIVE_COMM).with_scope(Scope::UserScope) }
    }
}

static ALL_REDUCE: Collective = Collective::new("all_reduce");
static ALL_GATHER: Collective = Collective::new("all_gather");
static BARRIER: Collective = Collective::new("barrier");

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
