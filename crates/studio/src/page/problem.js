// What is solved: one or two formulations, their parameters, and those of the world.

import { find, make } from './dom.js';
import { Slider } from './sliders.js';

export class ProblemForm {
  /** `settings` is kept up to date; `solve()` is called when a setting changes,
   * `ground(key, value)` when a parameter of the world does. */
  constructor(formulations, settings, { solve, ground }) {
    this.formulations = formulations;
    this.settings = settings;
    const names = formulations.map((formulation) => formulation.name);
    const options = () => names.map((name) => make('option', { value: name, textContent: name }));
    find('formulation').append(...options());
    find('second').append(make('option', { value: '', textContent: 'nothing' }), ...options());
    for (const id of ['formulation', 'second']) {
      find(id).addEventListener('change', () => {
        settings[id] = find(id).value;
        solve();
      });
    }
    const set = (key) => (value) => {
      settings[key] = value;
      solve();
    };
    const change = (key) => (value) => ground(key, value);
    const host = find('sliders');
    const slider = (name, words, moved) => new Slider(host, name, words, moved);
    this.sliders = {
      xi: slider('xi', 'Least probability of every action; larger tries actions more evenly', set('xi')),
      zeta: slider('zeta', 'Largest entry of the doubly stochastic target; smaller mixes faster', set('zeta')),
      within: slider('within', 'Mean number of steps within which states are to be seen', set('within')),
      restart: slider('restart', 'Probability that a step ends at the start instead, as if an episode had ended', change('restart')),
      slip: slider('slip', 'Probability that a random move happens instead', change('slip')),
      ice: slider('ice', 'The same on slippery cells', change('ice')),
    };
    this.sliders.restart.limits(0, 0.5);
    this.sliders.slip.limits(0, 1);
    this.sliders.ice.limits(0, 1);
  }

  takesZeta(name) {
    return this.formulations.find((formulation) => formulation.name === name)?.zeta ?? false;
  }

  takesWithin(name) {
    return this.formulations.find((formulation) => formulation.name === name)?.within ?? false;
  }

  /** The parameters that a world has of its own. */
  showWorld(world) {
    if (world.grid) {
      for (const key of ['restart', 'slip', 'ice']) this.sliders[key].set(world.grid.settings[key]);
    } else {
      this.sliders.restart.set(world.restart ?? 0);
    }
    this.sliders.slip.show(Boolean(world.grid));
    this.sliders.ice.show(Boolean(world.grid?.rows.some((row) => row.includes('~'))));
  }

  /** What xi, zeta and within may be in a world, and are; whether that moved one of them. */
  limit(about) {
    const { xi, zeta, within } = this.sliders;
    xi.limits(0, about.most_xi);
    zeta.limits(about.least_zeta, 1);
    xi.set(this.settings.xi ?? about.xi);
    zeta.set(this.settings.zeta ?? about.zeta);
    within.limits(1, 5 * about.within);
    within.set(this.settings.within ?? about.within);
    const now = { xi: xi.value, zeta: zeta.value, within: within.value };
    const moved = Object.keys(now).some((key) => now[key] !== this.settings[key]);
    Object.assign(this.settings, now);
    return moved;
  }

  /** Puts the formulations in order, should a link have named one that is not there. */
  showFormulations() {
    const { settings } = this;
    const known = this.formulations.map((formulation) => formulation.name);
    if (!known.includes(settings.formulation)) settings.formulation = 'frobenius';
    if (!known.includes(settings.second)) settings.second = '';
    find('formulation').value = settings.formulation;
    find('second').value = settings.second;
    const chosen = [settings.formulation, settings.second];
    this.sliders.zeta.show(chosen.some((name) => this.takesZeta(name)));
    this.sliders.within.show(chosen.some((name) => this.takesWithin(name)));
  }
}
