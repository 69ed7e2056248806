// One world, one or two formulations; everything else follows from them.

import { one } from './api.js';
import * as address from './address.js';
import { Chosen } from './chosen.js';
import { Curve } from './curve.js';
import { find } from './dom.js';
import { Editor } from './editor.js';
import { showFigures } from './figures.js';
import * as files from './files.js';
import { Grid, STARTERS } from './grid.js';
import { History } from './history.js';
import { Learning } from './learn.js';
import { Pane } from './pane.js';
import { ProblemForm } from './problem.js';
import { Race } from './race.js';
import { Scene } from './scene.js';
import { say } from './status.js';
import { Toolbar } from './toolbar.js';
import { connectFiles } from './transfer.js';
import { Worlds } from './worlds.js';

const page = document.documentElement;

export class Studio {
  constructor(offers) {
    this.formulations = offers.formulations;
    this.settings = { formulation: 'frobenius', second: '', xi: undefined, zeta: undefined, within: undefined };
    this.history = new History();
    this.version = 0;
    this.panes = [0, 1].map((number) => new Pane(number, () => this.report()));
    find('panes').append(this.panes[0].element);
    this.chosen = new Chosen(this.panes);
    this.curve = new Curve(find('curve'), find('curve-words'));
    this.editor = new Editor(find('tools'), this);
    this.toolbar = new Toolbar({
      step: (way, event) => this.step(way, event),
      resize: (...sides) => {
        this.remember();
        this.setGrid(this.grid.resized(...sides), true);
      },
    });
    this.panes.forEach((pane) => this.editor.attach(pane));
    this.worlds = new Worlds(offers.domains, (world) => this.setWorld(world, 'new'));
    this.problem = new ProblemForm(offers.formulations, this.settings, {
      solve: () => this.solve(),
      ground: (key, value) => {
        const changed = this.grid ? { grid: this.grid.with({ [key]: value }) } : { ...this.world, [key]: value };
        this.setWorld(changed, 'drawn');
      },
    });
    connectFiles({
      open: (world) => this.setWorld(world, 'new'),
      saved: () => ({ world: this.world, asked: this.question(0).body, pane: this.panes[0] }),
      link: () => (this.world.model && !this.world.packed
        ? 'copied, but this model is too large for a link: send its file'
        : 'link copied: it holds the whole world'),
    });
    this.race = new Race(this);
    this.learning = new Learning(this);
    addEventListener('resize', () => this.redraw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
    addEventListener('hashchange', () => this.fromAddress().catch((error) => say(error.message, 'error')));
    // a closed page needs no more answers
    addEventListener('pagehide', () => this.stop());
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
    this.chosen.look(pane, states);
    this.#showChosen();
  }

  #showChosen() {
    this.chosen.show(() => this.shown().forEach((pane) => pane.draw()));
  }

  step(way, event) {
    if (!this.grid) return;
    const grid = this.history[way](this.grid);
    if (grid === undefined) return;
    event?.preventDefault();
    this.released = performance.now();
    this.setWorld({ grid }, 'drawn');
  }

  /** From the link, else from what the program was started with, else a map. */
  async fromAddress(first) {
    const { world, settings } = await address.read();
    for (const [key, value] of Object.entries(settings)) if (value !== undefined) this.settings[key] = value;
    let shown = world;
    if (world?.json !== undefined) {
      shown = { ...(await files.shelve(world.name, new Blob([world.json]))), restart: world.restart };
    }
    if (!shown && first?.map) shown = { grid: Grid.parse(first.map) };
    else if (!shown && first) {
      shown = { ...first, name: first.model, packed: first.model && (await files.packed(first.model)) };
    }
    this.setWorld(shown ?? { grid: STARTERS[0][1] }, 'linked');
  }

  /** `how`: drawn (a change of the present world), linked (settings belong to it), new (its own
   * defaults). */
  setWorld(world, how) {
    this.world = world;
    this.version += 1;
    if (how !== 'drawn') this.history = new History();
    if (how === 'new') Object.assign(this.settings, { xi: undefined, zeta: undefined, within: undefined });
    this.worlds.show(world);
    this.editor.allow(Boolean(world.grid));
    this.toolbar.show(world.grid, this.history);
    this.problem.showWorld(world);
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
      const moved = this.problem.limit(about);
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

  /** The parts that a race shares with a solve. */
  asked() {
    const { xi, zeta, within } = this.settings;
    return { world: this.named(), xi, zeta, within };
  }

  question(number) {
    const { second, formulation: first, xi, zeta, within } = this.settings;
    const formulation = number ? second : first;
    const takesZeta = this.problem.takesZeta(formulation);
    const takesWithin = this.problem.takesWithin(formulation);
    const body = { world: this.named(), formulation, xi, zeta: takesZeta ? zeta : undefined, within: takesWithin ? within : undefined };
    return { number, takesZeta, takesWithin, body };
  }

  shown() { return this.settings.second ? this.panes : this.panes.slice(0, 1); }

  solve() {
    this.problem.showFormulations();
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
    if (this.chosen.at) this.#showChosen();
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
    const settled = states.every((state) => state === 'done') ? 'done' : states[0];
    page.dataset.state = states.includes('busy') ? 'busy' : settled;
    showFigures(find('figures'), find('notes'), panes);
    this.curve.draw(panes);
    if (this.failed) return;
    const wrong = panes.find((pane) => pane.state === 'error');
    const took = () => Math.max(...panes.map((pane) => 1000 * pane.solved.seconds)).toFixed(0);
    if (wrong) say(wrong.error, 'error');
    else if (states.includes('busy')) say('solving…', 'busy');
    else if (states.includes('measuring')) say('measuring how fast it mixes…', 'busy');
    else if (states.includes('judging')) say('solved; proving what can be proven…', 'busy');
    else if (states.includes('stopped')) say('stopped', 'busy');
    else if (panes[0].solved) say(`solved in ${took()} ms`, 'done');
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
