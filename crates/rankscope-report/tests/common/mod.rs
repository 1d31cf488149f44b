//! Documents as analysis would make them, of every shape the views must draw well.

#![allow(dead_code, reason = "every test file uses its own part")]

pub(crate) mod answers;
pub(crate) mod checked;
pub(crate) mod clocks;
pub(crate) mod compared;
pub(crate) mod past;
pub(crate) mod plans;
pub(crate) mod tables;
pub(crate) mod unpacked;

use rankscope_document::*;

/// A name that tries everything: markup, quotes, a script's end, a terminal escape, a reordering mark.
pub(crate) const HOSTILE: &str =
    "void k<T, (Op)1>(T const&, char*) \"q\" 'a' </script><img src=x onerror=alert(1)><!-- \u{1b}[31m \u{202e}";

pub(crate) const MS: i64 = 1_000_000;
const EPOCH: i64 = 1_795_000_000_123_456_789;

/// Eight GPUs on one host, twelve steps, rank 5 late to most collectives.
pub(crate) fn eight_gpus() -> Document {
    let mut document = job(8, 12, 40);
    document.title = "runs/llama-8b-fsdp".to_owned();
    let last = document.collectives.ranks[5].last;
    document.notes = notes(&[
        (NoteLevel::Finding, &format!("Rank 5 comes last at {last} of 38 matched collectives; the others wait for it.")),
        (
            NoteLevel::Finding,
            "Communication that nothing hides is 17 to 33 % of a rank's time; most of it is waiting for rank 5, not transfer.",
        ),
        (NoteLevel::Caution, "Clocks are as recorded: skews below 42.0 us cannot be told from clock error."),
        (NoteLevel::Problem, "rank 3: 2 unescaped control characters in strings, first at byte 1048576."),
    ]);
    document.collectives.unmatched = 2;
    document.collectives.unmatched_list = vec![UnmatchedCollective {
        name: "broadcast".to_owned(),
        process_group: "default_pg".to_owned(),
        present: vec![0, 1, 2, 3, 4, 5, 6],
        absent: vec![7],
        start_ns: EPOCH + 3 * MS,
    }];
    document.ranks[3].problems =
        vec![Problem { offset: 1 << 20, kind: "control_character".into(), count: 2, detail: "0x07 in a string".to_owned() }];
    document.ranks[2].kernels[3].name = HOSTILE.to_owned();
    document
}

/// Two hosts whose clocks differ, corrected; one rank's trace lacks its device and its steps, one is damaged beyond use.
pub(crate) fn two_nodes() -> Document {
    let mut document = job(16, 60, 120);
    document.title = "/lustre/projects/pretrain/2026-11/runs/moe-64e-two-nodes-with-a-long-path/traces".to_owned();
    document.notes =
        notes(&[(NoteLevel::Finding, "The clocks of node01 run 490 us behind those of node00; they were corrected.")]);
    document.clock.method = "collectives".into();
    document.clock.corrected = true;
    for offset in &mut document.clock.offsets[8..] {
        offset.offset_ns = -490_000 + i64::from(offset.rank) * 300;
        offset.lo_ns = Some(offset.offset_ns - 4_500);
        offset.hi_ns = (offset.rank != 12).then_some(offset.offset_ns + 4_500);
    }
    for pair in &mut document.clock.pairs[7..] {
        (pair.lo_ns, pair.hi_ns, pair.zero_inside) = (-494_500, -485_500, false);
    }
    document.ranks[4].accounting = "host".into();
    document.ranks[4].steps.clear();
    document.ranks[9].time_ns = Time::default();
    document.ranks[9].kernels.clear();
    document.ranks[9].steps.drain(..20);
    document
}

