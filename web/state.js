// The state of the page: the bench, the stage, and what is known about them.

import * as demo from './demo.js';
import { Gallery } from './gallery.js';
import { ProgressLine, QualityPanel } from './panels.js';
import { Player } from './player.js';
import * as settings from './settings.js';
import * as speed from './speed.js';
import { Stage } from './stage.js';
import { Workbench } from './workbench.js';

/** @import {Device, Model, Plan} from './protocol.js' */
/** @import {Checkpoint, Size, Task} from './workbench.js' */

/** @type {Checkpoint} */
export const builtin = { name: demo.checkpoint, from: demo.checkpoint, builtin: true };
export const bench = new Workbench(builtin);
export const stage = new Stage();
export const quality = new QualityPanel();
export const line = new ProgressLine();
export const player = new Player(stage, (i) => quality.show(i));
export const gallery = new Gallery(stage, player, quality, () => ({ checkpoint: bench.checkpoint, input: bench.input }));

/** What the page's texts depend on, to write them again in another language. */
export const shown = {
  /** @type {Device|undefined} */ device: undefined,
  /** @type {Model|undefined} */ model: undefined,
  /** @type {Size|undefined} */ size: undefined,
  /** @type {Plan[]} */ plans: [],
  /** Set while a job is prepared or runs. @type {AbortController|undefined} */ running: undefined,
  /** The input does not match the checkpoint. */ misfit: false,
  /** Describes the last job's outcome. @type {(() => string)|undefined} */ told: undefined,
};

/** The recommended tile and overlap for the input. */
export function recommended() {
  return bench.input && !bench.input.demo ? { tile: '512', overlap: '64' } : { tile: '128', overlap: '32' };
}

export const options = () => settings.options(recommended(), shown.model);
export const task = () => /** @type {Task} */ (settings.chosen('task'));

/** The expected seconds of the job, if known. */
export function estimate() {
  const { device, model, plans } = shown;
  return device && model && speed.seconds(device, model, plans);
}

/** The input's name without extension. */
export function stem() {
  return (bench.input?.name ?? '').replace(/ … .*/, '').replace(/^.*\//, '').replace(/\.[^.]*$/, '') || 'tessera';
}
