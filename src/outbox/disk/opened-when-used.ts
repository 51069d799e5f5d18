import type { Circuits } from "../circuits.js";
import type { Outbox } from "../outbox.js";

/**
 * An outbox that is opened when a tracker takes it, or at the first other call: a build that loads
 * the host's module, with a tracker that is not `enabled`, opens nothing.
 */
export function openedWhenUsed(name: string, open: () => Outbox): Outbox {
  let opened: Outbox | undefined;

  function outbox(): Outbox {
    opened ??= open();
    return opened;
  }

  const circuits = () => outbox().circuits as Circuits;

  return {
    name,
    get durable() {
      return outbox().durable;
    },
    get storesAtOnce() {
      return outbox().storesAtOnce ?? false;
    },
    get idle() {
      return outbox().idle ?? false;
    },
    get deadLetters() {
      return outbox().deadLetters;
    },
    add: (event, options) => outbox().add(event, options),
    start: (deliver, observer) => outbox().start(deliver, observer),
    wake: () => opened?.wake(),
    counts: () => outbox().counts(),
    circuits: {
      read: (destination) => circuits().read(destination),
      replace: (change) => circuits().replace(change),
    },
    reportedAt: async (id) => outbox().reportedAt?.(id),
    cancel: async (id) => outbox().cancel?.(id) ?? "unknown",
    personalData: async (person) => outbox().personalData?.(person) ?? [],
    erase: async (person) => outbox().erase?.(person) ?? 0,
    close: async () => opened?.close(),
  };
}
