import { EventEmitter } from "node:events";
import { createRequire, isBuiltin } from "node:module";
import { Script } from "node:vm";
import { hostOf } from "./host.js";
import { theClock } from "./machine.js";
import { clearInterval, setInterval } from "./real-timers.js";

/**
 * In place of `node:worker_threads`, for the disk outbox: its thread's own script runs in this thread, in virtual time. A
 * thread does one thing at a time, and a message to it and its answer take as long as its process's disk takes.
 */
export class MessagePort extends EventEmitter {
  other: MessagePort | undefined;
  readonly received: unknown[] = [];
  /** Takes what is sent to this end. */
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
const PARAMETERS = "require, module, exports, performance, Atomics, setInterval, clearInterval, Math";
const ownRequire = createRequire(import.meta.url);
const SLOWEST_MS = 5_000;
const STUCK_MS = 30_000;
// Waiting for a lock in steps of milliseconds would take as many turns.
const SHORTEST_SLEEP_MS = 500;

export class Worker extends EventEmitter {
  readonly #clock = theClock();
  readonly #owner = this.#clock.current;
  readonly #host = hostOf(this.#owner);
  readonly #inbox: (() => void)[] = [];
  readonly #end = (error: Error) => this.#terminate(() => this.emit("error", error));
  #isBusy = false;
  #isDue = false;
  #isRunning = true;
  #hasStarted = false;
  #sleptMs = 0;

  constructor(source: string, { workerData }: { workerData: Data }) {
    super();
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
    this.#run(source, { ...workerData, ...(maxBytes !== undefined && { maxBytes }) });
    inside.take = (message) => {
      const { requests } = Object(message) as { requests?: readonly unknown[] };
      // The main thread waits for its first answer, to a batch of nothing, and does nothing else meanwhile.
      if (!this.#hasStarted && requests?.length === 0) inside.emit("message", message);
      else this.#enqueue(() => inside.emit("message", message));
      this.#hasStarted = true;
    };
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
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#host.threads.delete(this.#end);
    tell();
  }

  #enqueue(task: () => void): void {
    this.#inbox.push(task);
    if (!this.#isBusy) this.#work();
  }

  /** However long a thread is busy, an interval of its comes due once. */
  #tick(task: () => void): void {
    if (!this.#isRunning || this.#isDue) return;
    this.#isDue = true;
    this.#enqueue(() => {
      this.#isDue = false;
      task();
    });
  }

  #work(): void {
    const task = this.#inbox.shift();
    this.#isBusy = task !== undefined;
    if (!task) return;
    this.#clock.after(this.#owner, this.#latencyMs(), () => {
      if (!this.#isRunning) return;
      this.#sleptMs = 0;
      task();
      this.#clock.after(this.#owner, this.#sleptMs, () => this.#work());
    });
  }

  /** What it tells the main thread arrives there later, in order. */
  #later(task: () => void): void {
    this.#clock.after(this.#owner, this.#sleptMs, () => this.#isRunning && task());
  }

  #latencyMs(): number {
    const { diskFault } = this.#host;
    if (diskFault === "slow") return this.#host.random() * SLOWEST_MS;
    return diskFault === "stuck" ? STUCK_MS : this.#host.random() * 2;
  }

  #run(source: string, workerData: Data): void {
    const script = scripts.get(source) ?? new Script(`(function (${PARAMETERS}) { ${source}\n})`);
    scripts.set(source, script);
    const module = { exports: {} };
    const atomics = {
      add: Atomics.add,
      notify: Atomics.notify,
      wait: (_array: unknown, _index: number, _value: number, ms: number) => {
        this.#sleptMs += Math.max(ms, SHORTEST_SLEEP_MS);
      },
    };
    const { random } = this.#host;
    script.runInThisContext()(
      (name: string) => this.#require(name, workerData),
      module,
      module.exports,
      { now: () => this.#clock.monotonic() + this.#sleptMs },
      atomics,
      (task: () => void, ms: number) => setInterval(() => this.#tick(task), ms),
      clearInterval,
      Object.assign(Object.create(Math), { random }),
    );
  }

  #require(name: string, workerData: Data): unknown {
    const { disk, random } = this.#host;
    const host = this.#host;
    switch (name) {
      case "node:worker_threads":
        return { workerData };
      case "node:crypto":
        return { ...ownRequire(name), randomUUID: () => Math.floor(random() * 2 ** 32).toString(16) };
      case "node:module": {
        const Database = function open(path: string) {
          return disk.open(path, host);
        };
        return { createRequire: () => () => ({ Database }), isBuiltin };
      }
      default:
        return ownRequire(name);
    }
  }
}
