// One formulation's view of the world: asks for its solution, draws it, and stops asking when the
// answer is no longer wanted.

import { abandoned, lines } from './api.js';
import { css, ramp } from './colours.js';
import { sized } from './canvas.js';
import { make } from './dom.js';
import { digits, gap } from './numbers.js';
import { cellValues, draw } from './view.js';

/** A solve that has not answered after this long makes way for a newer one. */
const PATIENCE = 250;

export class Pane {
  constructor(number, changed) {
    this.number = number;
    this.changed = changed;
    this.title = make('strong');
    this.badge = make('span', { className: 'badge', textContent: 'not solved yet' });
    this.canvas = make('canvas', { tabIndex: 0 });
    this.canvas.setAttribute('role', 'application');
    this.scale = make('canvas');
    this.legend = make('div', { className: 'legend' }, make('span', { textContent: '0' }), this.scale, make('span'));
    this.element = make('div', { className: 'pane' }, make('div', { className: 'pane-head' }, this.title, this.badge), this.canvas, this.legend);
    this.extra = {};
    this.clear();
  }

  clear() {
    this.solved = null;
    this.analysis = null;
    this.report = null;
  }

  /** Solves; while one solve is young, newer questions wait, and only the newest is asked. */
  ask(question) {
    this.waiting = question;
    if (!this.running) this.#next();
    else if (this.solvedCurrent || performance.now() - this.running.since > PATIENCE) this.running.controller.abort();
    else setTimeout(() => this.waiting === question && this.running?.controller.abort(), PATIENCE);
  }

  /** No answer is wanted any more. */
  stop() {
    this.waiting = null;
    this.running?.controller.abort();
  }

  async #next() {
    const question = this.waiting;
    this.waiting = null;
    const controller = new AbortController();
    this.running = { controller, since: performance.now() };
    this.solvedCurrent = false;
    this.state = 'busy';
    this.changed(this);
    try {
      await lines('solve', question.body, controller.signal, (line) => this.#take(line, question));
      this.state = 'done';
    } catch (error) {
      if (!abandoned(error)) {
        this.state = 'error';
        this.error = error.message;
        this.clear();
        this.draw();
      } else if (!this.waiting) {
        this.state = 'stopped';
      }
    }
    this.running = null;
    if (this.waiting) this.#next();
    else this.changed(this);
  }

  async #take(line, question) {
    if (line.solved) {
      // the world is described at the same time as it is solved
      const scene = await question.scene;
      if (!scene) return;
      this.solved = line.solved;
      this.analysis = null;
      this.report = null;
      this.solvedCurrent = true;
      this.question = question;
      this.scene = scene;
      this.grid = question.grid;
      this.state = 'measuring';
      this.draw();
      question.drawn?.(this);
      if (this.waiting) this.running.controller.abort();
    } else if (line.analysis) {
      this.analysis = line.analysis;
      this.state = 'judging';
    } else if (line.report) {
      this.report = line.report;
    }
    this.changed(this);
  }

  /** The most visited cell's share. */
  get largest() {
    return this.solved && this.scene ? Math.max(...cellValues(this.scene, this.solved.stationary)) : 0;
  }

  /** Draws what is known; `extra` holds what lies on top (selection, walkers, cursor). */
  draw() {
    const solved = this.solved;
    if (!this.scene || !solved || solved.stationary.length !== this.scene.about.states) {
      this.badge.textContent = this.state === 'error' ? 'no solution' : 'not solved yet';
      this.badge.dataset.tone = 'mixed';
      return;
    }
    this.title.textContent = solved.formulation;
    const optimal = solved.status === 'optimal';
    this.badge.dataset.tone = optimal ? 'good' : 'mixed';
    this.badge.textContent = `${optimal ? 'certified optimal' : solved.status.replaceAll('_', ' ')}, gap ${gap(solved.gap)}`;
    this.badge.title = `value ${digits(solved.objective, 9)}, bound ${digits(solved.bound, 9)}; ${solved.solver} solver, ${solved.iterations} iterations, ${digits(1000 * solved.seconds, 3)} ms`;
    const top = draw(this.canvas, this.scene, {
      values: solved.stationary, policy: solved.policy, grid: this.grid, allFlow: solved.flow, top: this.top, ...this.extra,
    });
    this.canvas.setAttribute('aria-label', `Heat map of long-run visits, ${solved.formulation}, ${this.scene.about.states} states`);
    const context = sized(this.scale, 140, 10);
    for (let x = 0; x < 140; x += 1) {
      context.fillStyle = css(ramp(x / 139));
      context.fillRect(x, 0, 1.5, 10);
    }
    this.legend.lastChild.textContent = `${digits(top, 3)} of the time${this.scene.kind === 'map' ? ' in a cell' : ''}; evenly would be ${digits(1 / this.scene.about.states, 3)}`;
  }
}
