// Tables that sort by a click on a header, and show the first rows until asked for all.

// columns: { head, text, key(row), cell(row), tip, first: "ascending" | "descending" }; absent keys sort last either way.
function table({ columns, rows, sort, limit = 32, label }) {
  let { column, ascending } = sort ? { column: sort[0], ascending: sort[1] === "ascending" } : { column: -1, ascending: true };
  let all = rows.length <= limit + 4;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "plain", onclick: () => { all = true; draw(); } });

  const heads = columns.map((c, i) => {
    const attributes = { scope: "col", class: c.text ? "text" : null, title: c.tip };
    if (!c.key) return h("th", attributes, c.head);
    return h("th", attributes, h("button", { type: "button", onclick: () => sortBy(i) }, c.head));
  });

  function sortBy(i) {
    ascending = i === column ? !ascending : columns[i].text || columns[i].first === "ascending";
    column = i;
    draw();
  }

  function sorted() {
    if (column < 0) return rows;
    const key = columns[column].key;
    const sign = ascending ? 1 : -1;
    const missing = (v) => v === null || v === undefined || Number.isNaN(v);
    return [...rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
    });
  }

  function draw() {
    heads.forEach((head, i) => (i === column ? head.setAttribute("aria-sort", ascending ? "ascending" : "descending") : head.removeAttribute("aria-sort")));
    const shown = all ? sorted() : sorted().slice(0, limit);
    body.replaceChildren(...shown.map((row) => h("tr", {}, ...columns.map((c) => h("td", { class: [c.text && "text", c.class].filter(Boolean).join(" ") || null }, c.cell(row))))));
    more.hidden = all;
    more.textContent = `Show all ${formatCount(rows.length)} (${formatCount(shown.length)} shown)`;
  }

  draw();
  const element = h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, ...heads)), body);
  return h("div", {}, h("div", { class: "scroll" }, element), more);
}
