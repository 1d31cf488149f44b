//! Seeds that are text and written out here: what no writer of ours makes.

/// Lines of Inspector's: a collective and a message with times, one without, and what lines of newer releases share.
pub(crate) fn inspector() -> Vec<Vec<u8>> {
    let header = r#""header": {"id": "0xa", "comm_name": "dp", "rank": 1, "n_ranks": 4, "nnodes": 1}, "metadata":
        {"inspector_output_format_version": "v4.0", "dump_timestamp_us": 2000000, "hostname": "h", "pid": 7}"#
        .replace('\n', " ");
    let times = r#"{"coll_start_ts": 1000000, "coll_stop_ts": 1000001, "kernel_events": [{"kernel_start_ts": 1000002, "kernel_stop_ts": 1000009}]}"#;
    let collective = |more: &str| {
        format!(
            r#""coll_perf": {{"coll": "AllReduce", "coll_sn": 3, "coll_msg_size_bytes": 64, "coll_exec_time_us": 7{more}}}"#
        )
    };
    let timed = collective(&format!(r#", "coll_timing_source": "kernel_gpu", "event_trace_ts": {times}"#));
    let lines = [
        format!("{{{header}, {timed}}}"),
        format!("{{{header}, {}}}", collective("")),
        format!(r#"{{{header}, "dump_stats": {{"coll_dropped_since_last_dump": 5}}}}"#),
        format!("{{{timed}}}"),
        format!(r#"{{"p2p_perf": {{"p2p": "Send", "p2p_sn": 1, "p2p_peer": 2, "event_trace_ts": {times}}}}}"#),
    ];
    vec![lines.join("\n").into_bytes(), lines[0].clone().into_bytes()]
}

/// A process with a record of each sort that rocprofv3 traces; whole, and with its records before what describes them.
pub(crate) fn rocprof() -> Vec<Vec<u8>> {
    let described = r#""metadata": {"node": {"hostname": "a"}, "pid": 1}, "agents": [{"id": {"handle": 2}, "type": 2, "name": "gfx942",
        "product_name": "AMD Instinct MI300X", "logical_node_type_id": 0}], "strings": {"buffer_records": [{"kind": "API", "operations":
        ["hipLaunchKernel", "MEMORY_COPY_HOST_TO_DEVICE", "roctxMarkA"]}], "marker_api": [{"key": 5, "value": "step"}]},
        "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "gemm(int)", "kernel_name": "gemm.kd"}]"#;
    let record = |operation: u8, more: &str| {
        format!(
            r#"[{{"kind": 0, "operation": {operation}, "thread_id": 1, "correlation_id": {{"internal": 5, "external": 0}}, "start_timestamp":
            1000000000000001, "end_timestamp": 1000000000000009{more}}}]"#
        )
    };
    let dispatch = r#", "dispatch_info": {"agent_id": {"handle": 2}, "queue_id": {"handle": 1}, "kernel_id": 3, "dispatch_id": 1,
        "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 640, "y": 1, "z": 1}}, "stream_id": {"handle": 4}"#;
    let copy = r#", "src_agent_id": {"handle": 1}, "dst_agent_id": {"handle": 2}, "bytes": 64, "stream_id": {"handle": 4}"#;
    let records = format!(
        r#""buffer_records": {{"kernel_dispatch": {}, "hip_api": {}, "memory_copy": {}, "marker_api": {}, "pc_sample_host_trap": [{{}}]}}"#,
        record(0, dispatch),
        record(0, ""),
        record(1, copy),
        record(2, "")
    );
    let file = |members: [&str; 2]| format!(r#"{{"rocprofiler-sdk-tool": [{{{}}}]}}"#, members.join(", ")).into_bytes();
    vec![file([described, &records]), file([&records, described])]
}

