// The map as text: what can stand on a cell, and how cells change.

export const WALL = '#';
export const FLOOR = '.';
export const MOST_SIDE = 40;
const CELLS = '#.S~>v<^';

/** A map: rows of characters, and the settings before it. */
export class Grid {
  constructor(rows, settings = {}) {
    this.rows = rows;
    this.settings = { slip: 0, ice: 0.5, restart: 0, ...settings };
  }

  get height() { return this.rows.length; }
  get width() { return this.rows[0].length; }
  at(row, column) { return this.rows[row][column]; }

  /** Reads what a person may have written; says what is wrong with it. */
  static parse(text) {
    const lines = text.replace(/\r/g, '').split('\n');
    const settings = {};
    while (lines.length && (lines[0].includes('=') || lines[0].trim() === '')) {
      const line = lines.shift();
      if (!line.includes('=')) continue;
      const [key, value] = line.split('=').map((part) => part.trim());
      if (!['slip', 'ice', 'restart'].includes(key)) throw new Error(`unknown map setting '${key}'; known: slip, ice, restart`);
      settings[key] = Number(value);
      if (!(settings[key] >= 0 && settings[key] <= 1)) throw new Error(`${key} = ${value}: it must be a probability, 0 to 1`);
    }
    while (lines.length && lines.at(-1).trim() === '') lines.pop();
    const width = Math.max(0, ...lines.map((line) => line.length));
    if (!width) throw new Error('the map is empty; draw at least one free cell');
    const rows = lines.map((line, at) => [...line.padEnd(width, WALL)].map((c, column) => {
      const cell = c === ' ' ? FLOOR : c;
      if (!CELLS.includes(cell)) throw new Error(`line ${at + 1} of the map, column ${column + 1}: ${JSON.stringify(c)} is not part of a map`);
      return cell;
    }).join(''));
    return new Grid(rows, settings);
  }

  /** As a file, and as the server reads it. */
  text() {
    const head = [];
    if (this.settings.slip > 0) head.push(`slip = ${this.settings.slip}`);
    if (this.rows.some((row) => row.includes('~'))) head.push(`ice = ${this.settings.ice}`);
    if (this.settings.restart > 0) head.push(`restart = ${this.settings.restart}`);
    return [...head, ...this.rows].join('\n') + '\n';
  }

  with(changes) {
    return new Grid(this.rows, { ...this.settings, ...changes });
  }

  put(row, column, cell) {
    const rows = this.rows.slice();
    rows[row] = rows[row].slice(0, column) + cell + rows[row].slice(column + 1);
    return new Grid(rows, this.settings);
  }

  resized(height, width) {
    const kept = this.rows.slice(0, height).map((row) => row.slice(0, width).padEnd(width, FLOOR));
    while (kept.length < height) kept.push(FLOOR.repeat(width));
    return new Grid(kept, this.settings);
  }

  // In an address: letters with run lengths, rows parted by '-'.
  code() {
    const letters = 'woSirdlu';
    const row = (text) => text.replace(/(.)\1*/g, (run) => letters[CELLS.indexOf(run[0])] + (run.length > 1 ? run.length : ''));
    return this.rows.map(row).join('-');
  }

  static decode(code, settings) {
    const letters = 'woSirdlu';
    const rows = code.split('-').map((row) => {
      let text = '';
      for (const [, letter, count] of row.matchAll(/([woSirdlu])(\d{0,3})/g)) text += CELLS[letters.indexOf(letter)].repeat(Number(count || 1));
      return text;
    });
    return Grid.parse(rows.join('\n')).with(settings);
  }
}

const ROOMS = `
#############
#S....#.....#
#.....#.....#
#...........#
#.....#.....#
#.....#.....#
##.####.....#
#.....###.###
#.....#.....#
#.....#.....#
#...........#
#.....#.....#
#############`;

const LAKE = `
restart = 0.02
##################
#S...............#
#.####.########..#
#.#~~~~~~~~~~~#..#
#.#~~~~~~~~~~~>..#
#.#~~~~~~~~~~~#..#
#.####.####^###..#
#................#
##################`;

const MAZE = `
###############
#S#.....#.....#
#.#.###.#.###.#
#...#...#...#.#
#####.#####.#.#
#.....#...#.#.#
#.#####.#.#.#.#
#.......#...#.#
###############`;

/** Worlds to begin with. */
export const STARTERS = [
  ['Lake with one-way doors', Grid.parse(LAKE.slice(1))],
  ['Four rooms', Grid.parse(ROOMS.slice(1))],
  ['Maze', Grid.parse(MAZE.slice(1))],
  ['Open 20 x 20', new Grid([`S${FLOOR.repeat(19)}`, ...Array.from({ length: 19 }, () => FLOOR.repeat(20))])],
];
