// SPDX-License-Identifier: Apache-2.0
// The lanes, and what is seen of them: the canvas has those that are in view, and slices that share a pixel are drawn once.
// ---- The lanes, one below the other

const ROW = 18, GUTTER = 178, RULER = 24, HEAD = 26, COUNTER = 46;
let items = [], contentHeight = 0;
function layOut() {
  let y = 0;
  items = [];
  const add = (type, height, rest) => {
    items.push({type, y, height, ...rest});
    y += height;
  };
  for (const group of data.groups) {
    add("group", HEAD, {group});
    for (const lane of group.lanes) {
      lane.y = y;
      lane.rows.forEach((row, number) => {
        row.y = y + 2;
        add("row", ROW + 3, {row, lane, first: number === 0});
      });
      if (lane.rows.length === 0) add("row", ROW + 3, {row: null, lane, first: true});
      y += 5;
    }
    for (const counter of group.counters) add("counter", COUNTER, {counter});
    y += 10;
  }
  contentHeight = y;
}

// ---- The view

const canvas = document.getElementById("canvas"), context = canvas.getContext("2d");
const tip = document.getElementById("tip"), panel = document.getElementById("panel");
const view = {begin: 0, end: 1, top: 0};
let width = 1, height = 1, colors = {}, selected = null, found = null, scheduled = false;

const scale = () => (width - GUTTER) / (view.end - view.begin);
const xOf = ns => GUTTER + (ns - view.begin) * scale();
const nsAt = x => view.begin + (x - GUTTER) / scale();
const yOf = row => RULER + row.y - view.top;

function readColors() {
  const style = getComputedStyle(root);
  colors = {};
  for (const name of ["--ground", "--raised", "--line", "--text", "--dim", "--stripe", "--gap", "--stall", "--stall-ground", "--accent", "--shade",
                      ...Object.values(KINDS).map(kind => kind[1])]) {
    colors[name] = style.getPropertyValue(name).trim();
  }
  colors.ofKind = data.kinds.map(kind => colors[kindOf(kind)[1]]);
}
function show(begin, end) {
  const margin = (end - begin) * 0.015 + 1;
  setView(begin - margin, end + margin);
}
const fitAll = () => show(0, summary.length_ns);
/// From the first call that submitted an operation to the end of the last operation: what goes before and comes after is often longer.
function fitWork() {
  let begin = Infinity, end = 0;
  for (const one of operations) {
    if (!one || !one.run) continue;
    end = Math.max(end, one.run.row.end[one.run.i]);
    begin = Math.min(begin, one.run.row.begin[one.run.i], one.call ? one.call.row.begin[one.call.i] : Infinity);
  }
  if (end > begin) show(begin, end); else fitAll();
}
function setView(begin, end) {
  const least = 20, most = summary.length_ns * 1.5 + 100;
  const length = Math.min(Math.max(end - begin, least), most);
  const middle = (begin + end) / 2;
  view.begin = middle - length / 2;
  view.end = middle + length / 2;
  const shift = Math.max(-length * 0.9 - view.begin, Math.min(0, summary.length_ns + length * 0.9 - view.end));
  view.begin += shift;
  view.end += shift;
  schedule();
}
function zoom(factor, at) {
  setView(at - (at - view.begin) * factor, at + (view.end - at) * factor);
}
function scrollTo(top) {
  view.top = Math.max(0, Math.min(top, contentHeight - (height - RULER)));
  schedule();
}
function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => { scheduled = false; draw(); });
}

// ---- Drawing

/// The first index of a sorted array whose value is greater.
function firstAbove(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle; else low = middle + 1;
  }
  return low;
}
function isLight(color) {
  const number = parseInt(color.slice(1, 7), 16);
  return (number >> 16) * 0.299 + (number >> 8 & 255) * 0.587 + (number & 255) * 0.114 > 150;
}
function write(text, x, y, room, letter = 6) {
  const most = Math.floor(room / letter);
  if (most < 3) return;
  context.fillText(text.length > most ? text.slice(0, most - 1) + "…" : text, x, y);
}
function hatch(x, y, w, h, color) {
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.beginPath();
  const left = Math.max(x, GUTTER), right = Math.min(x + w, width);
  for (let at = left - left % 7 - h; at < right; at += 7) {
    context.moveTo(at, y + h);
    context.lineTo(at + h, y);
  }
  context.stroke();
  context.restore();
}

