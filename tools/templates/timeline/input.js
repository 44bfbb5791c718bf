// SPDX-License-Identifier: Apache-2.0
// Mouse, keys and the search; and the beginning.
// ---- Mouse and keys

function at(x, y) {
  if (x < GUTTER || y < RULER) return null;
  const inside = y - RULER + view.top;
  const item = items.find(one => one.type === "row" && inside >= one.y && inside < one.y + one.height);
  if (!item) return null;
  const marks = item.first && item.lane.marks;
  if (marks && inside < item.y + 9) {
    const i = firstAbove(marks.t, nsAt(x - 5));
    if (i < marks.t.length && xOf(marks.t[i]) < x + 5) return {mark: {name: data.names[marks.n[i]], at: marks.t[i], note: data.notes[marks.i[i]]}};
  }
  if (!item.row) return null;
  const i = firstAbove(item.row.end, nsAt(x - 2));
  return i < item.row.begin.length && item.row.begin[i] <= nsAt(x + 2) ? {row: item.row, i} : null;
}
function showTip(x, y) {
  const over = at(x, y);
  if (!over) {
    tip.style.display = "none";
    return;
  }
  if (over.mark) {
    tip.replaceChildren(element("strong", {textContent: over.mark.name}), element("small", {textContent: `mark at ${time(over.mark.at)}`}));
  } else {
    const {row, i} = over;
    const size = row.y[i] ? `, ${bytes(row.y[i])}` : "";
    tip.replaceChildren(element("strong", {textContent: data.names[row.n[i]]}),
                        element("small", {textContent: `${time(row.d[i])}${size}, ${kindOf(data.kinds[row.k[i]])[0]}, at ${time(row.begin[i])}`}));
    const awaited = row.w[i] ? operation(standsFor(row.w[i])).run : null;
    if (awaited) tip.append(element("small", {textContent: `waited for ${describe(awaited)}`}));
  }
  tip.style.display = "block";
  tip.style.left = `${Math.min(x + 14, width - tip.offsetWidth - 6)}px`;
  tip.style.top = `${Math.min(y + 16, height - tip.offsetHeight - 6)}px`;
}

let drag = null;
canvas.addEventListener("pointerdown", event => {
  drag = {x: event.offsetX, y: event.offsetY, begin: view.begin, end: view.end, top: view.top, moved: false};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", event => {
  if (!drag) return showTip(event.offsetX, event.offsetY);
  const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
  if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
  if (!drag.moved) return;
  tip.style.display = "none";
  setView(drag.begin - dx / scale(), drag.end - dx / scale());
  scrollTo(drag.top - dy);
});
canvas.addEventListener("pointerup", event => {
  const over = at(event.offsetX, event.offsetY);
  if (drag && !drag.moved) select(over && over.row ? over : null);
  drag = null;
});
canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
canvas.addEventListener("dblclick", fitSelected);
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const pixels = event.deltaMode === 1 ? 30 : 1;
  if (event.offsetX < GUTTER) return scrollTo(view.top + event.deltaY * pixels);
  const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
  if (sideways) return setView(view.begin + sideways * pixels / scale(), view.end + sideways * pixels / scale());
  zoom(Math.exp(event.deltaY * pixels * 0.002), nsAt(event.offsetX));
}, {passive: false});

document.addEventListener("keydown", event => {
  const isText = event.target.id === "find";
  if (event.key === "Escape") {
    if (isText) { event.target.value = ""; search(""); event.target.blur(); }
    return select(null);
  }
  if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
  const length = view.end - view.begin, middle = (view.begin + view.end) / 2;
  const does = {
    w: () => zoom(0.7, middle), s: () => zoom(1 / 0.7, middle), "+": () => zoom(0.7, middle), "-": () => zoom(1 / 0.7, middle),
    a: () => setView(view.begin - length * 0.15, view.end - length * 0.15), d: () => setView(view.begin + length * 0.15, view.end + length * 0.15),
    ArrowUp: () => scrollTo(view.top - 60), ArrowDown: () => scrollTo(view.top + 60),
    n: () => step(1), p: () => step(-1), f: fitSelected, "0": fitAll, h: fitWork,
    "/": () => document.getElementById("find").focus(),
  };
  does.ArrowLeft = does.a;
  does.ArrowRight = does.d;
  const action = does[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

function search(text) {
  const wanted = text.trim().toLowerCase();
  found = wanted ? new Set(data.names.flatMap((name, i) => name.toLowerCase().includes(wanted) ? [i] : [])) : null;
  schedule();
}

// ---- The beginning

showHeader();
document.getElementById("find").addEventListener("input", event => search(event.target.value));
layOut();
for (const group of data.groups) for (const counter of group.counters) counter.peak = counter.v.reduce((a, b) => Math.max(a, b), 0);
readColors();
function resize() {
  const box = document.getElementById("view").getBoundingClientRect();
  width = Math.max(box.width, GUTTER + 50);
  height = Math.max(box.height, 60);
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  scrollTo(view.top);
  draw();
}
resize();
fitWork();
select(null);
new ResizeObserver(resize).observe(document.getElementById("view"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); schedule(); });
// "#operation=7" selects an operation, "#time=1000,2000" shows these nanoseconds.
const asked = new URLSearchParams(location.hash.slice(1));
const wanted = operations[asked.get("operation")];
if (asked.has("time")) setView(...asked.get("time").split(",").map(Number));
if (wanted) select(wanted.run || wanted.call, true);
draw();