/// Four processes with gloo: no device, everything is host time.
pub(crate) fn four_on_cpu() -> Document {
    let mut document = job(4, 3, 30);
    document.title = "traces/gloo".to_owned();
    document.device_activity = false;
    document.notes = notes(&[
        (NoteLevel::Finding, "Operators compute for 52 to 72 % of the time; collectives take most of the rest."),
        (NoteLevel::Caution, "No device activity was recorded: all times are the host's."),
    ]);
    for rank in &mut document.ranks {
        rank.accounting = "host".into();
        rank.step_source = "host_annotations".into();
        rank.device = None;
        rank.copies = Copies::default();
        rank.kernels =
            vec![kernel("aten::mm", "compute", 96, 210 * MS), kernel("gloo:all_reduce", "communication", 30, 80 * MS)];
    }
    document.collectives.groups = vec![
        CollectiveGroup {
            busbw_gbps_mean: Some(0.412),
            algbw_gbps_mean: Some(0.275),
            ..group("gloo:all_reduce", 4, 28, 26, 16 << 20)
        },
        CollectiveGroup { bytes: None, busbw_gbps_mean: None, algbw_gbps_mean: None, ..group("gloo:barrier", 4, 2, 2, 0) },
    ];
    for instance in &mut document.collectives.instances {
        instance.group = 0;
    }
    document.collectives.unmatched = 2;
    document
}

/// Rank 0 of 8 and nobody else.
pub(crate) fn one_of_eight() -> Document {
    let mut document = job(1, 4, 0);
    document.title = "rank0_trace.json.gz".to_owned();
    document.world_size = Some(8);
    document.missing_ranks = (1..8).collect();
    document.notes = notes(&[(NoteLevel::Caution, "Ranks 1 to 7 have no file, so nothing is said about who is late.")]);
    let alone = |name, bytes| CollectiveGroup {
        matched: 0,
        transfer_ns_mean: None,
        wait_ns_mean: None,
        start_skew_ns_mean: None,
        end_skew_ns_max: None,
        algbw_gbps_mean: None,
        busbw_gbps_mean: None,
        ..group(name, 8, 20, 0, bytes)
    };
    document.collectives = Collectives {
        unmatched: 40,
        groups: vec![alone("_allgather_base", 205 << 20), alone("allreduce", 4)],
        ..Collectives::default()
    };
    document.clock = Clock { method: "as_recorded".into(), ..Clock::default() };
    document
}

/// A job of any size, with a late rank in the middle.
pub(crate) fn job(ranks: u32, steps: i64, instances: usize) -> Document {
    let late = ranks * 5 / 8;
    let mut chance = Chance(u64::from(ranks) + 1);
    Document {
        schema: 1,
        rankscope_version: "0.1.0".to_owned(),
        title: format!("runs/{ranks}-ranks"),
        world_size: Some(ranks),
        device_activity: true,
        classes: "default".into(),
        ranks: (0..ranks).map(|rank| one_rank(rank, ranks, steps, rank == late, &mut chance)).collect(),
        collectives: collectives(ranks, late, instances, &mut chance),
        clock: clock(ranks, &mut chance),
        ..Document::default()
    }
}

fn one_rank(rank: u32, world: u32, steps: i64, late: bool, chance: &mut Chance) -> Rank {
    let mut begin = EPOCH + chance.below(40_000);
    let steps: Vec<Step> = (0..steps)
        .map(|step| {
            let slow = if step == 0 { 40 * MS } else { 0 };
            let time_ns = step_time(late, slow, chance);
            let window_ns = [begin, begin + time_ns.total];
            begin += time_ns.total;
            Step { step, window_ns, time_ns }
        })
        .collect();
    let time_ns = steps.iter().fold(Time::default(), |sum, step| add(sum, step.time_ns));
    Rank {
        rank,
        rank_source: "header".into(),
        world_size: Some(world),
        file: format!("rank{rank}_trace.json.gz"),
        format: "kineto".into(),
        host: Some(format!("node{:02}", rank / 8)),
        device: Some("NVIDIA H100 80GB HBM3".to_owned()),
        bytes: 132_600_000 + u64::from(rank) * 7_919,
        events: 412_345 + u64::from(rank) * 11,
        accounting: "device".into(),
        window_ns: [EPOCH, begin],
        time_ns,
        copies: Copies {
            host_to_device: CopyTime { count: 96, total_ns: 3 * MS, bytes: 412 << 20 },
            memset: CopyTime { count: 960, total_ns: MS, bytes: 0 },
            ..Copies::default()
        },
        step_source: "device_annotations".into(),
        steps,
        kernels: vec![
            kernel(
                "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
                "compute",
                2688,
                402 * MS,
            ),
            kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication", 318, 301 * MS),
            kernel(
                "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>, false, true>(flash::Flash_fwd_params)",
                "compute",
                384,
                122 * MS,
            ),
            kernel(
                "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::MulFunctor<float>>>(int)",
                "compute",
                5120,
                44 * MS,
            ),
            kernel("Memcpy HtoD (Pinned -> Device)", "memcpy", 96, 3 * MS),
        ],
        ..Rank::default()
    }
}

