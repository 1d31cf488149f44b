//! What a file says of itself: the blocks about the part as a whole, its problems, clock readings, exports and tracers.

use rankscope_analyze::RankReport;
use rankscope_collectives::RankCollectives;
use rankscope_job::{About, Export, Fingerprint, GraphCalls, OwnGpu, Part, Place, Rules, SettledTracer};
use rankscope_time::Rank;
use rankscope_trace::{ClockReading, Problem, Problems};

use super::vocabulary::{clock_number, clock_of, numbers};
use super::{StoredPart, block, gpu_clock, kinds};
use crate::error::Error;
use crate::{Columns, Reader, Writer};

pub(super) fn write(writer: &mut Writer, part: &Part, place: Place, rules: &Rules) -> Result<(), Error> {
    write_about(writer, &part.about, place, rules)?;
    write_problems(writer, &part.about.problems)?;
    write_graphs(writer, part.about.graphs)?;
    write_gpu(writer, part.about.gpu.as_ref())?;
    gpu_clock::write(writer, part.about.gpu_clock.as_ref())?;
    let readings = &part.about.clock_readings;
    writer.block(kinds::READINGS, |columns| {
        columns.counts(readings.iter().map(|reading| clock_number(reading.clock)));
        columns.deltas(readings.iter().map(|reading| reading.trace_ns));
        columns.deltas(readings.iter().map(|reading| reading.ns));
        columns.counts(readings.iter().map(|reading| reading.width_ns));
    })?;
    let exports = &part.exports;
    writer.block(kinds::EXPORTS, |columns| {
        columns.strings(exports.iter().map(|export| export.file.as_str()));
        columns.counts(exports.iter().map(|export| u64::from(export.place.file)));
        columns.counts(exports.iter().map(|export| u64::from(export.place.member)));
        columns.counts(exports.iter().map(|export| u64::from(export.spans)));
        columns.wide(&exports.iter().map(|export| export.fingerprint.0).collect::<Vec<_>>());
    })?;
    let tracers = &part.tracers;
    writer.block(kinds::TRACERS, |columns| {
        columns.strings(tracers.iter().map(|tracer| tracer.clock.as_str()));
        columns.counts(tracers.iter().map(|tracer| tracer.knots as u64));
        columns.counts(tracers.iter().map(|tracer| tracer.passed_over as u64));
        columns.counts(tracers.iter().map(|tracer| tracer.steps as u64));
        columns.counts(tracers.iter().map(|tracer| tracer.events));
        columns.counts(tracers.iter().map(|tracer| tracer.extrapolated));
    })
}

/// The part of these pieces and of what the blocks of this module hold.
pub(super) fn read(reader: &Reader<'_>, collectives: RankCollectives, report: RankReport) -> Result<StoredPart, Error> {
    let (rules, place, mut about) = block(reader, kinds::ABOUT, read_about)?;
    about.problems = block(reader, kinds::PROBLEMS, read_problems)?;
    about.graphs = read_graphs(reader)?;
    about.gpu = read_gpu(reader)?;
    about.gpu_clock = gpu_clock::read(reader)?;
    about.clock_readings = block(reader, kinds::READINGS, read_readings)?;
    let exports = block(reader, kinds::EXPORTS, read_exports)?;
    let tracers = block(reader, kinds::TRACERS, read_tracers)?;
    Ok(StoredPart { rules, place, part: Part::from_pieces(about, exports, tracers, collectives, report) })
}

fn write_about(writer: &mut Writer, about: &About, place: Place, rules: &Rules) -> Result<(), Error> {
    let (formats, modes) = (numbers([about.format])?, numbers([rules.classes])?);
    let sources = numbers(about.rank.map(|(_, source)| source))?;
    writer.block(kinds::ABOUT, |columns| {
        columns.counts([
            u64::from(rules.accounting),
            u64::from(place.file),
            u64::from(place.member),
            about.bytes,
            about.events,
        ]);
        columns.bits(&[rules.devices_only, about.is_training, about.has_device_work, about.earlier]);
        columns.enums(&modes);
        columns.strings(rules.patterns.iter().map(String::as_str));
        columns.enums(&formats);
        columns.strings([about.file.as_str()]);
        columns.wide(&[about.fingerprint.0]);
        // What need not be there is a column without rows.
        columns.counts(about.rank.map(|(rank, _)| u64::from(rank.0)));
        columns.enums(&sources);
        columns.counts(about.world_size.map(u64::from));
        columns.strings(about.host.as_deref());
        columns.strings(about.device.as_deref());
        columns.spans(about.bounds_ns.into_iter());
        columns.deltas(about.marked_steps.iter().copied());
    })
}

