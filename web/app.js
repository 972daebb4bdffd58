// The page: what is clicked, dropped and chosen, and what follows from it.

import { openClip } from './clips.js';
import * as demo from './demo.js';
import { at, input as field, onChange, radio, select } from './dom.js';
import { listenDrop } from './drop.js';
import { EngineError } from './engine.js';
import { preferred, speak, t } from './i18n.js';
import { kindOf } from './inputs.js';
import { follow } from './job.js';
import { keep, showFolder, showKept } from './library.js';
import { ProgressLine, QualityPanel, showDevice, showInput, showModel, showTiming } from './panels.js';
import { showPlan, smallerTile } from './plan.js';
import { Player } from './player.js';
import { hideProblem, retell, showProblem, words } from './problems.js';
import { listenSave } from './saving.js';
import * as settings from './settings.js';
import { Stage } from './stage.js';
import { Workbench } from './workbench.js';

/** @import {Key} from './i18n.js' */
/** @import {Job} from './engine.js' */
/** @import {Frames} from './frames.js' */
/** @import {Outcome} from './job.js' */
/** @import {Device, Model, Plan} from './protocol.js' */
/** @import {Originals, View} from './stage.js' */
/** @import {Checkpoint, Size, Task} from './workbench.js' */

/** @type {Checkpoint} */
const builtin = { name: demo.checkpoint, from: demo.checkpoint, builtin: true };
const bench = new Workbench(builtin);
const stage = new Stage();
const quality = new QualityPanel();
const line = new ProgressLine();
const player = new Player(stage, (i) => quality.show(i));

/** What the page tells about, kept to be told again in another language. */
const shown = {
  /** @type {Device|undefined} */ device: undefined,
  /** @type {Model|undefined} */ model: undefined,
  /** @type {Size|undefined} */ size: undefined,
  /** @type {Plan[]} */ plans: [],
  /** @type {Outcome|undefined} */ outcome: undefined,
};
/** @type {Job|undefined} */ let running;
let busy = false; // a job is being prepared or runs
let refreshes = 0;
/** @type {Uint8ClampedArray|undefined} */ let backdrop; // of the demo's result
const asked = demo.parsePart(new URLSearchParams(location.search).get('demo'));
let part = asked ?? demo.whole;

/** Tiles that suit the input, unless others are chosen. */
function options() {
  return settings.options(bench.input?.demo ? { tile: '128', overlap: '32' } : { tile: '512', overlap: '64' }, shown.model?.tilings ?? []);
}

const task = () => /** @type {Task} */ (settings.chosen('task'));

// ---- what is on the bench

/** Opens what isn't open yet, and tells what it is and needs. A call that is overtaken by another ends early. */
async function refresh() {
  if (busy) return;
  const turn = ++refreshes;
  const overtaken = () => turn !== refreshes || busy;
  bench.precision = settings.choices().precision;
  unplan();
  try {
    const device = await bench.device();
    if (overtaken()) return;
    shown.device = device;
    showDevice(device);
    if (bench.precision === 'f16' && !device.f16) showProblem('no_f16');
    if (bench.input?.demo && device.type === 'cpu' && part === demo.whole && !asked) await takeSmallDemo();
    const model = await bench.model();
    suitTask();
    const size = await bench.size(task(), options());
    if (overtaken()) return;
    Object.assign(shown, { model, size });
    const plans = await bench.plan(task(), options());
    if (overtaken()) return;
    shown.plans = plans;
    render();
  } catch (error) {
    if (!overtaken()) trouble(error);
  }
}

/** Chooses a task that the input and the model allow. */
function suitTask() {
  const tasks = bench.tasks();
  if (!tasks.includes(task())) settings.check('task', tasks.includes('roundtrip') ? 'roundtrip' : tasks[0]);
}

/** What was planned doesn't hold any more. */
function unplan() {
  shown.plans = [];
  lock();
}

/** Puts a part of the demo on the bench, and its first frame on the stage in blocks. @param {demo.Part} p */
async function takeDemo(p) {
  part = p;
  bench.put({ name: 'demo', latent: await demo.latent(p), clip: demo.clip(p), demo: true });
  stage.resize(8 * p.height, 8 * p.width);
  backdrop = stage.mosaic(await demo.frame(0, p), p.width);
}

/** The demo on a processor. */
async function takeSmallDemo() {
  at('demo-hint').dataset.t = 'demo.small';
  at('demo-hint').textContent = t('demo.small');
  await takeDemo(demo.small);
}

/** @param {Checkpoint} checkpoint */
async function takeCheckpoint(checkpoint) {
  const before = bench.checkpoint;
  bench.use(checkpoint);
  try {
    await bench.model();
  } catch (error) {
    bench.use(before); // a broken one doesn't take the place of what is there
    if (!(error instanceof EngineError && error.code === 'flat')) throw error;
    const act = () => void attempt(() => takeCheckpoint({ ...checkpoint, force: true }));
    return showProblem('flat', { values: { name: checkpoint.name }, detail: words(error), action: { key: 'action.force', act } });
  }
  if (checkpoint.from instanceof File) void keep(checkpoint.from).then(listKept);
  await listKept();
}

