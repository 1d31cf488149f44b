//! A site at a free port of this machine, over a shelf with one run that says what it is told to.

use std::io::{Cursor, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rankscope_serve::{
    Access, Body, Fault, FileCard, KernelQuery, KernelRow, Kernels, LeftOut, NameQuery, Names, Opened, OperatorQuery,
    OperatorRow, Operators, RunCard, Shelf, Site, Tree, TreeQuery, TreeRow,
};

/// A name that would be markup, and turns what stands beside it.
pub(crate) const HOSTILE: &str = "</td><img src=x onerror=alert(1)>\u{202e}f";

/// The bytes of the timeline.
pub(crate) const TIMELINE: &[u8] = b"a timeline of forty-two bytes, as it were.";

/// One run, `job`. Rank 5 is the one that its report names first, rank 9 has no trace, and rank 8 takes a second to be read.
struct Told;

/// Starts to serve; as long as the process runs.
pub(crate) fn served() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let site = Arc::new(Site::new(Access::loopback(address.port())));
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let site = Arc::clone(&site);
            // Who gives up is gone.
            thread::spawn(move || answer(connection, &site).unwrap_or_default());
        }
    });
    address
}

fn answer(mut connection: TcpStream, site: &Site) -> std::io::Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let response = site.answer(&head, &Told);
    connection.write_all(response.head().as_bytes())?;
    match response.body {
        Body::Bytes(bytes) => connection.write_all(&bytes),
        Body::Part { mut file, .. } => std::io::copy(&mut file, &mut connection).map(|_| ()),
    }
}

fn row(level: usize, name: &str, calls: u64, total_ns: i64, self_ns: i64, device_ns: i64) -> TreeRow {
    let launched = u64::from(device_ns > 0) * calls;
    let name = name.to_owned();
    TreeRow { level, name, kind: "operator", calls, total_ns, self_ns, launched, device_ns, left_out: LeftOut::default() }
}

impl Shelf for Told {
    fn runs(&self) -> Result<Vec<RunCard>, Fault> {
        let timeline_at = "visStart=1&visEnd=9".to_owned();
        let timeline = Some("timeline.pftrace".to_owned());
        Ok(vec![RunCard { name: "job".to_owned(), rank: Some(5), timeline, timeline_at, ..RunCard::default() }])
    }

    fn files(&self, _: &str) -> Result<Vec<FileCard>, Fault> {
        Ok(Vec::new())
    }

    fn open(&self, _: &str, _: &[&str]) -> Result<Opened, Fault> {
        Ok(Opened { bytes: TIMELINE.len() as u64, file: Box::new(Cursor::new(TIMELINE)) })
    }

    fn viewer(&self, _: &[&str]) -> Result<Opened, Fault> {
        Err(Fault::NoFile)
    }

    fn has_viewer(&self) -> bool {
        false
    }

    fn kernels(&self, _: &str, query: &KernelQuery) -> Result<Kernels, Fault> {
        let kernel = |name: &str, operator: Option<&str>| KernelRow {
            name: name.to_owned(),
            class: "compute",
            duration_ns: 5_000,
            operator: operator.map(str::to_owned),
            ..KernelRow::default()
        };
        let kernels = vec![kernel("gemm", Some("aten::mm")), kernel("fill", None)];
        Ok(Kernels { rank: query.rank, step: query.step, side: "device", count: 2, kernels, ..Kernels::default() })
    }

    fn names(&self, _: &str, _: &NameQuery) -> Result<Names, Fault> {
        Ok(Names::default())
    }

    fn operators(&self, _: &str, query: &OperatorQuery) -> Result<Operators, Fault> {
        let named = |name: &str| OperatorRow { name: name.to_owned(), kind: "operator", calls: 2, ..OperatorRow::default() };
        let operators = vec![named("aten::linear"), named(HOSTILE)];
        Ok(Operators { rank: query.rank, step: query.step, count: 2, operators, ..Operators::default() })
    }

    fn tree(&self, _: &str, query: &TreeQuery) -> Result<Tree, Fault> {
        let TreeQuery { rank, step, operator, .. } = query.clone();
        match rank {
            8 => thread::sleep(Duration::from_secs(1)),
            9 => return Err(Fault::NoTraces { why: "raw/ is empty".to_owned() }),
            _ => {}
        }
        let mut rest = row(1, "aten::view", 3, 1_000, 1_000, 0);
        rest.left_out = LeftOut { calls: 7, total_ns: 300, ..LeftOut::default() };
        let callees = vec![
            row(0, &operator, 2, 100_000, 20_000, 90_000),
            row(1, "aten::mm", 2, 79_000, 60_000, 90_000),
            row(2, "cudaLaunchKernel", 2, 19_000, 19_000, 90_000),
            rest,
        ];
        let callers = vec![row(0, &operator, 2, 100_000, 0, 90_000), row(1, HOSTILE, 2, 100_000, 100_000, 90_000)];
        Ok(Tree { rank, step, operator, instances: 2, nested: 0, callers, callees })
    }
}
