// Rows of ranks that are alike become one: that of the middle rank, which knows how many it stands for.

// `alike` is { ratio, rank, ranks } or null. The row that stands for others has them as `folded`.
export function foldRows(rows, alike) {
  if (!alike) return rows;
  const among = new Set(alike.ranks);
  return rows.filter((row) => !among.has(row.rank) || row.rank === alike.rank).map((row) => (row.rank === alike.rank ? { ...row, folded: alike } : row));
}
