import * as zlib from "node:zlib";

/** Longer answers are cut here. */
export const LONGEST_BODY = 64 * 1024;
// A page is ten times as long as it is compressed; a thousand times is an attack.
const LONGEST_DECODED = 16 * LONGEST_BODY;

/**
 * Reads a body, whole or cut. Never throws. `json` is `undefined` if the body is no JSON. `isPage`:
 * it is a page of HTML. No tracking service writes one, so something in between did.
 */
export function readBody(bytes: Buffer, contentType: string, encodings: string) {
  const text = decoded(decompressed(bytes, encodings), contentType);
  try {
    return { json: JSON.parse(text) as unknown, isPage: false };
  } catch {
    return { json: undefined, isPage: isPage(text, contentType) };
  }
}

/** A field of a JSON object, in any case of letters; `undefined` if it has none. */
export function fieldOf(body: unknown, name: string): unknown {
  return Object.entries(Object(body)).find(([key]) => key.toLowerCase() === name)?.[1];
}

/** A text that is not empty. */
export function textOf(body: unknown, name: string): string | undefined {
  const text = fieldOf(body, name);
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** The status of an error body (§7). One that says `success: true` is none. */
export function errorStatusOf(body: unknown): number | undefined {
  if (fieldOf(body, "success") === true) return undefined;
  const said = fieldOf(body, "status");
  // Some objects that JSON can hold cannot be turned into a number, and throw.
  const status = typeof said === "object" ? Number.NaN : Number(said ?? Number.NaN);
  const isError = Number.isInteger(status) && status >= 300 && status < 600;
  return isError && textOf(body, "error") !== undefined ? status : undefined;
}

/** As it came if it cannot be decompressed: a proxy may have done so, and left the header. */
function decompressed(bytes: Buffer, encodings: string): Buffer {
  try {
    // The last one was applied last.
    return encodings.toLowerCase().split(",", 4).reduceRight(decompress, bytes);
  } catch {
    return bytes;
  }
}

function decompress(bytes: Buffer, encoding: string): Buffer {
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  switch (encoding.trim()) {
    case "gzip":
    case "x-gzip":
    case "deflate":
      return zlib.unzipSync(bytes, { finishFlush: Z_SYNC_FLUSH, maxOutputLength: LONGEST_DECODED });
    case "br":
      return zlib.brotliDecompressSync(bytes, {
        finishFlush: BROTLI_OPERATION_FLUSH,
        maxOutputLength: LONGEST_DECODED,
      });
    default:
      return bytes;
  }
}

function decoded(bytes: Buffer, contentType: string): string {
  const [, charset = "utf-8"] = /charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType) ?? [];
  const mark = MARKS.find(([first, second]) => bytes[0] === first && bytes[1] === second)?.[2];
  const name = mark ?? charset.toLowerCase();
  try {
    return (name === "utf-8" ? UTF_8 : new TextDecoder(name)).decode(bytes);
  } catch {
    // A charset that nobody knows.
    return UTF_8.decode(bytes);
  }
}

const UTF_8 = new TextDecoder();

/** Byte order marks, which a charset in a header does not overrule. */
const MARKS = [
  [0xff, 0xfe, "utf-16le"],
  [0xfe, 0xff, "utf-16be"],
  [0xef, 0xbb, "utf-8"],
] as const;

/** PHP calls everything HTML, so a page also begins with a tag. */
function isPage(text: string, contentType: string): boolean {
  const start = text.slice(0, 1_024).trimStart();
  return start.startsWith("<") && (/html/i.test(contentType) || /<(?:!doctype )?html[\s>]/i.test(start));
}
