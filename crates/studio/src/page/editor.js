// Drawing and looking, with mouse, touch, pen or keyboard.

import { make } from './dom.js';
import { FLOOR, WALL } from './grid.js';

/** Tools: name, what it draws, what it is for. */
export const TOOLS = [
  ['look', null, 'Look', 'click a state to see its policy and its flows'],
  ['wall', WALL, 'Wall', 'nobody passes'],
  ['floor', FLOOR, 'Floor', 'removes what is there'],
  ['start', 'S', 'Start', 'walks begin here; several starts are equally likely'],
  ['ice', '~', 'Slippery', 'a random move happens with probability “ice”'],
  ['one-way', '>', 'One-way', 'left in its direction only; drawing on it turns it'],
];

const ONE_WAY = '>v<^';

export class Editor {
  /** `host`: grid and setGrid(grid, done) of a map world, look(pane, states), undo(), redo(),
   * canvases' panes. */
  constructor(toolbar, host) {
    this.host = host;
    this.tool = 'wall';
    this.buttons = TOOLS.map(([name, , label, purpose], k) => {
      const button = make('button', { type: 'button', textContent: label, title: `${purpose} (key ${k + 1})` });
      button.dataset.tool = name;
      button.addEventListener('click', () => this.choose(name));
      toolbar.append(button);
      return button;
    });
    this.choose('wall');
  }

  choose(name) {
    this.tool = name;
    for (const button of this.buttons) button.setAttribute('aria-pressed', String(button.dataset.tool === name));
    for (const canvas of document.querySelectorAll('.pane canvas')) canvas.dataset.tool = name;
    this.host.hint(TOOLS.find((tool) => tool[0] === name)[3]);
  }

  /** Only looking is possible where there is no map to draw on. */
  allow(drawing) {
    for (const button of this.buttons) button.disabled = !drawing && button.dataset.tool !== 'look';
    if (!drawing && this.tool !== 'look') this.choose('look');
  }

  attach(pane) {
    const canvas = pane.canvas;
    let stroke = null;
    const spot = (event) => {
      const box = canvas.getBoundingClientRect();
      return pane.scene ? pane.scene.at(event.clientX - box.left, event.clientY - box.top, box.width, box.height) : -1;
    };
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button > 0 || !pane.scene) return;
      canvas.setPointerCapture(event.pointerId);
      const cell = spot(event);
      pane.cursor = cell;
      if (this.tool === 'look' || event.shiftKey || !this.host.grid) {
        this.host.look(pane, pane.scene.states(cell));
        return;
      }
      this.host.remember();
      stroke = { last: -1, cell: this.#ink(cell) };
      this.#touch(stroke, cell, false);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (stroke) this.#touch(stroke, spot(event), false);
    });
    const end = () => {
      if (!stroke) return;
      stroke = null;
      this.host.setGrid(this.host.grid, true);
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', end);
    canvas.addEventListener('keydown', (event) => this.#key(pane, event));
    canvas.addEventListener('blur', () => {
      pane.extra.cursor = undefined;
      pane.draw();
    });
  }

  /** What the tool draws where a stroke begins: on its own kind it erases, one-way cells turn. */
  #ink(cell) {
    const drawn = TOOLS.find((tool) => tool[0] === this.tool)[1];
    const grid = this.host.grid;
    if (cell < 0) return drawn;
    const there = grid.at(Math.floor(cell / grid.width), cell % grid.width);
    if (drawn === '>' && ONE_WAY.includes(there)) return ONE_WAY[(ONE_WAY.indexOf(there) + 1) % 4];
    return there === drawn ? FLOOR : drawn;
  }

  #touch(stroke, cell, done) {
    const grid = this.host.grid;
    if (cell < 0 || cell === stroke.last || cell >= grid.height * grid.width) return;
    const from = stroke.last;
    stroke.last = cell;
    let next = grid;
    for (const passed of between(from, cell, grid.width)) {
      const [row, column] = [Math.floor(passed / grid.width), passed % grid.width];
      if (next.at(row, column) !== stroke.cell) next = next.put(row, column, stroke.cell);
    }
    if (next !== grid) this.host.setGrid(next, done);
  }

  #key(pane, event) {
    const scene = pane.scene;
    if (!scene || event.ctrlKey || event.metaKey || event.altKey) return;
    const columns = scene.columns ?? 1;
    const last = (scene.kind === 'graph' ? scene.about.states : scene.rows * columns) - 1;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (event.key in steps) {
      const next = (pane.cursor ?? -1) < 0 ? 0 : pane.cursor + steps[event.key];
      pane.cursor = Math.min(last, Math.max(0, next));
      pane.extra.cursor = pane.cursor;
      pane.draw();
    } else if (event.key === 'Enter' || (event.key === ' ' && (this.tool === 'look' || !this.host.grid))) {
      this.host.look(pane, scene.states(pane.cursor ?? -1));
    } else if (event.key === ' ' && (pane.cursor ?? -1) >= 0) {
      this.host.remember();
      this.#touch({ last: -1, cell: this.#ink(pane.cursor) }, pane.cursor, true);
    } else if (/^[1-6]$/.test(event.key) && !this.buttons[event.key - 1].disabled) {
      this.choose(TOOLS[event.key - 1][0]);
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** The cells on the line between two, so that a quick stroke has no holes. */
function between(from, to, width) {
  if (from < 0) return [to];
  const [ax, ay, bx, by] = [from % width, Math.floor(from / width), to % width, Math.floor(to / width)];
  const steps = Math.max(Math.abs(bx - ax), Math.abs(by - ay), 1);
  return Array.from({ length: steps }, (_, k) => {
    const share = (k + 1) / steps;
    return Math.round(ay + (by - ay) * share) * width + Math.round(ax + (bx - ax) * share);
  });
}
