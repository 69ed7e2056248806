// Walkers of several policies race from the start: who covers the world first?

import { abandoned, lines } from './api.js';
import { find, make } from './dom.js';
import { percent } from './numbers.js';
import { Player } from './player.js';
import { plot, sample } from './plot.js';

export class Race {
  /** `studio`: question parts (world, xi, zeta, within), scene, formulations, and the panes that
   * walkers are drawn on. */
  constructor(studio) {
    this.studio = studio;
    this.words = find('race-words');
    this.canvas = find('race-plot');
    this.names = [...studio.formulations.map((f) => f.name), 'uniform'];
    const before = ['reach', 'frobenius', 'state-entropy', 'uniform'];
    this.boxes = this.names.map((name, number) => {
      const box = make('input', { type: 'checkbox', checked: before.includes(name), value: name });
      box.addEventListener('change', () => this.reset());
      const key = make('canvas', { className: 'key' });
      find('racers').append(make('label', {}, box, key, `${number + 1} ${name}`));
      sample(key, number);
      return box;
    });
    const controls = find('race-controls');
    this.player = new Player(controls, { begin: () => this.#begin(), advance: (count) => this.#advance(count), name: 'race' });
    this.steps = make('input', { type: 'number', id: 'race-steps', value: 1000, min: 10, max: 20000 });
    this.seed = make('input', { type: 'number', id: 'race-seed', value: 1, min: 0 });
    for (const input of [this.steps, this.seed]) input.addEventListener('change', () => this.reset());
    controls.append(make('label', {}, 'steps', this.steps), make('label', {}, 'seed', this.seed));
  }

  /** The world or the policies are others now. */
  reset() {
    this.controller?.abort();
    this.runners = [];
    this.step = 0;
    this.player.reset();
    this.#show();
  }

  async #begin() {
    const racers = this.boxes.filter((box) => box.checked).map((box) => box.value);
    this.runners = [];
    this.step = 0;
    this.words.textContent = 'Solving for the walkers…';
    this.controller = new AbortController();
    try {
      const body = { ...this.studio.asked(), racers, steps: Number(this.steps.value), seed: Number(this.seed.value) };
      await lines('race', body, this.controller.signal, (line) => this.runners.push({ ...line, number: this.names.indexOf(line.racer) }));
    } catch (error) {
      if (!abandoned(error)) this.words.textContent = `The race cannot be run: ${error.message}`;
      return false;
    }
    return true;
  }

  #advance(count) {
    const last = Number(this.steps.value);
    this.step = Math.min(last, this.step + count);
    this.#show();
    return this.step < last;
  }

  #show() {
    const runners = this.runners ?? [];
    this.studio.walkers(runners.map((runner) => [runner.path[this.step], runner.number]));
    const states = this.studio.scene?.about.states ?? 1;
    const covered = (runner) => runner.found.filter((step) => step <= this.step).length / states;
    const curves = runners.map((runner) => {
      const points = [[0, 0]];
      runner.found.forEach((step, k) => {
        if (step > this.step) return;
        points.push([step, k / states], [step, (k + 1) / states]);
      });
      points.push([this.step, covered(runner)]);
      return { number: runner.number, points };
    });
    plot(this.canvas, { lines: curves, x: [0, Math.max(10, Number(this.steps.value))], y: [0, 1], labels: ['steps', 'states seen, share'] });
    if (!runners.length) return;
    const ranked = [...runners].sort((a, b) => covered(b) - covered(a));
    this.words.textContent = `Step ${this.step}: ${ranked.map((runner) => `${runner.racer} ${percent(covered(runner))}`).join(', ')}.`;
  }
}
