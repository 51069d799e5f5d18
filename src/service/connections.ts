import type { Dispatcher } from "undici";
import { errorFrom } from "../shared/errors.js";
import { timersAreFaked } from "../shared/real-timers.js";
import { type DispatcherOptions, dispatcherTo } from "./dispatcher.js";
import { isInJest, loadUndici, type Undici } from "./undici.js";

/** Connections to the service. The first use loads undici. */
export interface Connections {
  /** Loads undici now, if events will be sent. */
  prepare(): void;
  /** Never throws: the handler gets the error. */
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  close(): Promise<void>;
}

/** @throws OptionsError if the environment's proxy has no usable address. */
export function createConnections(options: DispatcherOptions): Connections {
  const makeDispatcher = dispatcherTo(options);
  let opening: Promise<void> | undefined;
  let kept: Dispatcher | undefined;
  // Undici waits for a timer before it reuses a connection, so with fake timers each call gets a
  // new one.
  let fresh: Dispatcher | undefined;
  let undici: Undici | undefined;
  let isClosed = false;

  function open(): Promise<void> {
    opening ??= loadUndici().then((loaded) => {
      undici = loaded;
      kept = makeDispatcher(loaded);
      if (isClosed) void kept.destroy();
    });
    return opening;
  }

  function dispatchNow(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const isFaked = timersAreFaked();
    try {
      if (isFaked && undici) fresh ??= makeDispatcher(undici);
      const dispatcher = isFaked ? fresh : kept;
      dispatcher?.dispatch({ ...request, reset: isFaked }, handler);
    } catch (error) {
      handler.onResponseError?.(undefined as never, errorFrom(error));
    }
  }

  function prepare(): void {
    // If undici cannot be loaded, each request fails with the reason.
    open().catch(() => {});
  }

  if (isInJest()) prepare();

  return {
    prepare,
    dispatch(request, handler) {
      if (kept) dispatchNow(request, handler);
      else
        open().then(
          () => dispatchNow(request, handler),
          (error) => handler.onResponseError?.(undefined as never, errorFrom(error)),
        );
    },
    async close() {
      isClosed = true;
      const destroyed = Promise.all([kept?.destroy(), fresh?.destroy()]);
      // Undici resolves this by a microtask, and Jest fakes those as well.
      if (!timersAreFaked()) await destroyed;
    },
  };
}
