// Where states are drawn: cells of a map, nodes of a graph, or numbered tiles where there is
// neither.

import { places } from './graph.js';

const MOST_NODES = 400;

/** Geometry of a described world, independent of any canvas. */
export class Scene {
  constructor(about) {
    this.about = about;
    let layout = about.layout;
    this.kind = 'map';
    if (!layout && about.states <= MOST_NODES) {
      this.kind = 'graph';
      this.nodes = places(about.states, about.edges);
    } else if (!layout) {
      this.kind = 'tiles';
      const columns = Math.ceil(Math.sqrt(about.states));
      layout = { rows: Math.ceil(about.states / columns), columns, cells: Array.from({ length: about.states }, (_, s) => s) };
    }
    if (layout) {
      this.rows = layout.rows;
      this.columns = layout.columns;
      this.cells = layout.cells;
      this.statesOf = Array.from({ length: layout.rows * layout.columns }, () => []);
      layout.cells.forEach((cell, state) => this.statesOf[cell].push(state));
    }
    const moves = ['right', 'down', 'left', 'up'];
    const names = about.action_names ?? [];
    /** Whether actions are the four moves, so that a policy can be drawn as arrows. */
    this.walks = this.kind === 'map' && moves.every((name, a) => names[a] === name);
  }

  /** Height for a width. */
  height(width, most) {
    if (this.kind === 'graph') return Math.min(width * 0.7, most);
    return Math.min(width / this.columns, most / this.rows) * this.rows;
  }

  /** Side of a cell, or of the box around a node. */
  side(width, height) {
    if (this.kind === 'graph') return Math.max(12, Math.min(46, 1.1 * Math.sqrt((width * height) / this.nodes.length) * 0.45));
    return Math.min(width / this.columns, height / this.rows);
  }

  /** Left edge of the map, so that narrow ones stand in the middle. */
  offset(width, height) {
    return this.kind === 'graph' ? 0 : Math.max(0, (width - this.side(width, height) * this.columns) / 2);
  }

  /** Middle of a state. */
  middle(state, width, height) {
    if (this.kind === 'graph') return [this.nodes[state][0] * width, this.nodes[state][1] * height];
    const side = this.side(width, height);
    const cell = this.cells[state];
    return [this.offset(width, height) + (cell % this.columns + 0.5) * side, (Math.floor(cell / this.columns) + 0.5) * side];
  }

  /** The cell (or the state of a graph) at a point; -1 where there is none. */
  at(x, y, width, height) {
    if (this.kind === 'graph') {
      let [best, near] = [-1, this.side(width, height)];
      this.nodes.forEach(([nx, ny], state) => {
        const distance = Math.hypot(nx * width - x, ny * height - y);
        if (distance < near) [best, near] = [state, distance];
      });
      return best;
    }
    const side = this.side(width, height);
    const column = Math.floor((x - this.offset(width, height)) / side);
    const row = Math.floor(y / side);
    return column >= 0 && column < this.columns && row >= 0 && row < this.rows ? row * this.columns + column : -1;
  }

  /** The states at what `at` returned. */
  states(spot) {
    if (spot < 0) return [];
    return this.kind === 'graph' ? [spot] : this.statesOf[spot] ?? [];
  }

  name(state) {
    return this.about.state_names?.[state] ?? String(state);
  }

  action(pair) {
    const action = this.about.actions[pair];
    return this.about.action_names?.[action] ?? `action ${action}`;
  }
}
