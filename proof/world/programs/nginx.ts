import { type Gateway, startGateway } from "./gateway.js";

const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** Starts nginx with this `http` block, which listens on the port. Its log is thrown away. */
export function startNginx(http: (port: number, directory: string) => string): Promise<Gateway> {
  const configuration = (port: number, directory: string) => `
daemon off;
user root;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  ${TEMPORARY.map((of) => `${of}_temp_path ${directory}/${of};`).join("\n  ")}
${http(port, directory)}
}
`;
  return startGateway("nginx.conf", configuration, (path) => ["/usr/sbin/nginx", "-c", path]);
}
