(function () {
  const PAGE = 50;
  const TAGGED = ["found", "missing", "supported", "contradicted", "not supported"];
  const byId = (id) => document.getElementById(id);

  /* Every text of the data becomes a text node, here and nowhere else. */
  function element(name, options, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(options || {})) {
      if (value === true) made.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, String(value));
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  function drawn(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, String(value));
    return made;
  }

  /* The theme: that of the system until somebody chooses; remembered where the browser lets a file remember. */
  function startTheme() {
    const root = document.documentElement;
    const button = byId("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const say = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", "Switch to the " + (dark() ? "light" : "dark") + " theme"); };
    try { const kept = localStorage.getItem("rag-titan-theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch (error) { /* not allowed here */ }
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("rag-titan-theme", root.dataset.theme); } catch (error) { /* not allowed here */ }
      say();
    });
    system.addEventListener("change", say);
    say();
  }

  /* What the page prints with everything open, it closes again. */
  function startPrinting() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("details:not(.how):not([open])")].filter((d) => !d.closest("#explorer"));
      for (const details of opened) details.open = true;
    });
    addEventListener("afterprint", () => { for (const details of opened) details.open = false; opened = []; });
  }

  /* The parts of a question's page, one function a kind of block. */
  function runs(pairs) {
    return pairs.map(([text, mark]) => (mark ? element("mark", { class: mark, title: MARKS[mark] }, text) : text));
  }

  const MARKS = { number: "a number that the context lacks", citation: "a citation outside the context", gold: "evidence" };

  function marked(text, places) {
    const found = [];
    let at = 0;
    for (const [start, end] of places) {
      const first = Math.max(at, start);
      const last = Math.min(end, text.length);
      if (first >= last) continue;
      if (first > at) found.push([text.slice(at, first), ""]);
      found.push([text.slice(first, last), "gold"]);
      at = last;
    }
    if (at < text.length) found.push([text.slice(at), ""]);
    return element("div", { class: "text", dir: "auto" }, ...runs(found));
  }

  function chunkText(chunk, places) {
    if (chunk.text === null) return element("p", { class: "note" }, "The text of this chunk is not in the report.");
    const box = element("div", { class: "opened" });
    const about = [chunk.document === null ? null : "document " + chunk.document, chunk.cut ? "cut around the evidence" : null].filter(Boolean);
    if (about.length) box.append(element("p", { class: "caption", dir: "auto" }, about.join("; ")));
    box.append(marked(chunk.text, places || []));
    return box;
  }

  function shorten(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

  /* A chunk's name that opens to its text. */
  function opening(data, reference, mark, note, marks) {
    const chunk = data.chunk(reference);
    const names = [element("bdi", {}, shorten(chunk.id, 80))];
    if (mark) names.push(" ", element("b", { class: "tag" }, mark === "gold" ? "evidence" : "part of it"));
    if (note) names.push(" ", element("small", {}, note));
    if (chunk.text === null) return names;
    const details = element("details", {}, element("summary", {}, ...names));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(chunkText(chunk, marks.get(reference)));
    });
    return [details];
  }

  const DRAW = {
    text: (block) => [element("div", { class: block.title === "Question" ? "text question" : "text", dir: "auto" }, ...runs(block.runs)), legend(block.runs)],
    list: (block) => [element("ul", { class: block.items.length === 1 ? "items one" : "items" }, ...block.items.map(([mark, text]) => {
      const word = TAGGED.includes(mark) ? element("b", { class: "tag" }, mark) : null;
      return element("li", { class: mark, dir: "auto" }, word, word ? " " : null, text);
    }))],
    chunks: (block, data) => block.items.map((item) => {
      const chunk = data.chunk(item.chunk);
      return element("div", { class: "chunk" }, element("p", { class: "caption" }, element("bdi", {}, shorten(chunk.id, 160)), ": " + item.note), chunkText(chunk, item.places));
    }),
    columns: (block, data, marks) => [element("div", { class: "columns" }, ...block.columns.map((column) => element("div", {}, element("h5", {}, column.title), ranking(column, column.moved ? block.columns[0].chunks : [], data, marks))))],
    budget: (block, data, marks) => [element("p", {}, block.says), budgetBar(block), element("ol", { class: "context" }, ...block.parts.map(([reference, tokens, mark]) => {
      return element("li", { class: mark }, ...opening(data, reference, mark, tokens === null ? "" : tokens.toLocaleString("en") + " tokens", marks));
    }))],
  };

  function legend(pairs) {
    const kinds = [...new Set(pairs.map((pair) => pair[1]).filter(Boolean))];
    if (!kinds.length) return null;
    return element("p", { class: "caption" }, "Marked: ", ...kinds.flatMap((kind, i) => [i ? ", " : "", element("mark", { class: kind }, MARKS[kind] || kind)]), ".");
  }

  function ranking(column, before, data, marks) {
    if (!column.chunks.length) return element("p", {}, "Nothing was returned.");
    return element("ol", {}, ...column.chunks.map((reference, i) => {
      const mark = column.marks[i] || "";
      const was = before.indexOf(reference);
      const score = column.scores[i] ? "score " + column.scores[i] : "";
      const note = [column.notes[i], score, was >= 0 && was !== i ? "from rank " + (was + 1) : ""].filter(Boolean).join(", ");
      const beyond = column.k !== null && i >= column.k;
      const line = element("li", { class: [mark, beyond ? "beyond" : "", column.k !== null && i === column.k ? "cut" : ""].join(" ").trim() }, ...opening(data, reference, mark, note, marks));
      if (beyond && i === column.k) line.setAttribute("aria-label", "below the first " + column.k);
      return line;
    }));
  }

  function budgetBar(block) {
    const sum = block.parts.reduce((total, part) => total + (part[1] || 0), 0);
    const most = Math.max(sum, block.used || 0, block.max || 0);
    if (!(most > 0)) return null;
    const bar = drawn("svg", { class: "budget", role: "img", "aria-label": block.says });
    bar.append(drawn("rect", { class: "rail", width: "100%", height: "100%" }));
    let at = 0;
    for (const [, tokens, mark] of block.parts) {
      if (!tokens) continue;
      bar.append(drawn("rect", { class: mark, x: (100 * at) / most + "%", width: (100 * tokens) / most + "%", height: "100%" }));
      at += tokens;
    }
    if (block.max && block.max < most) bar.append(drawn("line", { x1: (100 * block.max) / most + "%", x2: (100 * block.max) / most + "%", y1: 0, y2: "100%" }));
    return bar;
  }

  /* Reading all columns takes a moment, which only somebody who opens the table needs. */
  function valueTable(data, i) {
    if (!data.index.metrics.length) return null;
    const details = element("details", {}, element("summary", {}, "All values of this question"));
    details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(values(data, i)); });
    return details;
  }

  function values(data, i) {
    const rows = data.columns().map((column, c) => [data.index.metrics[c], column.texts[column.code(i)]]).filter((row) => row[1] !== undefined);
    if (!rows.length) return element("p", {}, "Nothing of this question was measured.");
    const cells = rows.map(([[stage, title], text]) => element("tr", {}, element("th", { scope: "row" }, title, element("small", {}, stage)), element("td", { class: "n" }, text)));
    const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Metric"), element("th", { scope: "col", class: "n" }, "Value")));
    return element("table", {}, head, element("tbody", {}, ...cells));
  }

  function heading(data, i) {
    const back = element("p", { class: "leave" }, element("a", { href: "#questions" }, "Back to the list"));
    const id = element("h3", {}, element("bdi", {}, shorten(data.index.ids[i], 300)));
    return [back, id, element("p", { class: "verdict-line" }, data.index.verdicts[data.index.said[i]] + ".")];
  }

  function show(data, i, pane) {
    if (!data.whole()) {
      pane.replaceChildren(...heading(data, i), element("p", { class: "note" }, "The page is still being read."));
      return;
    }
    const blocks = data.blocks(i);
    const marks = new Map();
    for (const block of blocks) if (block.kind === "chunks") for (const item of block.items) marks.set(item.chunk, [...(marks.get(item.chunk) || []), ...item.places].sort((a, b) => a[0] - b[0]));
    const parts = heading(data, i);
    for (const block of blocks) parts.push(element("h4", {}, block.title), ...DRAW[block.kind](block, data, marks));
    parts.push(valueTable(data, i));
    pane.replaceChildren(...parts.filter(Boolean));
  }

  /* The list and its filters. */
  function startExplorer() {
    const data = readData();
    const index = data.index;
    const form = document.querySelector(".filters");
    const field = (name) => byId("filter-" + name);
    const state = { found: [], page: 0, open: -1 };
    byId("explorer").hidden = false;
    byId("static").hidden = true;

    function option(value, text) { return element("option", { value }, text); }

    function fillFilters() {
      index.stages.forEach(([, label], code) => field("lost").append(option(code, label + " (" + index.lost.filter((c) => c === code).length + ")")));
      index.tags.forEach(([tag, values, codes], t) => {
        const counts = values.map(() => 0);
        for (const code of codes) counts[code] += 1;
        field("slice").append(element("optgroup", { label: shorten(tag, 60) }, ...values.map((value, v) => option(t + ":" + v, shorten(tag, 30) + (value === null ? " is not given" : " = " + shorten(value, 40)) + " (" + counts[v] + ")"))));
      });
      field("slice").closest("label").hidden = !index.tags.length;
      field("lost").closest("label").hidden = !index.stages.length;
      field("failed").closest("label").hidden = !index.failed.includes(1);
    }

    function fillMetrics() {
      const groups = new Map();
      index.metrics.forEach(([stage, title], c) => {
        if (!groups.has(stage)) groups.set(stage, element("optgroup", { label: stage }));
        groups.get(stage).append(option(c, title));
      });
      field("metric").append(...groups.values());
    }

    function test() {
      const text = field("text").value.trim().toLowerCase();
      const lost = field("lost").value;
      const slice = field("slice").value;
      const limit = field("value").value === "" ? NaN : Number(field("value").value);
      const column = field("metric").value === "" ? null : data.columns()[Number(field("metric").value)];
      const below = field("side").value === "below";
      const failed = field("failed").checked;
      const holds = (value) => value !== undefined && (Number.isNaN(limit) || (below ? value < limit : value > limit));
      const [t, v] = slice ? slice.split(":").map(Number) : [0, 0];
      return (i) =>
        (!failed || index.failed[i] === 1) &&
        (lost === "" || index.lost[i] === Number(lost)) &&
        (slice === "" || index.tags[t][2][i] === v) &&
        (column === null || holds(column.values[column.code(i)])) &&
        (text === "" || data.haystack(i).includes(text));
    }

    function filter() {
      data.forget("filter");
      if (!data.whole() && (field("text").value.trim() || field("metric").value !== "")) {
        byId("count").textContent = "The page is still being read.";
        data.later("filter", filter);
        return;
      }
      const passes = test();
      state.found = [];
      for (let i = 0; i < data.size; i += 1) if (passes(i)) state.found.push(i);
      state.page = 0;
      list();
    }

    function entry(i) {
      const stage = index.lost[i] >= 0 ? index.stages[index.lost[i]][1] : "";
      const where = index.failed[i] ? (stage ? "failed: " + stage : "failed") : stage ? "lost: " + stage : "";
      const link = element("a", { href: data.address(i), "data-i": i, "aria-current": i === state.open ? "true" : null },
        element("bdi", { class: "id" }, shorten(index.ids[i], 80)), where ? element("span", { class: "where" }, where) : null,
        index.heads[i] ? element("span", { class: "head", dir: "auto" }, index.heads[i]) : null);
      return element("li", {}, link);
    }

    function list() {
      const pages = Math.max(1, Math.ceil(state.found.length / PAGE));
      const from = state.page * PAGE;
      byId("list").replaceChildren(...state.found.slice(from, from + PAGE).map(entry));
      byId("list").scrollTop = 0;
      byId("count").textContent = state.found.length.toLocaleString("en") + " of " + data.size.toLocaleString("en") + " questions";
      byId("page").textContent = pages > 1 ? "Page " + (state.page + 1) + " of " + pages : "";
      byId("previous").disabled = state.page === 0;
      byId("next").disabled = state.page >= pages - 1;
      document.querySelector(".pager").hidden = pages === 1;
    }

    function turn(by) { state.page += by; list(); const first = byId("list").querySelector("a"); if (first) first.focus(); }

    function open(i, focus) {
      state.open = i;
      show(data, i, byId("query"));
      if (!data.whole()) data.later("open", () => show(data, i, byId("query")));
      for (const link of byId("list").querySelectorAll("a")) {
        if (Number(link.dataset.i) === i) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      if (!focus) return;
      byId("query").focus({ preventScroll: true });
      const top = byId("query").getBoundingClientRect().top;
      if (top < 0 || top > innerHeight / 2 || innerWidth < 736) byId("query").scrollIntoView({ behavior: "instant" });
    }

    function follow(focus) {
      const [key, value] = [location.hash.slice(1, 2), location.hash.slice(3)];
      if (location.hash[2] !== "=" || (key !== "q" && key !== "n")) return false;
      let i;
      try { i = key === "n" ? Number(value) : data.places.get(decodeURIComponent(value)); } catch (error) { return false; }
      if (!Number.isInteger(i) || i < 0 || i >= data.size) return false;
      open(i, focus);
      return true;
    }

    function preset(link) {
      form.reset();
      if (link.dataset.lost !== undefined) field("lost").value = String(index.stages.findIndex((stage) => stage[0] === link.dataset.lost));
      if (link.dataset.tag !== undefined) {
        const t = index.tags.findIndex((tag) => tag[0] === link.dataset.tag);
        const wanted = link.dataset.value === undefined ? null : link.dataset.value;
        if (t >= 0) field("slice").value = t + ":" + index.tags[t][1].indexOf(wanted);
      }
      field("failed").checked = false;
      filter();
    }

    function arrows(event) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const links = [...byId("list").querySelectorAll("a")];
      const at = links.indexOf(document.activeElement);
      if (!step || at < 0 || !links[at + step]) return;
      event.preventDefault();
      links[at + step].focus();
    }

    fillFilters();
    fillMetrics();
    field("failed").checked = index.failed.includes(1);
    field("failed").defaultChecked = false;
    let waiting = 0;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
    form.addEventListener("reset", () => setTimeout(filter, 0));
    field("metric").addEventListener("change", () => {
      if (field("metric").value !== "") field("side").value = index.metrics[Number(field("metric").value)][2] ? "above" : "below";
    });
    byId("list").addEventListener("keydown", arrows);
    byId("previous").addEventListener("click", () => turn(-1));
    byId("next").addEventListener("click", () => turn(1));
    addEventListener("hashchange", () => follow(true));
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("a[data-lost], a[data-tag]") : null;
      if (link) preset(link);
    });
    filter();
    if (!follow(true) && state.found.length && innerWidth >= 736) open(state.found[0], false);
  }

  startTheme();
  startPrinting();
  if (byId("explorer")) startExplorer();
})();
