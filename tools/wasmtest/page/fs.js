// globalThis.fs, process and path for Go's syscall package, which calls them like
// Node's: the module's files, read-only, from the runner, and a file system in memory
// with /tmp for tests' output. All calls answer at once, by synchronous requests, which
// only a worker may make.

/** @typedef {{ino: number, mtime: number, names: Map<string, Entry>}} Dir */
/** @typedef {{ino: number, mtime: number, size: number, chunks: Uint8Array[]}} File */
/** @typedef {Dir | File} Entry */

// As on Linux.
const constants = {
  O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_TRUNC: 0o1000, O_APPEND: 0o2000, O_DIRECTORY: 0o200000,
};

const chunk = 4 << 20; // of a file in memory

class FSError extends Error {
  /** @param {string} code */
  constructor(code, path = "") {
    super(`${code} ${path}`);
    this.code = code;
  }
}

/** Sends bytes to the runner and waits for the answer. */
export function post(url, body = null) {
  const request = new XMLHttpRequest();
  request.open("POST", url, false);
  request.send(body);
}

/** Requests a file from the runner: "stat" and "list" return JSON, "read" bytes. */
function host(op, path) {
  const request = new XMLHttpRequest();
  request.open("GET", `file?op=${op}&path=${encodeURIComponent(path)}`, false);
  request.responseType = op === "read" ? "arraybuffer" : "json";
  request.send();
  if (request.status !== 200) {
    throw new FSError("ENOENT", path);
  }
  return request.response;
}

let lastIno = 0;
/** @returns {Dir} */
const newDir = () => ({ ino: ++lastIno, mtime: Date.now(), names: new Map() });
/** @returns {File} */
const newFile = () => ({ ino: ++lastIno, mtime: Date.now(), size: 0, chunks: [] });

const root = newDir();
root.names.set("tmp", newDir());

let cwd = "/";
/** @type {Map<string, number>} */
const hostInos = new Map();

function resolve(...paths) {
  let out = [];
  for (const path of [cwd, ...paths]) {
    if (path.startsWith("/")) {
      out = [];
    }
    for (const name of path.split("/")) {
      if (name === "..") {
        out.pop();
      } else if (name !== "" && name !== ".") {
        out.push(name);
      }
    }
  }
  return "/" + out.join("/");
}

/** Returns the entry in memory, or undefined. @returns {Entry | undefined} */
function find(path) {
  let at = root;
  for (const name of path.split("/").filter(Boolean)) {
    at = at?.names?.get(name);
  }
  return at;
}

/** Returns the directory in memory that contains path, and the name in it. */
function parent(path) {
  const cut = path.lastIndexOf("/");
  const dir = find(path.slice(0, cut));
  if (!dir) {
    throw new FSError(hostDir(path.slice(0, cut)) ? "EROFS" : "ENOENT", path);
  }
  if (!dir.names) {
    throw new FSError("ENOTDIR", path);
  }
  return { dir, name: path.slice(cut + 1) };
}

function hostDir(path) {
  try {
    return host("stat", path).dir;
  } catch {
    return false;
  }
}

/** Returns the entry in memory; the runner's entries can't be changed. */
function own(path) {
  const entry = find(path);
  if (!entry) {
    host("stat", path);
    throw new FSError("EROFS", path);
  }
  return entry;
}

function stats(ino, isDir, size, mtime) {
  return {
    dev: 1, ino, mode: isDir ? 0o40755 : 0o100644, nlink: 1, uid: 0, gid: 0, rdev: 0, size,
    blksize: 4096, blocks: Math.ceil(size / 512), atimeMs: mtime, mtimeMs: mtime, ctimeMs: mtime,
    isDirectory: () => isDir,
  };
}

const entryStats = (entry) => stats(entry.ino, !!entry.names, entry.size ?? 0, entry.mtime);

function statPath(path) {
  const entry = find(path);
  if (entry) {
    return entryStats(entry);
  }
  const s = host("stat", path);
  if (!hostInos.has(path)) {
    hostInos.set(path, ++lastIno);
  }
  return stats(hostInos.get(path), s.dir, s.size, s.mtime);
}

/** Copies between bytes and a file's range, one chunk at a time. */
function eachChunk(file, at, length, copy) {
  for (let done = 0; done < length;) {
    const from = (at + done) % chunk;
    const n = Math.min(chunk - from, length - done);
    copy(Math.floor((at + done) / chunk), from, done, n);
    done += n;
  }
}

function readFile(file, to, at) {
  const n = Math.max(0, Math.min(to.length, file.size - at));
  eachChunk(file, at, n, (i, from, done, count) => {
    const part = file.chunks[i];
    part ? to.set(part.subarray(from, from + count), done) : to.fill(0, done, done + count);
  });
  return n;
}

function writeFile(file, bytes, at) {
  eachChunk(file, at, bytes.length, (i, from, done, count) => {
    file.chunks[i] ??= new Uint8Array(chunk);
    file.chunks[i].set(bytes.subarray(done, done + count), from);
  });
  file.size = Math.max(file.size, at + bytes.length);
  file.mtime = Date.now();
  return bytes.length;
}

function truncateFile(file, size) {
  if (size < file.size) {
    file.chunks.length = Math.ceil(size / chunk);
    file.chunks.at(-1)?.fill(0, size % chunk || chunk);
  }
  file.size = size;
}

/** Returns a file of the runner as a file in memory. */
function fetched(path) {
  const bytes = new Uint8Array(host("read", path));
  const file = newFile();
  writeFile(file, bytes, 0);
  return file;
}

