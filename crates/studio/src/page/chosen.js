// The state that somebody looks at: marked on both maps, described beside them.

import { find, make } from './dom.js';
import { flowOf, inspect } from './inspect.js';

export class Chosen {
  constructor(panes) {
    this.panes = panes;
    this.at = undefined;
  }

  /** Looks at the most visited of some states. */
  look(pane, states) {
    const most = (a, b) => (pane.solved.stationary[b] > pane.solved.stationary[a] ? b : a);
    this.at = { pane, states, state: states.reduce(most) };
  }

  /** `draw()` is called after the marks have moved. */
  show(draw) {
    for (const pane of this.panes) {
      pane.extra.selected = undefined;
      pane.extra.flow = undefined;
    }
    const { at } = this;
    if (at && at.pane.solved && at.state < at.pane.scene.about.states) {
      at.pane.extra.selected = [at.state];
      at.pane.extra.flow = flowOf(at.pane.solved, at.state);
      inspect(find('inspector'), at.pane, at.states, at.state, (state) => {
        at.state = state;
        this.show(draw);
      });
    } else if (at) {
      this.at = undefined;
      const words = 'This state is gone: look at another one.';
      find('inspector').replaceChildren(make('p', { className: 'quiet', textContent: words }));
    }
    draw();
  }
}
