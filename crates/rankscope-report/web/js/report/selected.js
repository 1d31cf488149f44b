// What is known of a selection in a report: its figures beside the median rank.
import { formatShare, formatTime, signedTime } from "../pure/format.js";
import { mapCell, mapColumn, mapRow, mapValue } from "../pure/step_map.js";

// What is known of a rank in a step, of a rank, or of a step.
export function figuresOf({ rank, step }, doc) {
  const one = doc.ranks.find((known) => known.rank === rank);
  if (rank !== null && step !== null) return cellFigures(doc.step_map, rank, step);
  if (one) return [one.host?.slice(0, 60), ...rankFigures(one, doc)].filter(Boolean);
  const path = (doc.critical_path ?? []).find((known) => known.step === step);
  return path ? [`critical path ${formatTime(path.length_ns)}, ends on rank ${path.rank}`] : [];
}

function cellFigures(map, rank, step) {
  const [row, column] = [mapRow(map, rank), mapColumn(map, step)];
  const shown = mapCell(map, row, column);
  if (shown.rank !== rank || shown.step !== step) return ["its figures are in report.json; the map shows the latest rank near it"];
  const value = (key) => mapValue(map, key, row, column);
  if (value("total") === null) return ["this rank's trace has no such step"];
  const lateness = value("lateness");
  return [
    ...(lateness === null ? [] : [`${signedTime(lateness)} beside the median rank`]),
    `${formatTime(value("total"))}: computation ${formatTime(value("computation"))}, exposed communication ${formatTime(value("exposed_comm"))}, idle ${formatTime(value("idle"))}`,
  ];
}

function rankFigures({ rank, time_ns: time }, doc) {
  const blame = (doc.blame ?? []).find((known) => known.rank === rank);
  const late = blame && blame.lateness_ns > 0 ? [`late by ${formatTime(blame.lateness_ns)} in all, last at ${blame.last} of ${blame.of} collectives`] : [];
  const shares = time.total > 0 ? [`computation ${formatShare(time.computation, time.total)}, exposed communication ${formatShare(time.exposed_comm, time.total)}, idle ${formatShare(time.idle, time.total)}`] : [];
  return [...late, ...shares];
}
