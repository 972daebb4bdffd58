// What the page says, and which of its buttons can be used, as things are now.

import { showPlaces } from './addresses.js';
import { at, radio } from './dom.js';
import { t } from './i18n.js';
import { summary } from './outcome.js';
import { showDevice, showInput, showModel, showTiming } from './panels.js';
import { showEstimate, showPlan } from './plan.js';
import { offer } from './settings.js';
import { bench, estimate, gallery, line, quality, shown, stage, task } from './state.js';

/** @import {Key} from './i18n.js' */
/** @import {RecentInputs} from './recent.js' */
/** @import {View} from './stage.js' */
/** @import {Task} from './workbench.js' */

export class Controls {
  #recentInputs;
  #useTile;

  /**
   * @param {RecentInputs} recentInputs
   * @param {(tile: string) => void} useTile takes a tile that a plan suggests
   */
  constructor(recentInputs, useTile) {
    this.#recentInputs = recentInputs;
    this.#useTile = useTile;
  }

  /** @param {View} view */
  show(view) {
    if (/idle|recorded/.test(at('stage').dataset.state ?? '') && view === 'input') this.state('input');
    gallery.view(view);
    this.lock();
  }

  /** Tells everything that depends on the language and on what is on the bench. */
  render() {
    const { model, device, plans } = shown;
    showModel(bench.checkpoint, model, offer(model?.kinds ?? []));
    showPlaces();
    showInput(bench.input, shown.size, task(), plans[0]?.independent ?? false);
    at('tiling').hidden = (model?.tilings.length ?? 0) < 2;
    at('demo-text').textContent = bench.checkpoint.builtin ? t('demo.run') : t('demo.through', { model: model?.model ?? '' });
    for (const name of /** @type {Task[]} */ (['decode', 'encode', 'roundtrip'])) {
      radio('task', name).disabled = !bench.tasks().includes(name);
    }
    at('run').textContent = t(/** @type {Key} */ (`run.${task()}`));
    showPlan(plans, this.#useTile);
    showEstimate(plans.every((p) => p.fits) ? estimate() : undefined);
    showDevice(device);
    if (device) line.ready(device);
    const { outcome } = gallery;
    if (shown.told && !shown.running) line.say(shown.told());
    showTiming(outcome?.done);
    quality.show(stage.at);
    gallery.retell();
    this.lock();
  }

  /** Shows the result beside. */
  swap() {
    gallery.swap();
    const { outcome } = gallery;
    shown.told = outcome && (() => summary(outcome));
    this.render();
  }

  /** @param {'idle'|'recorded'|'input'|'running'|'done'|'stopped'} what */
  state(what) {
    at('stage').dataset.state = what;
    this.lock();
  }

  /** Enables what can be used now. */
  lock() {
    const { plans, running } = shown;
    const enable = (/** @type {string} */ id, /** @type {boolean} */ can) => at(id).toggleAttribute('disabled', !!running || !can);
    const can = plans.length > 0 && plans.every((p) => p.fits);
    enable('run', can);
    enable('demo', can || !plans.length && !!bench.input?.demo); // the engine may still be on its way
    const saved = gallery.savable;
    const { count = 0, alpha = false } = saved?.frames ?? {};
    for (const id of ['save-mp4', 'save-webm']) enable(id, count > 1 && !alpha); // videos have none
    enable('save-png', !!saved?.pictures);
    enable('save-latent', !!saved?.latent);
    enable('save-card', !!saved?.pace);
    at('save-card').hidden = !saved?.pace;
    at('decode-encoded').hidden = !saved?.latent || !!saved.frames;
    for (const id of ['model-pick', 'kept-box', 'input-pick', 'frames-pick', 'folder', 'model-address-fields', 'latent-address-fields', 'decode-encoded', 'engines', 'tasks', 'settings-fields', 'other', 'choices-open']) enable(id, true);
    this.#recentInputs.show(bench.input, !!running);
    document.body.dataset.ready = String(!running && plans.length > 0); // for scripts
  }
}
