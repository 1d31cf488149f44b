// A report's document as its views take it, out of what Rust put into the page (src/html/shown.rs).
import { lists, records, recordsOf, unpacked } from "./packed.js";
import { spelled } from "./spelling.js";

// Columns of integers as lists of them.
const columnsOf = (packed) => Object.fromEntries(Object.entries(packed).map(([key, list]) => [key, unpacked(list)]));

export function reportOf(page) {
  const { names } = page;
  return {
    ...page,
    step_map: page.step_map && mapOf(page.step_map),
    ranks: ranksOf(page.ranks, names),
    blame: records(page.blame),
    budgets: records(page.budgets),
    critical_path: pathsOf(page.critical_path, names),
    collectives: spelled(collectivesOf(page.collectives)),
    kernels: records(page.kernels),
    clock: { ...page.clock, offsets: records(page.clock.offsets), pairs: records(page.clock.pairs), gpus: records(page.clock.gpus) },
  };
}

function mapOf(map) {
  const [steps, begins, ends] = [map.steps, map.begins_ns, map.ends_ns].map(unpacked);
  const columns = Math.ceil(steps.length / map.steps_per_column);
  const inRows = (packed) => {
    const cells = unpacked(packed);
    return Array.from({ length: cells.length / columns }, (_, row) => cells.slice(row * columns, (row + 1) * columns));
  };
  return {
    ...map,
    steps,
    ranks: unpacked(map.ranks),
    bounds_ns: begins.map((begin, at) => [begin, ends[at]]),
    shown: map.shown && inRows(map.shown),
    metrics: map.metrics.map(({ key, values }) => ({ key, values: inRows(values) })),
  };
}

function ranksOf({ about, times, copies, kernels: { lengths, ...columns } }, names) {
  const [time, run] = [records(times), columnsOf(columns)];
  const kernels = lists(recordsOf({ ...run, name: namesAt(run.name, names), class: namesAt(run.class, names) }), unpacked(lengths));
  return records(about).map((rank, at) => ({ ...rank, time_ns: time[at], copies: records(copies[at]), kernels: kernels[at] }));
}

const namesAt = (places, names) => places.map((place) => names[place]);

function pathsOf({ classes, by_class, top, slack, ...columns }, names) {
  const paths = recordsOf(columnsOf(columns));
  const times = unpacked(by_class);
  const [longest, nearly] = [top, slack].map(({ lengths, ...parts }) => {
    const read = columnsOf(parts);
    for (const key of ["name", "kernel", "class"]) if (key in read) read[key] = namesAt(read[key], names);
    return lists(recordsOf(read), unpacked(lengths));
  });
  const byClass = (at) => Object.fromEntries(classes.map((key, one) => [key, times[at * classes.length + one] ?? 0]));
  return paths.map((path, at) => ({ ...path, by_class: byClass(at), top: longest[at], slack: nearly[at] }));
}

function collectivesOf(page) {
  return { ...page, groups: records(page.groups), ranks: records(page.ranks), unmatched_list: records(page.unmatched_list), instances: instancesOf(page.instances) };
}

// Ranks of an instance in the order in which they came: those that waited longest first, and the one that is known to have come last.
function instancesOf({ sets, wait_ns, set, last, ...columns }) {
  const ranks = sets.map(unpacked);
  const [places, latest] = [unpacked(set), unpacked(last)];
  const waits = lists(unpacked(wait_ns), places.map((place) => ranks[place].length));
  return recordsOf(columnsOf(columns)).map((instance, at) => {
    const order = waits[at].map((_, place) => place).sort((a, b) => Number(a === latest[at]) - Number(b === latest[at]) || waits[at][b] - waits[at][a]);
    return { ...instance, arrival_order: order.map((place) => ranks[places[at]][place]), wait_ns: order.map((place) => waits[at][place]) };
  });
}
