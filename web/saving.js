// The save buttons.

import { at } from './dom.js';
import { bytes, t } from './i18n.js';
import { showProblem, words } from './problems.js';
import { png } from './png.js';
import * as save from './save.js';

/** @import {Outcome} from './job.js' */
/** @import {Stage} from './stage.js' */

/**
 * What there is to save, under a name without an ending.
 * @typedef {{outcome: Outcome|undefined, stem: string}} Saveable
 */

/**
 * @param {Stage} stage
 * @param {() => Saveable} what
 */
export function listenSave(stage, what) {
  const say = (/** @type {string} */ text) => { at('save-state').textContent = text; };
  const done = (/** @type {Blob} */ file, /** @type {string} */ name) => {
    save.download(file, name);
    say(t('save.done', { name, size: bytes(file.size) }));
  };
  const attempt = (/** @type {() => Promise<void>} */ act) => act().catch((error) => {
    say('');
    showProblem('save', { detail: words(error) });
  });
  for (const kind of /** @type {const} */ (['mp4', 'webm'])) {
    at(`save-${kind}`).onclick = () => void attempt(async () => {
      const { outcome, stem } = what();
      if (!outcome?.frames) return;
      const of = outcome.frames.count;
      done(await save.video(outcome.frames, kind, (n) => say(t('save.working', { n, of }))), `${stem}.${kind}`);
    });
  }
  at('save-png').onclick = () => void attempt(async () => {
    const { outcome, stem } = what();
    const i = stage.at;
    const frames = outcome?.frames;
    const picture = frames?.alpha && stage.view === 'result' ? await png(await frames.get(i), frames.height, frames.width) : await stage.png();
    done(picture, `${stem}${frames?.count === 1 ? '' : `-${String(i + 1).padStart(4, '0')}`}.png`);
  });
  at('save-latent').onclick = () => {
    const { outcome, stem } = what();
    if (outcome?.latent) done(outcome.latent, `${stem}.${outcome.latent.name.split('.').pop()}`);
  };
}
