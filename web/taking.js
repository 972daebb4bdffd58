// Dropped or picked files become the bench's checkpoint and input, and further inputs
// become recent ones, whatever the order.

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

/** Files by kind; all pictures belong to one clip, each video is a clip. */
class Sorted {
  /** @type {File[]} */ checkpoints = [];
  /** @type {File[]} */ latents = [];
  /** @type {File[][]} */ clips = [];
  /** @type {File[]} */ unknown = [];
}

/**
 * @param {File[]} files
 * @param {(from: From) => Promise<boolean>} isLatent called if the name doesn't tell
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

/** Whether a latent may be valid with another checkpoint or size. @param {unknown} error */
function mayFit(error) {
  return error instanceof EngineError && ['wrong_model', 'packed_size'].includes(error.code);
}

export class Taker {
  #place;

  /** @param {Place} place options: the chosen ones; put: adds an input to the bench and the recent inputs; again: changes the bench */
  constructor(place) {
    this.#place = place;
  }

  /**
   * Takes files: the checkpoint first, because it determines a latent's format. The first input is put on the bench,
   * the others become recent inputs.
   * @param {File[]} files
   */
  async files(files) {
    const { checkpoints, latents, clips, unknown } = await sort(files, (file) => this.#isLatent(file));
    if (checkpoints.length) await this.checkpoint({ name: checkpoints[0].name, from: checkpoints[0] });
    const inputs = [...await this.#latents(latents), ...await this.#clips(clips)];
    for (const input of inputs.reverse()) this.#place.put(input); // the first one last, so that it stays current
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

  /** Whether the engine recognises a file as a latent. @param {From} from */
  async #isLatent(from) {
    const engine = await this.#place.bench.engine();
    return engine.inspect(from).then(() => true, mayFit);
  }

  /**
   * Whether a latent can be used. It can be if it doesn't match the checkpoint, which may change, or if its size is
   * missing.
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
      if (mayFit(error)) return true; // its plan shows why
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
      bench.use(before); // a broken checkpoint does not replace the current one
      if (!(error instanceof EngineError && error.code === 'flat')) throw error;
      const act = () => again(() => this.checkpoint({ ...checkpoint, force: true }));
      return showProblem('flat', { values: { name: checkpoint.name }, detail: words(error), action: { key: 'action.force', act } });
    }
    await listKept();
  }

  /** Opens a checkpoint at an address. @param {string} text */
  async checkpointAt(text) {
    await this.checkpoint(await openCheckpoint(text, this.#place.bench.loading));
  }

  /** Opens a latent at an address. @param {string} text */
  async latentAt(text) {
    const input = await openLatent(text, this.#place.bench.loading);
    if (await this.#check(input.name, input.latent)) this.#place.put(input);
  }

  /** Opens a file of the native engine's folder. @param {string} path */
  async path(path) {
    const latent = /\.(latent|np[yz])$/i.test(path) || await this.#isLatent({ path });
    if (!latent) return this.checkpoint({ name: path, from: { path } });
    if (await this.#check(path, { path })) this.#place.put({ name: path, latent: { path } });
  }
}
