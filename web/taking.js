// Files that are dropped or picked become what is on the bench: a checkpoint, an
// input, and more of them among the recent ones, whatever the order.

import { openCheckpoint, openLatent } from './addresses.js';
import { openClip } from './clips.js';
import { EngineError } from './engine.js';
import { bytes } from './i18n.js';
import { kindOf } from './inputs.js';
import { showProblem, words } from './problems.js';
import { missing } from './truncated.js';

/** @import {From} from './engine.js' */
/** @import {Options} from './protocol.js' */
/** @import {Checkpoint, Input, Workbench} from './workbench.js' */

/** Files by what they are; pictures belong to one clip, each video is one. */
class Sorted {
  /** @type {File[]} */ checkpoints = [];
  /** @type {File[]} */ latents = [];
  /** @type {File[][]} */ clips = [];
  /** @type {File[]} */ unknown = [];
}

/**
 * @param {File[]} files
 * @param {(from: From) => Promise<boolean>} isLatent asked of what its name doesn't tell
 */
async function sort(files, isLatent) {
  const sorted = new Sorted();
  /** @type {File[]} */ const pictures = [];
  for (const file of files) {
    switch (await kindOf(file)) {
      case 'checkpoint': sorted.checkpoints.push(file); break;
      case 'latent': sorted.latents.push(file); break;
      case 'torch': sorted[await isLatent(file) ? 'latents' : 'checkpoints'].push(file); break;
      case 'picture': pictures.push(file); break;
      case 'video': sorted.clips.push([file]); break;
      default: sorted.unknown.push(file);
    }
  }
  if (pictures.length) sorted.clips.unshift(pictures);
  return sorted;
}

/** @typedef {{bench: Workbench, options: () => Options, put: (input: Input) => void, listKept: () => Promise<void>, again: (act: () => Promise<void>) => void}} Place */

/** Whether a latent may fit another checkpoint or another size. @param {unknown} error */
function mayFit(error) {
  return error instanceof EngineError && ['wrong_model', 'packed_size'].includes(error.code);
}

export class Taker {
  #place;

  /** @param {Place} place options: those that are chosen; put: takes an input to the bench and the recent inputs; again: does something to the bench */
  constructor(place) {
    this.#place = place;
  }

  /**
   * Takes files: the checkpoint first, since it tells what a latent is; of several inputs the first is taken and the
   * others are beside it.
   * @param {File[]} files
   */
  async files(files) {
    const { checkpoints, latents, clips, unknown } = await sort(files, (file) => this.#isLatent(file));
    if (checkpoints.length) await this.checkpoint({ name: checkpoints[0].name, from: checkpoints[0] });
    const inputs = [...await this.#latents(latents), ...await this.#clips(clips)];
    for (const input of inputs.reverse()) this.#place.put(input); // the first last, so that it stays
    if (unknown.length) showProblem('unknown_file', { values: { name: unknown.map((f) => f.name).slice(0, 3).join(', ') + (unknown.length > 3 ? ' …' : '') } });
    else if (checkpoints.length > 1) showProblem('checkpoints', { values: { name: checkpoints[0].name, n: checkpoints.length } });
    else if (inputs.length > 1) showProblem('several', { values: { name: inputs[inputs.length - 1].name, n: inputs.length } });
  }

  /** @param {File[]} files */
  async #latents(files) {
    /** @type {Input[]} */ const inputs = [];
    for (const file of files) {
      if (await this.#check(file.name, file)) inputs.push({ name: file.name, latent: file });
    }
    return inputs;
  }

  /** Whether the engine finds a latent in a file. @param {From} from */
  async #isLatent(from) {
    const engine = await this.#place.bench.engine();
    return engine.inspect(from).then(() => true, mayFit);
  }

  /**
   * Whether a latent can be taken. One that doesn't suit the checkpoint can: another may come. So can one without its size.
   * @param {string} name
   * @param {From} latent
   */
  async #check(name, latent) {
    const { bench, options } = this.#place;
    try {
      await bench.model();
      await (await bench.engine()).inspect(latent, options());
      return true;
    } catch (error) {
      if (mayFit(error)) return true; // and its plan tells why
      if (!(error instanceof EngineError) || !['bad_input', 'program_only'].includes(error.code)) throw error;
      showProblem(error.code, { detail: words(error), values: { name } });
      return false;
    }
  }

  /** @param {File[][]} clips */
  async #clips(clips) {
    /** @type {Input[]} */ const inputs = [];
    for (const files of clips) {
      try {
        const size = await kindOf(files[0]) === 'video' ? await missing(files[0]) : undefined;
        if (size) {
          showProblem('cut', { values: { name: files[0].name, size: bytes(size), there: bytes(files[0].size) } });
          continue;
        }
        const clip = await openClip(files);
        inputs.push({ name: clip.name, clip });
      } catch (error) {
        showProblem('video', { values: { name: files[0].name }, detail: words(error) });
      }
    }
    return inputs;
  }

  /** @param {Checkpoint} checkpoint */
  async checkpoint(checkpoint) {
    const { bench, listKept, again } = this.#place;
    const before = bench.checkpoint;
    bench.use(checkpoint);
    try {
      await bench.model();
    } catch (error) {
      bench.use(before); // a broken one doesn't take the place of what is there
      if (!(error instanceof EngineError && error.code === 'flat')) throw error;
      const act = () => again(() => this.checkpoint({ ...checkpoint, force: true }));
      return showProblem('flat', { values: { name: checkpoint.name }, detail: words(error), action: { key: 'action.force', act } });
    }
    await listKept();
  }

  /** Takes a checkpoint by its address. @param {string} text */
  async checkpointAt(text) {
    await this.checkpoint(await openCheckpoint(text, this.#place.bench.loading));
  }

  /** Takes a latent by its address. @param {string} text */
  async latentAt(text) {
    const input = await openLatent(text, this.#place.bench.loading);
    if (await this.#check(input.name, input.latent)) this.#place.put(input);
  }

  /** Takes a file of the native engine's folder. @param {string} path */
  async path(path) {
    const latent = /\.(latent|np[yz])$/i.test(path) || await this.#isLatent({ path });
    if (!latent) return this.checkpoint({ name: path, from: { path } });
    if (await this.#check(path, { path })) this.#place.put({ name: path, latent: { path } });
  }
}
