// The save buttons.

import { at } from './dom.js';
import { bytes, t } from './i18n.js';
import { showProblem, words } from './problems.js';
import { png } from './png.js';
import * as save from './save.js';

/** @import {Outcome} from './outcome.js' */
/** @import {Stage} from './stage.js' */

/** The file name of a result, without extension. @param {Outcome} outcome */
const stem = (outcome) => `${outcome.stem}${outcome.done || outcome.recorded ? '' : '-partial'}`;

/**
 * @param {Stage} stage
 * @param {() => Outcome|undefined} what to save
 */
export function listenSave(stage, what) {
  const say = (/** @type {string} */ text) => { at('save-state').textContent = text; };
  const done = (/** @type {Blob} */ file, /** @type {string} */ name, cut = '') => {
    save.download(file, name);
    say([t('save.done', { name, size: bytes(file.size) }), cut].filter(Boolean).join(' · '));
  };
  const attempt = (/** @type {() => Promise<void>} */ act) => act().catch((error) => {
    say('');
    showProblem('save', { detail: words(error) });
  });
  for (const kind of /** @type {const} */ (['mp4', 'webm'])) {
    at(`save-${kind}`).onclick = () => void attempt(async () => {
      const outcome = what();
      if (!outcome?.frames) return;
      const { count: of, height, width } = outcome.frames;
      const size = { height: save.even(height), width: save.even(width) };
      const cut = size.height < height || size.width < width ? t('save.even', size) : '';
      done(await save.video(outcome.frames, kind, (n) => say(t('save.working', { n, of }))), `${stem(outcome)}.${kind}`, cut);
    });
  }
  at('save-png').onclick = () => void attempt(async () => {
    const outcome = what();
    const { at: i, view } = stage;
    const pixels = await stage.pixels(i);
    if (!outcome?.pictures || !pixels) return;
    const kind = outcome.frames ? { result: '', compare: '-compare', difference: '-difference', input: '' }[view] : '-latent';
    const number = outcome.pictures.count === 1 ? '' : `-${String(i + 1).padStart(4, '0')}`;
    done(await png(pixels.rgba, pixels.height, pixels.width), `${stem(outcome)}${kind}${number}.png`);
  });
  at('save-latent').onclick = () => {
    const outcome = what();
    if (outcome?.latent) done(outcome.latent, `${outcome.stem}.${outcome.latent.name.split('.').pop()}`);
  };
}
