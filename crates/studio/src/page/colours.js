// Colours: a ramp that grows evenly in lightness, and looks that any kind of colour vision can tell
// apart.

const STOPS = [
  [68, 1, 84], [72, 36, 117], [65, 68, 135], [53, 95, 141], [42, 120, 142], [33, 145, 140],
  [34, 168, 132], [68, 191, 112], [122, 209, 81], [189, 223, 38], [253, 231, 37],
];

/** Red, green and blue at a share of the ramp. */
export function ramp(share) {
  const place = Math.min(1, Math.max(0, share || 0)) * (STOPS.length - 1);
  const below = Math.min(STOPS.length - 2, Math.floor(place));
  return STOPS[below].map((low, k) => Math.round(low + (place - below) * (STOPS[below + 1][k] - low)));
}

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

/** Ink that can be read on a colour of the ramp. */
export const inkOn = (share) => (share > 0.55 ? 'rgb(0 0 0 / .8)' : 'rgb(255 255 255 / .9)');

const LIGHT = ['#0072b2', '#b34f00', '#00795a', '#a8357f', '#1a1d22', '#8a6d00', '#6a4fb0', '#5a6270'];
const DARK = ['#6db3f2', '#f29a52', '#48d1a5', '#ee8ccb', '#e8eaee', '#e0c341', '#b7a2f5', '#a0a8b5'];
const DASHES = [[], [8, 4], [2, 3], [8, 3, 2, 3], [12, 4], [4, 4], [1, 3], [10, 3, 3, 3]];

export const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;

/** Line number k: its colour and its dashes. */
export const look = (k) => ({ colour: (isDark() ? DARK : LIGHT)[k % 8], dash: DASHES[k % 8] });

/** A colour of the style sheet. */
export const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