/** Files by descriptor; host has the stats of a runner's file. */
/** @type {Map<number, {entry: Entry, host?: object, path: string, at: number, flags: number}>} */
const open = new Map();
let lastFD = 2;

function opened(fd) {
  const f = open.get(fd);
  if (!f) {
    throw new FSError("EBADF");
  }
  return f;
}

function openPath(path, flags) {
  let entry = find(path);
  let hostStats;
  const writing = flags & (constants.O_WRONLY | constants.O_RDWR);
  if (entry && flags & constants.O_CREAT && flags & constants.O_EXCL) {
    throw new FSError("EEXIST", path);
  }
  if (!entry && flags & constants.O_CREAT) {
    const { dir, name } = parent(path);
    entry = newFile();
    dir.names.set(name, entry);
  } else if (!entry) {
    hostStats = statPath(path);
    if (writing) {
      throw new FSError("EROFS", path);
    }
    entry = hostStats.isDirectory() ? newDir() : fetched(path);
  }
  if (writing && entry.names) {
    throw new FSError("EISDIR", path);
  }
  if (flags & constants.O_DIRECTORY && !entry.names) {
    throw new FSError("ENOTDIR", path);
  }
  if (flags & constants.O_TRUNC) {
    truncateFile(entry, 0);
  }
  open.set(++lastFD, { entry, host: hostStats, path, at: 0, flags });
  return lastFD;
}

function list(path) {
  const entry = find(path);
  if (entry && !entry.names) {
    throw new FSError("ENOTDIR", path);
  }
  return entry ? [...entry.names.keys()] : host("list", path);
}

function remove(path, wantDir) {
  const entry = own(path);
  if (!!entry.names !== wantDir) {
    throw new FSError(wantDir ? "ENOTDIR" : "EISDIR", path);
  }
  if (entry.names?.size) {
    throw new FSError("ENOTEMPTY", path);
  }
  const { dir, name } = parent(path);
  dir.names.delete(name);
}

/** The functions that Go calls, without the callback; paths are resolved already. */
const calls = {
  open: (path, flags) => openPath(path, flags),
  close: (fd) => void (opened(fd), open.delete(fd)),
  stat: statPath,
  lstat: statPath,
  fstat: (fd) => {
    if (fd <= 2) {
      return stats(0, false, 0, 0);
    }
    const f = opened(fd);
    return f.host ?? entryStats(f.entry);
  },
  read(fd, buffer, offset, length, position) {
    const f = opened(fd);
    if (f.entry.names) {
      throw new FSError("EISDIR", f.path);
    }
    const n = readFile(f.entry, buffer.subarray(offset, offset + length), position ?? f.at);
    f.at += position === null ? n : 0;
    return n;
  },
  write(fd, buffer, offset, length, position) {
    const bytes = buffer.subarray(offset, offset + length);
    if (fd <= 2) {
      return fs.writeSync(fd, bytes);
    }
    const f = opened(fd);
    const at = f.flags & constants.O_APPEND ? f.entry.size : position ?? f.at;
    const n = writeFile(f.entry, bytes, at);
    f.at = position === null ? at + n : f.at;
    return n;
  },
  truncate: (path, size) => truncateFile(own(path), size),
  ftruncate: (fd, size) => truncateFile(opened(fd).entry, size),
  readdir: list,
  mkdir(path) {
    if (find(path) || hostDir(path)) {
      throw new FSError("EEXIST", path);
    }
    const { dir, name } = parent(path);
    dir.names.set(name, newDir());
  },
  unlink: (path) => remove(path, false),
  rmdir: (path) => remove(path, true),
  rename(from, to) {
    const entry = own(from);
    const source = parent(from);
    const target = parent(to);
    source.dir.names.delete(source.name);
    target.dir.names.set(target.name, entry);
  },
  utimes: (path, _, mtime) => void (own(path).mtime = mtime * 1000),
  chmod: (path) => void own(path),
  chown: (path) => void own(path),
  lchown: (path) => void own(path),
  fchmod: () => {},
  fchown: () => {},
  fsync: () => {},
  readlink: (path) => {
    statPath(path);
    throw new FSError("EINVAL", path);
  },
  link: () => {
    throw new FSError("ENOSYS");
  },
  symlink: () => {
    throw new FSError("ENOSYS");
  },
};

const fs = {
  constants,
  writeSync(fd, bytes) {
    post(`output?fd=${fd}`, bytes.slice());
    return bytes.length;
  },
};

const takesTwoPaths = new Set(["rename", "link", "symlink"]);
for (const [name, call] of Object.entries(calls)) {
  fs[name] = (...args) => {
    const callback = args.pop();
    let result;
    try {
      if (typeof args[0] === "string") {
        args[0] = resolve(args[0]);
      }
      if (takesTwoPaths.has(name)) {
        args[1] = resolve(args[1]);
      }
      result = call(...args);
    } catch (err) {
      callback(err instanceof FSError ? err : Object.assign(err, { code: "EIO" }));
      return;
    }
    callback(null, result);
  };
}

/** Installs fs, process and path for Go's syscall package. */
export function install({ dir }) {
  cwd = dir;
  Object.assign(globalThis, {
    fs,
    path: { resolve },
    process: {
      pid: 1, ppid: 0, umask: () => 0o22,
      getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [],
      cwd: () => cwd,
      chdir(path) {
        if (!statPath(resolve(path)).isDirectory()) {
          throw new FSError("ENOTDIR", path);
        }
        cwd = resolve(path);
      },
    },
  });
}