/// A late rank computes longer and waits for nobody; the others wait for it.
fn step_time(late: bool, slow: i64, chance: &mut Chance) -> Time {
    let computation = if late { 71 * MS } else { 55 * MS } + slow + chance.below(2 * MS);
    let exposed_comm = if late { 16 * MS } else { 31 * MS } + chance.below(3 * MS);
    let exposed_memcpy = MS / 2 + chance.below(MS / 4);
    let idle = 6 * MS + chance.below(4 * MS);
    let busy = computation + exposed_comm + exposed_memcpy;
    Time {
        computation,
        exposed_comm,
        exposed_memcpy,
        busy,
        idle,
        total: busy + idle,
        total_comm: exposed_comm + 9 * MS,
        total_memcpy: exposed_memcpy + MS / 8,
    }
}

fn add(a: Time, b: Time) -> Time {
    Time {
        computation: a.computation + b.computation,
        exposed_comm: a.exposed_comm + b.exposed_comm,
        exposed_memcpy: a.exposed_memcpy + b.exposed_memcpy,
        busy: a.busy + b.busy,
        idle: a.idle + b.idle,
        total: a.total + b.total,
        total_comm: a.total_comm + b.total_comm,
        total_memcpy: a.total_memcpy + b.total_memcpy,
    }
}

fn collectives(ranks: u32, late: u32, count: usize, chance: &mut Chance) -> Collectives {
    if count == 0 {
        return Collectives::default();
    }
    let matched = count as u64 * 19 / 20;
    let instances: Vec<CollectiveInstance> = (0..matched as usize)
        .map(|i| {
            let last = if i % 8 == 3 { chance.below(i64::from(ranks)) as u32 } else { late };
            instance(i, last, ranks, chance)
        })
        .collect();
    let mut last_arrivals = std::collections::BTreeMap::new();
    for instance in &instances {
        *last_arrivals.entry(*instance.arrival_order.last().expect("jobs have ranks")).or_insert(0) += 1;
    }
    let arrivals = |rank: u32| {
        let last = last_arrivals.get(&rank).copied().unwrap_or(0);
        RankArrivals {
            rank,
            counts: [("_allgather_base".to_owned(), count as u64)].into(),
            matched,
            last,
            first: if rank == late { 0 } else { matched / u64::from(ranks) },
            wait_ns: if rank == late { 4 * MS } else { 201 * MS - i64::from(rank % 64) * MS },
            delay_ns: last as i64 * 5_670_000,
        }
    };
    Collectives {
        matched,
        unmatched: count as u64 - matched,
        groups: vec![
            group("_allgather_base", ranks, 20, 20, 205 << 20),
            CollectiveGroup {
                busbw_gbps_mean: Some(188.2),
                stay_ns_mean: 2.5e6,
                exposed_ns: 402 * MS,
                ..group("_reduce_scatter_base", ranks, 12, 11, 410 << 20)
            },
            CollectiveGroup {
                dtype: "Float".to_owned(),
                busbw_gbps_mean: Some(0.000_41),
                stay_ns_mean: 2.5e6,
                exposed_ns: 9 * MS,
                transfer_ns_mean: Some(18_600.0),
                ..group("allreduce", ranks, 8, 7, 4)
            },
        ],
        ranks: (0..ranks).map(arrivals).collect(),
        last_arrivals,
        unmatched_list: Vec::new(),
        instances,
    }
}

