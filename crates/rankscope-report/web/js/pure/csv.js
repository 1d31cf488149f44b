// Rows as comma-separated values: columns that say how they are called there, with the document's own numbers.

export function csvText(columns, rows) {
  const copied = columns.filter((column) => column.csv);
  const lines = rows.map((row) => copied.map(({ key }) => csvField(key(row))));
  return [copied.map(({ csv }) => csvField(csv)), ...lines].map((fields) => `${fields.join(",")}\r\n`).join("");
}

// A text that a spreadsheet would run as a formula is kept from it by an apostrophe, as is usual.
function csvField(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
