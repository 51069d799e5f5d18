import { startGateway } from "./programs/gateway.js";
import { proveGateway } from "./shared/gateway-proof.js";
import type { Part } from "./shared/part.js";

const configuration = (servicePort: number) => (port: number) =>
  `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:${port}
  default_backend service
backend service
  server one 127.0.0.1:${servicePort}
`;

const command = (path: string) => ["/usr/sbin/haproxy", "-db", "-f", path];

export default {
  title:
    "a service behind HAProxy, which answers 502 to what was cut short, and 503 if there is no connection",
  prove: (options) =>
    proveGateway((servicePort) => startGateway("haproxy.cfg", configuration(servicePort), command), options),
} satisfies Part;
