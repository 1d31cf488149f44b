// One spelling of names and types, as in the terminal (spelling.rs): allreduce is all_reduce, Float is float.

const letters = (text) => text.replace(/[^0-9A-Za-z]/g, "").toLowerCase();

export function spelled(collectives) {
  const spelling = new Map(collectives.groups.filter((g) => g.kind && letters(g.name) === letters(g.kind)).map((g) => [g.name, g.kind]));
  const renamed = (one) => ({ ...one, name: spelling.get(one.name) ?? one.name });
  return {
    ...collectives,
    groups: collectives.groups.map((g) => ({ ...renamed(g), dtype: g.dtype.replace(/^c10::/, "").toLowerCase() })),
    unmatched_list: collectives.unmatched_list.map(renamed),
  };
}
