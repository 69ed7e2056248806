// Which world is shown: the list of maps and domains, and a domain's parameters.

import { find, make } from './dom.js';
import { STARTERS } from './grid.js';

/** The name of a domain without its parameters. */
const named = (spec) => spec.split(':')[0];

export class Worlds {
  /** `choose(world)` is called with the world that somebody asks for. */
  constructor(domains, choose) {
    this.domains = domains;
    const list = find('world');
    const maps = make('optgroup', { label: 'Maps to draw on' });
    STARTERS.forEach(([name], k) => {
      maps.append(make('option', { value: `map ${k}`, textContent: name }));
    });
    const known = make('optgroup', { label: 'Built-in domains' });
    for (const { name, description } of domains) {
      known.append(make('option', { value: `domain ${name}`, textContent: `${name}: ${description}` }));
    }
    this.own = make('option', { value: 'own', textContent: 'your own', hidden: true });
    list.append(this.own, maps, known);
    list.addEventListener('change', () => {
      const [kind, name] = list.value.split(' ');
      if (kind === 'map') choose({ grid: STARTERS[name][1] });
      else if (kind === 'domain') choose({ domain: name, restart: 0 });
    });
    find('spec').addEventListener('change', () => {
      choose({ domain: find('spec').value.trim(), restart: this.restart });
    });
  }

  show(world) {
    this.restart = world.restart ?? 0;
    this.own.hidden = false;
    this.own.textContent = world.grid ? 'your own map' : world.name ?? 'your own';
    find('world').value = this.#entry(world);
    find('spec-field').hidden = world.domain === undefined;
    if (world.domain === undefined) return;
    find('spec').value = world.domain;
    const known = this.domains.find((domain) => domain.name === named(world.domain));
    const parameters = known?.parameters.map((p) => `${p.name}=${p.default}`).join(', ');
    find('spec').title = known ? `parameters: ${parameters}` : '';
  }

  /** The entry of the list that a world is. */
  #entry(world) {
    if (world.domain && this.domains.some((domain) => domain.name === named(world.domain))) {
      return `domain ${named(world.domain)}`;
    }
    const starter = STARTERS.findIndex(([, grid]) => world.grid?.text() === grid.text());
    return starter >= 0 ? `map ${starter}` : 'own';
  }
}
