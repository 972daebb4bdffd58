// The page: what the user clicks, drops and chooses, and its effects.

import * as addresses from './addresses.js';
import * as demo from './demo.js';
import { at, input as field, onChange, select } from './dom.js';
import { listenCard } from './card.js';
import { listenChoices } from './choices.js';
import { Controls } from './controls.js';
import { listenDrop, ofFolder } from './drop.js';
import { EngineError } from './engine.js';
import { preferred, speak, t } from './i18n.js';
import { follow, until } from './job.js';
import { offer } from './keepoffer.js';
import { lastKept, rememberKept, showFolder, showKept } from './library.js';
import { Links } from './links.js';
import * as offline from './offline.js';
import { newOutcome, settle, summary } from './outcome.js';
import { showDevice, showTiming } from './panels.js';
import { ofClip, ofLatent, opaque } from './pictures.js';
import { smallerTile } from './plan.js';
import { lack, showLack } from './nogpu.js';
import { hideProblem, retell, showProblem, words } from './problems.js';
import { recorded } from './recorded.js';
import { listenSave } from './savebuttons.js';
import * as settings from './settings.js';
import { RecentInputs } from './recent.js';
import * as speed from './speed.js';
import { bench, builtin, estimate, gallery, line, options, player, quality, recommended, shown, stage, stem, task } from './state.js';
import { Taker } from './taking.js';
import { listenZoom } from './zoom.js';

/** @import {Pace} from './card.js' */
/** @import {Outcome} from './outcome.js' */
/** @import {Device} from './protocol.js' */
/** @import {View} from './stage.js' */
/** @import {Input} from './workbench.js' */

const recentInputs = new RecentInputs((input) => void attempt(async () => put(input)), () => void attempt(() => takeDemo(part)));
const controls = new Controls(recentInputs, (tile) => void useTile(tile));
const taker = new Taker({ bench, options, put, listKept, again: (act) => void attempt(act) });
const links = new Links({ bench, taker, attempt });

/** Error codes for an input that can't be used. */
const refusals = ['wrong_model', 'packed_size', 'program_only', 'bad_input'];

/** @type {File[]} */ let later = []; // dropped meanwhile
let refreshes = 0;
let begun = false; // the last visit's checkpoint was looked up
const asked = demo.parsePart(new URLSearchParams(location.search).get('demo'));
let part = asked ?? demo.whole;

// ---- what is on the bench

/** Opens the bench's files as needed, and shows what they are and need. A newer call ends an older one early. */
async function refresh() {
  if (shown.running) return;
  const turn = ++refreshes;
  const overtaken = () => turn !== refreshes || !!shown.running;
  bench.precision = settings.choices().precision;
  shown.misfit = false;
  unplan();
  try {
    await needGPU();
    const device = await bench.device();
    if (overtaken()) return;
    shown.device = device;
    showDevice(device);
    if (bench.precision === 'f16' && !device.f16) showProblem('no_f16');
    suitPart(device);
    const model = await bench.model();
    if (overtaken()) return;
    if (model !== shown.model && model.assumed) settings.unfold();
    shown.model = model;
    suitTask();
    const size = await bench.size(task(), options());
    if (overtaken()) return;
    shown.size = size;
    await lookAtLatent();
    const plans = await bench.plan(task(), options());
    if (overtaken()) return;
    shown.plans = plans;
    controls.render();
    if (estimate() === undefined) void measure();
  } catch (error) {
    if (overtaken()) return;
    shown.misfit = error instanceof EngineError && error.code === 'wrong_model';
    if (!shown.misfit || at('notice').hidden) trouble(error); // a newer message stays: the plan shows a misfit, too
    if (error instanceof EngineError && refusals.includes(error.code)) shown.size = undefined; // of another input or model
    controls.render();
  }
}

/** Without a GPU, nothing is downloaded. */
async function needGPU() {
  const lacking = bench.kind === 'browser' ? await lack() : undefined;
  showLack(!!lacking);
  if (lacking) throw new EngineError(lacking, '');
}

/** Measures the adapter, once. */
async function measure() {
  const { device, model } = shown;
  if (device && model) await speed.measure(await bench.engine(), device, model).then(() => controls.render(), () => {}); // a failed measurement is not reported
}

