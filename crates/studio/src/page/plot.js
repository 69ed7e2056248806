// A small line chart: axes with round numbers, lines that differ in colour and in dashes.

import { sized } from './canvas.js';
import { look, theme } from './colours.js';
import { digits } from './numbers.js';

function ticks(low, high, count) {
  // a span that is only rounding has no marks but its own; counting marks by whole numbers always
  // ends
  if (!(high - low > 1e-12 * Math.max(Math.abs(low), Math.abs(high)))) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((k) => k * power >= raw * 0.999) * power;
  const found = [];
  const last = Math.floor(high / step + 1e-9);
  for (let k = Math.ceil(low / step - 1e-9); k <= last; k += 1) found.push(k * step + 0); // never -0
  return found;
}

/**
 * `lines`: [{ points: [[x, y], ...], number, marks }]; `marked`: [{ point, number, name }];
 * `labels`: [x, y]; `y`: limits, where they are
 * known.
 */
export function plot(canvas, { lines, marked = [], labels, x: xLimits, y: yLimits }) {
  const width = canvas.clientWidth || 300;
  const height = 210;
  const context = sized(canvas, width, height);
  const all = [...lines.flatMap((line) => line.points), ...marked.map((mark) => mark.point)].filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  const box = { left: 52, right: width - 20, top: 22, bottom: height - 34 };
  const limits = (values, given) => {
    if (given) return given;
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (!Number.isFinite(low)) [low, high] = [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    return [low >= 0 && low < room * 3 ? 0 : low - room, high + room];
  };
  const [x0, x1] = limits(all.map((p) => p[0]), xLimits);
  const [y0, y1] = limits(all.map((p) => p[1]), yLimits);
  const px = (x) => box.left + ((x - x0) / (x1 - x0 || 1)) * (box.right - box.left);
  const py = (y) => box.bottom - ((y - y0) / (y1 - y0 || 1)) * (box.bottom - box.top);
  context.font = '12px system-ui, sans-serif';
  context.fillStyle = theme('muted');
  context.strokeStyle = theme('line');
  context.lineWidth = 1;
  for (const tick of ticks(x0, x1, Math.max(2, width / 110))) {
    context.beginPath(); context.moveTo(px(tick), box.top); context.lineTo(px(tick), box.bottom); context.stroke();
    context.textAlign = 'center'; context.textBaseline = 'top';
    context.fillText(digits(tick, 4), px(tick), box.bottom + 4);
  }
  for (const tick of ticks(y0, y1, 4)) {
    context.beginPath(); context.moveTo(box.left, py(tick)); context.lineTo(box.right, py(tick)); context.stroke();
    context.textAlign = 'right'; context.textBaseline = 'middle';
    context.fillText(digits(tick, 4), box.left - 6, py(tick));
  }
  context.textAlign = 'right'; context.textBaseline = 'bottom';
  context.fillText(labels[0], box.right, height - 2);
  context.textAlign = 'left'; context.textBaseline = 'top';
  context.fillText(labels[1], 4, 2);
  for (const line of lines) {
    const { colour, dash } = look(line.number);
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = 2;
    context.setLineDash(dash);
    context.beginPath();
    line.points.forEach(([x, y], k) => (k ? context.lineTo(px(x), py(y)) : context.moveTo(px(x), py(y))));
    context.stroke();
    context.setLineDash([]);
    if (line.marks) for (const [x, y] of line.points) { context.beginPath(); context.arc(px(x), py(y), 3, 0, 2 * Math.PI); context.fill(); }
  }
  for (const { point, number } of marked) {
    const { colour } = look(number);
    context.beginPath();
    context.arc(px(point[0]), py(point[1]), 7, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = 3;
    context.strokeStyle = theme('card');
    context.stroke();
  }
}

/** A sample of a line, for lists. */
export function sample(canvas, number) {
  const context = sized(canvas, 22, 12);
  const { colour, dash } = look(number);
  context.strokeStyle = colour;
  context.lineWidth = 3;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(0, 6);
  context.lineTo(22, 6);
  context.stroke();
}
