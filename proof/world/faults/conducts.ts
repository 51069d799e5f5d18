import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { answer, type Conduct, wellAfter } from "../../shared/service.js";

/** Answers so, and takes nothing. */
const says =
  (status: number, headers?: Readonly<Record<string, string>>): Conduct =>
  (res) =>
    answer(res, status, headers, { error: String(status), message: "as the proof wants it", status });

const taking =
  (then: (res: ServerResponse) => void): Conduct =>
  (res, take) => {
    take();
    then(res);
  };

const reset = (res: ServerResponse) => void socketOf(res).resetAndDestroy();
const silence = () => {};

const socketOf = (res: ServerResponse) => res.socket as Socket;

/** Every way in which this service can fail. `undefined`: nothing listens at all. */
export const conducts: Readonly<Record<string, Conduct | undefined>> = {
  "refuses connections": undefined,
  "is slow": wellAfter(500),
  "answers 500": says(500),
  "answers 503": says(503),
  "answers 503 with Retry-After": says(503, { "retry-after": "3" }),
  "answers 429 with Retry-After": says(429, { "retry-after": "3" }),
  "answers 429 without": says(429),
  "answers 401": says(401),
  "answers 404": says(404),
  "answers 302": says(302, { location: "/elsewhere" }),
  "answers 502, and has taken it": taking((res) => answer(res, 502, {}, {})),
  "answers 504, and has not taken it": says(504),
  "hangs, and has not taken it": silence,
  "hangs, and has taken it": taking(silence),
  "resets, and has not taken it": reset,
  "resets, and has taken it": taking(reset),
  "answers garbage, and has taken it": taking((res) => void socketOf(res).end("HTTP/9 hello\r\n\r\n")),
  "breaks off within the answer's body": taking((res) => {
    res.writeHead(200, { "content-length": "1000" });
    res.write("{", () => socketOf(res).destroy());
  }),
  "answers without end": taking((res) => {
    res.writeHead(200);
    const flood = () => {
      if (!res.destroyed) res.write(" ".repeat(16_384), () => setImmediate(flood));
    };
    flood();
  }),
};
