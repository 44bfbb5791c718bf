// SPDX-License-Identifier: Apache-2.0
// The text around the lanes: the figures above, and what there is to know of a slice beside them.
// ---- The header

const sum = values => values.reduce((a, b) => a + b, 0);
function bar(parts, whole) {
  const all = element("div", {className: "bar"});
  for (const [value, color, title] of parts) {
    const part = element("i", {title});
    part.style.width = `${100 * value / Math.max(whole, 1)}%`;
    part.style.background = `var(${color})`;
    all.append(part);
  }
  return all;
}
function tile(label, figure, small, parts, whole) {
  return element("div", {className: "tile"}, element("b", {textContent: label}), element("strong", {textContent: figure}),
                 ...(parts ? [bar(parts, whole)] : []), element("small", {textContent: small}));
}
/// The colour of an operation's name: that of its first execution.
const colorOfName = {__proto__: null, host: "--call", "between operations": "--gap"};
for (const one of operations) {
  if (!one || !one.run) continue;
  const name = data.names[one.run.row.n[one.run.i]];
  colorOfName[name] = colorOfName[name] || kindOf(data.kinds[one.run.row.k[one.run.i]])[1];
}
function showHeader() {
  document.title = `${data.title} - anyplace timeline`;
  document.getElementById("title").textContent = data.title;
  document.getElementById("length").textContent =
    `${time(summary.length_ns)}, ${count(summary.submissions, "submission")}, ${count(summary.executions, "execution")}` +
    (summary.cut ? ", cut in the middle of a packet" : "");
  const tiles = document.getElementById("tiles");
  for (const [place, device] of Object.entries(summary.devices)) {
    const only = device.kernels_ns - device.overlap_ns, copies = device.copies_ns - device.overlap_ns;
    const rest = Math.max(0, device.busy_ns - only - copies - device.overlap_ns);
    const span = device.busy_ns + device.idle_ns;
    tiles.append(tile(`${place} is busy, from its first operation to its last`, percent(device.busy_ns, span),
      `kernels ${time(device.kernels_ns)}, copies ${time(device.copies_ns)} (${percent(device.overlap_ns, device.copies_ns)} under kernels), idle between ${time(device.idle_ns)}`,
      [[only, "--kernel", "kernels alone"], [device.overlap_ns, "--graph", "kernels and copies"], [copies, "--to-device", "copies alone"],
       [rest, "--fill", "others"]], span));
  }
  const path = Object.entries(summary.critical).sort((a, b) => b[1] - a[1]);
  tiles.append(tile("critical path", time(summary.critical_ns),
    path.slice(0, 3).map(([name, ns]) => `${name} ${percent(ns, summary.critical_ns)}`).join(", "),
    path.map(([name, ns]) => [ns, colorOfName[name] || "--call", `${name} ${time(ns)}`]), summary.critical_ns));
  const stalls = Object.values(summary.stalls);
  const implicit = stalls.filter(one => one.implicit);
  if (summary.submissions) {  // the pages of `anyplace explore` have executions and no calls
    tiles.append(tile("the host waited", time(sum(stalls.map(one => one.total_ns))),
      `in ${count(sum(stalls.map(one => one.count)), "call")}, ${sum(implicit.map(one => one.count))} of them implicitly`));
    tiles.append(tile("a submission", time(summary.submit_ns), `in the call, and ${time(summary.launch_ns)} to its execution on an idle stream`));
  }
  const legend = document.getElementById("legend");
  const shown = new Set();
  for (const kind of Object.keys(KINDS).filter(kind => data.kinds.includes(kind))) {
    const [label, color] = kindOf(kind);
    if (shown.has(label)) continue;
    shown.add(label);
    const swatch = element("i");
    swatch.style.background = `var(${color})`;
    legend.append(element("span", {}, swatch, label));
  }
  legend.append(element("input", {id: "find", type: "search", placeholder: "find a name  (/)", ariaLabel: "find a name"}));
}

// ---- The panel

function describe(place) {
  return `${data.names[place.row.n[place.i]]} (${place.row.lane.label})`;
}
function link(place) {
  if (!place) return "not in the trace";
  return element("button", {textContent: describe(place), onclick: () => select(place, true)});
}
function tableOf(rows) {
  const table = element("table");
  for (const cells of rows) {
    const line = element("tr");
    cells.forEach((cell, i) => line.append(element("td", {className: i && cell instanceof Node ? "text" : ""}, cell)));
    table.append(line);
  }
  return table;
}
function section(title, rows) {
  if (rows.length) panel.append(element("h3", {textContent: title}), tableOf(rows));
}

