// The messages between the page and an engine. The engine is Go: in a worker of this
// tab (worker.js, cmd/wasm) or in `tessera serve` behind a websocket. Both run
// app/session with the same messages; only the transport differs. This file contains
// types, comments, and the framing of the websocket.
//
// A message is a JSON object, its header, and optionally a run of bytes, its payload.
//
//   worker      postMessage({header, payload}), payload an ArrayBuffer, transferred
//   websocket   one binary message: u32 little-endian length of the header,
//               the header as UTF-8 JSON, the payload to the end
//
// Every request has an `id`, a positive number chosen by the page. The engine answers
// with any number of events with that id and ends with one `result` or one `error`. It
// runs `open`, `measure` and jobs (decode, encode, roundtrip) one at a time, in order;
// it answers `device`, `plan` and `inspect` meanwhile.
//
//   page to engine
//   device  {id, version}                       result: Device
//   open    {id, source, precision, force?}     result: Model; force opens a file despite the error `flat`
//   measure {id}                                result: Speed, in the open checkpoint's precision
//   plan    {id, options}                       result: Plan
//   inspect {id, source, options?}              result: LatentInfo; it uses the options `independent`, `scale`, `as`, `packed` and `layout`
//   decode  {id, source, preview?, options}     events: JobEvent; result: Done. preview: source of a tiny autoencoder for `preview` events
//   encode  {id, clip, options}                 the same
//   roundtrip {id, clip, options}               the same
//   cancel  {id}                                ends request id with `cancelled`; has no other answer
//   ack     {id, seq}                           the page has processed picture seq of job id
//   bytes   {id, read, error?} + payload        answers `read` and `pixels`
//   close   {}                                  the engine ends
//
//   engine to page
//   result  {id, value}
//   error   {id, code, message, detail}              id 0: the whole engine has ended
//   read    {id, read, source, offset, length}  requests bytes of a source
//   pixels  {id, read, frame}                   requests frame `frame` of the job's clip, as RGBA8
//   queued, loading, warning, plan, preview, tile, frame, progress, latent, quality   see JobEvent
//
// `source` identifies a file: {id, name, size} for one that the page holds, whose bytes
// the engine requests by range with `read`, or {path} for one in the native engine's
// folder. `clip` is {frames, height, width, fps}.
//
// Pictures are RGBA of 8 bits, rows from the top, with straight alpha: colours are not
// multiplied by it. A model of 3 channels ignores alpha and returns opaque frames. The
// browser limits what a page can read of a picture: samples of 16 bits arrive as 8, and
// without an ImageDecoder a canvas rounds the colours by alpha, to black if alpha is 0.
// The command line reads PNG without either loss.
//
// Back-pressure: `preview`, `tile` and `frame` messages carry `seq`, counted from 1 in
// each job. At most `inFlight` of them are unacknowledged: the engine then waits for an
// `ack` before it continues the job.
//
// Numbers that JSON lacks: an infinite psnr is null in the message, and Infinity again
// in a job's events.

/** Version of these messages; the engine refuses `device` with another one. */
export const version = 3;

/** Unacknowledged pictures at once. */
export const inFlight = 4;

/**
 * Codes of errors, to select texts. `message` is the engine's text, whose second line is advice; `detail`, if
 * present, is the evidence.
 *
 * no_webgpu      this browser has no WebGPU, or this machine no Dawn
 * no_adapter     no GPU, or no driver for it
 * out_of_memory  the device ran out of memory, or the plan exceeds the budget: a smaller tile may fit
 * too_large      a buffer exceeds the device's limits: a smaller tile may fit
 * device_lost    the driver gave up; the next job opens the device again
 * flat           the checkpoint's quantisation convolutions are all zero, so every decoded picture would be flat
 * unknown_model  the page's first engine doesn't know the checkpoint's family; in the page, the engine of all families did not load
 * wrong_model    the latent belongs to another model than the checkpoint
 * packed_size    the latent has packed tokens without their size, or the size in `packed` doesn't match
 * program_only   the program reads this latent, but a page's session doesn't
 * bad_input      the checkpoint, latent or clip can't be used
 * bad_option     the tile, overlap or tiling is not possible, or not in combination
 * cancelled      on request
 * disconnected   the worker or the connection is gone
 * failed         anything else
 * @typedef {'no_webgpu'|'no_adapter'|'out_of_memory'|'too_large'|'device_lost'|'flat'|'unknown_model'|'wrong_model'|'packed_size'|'program_only'|'bad_input'|'bad_option'|'cancelled'|'disconnected'|'failed'} Code
 */

