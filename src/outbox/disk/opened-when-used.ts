import type { Outbox } from "../outbox.js";

const NONE = { heldMs: [], underWay: [] };

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
    bind: (clientId) => outbox().bind(clientId),
    add: (event, options) => outbox().add(event, options),
    start: (deliver, observer) => outbox().start(deliver, observer),
    wake: () => opened?.wake(),
    counts: () => outbox().counts(),
    look: () => outbox().look(),
    unanswered: async (endpoint) => (await outbox().unanswered?.(endpoint)) ?? NONE,
    cancel: async (id) => outbox().cancel(id),
    personalData: async (person) => outbox().personalData(person),
    erase: async (person) => outbox().erase(person),
    close: async () => opened?.close(),
  };
}
