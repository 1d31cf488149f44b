// Rising whole numbers in few words: neighbours as a run.

/** @param {number[]} numbers */
export function runsOf(numbers) {
  const runs = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first} to ${last}`)).join(", ");
}
