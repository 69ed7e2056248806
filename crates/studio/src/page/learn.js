// Learners at work in a world that they do not know. The server goes on only as far as this page
// asks.

import { abandoned, one } from './api.js';
import { find, make } from './dom.js';
import { digits, percent } from './numbers.js';
import { Player } from './player.js';
import { plot, sample } from './plot.js';
import { draw } from './view.js';

const NAMES = ['ideal', 'paper', 'max-ent', 'count-based', 'random'];
const VIEWS = [['visits', 'visits so far'], ['doubt', 'error of its model'], ['stationary', 'long run of what it learned']];

export class Learning {
  constructor(studio) {
    this.studio = studio;
    this.words = find('learn-words');
    const before = ['ideal', 'count-based', 'random'];
    this.boxes = NAMES.map((name, number) => {
      const box = make('input', { type: 'checkbox', checked: before.includes(name), value: name });
      box.addEventListener('change', () => this.reset());
      const key = make('canvas', { className: 'key' });
      find('learners').append(make('label', {}, box, key, name === 'ideal' ? 'ideal (IDE3AL)' : name));
      sample(key, number);
      return box;
    });
    const controls = find('learn-controls');
    this.player = new Player(controls, { begin: () => this.#begin(), advance: (count) => this.#advance(count), name: 'learn', speed: 2, speeds: [1, 4, 15, 60] });
    this.iterations = make('input', { type: 'number', id: 'learn-iterations', value: 100, min: 1, max: 5000 });
    this.batch = make('input', { type: 'number', id: 'learn-batch', value: 100, min: 1, max: 100000 });
    this.seed = make('input', { type: 'number', id: 'learn-seed', value: 1, min: 0 });
    for (const input of [this.iterations, this.batch, this.seed]) input.addEventListener('change', () => this.reset());
    controls.append(make('label', {}, 'iterations', this.iterations), make('label', {}, 'of', this.batch, 'steps'), make('label', {}, 'seed', this.seed));
    this.who = make('select', { id: 'learn-who' });
    this.what = make('select', { id: 'learn-what' });
    for (const [value, textContent] of VIEWS) this.what.append(make('option', { value, textContent }));
    this.who.setAttribute('aria-label', 'Learner');
    this.what.setAttribute('aria-label', 'What to show');
    for (const select of [this.who, this.what]) select.addEventListener('change', () => this.show());
    find('learn-view').append(this.who, this.what);
  }

  /** Another world: its own budget. */
  world(about) {
    this.iterations.value = Math.min(100, about.learning.iterations);
    this.batch.value = about.learning.batch;
    this.reset();
  }

  reset() {
    this.controller?.abort();
    this.learners = [];
    this.player.reset();
    const names = this.boxes.filter((box) => box.checked).map((box) => box.value);
    const before = this.who.value;
    this.who.replaceChildren(...names.map((name) => make('option', { value: name, textContent: name, selected: name === before })));
    this.show();
  }

  async #ask(path, body) {
    this.controller = new AbortController();
    try {
      return await one(path, body, this.controller.signal);
    } catch (error) {
      if (!abandoned(error)) this.words.textContent = `Learning stopped: ${error.message}`;
      return null;
    }
  }

  async #begin() {
    const algorithms = this.boxes.filter((box) => box.checked).map((box) => box.value);
    const { world } = this.studio.asked();
    this.learners = [];
    this.words.textContent = 'The learners are getting ready…';
    const budget = { iterations: Number(this.iterations.value), batch: Number(this.batch.value), seed: Number(this.seed.value) };
    const answer = await this.#ask('learn', { world, algorithms, ...budget });
    if (!answer) return false;
    this.session = answer.session;
    return true;
  }

  async #advance(count) {
    const answer = await this.#ask('learn/next', { session: this.session, iterations: Math.min(10, count) });
    if (!answer) return false;
    this.iteration = answer.iteration;
    this.steps = answer.steps;
    answer.learners.forEach((learner, k) => {
      const before = answer.from ? this.learners[k] : undefined;
      this.learners[k] = {
        ...learner,
        entropy: [...(before?.entropy ?? []), ...learner.entropy_normalized],
        error: [...(before?.error ?? []), ...learner.model_error],
      };
    });
    this.show();
    return !answer.done;
  }

  show() {
    const batch = Number(this.batch.value);
    const curve = (key) => this.learners.map((learner) => ({ number: NAMES.indexOf(learner.name), points: learner[key].map((y, k) => [k * batch, y]) }));
    const x = [0, Math.max(1, Number(this.iterations.value) * batch)];
    plot(find('learn-entropy'), { lines: curve('entropy'), x, labels: ['steps', 'state entropy of what was learned, share'] });
    plot(find('learn-error'), { lines: curve('error'), x, labels: ['steps', 'model error (Frobenius norm)'] });
    const scene = this.studio.scene;
    const chosen = this.learners.find((learner) => learner.name === this.who.value);
    if (scene && chosen && chosen.visits.length === scene.about.states) {
      const top = this.what.value === 'doubt' ? 1 : undefined;
      draw(find('learn-map'), scene, { values: chosen[this.what.value], top, policy: this.what.value === 'stationary' ? chosen.policy : undefined, grid: this.studio.panes[0].grid });
    } else if (scene) {
      draw(find('learn-map'), scene, { values: new Array(scene.about.states).fill(0), grid: this.studio.panes[0].grid });
    }
    if (!this.learners.length) {
      this.words.textContent = 'Agents that do not know this world: IDE3AL against its rivals. Nothing has been learned yet.';
      return;
    }
    const parts = this.learners.map((learner) => `${learner.name} ${percent(learner.entropy.at(-1))}, model error ${digits(learner.error.at(-1), 3)}, ${learner.pairs_tried} pairs tried`);
    this.words.textContent = `Iteration ${this.iteration}, ${this.steps} steps: ${parts.join('; ')}.`;
  }
}