/**
 * @typedef {object} Limits
 * @property {number} maxBuffer bytes in one buffer
 * @property {number} maxBinding bytes in one binding
 * @property {number} maxWorkgroupMemory bytes
 * @property {number} maxInvocations in one workgroup
 */

/**
 * An adapter and its device's memory so far.
 * @typedef {object} Device
 * @property {'browser'|'native'} kind
 * @property {string} name "llvmpipe (LLVM 15.0.6, 256 bits)"
 * @property {string} vendor
 * @property {string} architecture
 * @property {string} driver
 * @property {string} backend "vulkan", "d3d12", "metal", "webgpu"
 * @property {string} type "discrete", "integrated", "cpu" or "unknown"
 * @property {boolean} f16 shader-f16; without it halves are stored packed in pairs
 * @property {boolean} subgroups
 * @property {number} subgroupMin 0 when unknown
 * @property {number} subgroupMax
 * @property {boolean} timestamps
 * @property {number} memory bytes, 0 when unknown
 * @property {number} budget bytes a job may use by default
 * @property {Limits} limits
 * @property {number} bytes in buffers now
 * @property {number} peakBytes peak in buffers
 * @property {number} hostBytes memory of the engine itself: of wasm in the browser
 */

/**
 * @typedef {object} Model
 * @property {string} name of the file
 * @property {string} family "seedvr2", "wan2.1" (including Qwen-Image's VAE), "wan2.2", "qwen2.1", "hunyuanvideo", "hunyuanvideo1.5", "hunyuanimage2.1", "ltx2" (LTX-2.3 too), "mochi1", "cogvideox", "cosmos1", "kl" (Stable Diffusion and others), "flux2", "taesd" or "taehv"
 * @property {string} model its name: "Qwen-Image"
 * @property {string} layout of the tensors' names: "original" or "diffusers"
 * @property {number[]} widths channels of the encoder's stages
 * @property {string} lacks "encoder" or "decoder" if the file lacks this network, else ""
 * @property {number} channels of a pixel: 3, or 4 with alpha
 * @property {number} latentChannels
 * @property {boolean} independent frames are separate pictures by default
 * @property {Kind[]} kinds models with these tensors, which differ only in their latents' scale. Empty if there is only this one
 * @property {boolean} assumed the file does not say which of them it is: `model` is the most common
 * @property {Tiling[]} tilings that it supports, the default first
 * @property {number} spatial pixels along a latent cell's side
 * @property {number} temporal frames in a latent frame after the first
 * @property {number} bytes of the file
 * @property {number} tensors
 * @property {number} parameters
 * @property {Record<string, number>} dtypes tensors of each: {F16: 248}
 * @property {Record<string, string>} metadata of the file
 * @property {string} precision how activations are stored: "f32", "f16", "packed" (f16 in pairs)
 */

/** A device's speed with the networks' convolutions. @typedef {{flops: number}} Speed flops: a second */

/** @typedef {'auto'|'f32'|'f16'} Precision */

/**
 * How tiles become a frame: blended with a cosine, equal to one tile by reading a halo around each, or blended like
 * diffusers does for Wan.
 * @typedef {'feather'|'exact'|'diffusers'} Tiling
 */

/**
 * A model of CogVideoX, AutoencoderKL or TAEHV.
 * @typedef {'cogvideox-5b'|'cogvideox-2b'|'sd'|'sdxl'|'playground'|'flux'|'sd3'|'sd-x4'|
 * 'taew2_1'|'taehv'|'taecvx'|'taeos1_3'|'lighttaew2_1'|'taew2_2'|
 * 'lighttaew2_2'|'taehv1_5'|'lighttaehy1_5'|'taeh3'|'taeltx_2'|'taeltx2_3'} Kind
 */

/**
 * The contents of a latent file. clip is the one it was made from, if the file says so, else the one it decodes to.
 * @typedef {object} LatentInfo
 * @property {number[]} shape [C, L, h, w]
 * @property {ClipInfo} clip
 * @property {boolean} independent its frames are separate pictures
 * @property {Record<string, string>} metadata
 */