function drawSlice(row, i, left, right, y) {
  const isRange = data.kinds[row.k[i]] === "range";
  const color = colors.ofKind[row.k[i]];
  const isCall = row.lane.kind === "thread" && !isRange;
  const x = Math.max(left, GUTTER - 1), w = Math.max(1, Math.min(right, width + 1) - x);
  const dim = found && !found.has(row.n[i]);
  context.globalAlpha = dim ? 0.15 : isCall && !row.h[i] ? 0.8 : 1;
  context.fillStyle = color;
  context.fillRect(x, y, w, ROW);
  if (row.c[i]) {
    // The program's colours mark the edge alone, since the kinds have theirs.
    context.fillStyle = data.colors[row.c[i]];
    context.fillRect(x, y + ROW - 4, w, 4);
  }
  if (row.h[i]) {
    // A stall stands out: it has a red line below, and an implicit one is hatched.
    if (row.h[i] === 2 && w > 3) hatch(x, y, w, ROW, colors["--stall"]);
    context.fillStyle = colors["--stall"];
    context.fillRect(x, y + ROW, w, 3);
  }
  if (w > 24) {
    context.fillStyle = isLight(color) ? "#10151c" : "#ffffff";
    write(data.names[row.n[i]], x + 4, y + (row.c[i] ? 7.5 : ROW / 2 + 0.5), w - 7);
  }
  if (w > 4) {
    context.fillStyle = colors["--ground"];
    context.fillRect(x + w - 1, y, 1, ROW);
  }
  context.globalAlpha = 1;
}

function drawRow(row) {
  const y = yOf(row);
  let drawn = 0;
  for (let i = firstAbove(row.end, view.begin); i < row.begin.length && row.begin[i] < view.end;) {
    const left = xOf(row.begin[i]), right = xOf(row.end[i]);
    drawSlice(row, i, left, right, y);
    ++drawn;
    // Slices that share a pixel are drawn once.
    const next = right - left < 1 ? firstAbove(row.end, nsAt(Math.max(left, GUTTER) + 1)) : i + 1;
    i = Math.max(next, i + 1);
  }
  return drawn;
}

function drawMarks(lane) {
  if (!lane.marks) return 0;
  const times = lane.marks.t, y = RULER + lane.y - view.top;
  let drawn = 0, lastX = -10;
  context.fillStyle = colors["--text"];
  for (let i = firstAbove(times, view.begin); i < times.length && times[i] < view.end; ++i) {
    const x = xOf(times[i]);
    if (x - lastX < 3) continue;
    const isCrowded = x - lastX < 10 || (i + 1 < times.length && xOf(times[i + 1]) - x < 10);
    lastX = x;
    ++drawn;
    if (isCrowded) {
      context.fillRect(x - 0.5, y - 2, 1, 5);
      continue;
    }
    context.beginPath();
    context.moveTo(x - 4, y - 2);
    context.lineTo(x + 4, y - 2);
    context.lineTo(x, y + 4);
    context.fill();
  }
  return drawn;
}

