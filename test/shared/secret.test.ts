import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printable, printableJson, shown } from "../../src/shared/printable.js";
import { presentable, Secret } from "../../src/shared/secret.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";
import { API_KEY, trackerWithService } from "../helpers/tracker.js";

const key = fc.stringMatching(/^[\x21-\x7e]{12,60}$/);
const around = fc.string({ unit: "binary-ascii" });
const everyByte = (text: string, digits: (hex: string) => string) =>
  [...Buffer.from(text)].map((byte) => `%${digits(byte.toString(16).padStart(2, "0"))}`).join("");

describe("a secret", () => {
  it("is removed from any text, however it is spelt there", () => {
    const spellings: ((secret: string) => string)[] = [
      (secret) => secret,
      encodeURIComponent,
      (secret) => everyByte(secret, (hex) => hex),
      (secret) => everyByte(secret, (hex) => hex.toUpperCase()),
      (secret) => JSON.stringify(secret).slice(1, -1),
      (secret) => secret.replaceAll("/", "\\/"),
    ];
    forAny(key, around, around, fc.constantFrom(...spellings), (secret, before, after, spell) => {
      fc.pre(!`${before}${after}`.includes(spell(secret)));
      const text = new Secret(secret).removeFrom(`${before} ${spell(secret)} ${after}`);
      expect(text).toBe(`${before} [redacted] ${after}`);
    });
  });

  it.each(["base64", "base64url"] as const)("is removed from %s, alone or within more", (encoding) => {
    const bytes = fc.string({ unit: "binary-ascii", maxLength: 20 });
    forAny(key, bytes, bytes, (secret, before, after) => {
      const text = Buffer.from(before + secret + after).toString(encoding);
      const left = new Secret(secret).removeFrom(`Basic ${text}!`);
      expect(left).toContain("[redacted]");
      // What is left of it on either side is a bit or four of its first and last letter.
      for (const run of left.replace("Basic ", "").replace("!", "").split("[redacted]"))
        for (const cut of [0, 1, 2, 3])
          expect(Buffer.from(run.slice(cut), encoding).toString("latin1")).not.toContain(secret.slice(1, 5));
    });
  });

  it("leaves every other text as it is", () => {
    const secret = new Secret("sk_live_0123456789");
    forAny(fc.string({ unit: anyCharacter }), (text) => {
      expect(secret.removeFrom(text)).toBe(text);
    });
  });
});

describe("what is shown of others' words", () => {
  it("is one line that no terminal acts upon", () => {
    forAny(fc.string({ unit: anyCharacter }), (text) => {
      for (const safe of [printable(text), presentable(text, new Secret("sk_live_0123456789"))]) {
        expect(safe).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(safe.isWellFormed()).toBe(true);
      }
      const json = printableJson({ text });
      expect(json).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(JSON.parse(json)).toEqual({ text });
      expect(shown(text)).toMatch(/^[\x20-\x7e]+$/);
    });
    expect(printable("no\u001b[2J\u202e such\r\nprogramme")).toBe("no [2J\\u202e such programme");
  });

  it.each([422, 401, 500])(
    "is that in log lines, notices, errors and dead letters, by a %i",
    async (status) => {
      const [session, click, person] = ["session-secret", "click-secret", "Ada Lovelace"];
      const hostile =
        `\u001b]0;owned\u0007 no\r\nsuch ${btoa(`x:${API_KEY}`)} ${encodeURIComponent(API_KEY)} ` +
        `${person} (ada@shop.example) of ${session}, ${click}`;
      const { tracker, lines } = await trackerWithService({}, (_request, res) => {
        res.statusCode = status;
        return { error: `Bad ${API_KEY} of ${click}`, message: hostile, status };
      });
      const notices: Record<string, unknown>[] = [];
      for (const name of ["queued", "retry", "dead"] as const)
        tracker.on(name, (notice) => notices.push({ ...notice }));
      await tracker.trackRegistration(
        { email: "ada@shop.example", customerName: person },
        { clickId: click, sessionId: session },
      );
      await expect.poll(() => notices.length).toBeGreaterThan(1);
      const error = await tracker.client.status("s1").catch((thrown) => thrown);
      const letters = await tracker.deadLetters.list();
      expect(letters).toHaveLength(status === 422 ? 1 : 0);
      const said = [...notices, ...letters, { ...error, message: error.message }];
      const values = said.flatMap((each) => Object.values(each as object));
      for (const text of [...lines, ...values].filter((value) => typeof value === "string")) {
        expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
        expect(text).not.toContain(btoa(`x:${API_KEY}`).slice(4, -4));
      }
      const ofService = [...notices, ...letters]
        .map(Object)
        .map(({ code, message, because }) => [code, message, because]);
      for (const own of [session, click, person, "ada@shop"])
        expect(JSON.stringify([lines, ofService])).not.toContain(own);
      const everything = [notices, lines, letters, error, tracker, tracker.stats()];
      expect(inspect(everything, { depth: Infinity, showHidden: true })).not.toContain(API_KEY);
      expect(inspect([notices, lines], { depth: 12 })).not.toContain("ada@");
    },
  );
});
