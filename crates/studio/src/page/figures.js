// The figures of one or two solutions, side by side.

import { make } from './dom.js';
import { digits, gap, percent } from './numbers.js';

const mixing = (analysis) => {
  if (!analysis) return '…';
  if (analysis.mixing_time === null) return 'infinite';
  return `${analysis.mixing_time_kind === 'lower_bound' ? '≥ ' : ''}${analysis.mixing_time} steps`;
};

/** Name, key for tests, value of a pane. */
const ROWS = [
  ['value', 'objective', (p) => digits(p.solved.objective, 7)],
  ['proven bound', 'bound', (p) => digits(p.solved.bound, 7)],
  ['gap', 'gap', (p) => gap(p.solved.gap)],
  ['state entropy', 'entropy', (p) => `${digits(p.solved.entropy, 7)} nats`],
  ['of an even spread', 'entropy_normalized', (p) => percent(p.solved.entropy_normalized)],
  ['state-action entropy', 'state_action_entropy', (p) => `${digits(p.solved.state_action_entropy, 7)} nats`],
  ['spectral gap', 'spectral_gap', (p) => (p.analysis ? digits(p.analysis.spectral_gap, 7) : '…')],
  ['mixing time', 'mixing_time', (p) => mixing(p.analysis)],
  ['of the largest entropy', 'optimal_entropy_share', (p) => (p.report ? (p.report.optimal_entropy_share === null ? '–' : percent(p.report.optimal_entropy_share)) : '…')],
  ['entropy proven', 'certified', (p) => (p.report ? `≥ ${digits(p.report.bounds.certified, 5)}` : '…')],
  ['solved in', 'seconds', (p) => `${digits(1000 * p.solved.seconds, 3)} ms`],
];

export function showFigures(table, notes, panes) {
  const shown = panes.filter((pane) => pane.solved);
  table.replaceChildren();
  if (shown.length > 1) {
    table.append(make('thead', {}, make('tr', {}, make('th'), ...shown.map((pane) => make('th', { scope: 'col', textContent: pane.solved.formulation })))));
  }
  const body = make('tbody');
  for (const [name, key, value] of shown.length ? ROWS : []) {
    const cells = shown.map((pane) => {
      const cell = make('td', { textContent: value(pane) });
      cell.dataset.figure = `${key}-${pane.number}`;
      return cell;
    });
    body.append(make('tr', {}, make('td', { textContent: name }), ...cells));
  }
  table.append(body);
  const said = new Set(shown.flatMap((pane) => pane.report?.notes ?? pane.solved.notes));
  notes.replaceChildren(...[...said].map((note) => make('li', { textContent: note })));
}