/** Selects a task that the input and the model allow. */
function suitTask() {
  const tasks = bench.tasks();
  if (!tasks.includes(task())) settings.check('task', tasks.includes('roundtrip') ? 'roundtrip' : tasks[0]);
}

/** Discards the plans, which no longer apply. */
function unplan() {
  shown.plans = [];
  controls.lock();
}

/** Puts an input on the bench and shows it. @param {Input} input */
function put(input) {
  if (bench.input) recentInputs.add(bench.input);
  bench.put(input);
  recentInputs.add(input);
  if (shown.told && !shown.running) { // it belongs to another input
    shown.told = undefined;
    line.say('');
  }
  settings.matchOverlap(recommended().tile);
  const { clip, latent, name, demo: isDemo } = input;
  if (!isDemo) gallery.forget();
  const fresh = !gallery.outcome || gallery.outcome.recorded;
  gallery.offer(clip ? { name: isDemo ? t('demo.name') : name, pictures: ofClip(clip) } : input.look);
  if (latent) settings.check('task', 'decode');
  else if (task() === 'decode') settings.check('task', 'roundtrip');
  if (input.look || clip && !(isDemo && fresh)) controls.show('input');
  else if (!isDemo && !gallery.outcome) { // the demo's picture does not belong to this input
    stage.clear();
    controls.state('input');
  }
}

/** Shows a latent as soon as its shape is known. */
async function lookAtLatent() {
  const { input } = bench;
  if (!(input?.latent instanceof File) || input.clip || input.look) return;
  const { frames, height, width } = await bench.size('decode', options());
  const shape = [shown.model?.latentChannels ?? 0, frames, height, width];
  const pictures = await ofLatent(input.latent, shape);
  if (input !== bench.input) return;
  input.look = pictures && { name: input.name, pictures, shape };
  gallery.offer(input.look);
  controls.show('input');
}

/** Puts a part of the demo on the bench. Until there is a result, the stage shows its recording. @param {demo.Part} p */
async function takeDemo(p) {
  part = p;
  put({ name: 'demo', latent: demo.latent(p), clip: demo.clip(p), demo: true });
  if (gallery.outcome) return;
  controls.state('idle');
  const outcome = await recorded().catch(() => undefined); // without it, only the recording is missing
  if (!outcome || gallery.outcome || shown.running || !bench.input?.demo) return;
  gallery.present(outcome);
  gallery.view('compare');
  controls.state('recorded');
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches) player.play();
}

/** A processor decodes only the demo's first picture. @param {Device} device */
function suitPart(device) {
  if (!bench.input?.demo || device.type !== 'cpu' || part !== demo.whole || asked) return;
  part = demo.small;
  put({ name: 'demo', latent: demo.latent(part), clip: demo.clip(part), demo: true });
}

/** The last used checkpoint, if this browser has a copy. */
async function takeKept() {
  const from = await lastKept();
  if (from) bench.use({ name: from.name, from, kept: true });
}

async function listKept() {
  rememberKept(bench.checkpoint.name);
  await showKept(bench.checkpoint, builtin, (c) => void attempt(() => taker.checkpoint(c)), listKept);
  await offer(bench.checkpoint, listKept);
}

/** Uses picked or dropped files; if a job runs, after it. @param {File[]} files */
async function take(files) {
  if (!shown.running) return attempt(() => taker.files(files));
  later.push(...files);
  at('later').textContent = t('taken.later', { names: later.map((f) => f.name).slice(0, 3).join(', ') + (later.length > 3 ? ' …' : '') });
}

/** Changes the bench, reports errors, and plans again. @param {() => Promise<void>} act */
async function attempt(act) {
  if (shown.running) return;
  hideProblem();
  unplan();
  try {
    await act();
  } catch (error) {
    trouble(error);
  }
  settings.share(addresses.ofBench(bench.checkpoint, bench.input).addresses);
  await refresh();
}

/** Puts the encoded latent on the bench, to decode it. */
async function takeEncoded() {
  const { stem: name, latent, pictures, shape } = gallery.outcome ?? {};
  if (!name || !latent) return;
  const file = new File([latent], `${name}.${latent.name.split('.').pop()}`);
  await attempt(async () => put({ name: file.name, latent: file, look: pictures && { name: file.name, pictures, shape } }));
  if (document.activeElement === document.body) at('run').focus();
}

