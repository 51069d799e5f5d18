import { EventEmitter } from "node:events";
import { createRequire, isBuiltin } from "node:module";
import { createContext, Script } from "node:vm";
import { threadOf } from "./clock.js";
import { giveHost, hostOf } from "./host.js";
import { theClock } from "./machine.js";
import * as timers from "./real-timers.js";
import * as spoolFiles from "./spool-files.js";

/**
 * In place of `node:worker_threads`, for the disk outbox: its thread's own script runs in this
 * thread, in virtual time. While it waits for its disk it does nothing else, and what it has said
 * arrives when that is over.
 */
export class MessagePort extends EventEmitter {
  other: MessagePort | undefined;
  readonly received: unknown[] = [];
  /** Receives the messages that are sent to this end. */
  take = (message: unknown): void => void this.received.push(message);

  postMessage(message: unknown): void {
    this.other?.take(message);
  }
  ref(): void {}
  unref(): void {}
  close(): void {
    this.other = undefined;
  }
}

export class MessageChannel {
  readonly port1 = new MessagePort();
  readonly port2 = new MessagePort();
  constructor() {
    this.port1.other = this.port2;
    this.port2.other = this.port1;
  }
}

export function receiveMessageOnPort({ received }: MessagePort): { message: unknown } | undefined {
  return received.length > 0 ? { message: received.shift() } : undefined;
}

interface Data {
  readonly port: MessagePort;
}

const scripts = new Map<string, Script>();
const PARAMETERS = "require, module, exports, performance, Atomics, Math, process, Error, Date, Buffer";
// The threads' promises have a queue of their own: what a thread does for a message is done before
// anything else, as the main thread may wait for it.
const threads = createContext({}, { microtaskMode: "afterEvaluate" });
const nothing = new Script("0");
const ownRequire = createRequire(import.meta.url);
// Waiting for a lock in steps of milliseconds would take as many turns.
const SHORTEST_SLEEP_MS = 500;

export class Worker extends EventEmitter {
  readonly #clock = theClock();
  readonly #process = this.#clock.current;
  readonly #host = hostOf(this.#process);
  readonly #thread = threadOf(
    this.#process,
    `${this.#process.name}, thread ${++this.#host.threadsStarted}`,
    () => this.#busyUntil > this.#clock.monotonic(),
  );
  readonly #end = (error: Error) => this.#terminate(() => this.emit("error", error));
  #busyUntil = 0;

  constructor(source: string, { workerData }: { workerData: Data }) {
    super();
    giveHost(this.#thread, this.#host);
    const inside = workerData.port;
    const outside = inside.other as MessagePort;
    outside.take = (message) => {
      outside.received.push(message);
      // Unless the main thread has waited for it.
      this.#later(() => {
        const at = outside.received.indexOf(message);
        if (at >= 0) outside.emit("message", ...outside.received.splice(at, 1));
      });
    };
    const { maxBytes } = this.#host;
    this.#inThread(() => this.#run(source, { ...workerData, ...(maxBytes !== undefined && { maxBytes }) }));
    inside.take = (message) =>
      this.#clock.soon(this.#thread, () => this.#inThread(() => void inside.emit("message", message)));
    const close = inside.close.bind(inside);
    inside.close = () => {
      close();
      this.#later(() => this.#terminate(() => this.emit("exit", 0)));
    };
    this.#host.threads.add(this.#end);
  }

  ref(): void {}
  unref(): void {}

  #terminate(tell: () => void): void {
    if (!this.#thread.isAlive) return;
    this.#thread.isAlive = false;
    this.#host.threads.delete(this.#end);
    this.#clock.soon(this.#process, tell);
  }

  /** What it tells the main thread arrives there later, in order. */
  #later(task: () => void): void {
    const inMs = Math.max(0, this.#busyUntil - this.#clock.monotonic());
    this.#clock.after(this.#process, inMs, () => this.#thread.isAlive && task());
  }

  #wait(ms: number): void {
    const { monotonic, outside } = this.#clock;
    this.#busyUntil = Math.max(this.#busyUntil, monotonic()) + ms;
    // Lets it run again.
    this.#clock.after(outside, this.#busyUntil - monotonic(), () => this.#clock.soon(this.#thread, () => {}));
  }

  #inThread(task: () => void): void {
    const { current } = this.#clock;
    this.#clock.current = this.#thread;
    try {
      task();
      nothing.runInContext(threads);
    } finally {
      this.#clock.current = current;
    }
  }

  #run(source: string, workerData: Data): void {
    const script = scripts.get(source) ?? new Script(`(function (${PARAMETERS}) { ${source}\n})`);
    scripts.set(source, script);
    const module = { exports: {} };
    const atomics = {
      add: Atomics.add,
      notify: Atomics.notify,
      wait: (_array: unknown, _index: number, _value: number, ms: number) => {
        this.#wait(Math.max(ms, SHORTEST_SLEEP_MS));
      },
    };
    const { random } = this.#host;
    const require = (name: string) => this.#require(name, workerData);
    script.runInContext(threads)(
      require,
      module,
      module.exports,
      this.#performance,
      atomics,
      Object.assign(Object.create(Math), { random }),
      Object.assign(Object.create(process), { getBuiltinModule: require }),
      ...[Error, Date, Buffer],
    );
  }

  readonly #performance = { timeOrigin: 0, now: () => Math.max(this.#clock.monotonic(), this.#busyUntil) };

  /** What they run is done, with what follows from it, before anything else. */
  readonly #timers = {
    ...timers,
    setTimeout: (task: () => void, ms: number) => timers.setTimeout(() => this.#inThread(task), ms),
    setInterval: (task: () => void, ms: number) => timers.setInterval(() => this.#inThread(task), ms),
    setImmediate: (task: () => void) => timers.setImmediate(() => this.#inThread(task)),
  };

  #require(name: string, workerData: Data): unknown {
    const host = this.#host;
    const { disk } = host;
    switch (name) {
      case "node:worker_threads":
        return { workerData };
      case "node:timers":
        return this.#timers;
      case "node:perf_hooks":
        return { performance: this.#performance };
      case "simulated:spool-files":
        return spoolFiles;
      case "node:module": {
        const wait = (ms: number) => this.#wait(ms);
        // Another for each connection, which is told apart by it.
        const isAlive = () => () => this.#thread.isAlive;
        const Database = function open(path: string) {
          return disk.open(path, host, wait, isAlive());
        };
        return { createRequire: () => () => ({ Database }), isBuiltin };
      }
      default:
        return ownRequire(name);
    }
  }
}
