export interface StrangersRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

const WORDS = [
  "",
  "ALICE",
  "s1",
  "__proto__",
  "constructor",
  "toString",
  'j:{"a":1}',
  "j:[",
  "s:abc.def",
  "s:",
  "%00",
  "%E0%A4%A",
  "%",
  "null",
  "undefined",
  "NaN",
  "-1",
  "0",
  "19.90",
  "1e999",
  "0x10",
  "a@b",
  "ada@shop.example",
  "ada@shop.example, bo@shop.example",
  "'; drop table",
  "{{7*7}}",
  "<script>",
  "\u00ff\u0080",
  "x".repeat(257),
  "x".repeat(5_000),
  "[object Object]",
  "../..",
  "//evil.example/",
  "http://evil.example",
];
const NAMES = [
  "ref",
  "ref[]",
  "ref[a]",
  "utm_source",
  "utm_source[x]",
  "a",
  "__proto__[x]",
  "ref%00",
  "%72ef",
  "session",
];
const COOKIES = ["svc_click_id", "svc_session_id", "connect.sid", "__proto__", "session", "svc_click_id "];
const AGENTS = [
  "Mozilla/5.0 Firefox/146.0",
  "curl/8.5.0",
  "",
  "HeadlessChrome/142",
  "x".repeat(8_000),
  "\u00e9",
];
const FIELDS = [
  ...["email", "customerId", "customerName", "paymentId", "customerEmail", "leadValue"],
  ...["affiliateReference", "clickId", "sessionId", "clickedUrl", "clientId"],
];

/** A request such as strangers make. */
export function strangersRequest(random: () => number): StrangersRequest {
  const chance = (probability: number) => random() < probability;
  const below = (limit: number) => Math.floor(random() * limit);
  const one = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
  const word = () =>
    chance(0.8)
      ? one(WORDS)
      : String.fromCharCode(...Array.from({ length: below(20) }, () => 0x20 + below(0xdf)));
  const inHeader = () => word().replace(/[^\x20-\x7e\x80-\xff]/g, "");
  const inPath = () =>
    chance(0.5) ? encodeURIComponent(word().toWellFormed()) : word().replace(/[^\x21-\x7e]|#/g, "");

  function query(): string {
    if (chance(0.02))
      return Array.from({ length: 1_500 }, (_, nth) => `p${nth}=${nth}`)
        .join("&")
        .slice(0, 15_000);
    return Array.from({ length: below(6) }, () => `${one(NAMES)}=${inPath()}`).join("&");
  }

  function json(depth = 0): unknown {
    if (depth < 4 && chance(0.15)) return Array.from({ length: below(4) }, () => json(depth + 1));
    if (depth < 4 && chance(0.3)) return object(depth + 1);
    return one<() => unknown>([
      word,
      () => random() * 1e6,
      () => null,
      () => chance(0.5),
      () => -below(9),
      () => 1e308,
    ])();
  }

  function object(depth = 0): object {
    return Object.fromEntries(
      Array.from({ length: below(8) }, () => [chance(0.9) ? one(FIELDS) : word(), json(depth)]),
    );
  }

  function happened(): object {
    const well = {
      email: "ada@shop.example",
      customerEmail: "ada@shop.example",
      paymentId: below(1e9),
      leadValue: 1,
      affiliateReference: "ALICE",
    };
    return { ...well, ...(chance(0.3) && object()) };
  }

  const posts = chance(0.5);
  const body = !posts
    ? undefined
    : chance(0.05)
      ? word()
      : JSON.stringify(
          chance(0.3)
            ? { kind: below(4), happened: happened(), attribution: json(), source: json() }
            : chance(0.7)
              ? happened()
              : json(),
        );
  const page = posts ? one(["registration", "payment", "later"]) : chance(0.2) ? inPath() : "";
  const path = `${one(["/bare", "/parsed", "/session"])}/${page}?${query()}`;
  const headers: Record<string, string> = { "user-agent": one(AGENTS) };
  if (body !== undefined) headers["content-type"] = chance(0.95) ? "application/json" : "text/plain";
  if (chance(0.6))
    headers.accept = one(["text/html,*/*;q=0.8", "*/*", "application/json", "text/html".repeat(900)]);
  if (chance(0.7)) {
    headers.cookie = Array.from({ length: below(5) }, () => `${one(COOKIES)}=${inHeader()}`).join("; ");
    if (chance(0.1)) headers.cookie += `; ${inHeader()}`;
  }
  if (chance(0.3))
    Object.assign(headers, {
      "sec-fetch-dest": one(["document", "image", ""]),
      "sec-fetch-mode": one(["navigate", "cors"]),
    });
  if (chance(0.2)) headers.referer = inHeader();
  if (chance(0.2))
    Object.assign(headers, { "x-forwarded-host": inHeader(), "x-forwarded-proto": inHeader() });
  if (chance(0.05)) headers.purpose = "prefetch";
  return { method: posts ? "POST" : "GET", path, headers, body };
}

/** What is no request at all. */
export function garbage(random: () => number): string {
  const bytes = Array.from({ length: 1 + Math.floor(random() * 400) }, () => Math.floor(random() * 256));
  return (random() < 0.5 ? "GET / HTTP/1.1\r\nHost: x\r\n" : "") + String.fromCharCode(...bytes);
}
