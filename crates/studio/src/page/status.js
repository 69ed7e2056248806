// The line that says what is going on.

import { find } from './dom.js';

const status = find('status');

/** `tone`: busy, done or error. */
export function say(words, tone) {
  status.textContent = words;
  status.dataset.tone = tone;
}
