import { once } from "node:events";
import type { Profiler } from "node:inspector";
import { Session } from "node:inspector/promises";

/** Where a thread's time goes. */
export const PARTS = ["flush", "SQLite", "JavaScript", "messages", "Node and system", "garbage"] as const;
export type Part = (typeof PARTS)[number];
export type Parts = Readonly<Record<Part, number>>;

const SCRIPT = "[worker eval]";

/**
 * Profiles the one thread that this process has beside its main thread, by V8's sampling profiler.
 */
export async function profileThread() {
  const session = new Session();
  session.connect();
  const attached = once(session, "NodeWorker.attachedToWorker");
  await session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  const [{ params: thread }] = await attached;

  /** Asks the thread's own inspector. */
  async function ask(method: string): Promise<{ profile: Profiler.Profile }> {
    const answered = once(session, "NodeWorker.receivedMessageFromWorker");
    const message = JSON.stringify({ id: 1, method });
    await session.post("NodeWorker.sendMessageToWorker", { sessionId: thread.sessionId, message });
    const [{ params: answer }] = await answered;
    return JSON.parse(answer.message).result;
  }

  await ask("Profiler.enable");
  await ask("Profiler.start");
  return {
    /**
     * Microseconds of the thread's time in each part, for each of so many events, since the profile
     * began. Waiting for work is in none.
     */
    async end(events: number): Promise<Parts> {
      const { profile } = await ask("Profiler.stop");
      session.disconnect();
      return partsOf(profile, events);
    },
  };
}

function partsOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile, events: number): Parts {
  const callers = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node])));
  const parts = new Map(nodes.map((node) => [node.id, partOf(node, callers.get(node.id))]));
  const sums = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<Part, number>;
  for (const [nth, id] of samples.entries()) {
    const part = parts.get(id);
    if (part) sums[part] += (timeDeltas[nth] ?? 0) / events;
  }
  return sums;
}

function partOf({ callFrame }: Profiler.ProfileNode, caller?: Profiler.ProfileNode): Part | undefined {
  const { functionName, url, lineNumber } = callFrame;
  if (functionName === "(idle)") return undefined;
  if (functionName === "(garbage collector)") return "garbage";
  const isNative = url === "" && lineNumber < 0;
  if (functionName === "postMessage" || /^node:internal\/(worker|per_context\/messageport)/.test(url))
    return "messages";
  // All other native functions that the thread's script calls are SQLite's. Some versions give them
  // one name: the caller tells them apart.
  if (isNative && caller?.callFrame.url === SCRIPT)
    return caller.callFrame.functionName === "commit" ? "flush" : "SQLite";
  return url === SCRIPT ? "JavaScript" : "Node and system";
}