function listKept() {
  return showKept(bench.checkpoint.name, builtin, (c) => void attempt(() => takeCheckpoint(c)));
}

/** @param {string} name @param {import('./engine.js').From} latent */
async function takeLatent(name, latent) {
  await bench.model();
  await (await bench.engine()).inspect(latent);
  bench.put({ name, latent });
  settings.check('task', 'decode');
}

/** @param {File[]} files */
async function takeClip(files) {
  try {
    const clip = await openClip(files);
    bench.put({ name: clip.name, clip });
    if (task() === 'decode') settings.check('task', 'roundtrip');
  } catch (error) {
    showProblem('video', { values: { name: files[0].name }, detail: words(error) });
  }
}

/** Takes files that were dropped or picked. @param {File[]} files */
async function take(files) {
  /** @type {File[]} */ const clip = [];
  for (const file of files) {
    const kind = await kindOf(file);
    if (kind === 'checkpoint') await takeCheckpoint({ name: file.name, from: file });
    else if (kind === 'latent') await takeLatent(file.name, file);
    else if (kind === 'clip') clip.push(file);
    else showProblem('unknown_file', { values: { name: file.name } });
  }
  if (clip.length) await takeClip(clip);
}

/** Takes a file of the native engine's folder. @param {string} path */
async function takePath(path) {
  const engine = await bench.engine();
  const latent = /\.(latent|npy)$/i.test(path) || /\.safetensors$/i.test(path) && await engine.inspect({ path }).then(() => true, () => false);
  if (latent) await takeLatent(path, { path });
  else await takeCheckpoint({ name: path, from: { path } });
}

/** Does something to the bench, tells what goes wrong, and what it needs then. @param {() => Promise<void>} act */
async function attempt(act) {
  if (busy) return;
  hideProblem();
  unplan();
  try {
    await act();
  } catch (error) {
    trouble(error);
  }
  await refresh();
}

/** @param {'browser'|'native'} kind */
async function switchEngine(kind) {
  if (kind === 'native' && !bench.token) {
    settings.check('engine', 'browser');
    return showProblem('no_token');
  }
  hideProblem();
  unplan();
  bench.stop();
  bench.kind = kind;
  showDevice(shown.device = undefined);
  settings.writeLink();
  await showFolder(kind === 'native' ? bench.token : null).catch(() => {});
  await refresh();
}

// ---- running

/** Runs the demo clip through the checkpoint that is there, or decodes its latent with the one it was made with. */
async function runDemo() {
  if (busy) return;
  if (!bench.input?.demo) {
    bench.use(builtin);
    await takeDemo(part);
    settings.check('task', 'decode');
  }
  await run();
}

async function run() {
  if (busy) return;
  busy = true;
  refreshes++;
  hideProblem();
  quality.clear();
  showTiming(shown.outcome = undefined);
  line.begin();
  state('running');
  try {
    shown.device ??= await bench.device();
    shown.model = await bench.model();
    suitTask();
    const clip = bench.input?.clip;
    const alpha = shown.model.channels === 4;
    const originals = clip && ((/** @type {number} */ i) => clip.readFrame(i).then(alpha ? (rgba) => rgba : opaque));
    at('frame').dataset.alpha = String(alpha);
    if (clip && originals && task() !== 'decode') stage.still(clip.height, clip.width, await originals(0));
    if (!shown.plans.length) shown.plans = await bench.plan(task(), options());
    running = await bench.start(task(), options());
    const outcome = await follow(running, { stage, player, line, quality }, {
      plans: shown.plans, spatial: shown.model.spatial, alpha, originals: task() === 'decode' ? originals : undefined, backdrop: bench.input?.demo ? backdrop : undefined,
      frames: (frames) => show(frames, originals),
      queued: (n) => line.say(t(n > 1 ? 'progress.queued' : 'progress.next', { n })),
    });
    shown.outcome = outcome;
    ended('done', outcome.summary());
    if (outcome.frames && !outcome.frames.independent) player.play();
  } catch (error) {
    const cancelled = error instanceof EngineError && error.code === 'cancelled';
    ended('stopped', cancelled ? t('progress.cancelled') : '');
    if (!cancelled) return trouble(error);
  }
  await refresh();
}

/** @param {'done'|'stopped'} what @param {string} summary */
function ended(what, summary) {
  running = undefined;
  busy = false;
  line.end(summary);
  state(what);
}

/** What a model of 3 channels sees. @param {Uint8ClampedArray<ArrayBuffer>} rgba */
function opaque(rgba) {
  for (let i = 3; i < rgba.length; i += 4) rgba[i] = 255;
  return rgba;
}

/** @param {Frames} frames @param {Originals|undefined} originals */
function show(frames, originals) {
  stage.show(frames, originals);
  player.load(frames);
  for (const view of ['compare', 'difference']) radio('view', view).disabled = !originals;
  if (!originals) setView('result');
}

/** Tells an error, and offers what can be done. @param {unknown} error */
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
    default:
      showProblem(kind, { detail, native: bench.kind === 'native' });
  }
}

