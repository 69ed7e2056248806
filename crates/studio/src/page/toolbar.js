// Undo, redo, and the sides of the map; the editor's own tools stand before them.

import { find, make } from './dom.js';
import { MOST_SIDE } from './grid.js';

/** A number of rows or columns that a map may have. */
const side = (text) => Math.min(MOST_SIDE, Math.max(1, Math.round(Number(text)) || 1));

export class Toolbar {
  /** `step(way)` undoes or redoes, `resize(rows, columns)` changes the sides. */
  constructor({ step, resize }) {
    const button = (textContent, id, title) => {
      const element = make('button', { type: 'button', textContent, id, title });
      element.addEventListener('click', () => step(id));
      return element;
    };
    this.undo = button('Undo', 'undo', 'Ctrl+Z');
    this.redo = button('Redo', 'redo', 'Ctrl+Shift+Z');
    const number = (id) => {
      const input = make('input', { type: 'number', id, min: 1, max: MOST_SIDE });
      input.addEventListener('change', () => resize(side(find('rows').value), side(find('columns').value)));
      return input;
    };
    const rows = make('label', {}, 'rows', number('rows'));
    const columns = make('label', {}, 'columns', number('columns'));
    this.sides = make('span', { className: 'row' }, rows, columns);
    const gap = () => make('span', { className: 'gap' });
    find('tools').append(gap(), this.undo, this.redo, gap(), this.sides);
    addEventListener('keydown', (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.matches('input')) return;
      if (event.key === 'z' && !event.shiftKey) step('undo', event);
      else if (event.key === 'y' || (event.key.toLowerCase() === 'z' && event.shiftKey)) step('redo', event);
    });
  }

  show(grid, history) {
    this.sides.hidden = !grid;
    if (grid) [find('rows').value, find('columns').value] = [grid.height, grid.width];
    this.undo.disabled = !history.canUndo;
    this.redo.disabled = !history.canRedo;
  }
}
