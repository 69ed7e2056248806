// Undo and redo.

const MOST = 200;

export class History {
  #past = [];
  #future = [];

  /** Remembers what is about to change. */
  note(state) {
    if (this.#past.at(-1) === state) return;
    this.#past.push(state);
    if (this.#past.length > MOST) this.#past.shift();
    this.#future = [];
  }

  undo(now) {
    const before = this.#past.pop();
    if (before !== undefined) this.#future.push(now);
    return before;
  }

  redo(now) {
    const after = this.#future.pop();
    if (after !== undefined) this.#past.push(now);
    return after;
  }

  get canUndo() { return this.#past.length > 0; }
  get canRedo() { return this.#future.length > 0; }
}
