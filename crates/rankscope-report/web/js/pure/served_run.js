// Where a page is that rankscope serve shows: the run that it is of, by the address of its own page. None where it was opened from disk.
export function servedRun(address) {
  const { protocol, pathname } = new URL(address);
  const run = /^\/runs\/([^/]+)\/files\//.exec(pathname);
  return run !== null && /^https?:$/.test(protocol) ? `/runs/${run[1]}/` : null;
}

// The call tree of an operator there.
export function treeAddress(run, operator, rank) {
  try {
    const name = encodeURIComponent(operator);
    // The server takes no longer addresses.
    return run !== null && operator !== "" && name.length <= 3500 ? `${run}#operator=${name}${rank === null ? "" : `&rank=${rank}`}` : null;
  } catch {
    // Half of a pair of surrogates has no address.
    return null;
  }
}
