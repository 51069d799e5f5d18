import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP, type TcpSocketConnectOpts } from "node:net";
import { type ConnectionOptions, connect } from "node:tls";
import { tlsAdvice } from "../../delivery/details.js";
import { errorCodeOf, errorFrom } from "../../shared/errors.js";
import { type CheckResult, note, well, wrong } from "../finding.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const SOON_DAYS = 21;
const TIMEOUT_MS = 5_000;

const NOT_OF_TLS: readonly (readonly [code: RegExp, advice: string])[] = [
  [/^ECONNREFUSED$/, "nothing listens at this port: is the port right, does the service run?"],
  [
    /^(ECONNRESET|ETIMEDOUT|Error)$/,
    "the connection was cut or never came about: a firewall or proxy in between?",
  ],
];

/** Whether the service's name resolves. */
export async function checkName({ hostname }: URL): Promise<CheckResult> {
  const name = hostname.replace(/^\[|\]$/g, "");
  if (isIP(name)) return note(`${name} is an address itself, so there is no name to look up`);
  try {
    const addresses = await lookup(name, { all: true });
    return well(`${name} is ${addresses.map(({ address }) => address).join(", ")}`);
  } catch (error) {
    return wrong(
      `${name} cannot be looked up (${errorCodeOf(errorFrom(error))}): is it spelt right, is there DNS?`,
    );
  }
}

/** Whether Node is told to trust any certificate. */
export function checkTlsSetting(env: NodeJS.ProcessEnv): CheckResult | undefined {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== "0") return undefined;
  return wrong(
    "NODE_TLS_REJECT_UNAUTHORIZED is 0: no certificate is checked, and anybody on the way can read the key; " +
      "unset it, and name the authority's file in NODE_EXTRA_CA_CERTS",
  );
}

/** Whether this machine trusts the service's certificate, and for how long it is valid. */
export async function checkTls(
  { protocol, hostname, port }: URL,
  now = Date.now(),
  /** Certificates to trust besides those of this machine. */
  ca?: string,
): Promise<CheckResult> {
  if (protocol !== "https:")
    return note("plain http: the key and customers' addresses travel in the open; fine on this machine");
  const host = hostname.replace(/^\[|\]$/g, "");
  const options: ConnectionOptions & TcpSocketConnectOpts = {
    host,
    port: Number(port || 443),
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    rejectUnauthorized: true,
    timeout: TIMEOUT_MS,
    // As in the tracker: Node's 250 ms are too short for slow routes.
    autoSelectFamilyAttemptTimeout: TIMEOUT_MS / 2,
  };
  const socket = connect(options);
  try {
    socket.once("timeout", () => socket.destroy(new Error(`no TLS connection within ${TIMEOUT_MS} ms`)));
    await once(socket, "secureConnect");
    const until = Date.parse(socket.getPeerCertificate().valid_to);
    const days = Math.floor((until - now) / DAY_MS);
    const says = `the certificate is trusted and valid until ${new Date(until).toISOString().slice(0, 10)} (${days} days)`;
    return days < SOON_DAYS ? note(`${says}: that is soon`) : well(says);
  } catch (error) {
    const problem = errorFrom(error);
    const code = errorCodeOf(problem);
    const advice = tlsAdvice(code) ?? NOT_OF_TLS.find(([codes]) => codes.test(code))?.[1];
    return wrong(`no trusted TLS connection: ${problem.message || code}${advice ? `; ${advice}` : ""}`);
  } finally {
    socket.destroy();
  }
}
