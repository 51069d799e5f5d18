import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP } from "node:net";
import { connect } from "node:tls";
import { errorCodeOf, errorFrom } from "../errors.js";
import { type Finding, note, well, wrong } from "../finding.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const SOON_DAYS = 21;
const PATIENCE_MS = 5_000;

/** Whether the service's name stands for an address. */
export async function checkName({ hostname }: URL): Promise<Finding> {
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

/** Whether the certificate is one that this machine trusts, and for how long. */
export async function checkTls(
  { protocol, hostname, port }: URL,
  now: number,
  /** Certificates to trust besides those of this machine. */
  ca?: string,
): Promise<Finding> {
  if (protocol !== "https:")
    return note("plain http: the key and customers' addresses travel in the open; fine on this machine");
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = connect({
    host,
    port: Number(port || 443),
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
    timeout: PATIENCE_MS,
  });
  try {
    socket.once("timeout", () => socket.destroy(new Error(`no TLS connection within ${PATIENCE_MS} ms`)));
    await once(socket, "secureConnect");
    const until = Date.parse(socket.getPeerCertificate().valid_to);
    const days = Math.floor((until - now) / DAY_MS);
    const says = `the certificate is trusted and valid until ${new Date(until).toISOString().slice(0, 10)} (${days} days)`;
    return days < SOON_DAYS ? note(`${says}: that is soon`) : well(says);
  } catch (error) {
    const { message } = errorFrom(error);
    return wrong(`no trusted TLS connection: ${message || errorCodeOf(errorFrom(error))}`);
  } finally {
    socket.destroy();
  }
}
