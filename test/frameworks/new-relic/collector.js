import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

/** New Relic's collector as far as the agent needs one: it takes what it is sent, and answers that all is well. */
export async function startCollector() {
  const options =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2";
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync("openssl", [...options.split(" "), ...subject], { stdio: "ignore" });
  const [key, cert] = ["key.pem", "cert.pem"].map((file) => readFileSync(file, "utf8"));
  const values = { connect: { agent_run_id: "1" } };
  const collector = createServer({ key, cert }, (req, res) => {
    const method = new URL(req.url, "https://localhost").searchParams.get("method");
    req.resume().on("end", () => res.end(JSON.stringify({ return_value: values[method] ?? [] })));
  }).listen(0);
  await once(collector, "listening");
  const { port } = collector.address();
  values.preconnect = { redirect_host: `localhost:${port}` };
  return { port, cert, close: () => collector.close() };
}
