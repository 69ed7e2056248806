// A slider with a number beside it: drag it, or type exactly.

import { make } from './dom.js';

export class Slider {
  constructor(host, name, title, changed) {
    this.range = make('input', { type: 'range', id: `${name}-range` });
    this.number = make('input', { type: 'number', id: name, step: 'any' });
    this.range.setAttribute('aria-label', title);
    this.number.setAttribute('aria-label', `${title}, number`);
    this.element = make('div', { className: 'slider', title }, make('span', { textContent: name }), this.range, this.number);
    host.append(this.element);
    this.range.addEventListener('input', () => this.#moved(Number(Number(this.range.value).toPrecision(4)), changed));
    // an answer that comes in while somebody types must not overwrite what is typed
    this.number.addEventListener('input', () => { this.typing = true; });
    this.number.addEventListener('change', () => {
      this.typing = false;
      this.#moved(Number(this.number.value), changed);
    });
    this.number.addEventListener('blur', () => {
      this.typing = false;
      this.number.value = this.value;
    });
  }

  #moved(value, changed) {
    this.set(value);
    changed(this.value);
  }

  limits(low, high) {
    [this.low, this.high] = [low, high];
    this.range.min = low;
    this.range.max = high;
    this.range.step = (high - low) / 200 || 0.001;
    this.number.min = low;
    this.number.max = high;
  }

  /** Shows a value, within the limits. */
  set(value) {
    this.value = Math.min(this.high, Math.max(this.low, Number.isFinite(value) ? value : this.low));
    this.range.value = this.value;
    if (!this.typing) this.number.value = this.value;
  }

  show(shown) {
    this.element.hidden = !shown;
  }
}