fn read_about(columns: &mut Columns<'_>) -> Result<(Rules, Place, About), Error> {
    let mut about = About::default();
    let counts = columns.unsigned()?;
    let [accounting, file, member, bytes, events] = columns.exactly(counts)?;
    let place = Place { file: columns.one(file)?, member: columns.one(member)? };
    (about.bytes, about.events) = (bytes, events);
    let bits = columns.bits()?;
    let [devices_only, is_training, has_device_work, earlier] = columns.exactly(bits)?;
    (about.is_training, about.has_device_work, about.earlier) = (is_training, has_device_work, earlier);
    let modes = columns.variants()?;
    let [mode] = columns.exactly(modes)?;
    let mut rules = Rules::new(mode, columns.texts()?, devices_only);
    rules.accounting = columns.one(accounting)?;
    let formats = columns.variants()?;
    [about.format] = columns.exactly(formats)?;
    let files = columns.texts()?;
    [about.file] = columns.exactly(files)?;
    let fingerprints = columns.wide()?;
    about.fingerprint = Fingerprint(columns.exactly::<_, 1>(fingerprints)?[0]);
    let (ranks, sources) = (columns.narrow()?, columns.variants()?);
    columns.fit(ranks.len(), &[sources.len()])?;
    about.rank = at_most_one(columns, ranks.into_iter().map(Rank).zip(sources))?;
    let world_sizes = columns.narrow()?;
    about.world_size = at_most_one(columns, world_sizes)?;
    let hosts = columns.texts()?;
    about.host = at_most_one(columns, hosts)?;
    let devices = columns.texts()?;
    about.device = at_most_one(columns, devices)?;
    let bounds = columns.spans()?;
    about.bounds_ns = at_most_one(columns, bounds)?;
    about.marked_steps = columns.deltas()?;
    Ok((rules, place, about))
}

/// Parts of traces without graphs have no such block, nor have those of earlier versions.
fn write_graphs(writer: &mut Writer, graphs: GraphCalls) -> Result<(), Error> {
    if graphs == GraphCalls::default() {
        return Ok(());
    }
    writer.block(kinds::GRAPHS, |columns| columns.counts([graphs.captures, graphs.launches]))
}

fn read_graphs(reader: &Reader<'_>) -> Result<GraphCalls, Error> {
    let mut graphs = GraphCalls::default();
    for block in reader.blocks(kinds::GRAPHS) {
        let block = block?;
        let mut columns = block.columns();
        let counts = columns.unsigned()?;
        let [captures, launches] = columns.exactly(counts)?;
        columns.end()?;
        graphs = GraphCalls::new(captures, launches);
    }
    Ok(graphs)
}

/// Parts of ranks whose GPU is not known have no such block, nor have those of earlier versions.
fn write_gpu(writer: &mut Writer, gpu: Option<&OwnGpu>) -> Result<(), Error> {
    let Some(gpu) = gpu else { return Ok(()) };
    writer.block(kinds::GPU, |columns| {
        columns.strings([gpu.uuid.as_str()]);
        columns.signed(&[gpu.ahead_of_counter_ns]);
    })
}

fn read_gpu(reader: &Reader<'_>) -> Result<Option<OwnGpu>, Error> {
    if !reader.kinds().any(|kind| kind == kinds::GPU) {
        return Ok(None);
    }
    block(reader, kinds::GPU, |columns| {
        let (uuids, ahead) = (columns.texts()?, columns.signed()?);
        let ([uuid], [ahead_of_counter_ns]) = (columns.exactly(uuids)?, columns.exactly(ahead)?);
        Ok(Some(OwnGpu { uuid, ahead_of_counter_ns }))
    })
}

