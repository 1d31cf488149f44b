// What Rust put into the page: the document, and of what there is more than the page was given.

const parsed = (id) => JSON.parse(document.getElementById(id).textContent);

export const given = parsed("document");

// Full lengths of the lists the page was given only a part of; zero where it has all.
export const cuts = parsed("cuts");
