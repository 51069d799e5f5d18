import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressIn, maskEmails } from "../../src/shared/emails.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";

describe("e-mail addresses in a text", () => {
  const atom = fc.stringMatching(/^[a-z][a-z0-9.+_-]{2,12}$/);
  const local = fc.oneof(
    atom,
    fc.tuple(atom, atom).map(([one, other]) => `${one},${other}`),
    fc.tuple(atom, atom).map(([one, other]) => `"${one}(${other}:"`),
    atom.map((each) => `"${each}"`),
    // Whatever is taken for an address.
    fc
      .string({ unit: anyCharacter, minLength: 4 })
      .map((each) => each.replaceAll(/[@\uff20\ufe6b%&\\]/g, ""))
      .filter((each) => addressIn(`${each}@shop.example`) === `${each}@shop.example`),
  );
  const at = fc.constantFrom(
    ...["@", "%40", "%2540", "%252540", "&#64;", "&#x40;", "&#X040;", "&commat;", "\\u0040"],
    ...["＠", "﹫", "%EF%BC%A0", "%u0040", "&#64", "&#x40", "&commat", "\\x40", "\\u{40}", "\\uff20"],
  );
  const before = fc.constantFrom("", "no such user ", "mailto:", "<", '{"email":"', "a=1&to=(");

  it("are masked, however they are written", () => {
    forAny(before, local, at, (text, person, sign) => {
      const masked = maskEmails(`${text}${person}${sign}shop.example is unknown`);
      expect(masked).toMatch(/^(no such user )?\S\*\*\*@shop\.example is unknown$/);
    });
  });

  it.each([
    ["nothing to hide", "nothing to hide"],
    ["no address, @ all", "no address, @ all"],
    ["ada@shop.example", "a***@shop.example"],
    ["<alice@shop.example>, bob@shop.example", "<***@shop.example>, b***@shop.example"],
    [`${"x".repeat(200)}@shop.example`, "x***@shop.example"],
    ["dear pat.o'hara@shop.example", "dear p***@shop.example"],
    ["ünïcode@shop.example", "ü***@shop.example"],
    ["no customer ada%2Ba%40shop.example", "no customer a***@shop.example"],
    ["no such customer: ada.lovelace@shop.example!", "no such customer: a***@shop.example!"],
    ['"john.doe"@x.example', '"***@x.example'],
    ["john,doe@x.example", "j***@x.example"],
    ["ada%2540x.example", "a***@x.example"],
    ["ada&#64;x.example", "a***@x.example"],
    ['{"email":"ada@x.example","b":"bob@x"}', '{***@x***@x"}'],
  ])("%s is %s", (text, masked) => {
    expect(maskEmails(text)).toBe(masked);
  });

  it("are masked wherever they stand in a long text, of which no half word is shown", () => {
    forAny(fc.nat(40), fc.integer({ min: 1, max: 3_000 }), (shift, repeats) => {
      const masked = maskEmails(`${"x".repeat(shift)} ${"ada@shop.example, grace ".repeat(repeats)}`);
      expect(masked.replaceAll("a***@shop.example, grace ", "")).toMatch(
        /^x* (a\*\*\*@(shop\.example, )?)?…?$/,
      );
      expect(masked.length).toBeLessThan(18_000);
    });
  });

  it.each(["a", "@", '"', "\\", '\\"', "%25", "&#0", "a@", '"@', " "])(
    "are looked for in ten million characters of %o without harm",
    (part) => {
      expect(maskEmails(part.repeat(10_000_000 / part.length)).length).toBeLessThan(70_000);
    },
  );

  it("never throws, and shows no address, whatever the text", () => {
    forAny(
      fc.string({ unit: anyCharacter }),
      fc.string({ unit: fc.constantFrom("@", '"', "\\", "a", " ") }),
      (one, other) => {
        expect(maskEmails(`${one}${other} ada.lovelace@x.example ${one}`)).toContain(" a***@x.example ");
      },
    );
  });
});
