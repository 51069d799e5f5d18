import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDirectory } from "./scratch.js";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/**
 * A certificate authority and its certificates. The `openssl` command makes each when it is first
 * needed.
 */
export function certificates() {
  const directory = scratchDirectory();
  const file = (name: string) => join(directory, name);
  const openssl = (command: string) =>
    execFileSync("openssl", command.split(" "), { cwd: directory, stdio: ["ignore", "pipe", "ignore"] });
  const newKey = (name: string) =>
    `-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ${name}.key`;

  function once(name: string, make: () => void): Certificate {
    if (!existsSync(file(`${name}.crt`))) make();
    return {
      key: readFileSync(file(`${name}.key`), "utf8"),
      cert: readFileSync(file(`${name}.crt`), "utf8"),
    };
  }

  const selfSigned = (name: string, more: string) =>
    once(name, () => openssl(`req -x509 ${newKey(name)} -out ${name}.crt -days 2 ${more}`));
  const authority = () => selfSigned("authority", "-subj /CN=Authority");

  /** `dates`: when it begins and ends, by options of `openssl ca`. */
  function signed(name: string, address: string, dates = "-days 2"): Certificate {
    return once(name, () => {
      authority();
      writeFileSync(file("index.txt"), "");
      writeFileSync(
        file("ca.cnf"),
        `[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nx509_extensions=x\n[p]\ncommonName=supplied\n[x]\nsubjectAltName=IP:${address},DNS:service.test\n`,
      );
      openssl(`req -new ${newKey(name)} -out ${name}.csr -subj /CN=${address}`);
      const signer = "-config ca.cnf -cert authority.crt -keyfile authority.key";
      openssl(`ca -batch ${signer} -in ${name}.csr -out ${name}.crt -notext ${dates}`);
    });
  }

  return {
    get authority() {
      return authority();
    },
    /** For `NODE_EXTRA_CA_CERTS`, which Node reads when a process starts. */
    get authorityFile() {
      authority();
      return file("authority.crt");
    },
    get valid() {
      return signed("valid", "127.0.0.1");
    },
    get expired() {
      return signed("expired", "127.0.0.1", "-startdate 20200101000000Z -enddate 20200201000000Z");
    },
    get notYetValid() {
      return signed("future", "127.0.0.1", "-startdate 20900101000000Z -enddate 20910101000000Z");
    },
    get ofAnother() {
      return signed("other", "127.0.0.2");
    },
    get selfSigned() {
      return selfSigned("self", "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1");
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