fn at_most_one<T>(columns: &Columns<'_>, rows: impl IntoIterator<Item = T>) -> Result<Option<T>, Error> {
    let mut rows = rows.into_iter();
    let first = rows.next();
    if rows.next().is_some() { Err(columns.misfit("a column has several rows for one value")) } else { Ok(first) }
}

fn write_problems(writer: &mut Writer, problems: &Problems) -> Result<(), Error> {
    let found = numbers(problems.iter().map(|problem| problem.kind))?;
    writer.block(kinds::PROBLEMS, |columns| {
        columns.enums(&found);
        columns.counts(problems.iter().map(|problem| problem.offset));
        columns.counts(problems.iter().map(|problem| problem.count));
        columns.strings(problems.iter().map(|problem| problem.detail.as_str()));
    })
}

/// A kind comes once, and they are in the order of their first places.
fn read_problems(columns: &mut Columns<'_>) -> Result<Problems, Error> {
    let (found, offsets, counts, details) = (columns.variants()?, columns.unsigned()?, columns.unsigned()?, columns.texts()?);
    columns.fit(found.len(), &[offsets.len(), counts.len(), details.len()])?;
    let mut list: Vec<Problem> = Vec::new();
    for (((kind, offset), count), detail) in found.into_iter().zip(offsets).zip(counts).zip(details) {
        let follows = list.last().is_none_or(|last| (last.offset, last.kind) < (offset, kind));
        if !follows || list.iter().any(|known| known.kind == kind) {
            return Err(columns.misfit("its problems are not in order, or one comes twice"));
        }
        list.push(Problem { offset, kind, count, detail });
    }
    let mut problems = Problems::default();
    list.into_iter().for_each(|one| problems.add_detailed(one.kind, one.offset, one.count, one.detail));
    Ok(problems)
}

fn read_readings(columns: &mut Columns<'_>) -> Result<Vec<ClockReading>, Error> {
    let (clocks, traces, stamps, widths) = (columns.unsigned()?, columns.deltas()?, columns.deltas()?, columns.unsigned()?);
    columns.fit(clocks.len(), &[traces.len(), stamps.len(), widths.len()])?;
    let rows = clocks.into_iter().zip(traces).zip(stamps).zip(widths);
    let reading = |(((clock, trace_ns), ns), width_ns)| {
        let clock = clock_of(clock).ok_or_else(|| columns.misfit("it names a clock that this version does not know"))?;
        Ok(ClockReading { clock, trace_ns, ns, width_ns })
    };
    rows.map(reading).collect()
}

fn read_exports(columns: &mut Columns<'_>) -> Result<Vec<Export>, Error> {
    let labels = columns.texts()?;
    let (files, members, spans) = (columns.narrow()?, columns.narrow()?, columns.narrow()?);
    let fingerprints = columns.wide()?;
    columns.fit(labels.len(), &[files.len(), members.len(), spans.len(), fingerprints.len()])?;
    let places = files.into_iter().zip(members).map(|(file, member)| Place { file, member });
    let rows = labels.into_iter().zip(places).zip(spans).zip(fingerprints);
    let export = |(((file, place), spans), fingerprint)| Export { file, place, spans, fingerprint: Fingerprint(fingerprint) };
    Ok(rows.map(export).collect())
}

fn read_tracers(columns: &mut Columns<'_>) -> Result<Vec<SettledTracer>, Error> {
    let clocks = columns.texts()?;
    let (knots, passed_over, steps) = (columns.narrow()?, columns.narrow()?, columns.narrow()?);
    let (events, extrapolated) = (columns.unsigned()?, columns.unsigned()?);
    columns.fit(clocks.len(), &[knots.len(), passed_over.len(), steps.len(), events.len(), extrapolated.len()])?;
    let maps = knots.into_iter().zip(passed_over).zip(steps);
    let rows = clocks.into_iter().zip(maps).zip(events.into_iter().zip(extrapolated));
    let tracer = |((clock, ((knots, passed_over), steps)), (events, extrapolated))| SettledTracer {
        clock,
        knots,
        passed_over,
        steps,
        events,
        extrapolated,
    };
    Ok(rows.map(tracer).collect())
}
