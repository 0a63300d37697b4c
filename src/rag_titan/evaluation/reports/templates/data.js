"use strict";
/* The data of the questions: read from the page and unpacked. */
const readData = (function () {
  const KINDS = ["text", "list", "chunks", "columns", "budget"];
  const SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

  /* The index is read at once, the lines of the rest only when they are needed. They stand behind the script, so that
     they may be missing until the page is `whole`; what needs them waits with `later`, of each name the last. */
  function readData() {
    const size = Number(document.getElementById("explorer").dataset.piece);
    function reader(name) {
      let pieces = null;
      const cut = [];
      const found = () => (pieces = pieces || [...document.querySelectorAll("script.data-" + name)]);
      const lines = (p) => (cut[p] = cut[p] || found()[p].textContent.split("\n"));
      return { line: (i) => JSON.parse(lines(Math.floor(i / size))[i % size]), all: () => found().flatMap((_, p) => lines(p)).map((line) => JSON.parse(line)) };
    }
    const index = JSON.parse(document.getElementById("data-index").textContent);
    const pages = reader("pages");
    const chunks = reader("chunks");
    const values = reader("values");
    let columns = null;
    const hay = [];
    const places = new Map();
    const waiting = new Map();
    const blocks = (i) => unpacked(pages.line(i), index.words, index.heads[i]);
    const whole = () => document.readyState !== "loading";
    index.ids.forEach((id, i) => { if (!places.has(id)) places.set(id, i); });
    addEventListener("DOMContentLoaded", () => { for (const work of waiting.values()) work(); });
    function chunk(reference) {
      if (typeof reference !== "number") return { id: reference, text: null, document: null, cut: false };
      const [id, text, document, cut] = chunks.line(reference);
      return { id, text, document, cut: cut === 1 };
    }
    return {
      index,
      places,
      size: index.ids.length,
      blocks,
      chunk,
      whole,
      later: (name, work) => waiting.set(name, work),
      forget: (name) => waiting.delete(name),
      columns: () => (columns = columns || values.all().map(column)),
      haystack(i) {
        if (hay[i] === undefined) hay[i] = (index.ids[i] + "\n" + index.heads[i] + "\n" + words(blocks(i))).toLowerCase();
        return hay[i];
      },
      address: (i) => (places.get(index.ids[i]) === i ? "#q=" + encodeURIComponent(index.ids[i]) : "#n=" + i),
    };
  }

  /* A column of values: the place of a question's value among the different ones, -1 for none. */
  function column({ values, texts, codes }) {
    return { values, texts, code: typeof codes === "string" ? (i) => SIGNS.indexOf(codes[i]) : (i) => codes[i] };
  }

  /* A page as it was before it was packed; what stands where is said in html_packing.py. */
  function unpacked([chunks, ...blocks], words, head) {
    const named = (places) => Object.fromEntries(Object.entries(places).map(([place, word]) => [place, words[word]]));
    const groups = (parts, n) => Array.from({ length: Math.ceil(parts.length / n) }, (_, i) => parts.slice(i * n, i * n + n));
    const open = {
      text: (parts) => ({ runs: groups(parts, 2).map(([text, mark]) => [text === 0 ? head : text, words[mark || 0]]) }),
      list: (parts) => ({ items: groups(parts, 2).map(([text, mark]) => [words[mark], typeof text === "string" ? text : text[0] + words[text[1]]]) }),
      chunks: (parts) => ({ items: groups(parts, 3).map(([place, note, ends]) => ({ chunk: chunks[place], note: words[note], places: groups(ends, 2) })) }),
      columns: (parts) => ({ columns: parts.map(([title, k, moved, places, marks, notes, scores]) => ({
        title: words[title], k, moved: moved === 1, chunks: typeof places === "number" ? chunks.slice(0, places) : places.map((place) => chunks[place]),
        marks: named(marks), notes: named(notes), scores: scores.split(" ").map((score) => (score === "-" ? "" : score)),
      })) }),
      budget: ([says, used, max, ...parts]) => ({ says, used, max, parts: groups(parts, 3).map(([place, tokens, mark]) => [chunks[place], tokens, words[mark]]) }),
    };
    return blocks.map(([kind, title, ...parts]) => ({ kind: KINDS[kind], title: words[title], ...open[KINDS[kind]](parts) }));
  }

  function words(blocks) {
    const found = [];
    for (const block of blocks) {
      if (block.kind === "text") found.push(block.runs.map((run) => run[0]).join(""));
      if (block.kind === "list") for (const item of block.items) found.push(item[1]);
    }
    return found.join("\n");
  }

  return readData;
})();