/** @param {string} tile */
async function useTile(tile) {
  settings.choose('tile', tile);
  settings.writeLink();
  await refresh();
}

// ---- showing

/** Tells everything that depends on the language and on what is on the bench. */
function render() {
  showModel(bench.checkpoint, shown.model);
  showInput(bench.input, shown.size, task(), shown.plans[0]?.independent ?? false);
  at('tiling').hidden = (shown.model?.tilings.length ?? 0) < 2;
  at('demo-text').textContent = bench.checkpoint.builtin ? t('demo.run') : t('demo.through', { model: shown.model?.model ?? '' });
  for (const name of /** @type {Task[]} */ (['decode', 'encode', 'roundtrip'])) {
    radio('task', name).disabled = !bench.tasks().includes(name);
  }
  at('run').textContent = t(/** @type {Key} */ (`run.${task()}`));
  showPlan(shown.plans, (tile) => void useTile(tile));
  showDevice(shown.device);
  if (shown.device) line.ready(shown.device);
  if (shown.outcome && !busy) line.end(shown.outcome.summary());
  showTiming(shown.outcome?.done);
  quality.show(stage.at);
  lock();
}

/** @param {'running'|'done'|'stopped'} what */
function state(what) {
  at('stage').dataset.state = what;
  lock();
}

/** Enables what can be used now. */
function lock() {
  const { outcome, plans } = shown;
  const enable = (/** @type {string} */ id, /** @type {boolean} */ can) => at(id).toggleAttribute('disabled', busy || !can);
  enable('run', plans.length > 0 && plans.every((p) => p.fits));
  const { count = 0, alpha = false } = outcome?.frames ?? {};
  for (const id of ['save-mp4', 'save-webm']) enable(id, count > 1 && !alpha); // videos have none
  enable('save-png', count > 0);
  enable('save-latent', !!outcome?.latent);
  for (const id of ['demo', 'model-pick', 'input-pick', 'folder', 'engines', 'settings-fields']) enable(id, true);
  document.body.dataset.ready = String(!busy && plans.length > 0); // for scripts
}

/** @param {View} view */
function setView(view) {
  radio('view', view).checked = true;
  stage.view = view;
  at('split').hidden = view !== 'compare';
  stage.draw();
}

/** @param {string} language */
function setLanguage(language) {
  speak(language);
  select('language').value = language;
  retell();
  render();
  void listKept();
}

/** Keys on the stage. @param {KeyboardEvent} e */
function onKey(e) {
  if (e.target !== at('stage')) return;
  const act = /** @type {Record<string, (() => void)|undefined>} */ ({
    ' ': () => player.toggle(), ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1),
    Escape: () => running?.cancel(),
  })[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}

function listen() {
  at('demo').onclick = () => void runDemo().catch(trouble);
  at('run').onclick = () => void run();
  at('cancel').onclick = () => running?.cancel();
  at('stage').onkeydown = onKey;
  at('play').addEventListener('toggled', () => at('play').setAttribute('aria-label', t(player.playing ? 'pause' : 'play')));
  at('grid').onchange = () => { stage.grid = field('grid').checked; stage.drawGrid(); };
  at('split-at').oninput = () => { stage.setSplit(field('split-at').valueAsNumber / 1000); };
  select('language').onchange = () => { localStorage.setItem('language', select('language').value); setLanguage(select('language').value); };
  at('model-pick').onclick = () => at('model-file').click();
  at('input-pick').onclick = () => at('input-file').click();
  select('folder').onchange = () => { const path = select('folder').value; if (path) void attempt(() => takePath(path)); };
  for (const id of ['model-file', 'input-file']) {
    field(id).onchange = () => { const files = [...field(id).files ?? []]; void attempt(() => take(files)).finally(() => { field(id).value = ''; }); };
  }
  onChange('#settings select, input[name=task]', () => { settings.writeLink(); hideProblem(); void refresh(); });
  onChange('input[name=engine]', () => void switchEngine(/** @type {'browser'|'native'} */ (settings.chosen('engine'))));
  onChange('input[name=view]', () => setView(/** @type {View} */ (settings.chosen('view'))));
  addEventListener('hashchange', () => { settings.readLink(); void refresh(); });
  listenSave(stage, () => ({ outcome: shown.outcome, stem: stem() }));
  listenDrop((files) => void attempt(() => take(files)));
}

/** The input's name without its ending. */
function stem() {
  return (bench.input?.name ?? '').replace(/ … .*/, '').replace(/^.*\//, '').replace(/\.[^.]*$/, '') || 'tessera';
}

async function begin() {
  bench.token = settings.readLink().token;
  bench.loading = ({ loaded, total }) => line.loading(loaded, total);
  listen();
  setLanguage(preferred());
  line.say(t('engine.starting'));
  await takeDemo(part);
  const kind = /** @type {'browser'|'native'} */ (settings.chosen('engine'));
  if (kind === 'native') await switchEngine(kind);
  else await refresh();
  if (new URLSearchParams(location.search).has('autoplay')) await runDemo();
}

begin().catch(trouble);
