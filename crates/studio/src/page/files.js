// Files in and out.

import { bytes, one } from './api.js';
import { pack } from './address.js';
import { make } from './dom.js';
import { Grid } from './grid.js';

const LARGEST = 16 << 20;
const LARGEST_SHARED = 400_000;

/** Puts a model on the server's shelf; returns the world that names it. */
export async function shelve(name, blob) {
  const safe = name.replaceAll(/[^\w.-]/g, '_').slice(-60);
  const answer = await one(`import/${encodeURIComponent(safe)}`, blob);
  const link = answer.json === null ? null : await pack(answer.json);
  return { model: answer.model, name, packed: link, restart: 0 };
}

/** A model on the shelf, packed for a link; null where it is too large. */
export async function packed(model) {
  const blob = await bytes('export/model.json', { world: { model }, formulation: 'frobenius' });
  return blob.size > LARGEST_SHARED ? null : pack(await blob.text());
}

/** The world of a file that was opened or dropped. */
export async function read(file) {
  if (file.size > LARGEST) throw new Error(`${file.name} has more than ${LARGEST >> 20} MiB`);
  if (/\.(json|npz|umb|tra)$/i.test(file.name)) return shelve(file.name, file);
  const text = await file.text();
  try {
    return { grid: Grid.parse(text) };
  } catch (error) {
    throw new Error(`${file.name}: ${error.message}`);
  }
}

export function download(name, blob) {
  const link = make('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Saves a part of what is on the page. */
export async function save(what, { world, asked, pane }) {
  if (what === 'map') {
    if (!world.grid) throw new Error('this world is not a map; save the model');
    download('world.txt', new Blob([world.grid.text()], { type: 'text/plain' }));
  } else if (what === 'model') {
    download('model.json', await bytes('export/model.json', asked));
  } else if (what === 'policy') {
    download('policy.json', await bytes('export/policy.json', asked));
  } else {
    const blob = await new Promise((done) => { pane.canvas.toBlob(done, 'image/png'); });
    download('world.png', blob);
  }
}

/** The command line that gives the same figures. */
export function command(world, asked) {
  const zeta = asked.zeta === undefined ? '' : ` --zeta ${asked.zeta}`;
  const within = asked.within === undefined ? '' : ` --within ${asked.within}`;
  let [model, before] = ['model.json', '# save the model as model.json first\n'];
  if (world.grid) [model, before] = ['grid:world.txt', '# save the map as world.txt first\n'];
  else if (world.domain && !world.restart) [model, before] = [/^[\w:=,.-]+$/.test(world.domain) ? world.domain : `'${world.domain.replaceAll("'", '')}'`, ''];
  return `${before}ide3al solve ${model} --formulation ${asked.formulation} --xi ${asked.xi}${zeta}${within} --json`;
}
