// How long a job will take: its operations by the rate of the adapter, which is
// measured once and corrected by every job.

/** @import {Engine} from './engine.js' */
/** @import {Device, Done, Model, Plan} from './protocol.js' */

const store = 'speeds';

/**
 * @typedef {object} Speed
 * @property {number} flops a second
 * @property {boolean} [job] of a job with this network; else of a convolution
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
 * Seconds that a job will take; undefined as long as the adapter's rate isn't known.
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
 * Measures an adapter that isn't known.
 * @param {Engine} engine with the checkpoint open
 * @param {Device} d
 * @param {Model} m
 */
export async function measure(engine, d, m) {
  keep(adapter(d, m), await engine.measure());
}

/**
 * Learns of a job that is done, which says more of its network than what was measured.
 * @param {Device} d
 * @param {Model} m
 * @param {Done} done
 */
export function learn(d, m, done) {
  if (done.flops) keep(network(d, m), { flops: done.flops, job: true });
}
