// Draws a scene: heat, walls and marks, arrows of the policy, flows of a chosen state, walkers.

import { css, inkOn, look, ramp, theme } from './colours.js';
import { sized } from './canvas.js';

const DIRECTIONS = [[1, 0], [0, 1], [-1, 0], [0, -1]];

/** Height of a map on the page: as large as the window allows. */
const most = () => Math.max(260, Math.min(720, window.innerHeight * 0.72));

/**
 * `what`: values (one per state), top (value of the ramp's end), policy (one per pair),
 * grid (marks), selected (states), flow, cursor
 * (a cell), walkers ([state, number] pairs).
 */
export function draw(canvas, scene, what) {
  const width = canvas.clientWidth || 300;
  const height = scene.height(width, most());
  const context = sized(canvas, width, height);
  const size = { width, height };
  const top = what.top || Math.max(...cellValues(scene, what.values), 0) || 1;
  if (scene.kind === 'graph') graph(context, scene, what, top, size);
  else map(context, scene, what, top, size);
  if (what.flow && what.selected?.length) flows(context, scene, what, size);
  if (what.walkers) walkers(context, scene, what.walkers, size);
  return top;
}

/** Values per cell: states that share one add up. */
export function cellValues(scene, values) {
  if (scene.kind === 'graph') return values;
  return scene.statesOf.map((states) => states.reduce((sum, s) => sum + values[s], 0));
}

function map(context, scene, what, top, { width, height }) {
  const side = scene.side(width, height);
  const left = scene.offset(width, height);
  const values = cellValues(scene, what.values);
  const gap = side >= 10 ? 1 : 0;
  context.fillStyle = theme('wall');
  context.fillRect(left, 0, side * scene.columns, side * scene.rows);
  values.forEach((value, cell) => {
    if (!scene.statesOf[cell].length) return;
    const [x, y] = [left + (cell % scene.columns) * side, Math.floor(cell / scene.columns) * side];
    context.fillStyle = css(ramp(value / top));
    context.fillRect(x + gap / 2, y + gap / 2, side - gap, side - gap);
    const ink = inkOn(value / top);
    if (what.grid) mark(context, what.grid.at(Math.floor(cell / scene.columns), cell % scene.columns), x, y, side, ink);
    if (scene.walks && what.policy && side >= 9) arrows(context, scene, what.policy, scene.statesOf[cell][0], x + side / 2, y + side / 2, side, ink);
  });
  for (const state of what.selected ?? []) frame(context, left, side, scene, scene.cells[state], theme('accent'), 3);
  if (what.cursor !== undefined && what.cursor >= 0) frame(context, left, side, scene, what.cursor, theme('ink'), 2);
}

function frame(context, left, side, scene, cell, colour, thickness) {
  const [x, y] = [left + (cell % scene.columns) * side, Math.floor(cell / scene.columns) * side];
  context.lineWidth = thickness + 2;
  context.strokeStyle = theme('paper');
  context.strokeRect(x + 1, y + 1, side - 2, side - 2);
  context.lineWidth = thickness;
  context.strokeStyle = colour;
  context.strokeRect(x + 1, y + 1, side - 2, side - 2);
}

function mark(context, character, x, y, side, ink) {
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = Math.max(1, side / 16);
  if (character === 'S') {
    context.beginPath();
    context.arc(x + side / 2, y + side / 2, side * 0.44, 0, 2 * Math.PI);
    context.stroke();
  } else if (character === '~') {
    for (const at of [0.16, 0.84]) {
      context.beginPath();
      context.moveTo(x + side * 0.1, y + side * at);
      context.bezierCurveTo(x + side * 0.35, y + side * (at - 0.18), x + side * 0.65, y + side * (at + 0.18), x + side * 0.9, y + side * at);
      context.stroke();
    }
  } else if ('>v<^'.includes(character)) {
    const [dx, dy] = DIRECTIONS['>v<^'.indexOf(character)];
    context.lineWidth = Math.max(1.5, side / 9);
    context.beginPath();
    context.moveTo(x + side * (0.5 + 0.18 * dx - 0.34 * dy), y + side * (0.5 + 0.18 * dy - 0.34 * dx));
    context.lineTo(x + side * (0.5 + 0.44 * dx), y + side * (0.5 + 0.44 * dy));
    context.lineTo(x + side * (0.5 + 0.18 * dx + 0.34 * dy), y + side * (0.5 + 0.18 * dy + 0.34 * dx));
    context.stroke();
  }
}

