import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { certificates } from "../../../test/helpers/certificates.js";
import type { Gateway } from "../../world/programs/gateway.js";
import { startNginx } from "../../world/programs/nginx.js";

/** nginx, which speaks https and HTTP/2 to browsers, and http to the app. */
export async function startHttps(appPort: number): Promise<Gateway> {
  const { selfSigned, remove } = certificates();
  remove();
  const nginx = await startNginx((port, directory) => {
    writeFileSync(join(directory, "key.pem"), selfSigned.key);
    writeFileSync(join(directory, "cert.pem"), selfSigned.cert);
    return `
  server {
    listen 127.0.0.1:${port} ssl http2;
    ssl_certificate ${directory}/cert.pem;
    ssl_certificate_key ${directory}/key.pem;
    location / {
      proxy_pass http://127.0.0.1:${appPort};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
    }
  }
`;
  });
  return { ...nginx, url: nginx.url.replace("http:", "https:") };
}
