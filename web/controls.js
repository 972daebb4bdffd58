// The page's texts, and which buttons are enabled in the current state.

import { showPlaces } from './addresses.js';
import { at, radio } from './dom.js';
import { number, roughly, t } from './i18n.js';
import { summary } from './outcome.js';
import { showDevice, showInput, showModel, showTiming } from './panels.js';
import { showEstimate, showPlan } from './plan.js';
import { offer, showChosen } from './settings.js';
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
   * @param {(tile: string) => void} useTile applies a tile that a plan suggests
   */
  constructor(recentInputs, useTile) {
    this.#recentInputs = recentInputs;
    this.#useTile = useTile;
  }

  /** @param {View} view */
  show(view) {
    if (/idle|recorded/.test(at('stage').dataset.state ?? '') && view === 'input') this.state('input');
    gallery.view(view);
    this.#tell();
    this.lock();
  }

  /** Shows the result's texts, if the result is visible. */
  #tell() {
    const { away, outcome } = gallery;
    quality.away = away;
    quality.show(stage.at);
    if (shown.running) return;
    const made = stage.view !== 'input' && outcome?.done;
    if (shown.told) line.say(shown.told());
    else if (made) line.say(summary(outcome));
    else if (shown.device) line.ready(shown.device);
    showTiming(away ? undefined : outcome?.done);
  }

  /** Updates everything that depends on the language and on the bench. */
  render() {
    const { model, device, plans } = shown;
    showModel(bench.checkpoint, model, offer(model?.kinds ?? []));
    showPlaces();
    showInput(bench.input, shown.size, task(), plans[0]?.independent ?? false);
    showChosen();
    at('exact').title = t('exact.label');
    at('tiling').hidden = (model?.tilings.length ?? 0) < 2;
    at('demo-text').textContent = demoText();
    at('demo-hint').textContent = t(device?.type === 'cpu' ? 'demo.small' : 'demo.hint');
    for (const name of /** @type {Task[]} */ (['decode', 'encode', 'roundtrip'])) {
      radio('task', name).disabled = !bench.tasks().includes(name);
    }
    at('run').textContent = t(/** @type {Key} */ (`run.${task()}`));
    const { checkpoint, input } = bench;
    showPlan(plans, this.#useTile, shown.misfit ? t('plan.misfit', { input: input?.name ?? '', checkpoint: checkpoint.name }) : t('plan.waiting'));
    showEstimate(plans.every((p) => p.fits) ? estimate() : undefined);
    showDevice(device);
    this.#tell();
    gallery.retell();
    this.lock();
  }

  /** Shows the other result. */
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

  /** Enables the controls that can be used now. */
  lock() {
    const { plans, running } = shown;
    const enable = (/** @type {string} */ id, /** @type {boolean} */ can) => at(id).toggleAttribute('disabled', !!running || !can);
    const can = plans.length > 0 && plans.every((p) => p.fits);
    enable('run', can);
    enable('demo', can || !plans.length && !!bench.input?.demo); // the engine may still be loading
    const saved = gallery.savable;
    const { count = 0, alpha = false } = saved?.frames ?? {};
    for (const id of ['save-mp4', 'save-webm']) enable(id, count > 1 && !alpha); // videos have no alpha
    enable('save-png', !!saved?.pictures);
    enable('save-latent', !!saved?.latent);
    enable('save-card', !!saved?.pace);
    at('save-card').hidden = !saved?.pace;
    at('decode-encoded').hidden = !saved?.latent || !!saved.frames;
    for (const id of ['model-pick', 'kept-box', 'input-pick', 'frames-pick', 'folder', 'model-address-fields', 'latent-address-fields', 'decode-encoded', 'engines', 'tasks', 'settings-fields', 'other', 'choices-open', 'against']) enable(id, true);
    enable('exact', can && task() !== 'encode');
    this.#recentInputs.show(bench.input, !!running);
    document.body.dataset.ready = String(!running && plans.length > 0); // for scripts
  }
}

/** The text of the button on the picture: what it runs, and how long it takes. */
function demoText() {
  const { device, model, size } = shown;
  const seconds = estimate();
  const frames = size?.clip.frames ?? 0;
  /** @type {string} */ let what;
  if (!bench.checkpoint.builtin) what = t('demo.through', { model: model?.model ?? '' });
  else if (device?.type !== 'cpu') what = t('demo.run');
  else if (task() !== 'decode' || !frames) what = t('demo.cpu');
  else what = t(frames > 1 ? 'demo.cpu.many' : 'demo.cpu.one', { n: number(frames) });
  return seconds === undefined ? what : t('demo.time', { what, time: roughly(seconds) });
}
