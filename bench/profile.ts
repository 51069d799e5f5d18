import { Session } from "node:inspector/promises";

/** Where a thread's time goes. */
export const PARTS = [
  "flush",
  "SQLite",
  "undici",
  "JavaScript",
  "messages",
  "Node and system",
  "garbage",
] as const;
export type Part = (typeof PARTS)[number];
export type Parts = Readonly<Record<Part, number>>;

const SCRIPT = "[worker eval]";

interface Node {
  readonly id: number;
  readonly children?: readonly number[];
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface CpuProfile {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/**
 * Profiles the one thread that this process has beside its main thread, by V8's sampling profiler.
 */
export async function profileThread() {
  const session = new Session();
  session.connect();
  const attached = new Promise<string>((resolve) => {
    session.on("NodeWorker.attachedToWorker", ({ params }) => resolve(params.sessionId));
  });
  const answers = new Map<number, (result: unknown) => void>();
  session.on("NodeWorker.receivedMessageFromWorker", ({ params }) => {
    const { id, result } = JSON.parse(params.message) as { id?: number; result?: unknown };
    if (id !== undefined) answers.get(id)?.(result);
  });
  await session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  const sessionId = await attached;
  let asked = 0;

  function ask(method: string): Promise<unknown> {
    const id = ++asked;
    return new Promise((resolve) => {
      answers.set(id, resolve);
      void session.post("NodeWorker.sendMessageToWorker", {
        sessionId,
        message: JSON.stringify({ id, method }),
      });
    });
  }

  await ask("Profiler.enable");
  await ask("Profiler.start");
  return {
    /**
     * Microseconds of the thread's time in each part since the profile began. Waiting for work is
     * in none.
     */
    async end(): Promise<Parts> {
      const { profile } = (await ask("Profiler.stop")) as { profile: CpuProfile };
      session.disconnect();
      return partsOf(profile);
    },
  };
}

function partsOf({ nodes, samples, timeDeltas }: CpuProfile): Parts {
  const callers = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node])));
  const parts = new Map(nodes.map((node) => [node.id, partOf(node, callers.get(node.id))]));
  const sums = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<Part, number>;
  for (const [nth, id] of samples.entries()) {
    const part = parts.get(id);
    if (part) sums[part] += timeDeltas[nth] ?? 0;
  }
  return sums;
}

function partOf({ callFrame: { functionName, url, lineNumber } }: Node, caller?: Node): Part | undefined {
  if (functionName === "(idle)") return undefined;
  if (functionName === "(garbage collector)") return "garbage";
  const isNative = url === "" && lineNumber < 0;
  if (functionName === "postMessage" || /^node:internal\/(worker|per_context\/messageport)/.test(url))
    return "messages";
  // All other native functions that the thread's script calls are SQLite's. Some versions give them
  // one name: the caller tells them apart.
  if (isNative && caller?.callFrame.url === SCRIPT)
    return caller.callFrame.functionName === "commit" ? "flush" : "SQLite";
  if (url.includes("/undici/")) return "undici";
  return url === SCRIPT ? "JavaScript" : "Node and system";
}