/** @param {'browser'|'native'} kind */
async function switchEngine(kind) {
  if (kind === 'native' && !bench.token) {
    settings.check('engine', kind = 'browser');
    showProblem('no_token');
    if (shown.device && bench.kind === kind) return;
  } else {
    hideProblem();
  }
  sessionStorage.setItem('engine', kind);
  unplan();
  bench.stop();
  bench.kind = kind;
  showDevice(shown.device = undefined);
  settings.writeLink();
  await showFolder(kind === 'native' ? bench.token : null).catch(() => {});
  await refresh();
}

// ---- running

/** Runs what is on the bench. @returns {Promise<Outcome|undefined>} the outcome, if it is complete */
async function run() {
  if (shown.running) return undefined;
  const { signal } = shown.running = new AbortController();
  const asked = document.activeElement;
  const before = gallery.outcome;
  const outcome = newOutcome(stem());
  /** @type {unknown} */ let failed;
  refreshes++;
  hideProblem();
  showTiming(undefined);
  line.begin(estimate());
  controls.state('running');
  if (asked === at('run') || asked === at('demo')) at('cancel').focus({ preventScroll: true });
  inView();
  try {
    await until(signal, needGPU());
    shown.device ??= await until(signal, bench.device());
    suitPart(shown.device);
    shown.model = await until(signal, bench.model());
    suitTask();
    const { checkpoint, input } = bench;
    Object.assign(outcome, { from: { checkpoint, input }, tiny: checkpoint.builtin });
    const clip = input?.clip;
    outcome.alpha = shown.model.channels === 4;
    outcome.originals = clip && ((i) => ofClip(clip).get(i).then(outcome.alpha ? (rgba) => rgba : opaque));
    if (task() !== 'decode') gallery.look();
    if (!shown.plans.length) shown.plans = await until(signal, bench.plan(task(), options()));
    const plan = shown.plans[shown.plans.length - 1];
    outcome.way = { tiling: plan.tiling, tile: plan.tile, native: bench.kind === 'native' };
    const backdrop = bench.input?.demo ? await until(signal, demo.blocks(part)) : undefined;
    const job = await until(signal, bench.start(task(), { ...options(), signal }));
    await follow(job, outcome, { stage, player, line, quality }, {
      plans: shown.plans, spatial: shown.model.spatial, alpha: outcome.alpha,
      originals: task() === 'decode' ? outcome.originals : undefined, backdrop,
      frames: () => { outcome.pictures = outcome.frames; gallery.present(outcome); },
      queued: (n) => line.say(t(n > 1 ? 'progress.queued' : 'progress.next', { n })),
    });
    if (outcome.done) speed.learn(shown.device, shown.model, outcome.done);
    await settle(outcome);
    outcome.pace = pace(outcome);
    outcome.before = comparable(before, outcome);
    if (gallery.outcome !== outcome) gallery.present(outcome);
    gallery.beside(before?.recorded && outcome.frames && outcome.frames.count < (before.frames?.count ?? 0) ? before : undefined);
    ended('done', () => summary(outcome));
    if (outcome.frames && !outcome.frames.independent) player.play();
  } catch (error) {
    const some = await settle(outcome);
    stage.tiles([]);
    if (before && !(some && before.recorded)) gallery.present(before, some ? outcome : undefined);
    else if (some) gallery.present(outcome, before);
    const cancelled = error instanceof EngineError && error.code === 'cancelled';
    ended('stopped', () => (cancelled || some ? summary(outcome) : ''));
    if (!cancelled) failed = error;
  }
  if (later.length) {
    await take(later.splice(0));
    if (gallery.outcome) controls.show('result');
  }
  controls.render();
  if (failed) trouble(failed);
  return outcome.done && outcome;
}

/** The previous result, if the new one can be compared with it frame by frame. @param {Outcome|undefined} before @param {Outcome} now */
function comparable(before, now) {
  const [a, b] = [before?.frames, now.frames];
  if (!before?.done || !a || !b || before.stem !== now.stem || before.from?.checkpoint !== now.from?.checkpoint) return undefined;
  before.before = undefined; // keep two at most
  return a.count === b.count && a.height === b.height && a.width === b.width ? before : undefined;
}

