import fc from "fast-check";
import { expect, it } from "vitest";
import { passwordHider } from "../../src/cli/passwords.js";
import { forAny } from "../helpers/for-any.js";

const odd = fc.string({ unit: fc.oneof(fc.constantFrom(..."@:/?#%&=+ \\\"'[]"), fc.string()) });
/** Such as no message has by chance. */
const password = odd.map((text) => `qZ7${text}7Zq`);
const inQuery = (text: string) => new URLSearchParams({ password: text }).toString();

it("the command line hides a URL's password, however it is spelt in the URL and in what is said of it", () => {
  forAny(password, (secret) => {
    const asItIs = `postgres://shop:${secret}@db.example/shop`;
    expect(passwordHider([asItIs])(`cannot parse ${asItIs}`)).not.toMatch(/qZ7|7Zq/);
    fc.pre(secret.isWellFormed());
    const encoded = encodeURIComponent(secret);
    const urls = [
      `postgres://shop:${encoded}@db.example/shop`,
      `postgres://db.example/shop?user=shop&password=${encoded}`,
      `postgres://db.example/shop?user=shop&${inQuery(secret)}&sslmode=disable`,
    ];
    const said = [secret, encoded, encodeURI(secret), JSON.stringify(secret)];
    for (const url of urls) {
      const hide = passwordHider([url]);
      for (const words of said) expect(hide(`no entry: ${words}!`)).not.toMatch(/qZ7|7Zq/);
      expect(hide(`cannot parse ${url}`)).not.toContain("qZ7");
    }
  });
});

it("the hiding of passwords leaves a text alone if there is no password", () => {
  for (const url of ["postgres://shop@db.example/shop", "postgres://shop:@db.example", "/var/lib/shop", ""]) {
    expect(passwordHider([url])("shop@db.example: no entry")).toBe("shop@db.example: no entry");
  }
});
