// Ranks by steps as Rust gives them: columns of numbers, in tiles where there are too many. From cells to ranks and steps, and back.

const metricOf = (map, key) => map.metrics.find((one) => one.key === key);

export const mapRows = (map) => Math.ceil(map.ranks.length / map.ranks_per_row);
export const mapColumns = (map) => Math.ceil(map.steps.length / map.steps_per_column);

// The figure of a cell in nanoseconds; null where the rank has no such step.
export function mapValue(map, key, row, column) {
  return metricOf(map, key).values[row][column];
}

export const mapValues = (map, key) => metricOf(map, key).values.flat().filter((value) => value !== null);

// The rank and step whose figures a cell shows.
export function mapCell(map, row, column) {
  const place = map.shown ? map.shown[row][column] : 0;
  return {
    rank: map.ranks[row * map.ranks_per_row + Math.floor(place / map.steps_per_column)] ?? null,
    step: map.steps[column * map.steps_per_column + place % map.steps_per_column] ?? null,
  };
}

// The row of a rank and the column of a step; -1 for what is not in the map.
export const mapRow = (map, rank) => Math.floor(map.ranks.indexOf(rank) / map.ranks_per_row);
export const mapColumn = (map, step) => Math.floor(map.steps.indexOf(step) / map.steps_per_column);

// Ranks of a row, or steps of a column, as first and last.
export function mapSpan(list, per, at) {
  const part = list.slice(at * per, (at + 1) * per);
  return [part[0], part[part.length - 1]];
}

// Places of the cells that are latest, latest first.
export function latestCells(map, most) {
  const cells = [];
  metricOf(map, "lateness").values.forEach((row, y) => row.forEach((value, x) => { if (value > 0) cells.push([value, y, x]); }));
  return cells.sort((a, b) => b[0] - a[0] || a[1] - b[1] || a[2] - b[2]).slice(0, most).map(([, row, column]) => ({ row, column, ...mapCell(map, row, column) }));
}

// Rows in the order of their ranks, or those with most lateness in all first.
export function rowOrder(map, latestFirst) {
  const rows = [...Array(mapRows(map)).keys()];
  if (!latestFirst) return rows;
  const sum = metricOf(map, "lateness").values.map((row) => row.reduce((all, value) => all + Math.max(0, value ?? 0), 0));
  return rows.sort((a, b) => sum[b] - sum[a] || a - b);
}

// The step in which a time lies, on any rank; null where there is none.
export function stepAt(map, at) {
  if (!map) return null;
  const place = map.bounds_ns.findIndex(([begin, end]) => at >= begin && at < end);
  return place < 0 ? null : map.steps[place];
}
