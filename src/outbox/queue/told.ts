import { OutboxError } from "../../shared/errors.js";

/** An error, or one that it wraps. */
export type Layer = Error & Readonly<Record<string, unknown>>;

/** What a server says in an error that the host's library may have wrapped. */
export interface Told {
  /** The server's own error. `undefined`: none has its code. */
  readonly servers?: Layer;
  /** The server's code, if it is in a text, as Prisma has it. */
  readonly codeInText?: string | undefined;
  /** Without the statement and its values, which must not be logged. */
  readonly words: string;
}

const MOST_LAYERS = 5;
const OF_PRISMA = /Code: `([^`]*)`\. Message: `(.*)`/s;
// How the statements begin that have an event in them.
const STATEMENT = /insert into |select 1 as known /;

/** @param isServers whether an error has the server's own code. */
export function toldBy(error: unknown, isServers: (layer: Layer) => boolean): Told {
  if (error instanceof OutboxError) return { words: error.message };
  const layers = layersOf(error);
  const servers = layers.find(isServers);
  if (servers) return { servers, words: withoutStatement(servers.message) };
  for (const { message } of layers) {
    const [, codeInText, words] = message.match(OF_PRISMA) ?? [];
    if (words !== undefined) return { codeInText, words: withoutStatement(words) };
  }
  return { words: withoutStatement(layers.at(-1)?.message ?? String(error)) };
}

/** An error and those that it wraps, the innermost last. */
export function layersOf(error: unknown): Layer[] {
  const layers: Layer[] = [];
  let inner = error;
  while (inner instanceof Error && layers.length < MOST_LAYERS) {
    const layer = inner as Layer;
    layers.push(layer);
    // Sequelize has the server's error as `parent`.
    inner = layer.cause ?? layer.parent;
  }
  return layers;
}

function withoutStatement(message: string): string {
  const begin = message.search(STATEMENT);
  if (begin < 0) return message;
  // `Failed query: <statement>`, as Drizzle has it; `<statement> - <words>`, as Knex and MikroORM.
  return begin > 0 ? message.slice(0, begin).trimEnd() : (message.split(" - ").slice(1).at(-1) ?? "");
}
