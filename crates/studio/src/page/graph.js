// Places for the states of a model without a map: springs along transitions, all others repel. The
// same model looks the same always.

/** Places in the unit square, one per state. */
export function places(n, edges) {
  const x = new Float64Array(n);
  const y = new Float64Array(n);
  for (let s = 0; s < n; s += 1) {
    x[s] = 0.5 + 0.4 * Math.cos((2 * Math.PI * s) / n);
    y[s] = 0.5 + 0.4 * Math.sin((2 * Math.PI * s) / n);
  }
  const links = edges.filter(([s, t]) => s < t || !edges.some(([a, b]) => a === t && b === s)).filter(([s, t]) => s !== t);
  const ideal = 0.9 / Math.sqrt(Math.max(1, n));
  const rounds = n > 150 ? 150 : 400;
  for (let round = 0; round < rounds; round += 1) {
    const dx = new Float64Array(n);
    const dy = new Float64Array(n);
    for (let s = 0; s < n; s += 1) {
      for (let t = s + 1; t < n; t += 1) {
        const [ax, ay] = [x[s] - x[t], y[s] - y[t]];
        const square = ax * ax + ay * ay + 1e-6;
        const push = (ideal * ideal) / square;
        dx[s] += ax * push; dy[s] += ay * push;
        dx[t] -= ax * push; dy[t] -= ay * push;
      }
    }
    for (const [s, t] of links) {
      const [ax, ay] = [x[s] - x[t], y[s] - y[t]];
      const pull = Math.sqrt(ax * ax + ay * ay) / ideal;
      dx[s] -= ax * pull; dy[s] -= ay * pull;
      dx[t] += ax * pull; dy[t] += ay * pull;
    }
    const reach = 0.1 * (1 - round / rounds) + 0.001;
    for (let s = 0; s < n; s += 1) {
      const length = Math.hypot(dx[s], dy[s]) || 1;
      const step = Math.min(length, reach) / length;
      x[s] += dx[s] * step;
      y[s] += dy[s] * step;
    }
  }
  const fit = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return Array.from(values, (v) => (high > low ? 0.06 + 0.88 * (v - low) / (high - low) : 0.5));
  };
  const [fx, fy] = [fit(x), fit(y)];
  return fx.map((value, s) => [value, fy[s]]);
}
