// The studio: one world, one or two formulations, everything else follows from them.

import { one, opening } from './api.js';
import * as address from './address.js';
import { Curve } from './curve.js';
import { find, make } from './dom.js';
import { Editor } from './editor.js';
import { showFigures } from './figures.js';
import * as files from './files.js';
import { Grid, MOST_SIDE, STARTERS } from './grid.js';
import { History } from './history.js';
import { flowOf, inspect } from './inspect.js';
import { Learning } from './learn.js';
import { Pane } from './pane.js';
import { Race } from './race.js';
import { Scene } from './scene.js';
import { Slider } from './sliders.js';

const status = find('status');
const page = document.documentElement;

function say(words, tone) {
  status.textContent = words;
  status.dataset.tone = tone;
}

class Studio {
  constructor(offers) {
    this.formulations = offers.formulations;
    this.domains = offers.domains;
    this.settings = { formulation: 'frobenius', second: '', xi: undefined, zeta: undefined };
    this.history = new History();
    this.version = 0;
    this.panes = [0, 1].map((number) => new Pane(number, () => this.report()));
    find('panes').append(this.panes[0].element);
    this.curve = new Curve(find('curve'), find('curve-words'));
    this.editor = new Editor(find('tools'), this);
    this.#tools();
    this.panes.forEach((pane) => this.editor.attach(pane));
    this.#chooseWorlds();
    this.#chooseProblem();
    this.#chooseFiles();
    this.race = new Race(this);
    this.learning = new Learning(this);
    addEventListener('resize', () => this.redraw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
    addEventListener('hashchange', () => this.fromAddress().catch((error) => say(error.message, 'error')));
    // a closed page wants no more answers
    addEventListener('pagehide', () => this.stop());
    addEventListener('keydown', (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.matches('input')) return;
      if (event.key === 'z' && !event.shiftKey) this.step('undo', event);
      else if (event.key === 'y' || (event.key.toLowerCase() === 'z' && event.shiftKey)) this.step('redo', event);
    });
  }

  get grid() { return this.world?.grid; }
  get scene() { return this.panes[0].scene; }

  // What the editor needs.
  hint(words) { find('hint').textContent = words; }
  remember() { this.history.note(this.world.grid); }
  setGrid(grid, done) {
    if (done) this.released = performance.now();
    if (grid !== this.world.grid) this.setWorld({ grid }, 'drawn');
    else if (done && this.drawnVersion === this.version) this.#measured(0);
  }

  look(pane, states) {
    if (!states.length || !pane.solved) return;
    const most = states.reduce((a, b) => (pane.solved.stationary[b] > pane.solved.stationary[a] ? b : a));
    this.chosen = { pane, states, state: most };
    this.#showChosen();
  }