function drawGroup(group, y) {
  context.fillStyle = colors["--raised"];
  context.fillRect(0, y, width, HEAD - 4);
  if (group.kind !== "device") return;
  const top = y + 4, h = HEAD - 12;
  const lanesTop = RULER + group.lanes[0]?.y - view.top;
  const last = group.lanes[group.lanes.length - 1];
  const lanesBottom = last ? RULER + last.y - view.top + last.rows.length * (ROW + 3) : lanesTop;
  group.gaps.slice(0, 5).forEach(gap => {
    const left = Math.max(xOf(gap.begin), GUTTER), right = Math.min(xOf(gap.end), width);
    if (right - left < 2) return;
    context.globalAlpha = 0.55;
    hatch(left, lanesTop, right - left, lanesBottom - lanesTop, colors["--gap"]);
    context.globalAlpha = 1;
    if (right - left < 70) return;
    context.fillStyle = colors["--dim"];
    context.textAlign = "center";
    context.fillText(`idle ${time(gap.end - gap.begin)}`, (left + right) / 2, top + h / 2 + 0.5);
    context.textAlign = "left";
  });
  context.fillStyle = colors["--fill"];
  let lastX = -1;
  for (const [begin, end] of group.busy) {
    if (end < view.begin) continue;
    if (begin > view.end) break;
    const left = Math.max(xOf(begin), GUTTER), right = Math.min(Math.max(xOf(end), left + 1), width);
    if (right <= lastX) continue;
    context.fillRect(Math.max(left, lastX), top + h + 1, right - Math.max(left, lastX), 3);
    lastX = right;
  }
}

function drawCounter(counter, y) {
  const peak = Math.max(1, counter.peak), h = COUNTER - 10, bottom = y + COUNTER - 4;
  const yAt = value => bottom - h * value / peak;
  context.beginPath();
  context.moveTo(GUTTER, bottom);
  let i = Math.max(0, firstAbove(counter.t, view.begin) - 1);
  let value = counter.t[i] <= view.begin ? counter.v[i] : 0;
  context.lineTo(GUTTER, yAt(value));
  let lastY = yAt(value);
  while (i < counter.t.length && counter.t[i] < view.end) {
    const x = Math.max(xOf(counter.t[i]), GUTTER);
    let most = counter.v[i];
    value = counter.v[i];
    // Points that share a pixel are drawn as the greatest.
    for (++i; i < counter.t.length && xOf(counter.t[i]) < x + 1; ++i) {
      value = counter.v[i];
      most = Math.max(most, value);
    }
    context.lineTo(x, lastY);
    context.lineTo(x, yAt(most));
    lastY = yAt(value);
    context.lineTo(x, lastY);
  }
  const right = Math.min(width, xOf(summary.length_ns));
  context.lineTo(Math.max(right, GUTTER), yAt(value));
  context.lineTo(Math.max(right, GUTTER), bottom);
  context.closePath();
  context.globalAlpha = 0.35;
  context.fillStyle = colors["--memory"];
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = colors["--memory"];
  context.lineWidth = 1;
  context.stroke();
}

function drawRuler() {
  context.fillStyle = colors["--ground"];
  context.fillRect(0, 0, width, RULER);
  const rough = 95 / scale();
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough) || 10 * power;
  context.fillStyle = colors["--dim"];
  for (let at = Math.ceil(view.begin / step) * step; at < view.end; at += step) {
    const x = xOf(at);
    if (x < GUTTER) continue;
    context.fillRect(x, RULER - 6, 1, 6);
    context.fillText(at === 0 ? "0" : time(Math.round(at)), x + 4, RULER / 2);
    context.save();
    context.globalAlpha = 0.18;
    context.fillRect(x, RULER, 1, height);
    context.restore();
  }
  context.fillStyle = colors["--line"];
  context.fillRect(0, RULER - 1, width, 1);
}

