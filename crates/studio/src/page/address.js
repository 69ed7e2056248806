// The address holds the whole world and its settings, so that a link shares them.

import { Grid } from './grid.js';

const LONGEST = 24_000;

const toText = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** A text, packed for an address; null where it is too long for one. */
export async function pack(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream('deflate-raw'));
  return bytes.length * 4 / 3 > LONGEST ? null : toText(bytes);
}

export async function unpack(text) {
  return new TextDecoder().decode(await through(toBytes(text), new DecompressionStream('deflate-raw')));
}

/** Writes world and settings behind the '#'. */
export function write(world, settings) {
  const parts = new URLSearchParams();
  if (world.grid) {
    parts.set('map', world.grid.code());
    for (const [key, value] of Object.entries(world.grid.settings)) parts.set(key, value);
  } else {
    if (world.domain) parts.set('domain', world.domain);
    if (world.model) parts.set('name', world.name);
    if (world.packed) parts.set('model', world.packed);
    else if (world.model) parts.set('shelf', world.model);
    if (world.restart) parts.set('restart', world.restart);
  }
  for (const key of ['formulation', 'second', 'xi', 'zeta', 'within']) {
    if (settings[key] !== null && settings[key] !== undefined && settings[key] !== '') parts.set(key, settings[key]);
  }
  history.replaceState(null, '', `#${parts}`);
}

/** What is behind the '#': a world (null where none is told) and settings. */
export async function read() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const number = (key) => (parts.has(key) && Number.isFinite(Number(parts.get(key))) ? Number(parts.get(key)) : undefined);
  const settings = { formulation: parts.get('formulation') ?? undefined, second: parts.get('second') ?? undefined, xi: number('xi'), zeta: number('zeta'), within: number('within') };
  const share = (key) => {
    const value = number(key);
    return value >= 0 && value <= 1 ? { [key]: value } : {};
  };
  let world = null;
  if (parts.has('map')) {
    world = { grid: Grid.decode(parts.get('map'), { ...share('slip'), ...share('ice'), ...share('restart') }) };
  } else if (parts.has('domain')) {
    world = { domain: parts.get('domain'), restart: number('restart') ?? 0 };
  } else if (parts.has('model')) {
    world = { json: await unpack(parts.get('model')), name: parts.get('name') ?? 'model.json', restart: number('restart') ?? 0 };
  } else if (parts.has('shelf')) {
    // too large for a link: the server that made it still has it, others do not
    world = { model: parts.get('shelf'), name: parts.get('name') ?? 'model', restart: number('restart') ?? 0 };
  }
  return { world, settings };
}
