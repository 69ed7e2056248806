// Numbers as people read them.

/** Some significant digits, without an exponent where one can do without. */
export function digits(value, count = 5) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return value.toExponential(Math.max(0, count - 3));
  return String(Number(value.toPrecision(count)));
}

export const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(2)} %` : '–');

export const gap = (value) => (value === 0 ? '0' : value.toExponential(1));