fn instance(i: usize, last: u32, ranks: u32, chance: &mut Chance) -> CollectiveInstance {
    let skew = 2 * MS + chance.below(7 * MS);
    let arrival_order: Vec<u32> = (0..ranks).filter(|&rank| rank != last).chain([last]).collect();
    let mut wait_ns: Vec<i64> = (0..ranks).map(|_| skew - chance.below(skew / 2)).collect();
    wait_ns.sort_by_key(|&wait| std::cmp::Reverse(wait));
    *wait_ns.last_mut().expect("jobs have ranks") = 0;
    CollectiveInstance {
        group: i % 3,
        start_ns: EPOCH + i as i64 * 31 * MS,
        members: None,
        arrival_order,
        wait_ns,
        transfer_ns: MS + chance.below(MS),
        end_skew_ns: chance.below(300_000),
    }
}

/// `document` with as many ranks of large collectives as analysis lists: of more than 64 those that came first and last.
pub(crate) fn as_listed(mut document: Document) -> Document {
    for instance in &mut document.collectives.instances {
        let all = instance.arrival_order.len();
        if all > 64 {
            instance.members = Some(all as u64);
            instance.arrival_order.drain(8..all - 8);
            instance.wait_ns.drain(8..all - 8);
        }
    }
    document
}

fn clock(ranks: u32, chance: &mut Chance) -> Clock {
    let offsets = (0..ranks)
        .map(|rank| ClockOffset {
            rank,
            node: Some(rank / 8),
            method: "as_recorded".into(),
            offset_ns: 0,
            drift_ppb: 0,
            lo_ns: (rank > 0).then(|| -30_000 - chance.below(60_000)),
            hi_ns: (rank > 0).then(|| 12_000 + chance.below(50_000)),
        })
        .collect();
    let pairs = (1..ranks.min(40))
        .map(|b| ClockPair {
            a: 0,
            b,
            lo_ns: -30_000 - chance.below(60_000),
            hi_ns: 12_000 + chance.below(50_000),
            zero_inside: true,
        })
        .collect();
    Clock { method: "as_recorded".into(), corrected: false, offsets, pairs, ..Clock::default() }
}

fn group(name: &str, ranks: u32, count: u64, matched: u64, bytes: u64) -> CollectiveGroup {
    CollectiveGroup {
        name: name.to_owned(),
        kind: name.trim_start_matches("gloo:").trim_start_matches('_').trim_end_matches("_base").into(),
        dtype: "BFloat16".to_owned(),
        in_elements: Some(bytes / 2),
        bytes: Some(bytes),
        ranks,
        process_group: "default_pg".to_owned(),
        count,
        matched,
        transfer_ns_mean: Some(6_042_118.4),
        wait_ns_mean: Some(4_511_309.7),
        start_skew_ns_mean: Some(11_779_000.2),
        end_skew_ns_max: Some(566_000),
        algbw_gbps_mean: Some(264.0),
        busbw_gbps_mean: Some(231.0),
        stay_ns_mean: 2.5e6,
        exposed_ns: 1_210 * MS,
        waits_for: rankscope_document::WaitsFor::Last,
    }
}

fn kernel(name: &str, class: &str, count: u64, total_ns: i64) -> Kernel {
    Kernel { name: name.to_owned(), class: class.into(), count, total_ns }
}

fn notes(notes: &[(NoteLevel, &str)]) -> Vec<Note> {
    notes.iter().map(|&(level, text)| Note { level, text: text.to_owned() }).collect()
}

/// A fixed sequence that looks uneven enough to draw.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit.max(1) as u64) as i64
    }
}
