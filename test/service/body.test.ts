import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isYes, leadIdOf } from "../../src/service/answers.js";
import { errorStatusOf, readBody } from "../../src/service/body.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";

const JSON_TYPE = "application/json";
const HTML_TYPE = "text/html; charset=utf-8";
const read = (bytes: Buffer | string, type = JSON_TYPE, encoding = "") =>
  readBody(Buffer.from(bytes), type, encoding);

const utf16 = (text: string) => Buffer.from(text, "utf16le");
const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16();
const halfOf = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2);
const VARIED = Array.from({ length: 3_000 }, (_, nth) => nth ** 3).join();
const NO = '{"success":false,"message":"für Größe"}';

describe("a body", () => {
  it.each<[string, Buffer, string?, string?]>([
    ["plain", Buffer.from(NO)],
    ["in gzip", gzipSync(NO), JSON_TYPE, "gzip"],
    ["in gzip, named as in 1996", gzipSync(NO), JSON_TYPE, "X-GZIP"],
    ["in deflate", deflateSync(NO), JSON_TYPE, "deflate"],
    ["in br", brotliCompressSync(NO), JSON_TYPE, "br"],
    ["in br, then in gzip", gzipSync(brotliCompressSync(NO)), JSON_TYPE, "br, gzip"],
    ["not in the gzip that its head names", Buffer.from(NO), JSON_TYPE, "gzip"],
    ["with a byte order mark", Buffer.from(`\ufeff${NO}`)],
    ["in UTF-16 with a byte order mark", utf16(`\ufeff${NO}`)],
    ["in big-endian UTF-16 with one", swapped(utf16(`\ufeff${NO}`)), "application/json; charset=utf-8"],
    ["in UTF-16 by its charset", utf16(NO), 'application/json; charset="utf-16le"'],
    ["in Latin-1", Buffer.from(NO, "latin1"), "application/json; charset=ISO-8859-1"],
    ["in a charset that nobody knows", Buffer.from(NO), "application/json; charset=klingon"],
    ["called HTML, as PHP does", Buffer.from(NO), HTML_TYPE],
  ])("is read %s", (_name, bytes, type, encoding) => {
    expect(read(bytes, type, encoding)).toEqual({ json: JSON.parse(NO), isPage: false });
  });

  it.each<[string, Buffer | string, string?, string?]>([
    ["called so", "<div>Sign in</div>", HTML_TYPE],
    ["not called so", "\n <!DOCTYPE html><title>Sign in</title>"],
    ["without a doctype", "<html lang=en>Sign in"],
    ["after a comment", "<!-- portal --><HTML>Sign in"],
    ["in XHTML", '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-">', "application/xhtml+xml"],
    ["that breaks off, in gzip", halfOf(gzipSync(`<html>${VARIED}`)), HTML_TYPE, "gzip"],
    ["that breaks off, in br", halfOf(brotliCompressSync(`<html>${VARIED}`)), HTML_TYPE, "br"],
    ["that is long, in gzip", gzipSync(`<html>${"sign in ".repeat(50_000)}`), HTML_TYPE, "gzip"],
  ])("is a page %s", (_name, bytes, type, encoding) => {
    expect(read(bytes, type, encoding)).toEqual({ json: undefined, isPage: true });
  });

  it.each<[string, Buffer | string, string?, string?]>([
    ["nothing", "", HTML_TYPE],
    ["text that PHP calls HTML", "OK", HTML_TYPE],
    ["XML", "<ok/>", "application/xml"],
    ["half a JSON", NO.slice(0, 20)],
    ["gzip that grows a thousandfold", gzipSync(" ".repeat(20_000_000)), JSON_TYPE, "gzip"],
  ])("is neither with %s", (_name, bytes, type, encoding) => {
    expect(read(bytes, type, encoding)).toEqual({ json: undefined, isPage: false });
  });

  const encodings = {
    "": (text: string) => Buffer.from(text),
    gzip: gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
  };

  it("of any JSON is read in any encoding, whole or not at all", () => {
    forAny(
      fc.json(),
      fc.constantFrom(...Object.entries(encodings)),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (text, [name, encode], part) => {
        const bytes = encode(text);
        expect(read(bytes, JSON_TYPE, name).json).toEqual(JSON.parse(text));
        expect(read(bytes.subarray(0, Math.floor(bytes.length * part)), JSON_TYPE, name).isPage).toBe(false);
      },
    );
  });

  it("of any bytes, with any head, throws nothing", () => {
    const header = fc.oneof(
      fc.constantFrom("", "gzip", "br", "deflate", "gzip,br", "charset=utf-7"),
      fc.string({ unit: anyCharacter }),
    );
    forAny(fc.uint8Array(), header, header, (bytes, type, encoding) => {
      const { json } = readBody(Buffer.from(bytes), type, encoding);
      errorStatusOf(json);
      isYes({ type: "answer", status: 200, body: json });
      leadIdOf(json);
    });
  });
});

describe("a 2xx", () => {
  const noes = [false, 0, "false", "False", " FALSE\n", "0", "no"];
  const yeses: unknown[] = [true, 1, "true", "yes", null, "", {}, [[false]], { toString: 1 }];

  it.each<[unknown, boolean]>([
    ...noes.flatMap((success): [unknown, boolean][] => [
      [{ success }, false],
      [{ SUCCESS: success, leadId: 7 }, false],
    ]),
    ...yeses.map((success): [unknown, boolean] => [{ success }, true]),
    [{ error: "Unauthorized" }, false],
    [{ error: "Duplicate", success: true }, true],
    ...["", null, false, {}].map((error): [unknown, boolean] => [{ error }, true]),
    ...[{ message: "taken" }, null, "ok", [{ success: false }], undefined].map((body): [unknown, boolean] => [
      body,
      true,
    ]),
  ])("that says %j is a yes: %j", (body, isTaken) => {
    expect(isYes({ type: "answer", status: 201, body })).toBe(isTaken);
  });

  it.each<[unknown, number | undefined]>([
    [{ error: "Unauthorized", message: "no key", status: 401 }, 401],
    [{ error: "Unauthorized", success: false, status: "401" }, 401],
    [{ Error: "Busy", Status: 503 }, 503],
    [{ error: "none", status: 200 }, undefined],
    [{ error: "none", status: 409, Success: true }, undefined],
    [{ error: "", status: 401 }, undefined],
    [{ error: "Odd", status: 401.5 }, undefined],
    [{ error: "Odd", status: 1_000 }, undefined],
    [{ error: "Odd", status: null }, undefined],
    [{ error: "Odd", status: { toString: 1 } }, undefined],
    [{ error: "Odd", status: [401] }, undefined],
    [{ status: 401 }, undefined],
    [[{ error: "Odd", status: 401 }], undefined],
  ])("whose body is %j has the status %j", (body, status) => {
    expect(errorStatusOf(body)).toBe(status);
  });
});

it.each<[unknown, number | undefined]>([
  [{ leadId: 7 }, 7],
  [{ leadId: "007" }, 7],
  [{ leadId: Number.MAX_SAFE_INTEGER + 1 }, undefined],
  [{ leadId: "9".repeat(100_000) }, undefined],
  [{ leadId: 0 }, undefined],
  [{ leadId: 1.5 }, undefined],
  [{ leadId: "1e3" }, undefined],
  [{ leadId: "" }, undefined],
  [{ leadId: [7] }, undefined],
  [null, undefined],
])("the lead id of %j is %j", (body, leadId) => {
  expect(leadIdOf(body)).toBe(leadId);
});
