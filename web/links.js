// Addresses that the user types or a link contains, and the link to copy.

import * as addresses from './addresses.js';
import { at } from './dom.js';
import { EngineError } from './engine.js';
import { t } from './i18n.js';
import { showProblem, words } from './problems.js';
import * as settings from './settings.js';

/** @import {Taker} from './taking.js' */
/** @import {Workbench} from './workbench.js' */

/** @typedef {{bench: Workbench, taker: Taker, attempt: (act: () => Promise<void>) => Promise<void>}} Place */

export class Links {
  #place;

  /** @param {Place} place attempt: changes the bench */
  constructor(place) {
    this.#place = place;
  }

  /** Opens the file at an address. @param {'checkpointAt'|'latentAt'} how @param {string} text */
  take(how, text) {
    const { attempt, taker } = this.#place;
    return attempt(() => taker[how](text).catch((error) => {
      if (error instanceof EngineError) throw error;
      showProblem('address', { detail: words(error) });
    }));
  }

  /** Opens the files of a link; those on other sites only after the user confirms. @param {addresses.Addresses} named */
  follow(named) {
    const { model, latent } = named;
    if (!model && !latent || !at('nogpu').hidden) return;
    const take = async () => {
      if (model) await this.take('checkpointAt', model);
      if (latent && (!model || this.#place.bench.checkpoint.address === addresses.parse(model).href)) await this.take('latentAt', latent);
    };
    try {
      const sites = addresses.sites(named);
      addresses.showAddresses(named);
      if (sites) showProblem('link', { values: { sites }, action: { key: 'action.fetch', act: () => void take() } });
      else void take();
    } catch (error) {
      settings.share({ model: '', latent: '' });
      showProblem('address', { detail: words(error) });
    }
  }

  /** Copies the page's address, with the addresses of the bench. */
  async copy() {
    const { bench } = this.#place;
    const named = addresses.ofBench(bench.checkpoint, bench.input);
    settings.share(named.addresses);
    const link = `${location.origin}${location.pathname}${location.hash}`;
    try {
      await navigator.clipboard.writeText(link);
      at('copied').textContent = t('copy.done');
      if (named.withheld) showProblem('withheld');
    } catch {
      showProblem('copy', { values: { link } });
    }
  }
}
