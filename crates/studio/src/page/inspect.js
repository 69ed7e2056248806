// A chosen state: its policy, where its visits come from and where they go.

import { make } from './dom.js';
import { digits, percent } from './numbers.js';

const MOST = 6;

function bars(entries) {
  const box = make('div', { className: 'bars' });
  const largest = Math.max(1e-12, ...entries.map((entry) => entry[1]));
  for (const [name, share] of entries) {
    const fill = make('i');
    fill.style.width = `${(100 * share) / largest}%`;
    box.append(make('span', { textContent: name }), make('div', { className: 'bar' }, fill), make('span', { className: 'number', textContent: percent(share) }));
  }
  return box;
}

/** The part of the flow that touches a state. */
export const flowOf = (solved, state) => solved.flow.filter(([from, to]) => from === state || to === state);

export function inspect(box, pane, states, chosen, choose) {
  const { solved, scene } = pane;
  const about = scene.about;
  box.replaceChildren();
  if (states.length > 1) {
    // several states share this cell
    const list = make('select', { title: 'States in this cell' });
    list.setAttribute('aria-label', 'States in this cell');
    const sorted = [...states].sort((a, b) => solved.stationary[b] - solved.stationary[a]);
    for (const state of sorted) list.append(make('option', { value: state, textContent: `${scene.name(state)}: ${percent(solved.stationary[state])}`, selected: state === chosen }));
    list.addEventListener('change', () => choose(Number(list.value)));
    box.append(list);
  }
  const share = solved.stationary[chosen];
  const start = about.start.find(([state]) => state === chosen);
  box.append(
    make('h3', { id: 'chosen', textContent: `State ${scene.name(chosen)}` }),
    make('p', { className: 'quiet', textContent: `${percent(share)} of the time, ${digits(share * about.states, 3)} times an even share${start ? `; a start (${percent(start[1])})` : ''}.` }),
    make('h3', { textContent: `Policy (${solved.formulation})` }),
  );
  const pairs = [];
  for (let pair = about.first_pair[chosen]; pair < about.first_pair[chosen + 1]; pair += 1) pairs.push([scene.action(pair), solved.policy[pair]]);
  box.append(bars(pairs));
  if (!solved.flow.length || !(share > 0)) return;
  const part = (mine, other) => flowOf(solved, chosen)
    .filter((entry) => entry[mine] === chosen)
    .map((entry) => [entry[other] === chosen ? 'stays' : scene.name(entry[other]), entry[2] / share])
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST);
  box.append(make('div', { className: 'pairs' },
    make('div', {}, make('h3', { textContent: 'Visits come from' }), bars(part(1, 0))),
    make('div', {}, make('h3', { textContent: 'and go to' }), bars(part(0, 1)))));
}
