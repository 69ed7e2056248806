// Start, pause, step, speed: one clock for the race and for learning.

import { make } from './dom.js';

/** Steps of a show per second, from slow to fast. */
const SPEEDS = [2, 8, 30, 120, 500, 2000];

export class Player {
  /** `advance(count)` goes on by some steps and says whether there is more; it may be a promise.
   * `restart()` begins anew. */
  constructor(host, { begin, advance, name, speed = 2, speeds = SPEEDS }) {
    this.begin = begin;
    this.advance = advance;
    this.speeds = speeds;
    this.playing = false;
    this.ready = false;
    this.start = make('button', { type: 'button', className: 'primary', textContent: 'Start', id: `${name}-start` });
    this.stepper = make('button', { type: 'button', textContent: 'Step', id: `${name}-step` });
    this.again = make('button', { type: 'button', textContent: 'Begin anew', id: `${name}-again` });
    this.speed = make('select', { id: `${name}-speed` });
    speeds.forEach((value, k) => this.speed.append(make('option', { value, textContent: `${value} a second`, selected: k === speed })));
    this.start.addEventListener('click', () => (this.playing ? this.pause() : this.play()));
    this.stepper.addEventListener('click', () => this.once());
    this.again.addEventListener('click', () => this.reset(true));
    host.append(this.start, this.stepper, this.again, make('label', {}, 'speed', this.speed));
  }

  async #prepared() {
    if (this.ready) return true;
    this.start.disabled = true;
    this.ready = await this.begin();
    this.start.disabled = false;
    return this.ready;
  }

  async play() {
    if (!(await this.#prepared())) return;
    this.playing = true;
    this.start.textContent = 'Pause';
    let last = performance.now();
    let owed = 1;
    // of two loops that overlap the older one ends
    this.loops = (this.loops ?? 0) + 1;
    const mine = this.loops;
    while (this.playing && mine === this.loops) {
      const now = performance.now();
      owed = Math.min(this.speed.value, owed + ((now - last) / 1000) * this.speed.value);
      last = now;
      const count = Math.floor(owed);
      if (count > 0) {
        owed -= count;
        await this.#go(count);
      }
      await new Promise(requestAnimationFrame);
    }
  }

  pause(word = 'Go on') {
    this.playing = false;
    this.start.textContent = word;
  }

  async once() {
    this.pause();
    if (await this.#prepared()) await this.#go(1);
  }

  /** Goes on; at the end the next start begins anew. */
  async #go(count) {
    if (await this.advance(count)) return;
    this.ready = false;
    this.pause('Start');
  }

  /** Forgets the present show; begins another one where wanted. */
  async reset(go = false) {
    this.pause('Start');
    this.ready = false;
    if (go) await this.play();
  }
}
