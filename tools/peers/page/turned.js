/** Numbers with the first of n axes, of c, last or the other way round. */
export function turned(from, c, n) {
  const to = new Float32Array(from.length);
  for (let i = 0; i < c; i++) for (let k = 0; k < n; k++) to[k * c + i] = from[i * n + k];
  return to;
}
