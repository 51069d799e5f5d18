import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { written } from "../../src/browser/pieces.js";
import { visible } from "../../src/shared/printable.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";

describe("a name that a stranger chose, as people read it", () => {
  const name = fc.oneof(
    fc.string({ unit: anyCharacter }),
    // What looks alike: composed or not, an escape or its letters, spaces of all kinds.
    fc.string({
      unit: fc.constantFrom("e\u0301", "é", "e", "\u200d", "\\", "u200d", "u", " ", "\u00a0", "\u212b", "Å"),
    }),
  );

  it("says which of two names it is: what it stands for can be read back", () => {
    forAny(name, (text) => {
      const shown = visible(text);
      const read = shown.replaceAll(/\\u([0-9a-f]{4})/g, (_, hex) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
      expect(read).toBe(text);
      expect(shown).toBe(shown.normalize("NFC"));
      expect(shown).not.toMatch(/(?! )[\p{C}\p{Z}\p{DI}\u2800]/u);
    });
  });

  it.each([
    ["می\u200cخواهم", "می\\u200cخواهم"],
    ["MÜLLER", "MÜLLER"],
    ["MU\u0308LLER", "MU\\u0308LLER"],
    ["BLACK\u00a0FRIDAY", "BLACK\\u00a0FRIDAY"],
    ["A\\u200dB", "A\\u005cu200dB"],
    ["A\\B", "A\\B"],
    ["\u{e0041}", "\\udb40\\udc41"],
    // Else the mark would stand on the escape's last letter.
    ["\u200c\u0323\u0301", "\\u200c\\u0323\\u0301"],
  ])("shows %j as %j", (text, shown) => {
    expect(visible(text)).toBe(shown);
    expect(written(text)).toBe(shown);
  });

  it("is written alike by the pages of the sandbox and the dashboard", () => {
    const text = fc.oneof(fc.string({ unit: anyCharacter }), name).filter((each) => !/[\n\t]/.test(each));
    forAny(text, (each) => {
      expect(written(each)).toBe(visible(each));
    });
  });
});
