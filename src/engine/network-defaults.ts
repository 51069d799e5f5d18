import dns from "node:dns";
import net from "node:net";
import tls from "node:tls";
import type { NetworkDefaults } from "../outbox/remote.js";

/** From Node 24.5 and 22.19 on. */
const { getCACertificates, setDefaultCACertificates } = tls as {
  getCACertificates?(type: "default"): readonly string[];
  setDefaultCACertificates?(certificates: readonly string[]): void;
};

export function networkDefaults(): NetworkDefaults {
  return {
    minVersion: tls.DEFAULT_MIN_VERSION,
    maxVersion: tls.DEFAULT_MAX_VERSION,
    ciphers: tls.DEFAULT_CIPHERS,
    resultOrder: dns.getDefaultResultOrder(),
    autoSelectFamily: net.getDefaultAutoSelectFamily(),
    autoSelectFamilyTimeoutMs: net.getDefaultAutoSelectFamilyAttemptTimeout(),
    authorities: authoritiesByFlag(),
  };
}

/** Some Nodes pass this flag to no thread. Reads only with it: that takes tens of milliseconds. */
function authoritiesByFlag(): readonly string[] | undefined {
  const flags = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? "").split(/\s+/)];
  if (!setDefaultCACertificates || !flags.includes("--use-system-ca")) return undefined;
  return getCACertificates?.("default");
}

export function setNetworkDefaults(defaults: NetworkDefaults): void {
  const { minVersion, maxVersion, ciphers } = defaults;
  Object.assign(tls, {
    DEFAULT_MIN_VERSION: minVersion,
    DEFAULT_MAX_VERSION: maxVersion,
    DEFAULT_CIPHERS: ciphers,
  });
  dns.setDefaultResultOrder(defaults.resultOrder);
  net.setDefaultAutoSelectFamily(defaults.autoSelectFamily);
  net.setDefaultAutoSelectFamilyAttemptTimeout(defaults.autoSelectFamilyTimeoutMs);
  if (defaults.authorities) setDefaultCACertificates?.(defaults.authorities);
}
