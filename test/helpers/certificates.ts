import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority and its certificates, made by the `openssl` command when first needed. */
export function certificates() {
  const directory = mkdtempSync(join(tmpdir(), "certificates-"));
  const file = (name: string) => join(directory, name);
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  let serial = 1;

  function selfSigned(name: string, subject = "/CN=127.0.0.1", extra: string[] = []): Certificate {
    const [key, cert] = [file(`${name}.key`), file(`${name}.crt`)];
    openssl(
      "req",
      "-x509",
      ...newKey,
      "-keyout",
      key,
      "-out",
      cert,
      "-days",
      "2",
      "-subj",
      subject,
      ...extra,
    );
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  }

  const authority = selfSigned("authority", "/CN=Authority of the tests");

  /** `dates`: when it begins and ends, as OpenSSL's `YYYYMMDDHHMMSSZ`. */
  function signed(name: string, address: string, dates?: readonly [string, string]): Certificate {
    const [key, request, cert] = [file(`${name}.key`), file(`${name}.csr`), file(`${name}.crt`)];
    writeFileSync(file("index.txt"), "");
    writeFileSync(
      file("ca.cnf"),
      `[ca]\ndefault_ca=d\n[d]\ndatabase=${file("index.txt")}\nnew_certs_dir=${directory}\nserial=${file("serial")}\ndefault_md=sha256\npolicy=p\nx509_extensions=x\n[p]\ncommonName=supplied\n[x]\nsubjectAltName=IP:${address}\n`,
    );
    writeFileSync(file("serial"), `0${serial++}`);
    openssl("req", "-new", ...newKey, "-keyout", key, "-out", request, "-subj", `/CN=${address}`);
    const when = dates ? ["-startdate", dates[0], "-enddate", dates[1]] : ["-days", "2"];
    openssl(
      "ca",
      "-batch",
      "-config",
      file("ca.cnf"),
      "-cert",
      file("authority.crt"),
      "-keyfile",
      file("authority.key"),
      "-in",
      request,
      "-out",
      cert,
      "-notext",
      ...when,
    );
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  }

  return {
    authority,
    /** For `NODE_EXTRA_CA_CERTS`, which Node reads when a process starts. */
    authorityFile: file("authority.crt"),
    valid: signed("valid", "127.0.0.1"),
    expired: signed("expired", "127.0.0.1", ["20200101000000Z", "20200201000000Z"]),
    notYetValid: signed("future", "127.0.0.1", ["20900101000000Z", "20910101000000Z"]),
    ofAnother: signed("other", "127.0.0.2"),
    selfSigned: selfSigned("self", "/CN=127.0.0.1", ["-addext", "subjectAltName=IP:127.0.0.1"]),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