/** Decodes exactly, then in small blended tiles, and shows the difference. */
async function showExact() {
  const { tile, overlap, tiling } = settings.choices();
  const set = async (/** @type {Record<'tile'|'overlap'|'tiling', string>} */ c) => {
    for (const name of /** @type {const} */ (['tile', 'overlap', 'tiling'])) settings.choose(name, c[name]);
    changed();
    await refresh();
  };
  const { height = 0, width = 0 } = shown.size?.clip ?? {};
  const small = String(Math.max(32, Math.min(512, 32 * Math.floor(Math.min(height, width) / 64))));
  const exact = shown.model?.tilings.includes('exact') ? { tile, overlap, tiling: 'exact' } : { tile: 'off', overlap: 'recommended', tiling: 'auto' };
  for (const way of [exact, { tile: small, overlap: 'recommended', tiling: 'feather' }]) {
    await set(way);
    if (!await run()) return set({ tile, overlap, tiling });
  }
  gallery.against('before');
  controls.show('difference');
  await set({ tile, overlap, tiling });
}

/** How fast a job was. @param {Outcome} outcome @returns {Pace|undefined} */
function pace({ done, frames, pictures }) {
  const { device, model } = shown;
  const clip = bench.input?.clip;
  if (!done || !device || !model || !pictures || !(frames ?? clip)) return undefined;
  const { height, width } = frames ?? /** @type {import('./clips.js').OpenClip} */ (clip);
  return { tiny: bench.checkpoint.builtin, task: task(), device, model, frames: frames?.count ?? clip?.frames ?? 0, height, width, seconds: done.seconds };
}

/** Scrolls to the picture when a job shows its output. */
function inView() {
  at('stage').scrollIntoView({ block: 'nearest' });
}

/** @param {'done'|'stopped'} what @param {() => string} text */
function ended(what, text) {
  const held = document.activeElement === at('cancel');
  shown.running = undefined;
  shown.told = text;
  at('later').textContent = '';
  line.end(text());
  controls.state(what);
  if (held) at('run').focus({ preventScroll: true });
  inView();
}

/** Shows an error, with actions that may help. @param {unknown} error */
function trouble(error) {
  const detail = words(error);
  const kind = error instanceof EngineError ? error.code : 'failed';
  switch (kind) {
    case 'out_of_memory':
    case 'too_large': {
      const tile = smallerTile(shown.plans.at(-1), shown.size?.clip);
      const act = () => void useTile(tile ?? '').then(run);
      return showProblem(kind, { detail, action: tile ? { key: 'action.tile', values: { tile }, act } : undefined });
    }
    case 'device_lost':
      return showProblem(kind, { detail, action: { key: 'action.resume', act: () => void run() } });
    case 'disconnected':
      bench.stop();
      return showProblem(kind, { detail, action: { key: 'action.restart', act: () => void refresh() } });
    case 'packed_size':
      settings.unfold();
    // falls through
    case 'wrong_model':
      return showProblem(kind, { detail, values: { name: bench.input?.name ?? '' } });
    default:
      showProblem(kind, { detail, native: bench.kind === 'native' });
  }
}

/** @param {string} tile */
async function useTile(tile) {
  settings.choose('tile', tile);
  changed();
  await refresh();
}

/** Applies a changed setting. */
function changed() {
  settings.matchOverlap(recommended().tile);
  settings.writeLink();
}

/** @param {string} language */
function setLanguage(language) {
  speak(language);
  select('language').value = language;
  retell();
  controls.render();
  if (begun) void listKept();
}

/** Handles the keys of the stage, and one key that works everywhere. @param {KeyboardEvent} e */
function onKey(e) {
  if (e.key === 'Escape' && shown.running) return shown.running.abort();
  if (e.target !== at('stage')) return;
  const act = /** @type {Record<string, (() => void)|undefined>} */ ({
    ' ': () => player.toggle(), ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1),
  })[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}