  #showChosen() {
    const chosen = this.chosen;
    for (const pane of this.panes) {
      pane.extra.selected = undefined;
      pane.extra.flow = undefined;
    }
    if (chosen && chosen.pane.solved && chosen.state < chosen.pane.scene.about.states) {
      chosen.pane.extra.selected = [chosen.state];
      chosen.pane.extra.flow = flowOf(chosen.pane.solved, chosen.state);
      inspect(find('inspector'), chosen.pane, chosen.states, chosen.state, (state) => {
        chosen.state = state;
        this.#showChosen();
      });
    } else if (chosen) {
      this.chosen = null;
      find('inspector').replaceChildren(make('p', { className: 'quiet', textContent: 'This state is gone: look at another one.' }));
    }
    this.shown().forEach((pane) => pane.draw());
  }

  #tools() {
    const bar = find('tools');
    this.undo = make('button', { type: 'button', textContent: 'Undo', id: 'undo', title: 'Ctrl+Z' });
    this.redo = make('button', { type: 'button', textContent: 'Redo', id: 'redo', title: 'Ctrl+Shift+Z' });
    this.undo.addEventListener('click', () => this.step('undo'));
    this.redo.addEventListener('click', () => this.step('redo'));
    const side = (id) => {
      const input = make('input', { type: 'number', id, min: 1, max: MOST_SIDE });
      input.addEventListener('change', () => {
        const sides = ['rows', 'columns'].map((name) => Math.min(MOST_SIDE, Math.max(1, Math.round(Number(find(name).value)) || 1)));
        this.remember();
        this.setGrid(this.grid.resized(...sides), true);
      });
      return input;
    };
    this.sides = make('span', { className: 'row' }, make('label', {}, 'rows', side('rows')), make('label', {}, 'columns', side('columns')));
    bar.append(make('span', { className: 'gap' }), this.undo, this.redo, make('span', { className: 'gap' }), this.sides);
  }

  step(way, event) {
    if (!this.grid) return;
    const grid = this.history[way](this.grid);
    if (grid === undefined) return;
    event?.preventDefault();
    this.released = performance.now();
    this.setWorld({ grid }, 'drawn');
  }

  #chooseWorlds() {
    const list = find('world');
    const maps = make('optgroup', { label: 'Maps to draw on' });
    STARTERS.forEach(([name], k) => maps.append(make('option', { value: `map ${k}`, textContent: name })));
    const domains = make('optgroup', { label: 'Built-in domains' });
    for (const { name, description } of this.domains) domains.append(make('option', { value: `domain ${name}`, textContent: `${name}: ${description}` }));
    this.own = make('option', { value: 'own', textContent: 'your own', hidden: true });
    list.append(this.own, maps, domains);
    list.addEventListener('change', () => {
      const [kind, name] = list.value.split(' ');
      if (kind === 'map') this.setWorld({ grid: STARTERS[name][1] }, 'new');
      else if (kind === 'domain') this.setWorld({ domain: name, restart: 0 }, 'new');
    });
    find('spec').addEventListener('change', () => this.setWorld({ domain: find('spec').value.trim(), restart: this.world.restart ?? 0 }, 'new'));
  }

  #chooseProblem() {
    const names = this.formulations.map((f) => f.name);
    find('formulation').append(...names.map((name) => make('option', { value: name, textContent: name })));
    find('second').append(make('option', { value: '', textContent: 'nothing' }), ...names.map((name) => make('option', { value: name, textContent: name })));
    for (const id of ['formulation', 'second']) {
      find(id).addEventListener('change', () => {
        this.settings[id] = find(id).value;
        this.solve();
      });
    }
    const set = (key) => (value) => {
      this.settings[key] = value;
      this.solve();
    };
    const ground = (key) => (value) => {
      if (this.grid) this.setWorld({ grid: this.grid.with({ [key]: value }) }, 'drawn');
      else this.setWorld({ ...this.world, [key]: value }, 'drawn');
    };
    const host = find('sliders');
    this.sliders = {
      xi: new Slider(host, 'xi', 'Least probability of every action; larger tries actions more evenly', set('xi')),
      zeta: new Slider(host, 'zeta', 'Largest entry of the doubly stochastic target; smaller mixes faster', set('zeta')),
      restart: new Slider(host, 'restart', 'Probability that a step ends at the start instead, as if an episode had ended', ground('restart')),
      slip: new Slider(host, 'slip', 'Probability that a random move happens instead', ground('slip')),
      ice: new Slider(host, 'ice', 'The same on slippery cells', ground('ice')),
    };
    this.sliders.restart.limits(0, 0.5);
    this.sliders.slip.limits(0, 1);
    this.sliders.ice.limits(0, 1);
  }

  #chooseFiles() {
    find('open').addEventListener('click', () => find('file').click());
    find('file').addEventListener('change', () => {
      const [file] = find('file').files;
      if (file) this.open(file);
      find('file').value = '';
    });
    addEventListener('dragover', (event) => { event.preventDefault(); document.body.classList.add('drop'); });
    addEventListener('dragleave', () => document.body.classList.remove('drop'));
    addEventListener('drop', (event) => {
      event.preventDefault();
      document.body.classList.remove('drop');
      if (event.dataTransfer.files[0]) this.open(event.dataTransfer.files[0]);
    });
    find('save').addEventListener('change', async () => {
      const what = find('save').value;
      find('save').value = '';
      try {
        await files.save(what, { world: this.world, asked: this.question(0).body, pane: this.panes[0] });
        say(`saved the ${what}`, 'done');
      } catch (error) {
        say(error.message, 'error');
      }
    });
    const copy = async (text, words) => {
      try {
        await navigator.clipboard.writeText(text);
        say(words, 'done');
      } catch {
        say('the browser does not let pages copy: take it from the address bar', 'error');
      }
    };
    find('link').addEventListener('click', () => copy(location.href, this.world.model && !this.world.packed ? 'copied, but this model is too large for a link: send its file' : 'link copied: it holds the whole world'));
    find('copy-command').addEventListener('click', () => copy(find('command').textContent, 'command copied'));
  }

  async open(file) {
    say(`reading ${file.name}`, 'busy');
    try {
      this.setWorld(await files.read(file), 'new');
    } catch (error) {
      say(error.message, 'error');
    }
  }

  /** From the link, else from what the program was started with, else a map. */
  async fromAddress(first) {
    const { world, settings } = await address.read();
    for (const [key, value] of Object.entries(settings)) if (value !== undefined) this.settings[key] = value;
    let shown = world;
    if (world?.json !== undefined) shown = { ...(await files.shelve(world.name, new Blob([world.json]))), restart: world.restart };
    if (!shown && first?.map) shown = { grid: Grid.parse(first.map) };
    else if (!shown && first) shown = { ...first, name: first.model, packed: first.model && (await files.packed(first.model)) };
    this.setWorld(shown ?? { grid: STARTERS[0][1] }, 'linked');
  }

  /** `how`: drawn (a change of the present world), linked (settings belong to it), new (its own defaults). */
  setWorld(world, how) {
    this.world = world;
    this.version += 1;
    if (how !== 'drawn') this.history = new History();
    if (how === 'new') [this.settings.xi, this.settings.zeta] = [undefined, undefined];
    const starter = STARTERS.findIndex(([, grid]) => world.grid?.text() === grid.text());
    this.own.hidden = false;
    this.own.textContent = world.grid ? 'your own map' : world.name ?? 'your own';
    find('world').value = world.domain && this.domains.some((d) => d.name === world.domain.split(':')[0]) ? `domain ${world.domain.split(':')[0]}` : starter >= 0 ? `map ${starter}` : 'own';
    find('spec-field').hidden = world.domain === undefined;
    if (world.domain !== undefined) {
      find('spec').value = world.domain;
      const known = this.domains.find((d) => d.name === world.domain.split(':')[0]);
      find('spec').title = known ? `parameters: ${known.parameters.map((p) => `${p.name}=${p.default}`).join(', ')}` : '';
    }
    this.editor.allow(Boolean(world.grid));
    this.sides.hidden = !world.grid;
    if (world.grid) {
      find('rows').value = world.grid.height;
      find('columns').value = world.grid.width;
      for (const key of ['restart', 'slip', 'ice']) this.sliders[key].set(world.grid.settings[key]);
    } else {
      this.sliders.restart.set(world.restart ?? 0);
    }
    this.sliders.slip.show(Boolean(world.grid));
    this.sliders.ice.show(Boolean(world.grid?.rows.some((row) => row.includes('~'))));
    this.undo.disabled = !this.history.canUndo;
    this.redo.disabled = !this.history.canRedo;
    this.#describe(how !== 'drawn');
  }

  /** What the server calls this world. */
  named() {
    if (this.grid) return { map: this.grid.text() };
    const { domain, model, restart = 0 } = this.world;
    return domain !== undefined ? { domain, restart } : { model, restart };
  }

  #describe(fresh) {
    const version = this.version;
    const described = one('world', this.named());
    // null where the world makes no sense: that is said once, below
    this.scenery = described.then((about) => new Scene(about), () => null);
    if (this.settings.xi !== undefined && this.settings.zeta !== undefined && !fresh) this.solve();
    described.then((about) => {
      if (version !== this.version) return;
      this.sliders.xi.limits(0, about.most_xi);
      this.sliders.zeta.limits(about.least_zeta, 1);
      this.sliders.xi.set(this.settings.xi ?? about.xi);
      this.sliders.zeta.set(this.settings.zeta ?? about.zeta);
      const [xi, zeta] = [this.sliders.xi.value, this.sliders.zeta.value];
      const moved = xi !== this.settings.xi || zeta !== this.settings.zeta;
      Object.assign(this.settings, { xi, zeta });
      if (moved || fresh) this.solve();
      if (fresh) this.learning.world(about);
      else this.learning.reset();
    }).catch((error) => {
      if (version !== this.version) return;
      this.stop();
      this.failed = error.message;
      say(error.message, 'error');
    });
    this.failed = null;
  }

  takesZeta(name) { return this.formulations.find((f) => f.name === name)?.zeta ?? false; }

  /** The parts that a race shares with a solve. */
  asked() {
    return { world: this.named(), xi: this.settings.xi, zeta: this.settings.zeta };
  }

  question(number) {
    const formulation = number ? this.settings.second : this.settings.formulation;
    const takesZeta = this.takesZeta(formulation);
    return { number, takesZeta, body: { world: this.named(), formulation, xi: this.settings.xi, zeta: takesZeta ? this.settings.zeta : undefined } };
  }

  shown() { return this.settings.second ? this.panes : this.panes.slice(0, 1); }

  solve() {
    const known = this.formulations.map((f) => f.name);
    if (!known.includes(this.settings.formulation)) this.settings.formulation = 'frobenius';
    if (!known.includes(this.settings.second)) this.settings.second = '';
    find('formulation').value = this.settings.formulation;
    find('second').value = this.settings.second;
    this.sliders.zeta.show([this.settings.formulation, this.settings.second].some((name) => this.takesZeta(name)));
    address.write(this.world, this.settings);
    const host = find('panes');
    if (this.settings.second && host.children.length === 1) host.append(this.panes[1].element);
    if (!this.settings.second && host.children.length === 2) {
      this.panes[1].stop();
      this.panes[1].clear();
      this.panes[1].element.remove();
    }
    const { version, scenery: scene, grid } = this;
    const questions = this.shown().map((pane) => this.question(pane.number));
    const drawn = (pane) => {
      if (pane.number === 0) this.#drawn(version);
      else this.#compare();
    };
    this.shown().forEach((pane, k) => pane.ask({ ...questions[k], scene, grid, drawn }));
    find('command').textContent = files.command(this.world, questions[0].body);
    this.curve.ask(questions);
    this.race.reset();
  }

  #drawn(version) {
    this.drawnVersion = version;
    if (version === this.version && this.released !== undefined) {
      this.#measured(performance.now() - this.released);
    }
    page.dataset.drawn = version;
    this.#compare();
    if (this.chosen) this.#showChosen();
    if (!this.learning.learners.length) this.learning.show();
  }

  /** Maps side by side have one scale. */
  #compare() {
    const panes = this.shown();
    const top = panes.length > 1 ? Math.max(...panes.map((pane) => pane.largest)) : undefined;
    for (const pane of panes) {
      if (pane.top === top) continue;
      pane.top = top;
      pane.draw();
    }
  }

  /** Milliseconds from the release of the mouse to the heat map of what was drawn. */
  #measured(took) {
    this.released = undefined;
    page.dataset.latency = took.toFixed(1);
  }

  walkers(list) {
    for (const pane of this.shown()) {
      if (!list.length && !pane.extra.walkers) continue;
      pane.extra.walkers = list.length ? list : undefined;
      pane.draw();
    }
  }

  /** Says what is going on, and shows the figures. */
  report() {
    const panes = this.shown();
    const states = panes.map((pane) => pane.state);
    page.dataset.state = states.includes('busy') ? 'busy' : states.every((state) => state === 'done') ? 'done' : states[0];
    showFigures(find('figures'), find('notes'), panes);
    this.curve.draw(panes);
    if (this.failed) return;
    const wrong = panes.find((pane) => pane.state === 'error');
    if (wrong) say(wrong.error, 'error');
    else if (states.includes('busy')) say('solving…', 'busy');
    else if (states.includes('measuring')) say('measuring how fast it mixes…', 'busy');
    else if (states.includes('judging')) say('solved; proving what can be proven…', 'busy');
    else if (states.includes('stopped')) say('stopped', 'busy');
    else if (panes[0].solved) say(`solved in ${Math.max(...panes.map((pane) => 1000 * pane.solved.seconds)).toFixed(0)} ms`, 'done');
  }

  redraw() {
    this.shown().forEach((pane) => pane.draw());
    this.curve.draw();
    this.learning.show();
  }

  stop() {
    this.panes.forEach((pane) => pane.stop());
    this.curve.stop();
    this.race.controller?.abort();
    this.learning.controller?.abort();
  }
}

try {
  const offers = await opening();
  const studio = new Studio(offers);
  try {
    await studio.fromAddress(offers.world);
  } catch (error) {
    say(`the link cannot be shown: ${error.message}`, 'error');
    studio.setWorld({ grid: STARTERS[0][1] }, 'new');
  }
} catch (error) {
  say(error.message, 'error');
}