/**
 * A rectangle of tile `tile` in the result's pixels (decode) or cells (encode).
 * @typedef {object} Rect
 * @property {number} y
 * @property {number} x
 * @property {number} height
 * @property {number} width
 */

/**
 * How a job is cut, and its cost.
 * @typedef {object} Plan
 * @property {'decode'|'encode'} direction
 * @property {number} frames of the result
 * @property {number} height of the result, pixels or latent cells
 * @property {number} width
 * @property {boolean} independent each frame is a separate picture
 * @property {Rect[]} tiles in the order they run
 * @property {string} tile "off" for one tile, or HxW in pixels
 * @property {string} overlap HxW in pixels
 * @property {Tiling|''} tiling of several tiles; else empty
 * @property {string} halo of exact tiles: the most that one reads beyond its edges, HxW in pixels
 * @property {boolean} shrunk the tile is smaller than requested
 * @property {number} slices in time, of each tile
 * @property {number} weights bytes on the device
 * @property {number} activations bytes
 * @property {number} causal bytes of causal memory
 * @property {number} canvas bytes to blend tiles
 * @property {number} transfer bytes to upload and download pictures and noise
 * @property {number} spool bytes to blend tiles, outside of the device
 * @property {number} bytes weights, activations, causal, canvas and transfer together: the peak on the device
 * @property {number} untiled of exact tiles: the peak with one tile; 0 if that exceeds the device's limits
 * @property {number} budget bytes allowed
 * @property {boolean} fits false: it can't run, see problem
 * @property {string} problem why it doesn't fit, in the engine's words, else empty
 * @property {Code|''} code of the problem
 * @property {string} suggestion the largest tile that would fit, HxW; empty if none fits, or if the plan fits
 * @property {number} flops of the whole job
 * @property {number} macs multiply-accumulates of the whole job
 * @property {number} host bytes of causal memory on the host, if the device has no room for it; never in the browser
 * @property {number} moved bytes of it moved to the device and back in the whole job
 */

/**
 * @typedef {object} Options
 * @property {string} [tile] "off" (one tile), "auto" (the largest that fits), N or HxW in pixels; default 512, or less if that doesn't fit
 * @property {string} [overlap] N or HxW in pixels; default 64. Exact tiles have a halo instead
 * @property {Tiling} [tiling] default exact if the model supports it and it fits, else feather. With diffusers the default tile is 256
 * @property {Kind} [as] one of Model.kinds; default Model.model
 * @property {boolean} [independent] treat every frame as a separate picture; default: the latent file's value, else
 *   Model.independent
 * @property {boolean} [shrink] use a smaller tile if the requested one doesn't fit; default true without tile, else false
 * @property {number} [memory] budget in bytes; default 0, which is Device.budget
 * @property {number} [chunk] latent frames in a slice of time, at most 1024; default 1
 * @property {boolean} [preview] send `tile` events; default true
 * @property {'pipeline'|'none'} [scale] scale of the latent's numbers; default: the file's value, else pipeline, except
 *   none for ComfyUI's .latent of Wan and Qwen-Image, in which encode also writes them so
 * @property {string} [packed] width x height in pixels of a latent of packed tokens, [B, N, 4C]
 * @property {string} [layout] order of a latent's dimensions such as FCHW, if its shape is ambiguous
 * @property {boolean} [sample] encode: draw from the distribution; default its mean
 * @property {number} [seed] of sample
 * @property {'.safetensors'|'.latent'|'.npy'} [format] of the encoded latent; default .safetensors
 */

/**
 * Parameters of a plan: frames and size of the clip (encode) or of the latent (decode).
 * @typedef {Options & {direction: 'decode'|'encode', frames: number, height: number, width: number, least?: boolean}} PlanOptions least:
 *   plan for the smallest budget that works
 */

/**
 * @typedef {object} ClipInfo
 * @property {number} frames
 * @property {number} height
 * @property {number} width
 * @property {number} [fps] stored in the latent; 0 or absent if unknown
 */

/**
 * A clip in the page. The engine requests frames in order, once for each tile. The result of readFrame, [H, W, 4], is
 * taken over: its buffer is transferred.
 * @typedef {ClipInfo & {readFrame(t: number): Promise<Uint8ClampedArray<ArrayBuffer>|Uint8Array<ArrayBuffer>>}} Clip
 */

