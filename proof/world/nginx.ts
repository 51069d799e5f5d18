import { startGateway } from "./programs/gateway.js";
import { proveGateway } from "./shared/gateway-proof.js";
import type { Part } from "./shared/part.js";

/** As its defaults are, with kept connections to the service. Its own errors go to the log that is thrown away. */
const configuration = (servicePort: number) => (port: number, directory: string) =>
  `
daemon off;
user root;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((of) => `${of}_temp_path ${directory}/${of};`).join("\n  ")}
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
}
`;

export default {
  title: "a service behind nginx, which answers 502 where the service gives no answer",
  prove: (options) =>
    proveGateway(
      (servicePort) =>
        startGateway("nginx.conf", configuration(servicePort), (path) => ["/usr/sbin/nginx", "-c", path]),
      options,
    ),
} satisfies Part;
