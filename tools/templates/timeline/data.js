// SPDX-License-Identifier: Apache-2.0
// The data of the page, and words for them.
const root = document.documentElement;
window.addEventListener("error", event => {
  root.dataset.errors = Number(root.dataset.errors) + 1;
  root.dataset.error = event.message;
});

// ---- The data

const data = JSON.parse(document.getElementById("data").textContent);
const summary = data.summary;

/// How the kinds look. Calls and executions of one operation have one colour.
const KINDS = {
  "kernel": ["kernel", "--kernel"], "graph": ["graph", "--graph"],
  "copy host to device": ["copy to device", "--to-device"], "copy device to host": ["copy to host", "--to-host"],
  "copy device to device": ["copy on device", "--on-device"], "copy to peer": ["copy to peer", "--peer"],
  "copy host to host": ["copy on host", "--host-copy"], "copy": ["copy", "--on-device"], "fill": ["fill", "--fill"],
  "host_function": ["host function", "--host-function"], "synchronize": ["the host waits", "--synchronize"],
  "wait": ["a stream waits", "--wait"], "record": ["record", "--record"], "memory": ["memory", "--memory"],
  "query": ["query", "--call"], "call": ["other call", "--call"], "range": ["range", "--range"],
};
const kindOf = name => Object.hasOwn(KINDS, name) ? KINDS[name] : [name, "--call"];

/// Each operation's call and execution, as places {row, i}; the waits for it; and those that waited for it.
const operations = [];
const operation = number => operations[number] || (operations[number] = {call: null, run: null, waits: [], later: []});
/// The operation that stands for a record: the one before it.
const standsFor = number => number in data.operations.recorded ? data.operations.recorded[number] : number;

let total = 0;
function readRow(row, lane, group) {
  const count = row.b.length;
  total += count;
  row.lane = lane;
  row.group = group;
  row.begin = new Float64Array(count);
  row.end = new Float64Array(count);
  for (const column of ["o", "w", "y", "i", "c", "h"]) row[column] = row[column] || new Uint8Array(count);
  for (let i = 0, at = 0; i < count; ++i) {
    at += row.b[i];
    row.begin[i] = at;
    row.end[i] = at + row.d[i];
    const place = {row, i};
    if (row.o[i]) operation(row.o[i])[lane.kind === "stream" ? "run" : "call"] = place;
    if (row.w[i]) operation(standsFor(row.w[i])).waits.push(place);
  }
}
for (const group of data.groups) {
  let streams = 0;
  group.lanes.sort((a, b) => a.name.localeCompare(b.name, "en", {numeric: true}));
  for (const lane of group.lanes) {
    // A stream's id is a large number; in the margin its streams are counted.
    lane.label = /^stream \d{4,}$/.test(lane.name) ? `stream ${++streams}` : lane.name.replace(/^thread (\d+) (.*)$/, "$2 ($1)");
    for (const row of lane.rows) readRow(row, lane, group);
  }
}
for (const [number, awaited] of Object.entries(data.operations.awaited)) {
  for (const one of awaited) operation(one).later.push(Number(number));
}

/// The intervals in which a device has an operation, and the gaps between them, the longest first.
function findGaps(group) {
  const all = [];
  for (const lane of group.lanes) {
    for (const row of lane.rows) for (let i = 0; i < row.begin.length; ++i) all.push([row.begin[i], row.end[i]]);
  }
  all.sort((a, b) => a[0] - b[0]);
  group.busy = [];
  group.gaps = [];
  for (const [begin, end] of all) {
    const last = group.busy[group.busy.length - 1];
    if (last && begin <= last[1]) {
      last[1] = Math.max(last[1], end);
    } else {
      if (last) group.gaps.push({begin: last[1], end: begin});
      group.busy.push([begin, end]);
    }
  }
  group.gaps.sort((a, b) => (b.end - b.begin) - (a.end - a.begin));
}
data.groups.filter(group => group.kind === "device").forEach(findGaps);

// ---- Words

function time(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toFixed(size < 1e4 ? 2 : 1)} µs`;
  if (size < 1e9) return `${(ns / 1e6).toFixed(size < 1e7 ? 3 : 2)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}
function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) count /= 1024, ++unit;
  return unit === 0 ? `${count} B` : `${count.toFixed(1)} ${units[unit]}`;
}
const percent = (part, whole) => whole > 0 ? `${Math.round(100 * part / whole)} %` : "0 %";
const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