function drawLabels() {
  context.fillStyle = colors["--ground"];
  context.fillRect(0, RULER, GUTTER - 1, height);
  for (const item of items) {
    const y = RULER + item.y - view.top;
    if (y > height || y + item.height < RULER) continue;
    if (item.type === "group") {
      context.fillStyle = colors["--raised"];
      context.fillRect(0, y, GUTTER - 1, HEAD - 4);
      context.fillStyle = colors["--text"];
      context.font = "600 12px system-ui, sans-serif";
      write(item.group.name, 10, y + (HEAD - 4) / 2 + 0.5, GUTTER - 14, 7.4);
      context.font = "11px system-ui, sans-serif";
    } else if (item.type === "counter") {
      context.fillStyle = colors["--text"];
      write(item.counter.name, 18, y + 15, GUTTER - 22);
      context.fillStyle = colors["--dim"];
      write(`${bytes(item.counter.peak)} at most`, 18, y + 31, GUTTER - 22);
    } else if (item.first) {
      context.fillStyle = item.lane.kind === "stream" ? colors["--text"] : colors["--dim"];
      write(item.lane.label, 18, y + ROW / 2 + 3, GUTTER - 22, 6.3);
    }
  }
  context.fillStyle = colors["--line"];
  context.fillRect(GUTTER - 1, RULER, 1, height);
  context.fillStyle = colors["--ground"];
  context.fillRect(0, 0, GUTTER - 1, RULER - 1);
}

/// The pairs of slices that are joined to the selected one, in the order of time.
function flowsOf(place) {
  const {row, i} = place, flows = [];
  const join = (from, to) => { if (from && to) flows.push([from, to]); };
  const number = row.o[i];
  if (number && number === standsFor(number)) {
    const mine = operation(number);
    join(mine.call, mine.run);
    if (row.lane.kind === "stream") {
      for (const one of data.operations.awaited[number] || []) join(operation(one).run, mine.run);
      for (const one of mine.later) join(mine.run, operation(one).run);
      for (const wait of mine.waits) join(mine.run, wait);
    }
  } else if (number) {
    join(operation(standsFor(number)).run, place);
    for (const wait of operation(standsFor(number)).waits) if (wait.row.w[wait.i] === number) join(place, wait);
  }
  if (row.w[i]) {
    join(operation(row.w[i]).call, place);
    join(operation(standsFor(row.w[i])).run, place);
  }
  return flows;
}
function drawFlows() {
  context.strokeStyle = context.fillStyle = colors["--accent"];
  context.lineWidth = 1.5;
  for (const [from, to] of flowsOf(selected)) {
    // A call leads to its execution from its beginning; what was waited for leads on from its end.
    const isSubmission = from.row.o[from.i] === to.row.o[to.i] && from.row.o[from.i] !== 0;
    const endsWait = to.row.lane.kind === "thread" && !isSubmission && data.kinds[to.row.k[to.i]] === "synchronize";
    const x1 = xOf(isSubmission ? from.row.begin[from.i] : from.row.end[from.i]), y1 = yOf(from.row) + ROW / 2;
    const x2 = xOf(endsWait ? to.row.end[to.i] : to.row.begin[to.i]), y2 = yOf(to.row) + ROW / 2;
    const bend = Math.max(24, Math.min(120, Math.abs(x2 - x1) / 2));
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 8, y2 - 4);
    context.lineTo(x2 - 8, y2 + 4);
    context.fill();
  }
  const {row, i} = selected;
  const x = xOf(row.begin[i]);
  context.strokeStyle = colors["--text"];
  context.lineWidth = 2;
  context.strokeRect(x - 1, yOf(row) - 1, Math.max(3, xOf(row.end[i]) - x + 2), ROW + 2);
}

function draw() {
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.fillStyle = colors["--ground"];
  context.fillRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "left";
  let drawn = 0;
  for (const item of items) {
    const y = RULER + item.y - view.top;
    if (y > height || y + item.height < RULER) continue;
    if (item.type === "group") drawGroup(item.group, y);
    if (item.type === "counter") drawCounter(item.counter, y);
    if (item.type !== "row") continue;
    if (item.first) {
      context.fillStyle = colors["--line"];
      context.fillRect(GUTTER, y - 3, width, 1);
    }
    if (item.row) drawn += drawRow(item.row);
  }
  for (const item of items) if (item.type === "row" && item.first) drawn += drawMarks(item.lane);
  if (selected) drawFlows();
  drawLabels();
  drawRuler();
  root.dataset.drawn = drawn;
  root.dataset.slices = total;
  root.dataset.rows = items.filter(item => item.type === "row").length;
}
