import { chmodSync } from "node:fs";
import { type Gateway, startGateway } from "../../world/programs/gateway.js";

/** What an outgoing proxy does with a tracker's tunnels. */
export type Mode = "allows" | "answers 403" | "answers 407" | "is down";

/** An outgoing proxy. */
export interface ProxyProgram {
  readonly name: string;
  /** Starts it on a port. For each tunnel it writes `CONNECT` and the address into `log`. */
  start(mode: Exclude<Mode, "is down">, port: number, log: string): Promise<Gateway>;
}

const SQUID = {
  allows: "http_access allow all",
  "answers 403": "http_access deny all",
  "answers 407": "http_access allow known\nhttp_access deny all",
};

const TINYPROXY = {
  allows: "",
  "answers 403": "ConnectPort 443",
  "answers 407": "BasicAuth bob secret",
};

export const proxyPrograms: readonly ProxyProgram[] = [
  {
    name: "squid",
    start(mode, port, log) {
      const configuration = (_port: number, directory: string) => {
        // It takes a user of its own, who writes here.
        chmodSync(directory, 0o777);
        return `
http_port 127.0.0.1:${port}
pid_filename none
pinger_enable off
cache deny all
cache_log ${directory}/cache.log
access_log stdio:${log}
shutdown_lifetime 0 seconds
auth_param basic program /usr/lib/squid/basic_fake_auth
acl known proxy_auth REQUIRED
${SQUID[mode]}
`;
      };
      const command = (path: string) => ["/usr/sbin/squid", "-N", "-f", path];
      return startGateway("squid.conf", configuration, command, { port });
    },
  },
  {
    name: "tinyproxy",
    start(mode, port, log) {
      const configuration = () => `
Port ${port}
Listen 127.0.0.1
LogFile "${log}"
LogLevel Connect
${TINYPROXY[mode]}
`;
      const command = (path: string) => ["/usr/bin/tinyproxy", "-d", "-c", path];
      return startGateway("tinyproxy.conf", configuration, command, { port });
    },
  },
];
