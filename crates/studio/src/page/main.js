// Starts the studio.

import { opening } from './api.js';
import { STARTERS } from './grid.js';
import { say } from './status.js';
import { Studio } from './studio.js';

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
