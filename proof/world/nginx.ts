import { startNginx } from "./programs/nginx.js";
import { proveGateway } from "./shared/gateway-proof.js";
import type { Part } from "./shared/part.js";

/** As its defaults are, with kept connections to the service. */
const before = (servicePort: number) => (port: number) =>
  `
  upstream service {
    server 127.0.0.1:${servicePort};
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
`;

export default {
  title: "a service behind nginx, which answers 502 where the service gives no answer",
  prove: (options) => proveGateway((servicePort) => startNginx(before(servicePort)), options),
} satisfies Part;
