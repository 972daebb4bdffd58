// Estimates how long a job will take: its FLOPs at the adapter's rate, which is
// measured once and corrected by every job.

/** @import {Engine} from './engine.js' */
/** @import {Device, Done, Model, Plan} from './protocol.js' */

const store = 'speeds';

/**
 * @typedef {object} Speed
 * @property {number} flops per second
 * @property {boolean} [job] measured by a job with this network; else by a convolution
 */

/** @returns {Record<string, Speed>} */
function all() {
  try {
    return JSON.parse(localStorage.getItem(store) ?? '{}');
  } catch {
    return {};
  }
}

/** @param {string} key @param {Speed} speed */
function keep(key, speed) {
  try {
    localStorage.setItem(store, JSON.stringify({ ...all(), [key]: speed }));
  } catch {
    // It is measured again next time.
  }
}

/** @param {Device} d @param {Model} m */
function adapter(d, m) {
  return [d.kind, d.name || `${d.vendor} ${d.architecture}`, d.backend, m.precision].join(', ');
}

/** @param {Device} d @param {Model} m */
const network = (d, m) => `${adapter(d, m)}, ${m.family} ${m.widths.join('-')}`;

/** @param {Plan[]} plans */
const flops = (plans) => plans.reduce((sum, p) => sum + p.flops, 0);

/**
 * Seconds that a job will take; undefined until the adapter's rate is known.
 * @param {Device} d
 * @param {Model} m
 * @param {Plan[]} plans
 */
export function seconds(d, m, plans) {
  const speeds = all();
  const speed = speeds[network(d, m)] ?? speeds[adapter(d, m)];
  return speed && plans.length ? flops(plans) / speed.flops : undefined;
}

/**
 * Measures an unknown adapter.
 * @param {Engine} engine with the checkpoint open
 * @param {Device} d
 * @param {Model} m
 */
export async function measure(engine, d, m) {
  keep(adapter(d, m), await engine.measure());
}

/**
 * Learns from a finished job, which describes its network better than the measurement.
 * @param {Device} d
 * @param {Model} m
 * @param {Done} done
 */
export function learn(d, m, done) {
  if (done.flops) keep(network(d, m), { flops: done.flops, job: true });
}
