// The trade-off curve with the present point on it.

import { abandoned, one } from './api.js';
import { digits, percent } from './numbers.js';
import { plot } from './plot.js';

/** The curve is asked for when nothing has changed for this long. */
const QUIET = 500;

export class Curve {
  constructor(canvas, words) {
    this.canvas = canvas;
    this.words = words;
    this.curves = new Map();
    this.controllers = new Map();
  }

  /** Asks for the curves of some panes' questions. The parameter that a curve runs along does not
   * change it. */
  ask(questions) {
    clearTimeout(this.timer);
    const wanted = new Map(questions.map((question) => {
      const { formulation, xi, zeta, world } = question.body;
      const fixed = question.takesZeta || question.takesWithin ? xi : zeta;
      return [JSON.stringify([question.number, formulation, fixed, world]), question];
    }));
    for (const [key, controller] of this.controllers) if (!wanted.has(key)) { controller.abort(); this.controllers.delete(key); }
    for (const key of [...this.curves.keys()]) if (!wanted.has(key)) this.curves.delete(key);
    this.timer = setTimeout(() => wanted.forEach((question, key) => this.#fetch(key, question)), QUIET);
    this.draw();
  }

  stop() {
    clearTimeout(this.timer);
    for (const controller of this.controllers.values()) controller.abort();
    this.controllers.clear();
  }

  async #fetch(key, question) {
    if (this.curves.has(key) || this.controllers.has(key)) return;
    const controller = new AbortController();
    this.controllers.set(key, controller);
    try {
      const { curve } = await one('curve', question.body, controller.signal);
      this.curves.set(key, { number: question.number, curve });
    } catch (error) {
      if (!abandoned(error)) this.curves.set(key, { number: question.number, error: error.message });
    }
    this.controllers.delete(key);
    this.draw();
  }

  draw(panes = this.panes ?? []) {
    this.panes = panes;
    const found = [...this.curves.values()];
    const good = found.filter((entry) => entry.curve);
    const lines = good.map(({ number, curve }) => ({ number, marks: true, points: curve.points.map((p) => [p.spectral_gap, p.entropy_normalized]) }));
    const marked = panes.filter((pane) => pane.solved && pane.analysis)
      .map((pane) => ({ number: pane.number, point: [pane.analysis.spectral_gap, pane.solved.entropy_normalized] }));
    plot(this.canvas, { lines, marked, labels: ['spectral gap: further right mixes faster', 'state entropy, share of an even spread'] });
    const present = marked.map(({ point }) => `spectral gap ${digits(point[0], 4)} at ${percent(point[1])}`).join('; ');
    const busy = this.controllers.size ? ' The curve is being computed…' : '';
    const wrong = found.find((entry) => entry.error);
    const along = good.map(({ curve }) => `${curve.formulation} along ${curve.vary}, ${curve.points.length} solves`).join('; ');
    this.words.textContent = wrong ? `No curve: ${wrong.error}` : `${along ? `${along}. ` : ''}${present ? `Now: ${present}.` : ''}${busy}`;
  }
}