function listen() {
  at('demo').onclick = () => void run();
  at('run').onclick = () => void run();
  at('exact').onclick = () => void showExact();
  at('cancel').onclick = () => shown.running?.abort();
  at('other').onclick = () => controls.swap();
  at('decode-encoded').onclick = () => void takeEncoded();
  at('copy-link').onclick = () => void links.copy();
  addresses.listenAddresses((text) => links.take('checkpointAt', text), (text) => links.take('latentAt', text));
  document.addEventListener('keydown', onKey);
  at('play').addEventListener('toggled', () => at('play').setAttribute('aria-label', t(player.playing ? 'pause' : 'play')));
  at('grid').onchange = () => { stage.grid = field('grid').checked; stage.drawGrid(); };
  at('split-at').oninput = () => { stage.setSplit(field('split-at').valueAsNumber / 1000); };
  select('language').onchange = () => { localStorage.setItem('language', select('language').value); setLanguage(select('language').value); };
  at('model-pick').onclick = () => at('model-file').click();
  at('input-pick').onclick = () => at('input-file').click();
  at('frames-pick').onclick = () => at('frames-file').click();
  at('frames-pick').hidden = !('webkitdirectory' in HTMLInputElement.prototype);
  select('folder').onchange = () => { const path = select('folder').value; if (path) void attempt(() => taker.path(path)); };
  for (const id of ['model-file', 'input-file', 'frames-file']) {
    field(id).onchange = () => { const files = [...field(id).files ?? []]; void take(id === 'frames-file' ? ofFolder(files) : files).finally(() => { field(id).value = ''; }); };
  }
  field('preview-file').onchange = () => { bench.sketch = field('preview-file').files?.[0]; };
  onChange('#settings select, #settings input, input[name=task]', () => { changed(); hideProblem(); void refresh(); });
  onChange('input[name=engine]', () => void switchEngine(/** @type {'browser'|'native'} */ (settings.chosen('engine'))));
  onChange('input[name=view]', () => controls.show(/** @type {View} */ (settings.chosen('view'))));
  addEventListener('hashchange', () => { const { named } = readLink(); void refresh().then(() => links.follow(named)); });
  listenSave(stage, () => gallery.savable);
  listenCard(() => gallery.savable);
  listenChoices({
    plan: (tile, least) => bench.plan(task(), { ...settings.options(recommended(), shown.model, tile), ...least && { memory: 2 ** 50, least } }),
    tile: () => settings.choices().tile,
    seconds: (plans) => shown.device && shown.model && speed.seconds(shown.device, shown.model, plans),
    use: (tile) => void useTile(tile),
    trouble,
  });
  listenZoom();
  listenDrop((files) => void take(files), trouble);
}

/** Applies the choices in the address; returns the engine and the files that it names. */
function readLink() {
  const { token, misfit, engine, addresses: named } = settings.readLink(recommended().tile);
  bench.token = token;
  at('engines').hidden = !token; // other hosts have no native engine
  if (misfit) showProblem('overlap', { values: misfit });
  return { engine, named };
}

async function begin() {
  bench.loading = ({ loaded, total }) => line.loading(loaded, total);
  bench.larger = () => line.say(t('engine.larger'));
  listen();
  setLanguage(preferred());
  const { engine, named } = readLink();
  void (bench.token ? offline.leave() : offline.keep(() => !shown.running && !saving() && estimate() !== undefined));
  const wanted = task();
  line.say(t('engine.starting'));
  await takeKept();
  begun = true;
  await takeDemo(part);
  settings.check('task', wanted);
  void listKept();
  if (saving() && !new URLSearchParams(location.search).has('autoplay')) {
    links.follow(named);
    return line.say(t('engine.waits'));
  }
  await idle();
  if (engine === 'native') {
    settings.check('engine', engine);
    await switchEngine(engine);
  } else {
    await refresh();
  }
  if (named.model || named.latent) links.follow(named); // it may show a question, which a job would hide
  else if (new URLSearchParams(location.search).has('autoplay')) await run();
}

/** Whether the user wants no downloads without asking. */
function saving() {
  return /** @type {{connection?: {saveData?: boolean}}} */ (/** @type {unknown} */ (navigator)).connection?.saveData ?? false;
}

/** Waits until the page has nothing else to do. */
function idle() {
  return new Promise((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(resolve, { timeout: 1000 });
    else setTimeout(resolve, 100);
  });
}

begin().catch(trouble);