/** @typedef {'encode'|'decode'} Stage */

/** Native engine: this many jobs of other pages come first. @typedef {{type: 'queued', position: number}} QueuedEvent */

/** Weights are uploaded to the device, in bytes, before the first job in each direction. @typedef {{type: 'loading', loaded: number, total: number}} LoadingEvent */
/** Shaders are compiled, before a stage's first tile. @typedef {{type: 'compiling', done: number, total: number}} CompilingEvent */

/** A warning, in the engine's words. @typedef {{type: 'warning', message: string}} WarningEvent */

/**
 * The first event of each stage. Frames, height and width of a decode's plan are those of the whole clip; `frame`
 * events may be cropped, see `output`.
 * @typedef {{type: 'plan', stage: Stage, plan: Plan, output: ClipInfo}} PlanEvent
 */

/**
 * Frame `frame` of only tile `tile`, before it is blended with its neighbours, at y, x of the frame. Sent if a decode
 * has several tiles.
 * @typedef {{type: 'tile', seq: number, tile: number, frame: number, y: number, x: number,
 *   height: number, width: number, rgba: Uint8ClampedArray<ArrayBuffer>}} TileEvent
 */

/**
 * A finished frame.
 * @typedef {{type: 'frame', seq: number, index: number, height: number, width: number,
 *   rgba: Uint8ClampedArray<ArrayBuffer>}} FrameEvent
 */

/**
 * A frame of a decode by a tiny autoencoder. All of them come before the first tile.
 * @typedef {{type: 'preview', seq: number, index: number, height: number, width: number,
 *   rgba: Uint8ClampedArray<ArrayBuffer>}} PreviewEvent
 */

/**
 * Sent after each submission, which takes a tenth of a second or less, and after each slice. `middle`: exact tiles
 * run a middle part of the network on the whole frame. `frame` counts frames of the stage's input. `done` is the
 * share of the stage's work, by its FLOPs.
 * @typedef {{type: 'progress', stage: Stage, tile: number, tiles: number, middle: boolean,
 *   slice: number, slices: number, frame: number, frames: number, done: number, seconds: number}} ProgressEvent
 */

/**
 * The encoded latent, as a file to save. Shape is [C, L, h, w].
 * @typedef {{type: 'latent', name: string, shape: number[], file: File}} LatentEvent
 */

/**
 * Round trip: how close a decoded frame is to the original; index null at the end for the whole clip. An identical
 * frame has psnr Infinity.
 * @typedef {{type: 'quality', index: number|null, psnr: number, ssim: number}} QualityEvent
 */

/**
 * @typedef {object} Operation
 * @property {string} name kind of operation: "conv3d", "group_norm", "attention"
 * @property {number} seconds measured time of submissions, divided among their operations as predicted
 * @property {boolean} estimated whether seconds are such an estimate; a measurement of the operation if not
 * @property {number} dispatches
 */

/**
 * @typedef {object} Done
 * @property {number} seconds from the job's start on the device
 * @property {number} frames
 * @property {Operation[]} operations longest first
 * @property {number} bytes on the device now
 * @property {number} peakBytes on the device at most, in this job
 * @property {number} hostBytes
 * @property {number} submissions
 * @property {number} longest seconds of the longest submission
 * @property {number} flops per second, after shaders are compiled; 0 if the job was too short
 */

/** @typedef {{type: 'done'} & Done} DoneEvent always the last */

/** @typedef {QueuedEvent|LoadingEvent|CompilingEvent|WarningEvent|PlanEvent|PreviewEvent|TileEvent|FrameEvent|ProgressEvent|LatentEvent|QualityEvent|DoneEvent} JobEvent */

/**
 * A header; its other fields depend on its type, as listed above.
 * @typedef {{type: string, id?: number, [key: string]: any}} Header
 */

/**
 * A websocket message.
 * @param {Header} header
 * @param {ArrayBuffer|Uint8Array<ArrayBuffer>} [payload]
 */
export function frame(header, payload) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.length, true);
  return new Blob(payload ? [length, text, payload] : [length, text]);
}

/**
 * The inverse of frame.
 * @param {ArrayBuffer} message
 * @returns {{header: Header, payload: ArrayBuffer}}
 */
export function unframe(message) {
  const n = new DataView(message).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(message, 4, n));
  return { header: JSON.parse(text), payload: message.slice(4 + n) };
}