/// A line of each sort in files of clocks, and a log of packets.
pub(crate) fn clock_files() -> Vec<Vec<u8>> {
    let header = r#"{"meta":true,"node_id":1,"host_minus_raw_ns":1790000000000000000,"schema":1,"run_id":"a","clock":"tai","ts_source":"sw"}"#;
    let edge = r#"{"dst":0,"alpha":1e-6,"beta":5.5,"pairs":40,"lost":2,"x0_ns":1790000000000000500,"offset_ns":-3000,"skew_ppb":1000.5,
        "bound_lo_ns":-4000,"bound_hi_ns":-2000,"skew_lo_ppb":900,"skew_hi_ppb":1100,"start_ns":1790000000000000001,"end_ns":1790000000000000900,
        "sigma_ns":7.5,"rtt_min_ns":40000,"points_fwd":40,"points_rev":39,"events":[{"kind":"step","at_ns":1790000000000000700,"size_ns":50}]}"#
        .replace('\n', "");
    let window = format!(
        r#"{{"window_start_ns":1790000000000000000,"window_end_ns":1790000000000001000,"window_id":3,"round_id":7,"node_id":1,"edges":[{edge}]}}"#
    );
    let offset = r#"{"round_id":7,"window_id":3,"node_id":1,"window_start_ns":1790000000000000000,"window_end_ns":1790000000000001000,"offset_ns":-3000,
        "at_ns":1790000000000000500,"drift_ppm":1.5,"skew_ppb":1500,"bound_lo_ns":-4000,"bound_hi_ns":-2000,"residual":3.5,"reachable":true,"converged":true}"#
        .replace('\n', "");
    let pairs =
        r#"{"clock":"rocprofiler","scope":"devices","tracer_clock_ns":5,"sys_clock_ns":1790000000000000005,"half_width_ns":9}"#;
    let log = "seq\ta_tx_ns\tb_rx_ns\tb_tx_ns\ta_rx_ns\n0\t1000\t2000\t2100\t3000\n0\t1005\t2005\t2105\t3005\n";
    let lines = |lines: &[&str]| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>().into_bytes();
    let both = [header, &window, &window, header, pairs];
    vec![
        lines(&both),
        lines(&[header, &offset, &offset]),
        lines(&[header, pairs, pairs, header, pairs]),
        log.as_bytes().to_vec(),
    ]
}

/// What NCCL's RAS service answers, as JSON and as text, and an event.
pub(crate) fn ras() -> Vec<Vec<u8>> {
    let rank = |rank: u32| {
        format!(r#"{{"rank": {rank}, "host": "10.0.0.1", "pid": 1{rank}, "collective_counts": {{"AllReduce": {rank}}}}}"#)
    };
    let missing = r#"{"rank": 2, "host": "10.0.0.2", "pid": 12, "status": {"unresponsive": true, "considered_dead": false}}"#;
    let answer = format!(
        r#"{{"nccl_version": "2.28.9", "communicators": [{{"hash": "0xa", "size": 3, "ranks": [{}, {}], "missing_ranks": [{missing}]}}]}}"#,
        rank(0),
        rank(1)
    );
    let text = "NCCL version 2.28.9 compiled with CUDA 12.9\nCommunicators... (0.00s)\n=============\n\nGroup     Comms     Nodes     Ranks\n  #\n  0         1         1         2\n\nErrors\n======\n\nWarnings\n========\n\n#0-0 (0a) MISMATCH\n  Communicator ranks have different collective operation counts\n  1 ranks have launched up to operation 5\n";
    let event = concat!(
        r#"{"event": "PEER_DEAD", "timestamp": "2026-01-01 00:00:00", "peer": {"host": "10.0.0.2", "pid": 12}"#,
        ",\n  \"details\": \"a \"quoted\" word\"\n}"
    );
    [&answer, text, event].map(|seed| seed.as_bytes().to_vec()).to_vec()
}

#[cfg(test)]
mod tests {
    use rankscope_clock::{files, probe_log};
    use rankscope_hang::{RasAnswer, RasEvent};

    /// What is damaged to begin with gets no further than that.
    #[test]
    fn files_of_clocks_and_answers_of_ras_are_good_before_they_are_changed() {
        let [windows, offsets, snapshots, log] = &super::clock_files()[..] else { panic!("there are four") };
        let windows = files::read_windows("seed", windows);
        assert_eq!(
            (windows.windows.len(), windows.windows[0].edges.len(), windows.damaged.len()),
            (2, 1, 1),
            "the last is no window"
        );
        let offsets = files::read_offsets(offsets);
        assert_eq!((offsets.rows.len(), offsets.damaged.len()), (2, 0));
        let snapshots = files::read_snapshots(snapshots);
        assert_eq!((snapshots.clocks["rocprofiler"].pairs.len(), snapshots.damaged.len()), (3, 0));
        let log = probe_log::parse(log);
        assert_eq!((log.exchanges.len(), log.problems.len()), (1, 0));
        let [json, text, event] = &super::ras()[..] else { panic!("there are three") };
        assert!(RasAnswer::read(json).is_ok());
        assert!(RasAnswer::read(text).is_ok() && RasEvent::read(event).is_ok());
    }
}