/** One spike per move, as long as it is likely. */
function arrows(context, scene, policy, state, x, y, side, ink) {
  const first = scene.about.first_pair[state];
  context.fillStyle = ink;
  DIRECTIONS.forEach(([dx, dy], action) => {
    const share = policy[first + action];
    if (!(share > 0.02)) return;
    const length = side * (0.08 + 0.34 * share);
    const half = side * (0.04 + 0.05 * share);
    context.beginPath();
    context.moveTo(x + dx * length, y + dy * length);
    context.lineTo(x - dy * half, y + dx * half);
    context.lineTo(x + dy * half, y - dx * half);
    context.fill();
  });
}

function graph(context, scene, what, top, { width, height }) {
  const radius = scene.side(width, height) / 2;
  const shares = new Map();
  for (const [s, t, share] of what.allFlow ?? []) shares.set(s * scene.about.states + t, share);
  const largest = Math.max(1e-12, ...shares.values());
  context.strokeStyle = theme('muted');
  for (const [s, t] of scene.about.edges) {
    if (s === t) continue;
    const share = (shares.get(s * scene.about.states + t) ?? 0) / largest;
    const [ax, ay] = scene.middle(s, width, height);
    const [bx, by] = scene.middle(t, width, height);
    // curved, so that there and back are two lines
    const [mx, my] = [(ax + bx) / 2 + (by - ay) * 0.12, (ay + by) / 2 - (bx - ax) * 0.12];
    context.globalAlpha = 0.25 + 0.75 * share;
    context.lineWidth = 0.6 + 3.4 * share;
    context.beginPath();
    context.moveTo(ax, ay);
    context.quadraticCurveTo(mx, my, bx, by);
    context.stroke();
    head(context, mx, my, bx, by, radius, 3 + 4 * share, theme('muted'));
  }
  context.globalAlpha = 1;
  what.values.forEach((value, state) => {
    const [x, y] = scene.middle(state, width, height);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = css(ramp(value / top));
    context.fill();
    const chosen = what.selected?.includes(state);
    context.lineWidth = chosen ? 4 : 1;
    context.strokeStyle = chosen ? theme('accent') : theme('line');
    context.stroke();
    if (radius >= 9) {
      context.fillStyle = inkOn(value / top);
      context.font = `${Math.min(12, radius * 0.8)}px system-ui, sans-serif`;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillText(scene.name(state).slice(0, 6), x, y, radius * 1.8);
    }
  });
}

function head(context, fromX, fromY, toX, toY, radius, size, colour) {
  const length = Math.hypot(toX - fromX, toY - fromY) || 1;
  const [dx, dy] = [(toX - fromX) / length, (toY - fromY) / length];
  const [x, y] = [toX - dx * (radius + 1), toY - dy * (radius + 1)];
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - dx * size * 1.6 - dy * size * 0.7, y - dy * size * 1.6 + dx * size * 0.7);
  context.lineTo(x - dx * size * 1.6 + dy * size * 0.7, y - dy * size * 1.6 - dx * size * 0.7);
  context.fill();
}

/** Lines into and out of the chosen state, as wide as they are used. */
function flows(context, scene, what, { width, height }) {
  const chosen = what.selected[0];
  const [cx, cy] = scene.middle(chosen, width, height);
  const largest = Math.max(1e-12, ...what.flow.map((entry) => entry[2]));
  for (const [from, to, share] of what.flow) {
    if (from === to || share < largest * 0.01) continue;
    const inward = to === chosen;
    const [ox, oy] = scene.middle(inward ? from : to, width, height);
    const { colour } = look(inward ? 0 : 1);
    context.strokeStyle = colour;
    context.lineWidth = 1.5 + 4 * (share / largest);
    const bend = 0.16;
    const [sx, sy, ex, ey] = inward ? [ox, oy, cx, cy] : [cx, cy, ox, oy];
    const [mx, my] = [(sx + ex) / 2 + (ey - sy) * bend, (sy + ey) / 2 - (ex - sx) * bend];
    context.beginPath();
    context.moveTo(sx, sy);
    context.quadraticCurveTo(mx, my, ex, ey);
    context.stroke();
    head(context, mx, my, ex, ey, 2, 4 + 3 * (share / largest), colour);
  }
}

function walkers(context, scene, list, { width, height }) {
  const radius = Math.max(4, Math.min(12, scene.side(width, height) * 0.3));
  list.forEach(([state, number], at) => {
    const [x, y] = scene.middle(state, width, height);
    const turn = (2 * Math.PI * at) / list.length;
    const away = list.length > 1 ? radius * 0.6 : 0;
    context.beginPath();
    context.arc(x + away * Math.cos(turn), y + away * Math.sin(turn), radius, 0, 2 * Math.PI);
    context.fillStyle = look(number).colour;
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = theme('paper');
    context.stroke();
    context.fillStyle = theme('paper');
    context.font = `700 ${radius * 1.2}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(String(number + 1), x + away * Math.cos(turn), y + away * Math.sin(turn));
  });
}
