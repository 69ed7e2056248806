// Files that are opened and saved, and what is copied.

import { find } from './dom.js';
import * as files from './files.js';
import { say } from './status.js';

/** `open(world)` is called with what was read; `saved()` gives what is to be saved; `link()` says
 * what copying the link did. */
export function connectFiles({ open, saved, link }) {
  const read = async (file) => {
    if (!file) return;
    say(`reading ${file.name}`, 'busy');
    try {
      open(await files.read(file));
    } catch (error) {
      say(error.message, 'error');
    }
  };
  find('open').addEventListener('click', () => find('file').click());
  find('file').addEventListener('change', () => {
    read(find('file').files[0]);
    find('file').value = '';
  });
  addEventListener('dragover', (event) => {
    event.preventDefault();
    document.body.classList.add('drop');
  });
  addEventListener('dragleave', () => document.body.classList.remove('drop'));
  addEventListener('drop', (event) => {
    event.preventDefault();
    document.body.classList.remove('drop');
    read(event.dataTransfer.files[0]);
  });
  find('save').addEventListener('change', async () => {
    const what = find('save').value;
    find('save').value = '';
    try {
      await files.save(what, saved());
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
  find('link').addEventListener('click', () => copy(location.href, link()));
  find('copy-command').addEventListener('click', () => copy(find('command').textContent, 'command copied'));
}