function showSlice({row, i}) {
  const number = row.o[i], kind = data.kinds[row.k[i]];
  const label = kind === "range" ? "range" : row.lane.kind === "stream" ? kindOf(kind)[0] : `call: ${kindOf(kind)[0]}`;
  panel.replaceChildren(element("h2", {textContent: data.names[row.n[i]]}),
                        element("p", {textContent: `${label}, ${row.lane.label === row.lane.name ? row.lane.name : `${row.lane.label}, which is ${row.lane.name},`}${row.group.kind === "device" ? ` of ${row.group.name}` : ""}`}));
  if (row.h[i]) panel.append(element("p", {textContent: row.h[i] === 1 ? "The host waited here." : "The host waited here, in a call that isn't made to wait."}));
  const facts = [["begins at", time(row.begin[i])], ["takes", time(row.d[i])], ["ends at", time(row.end[i])]];
  if (row.y[i]) facts.push(["bytes", bytes(row.y[i])]);
  if (row.y[i] && row.lane.kind === "stream" && row.d[i]) facts.push(["rate", `${(row.y[i] / row.d[i]).toFixed(2)} GB/s`]);
  if (number) facts.push(["submission", String(data.operations.submission[number - 1])]);
  section("times", facts);
  if (row.i[i]) section("more", data.notes[row.i[i]].split("\n").map(line => [line]));
  if (number && number === standsFor(number)) {
    const mine = operation(number);
    if (row.lane.kind === "stream") {
      const call = mine.call;
      section("submitted by", call ? [[link(call), time(row.begin[i] - call.row.begin[call.i]) + " before"]] : []);
      const awaited = (data.operations.awaited[number] || []).map(one => operation(one).run);
      const before = operation(data.operations.before[number - 1] || 0).run;
      section("waited for", awaited.map(one => [link(one)]));
      section("before it in the stream", before ? [[link(before)]] : []);
      section("waited for it", mine.later.map(one => [link(operation(one).run)]).concat(mine.waits.filter(one => one.row.h[one.i]).map(one => [link(one)])).slice(0, 20));
    } else {
      const run = mine.run;
      section("ran as", run ? [[link(run), time(run.row.begin[run.i] - row.begin[i]) + " later"]] : [["it wasn't timed"]]);
    }
  }
  if (row.w[i]) {
    const stands = operation(standsFor(row.w[i])).run;
    section("waited for", [[link(stands || operation(row.w[i]).call)]]);
  }
}

function showOverview() {
  panel.replaceChildren(element("h2", {textContent: "This run"}), element("p", {textContent: "Click a slice to see what it waited for."}));
  const stalls = Object.entries(summary.stalls).sort((a, b) => b[1].total_ns - a[1].total_ns).slice(0, 6);
  section("the host waited in", stalls.map(([name, one]) => [`${one.count} × ${name}${one.implicit ? ", implicitly" : ""}`, time(one.total_ns)]));
  for (const group of data.groups.filter(group => group.kind === "device")) {
    section(`longest gaps of ${group.name.split(" ")[0]}`, group.gaps.slice(0, 5).map(gap => {
      const margin = (gap.end - gap.begin) * 0.6;
      const show = () => setView(gap.begin - margin, gap.end + margin);
      return [element("button", {textContent: `at ${time(gap.begin)}`, onclick: show}), time(gap.end - gap.begin)];
    }));
  }
  const ranges = Object.entries(summary.ranges).sort((a, b) => b[1].total_ns - a[1].total_ns).slice(0, 8);
  section("ranges", ranges.map(([name, one]) => [`${one.count} × ${name}`, time(one.total_ns)]));
  for (const [place, device] of Object.entries(summary.devices)) {
    const all = Object.entries(device.operations).sort((a, b) => b[1].total_ns - a[1].total_ns).slice(0, 10);
    section(`operations of ${place}`, all.map(([name, one]) => [`${one.count} × ${name}`, time(one.total_ns)]));
  }
  const key = (keys, what) => [element("span", {}, ...keys.flatMap(one => [element("kbd", {textContent: one}), " "])), what];
  section("keys", [key(["wheel", "W", "S"], "zoom"), key(["drag", "A", "D"], "pan"), key(["N", "P"], "next, previous"), key(["F"], "fit what is selected"),
                   key(["H"], "from the first operation to the last"), key(["0"], "all"), key(["Esc"], "select nothing")]);
}

function select(place, bringIntoView = false) {
  selected = place;
  if (place) showSlice(place); else showOverview();
  if (place && bringIntoView) {
    const begin = place.row.begin[place.i], end = place.row.end[place.i], length = view.end - view.begin;
    if (end < view.begin || begin > view.end || (end - begin) * scale() < 3) {
      const wanted = Math.min(length, Math.max((end - begin) * 12, 2000));
      setView((begin + end) / 2 - wanted / 2, (begin + end) / 2 + wanted / 2);
    }
    const y = yOf(place.row);
    if (y < RULER || y > height - ROW) scrollTo(place.row.y - (height - RULER) / 2);
  }
  schedule();
}
function step(by) {
  const i = selected ? selected.i + by : 0;
  const row = selected ? selected.row : items.find(item => item.row)?.row;
  if (row && i >= 0 && i < row.begin.length) select({row, i}, true);
}
function fitSelected() {
  if (!selected) return;
  const begin = selected.row.begin[selected.i], end = selected.row.end[selected.i];
  setView(begin - (end - begin) * 0.5 - 5, end + (end - begin) * 0.5 + 5);
}
