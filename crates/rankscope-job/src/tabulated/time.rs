//! Launches, queues, annotations, steps and idle time.

use rankscope_analyze::Side;
use rankscope_document::{
    AccountingSide, AnnotationSummary, IdleBreakdown, IdleGapSummary, InferenceSteps, JaxStep, LaunchSummary, QueuePoint,
    QueueSummary, StreamIdle,
};
use rankscope_tables::{
    AnnotationRow, CallRow, Idle, IdleGapRow, InferenceEngine, InferenceRow, JaxStepRow, Level, Phase, QueueRow,
};

pub(super) fn launch(row: &CallRow) -> LaunchSummary {
    LaunchSummary {
        name: row.name.clone(),
        count: row.call.spread.count,
        work: row.work.spread.count,
        call_min_ns: row.call.spread.min_ns,
        call_median_ns: row.call.median_ns,
        call_mean_ns: row.call.spread.mean_ns(),
        call_max_ns: row.call.spread.max_ns,
        delay_min_ns: row.delay.spread.min_ns,
        delay_median_ns: row.delay.median_ns,
        delay_mean_ns: row.delay.spread.mean_ns(),
        delay_max_ns: row.delay.spread.max_ns,
        work_min_ns: row.work.spread.min_ns,
        work_median_ns: row.work.median_ns,
        work_mean_ns: row.work.spread.mean_ns(),
        work_max_ns: row.work.spread.max_ns,
        shorter_work: row.shorter_work,
        long_calls: row.long_calls,
        late_starts: row.late_starts,
    }
}

pub(super) fn queue(row: &QueueRow) -> QueueSummary {
    QueueSummary {
        stream: row.stream.clone(),
        count: row.count,
        most: row.most,
        mean: row.mean(),
        waited_ns: row.waited_ns,
        window_ns: row.window_ns,
        blocked_ns: row.blocked_ns,
    }
}

pub(super) fn queue_points(queues: &[(String, Vec<Level>)]) -> Vec<QueuePoint> {
    let points = queues.iter().flat_map(|(stream, levels)| levels.iter().map(move |level| (stream, level)));
    points.map(|(stream, level)| QueuePoint { stream: stream.clone(), at_ns: level.at_ns, queued: level.level }).collect()
}

pub(super) fn annotation(row: &AnnotationRow) -> AnnotationSummary {
    AnnotationSummary {
        side: match row.side {
            Side::Device => AccountingSide::Device,
            Side::Host => AccountingSide::Host,
        },
        name: row.name.clone(),
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
        kernel_ns: row.kernel_ns,
    }
}

pub(super) fn inference(row: &InferenceRow) -> InferenceSteps {
    let engine = match row.engine {
        InferenceEngine::Vllm => "vllm",
        InferenceEngine::Sglang => "sglang",
        _ => "other",
    };
    let phase = match row.phase {
        Phase::Prefill => "prefill",
        Phase::Decode => "decode",
        _ => "mixed",
    };
    InferenceSteps {
        engine: engine.to_owned(),
        phase: phase.to_owned(),
        requests: row.requests,
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
        tokens: row.tokens,
        ns_per_token: row.ns_per_token(),
        kernel_ns: row.kernel_ns,
    }
}

pub(super) fn idle(idle: &Idle) -> IdleBreakdown {
    let stream = |(stream, idle): &(String, rankscope_tables::IdleTime)| StreamIdle {
        stream: stream.clone(),
        host_wait_ns: idle.host_wait_ns,
        kernel_wait_ns: idle.kernel_wait_ns,
        other_ns: idle.other_ns,
    };
    IdleBreakdown {
        host_wait_ns: idle.whole.host_wait_ns,
        kernel_wait_ns: idle.whole.kernel_wait_ns,
        other_ns: idle.whole.other_ns,
        streams: idle.streams.iter().map(stream).collect(),
    }
}

pub(super) fn idle_gap(row: &IdleGapRow) -> IdleGapSummary {
    let gap = row.gap.as_ref();
    IdleGapSummary {
        class: if row.is_macro { "macro" } else { "micro" }.to_owned(),
        cause: row.cause.name().to_owned(),
        count: row.count,
        sum_ns: row.sum_ns,
        max_ns: row.max_ns,
        at_ns: gap.map(|gap| gap.at_ns),
        before: gap.map(|gap| gap.before.clone()),
        after: gap.map(|gap| gap.after.clone()),
        annotation: gap.and_then(|gap| gap.annotation.clone()),
        host: row.host.as_ref().and_then(|host| host.name.clone()),
        host_ns: row.host.as_ref().map(|host| host.ns),
    }
}

pub(super) fn jax_step(row: &JaxStepRow) -> JaxStep {
    JaxStep {
        step: row.step,
        step_time_ns: row.step_ns,
        device_compute_ns: row.device_compute_ns,
        collectives_ns: row.collectives_ns,
        device_to_device_ns: row.device_to_device_ns,
        infeed_ns: row.infeed_ns,
        outfeed_ns: row.outfeed_ns,
        compile_ns: row.compile_ns,
        kernel_launch_ns: row.launch_ns,
        host_compute_ns: row.host_compute_ns,
        other_ns: row.other_ns,
        input_bound_share: row.input_bound_share(),
        source: row.source.name().to_owned(),
    }
}
